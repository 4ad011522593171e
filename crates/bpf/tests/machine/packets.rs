//! Ethernet frames with TCP, and their checksums.

#[derive(Clone, Copy, Debug)]
pub struct Frame {
    pub is_v6: bool,
    /// The ports of the sender and the receiver of data.
    pub ports: (u16, u16),
    pub is_of_sender: bool,
    pub ecn: u8,
    pub flags: u8,
    pub seq: u32,
    pub ack: u32,
    pub window: u16,
    pub scale: Option<u8>,
    pub payload: usize,
}

pub const SYN: u8 = 2;
pub const RST: u8 = 4;
pub const ACK: u8 = 16;
pub const CE: u8 = 3;
const ETHERNET: usize = 14;

impl Frame {
    pub fn bytes(&self) -> Vec<u8> {
        let options: Vec<u8> = match self.scale {
            Some(scale) => vec![2, 4, 5, 180, 1, 3, 3, scale],
            None => vec![1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2],
        };
        let mut tcp = Vec::new();
        let (from, to) = if self.is_of_sender { self.ports } else { (self.ports.1, self.ports.0) };
        tcp.extend([from, to].map(u16::to_be_bytes).concat());
        tcp.extend([self.seq, self.ack].map(u32::to_be_bytes).concat());
        tcp.extend([((20 + options.len()) as u8 / 4) << 4, self.flags]);
        tcp.extend([self.window, 0, 0].map(u16::to_be_bytes).concat());
        tcp.extend(options);
        tcp.extend((0..self.payload).map(|at| at as u8));
        let mut frame = vec![2; 12];
        let (a, b) = if self.is_of_sender { (1, 2) } else { (2, 1) };
        if self.is_v6 {
            frame.extend([0x86, 0xdd, 0x60 | self.ecn >> 4, (self.ecn & 15) << 4, 0, 0]);
            frame.extend((tcp.len() as u16).to_be_bytes());
            frame.extend([6, 64]);
            for end in [a, b] {
                frame.extend([&[0xfd][..], &[0; 14], &[end]].concat());
            }
        } else {
            frame.extend([8, 0, 0x45, 0xa0 | self.ecn]);
            frame.extend(((20 + tcp.len()) as u16).to_be_bytes());
            frame.extend([0, 1, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, a, 10, 0, 0, b]);
            let sum = !sum(&frame[ETHERNET..]);
            frame[24..26].copy_from_slice(&sum.to_be_bytes());
        }
        let at = frame.len() + 16;
        frame.extend(tcp);
        let sum = !tcp_sum(&frame).unwrap_or(0);
        frame[at..at + 2].copy_from_slice(&sum.to_be_bytes());
        frame
    }
}

/// The ones' complement sum of 16-bit words.
fn sum(bytes: &[u8]) -> u16 {
    let word = |pair: &[u8]| u64::from(pair[0]) << 8 | u64::from(pair.get(1).copied().unwrap_or(0));
    let mut all: u64 = bytes.chunks(2).map(word).sum();
    while all > 0xffff {
        all = (all & 0xffff) + (all >> 16);
    }
    all as u16
}

/// The offsets of the TCP header and of the end of the packet.
fn tcp_of(frame: &[u8]) -> Option<(usize, usize)> {
    let at = ETHERNET;
    let word = |at: usize| Some(usize::from(*frame.get(at)?) << 8 | usize::from(*frame.get(at + 1)?));
    let (tcp, end) = match (word(12)?, frame.get(at)? >> 4) {
        (0x0800, 4) => (at + usize::from(frame[at] & 15) * 4, at + word(at + 2)?),
        (0x86dd, 6) => (at + 40, at + 40 + word(at + 4)?),
        _ => return None,
    };
    // A burst that is too long for the length field has length 0.
    let end = if word(if frame[12] == 8 { at + 2 } else { at + 4 })? == 0 { frame.len() } else { end };
    (tcp + 20 <= end && end <= frame.len()).then_some((tcp, end))
}

/// The sum of a TCP packet with its pseudo-header: 0xffff if the checksum is right.
pub fn tcp_sum(frame: &[u8]) -> Option<u16> {
    let (tcp, end) = tcp_of(frame)?;
    let addresses = if frame[12] == 8 { 26..34 } else { 22..54 };
    let mut all = frame[addresses].to_vec();
    all.extend([0, 6]);
    all.extend(((end - tcp) as u16).to_be_bytes());
    all.extend(&frame[tcp..end]);
    Some(sum(&all))
}

/// The sum of an IPv4 header: 0xffff if the checksum is right.
pub fn ip_sum(frame: &[u8]) -> Option<u16> {
    let (tcp, _) = tcp_of(frame)?;
    (frame[12] == 8).then(|| sum(&frame[ETHERNET..tcp]))
}

pub fn window(frame: &[u8]) -> Option<u16> {
    let (tcp, _) = tcp_of(frame)?;
    Some(u16::from_be_bytes([frame[tcp + 14], frame[tcp + 15]]))
}

pub fn ecn(frame: &[u8]) -> u8 {
    if frame[12] == 8 { frame[15] & 3 } else { frame[15] >> 4 & 3 }
}

/// The frame with zeros in the fields that a proxy may change: ECN, window and checksums.
pub fn masked(frame: &[u8]) -> Vec<u8> {
    let mut all = frame.to_vec();
    let Some((tcp, _)) = tcp_of(frame) else { return all };
    if frame[12] == 8 {
        all[15] &= !3;
        all[24..26].fill(0);
    } else {
        all[15] &= !0x30;
    }
    all[tcp + 14..tcp + 18].fill(0);
    all
}

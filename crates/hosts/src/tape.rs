//! Recordings of rehearsals. A tape has the headers of every frame that a host sent and of every frame that the network
//! delivered, with times. When a simulated network gets the sent frames again, it must deliver the same frames.
//!
//! The file begins with a line of text: `shallop tape 1 SCHEME SEED`, then the names of hosts by number. Records
//! follow, with little-endian numbers: direction (1 byte: 0 from a host, 1 to a host), time in picoseconds (8), host
//! (4), length of the frame with its virtio-net header (4), number of kept bytes (2), kept bytes.

use crate::{frame::ETHERNET, ip::Ip, offload::HEADER, packet_io::PacketIo};
use etherparse::IpNumber;
use shallop_core::{Span, Time};
use std::collections::VecDeque;

/// The most bytes that a record keeps of a frame: headers of virtio-net, Ethernet, IPv4 and TCP with all options.
const KEPT: usize = HEADER + ETHERNET + 60 + 60;
/// The first words of the file, whatever its version.
const TITLE: &str = "shallop tape ";
const VERSION: &str = "1";
/// The longest file, in bytes.
const LONGEST: usize = 1 << 30;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    FromHost,
    /// The network delivered the frame to the host.
    ToHost,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub direction: Direction,
    /// The time at which the frame entered the network, or was due at its host.
    pub at: Time,
    pub host: u32,
    /// Bytes of the frame with its virtio-net header.
    pub length: u32,
    /// The virtio-net header and the headers of the frame.
    pub bytes: Vec<u8>,
}

/// A recording of the frames of a rehearsal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tape {
    /// The index of the scheme in the plan, and the seed.
    pub job: (usize, u64),
    /// The names of hosts by number; empty on older tapes.
    pub names: Vec<String>,
    /// The frames, in the order in which the emulator handled them.
    pub records: Vec<Record>,
    /// Whether the tape was full before the run ended.
    pub is_cut: bool,
}

/// The reason why a file cannot be read as a tape.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TapeError {
    /// The file does not begin with `shallop tape`.
    #[error("is not a tape of a rehearsal")]
    Other,
    #[error("is a tape of version {0}, and this shallop reads version {VERSION}")]
    Version(String),
    /// A record is incomplete or has an unknown direction.
    #[error("is damaged or was cut off behind {0} packets")]
    Damaged(usize),
}

impl Tape {
    /// Encodes the tape as the contents of a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut title = format!("{TITLE}{VERSION} {} {}", self.job.0, self.job.1);
        // Spaces separate names, so a name with a space cannot be written.
        if !self.names.iter().any(|name| name.contains(char::is_whitespace)) {
            title.extend(self.names.iter().flat_map(|name| [" ", name]));
        }
        let mut bytes = (title + "\n").into_bytes();
        for Record { direction, at, host, length, bytes: kept } in &self.records {
            bytes.push(u8::from(*direction == Direction::ToHost));
            bytes.extend(at.since_start().as_ps().to_le_bytes());
            bytes.extend(host.to_le_bytes());
            bytes.extend(length.to_le_bytes());
            bytes.extend((kept.len() as u16).to_le_bytes());
            bytes.extend(kept);
        }
        bytes
    }

    /// Decodes the contents of a file.
    ///
    /// # Errors
    /// If they are not a tape, of another version, or damaged.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, TapeError> {
        let end = bytes.iter().position(|&byte| byte == b'\n');
        let title = std::str::from_utf8(&bytes[..end.unwrap_or(bytes.len())]).ok();
        let title = title.and_then(|title| title.strip_prefix(TITLE)).ok_or(TapeError::Other)?;
        let mut words = title.split_whitespace();
        let version = words.next().ok_or(TapeError::Damaged(0))?;
        if version != VERSION {
            return Err(TapeError::Version(version.to_owned()));
        }
        let mut job = || Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?));
        let (job, end) = job().zip(end).ok_or(TapeError::Damaged(0))?;
        let names = words.map(str::to_owned).collect();
        let mut records = Vec::new();
        match Self::add_records(&bytes[end + 1..], &mut records) {
            Some(()) => Ok(Self { job, names, records, is_cut: false }),
            None => Err(TapeError::Damaged(records.len())),
        }
    }

    /// Appends all records of a file; `None` at the first damaged record.
    fn add_records(mut rest: &[u8], records: &mut Vec<Record>) -> Option<()> {
        while !rest.is_empty() {
            let (head, after) = rest.split_first_chunk::<19>()?;
            let number = |from: usize| u32::from_le_bytes([0, 1, 2, 3].map(|at| head[from + at]));
            let time = u64::from(number(1)) | u64::from(number(5)) << 32;
            let kept = usize::from(u16::from_le_bytes([head[17], head[18]]));
            let (kept, after) = after.split_at_checked(kept)?;
            let direction = match head[0] {
                0 => Direction::FromHost,
                1 => Direction::ToHost,
                _ => return None,
            };
            let at = Time::after_start(Span::from_ps(time));
            let (host, length, bytes) = (number(9), number(13), kept.to_vec());
            records.push(Record { direction, at, host, length, bytes });
            rest = after;
        }
        Some(())
    }

    /// The frames that the network delivered.
    pub fn delivered(&self) -> impl Iterator<Item = &Record> {
        self.records.iter().filter(|record| record.direction == Direction::ToHost)
    }

    fn add(&mut self, direction: Direction, at: Time, host: u32, frame: &[u8]) {
        if self.records.len() * (KEPT + 19) > LONGEST {
            self.is_cut = true;
            return;
        }
        let bytes = frame[..header_bytes(frame).min(frame.len())].to_vec();
        self.records.push(Record { direction, at, host, length: frame.len() as u32, bytes });
    }
}

/// Packet input and output that is recorded.
#[derive(Debug)]
pub struct Recorder<P> {
    io: P,
    /// The recording; without a tape nothing is recorded.
    pub tape: Option<Tape>,
}

impl<P> Recorder<P> {
    /// Records the frames that pass `io` on a tape, if there is one.
    pub fn new(io: P, tape: Option<Tape>) -> Self {
        Self { io, tape }
    }

    /// Returns the packet input and output without the recorder.
    pub fn into_inner(self) -> P {
        self.io
    }
}

impl<P: PacketIo> PacketIo for Recorder<P> {
    fn now(&mut self) -> Time {
        self.io.now()
    }

    fn take_back(&mut self, time: Span) {
        self.io.take_back(time);
    }

    fn receive(&mut self, holds: &dyn Fn(u32) -> bool, frame: &mut [u8]) -> Option<(u32, usize)> {
        let (host, count) = self.io.receive(holds, frame)?;
        if let (Some(tape), Some(frame)) = (&mut self.tape, frame.get(..count)) {
            tape.add(Direction::FromHost, Time::ZERO, host, frame);
        }
        Some((host, count))
    }

    fn entered(&mut self, at: Time) {
        let tape = self.tape.as_mut().filter(|tape| !tape.is_cut);
        if let Some(record) = tape.and_then(|tape| tape.records.last_mut()) {
            record.at = at;
        }
    }

    fn send(&mut self, host: u32, due: Time, frame: &[u8]) -> bool {
        if let Some(tape) = &mut self.tape {
            tape.add(Direction::ToHost, due, host, frame);
        }
        self.io.send(host, due, frame)
    }

    fn sleep(&mut self, until: Time) {
        self.io.sleep(until);
    }
}

/// Hosts that send the frames of a tape again, at the recorded times and with zeros as payload.
#[derive(Debug)]
pub struct Player {
    now: Time,
    frames: VecDeque<Record>,
}

impl Player {
    /// Creates hosts that repeat this tape.
    pub fn new(tape: &Tape) -> Self {
        let sent = tape.records.iter().filter(|record| record.direction == Direction::FromHost);
        Self { now: Time::ZERO, frames: sent.cloned().collect() }
    }
}

impl PacketIo for Player {
    fn now(&mut self) -> Time {
        self.now
    }

    fn receive(&mut self, _holds: &dyn Fn(u32) -> bool, frame: &mut [u8]) -> Option<(u32, usize)> {
        if self.frames.front()?.at > self.now {
            return None;
        }
        let Record { at, host, length, bytes, .. } = self.frames.pop_front()?;
        self.now = self.now.max(at);
        let into = frame.get_mut(..length as usize)?;
        into.fill(0);
        into.get_mut(..bytes.len())?.copy_from_slice(&bytes);
        Some((host, into.len()))
    }

    fn send(&mut self, _host: u32, _due: Time, _frame: &[u8]) -> bool {
        true
    }

    fn sleep(&mut self, until: Time) {
        let next = self.frames.front().map_or(until, |frame| frame.at.min(until));
        self.now = self.now.max(next);
    }
}

/// The position of the transport header in a frame with a virtio-net header, and the protocol; `None` without IP.
fn transport(frame: &[u8]) -> Option<(usize, IpNumber)> {
    let ip = Ip::from_frame(frame.get(HEADER..)?)?;
    Some((HEADER + ETHERNET + ip.header_len(), ip.protocol()))
}

/// The length of a frame without the payload of TCP or UDP, its virtio-net header included.
fn header_bytes(frame: &[u8]) -> usize {
    let Some((start, protocol)) = transport(frame) else { return HEADER + ETHERNET };
    let length = match protocol {
        IpNumber::TCP => frame.get(start + 12).map_or(20, |offset| usize::from(offset >> 4) * 4),
        _ => 8,
    };
    start + length
}

/// The part of a delivered packet that a replay must repeat: host, time, length, and the headers without the checksum
/// of TCP or UDP, which depends on the payload.
pub fn decision(record: &Record) -> (u32, Time, u32, Vec<u8>) {
    let mut bytes = record.bytes.clone();
    let checksum = match transport(&bytes) {
        Some((start, IpNumber::TCP)) => start + 16,
        Some((start, IpNumber::UDP)) => start + 6,
        _ => bytes.len(),
    };
    if let Some(field) = bytes.get_mut(checksum..checksum + 2) {
        field.fill(0);
    }
    (record.host, record.at, record.length, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_frames::{tcp, udp};
    use crate::{addresses, frame};

    /// Frames with a virtio-net header and 100 bytes of payload: TCP and UDP over IPv4, then over IPv6.
    fn frames() -> [Vec<u8>; 4] {
        [tcp(4, 100), udp(4, 100), tcp(6, 100), udp(6, 100)].map(|frame| [&[0; HEADER][..], &frame].concat())
    }

    #[test]
    fn frames_of_both_ip_versions_are_replayed_with_their_headers() {
        for whole in frames() {
            let mut tape = Tape::default();
            tape.add(Direction::FromHost, Time::ZERO, 0, &whole);
            assert_eq!(tape.records[0].bytes, whole[..whole.len() - 100], "all but the payload");
            let mut player = Player::new(&tape);
            let mut again = vec![1; 2_000];
            assert_eq!(player.receive(&|_| false, &mut again), Some((0, whole.len())));
            let again = &again[HEADER..whole.len()];
            let read = |frame| frame::segment(frame).or_else(|| frame::datagram(frame));
            assert_eq!(read(again), read(&whole[HEADER..]));
            let hosts = frame::addresses(again).unwrap();
            let hosts = (addresses::host_of(hosts.0), addresses::host_of(hosts.1));
            assert_eq!(hosts, (Some(0), Some(1)));
        }
    }

    #[test]
    fn a_decision_has_all_headers_but_the_checksum_of_tcp_or_udp() {
        for (whole, checksum) in frames().into_iter().zip([34 + 16, 34 + 6, 54 + 16, 54 + 6]) {
            let mut tape = Tape::default();
            tape.add(Direction::ToHost, Time::ZERO, 0, &whole);
            let record = tape.records.remove(0);
            for at in 0..record.bytes.len() {
                let mut other = record.clone();
                other.bytes[at] ^= 1;
                let is_ignored = (HEADER + checksum..HEADER + checksum + 2).contains(&at);
                assert_eq!(decision(&other) == decision(&record), is_ignored, "byte {at}");
            }
        }
    }

    #[test]
    fn a_tape_survives_writing_and_reading() {
        let names = vec!["s0".to_owned(), "r0".to_owned()];
        let mut tape = Tape { job: (2, 7), names, ..Tape::default() };
        tape.add(Direction::FromHost, Time::after_start(Span::from_ps(u64::MAX / 3)), 5, &[0x45; 1_500]);
        tape.add(Direction::ToHost, Time::ZERO, 0, &[1; 60]);
        let bytes = tape.to_bytes();
        assert_eq!(Tape::from_bytes(&bytes), Ok(tape.clone()));
        assert_eq!(tape.records[0].bytes.len(), HEADER + 14 + 20 + 8, "no payload");
        for cut in 0..bytes.len() {
            let part = Tape::from_bytes(&bytes[..cut]);
            assert!(part.map_or(true, |part| part.records.len() < 2), "{cut}");
        }
        let cut = Tape::from_bytes(&bytes[..bytes.len() - 1]);
        assert_eq!(cut, Err(TapeError::Damaged(1)));
        assert_eq!(Tape::from_bytes(b"shallop tape 1 x 1\n"), Err(TapeError::Damaged(0)));
        assert_eq!(Tape::from_bytes(b"shallop tape 2 0 1\n"), Err(TapeError::Version("2".into())));
        assert_eq!(Tape::from_bytes(b"title = \"a\"\n"), Err(TapeError::Other));
        assert_eq!(Tape::from_bytes(b""), Err(TapeError::Other));
        // A tape without names.
        assert_eq!(Tape::from_bytes(b"shallop tape 1 0 1\n").map(|tape| tape.names), Ok(vec![]));
    }
}

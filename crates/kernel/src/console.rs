//! The console of a run: somebody types lines for a shell in one of the hosts. Time stands still until the next line is
//! there. Lines and output are datagrams through a card that is not in the network (`agent/console.c`).

use etherparse::{Ethernet2Slice, Ipv4HeaderSlice, PacketBuilder, UdpHeaderSlice};
use shallop_core::Time;

use crate::error::Malformed;

/// The addresses of the shell's side and of ours, and the port of both.
const SHELL: [u8; 4] = [192, 168, 255, 1];
const OURS: [u8; 4] = [192, 168, 255, 2];
const PORT: u16 = 7;
/// The most bytes of a line.
pub const MAX_LINE: usize = 1_400;

/// Somebody who types lines and reads what a shell answers.
pub trait Terminal {
    /// The shell has written this.
    fn output(&mut self, bytes: &[u8]);

    /// The next line, at most [`MAX_LINE`] bytes; `None` to end the run. The last line had this exit status, and it is
    /// this time in the shell's host.
    fn line(&mut self, status: u8, now: Time) -> Option<String>;
}

/// What the shell's side says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// Output.
    Output(Vec<u8>),
    /// It waits for the next line; the last one had this exit status.
    Done(u8),
}

/// What a frame from the shell's side says; `None` if it is something else, such as a router solicitation.
pub fn said(frame: &[u8]) -> Option<Said> {
    let ethernet = Ethernet2Slice::from_slice_without_fcs(frame).ok()?;
    let packet = ethernet.payload_slice();
    let ip = Ipv4HeaderSlice::from_slice(packet).ok()?;
    let packet = packet.get(ip.slice().len()..usize::from(ip.total_len()))?;
    let udp = UdpHeaderSlice::from_slice(packet).ok()?;
    if ip.destination() != OURS || udp.destination_port() != PORT {
        return None;
    }
    match packet.get(udp.slice().len()..)?.split_first()? {
        (b'o', text) => Some(Said::Output(text.to_vec())),
        (b'd', status) => Some(Said::Done(std::str::from_utf8(status).ok()?.parse().ok()?)),
        _ => None,
    }
}

/// The frame that takes a line to the shell's side, whose card has this address.
///
/// # Errors
/// If the line is too long.
pub fn frame(line: &str, mac: [u8; 6]) -> Result<Vec<u8>, Malformed> {
    let too_long = || Malformed::Frame(line.len());
    if line.len() > MAX_LINE {
        return Err(too_long());
    }
    let builder = PacketBuilder::ethernet2(mac, mac).ipv4(OURS, SHELL, 64).udp(PORT, PORT);
    let mut bytes = Vec::with_capacity(builder.size(line.len()));
    builder.write(&mut bytes, line.as_bytes()).map_err(|_| too_long())?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot make its input should fail there")]

    use super::*;

    fn from_shell(payload: &[u8]) -> Vec<u8> {
        let builder =
            PacketBuilder::ethernet2([2; 6], [2; 6]).ipv4(SHELL, OURS, 64).udp(PORT, PORT);
        let mut bytes = Vec::new();
        builder.write(&mut bytes, payload).unwrap();
        bytes
    }

    #[test]
    fn output_and_the_end_of_a_line_are_told_apart() {
        assert_eq!(said(&from_shell(b"od127\n")), Some(Said::Output(b"d127\n".to_vec())));
        assert_eq!(said(&from_shell(b"d127")), Some(Said::Done(127)));
        for other in [&b"d"[..], b"x", b"", b"d256", b"d-1"] {
            assert_eq!(said(&from_shell(other)), None, "{other:?}");
        }
        assert_eq!(said(&frame("ls", [2; 6]).unwrap()), None, "a line of ours");
        assert_eq!(said(&from_shell(b"d0")[..30]), None, "a part of a frame");
    }

    #[test]
    fn a_line_too_long_for_a_datagram_is_refused() {
        assert!(frame(&"x".repeat(MAX_LINE), [2; 6]).is_ok());
        assert!(frame(&"x".repeat(MAX_LINE + 1), [2; 6]).is_err());
    }
}

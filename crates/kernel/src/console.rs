//! The console of a run: a user types lines for a shell in one of the hosts. Virtual time stands still until the next
//! line is there. Lines and output are UDP datagrams through a card of their own, which is not in the simulated network
//! (`agent/console.c`).

use crate::error::Malformed;
use etherparse::{Ethernet2Slice, Ipv4HeaderSlice, PacketBuilder, UdpHeaderSlice};
use shallop_core::Time;

/// The address of the shell. Both sides use port [`PORT`].
const SHELL: [u8; 4] = [192, 168, 255, 1];
const OURS: [u8; 4] = [192, 168, 255, 2];
const PORT: u16 = 7;
/// The longest line, in bytes.
pub const MAX_LINE: usize = 1_400;

pub trait Terminal {
    /// Shows the user what the shell has printed.
    fn output(&mut self, bytes: &[u8]);

    /// Reads the next line, at most [`MAX_LINE`] bytes; `None` ends the run. `status` is the exit status of the last
    /// line, `now` the time of the run.
    fn line(&mut self, status: u8, now: Time) -> Option<String>;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShellMessage {
    Output(Vec<u8>),
    /// The shell has finished the last line, with this exit status, and waits for the next one.
    Done(u8),
}

/// Reads a message that the shell sent in a frame; `None` for other frames, such as router solicitations.
pub fn shell_message(frame: &[u8]) -> Option<ShellMessage> {
    let ethernet = Ethernet2Slice::from_slice_without_fcs(frame).ok()?;
    let packet = ethernet.payload_slice();
    let ip = Ipv4HeaderSlice::from_slice(packet).ok()?;
    let packet = packet.get(ip.slice().len()..usize::from(ip.total_len()))?;
    let udp = UdpHeaderSlice::from_slice(packet).ok()?;
    if ip.destination() != OURS || udp.destination_port() != PORT {
        return None;
    }
    match packet.get(udp.slice().len()..)?.split_first()? {
        (b'o', text) => Some(ShellMessage::Output(text.to_vec())),
        (b'd', status) => Some(ShellMessage::Done(std::str::from_utf8(status).ok()?.parse().ok()?)),
        _ => None,
    }
}

/// Makes the frame of a line for the shell, whose card has the Ethernet address `mac`.
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
        let builder = PacketBuilder::ethernet2([2; 6], [2; 6]).ipv4(SHELL, OURS, 64).udp(PORT, PORT);
        let mut bytes = Vec::new();
        builder.write(&mut bytes, payload).unwrap();
        bytes
    }

    #[test]
    fn messages_of_the_shell_are_output_or_the_end_of_a_line() {
        assert_eq!(shell_message(&from_shell(b"od127\n")), Some(ShellMessage::Output(b"d127\n".to_vec())));
        assert_eq!(shell_message(&from_shell(b"d127")), Some(ShellMessage::Done(127)));
        for other in [&b"d"[..], b"x", b"", b"d256", b"d-1"] {
            assert_eq!(shell_message(&from_shell(other)), None, "{other:?}");
        }
        assert_eq!(shell_message(&frame("ls", [2; 6]).unwrap()), None, "a line of ours");
        assert_eq!(shell_message(&from_shell(b"d0")[..30]), None, "a part of a frame");
    }

    #[test]
    fn a_line_too_long_for_a_datagram_is_refused() {
        assert!(frame(&"x".repeat(MAX_LINE), [2; 6]).is_ok());
        assert!(frame(&"x".repeat(MAX_LINE + 1), [2; 6]).is_err());
    }
}

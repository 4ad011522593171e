//! Explicit congestion notification at the sender: ECN codepoints, CWR, and which data a reduction covers. Units: bytes
//! of the stream. Source: RFC 3168, 6.1.

use shallop_control::Marking;
use shallop_core::Ecn;

use super::config::EcnConfig;

/// Kinds of packets, by their ECN codepoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// SYN, zero-window probe or pure acknowledgement.
    Control,
    /// Data sent for the first time.
    NewData,
    /// A retransmission.
    Retransmission,
}

/// The ECN state of one sender.
#[derive(Clone, Copy, Debug)]
pub(super) struct EcnState {
    pub(super) config: EcnConfig,
    /// SND.NXT when a mark reduced the window last.
    pub(super) reduced_until: u64,
    /// The next new segment has CWR set.
    pub(super) send_cwr: bool,
}

impl EcnState {
    /// No mark was echoed yet.
    pub(super) const fn new(config: EcnConfig) -> Self {
        Self { config, reduced_until: 0, send_cwr: false }
    }

    /// The codepoint of a packet.
    pub(super) fn codepoint(&self, kind: Kind) -> Ecn {
        let capable = match self.config.ecn {
            Marking::Off => false,
            Marking::Classic => kind == Kind::NewData,
            Marking::Exact => true,
        };
        self.config.codepoint(capable)
    }

    /// A mark reduces the window.
    pub(super) const fn note_reduction(&mut self, snd_nxt: u64) {
        (self.reduced_until, self.send_cwr) = (snd_nxt, true);
    }
}

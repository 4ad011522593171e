//! ECN at the sender: codepoints, CWR, and the data that a reduction covers. Units: bytes of the stream. Source: RFC
//! 3168, 6.1.

use super::config::EcnConfig;
use shallop_control::Marking;
use shallop_core::Ecn;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PacketKind {
    /// A packet without data: SYN, zero-window probe or pure acknowledgement.
    Control,
    NewData,
    Retransmission,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct EcnState {
    pub(super) config: EcnConfig,
    /// SND.NXT when a mark last reduced the window. Marks of data before it cause no further reduction.
    pub(super) reduced_until: u64,
    /// Whether the next new segment must have CWR set.
    pub(super) send_cwr: bool,
}

impl EcnState {
    pub(super) const fn new(config: EcnConfig) -> Self {
        Self { config, reduced_until: 0, send_cwr: false }
    }

    pub(super) fn codepoint(&self, kind: PacketKind) -> Ecn {
        let capable = match self.config.ecn {
            Marking::Off => false,
            Marking::Classic => kind == PacketKind::NewData,
            Marking::Exact => true,
        };
        self.config.codepoint(capable)
    }
}

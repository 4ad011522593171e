//! What a sender knows and decides at one time, in the quantities of Linux's `TCP_INFO`, so that traces of simulated
//! flows and of kernels have equal columns.

use shallop_core::{BitsPerSec, Span};

/// The state of a sender's congestion control (kernel: `enum tcp_ca_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CaState {
    Open,
    /// Acknowledgements were duplicate or selective, and nothing is marked lost.
    Disorder,
    /// The window was reduced for ECN-Echo, and not all data in flight at that time is acknowledged.
    Cwr,
    Recovery,
    /// Recovery after a retransmission timeout.
    Loss,
}

impl CaState {
    /// All states, in the order of their numbers.
    pub const ALL: [Self; 5] = [Self::Open, Self::Disorder, Self::Cwr, Self::Recovery, Self::Loss];

    /// The number of the state in Linux (`tcpi_ca_state`), 0 to 4.
    pub const fn number(self) -> u8 {
        self as u8
    }
}

/// The state of a flow at one time, known by the end that sets its rate. A transport leaves out what it does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FlowState {
    /// The congestion window in segments.
    pub cwnd: Option<f64>,
    /// The slow start threshold in segments; `None` before the first reduction.
    pub ssthresh: Option<f64>,
    /// The rate at which payload is paced; of transports with credits, the rate for which the flow asks. `None` if
    /// nothing sets a rate.
    pub pacing: Option<BitsPerSec>,
    /// The smoothed round-trip time; `None` before the first sample.
    pub srtt: Option<Span>,
    /// Data segments that were acknowledged, cumulatively or selectively. Linux counts the SYN as well.
    pub delivered: Option<u64>,
    pub ca_state: Option<CaState>,
}

/// The rate of a packet with this payload, in bytes, in each gap.
pub(crate) fn payload_rate(payload: u64, gap: Span) -> Option<BitsPerSec> {
    let bits = payload as f64 * 8.0;
    (!gap.is_zero()).then(|| BitsPerSec::at_least_one((bits / gap.as_secs_f64()).round() as u64))
}

//! The interface between a TCP sender and its congestion control. The sender keeps the SACK scoreboard, detects losses
//! and runs recovery; the controller sets the congestion window (cwnd), the slow start threshold (ssthresh) and, if it
//! paces, the pacing rate. Units: bytes of payload. Fields have the names of the kernel's `struct rate_sample` and
//! `struct tcp_sock`, or of RFC 9293 and RFC 5681.

use shallop_core::{BitsPerSec, Bytes, Span, Time};

/// Parameters of a new connection for its controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// Sender maximum segment size (SMSS), in bytes of payload.
    pub mss: Bytes,
    /// Initial window (RFC 6928), also the restart window after an idle period.
    pub initial_window: Bytes,
    /// Initial slow start threshold; [`Bytes::MAX`] if slow start is to run until congestion.
    pub initial_ssthresh: Bytes,
    /// Rate of the sender's link, in bit/s.
    pub link_rate: BitsPerSec,
    /// Seed of this flow's random numbers, for controllers that make random choices.
    pub seed: u64,
}

/// What the multiplicative decrease multiplies: bytes in flight or cwnd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Bytes in flight, at most cwnd (`FlightSize` of RFC 5681, 3.1), since cwnd may not have been used in full.
    Flight,
    /// The congestion window (kernel: `tcp_reno_ssthresh`). Safe only if cwnd does not grow while the sender does not
    /// use it in full.
    Window,
}

shallop_options::string_enum! { Basis { Flight = "flight", Window = "window" } }

impl Basis {
    /// Number of bytes that the multiplicative decrease multiplies.
    pub fn bytes(self, cwnd: Bytes, loss: &Loss) -> Bytes {
        match self {
            Self::Flight => cwnd.min(loss.prior_in_flight),
            Self::Window => cwnd,
        }
    }
}

/// A delivery rate sample (draft-cheng-iccrg-delivery-rate-estimation; kernel: `struct rate_sample`, `tcp_rate.c`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateSample {
    /// Bytes delivered over `interval`.
    pub delivered: Bytes,
    /// Time to send the delivered bytes or time to have them acknowledged, whichever is longer.
    pub interval: Span,
    /// Total of bytes delivered on the connection when the sampled packet was sent.
    pub prior_delivered: Bytes,
    /// Whether the application left the sender without data during the interval, so that the sample may be below the
    /// rate of the path.
    pub is_app_limited: bool,
}

/// State of the sender after it has processed an acknowledgement (ACK).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ack {
    /// Arrival time of the ACK.
    pub now: Time,
    /// Bytes that this ACK newly acknowledges, cumulatively or selectively.
    pub acked_sacked: Bytes,
    /// Bytes marked lost since the previous ACK that delivered data.
    pub losses: Bytes,
    /// Part of `acked_sacked` that was acknowledged with ECN-Echo (RFC 8257: `BytesMarked`), in bytes.
    pub marked: Bytes,
    /// Total of bytes delivered on this connection, including `acked_sacked`.
    pub delivered: Bytes,
    /// Round-trip time (RTT) of the most recently sent packet that this ACK covers; `None` if it covers a retransmitted
    /// packet, since the sample would be ambiguous (RFC 6298, 3: Karn's algorithm).
    pub rtt: Option<Span>,
    /// Smoothed RTT (RFC 6298); zero before the first sample.
    pub srtt: Span,
    /// Minimum RTT of the connection; zero before the first sample.
    pub min_rtt: Span,
    /// Delivery rate sample; `None` if the ACK yields none.
    pub rate_sample: Option<RateSample>,
    /// Bytes in flight before this ACK.
    pub prior_in_flight: Bytes,
    /// Bytes in flight after this ACK.
    pub in_flight: Bytes,
    /// Whether cwnd, not the application or the receive window, limited the sender since the previous ACK (kernel:
    /// `tcp_is_cwnd_limited`).
    pub is_cwnd_limited: bool,
    /// Bytes by which SND.UNA advanced. If zero, cwnd must not grow (RFC 5681, 3.1; kernel: `tcp_may_raise_cwnd`):
    /// while a lost retransmission keeps SND.UNA constant, selective ACKs would make cwnd grow without limit.
    pub snd_una_advance: Bytes,
    /// Whether a new round trip begins, because a packet sent after the previous round began was acknowledged (kernel,
    /// `tcp_bbr.c`: `round_start`).
    pub round_start: bool,
    /// Whether the sender reduces its bytes in flight towards [`Window::window`] (kernel: `tcp_in_cwnd_reduction`,
    /// states CWR and Recovery). The state begins with the detection of a loss, or of ECN-Echo if the sender reduces
    /// gradually, and ends when all data in flight at that time is acknowledged. False in loss recovery after a
    /// retransmission timeout (RTO), when cwnd grows again.
    pub in_cwnd_reduction: bool,
    /// SND.UNA: the first byte not cumulatively acknowledged.
    pub snd_una: u64,
    /// SND.NXT: the first byte not yet sent.
    pub snd_nxt: u64,
}

/// State of the sender at a congestion event: a loss, an RTO or the first ECN-Echo of a window of data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// Time at which the sender detected the congestion.
    pub now: Time,
    /// Bytes in flight before the ACK or timer that revealed the congestion.
    pub prior_in_flight: Bytes,
    /// Whether cwnd was already reduced for ECN-Echo, and not all data in flight at that time is acknowledged (state
    /// CWR of Linux). RFC 3168, 6.1.2, allows one reduction per window of data.
    pub in_cwr: bool,
    /// SND.UNA: the first byte not cumulatively acknowledged.
    pub snd_una: u64,
    /// SND.NXT: the first byte not yet sent.
    pub snd_nxt: u64,
}

/// Window and threshold before a reduction that turned out to be spurious (kernel: `prior_cwnd`, `prior_ssthresh`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Undo {
    /// cwnd before the reduction.
    pub prior_cwnd: Bytes,
    /// ssthresh before the reduction, or three quarters of cwnd if that is larger (kernel: `tcp_current_ssthresh`);
    /// [`Bytes::MAX`] if ssthresh was unknown.
    pub prior_ssthresh: Bytes,
}

/// The congestion control of one connection.
pub trait Window {
    /// Called when the SYN-ACK arrives `_rtt` after the SYN: the first RTT sample, of small frames. Not called if the
    /// SYN was retransmitted, or if the connection has no handshake.
    fn on_handshake(&mut self, _now: Time, _rtt: Span) {}
    /// Called when transmission starts with nothing in flight (kernel: `CA_EVENT_TX_START`). `_app_limited` says
    /// whether the application had no data until now. Called after [`Window::on_idle`] if both apply.
    fn on_restart(&mut self, _now: Time, _app_limited: bool) {}
    /// Called for each ACK that delivers data, in every state, and after [`Window::on_loss`] if the same ACK revealed a
    /// loss.
    fn on_ack(&mut self, ack: &Ack);
    /// Called when fast recovery begins: once for all losses below [`Loss::snd_nxt`].
    fn on_loss(&mut self, loss: &Loss);
    /// Called when the retransmission timer expires; `first` is false if it already expired for the same SND.UNA.
    fn on_rto(&mut self, loss: &Loss, first: bool);
    /// Called when ECN-Echo arrives: once per window of data (RFC 3168, 6.1.2), after [`Window::on_ack`] of the ACK
    /// that carried it.
    fn on_mark(&mut self, _mark: &Loss) {}
    /// Called when the sender was idle for `_idle`, longer than an RTO, and is about to send (RFC 5681, 4.1; kernel:
    /// `tcp_slow_start_after_idle_check`).
    fn on_idle(&mut self, _idle: Span) {}
    /// Called when recovery ends: all data in flight at the loss or RTO is acknowledged.
    fn on_recovery_exit(&mut self, _now: Time) {}
    /// Undoes the reduction for the last loss or timeout, which was spurious: no packet was lost. Growth beyond the
    /// prior values is kept (kernel: `tcp_reno_undo_cwnd`). [`Window::on_recovery_exit`] follows if the sender is in
    /// recovery. The default does nothing, for controllers that do not respond to losses.
    fn on_undo(&mut self, _undo: &Undo) {}

    /// The congestion window (cwnd), in bytes. During recovery, the target of proportional rate reduction (PRR, RFC
    /// 9937).
    fn window(&self) -> Bytes;
    /// The slow start threshold (ssthresh), in bytes; [`Bytes::MAX`] before the first reduction.
    fn slow_start_threshold(&self) -> Bytes;
    /// Pacing rate of payload, in bit/s; `None` if packets are not paced.
    fn pacing(&self) -> Option<BitsPerSec> {
        None
    }
    /// Minimum number of segments in a burst of segmentation offload (kernel: `min_tso_segs`, by default
    /// `net.ipv4.tcp_min_tso_segs`).
    fn min_tso_segs(&self) -> u32 {
        2
    }
    /// Maximum number of segments in a burst of segmentation offload, at least [`Window::min_tso_segs`].
    fn max_tso_segs(&self) -> u32 {
        u32::MAX
    }
    /// Whether the sender applies [`Window::window`] unchanged during recovery, without PRR (kernel: the controller has
    /// `cong_control`).
    fn owns_recovery(&self) -> bool {
        false
    }
}

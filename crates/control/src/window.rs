//! What a window controller is told and what it answers. The sender keeps the scoreboard, detects losses and shapes
//! recovery; the controller only decides how much may be in flight. Units: payload bytes.

use shallop_core::{BitsPerSec, Bytes, Span, Time};

/// What a controller is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// Payload of a full segment.
    pub segment: Bytes,
    /// The window to begin with, and to begin again with after a long silence.
    pub window: Bytes,
    /// The window at which slow start ends; [`Bytes::MAX`] to find out.
    pub threshold: Bytes,
    /// Rate of the sender's own link.
    pub link: BitsPerSec,
    /// A number drawn for this flow, for controllers that leave something to chance.
    pub draw: u64,
}

/// What a reduction starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// What was in flight, never more than the window (RFC 5681, 3.1: the window may not have been used).
    Flight,
    /// The window (kernel: `tcp_reno_ssthresh`; right as long as an unused window does not grow).
    Window,
}

impl Basis {
    /// The bytes a reduction starts from.
    #[must_use]
    pub fn of(self, window: Bytes, loss: &Loss) -> Bytes {
        match self {
            Self::Flight => window.min(loss.in_flight),
            Self::Window => window,
        }
    }
}

/// A delivery-rate sample (draft-cheng-iccrg-delivery-rate-estimation; kernel: `tcp_rate.c`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateSample {
    /// Bytes delivered during the interval.
    pub delivered: Bytes,
    /// The longer of the time it took to send them and the time it took to get them acknowledged.
    pub interval: Span,
    /// All bytes that had been delivered when the packet this sample belongs to was sent.
    pub prior_delivered: Bytes,
    /// The sender had nothing to send at some time during the interval, so the path may be faster than this.
    pub app_limited: bool,
}

/// What one acknowledgement told the sender, after the scoreboard was brought up to date.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ack {
    /// When it came.
    pub now: Time,
    /// Newly delivered bytes, acknowledged cumulatively or selectively.
    pub acked: Bytes,
    /// Bytes taken for lost since the last acknowledgement of new data.
    pub lost: Bytes,
    /// Of `acked`, the bytes whose acknowledgement echoed a congestion mark.
    pub marked: Bytes,
    /// All bytes delivered so far, these included.
    pub delivered: Bytes,
    /// Round-trip sample of the newest packet acknowledged, if one was unambiguous.
    pub rtt: Option<Span>,
    /// Smoothed round-trip time (RFC 6298); zero before the first sample.
    pub smoothed_rtt: Span,
    /// Shortest sample ever; zero before the first one.
    pub min_rtt: Span,
    /// Delivery rate, if it could be measured.
    pub rate: Option<RateSample>,
    /// In flight before this acknowledgement.
    pub flight_before: Bytes,
    /// In flight after it.
    pub in_flight: Bytes,
    /// True if the window, not the application or the receiver, bounded the sender since the last acknowledgement.
    pub window_limited: bool,
    /// By how much the cumulative acknowledgement advanced. If it did not, no window grows (RFC 5681, 3.1; kernel:
    /// `tcp_may_raise_cwnd`): while a repeated segment is missing again, nobody would find out that it grows too far.
    pub advanced: Bytes,
    /// True if a packet sent after the last round began was acknowledged: a new round trip begins.
    pub round_start: bool,
    /// True while the sender shrinks to [`Window::window`]: between the detection of a loss, or of a mark if it answers
    /// marks gradually, and the acknowledgement of all that was in flight then. Not after a timeout, when it grows
    /// again.
    pub recovering: bool,
    /// The first byte not yet acknowledged cumulatively.
    pub una: u64,
    /// The first byte never sent.
    pub next: u64,
}

/// What the sender knows when it finds congestion: a loss, a timeout or the first mark of a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// When it was found.
    pub now: Time,
    /// In flight just before.
    pub in_flight: Bytes,
    /// Marks have shrunk the window already since the data now in flight was sent: RFC 3168, 6.1.2, asks for one
    /// reduction for each window of data.
    pub after_mark: bool,
    /// The first byte not yet acknowledged cumulatively.
    pub una: u64,
    /// The first byte never sent.
    pub next: u64,
}

/// A controller of a sender's window.
pub trait Window {
    /// The greeting was answered after so long: the first round trip, and of small frames. Not called if it had to be
    /// repeated, or if there was none.
    fn on_handshake(&mut self, _now: Time, _rtt: Span) {}
    /// Data is about to leave with nothing in flight; `_app_limited` if that is for want of data (kernel:
    /// `CA_EVENT_TX_START`). Called after [`Window::on_idle`] if the silence was long.
    fn on_restart(&mut self, _now: Time, _app_limited: bool) {}
    /// An acknowledgement of new data came. Called in every state, after [`Window::on_loss`] if it revealed one.
    fn on_ack(&mut self, ack: &Ack);
    /// A loss was found by acknowledgements; called once for all losses up to [`Loss::next`].
    fn on_loss(&mut self, loss: &Loss);
    /// The retransmission timer expired; `first` unless it had expired before for the same byte.
    fn on_rto(&mut self, loss: &Loss, first: bool);
    /// Congestion marks were echoed; called once for each window of data (RFC 3168, 6.1.2), after [`Window::on_ack`]
    /// for the acknowledgement that echoed the first.
    fn on_mark(&mut self, _mark: &Loss) {}
    /// The sender was idle for `_idle`, longer than a retransmission timeout, and is about to send.
    fn on_idle(&mut self, _idle: Span) {}
    /// All that was in flight when the loss was found, or when the timer expired, is acknowledged.
    fn on_recovery_exit(&mut self, _now: Time) {}
    /// How much may be in flight. During recovery it is the target that proportional rate reduction steers towards.
    fn window(&self) -> Bytes;
    /// The window at which slow start ends; [`Bytes::MAX`] while unknown.
    fn slow_start_threshold(&self) -> Bytes;
    /// The rate at which packets should leave, for controllers that pace.
    fn pacing(&self) -> Option<BitsPerSec> {
        None
    }
    /// True if [`Window::window`] is to be obeyed during recovery as it stands, without proportional rate reduction.
    fn owns_recovery(&self) -> bool {
        false
    }
}

//! `NewReno`: cwnd grows by one segment per round trip and is halved on a congestion event. Growth counts bytes, not
//! ACKs (appropriate byte counting), so that delayed or stretched ACKs do not slow it down. State: cwnd, ssthresh, and
//! the bytes acknowledged since cwnd last grew. Units: bytes. Sources: RFC 5681, 3.1 and 4.1; RFC 3465, 2.1; RFC 6582;
//! RFC 3168, 6.1.2 (ECN); kernel: `tcp_cong.c`. ECN* is this controller with ECN, behind switches that mark at a single
//! threshold (docs/dctcp.md).

use crate::hystart::{SlowStart, SlowStartStep};
use crate::loss::{self, Restart};
use crate::options::{ControllerName, Marking, Parameters};
use crate::pacing::Pacing;
use crate::window::{Ack, Basis, Loss, Start, Undo, Window};
use shallop_core::{BitsPerSec, Bytes, Span};
use shallop_options::{HostStack, Options};

/// Parameters of Reno.
#[derive(Clone, Copy, Debug, PartialEq, Options)]
#[options(stack: HostStack, defaults)]
pub struct Config {
    /// Growth and reduction.
    #[part(loss::Config::reno(stack))]
    pub loss: loss::Config,
    /// Whether packets leave evenly spaced: at two congestion windows per round-trip time in slow start, and at 1.2
    /// afterwards (Linux: `tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio`).
    #[key(default = stack.paces())]
    pub pacing: bool,
}

impl Parameters for Config {
    /// Names of this controller in scenarios: ECN* is Reno with marks.
    const KINDS: &[ControllerName] = &[
        ControllerName { name: "newreno", about: "losses: half of the window at each", marking: Marking::Off },
        ControllerName { name: "ecn-star", about: "marks: half of the window", marking: Marking::Classic },
    ];

    fn initial_threshold(&self) -> Option<Bytes> {
        self.loss.slow_start.initial_threshold
    }
}

impl Config {
    /// Reno of RFC 5681, without pacing.
    pub const RFC: Self = Self { loss: loss::Config::RFC, pacing: false };
    /// Reno of Linux on a host without segmentation offload.
    pub const LINUX_IDEAL: Self = Self::defaults(HostStack::LinuxIdeal);
}

/// `NewReno` congestion control of one connection.
#[derive(Clone, Debug)]
pub struct Reno {
    /// Multiplicative decrease factor: the fraction of cwnd that a congestion event leaves.
    beta: f64,
    basis: Basis,
    mss: Bytes,
    initial_window: Bytes,
    restart: Restart,
    cwnd: Bytes,
    ssthresh: Bytes,
    /// Bytes acknowledged since cwnd last grew in congestion avoidance (RFC 3465: `bytes_acked`).
    bytes_acked: Bytes,
    slow_start: SlowStart,
    pacing: Pacing,
}

impl Reno {
    /// `NewReno` for a new connection.
    pub fn new(config: &Config, start: &Start) -> Self {
        Self {
            beta: 1.0 - config.loss.decrease,
            basis: config.loss.basis,
            mss: start.mss,
            initial_window: start.initial_window,
            restart: config.loss.restart,
            cwnd: start.initial_window.max(start.mss),
            ssthresh: start.initial_ssthresh,
            bytes_acked: Bytes::ZERO,
            slow_start: SlowStart::new(&config.loss.slow_start, start.mss).paced(config.pacing),
            pacing: Pacing::new(config.pacing),
        }
    }

    /// Paces at `percent` of cwnd / SRTT after slow start.
    #[must_use]
    pub(crate) fn paced_at(self, percent: u64) -> Self {
        Self { pacing: self.pacing.at(percent), ..self }
    }

    /// Updates SRTT and `FlightSize` for the pacing rate. Called by controllers that contain a `Reno` and do not call
    /// `grow` at each ACK.
    pub(crate) fn update_pacing(&mut self, ack: &Ack) {
        self.pacing.on_ack(ack);
    }

    /// Grows cwnd in slow start or congestion avoidance. Also used by controllers that differ from Reno only in the
    /// decrease.
    pub fn grow(&mut self, ack: &Ack) {
        self.pacing.on_ack(ack);
        if ack.in_cwnd_reduction || ack.snd_una_advance == Bytes::ZERO || !ack.is_cwnd_limited {
            return;
        }
        let mut acked = ack.acked_sacked;
        if self.cwnd < self.ssthresh {
            match self.slow_start.on_ack(ack, self.cwnd) {
                SlowStartStep::Exit => self.ssthresh = self.cwnd,
                SlowStartStep::Grow(by) => {
                    let grown = self.cwnd + by;
                    acked = grown.saturating_sub(self.ssthresh);
                    self.cwnd = grown.min(self.ssthresh);
                }
            }
            if self.cwnd < self.ssthresh {
                return;
            }
        }
        self.bytes_acked += acked;
        if self.bytes_acked >= self.cwnd {
            self.bytes_acked -= self.cwnd;
            self.cwnd += self.mss;
        }
    }

    /// Reduces cwnd and ssthresh to `to`, and ends slow start. cwnd is at least `min_segments` segments, ssthresh at
    /// least two.
    pub fn reduce(&mut self, to: Bytes, min_segments: u64) {
        self.reduce_amid_growth(to, min_segments);
        self.bytes_acked = Bytes::ZERO;
    }

    /// Reduces as [`Reno::reduce`] does, but bytes acknowledged since the last growth still count for the next.
    pub fn reduce_amid_growth(&mut self, to: Bytes, min_segments: u64) {
        self.cwnd = to.max(self.mss * min_segments);
        self.ssthresh = to.max(self.mss * 2);
        self.slow_start.on_congestion();
    }

    /// Sets cwnd and ssthresh, for controllers that compute them themselves.
    pub fn set(&mut self, cwnd: Bytes, ssthresh: Bytes) {
        (self.cwnd, self.ssthresh) = (cwnd, ssthresh);
    }

    /// Responds to an RTO: cwnd becomes one segment, ssthresh becomes `ssthresh`, at least two segments. `None` leaves
    /// ssthresh unchanged.
    pub fn reset(&mut self, ssthresh: Option<Bytes>) {
        let ssthresh = ssthresh.map_or(self.ssthresh, |to| to.max(self.mss * 2));
        self.reduce(self.mss, 1);
        self.ssthresh = ssthresh;
    }

    /// cwnd after the multiplicative decrease, in bytes.
    fn reduced(&self, loss: &Loss) -> Bytes {
        let basis = self.basis.bytes(self.cwnd, loss);
        Bytes::new((basis.get() as f64 * self.beta) as u64)
    }
}

/// Forwards the methods for the window, the slow-start threshold and the pacing rate to the field `reno`.
macro_rules! windows_of_reno {
    () => {
        fn window(&self) -> shallop_core::Bytes {
            self.reno.window()
        }
        fn slow_start_threshold(&self) -> shallop_core::Bytes {
            self.reno.slow_start_threshold()
        }
        fn pacing(&self) -> Option<shallop_core::BitsPerSec> {
            self.reno.pacing()
        }
    };
}

pub(crate) use windows_of_reno;

impl Window for Reno {
    fn on_ack(&mut self, ack: &Ack) {
        // cwnd does not grow on an ACK with ECN-Echo (RFC 3168, 6.1.2).
        if ack.marked == Bytes::ZERO {
            self.grow(ack);
        } else {
            self.pacing.on_ack(ack);
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        if !loss.in_cwr {
            self.reduce(self.reduced(loss), 2);
        }
    }

    fn on_rto(&mut self, loss: &Loss, first: bool) {
        self.reset(first.then(|| self.reduced(loss)));
    }

    fn on_mark(&mut self, mark: &Loss) {
        self.reduce(self.reduced(mark), 1);
    }

    fn on_idle(&mut self, _idle: Span) {
        self.cwnd = match self.restart {
            Restart::Lesser => self.cwnd.min(self.initial_window),
            Restart::First => self.initial_window,
        };
    }

    /// Restores cwnd and ssthresh after a spurious reduction (kernel: `tcp_reno_undo_cwnd`, `tcp_undo_cwnd_reduction`).
    fn on_undo(&mut self, undo: &Undo) {
        self.cwnd = self.cwnd.max(undo.prior_cwnd);
        self.ssthresh = self.ssthresh.max(undo.prior_ssthresh);
    }

    fn window(&self) -> Bytes {
        self.cwnd
    }

    fn slow_start_threshold(&self) -> Bytes {
        self.ssthresh
    }

    fn pacing(&self) -> Option<BitsPerSec> {
        self.pacing.rate(self.cwnd, self.ssthresh)
    }
}

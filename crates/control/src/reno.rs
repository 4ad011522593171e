//! `NewReno`: a segment more each round trip, half of it all on loss. Counts bytes, so that stretched or delayed
//! acknowledgements change nothing in congestion avoidance. State: window, threshold, and the bytes acknowledged
//! towards the next segment. Units: bytes. Sources: RFC 5681, 3.1 and 4.1; RFC 6582; RFC 3168, 6.1.2 (marks); kernel:
//! `tcp_cong.c`. With a step threshold in the switches and these marks it is ECN* (docs/dctcp.md).

use shallop_core::{BitsPerSec, Bytes, Span};

use crate::hystart::{self, SlowStart, Step};
use crate::loss;
use crate::options::{Host, Kind, Marking, Options, Refused};
use crate::pacing::{self, Pacing};
use crate::window::{Ack, Basis, Loss, Start, Window};

/// Its names: ECN* is this, with marks.
pub const KINDS: &[Kind] = &[
    Kind { name: "newreno", keys: &[loss::KEYS, pacing::KEYS], marking: Marking::Off },
    Kind { name: "ecn-star", keys: &[loss::KEYS, pacing::KEYS], marking: Marking::Classic },
];

/// How it is set up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// The part of the window that is kept on congestion.
    pub decrease: f64,
    /// What a reduction starts from.
    pub basis: Basis,
    /// Slow start.
    pub slow_start: hystart::Config,
    /// The window after a silence.
    pub restart: Restart,
    /// Packets leave evenly spaced.
    pub pacing: bool,
}

/// The window after a silence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// The first one, or what it was if that is less (RFC 5681, 4.1; kernel: `tcp_cwnd_restart`).
    Lesser,
    /// The first one (ns-2: `CLOSE_CWND_INIT`).
    First,
}

impl Config {
    /// As the RFC has it.
    pub const RFC: Self = Self {
        decrease: 0.5,
        basis: Basis::Flight,
        slow_start: hystart::Config::STANDARD,
        restart: Restart::Lesser,
        pacing: false,
    };
    /// As in Linux: slow start adds all that was acknowledged, reductions start from the window.
    pub const LINUX: Self = Self {
        decrease: 0.5,
        basis: Basis::Window,
        slow_start: hystart::Config { limit: u64::MAX, exit: hystart::Exit::Loss },
        restart: Restart::Lesser,
        pacing: false,
    };

    /// As a host has it.
    #[must_use]
    pub const fn of(host: Host) -> Self {
        match host {
            Host::Ns2 => Self { basis: Basis::Window, restart: Restart::First, ..Self::RFC },
            // In ns-3 it is `TcpLinuxReno`: `TcpNewReno` does not count what is acknowledged.
            Host::Ns3 | Host::Linux => Self::LINUX,
        }
    }

    /// By its options.
    ///
    /// # Errors
    /// As [`Config::within`].
    pub fn read(options: &Options) -> Result<Self, Refused> {
        let config = Self::within(options, Self::of(options.host))?;
        Ok(Self { pacing: options.or("pacing", config.pacing), ..config })
    }

    /// By those of [`loss::KEYS`] alone, for controllers that have a Reno within them, of which `default` is the kind.
    ///
    /// # Errors
    /// As [`loss::slow_start`].
    pub fn within(options: &Options, default: Self) -> Result<Self, Refused> {
        Ok(Self {
            decrease: loss::kept(options, default.decrease),
            basis: loss::basis(options, default.basis),
            slow_start: loss::slow_start(options, default.slow_start)?,
            ..default
        })
    }
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Reno {
    decrease: f64,
    basis: Basis,
    segment: Bytes,
    initial: Bytes,
    restart: Restart,
    window: Bytes,
    threshold: Bytes,
    /// Bytes acknowledged towards the next segment of growth.
    credit: Bytes,
    slow_start: SlowStart,
    pacing: Pacing,
}

impl Reno {
    /// The controller of a new flow.
    #[must_use]
    pub fn new(config: &Config, start: &Start) -> Self {
        Self {
            decrease: config.decrease,
            basis: config.basis,
            segment: start.segment,
            initial: start.window,
            restart: config.restart,
            window: start.window.max(start.segment),
            threshold: start.threshold,
            credit: Bytes::ZERO,
            slow_start: SlowStart::new(&config.slow_start, start.segment).paced(config.pacing),
            pacing: Pacing::new(config.pacing),
        }
    }

    /// Grows as Reno does, for controllers that differ only in how they shrink.
    pub fn grow(&mut self, ack: &Ack) {
        self.pacing.on_ack(ack);
        if ack.recovering || ack.advanced == Bytes::ZERO || !ack.window_limited {
            return;
        }
        let mut left = ack.acked;
        if self.window < self.threshold {
            match self.slow_start.on_ack(ack, self.window) {
                Step::Leave => self.threshold = self.window,
                Step::Grow(by) => {
                    let grown = self.window + by;
                    left = grown.saturating_sub(self.threshold);
                    self.window = grown.min(self.threshold);
                }
            }
            if self.window < self.threshold {
                return;
            }
        }
        self.credit += left;
        if self.credit >= self.window {
            self.credit -= self.window;
            self.window += self.segment;
        }
    }

    /// Shrinks to a window, no smaller than `floor` segments; slow start ends.
    pub fn shrink(&mut self, to: Bytes, floor: u64) {
        self.window = to.max(self.segment * floor);
        self.threshold = to.max(self.segment * 2);
        self.credit = Bytes::ZERO;
        self.slow_start.on_congestion();
    }

    /// Takes a window and the end of slow start from a controller that reckons them itself.
    pub fn set(&mut self, window: Bytes, threshold: Bytes) {
        (self.window, self.threshold) = (window, threshold);
    }

    /// A timeout: one segment, and slow start up to `threshold`, or up to where it ended before if there is none.
    pub fn collapse(&mut self, threshold: Option<Bytes>) {
        let threshold = threshold.map_or(self.threshold, |to| to.max(self.segment * 2));
        self.shrink(self.segment, 1);
        self.threshold = threshold;
    }

    fn reduced(&self, loss: &Loss) -> Bytes {
        let before = self.basis.of(self.window, loss);
        Bytes::new((before.get() as f64 * self.decrease) as u64)
    }
}

impl Window for Reno {
    fn on_ack(&mut self, ack: &Ack) {
        // An acknowledgement that echoes a mark adds nothing (RFC 3168, 6.1.2).
        if ack.marked == Bytes::ZERO {
            self.grow(ack);
        } else {
            self.pacing.on_ack(ack);
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        if !loss.after_mark {
            self.shrink(self.reduced(loss), 2);
        }
    }

    fn on_rto(&mut self, loss: &Loss, first: bool) {
        self.collapse(first.then(|| self.reduced(loss)));
    }

    fn on_mark(&mut self, mark: &Loss) {
        self.shrink(self.reduced(mark), 1);
    }

    fn on_idle(&mut self, _idle: Span) {
        self.window = match self.restart {
            Restart::Lesser => self.window.min(self.initial),
            Restart::First => self.initial,
        };
    }

    fn window(&self) -> Bytes {
        self.window
    }

    fn slow_start_threshold(&self) -> Bytes {
        self.threshold
    }

    fn pacing(&self) -> Option<BitsPerSec> {
        self.pacing.rate(self.window, self.threshold)
    }
}

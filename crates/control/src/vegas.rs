//! Vegas: a packet more or less each round trip, so that a few packets of the flow stay queued. State: the shortest
//! round trip ever, which is taken for that of the empty path, and the shortest of the present round. Between
//! evaluations the window grows in slow start alone. Losses and marks are answered as by Reno; while that lasts Vegas
//! rests and forgets what it measured. Units: packets; round trips in ticks of the clock in use. Source: the kernel's
//! `tcp_vegas.c`, after Brakmo and Peterson, 1995.

use shallop_core::form::{Form, Part, key};
use shallop_core::{Bytes, Span, Time};

use crate::loss;
use crate::options::{Host, Kind, Marking, Options, Refused};
use crate::reno::{self, Reno};
use crate::window::{Ack, Loss, Start, Window};

/// No more samples than this in a round may all be of delayed acknowledgements: such a round is Reno's.
const FEW: u32 = 2;
/// Packets in the smallest window that Vegas itself sets.
const FLOOR: u64 = 2;

/// Options of its own.
pub const KEYS: Part = &[
    key("alpha", Form::Count(0, 1_000_000), "With fewer packets queued it grows. Default: 2."),
    key("beta", Form::Count(0, 1_000_000), "With more packets queued it shrinks. Default: 4."),
    key("gamma", Form::Count(0, 1_000_000), "With more queued slow start ends. Default: 1."),
    key(
        "clock",
        Form::Choice(&["exact", "microseconds"]),
        "How it measures round trips: in whole microseconds and one more (Linux), or as they are.",
    ),
];

/// Its name.
pub const KINDS: &[Kind] =
    &[Kind { name: "vegas", keys: &[loss::KEYS, KEYS], marking: Marking::Off }];

/// How round trips are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// As they are.
    Exact,
    /// In whole microseconds, rounded down, and one more (Linux).
    Microseconds,
}

impl Clock {
    /// A round trip in ticks, never zero.
    fn ticks(self, rtt: Span) -> u64 {
        match self {
            Self::Exact => rtt.as_ps().max(1),
            Self::Microseconds => rtt.as_ps() / Span::from_us(1).as_ps() + 1,
        }
    }
}

/// How it is set up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// How it grows in slow start and after timeouts, and answers losses.
    pub reno: reno::Config,
    /// With fewer packets queued than this the window grows.
    pub alpha: u32,
    /// With more packets queued than this it shrinks.
    pub beta: u32,
    /// With more packets queued than this slow start ends.
    pub gamma: u32,
    /// How round trips are measured.
    pub clock: Clock,
}

impl Config {
    /// As in Linux.
    pub const LINUX: Self =
        Self { reno: reno::Config::LINUX, alpha: 2, beta: 4, gamma: 1, clock: Clock::Microseconds };
    /// The same with exact times and Reno by the RFC.
    pub const EXACT: Self = Self { reno: reno::Config::RFC, clock: Clock::Exact, ..Self::LINUX };

    /// As a host has it.
    #[must_use]
    pub const fn of(host: Host) -> Self {
        match host {
            Host::Ns2 => Self { reno: reno::Config::of(host), ..Self::EXACT },
            // Made from `TcpNewReno` there.
            Host::Ns3 => Self::EXACT,
            Host::Linux => Self::LINUX,
        }
    }

    /// By its options.
    ///
    /// # Errors
    /// As [`reno::Config::within`], and if alpha is above beta.
    pub fn read(options: &Options) -> Result<Self, Refused> {
        let default = Self::of(options.host);
        let config = Self {
            reno: reno::Config::within(options, default.reno)?,
            alpha: options.or("alpha", default.alpha),
            beta: options.or("beta", default.beta),
            gamma: options.or("gamma", default.gamma),
            clock: match options.get("clock") {
                Some("exact") => Clock::Exact,
                Some(_) => Clock::Microseconds,
                None => default.clock,
            },
        };
        let Self { alpha, beta, .. } = config;
        if alpha > beta {
            let key = if options.has("alpha") { "alpha" } else { "beta" };
            let message = format!("it grows below {alpha} packets and shrinks above {beta}");
            return Err(Refused::new(key, message, "alpha must not be above beta"));
        }
        Ok(config)
    }
}

/// Packets of a window of `packets` that are queued, rounded down, if its shortest round trip takes `rtt` ticks and
/// one through the empty path `base`.
#[must_use]
pub fn queued(packets: u64, base: u64, rtt: u64) -> u64 {
    let queued =
        u128::from(packets) * u128::from(rtt.saturating_sub(base)) / u128::from(base.max(1));
    u64::try_from(queued).unwrap_or(u64::MAX)
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Vegas {
    reno: Reno,
    segment: Bytes,
    alpha: u64,
    beta: u64,
    gamma: u64,
    clock: Clock,
    /// The shortest round trip; `u64::MAX` while there is none.
    base: u64,
    /// The shortest of this round.
    shortest: u64,
    samples: u32,
    /// The round ends when more than this is acknowledged.
    end: u64,
    /// A round begins with the next acknowledgement: what was measured so far is of another time.
    stale: bool,
    /// What was in flight at a timeout lies below: Vegas rests until it is acknowledged.
    repaired_at: u64,
}

impl Vegas {
    /// The controller of a new flow.
    #[must_use]
    pub fn new(config: &Config, start: &Start) -> Self {
        Self {
            reno: Reno::new(&config.reno, start),
            segment: start.segment,
            alpha: config.alpha.into(),
            beta: config.beta.into(),
            gamma: config.gamma.into(),
            clock: config.clock,
            base: u64::MAX,
            shortest: u64::MAX,
            samples: 0,
            end: 0,
            stale: false,
            repaired_at: 0,
        }
    }

    fn packets(&self) -> u64 {
        self.reno.window().get() / self.segment.get()
    }

    fn sample(&mut self, rtt: Span) {
        let ticks = self.clock.ticks(rtt);
        self.base = self.base.min(ticks);
        self.shortest = self.shortest.min(ticks);
        self.samples += 1;
    }

    /// Begins a round that lasts until more than `end` is acknowledged.
    fn begin(&mut self, end: u64) {
        (self.end, self.shortest, self.samples, self.stale) = (end, u64::MAX, 0, false);
    }

    /// Nothing is in flight, or nothing is known to be: the path may be another when something is sent again.
    fn forget(&mut self) {
        (self.base, self.stale) = (u64::MAX, true);
    }

    fn starts_slowly(&self) -> bool {
        self.reno.window() < self.reno.slow_start_threshold()
    }

    /// A round is over: the window for the next.
    fn evaluate(&mut self, ack: &Ack) {
        let packets = self.packets();
        let queued = queued(packets, self.base, self.shortest);
        let slow = self.starts_slowly();
        if slow && queued <= self.gamma {
            return self.reno.grow(ack);
        }
        let wanted = if slow {
            let fits = u128::from(packets) * u128::from(self.base) / u128::from(self.shortest);
            packets.min(fits as u64 + 1)
        } else if queued > self.beta {
            packets.saturating_sub(1)
        } else if queued < self.alpha && ack.window_limited {
            packets + 1
        } else {
            packets
        };
        self.take(wanted.max(FLOOR));
    }

    /// Takes a window of so many packets. Slow start ends where it is, or at three quarters of it if that is more.
    fn take(&mut self, packets: u64) {
        let window = self.segment * packets;
        let threshold = self.reno.slow_start_threshold().min(window);
        let least = self.segment * ((packets >> 1) + (packets >> 2));
        self.reno.set(window, threshold.max(least));
    }
}

impl Window for Vegas {
    fn on_ack(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.sample(rtt);
        }
        if ack.una < self.repaired_at {
            self.reno.grow(ack);
        } else if ack.recovering || ack.marked > Bytes::ZERO {
            self.stale = true;
        } else {
            if self.stale {
                self.begin(ack.next);
            }
            if ack.una > self.end {
                if self.samples > FEW {
                    self.evaluate(ack);
                } else {
                    self.reno.grow(ack);
                }
                self.begin(ack.next);
            } else if self.starts_slowly() {
                self.reno.grow(ack);
            }
        }
        if ack.in_flight == Bytes::ZERO {
            // The path may be another when something is sent again, and that begins a round (kernel:
            // `tcp_vegas_cwnd_event`). One that began with its acknowledgement would never end in a window of two.
            self.base = u64::MAX;
            self.begin(ack.next);
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.reno.on_loss(loss);
        self.stale = true;
    }

    fn on_rto(&mut self, loss: &Loss, first: bool) {
        self.reno.on_rto(loss, first);
        self.repaired_at = loss.next;
        self.forget();
    }

    fn on_mark(&mut self, mark: &Loss) {
        self.reno.on_mark(mark);
        self.stale = true;
    }

    fn on_idle(&mut self, idle: Span) {
        self.reno.on_idle(idle);
        self.forget();
    }

    fn on_recovery_exit(&mut self, _now: Time) {
        self.stale = true;
    }

    fn window(&self) -> Bytes {
        self.reno.window()
    }

    fn slow_start_threshold(&self) -> Bytes {
        self.reno.slow_start_threshold()
    }
}

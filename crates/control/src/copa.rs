//! Copa: steers towards the rate `1 / (delta dq)` packets a second, where `dq` is the queueing delay that does not go
//! away, so that a flow alone keeps some `1 / delta` packets queued and the queue empties every five round trips. If it
//! does not empty, others fill it, and Copa competes: `1 / delta` grows by one each round trip and halves on loss.
//! State: the window, its velocity and direction, and three delays, each of a window of time. Units: segments, as
//! fractions. Source: Arun and Balakrishnan, Copa (NSDI 2018), 2 and 4.
//!
//! Where the paper says nothing: the window is two segments at least, and grows only while it limits the sender; after
//! a timeout it is two segments, and slow start begins again. Two rules are added, without which flows alone misbehave
//! (docs/copa.md): velocity gained one way is not used the other way, not even for the rest of a round trip (as in
//! mvfst); and a queue is also nearly empty when it delays by less than a packet takes at the flow's rate.
//!
//! The code by the authors (genericCC) differs: its directions are majorities within a round trip and its velocity
//! doubles at once, and is bounded by the window; it cuts the window by 0.3 when 30 % are lost; it takes every gap for
//! a loss. mvfst (`Copa.cpp`) has delta 0.05, no competitive mode, and by default the latest delay instead of the
//! standing one. None of that is done here.

use shallop_core::form::{Form, Part, key};
use shallop_core::{BitsPerSec, Bytes, Span, Time};

use crate::filter::{Longest, Shortest};
use crate::options::{Kind, Marking, Options, Refused};
use crate::window::{Ack, Loss, Start, Window};

/// The shortest round trip is that of so long.
const MEMORY: Span = Span::from_secs(10);
/// Round trips over which the longest is taken, and those the queue may take to empty.
const OSCILLATION: u64 = 4;
const PATIENCE: u32 = 5;
/// A queue is nearly empty below this part of what it oscillates by.
const NEARLY_EMPTY: f64 = 0.1;
/// Round trips in one direction, after the first, until the velocity doubles.
const STEADY: u32 = 3;
/// Packets leave at this many windows a round trip.
const PACE: f64 = 2.0;
/// The least window.
const LEAST: f64 = 2.0;

/// Options of its own.
pub const KEYS: Part = &[
    key(
        "delta",
        Form::Above(0.0, 10.0),
        "The inverse of the packets a flow keeps queued. Default: 0.5.",
    ),
    key(
        "mode",
        Form::Choice(&["default", "competitive", "auto"]),
        "Keeps its delta, competes with those who fill queues, or finds out. Default: \"auto\".",
    ),
];

/// Its name.
pub const KINDS: &[Kind] = &[Kind { name: "copa", keys: &[KEYS], marking: Marking::Off }];

/// How it meets others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Keeps its delta.
    Default,
    /// Always competes.
    Competitive,
    /// Competes while the queue does not empty.
    Auto,
}

/// How it is set up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// The inverse of the packets a flow keeps queued.
    pub delta: f64,
    /// How it meets others.
    pub mode: Mode,
}

impl Config {
    /// As in the paper.
    pub const PAPER: Self = Self { delta: 0.5, mode: Mode::Auto };

    /// By its options.
    ///
    /// # Errors
    /// None.
    pub fn read(options: &Options) -> Result<Self, Refused> {
        let mode = match options.or("mode", "auto") {
            "default" => Mode::Default,
            "competitive" => Mode::Competitive,
            _ => Mode::Auto,
        };
        Ok(Self { delta: options.or("delta", Self::PAPER.delta), mode })
    }
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Copa {
    config: Config,
    segment: f64,
    initial: f64,
    window: f64,
    /// `1 / delta`.
    packets: f64,
    slow_start: bool,
    velocity: f64,
    /// The window at the beginning of the round.
    before: f64,
    /// It grew in the last round.
    grew: Option<bool>,
    /// Rounds in a row it went on in that direction.
    steady: u32,
    /// Over ten seconds, half a round trip and four of them.
    shortest: Shortest,
    standing: Shortest,
    longest: Longest,
    /// Rounds since the queue was nearly empty.
    full_rounds: u32,
    /// Something was lost in this round.
    losing: bool,
}

impl Copa {
    /// The controller of a new flow.
    #[must_use]
    pub fn new(config: &Config, start: &Start) -> Self {
        let window = start.window.ratio(start.segment).max(LEAST);
        Self {
            config: *config,
            segment: start.segment.get() as f64,
            initial: window,
            window,
            packets: 1.0 / config.delta,
            slow_start: true,
            velocity: 1.0,
            before: window,
            grew: None,
            steady: 0,
            shortest: Shortest::default(),
            standing: Shortest::default(),
            longest: Longest::default(),
            full_rounds: 0,
            losing: false,
        }
    }

    /// The window in segments.
    #[must_use]
    pub fn segments(&self) -> f64 {
        self.window
    }

    /// The inverse of the packets it keeps queued.
    #[must_use]
    pub fn delta(&self) -> f64 {
        1.0 / self.packets
    }

    /// How fast it moves, in multiples of `1 / delta` segments a round trip.
    #[must_use]
    pub fn velocity(&self) -> f64 {
        self.velocity
    }

    /// True until the target is first exceeded.
    #[must_use]
    pub fn is_slow_start(&self) -> bool {
        self.slow_start
    }

    /// True while it takes others to fill the queue.
    #[must_use]
    pub fn is_competing(&self) -> bool {
        match self.config.mode {
            Mode::Default => false,
            Mode::Competitive => true,
            Mode::Auto => self.full_rounds > PATIENCE,
        }
    }

    /// The queueing delay that does not go away.
    fn queueing(&self) -> Span {
        self.standing.best().saturating_sub(self.shortest.best())
    }

    /// The present rate is not above the target: `window / standing <= 1 / (delta dq)`.
    fn is_below_target(&self) -> bool {
        let standing = self.standing.best().as_secs_f64();
        self.window * self.queueing().as_secs_f64() <= self.packets * standing
    }

    fn measure(&mut self, now: Time, rtt: Span, smoothed: Span) {
        self.shortest.add(now, rtt, MEMORY);
        self.standing.add(now, rtt, smoothed / 2);
        self.longest.add(now, rtt, smoothed * OSCILLATION);
        let oscillation = self.longest.best().saturating_sub(self.shortest.best());
        // No dip is seen that is smaller than a packet.
        let packet = self.standing.best().scale(1.0 / self.window);
        if self.queueing() <= oscillation.scale(NEARLY_EMPTY).max(packet) {
            self.full_rounds = 0;
            if self.config.mode == Mode::Auto {
                self.packets = 1.0 / self.config.delta;
            }
        }
    }

    /// A round trip is over: which way the window went, and whether the queue emptied.
    fn turn(&mut self) {
        let grows = self.window > self.before;
        if (self.window - self.before).abs() < f64::EPSILON {
            (self.grew, self.steady, self.velocity) = (None, 0, 1.0);
        } else if self.grew == Some(grows) {
            self.steady += 1;
            if self.steady >= STEADY {
                self.velocity *= 2.0;
            }
        } else {
            (self.grew, self.steady, self.velocity) = (Some(grows), 0, 1.0);
        }
        self.before = self.window;
        self.full_rounds += u32::from(!self.slow_start);
        if self.is_competing() && !self.losing {
            self.packets += 1.0;
        }
        self.losing = false;
    }

    /// Moves the window by the velocity, over a round trip.
    fn step(&mut self, ack: &Ack) {
        let acked = ack.acked.get() as f64 / self.segment;
        let below = self.is_below_target();
        if self.slow_start {
            if below {
                self.window += if ack.window_limited { acked } else { 0.0 };
                return;
            }
            self.begin();
        }
        if self.velocity > 1.0 && self.grew != Some(below) {
            // What was gained one way is not for the other.
            (self.grew, self.velocity, self.before) = (None, 1.0, self.window);
        }
        let step = self.velocity * self.packets * acked / self.window;
        if !below {
            self.window = (self.window - step).max(LEAST);
        } else if ack.window_limited {
            self.window += step;
        }
    }

    /// Leaves slow start.
    fn begin(&mut self) {
        (self.slow_start, self.velocity, self.grew) = (false, 1.0, None);
        (self.before, self.full_rounds) = (self.window, 0);
    }

    /// Slow start again, from so many segments.
    fn begin_again(&mut self, window: f64) {
        (self.window, self.slow_start) = (self.window.min(window), true);
        self.full_rounds = 0;
    }
}

impl Window for Copa {
    fn on_handshake(&mut self, now: Time, rtt: Span) {
        // To pace the first window by; small frames are faster than those to come, so nothing else is learnt.
        self.standing.add(now, rtt, Span::ZERO);
    }

    fn on_ack(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.measure(ack.now, rtt, ack.smoothed_rtt);
        }
        if ack.round_start && !self.slow_start {
            self.turn();
        }
        self.step(ack);
    }

    fn on_loss(&mut self, _loss: &Loss) {
        if self.is_competing() {
            self.packets = (self.packets / 2.0).max(1.0 / self.config.delta);
        }
        self.losing = true;
    }

    fn on_rto(&mut self, loss: &Loss, _first: bool) {
        self.on_loss(loss);
        self.begin_again(LEAST);
    }

    fn on_idle(&mut self, _idle: Span) {
        self.begin_again(self.initial);
    }

    fn window(&self) -> Bytes {
        Bytes::new((self.window * self.segment) as u64)
    }

    fn slow_start_threshold(&self) -> Bytes {
        if self.slow_start { Bytes::MAX } else { self.window() }
    }

    fn pacing(&self) -> Option<BitsPerSec> {
        let standing = self.standing.best();
        (standing < Span::MAX).then(|| {
            let bits = PACE * self.window * self.segment * 8.0 / standing.as_secs_f64();
            BitsPerSec::at_least_one(bits as u64)
        })
    }

    fn owns_recovery(&self) -> bool {
        true
    }
}

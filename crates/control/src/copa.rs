//! Copa: the target rate is `1 / (delta dq)` packets per second, where `dq` is the standing queueing delay, the
//! difference of the standing RTT and the minimum RTT. cwnd moves towards it by `velocity / delta` segments per round
//! trip. A flow alone then keeps about `1 / delta` packets queued, and the queue empties once in five round trips. If
//! it does not, buffer-filling flows share the bottleneck: in competitive mode `1 / delta` grows by one per round trip
//! and halves on a loss. State: cwnd, velocity and direction, and three windowed RTT filters. Units: segments, as real
//! numbers. Source: Arun and Balakrishnan, Copa (NSDI 2018), 2 and 4.
//!
//! Where the paper gives no rule: cwnd is at least two segments, and grows only while it limits the sender; an RTO sets
//! it to two segments and restarts slow start. Two rules are additions, without which single flows misbehave
//! (docs/copa.md): a change of direction resets the velocity at once, not at the end of the round trip (as in mvfst);
//! and the queue counts as nearly empty, too, when the queueing delay is below the time of one packet at the flow's
//! rate.
//!
//! The authors' code (genericCC) differs: it takes the direction from the majority of the steps of a round trip,
//! doubles the velocity at once and bounds it by cwnd, reduces cwnd by 30 % if 30 % of the packets are lost, and takes
//! every sequence gap for a loss. mvfst (`Copa.cpp`) has a delta of 0.05, no competitive mode, and by default the
//! latest RTT instead of the standing RTT. This controller has none of these rules.

use crate::options::{ControllerName, Marking, Parameters};
use crate::win_minmax::{WindowedMaxRtt, WindowedMinRtt};
use crate::window::{Ack, Loss, Start, Undo, Window};
use shallop_core::{BitsPerSec, Bytes, Span, Time};
use shallop_options::{Options, string_enum};

/// Length of the window of the minimum-RTT filter.
const MIN_RTT_WINDOW: Span = Span::from_secs(10);
/// Length of the window of the maximum-RTT filter, in multiples of SRTT (paper, 2.2: four RTTs).
const MAX_RTT_WINDOW: u64 = 4;
/// Round trips without a nearly empty queue after which competitive mode begins (paper, 2.2).
const MODE_SWITCH_ROUNDS: u32 = 5;
/// The queue is nearly empty if `dq` is below this fraction of the difference of maximum and minimum RTT (paper, 2.2).
const NEARLY_EMPTY: f64 = 0.1;
/// The velocity doubles once the direction has been the same for this many round trips after the first (paper, 2.1).
const VELOCITY_ROUNDS: u32 = 3;
/// Pacing rate in multiples of cwnd / standing RTT (paper, 2.1).
const PACING_RATIO: f64 = 2.0;
/// Minimum cwnd, in segments.
const MIN_CWND: f64 = 2.0;

/// How Copa behaves when other flows fill the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Keeps delta constant.
    Default,
    /// Stays in competitive mode, where delta adapts as in AIMD.
    Competitive,
    /// Enters competitive mode while the queue does not empty.
    Auto,
}

string_enum! { Mode { Default = "default", Competitive = "competitive", Auto = "auto" } }

/// Parameters of Copa, as a scenario sets them.
#[derive(Clone, Copy, Debug, PartialEq, Options)]
#[options(defaults)]
pub struct Config {
    /// The inverse of the number of packets that a flow keeps queued (Copa, 2.1).
    #[key(Above(0.0, 10.0), default = 0.5)]
    pub delta: f64,
    /// How Copa meets flows that fill queues: it keeps its delta (`"default"`), competes with them
    /// (`"competitive"`), or detects them and competes only then (`"auto"`; Copa, 2.2).
    #[key(default = Mode::Auto)]
    pub mode: Mode,
}

impl Parameters for Config {
    const KINDS: &[ControllerName] =
        &[ControllerName { name: "copa", about: "its own queueing delay: a target rate", marking: Marking::Off }];
}

impl Config {
    /// Parameters of the paper: delta is 0.5.
    pub const PAPER: Self = Self::defaults(());
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
}

/// Copa congestion control of one connection.
#[derive(Clone, Debug, Default)]
pub struct Copa {
    config: Config,
    mss: f64,
    initial_window: f64,
    cwnd: f64,
    /// The inverse of delta: number of packets that the flow keeps queued.
    inverse_delta: f64,
    in_slow_start: bool,
    /// Speed at which cwnd moves: by `velocity / delta` segments per round trip.
    pub velocity: f64,
    /// cwnd at the start of the current round trip, in segments.
    cwnd_at_round_start: f64,
    /// Direction in which cwnd moved over the last round trip.
    direction: Option<Direction>,
    /// Number of further round trips in which cwnd moved in the same direction.
    rounds_in_direction: u32,
    min_rtt: WindowedMinRtt,
    /// Filter for the standing RTT: the minimum RTT over half an SRTT.
    standing_rtt: WindowedMinRtt,
    max_rtt: WindowedMaxRtt,
    /// Round trips since the queue was last nearly empty.
    rounds_since_empty: u32,
    /// Whether a loss was detected in the current round trip.
    loss_in_round: bool,
}

impl Copa {
    /// Copa for a new connection.
    pub fn new(config: &Config, start: &Start) -> Self {
        let cwnd = start.initial_window.ratio(start.mss).max(MIN_CWND);
        Self {
            config: *config,
            mss: start.mss.get() as f64,
            initial_window: cwnd,
            cwnd,
            inverse_delta: 1.0 / config.delta,
            in_slow_start: true,
            velocity: 1.0,
            cwnd_at_round_start: cwnd,
            ..Self::default()
        }
    }

    /// cwnd in segments.
    pub fn cwnd(&self) -> f64 {
        self.cwnd
    }

    /// delta: the inverse of the packets that the flow keeps queued.
    pub fn delta(&self) -> f64 {
        1.0 / self.inverse_delta
    }

    /// Whether slow start continues: true until the current rate first exceeds the target rate.
    pub fn in_slow_start(&self) -> bool {
        self.in_slow_start
    }

    /// Whether Copa is in competitive mode, because other flows fill the queue.
    pub fn is_competitive(&self) -> bool {
        match self.config.mode {
            Mode::Default => false,
            Mode::Competitive => true,
            Mode::Auto => self.rounds_since_empty > MODE_SWITCH_ROUNDS,
        }
    }

    /// The standing queueing delay, `dq`.
    fn queueing_delay(&self) -> Span {
        self.standing_rtt.get().saturating_sub(self.min_rtt.get())
    }

    /// Whether the current rate is at most the target rate: `cwnd / standing RTT <= 1 / (delta dq)`.
    fn is_below_target(&self) -> bool {
        let standing_rtt = self.standing_rtt.get().as_secs_f64();
        self.cwnd * self.queueing_delay().as_secs_f64() <= self.inverse_delta * standing_rtt
    }

    fn update_rtt(&mut self, now: Time, rtt: Span, srtt: Span) {
        self.min_rtt.update(now, rtt, MIN_RTT_WINDOW);
        self.standing_rtt.update(now, rtt, srtt / 2);
        self.max_rtt.update(now, rtt, srtt * MAX_RTT_WINDOW);
        let max_queueing_delay = self.max_rtt.get().saturating_sub(self.min_rtt.get());
        // Queues consist of whole packets, so a dip of less than one packet cannot show.
        let packet_time = self.standing_rtt.get().scale(1.0 / self.cwnd);
        if self.queueing_delay() <= max_queueing_delay.scale(NEARLY_EMPTY).max(packet_time) {
            self.rounds_since_empty = 0;
            if self.config.mode == Mode::Auto {
                self.inverse_delta = 1.0 / self.config.delta;
            }
        }
    }

    /// Ends a round trip: updates direction, velocity, mode and, in competitive mode, delta.
    fn end_round(&mut self) {
        let up = self.cwnd > self.cwnd_at_round_start;
        let direction = if up { Direction::Up } else { Direction::Down };
        if (self.cwnd - self.cwnd_at_round_start).abs() < f64::EPSILON {
            (self.direction, self.rounds_in_direction, self.velocity) = (None, 0, 1.0);
        } else if self.direction == Some(direction) {
            self.rounds_in_direction += 1;
            if self.rounds_in_direction >= VELOCITY_ROUNDS {
                self.velocity *= 2.0;
            }
        } else {
            (self.direction, self.rounds_in_direction, self.velocity) = (Some(direction), 0, 1.0);
        }
        self.cwnd_at_round_start = self.cwnd;
        self.rounds_since_empty += u32::from(!self.in_slow_start);
        if self.is_competitive() && !self.loss_in_round {
            self.inverse_delta += 1.0;
        }
        self.loss_in_round = false;
    }

    /// Moves cwnd towards the target rate, by `velocity / delta` segments per round trip.
    fn update_cwnd(&mut self, ack: &Ack) {
        let acked = ack.acked_sacked.get() as f64 / self.mss;
        let below = self.is_below_target();
        if self.in_slow_start {
            if below {
                self.cwnd += if ack.is_cwnd_limited { acked } else { 0.0 };
                return;
            }
            self.exit_slow_start();
        }
        let direction = if below { Direction::Up } else { Direction::Down };
        if self.velocity > 1.0 && self.direction != Some(direction) {
            (self.direction, self.velocity) = (None, 1.0);
            self.cwnd_at_round_start = self.cwnd;
        }
        let step = self.velocity * self.inverse_delta * acked / self.cwnd;
        if !below {
            self.cwnd = (self.cwnd - step).max(MIN_CWND);
        } else if ack.is_cwnd_limited {
            self.cwnd += step;
        }
    }

    fn exit_slow_start(&mut self) {
        (self.in_slow_start, self.velocity, self.direction) = (false, 1.0, None);
        (self.cwnd_at_round_start, self.rounds_since_empty) = (self.cwnd, 0);
    }

    /// Enters slow start with a cwnd of at most `segments`.
    fn restart_slow_start(&mut self, segments: f64) {
        (self.cwnd, self.in_slow_start) = (self.cwnd.min(segments), true);
        self.rounds_since_empty = 0;
    }
}

impl Window for Copa {
    fn on_handshake(&mut self, now: Time, rtt: Span) {
        // Gives the initial window a pacing rate only. The handshake's frames are small, so its RTT is below the
        // minimum RTT of data packets and must not become the minimum.
        self.standing_rtt.update(now, rtt, Span::ZERO);
    }

    fn on_ack(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.update_rtt(ack.now, rtt, ack.srtt);
        }
        if ack.round_start && !self.in_slow_start {
            self.end_round();
        }
        self.update_cwnd(ack);
    }

    fn on_loss(&mut self, _loss: &Loss) {
        if self.is_competitive() {
            self.inverse_delta = (self.inverse_delta / 2.0).max(1.0 / self.config.delta);
        }
        self.loss_in_round = true;
    }

    fn on_rto(&mut self, loss: &Loss, _first: bool) {
        self.on_loss(loss);
        self.restart_slow_start(MIN_CWND);
    }

    fn on_idle(&mut self, _idle: Span) {
        self.restart_slow_start(self.initial_window);
    }

    /// Restores cwnd and slow start, which only an RTO changes. The paper and its code have no undo.
    fn on_undo(&mut self, undo: &Undo) {
        self.cwnd = self.cwnd.max(undo.prior_cwnd.get() as f64 / self.mss);
        self.in_slow_start = undo.prior_ssthresh == Bytes::MAX;
        (self.cwnd_at_round_start, self.loss_in_round) = (self.cwnd, false);
    }

    fn window(&self) -> Bytes {
        Bytes::new((self.cwnd * self.mss) as u64)
    }

    fn slow_start_threshold(&self) -> Bytes {
        if self.in_slow_start { Bytes::MAX } else { self.window() }
    }

    fn pacing(&self) -> Option<BitsPerSec> {
        let standing_rtt = self.standing_rtt.get();
        (standing_rtt < Span::MAX).then(|| {
            let bits = PACING_RATIO * self.cwnd * self.mss * 8.0 / standing_rtt.as_secs_f64();
            BitsPerSec::at_least_one(bits as u64)
        })
    }

    fn owns_recovery(&self) -> bool {
        true
    }
}

//! Random early detection (RED; Floyd and Jacobson, 1993) as in switching chips: no packet is marked up to a minimum
//! threshold of the queue length, every packet above a maximum threshold, and between the two the probability rises
//! linearly from zero to `max_probability`. Two equal thresholds make a step. State: a stream of random draws, the
//! packets since the last mark and, if lengths are averaged, the average. Units: bytes.
//!
//! By default each packet is drawn for independently. With a count, as in the paper, the distance from one mark to the
//! next is uniform from 1 to 1 / p packets at a probability p. By default the instantaneous length decides. An average
//! (EWMA) is updated for each packet; after an idle time it decays as if the queue had served small packets in that
//! time.

use crate::mark::{Decision, MarkAt};
use shallop_core::{Bytes, DropCause, Ecn, Span, Stream, Time};

/// Parameters of the moving average of the queue length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Average {
    /// Weight of the newest sample (`w_q` of the paper).
    pub weight: f64,
    /// Transmission time of one packet: while the queue is empty, the average takes one sample of zero per packet time.
    pub packet_time: Span,
}

/// Which packets RED marks, and which it drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signals {
    /// ECN-capable packets are marked, others pass.
    Mark,
    /// ECN-capable packets are marked, others are dropped.
    MarkOrDrop,
    /// Packets that are not ECN-capable are dropped, others pass (WRED beside a rule that marks).
    DropNotEct,
    /// All packets are dropped (RED without ECN).
    DropAll,
}

#[derive(Clone, Debug)]
pub struct RedConfig {
    /// Queue length in bytes up to which no packet is marked (`min_th` of the paper).
    pub min_threshold: Bytes,
    /// Queue length in bytes above which every packet is marked (`max_th` of the paper).
    pub max_threshold: Bytes,
    /// Probability of a mark at a queue length of `max_threshold` (`max_p` of the paper).
    pub max_probability: f64,
    /// Whether RED decides about a packet at enqueue or at dequeue. Only packets that arrive are dropped.
    pub at: MarkAt,
    pub signals: Signals,
    /// Moving average of the queue length; `None` to compare the instantaneous length with the thresholds.
    pub average: Option<Average>,
    pub spacing: Spacing,
    pub stream: Stream,
}

/// How the random draws of a queue depend on each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Spacing {
    #[default]
    Independent,
    /// The probability is p / (1 - n p), n being the packets since the last mark (section 7 of the paper).
    Count,
}

shallop_options::string_enum! { Spacing { Independent = "none", Count = "count" } }

/// RED of one queue or one memory pool.
#[derive(Clone, Debug)]
pub struct Red {
    pub(crate) config: RedConfig,
    average: f64,
    /// Packets for which RED has drawn since it marked or dropped one.
    passed: u32,
    /// Time at which the queue became empty; `None` once a packet has arrived since.
    empty_since: Option<Time>,
}

impl Red {
    pub fn new(config: &RedConfig) -> Self {
        Self { config: config.clone(), average: 0.0, passed: 0, empty_since: None }
    }

    /// Whether RED decides about a packet at enqueue or at dequeue.
    pub fn at(&self) -> MarkAt {
        self.config.at
    }

    /// Probability of a mark at a queue length of `length` bytes.
    pub fn probability(&self, length: f64) -> f64 {
        let RedConfig { min_threshold, max_threshold, max_probability, .. } = self.config;
        let (min, max) = (min_threshold.get() as f64, max_threshold.get() as f64);
        if length > max {
            1.0
        } else if length <= min {
            0.0
        } else {
            max_probability * (length - min) / (max - min)
        }
    }

    /// Decides about a packet; `length` is the length of the queue including the packet. `at` is `None` for a packet
    /// that an idle port sends at once.
    pub fn decide(&mut self, now: Time, at: Option<MarkAt>, ecn: Ecn, length: Bytes) -> Decision {
        if at.is_some_and(|at| at != self.config.at) {
            return Decision::Pass;
        }
        let length = self.update_average(now, length);
        let signal = match (self.config.signals, ecn) {
            (Signals::Mark | Signals::MarkOrDrop, Ecn::Ect | Ecn::Ect1) => Decision::Mark,
            (Signals::MarkOrDrop | Signals::DropNotEct, Ecn::NotEct) | (Signals::DropAll, _)
                if self.config.at == MarkAt::Enqueue =>
            {
                Decision::Drop(DropCause::Red)
            }
            _ => return Decision::Pass,
        };
        let probability = self.probability(length);
        let passed = if self.config.spacing == Spacing::Count { f64::from(self.passed) * probability } else { 0.0 };
        let certain = probability <= 0.0 || passed + probability >= 1.0;
        let signals = if certain { probability > 0.0 } else { self.config.stream.chance(probability / (1.0 - passed)) };
        self.passed = if signals || probability <= 0.0 { 0 } else { self.passed.saturating_add(1) };
        if signals { signal } else { Decision::Pass }
    }

    /// Records that the queue is empty from `now` on, so that the average can decay.
    pub fn on_empty(&mut self, now: Time) {
        self.empty_since = Some(now);
    }

    /// Adds a sample to the average, if lengths are averaged. Returns the length to compare with the thresholds.
    fn update_average(&mut self, now: Time, length: Bytes) -> f64 {
        let length = length.get() as f64;
        let Some(Average { weight, packet_time }) = self.config.average else { return length };
        if let Some(since) = self.empty_since.take() {
            let packets = now.saturating_since(since).as_ps() / packet_time.as_ps().max(1);
            self.average *= libm::pow(1.0 - weight, packets as f64);
        }
        self.average += weight * (length - self.average);
        self.average
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shallop_core::Seed;

    const EMPTY: Bytes = Bytes::ZERO;

    fn red(average: Option<Average>) -> Red {
        Red::new(&RedConfig {
            min_threshold: Bytes::new(1_800_000),
            max_threshold: Bytes::new(2_600_000),
            max_probability: 0.1,
            at: MarkAt::Enqueue,
            signals: Signals::Mark,
            average,
            spacing: Spacing::Independent,
            stream: Seed::new(1).stream("red", 0),
        })
    }

    #[test]
    fn the_probability_rises_linearly_and_jumps_to_one_above_the_maximum() {
        let known = [
            (0.0, 0.0),
            (1_800_000.0, 0.0),
            (2_000_000.0, 0.025),
            (2_200_000.0, 0.05),
            (2_600_000.0, 0.1),
            (2_600_001.0, 1.0),
        ];
        for (length, probability) in known {
            let found = red(None).probability(length);
            assert!((found - probability).abs() < 1e-12, "{length}: {found}");
        }
    }

    #[test]
    fn the_fraction_of_marked_packets_is_the_probability() {
        let mut red = red(None);
        let mut marked = |ecn, length| {
            let decide = |_| red.decide(Time::ZERO, Some(MarkAt::Enqueue), ecn, Bytes::new(length));
            (0..100_000).map(decide).filter(|decision| *decision == Decision::Mark).count()
        };
        // Three standard deviations of a binomial distribution around 5,000.
        let half = marked(Ecn::Ect, 2_200_000);
        assert!((4_793..=5_207).contains(&half), "{half}");
        assert_eq!(marked(Ecn::Ect, 1_800_000), 0);
        assert_eq!(marked(Ecn::Ect, 2_600_001), 100_000);
        assert_eq!(marked(Ecn::Ce, 2_600_001) + marked(Ecn::NotEct, 2_600_001), 0);
    }

    /// At a probability of 1 / 20, the distances of 100,000 marks.
    #[test]
    fn a_count_makes_the_distances_of_marks_uniform() {
        let mut red = red(None);
        red.config.spacing = Spacing::Count;
        let (mut distance, mut counts) = (0, [0_u32; 21]);
        while counts.iter().sum::<u32>() < 100_000 {
            distance += 1;
            if red.decide(Time::ZERO, None, Ecn::Ect, Bytes::new(2_200_000)) == Decision::Mark {
                counts[distance] += 1;
                distance = 0;
            }
        }
        // Five standard deviations of a binomial distribution around 5,000; a longer distance is out of bounds.
        assert!(counts[1..].iter().all(|count| (4_656..=5_344).contains(count)), "{counts:?}");
        red.passed = 19;
        red.decide(Time::ZERO, None, Ecn::Ect, Bytes::new(1_800_000));
        assert_eq!(red.passed, 0, "below the minimum threshold the count starts again");
    }

    #[test]
    fn packets_that_are_not_ecn_capable_are_dropped_on_arrival_if_so_configured() {
        let mut config = red(None).config;
        let above = Bytes::new(3_000_000);
        let (pass, mark, drop) = (Decision::Pass, Decision::Mark, Decision::Drop(DropCause::Red));
        for (signals, at, not_ect, ect, ce) in [
            (Signals::Mark, MarkAt::Enqueue, pass, mark, pass),
            (Signals::MarkOrDrop, MarkAt::Enqueue, drop, mark, pass),
            (Signals::MarkOrDrop, MarkAt::Dequeue, pass, mark, pass),
            (Signals::DropNotEct, MarkAt::Enqueue, drop, pass, pass),
            (Signals::DropAll, MarkAt::Enqueue, drop, drop, drop),
        ] {
            config = RedConfig { at, signals, ..config };
            let mut red = Red::new(&config);
            let mut decide = |at, ecn| red.decide(Time::ZERO, at, ecn, above);
            assert_eq!(decide(Some(at), Ecn::NotEct), not_ect);
            assert_eq!([decide(None, Ecn::Ect), decide(None, Ecn::Ce)], [ect, ce]);
        }
    }

    #[test]
    fn an_average_follows_slowly_and_decays_while_the_queue_is_empty() {
        let packet_time = Span::from_us(1);
        let mut red = red(Some(Average { weight: 0.5, packet_time }));
        let at = |us| Time::after_start(Span::from_us(us));
        let mut see = |us, length: Bytes| {
            red.decide(at(us), Some(MarkAt::Enqueue), Ecn::NotEct, length);
            red.average
        };
        let full = Bytes::new(4_000_000);
        assert!((see(1, full) - 2e6).abs() < 1e-6);
        assert!((see(2, full) - 3e6).abs() < 1e-6);
        red.on_empty(at(10));
        assert_eq!(red.decide(at(13), None, Ecn::Ect, EMPTY), Decision::Pass);
        // The average is halved for each of three idle packet times, and for the packet itself.
        assert!((red.average - 3e6 / 16.0).abs() < 1e-6, "{}", red.average);
    }

    #[test]
    fn a_high_average_marks_though_the_queue_is_short() {
        let mut red = red(Some(Average { weight: 1.0 / 16.0, packet_time: Span::from_us(1) }));
        red.average = 4_000_000.0;
        assert_eq!(red.decide(Time::ZERO, None, Ecn::Ect, EMPTY), Decision::Mark);
    }
}

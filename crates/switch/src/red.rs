//! Random early detection (Floyd and Jacobson, 1993) as switching chips do it: below a first length nothing is marked,
//! above a second everything, between the two at random, with a probability that grows from nothing to `most`. Two
//! equal lengths make a step. State: a stream of draws and, if lengths are averaged, the average. Units: bytes.
//!
//! Each packet is drawn for by itself: marks are not spaced by a count as in the paper of 1993. By default it is the
//! length at the moment that counts; an average follows it by a part of the difference for each packet that is looked
//! at, and shrinks while a queue rests as if small lengths had been seen at the link's pace.

use shallop_core::{Bytes, Ecn, Span, Stream, Time};

use crate::mark::MarkAt;

/// What becomes of a packet that is looked at. Of two verdicts the later one counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Nothing.
    Keep,
    /// It is marked.
    Mark,
    /// It is dropped: it was to be marked and is not ECN-capable.
    Drop,
}

/// How a length is averaged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Average {
    /// The average moves by this part of the difference.
    pub gain: f64,
    /// How long the link takes for a packet: a queue that rests counts as empty once in so long.
    pub packet: Span,
}

/// What marking at random is made from.
#[derive(Clone, Debug)]
pub struct RedConfig {
    /// Up to this length nothing is marked.
    pub min: Bytes,
    /// Above this everything is.
    pub max: Bytes,
    /// The probability at `max`.
    pub most: f64,
    /// When packets are looked at.
    pub at: MarkAt,
    /// Whether packets that are not ECN-capable are dropped where others would be marked, as they arrive. Nothing is
    /// ever dropped as it leaves.
    pub drops: bool,
    /// How the length is averaged; `None` for the length at the moment.
    pub average: Option<Average>,
    /// Where the draws come from.
    pub stream: Stream,
}

/// Marking at random.
#[derive(Clone, Debug)]
pub struct Red {
    config: RedConfig,
    average: f64,
    /// Since when the queue is empty.
    rests: Option<Time>,
}

impl Red {
    /// Marking by these numbers.
    #[must_use]
    pub fn new(config: &RedConfig) -> Self {
        Self { config: config.clone(), average: 0.0, rests: None }
    }

    /// When packets are looked at.
    #[must_use]
    pub fn at(&self) -> MarkAt {
        self.config.at
    }

    /// Whether packets that pass an empty queue have to be told of, too.
    #[must_use]
    pub fn averages(&self) -> bool {
        self.config.average.is_some()
    }

    /// The probability of a mark at this length.
    #[must_use]
    pub fn probability(&self, length: f64) -> f64 {
        let RedConfig { min, max, most, .. } = self.config;
        let (min, max) = (min.get() as f64, max.get() as f64);
        if length > max {
            1.0
        } else if length <= min {
            0.0
        } else {
            most * (length - min) / (max - min)
        }
    }

    /// What becomes of a packet at this moment, given the length with it; `None` for one that joins and leaves at once.
    pub fn judge(&mut self, now: Time, at: Option<MarkAt>, ecn: Ecn, length: Bytes) -> Verdict {
        if at.is_some_and(|at| at != self.config.at) {
            return Verdict::Keep;
        }
        let length = self.follow(now, length);
        let verdict = match ecn {
            Ecn::Ect => Verdict::Mark,
            Ecn::NotEct if self.config.drops && self.config.at == MarkAt::Enqueue => Verdict::Drop,
            Ecn::Ce | Ecn::NotEct => return Verdict::Keep,
        };
        let probability = self.probability(length);
        let certain = probability <= 0.0 || probability >= 1.0;
        let struck =
            if certain { probability > 0.0 } else { self.config.stream.chance(probability) };
        if struck { verdict } else { Verdict::Keep }
    }

    /// The queue is empty from now on.
    pub fn rest(&mut self, now: Time) {
        self.rests = Some(now);
    }

    /// The length that counts.
    fn follow(&mut self, now: Time, length: Bytes) -> f64 {
        let length = length.get() as f64;
        let Some(Average { gain, packet }) = self.config.average else { return length };
        if let Some(since) = self.rests.take() {
            let packets = now.saturating_since(since).as_ps() / packet.as_ps().max(1);
            self.average *= libm::pow(1.0 - gain, packets as f64);
        }
        self.average += gain * (length - self.average);
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
            min: Bytes::new(1_800_000),
            max: Bytes::new(2_600_000),
            most: 0.1,
            at: MarkAt::Enqueue,
            drops: false,
            average,
            stream: Seed::new(1).stream("red", 0),
        })
    }

    #[test]
    fn the_probability_is_a_ramp_and_a_jump() {
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
    fn as_many_are_marked_as_the_probability_says() {
        let mut red = red(None);
        let mut marked = |ecn, length| {
            let judge = |_| red.judge(Time::ZERO, Some(MarkAt::Enqueue), ecn, Bytes::new(length));
            (0..100_000).map(judge).filter(|verdict| *verdict == Verdict::Mark).count()
        };
        // Three deviations of a binomial around 5,000.
        let half = marked(Ecn::Ect, 2_200_000);
        assert!((4_793..=5_207).contains(&half), "{half}");
        assert_eq!(marked(Ecn::Ect, 1_800_000), 0);
        assert_eq!(marked(Ecn::Ect, 2_600_001), 100_000);
        assert_eq!(marked(Ecn::Ce, 2_600_001) + marked(Ecn::NotEct, 2_600_001), 0);
    }

    #[test]
    fn who_is_not_capable_is_dropped_as_it_arrives_where_others_are_marked_if_so_told() {
        let mut config = red(None).config;
        let above = Bytes::new(3_000_000);
        for (drops, at, verdict) in [
            (false, MarkAt::Enqueue, Verdict::Keep),
            (true, MarkAt::Enqueue, Verdict::Drop),
            (true, MarkAt::Dequeue, Verdict::Keep),
        ] {
            config = RedConfig { at, drops, ..config };
            let mut red = Red::new(&config);
            assert_eq!(red.judge(Time::ZERO, Some(at), Ecn::NotEct, above), verdict);
            assert_eq!(red.judge(Time::ZERO, None, Ecn::Ect, above), Verdict::Mark);
        }
    }

    #[test]
    fn an_average_follows_slowly_and_shrinks_while_the_queue_rests() {
        let packet = Span::from_us(1);
        let mut red = red(Some(Average { gain: 0.5, packet }));
        let at = |us| Time::after_start(Span::from_us(us));
        let mut see = |us, length: Bytes| {
            red.judge(at(us), Some(MarkAt::Enqueue), Ecn::NotEct, length);
            red.average
        };
        let full = Bytes::new(4_000_000);
        assert!((see(1, full) - 2e6).abs() < 1e-6);
        assert!((see(2, full) - 3e6).abs() < 1e-6);
        red.rest(at(10));
        assert_eq!(red.judge(at(13), None, Ecn::Ect, EMPTY), Verdict::Keep);
        // Three packets' time at half each, and the packet itself.
        assert!((red.average - 3e6 / 16.0).abs() < 1e-6, "{}", red.average);
    }

    #[test]
    fn a_high_average_marks_though_the_queue_is_short() {
        let mut red = red(Some(Average { gain: 1.0 / 16.0, packet: Span::from_us(1) }));
        red.average = 4_000_000.0;
        assert_eq!(red.judge(Time::ZERO, None, Ecn::Ect, EMPTY), Verdict::Mark);
    }
}

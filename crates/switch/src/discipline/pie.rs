//! Proportional Integral controller Enhanced (PIE, RFC 8033): arriving packets are dropped or marked with a probability
//! that a controller updates every `tupdate`, from the delay of the queue and its trend. Names follow the pseudocode of
//! the RFC's appendices, with ECN (5.1), derandomization (5.4) and the cap of an update (5.5). Units: seconds of delay,
//! probabilities in [0, 1].
//!
//! Choices: the delay is the sojourn time so far of the packet at the head, zero if the queue is empty, and no estimate
//! from a dequeue rate (as Linux by default). PIE is always on (5.3 is optional). A mean packet is a full frame. The
//! probability is updated at multiples of `tupdate` from the start of the run, before arrivals and departures at one
//! instant. Packets that find the link idle change nothing: PIE never drops with less than two packets in the queue.

use super::backlog::{Backlog, Dropped};
use super::{AqmConfig, AqmPort, LONGEST, ManagedQueue};
use crate::mark::Decision;
use shallop_core::{Bytes, DropCause, Ecn, Envelope, Packet, Span, Stream, Time};
use shallop_options::Options;

/// Options of the discipline `pie` in scenarios.
#[derive(Clone, Copy, Debug, PartialEq, Options)]
#[options(defaults)]
pub struct PieConfig {
    /// The delay that the controller keeps (`QDELAY_REF`).
    #[key(Time(Span::from_ns(1), LONGEST), default = Span::from_ms(15))]
    pub target: Span,
    /// The time between two updates of the drop probability (`T_UPDATE`).
    #[key(Time(Span::from_us(1), LONGEST), default = Span::from_ms(15))]
    pub tupdate: Span,
    /// The gain for the difference of delay and `target`, in Hz.
    #[key(Number(0.0, 1e9), default = 0.125)]
    pub alpha: f64,
    /// The gain for the change of the delay since the update before, in Hz.
    #[key(Number(0.0, 1e9), default = 1.25)]
    pub beta: f64,
    /// The time after an uncongested one for which nothing is dropped (`MAX_BURST`).
    #[key(Time(Span::ZERO, LONGEST), default = Span::from_ms(150))]
    pub max_burst: Span,
    /// Whether ECN-capable packets are marked where others are dropped, up to `mark_ecnth`.
    #[key(default = true)]
    pub ecn: bool,
    /// The drop probability up to which ECN-capable packets are marked; above it they are dropped, too.
    #[key(Number(0.0, 1.0), default = 0.1)]
    pub mark_ecnth: f64,
}

impl AqmConfig for PieConfig {
    const IGNORES_IDLE_ARRIVALS: bool = true;

    fn marks(&self) -> bool {
        self.ecn
    }

    fn marks_in_proportion(&self) -> bool {
        false
    }
}

/// Probabilities below which an update is divided, and by what.
const SCALES: [(f64, f64); 6] =
    [(0.000_001, 2_048.0), (0.000_01, 512.0), (0.000_1, 128.0), (0.001, 32.0), (0.01, 8.0), (0.1, 2.0)];

#[derive(Clone, Debug)]
pub(crate) struct Pie<C> {
    config: PieConfig,
    mean_packet: Bytes,
    stream: Stream,
    backlog: Backlog<C>,
    drop_prob: f64,
    /// Sum of the drop probabilities of packets that passed since the last drop.
    accu_prob: f64,
    /// Delay at the last update.
    qdelay_old: Span,
    burst_allowance: Span,
    next_update: Time,
}

impl<C: Copy> ManagedQueue<C> for Pie<C> {
    type Config = PieConfig;

    fn new(config: &PieConfig, port: &AqmPort) -> Self {
        Self {
            config: *config,
            mean_packet: port.mtu,
            stream: port.stream.clone(),
            backlog: Backlog::default(),
            drop_prob: 0.0,
            accu_prob: 0.0,
            qdelay_old: Span::ZERO,
            burst_allowance: config.max_burst,
            next_update: Time::after_start(config.tupdate),
        }
    }

    fn on_arrival(&mut self, now: Time, packet: Envelope) -> Decision {
        self.update(now);
        if self.burst_allowance.is_zero() && self.drops_early() {
            return match packet.ecn {
                Ecn::NotEct => Decision::Drop(DropCause::Aqm),
                _ if !self.config.ecn || self.drop_prob > self.config.mark_ecnth => Decision::Drop(DropCause::Aqm),
                Ecn::Ce => Decision::Pass,
                Ecn::Ect | Ecn::Ect1 => Decision::Mark,
            };
        }
        let half = self.config.target / 2;
        if self.drop_prob <= 0.0 && self.backlog.delay(now) < half && self.qdelay_old < half {
            self.burst_allowance = self.config.max_burst;
        }
        Decision::Pass
    }

    fn enqueue(&mut self, now: Time, packet: Packet<C>, _: Ecn) {
        self.backlog.push(now, packet);
    }

    fn dequeue(&mut self, now: Time, _: &mut Vec<Dropped>) -> Option<(Packet<C>, bool)> {
        self.update(now);
        self.backlog.pop().map(|head| (head.packet, false))
    }
}

impl<C: Copy> Pie<C> {
    /// Whether the drop probability strikes an arriving packet (`drop_early`).
    fn drops_early(&mut self) -> bool {
        let is_short = self.qdelay_old < self.config.target / 2 && self.drop_prob < 0.2;
        if is_short || self.backlog.bytes() <= self.mean_packet * 2 {
            return false;
        }
        self.accu_prob = if self.drop_prob > 0.0 { self.accu_prob + self.drop_prob } else { 0.0 };
        let drops = self.accu_prob >= 8.5 || (self.accu_prob >= 0.85 && self.stream.chance(self.drop_prob));
        if drops {
            self.accu_prob = 0.0;
        }
        drops
    }

    /// Performs the updates that are due by `now`. Called before every arrival and departure, so the queue has not
    /// changed since the first of them was due.
    fn update(&mut self, now: Time) {
        while self.next_update <= now {
            let at = self.next_update;
            let before = (self.drop_prob.to_bits(), self.qdelay_old, self.burst_allowance);
            self.calculate_drop_prob(self.backlog.delay(at));
            // The queue is empty and nothing changes until the next arrival.
            let after = (self.drop_prob.to_bits(), self.qdelay_old, self.burst_allowance);
            let settled = self.backlog.is_empty() && before == after;
            let skipped = if settled { (now - at).as_ps() / self.config.tupdate.as_ps() } else { 0 };
            self.next_update = at.saturating_add(self.config.tupdate * (skipped + 1));
        }
    }

    /// Updates the drop probability for the present delay of the queue.
    fn calculate_drop_prob(&mut self, qdelay: Span) {
        let PieConfig { target, alpha, beta, tupdate, .. } = self.config;
        let [delay, target, old] = [qdelay, target, self.qdelay_old].map(Span::as_secs_f64);
        let scale = SCALES.iter().find(|(below, _)| self.drop_prob < *below).map_or(1.0, |(_, by)| *by);
        let mut change = (alpha * (delay - target) + beta * (delay - old)) / scale;
        if self.drop_prob >= 0.1 {
            change = change.min(0.02);
        }
        let kept = if qdelay.is_zero() && self.qdelay_old.is_zero() { 0.98 } else { 1.0 };
        self.drop_prob = ((self.drop_prob + change) * kept).clamp(0.0, 1.0);
        self.qdelay_old = qdelay;
        self.burst_allowance = self.burst_allowance.saturating_sub(tupdate);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shallop_core::{Class, End, Seed};

    const MTU: Bytes = Bytes::new(1538);
    const DEFAULT: PieConfig = PieConfig::defaults(());

    fn at(ms: u64) -> Time {
        Time::after_start(Span::from_ms(ms))
    }

    fn packet(ecn: Ecn) -> Packet<u32> {
        Packet { envelope: Envelope { end: End(1), size: 1538, class: Class::Data, ecn }, cargo: 0 }
    }

    fn pie() -> Pie<u32> {
        Pie::new(&DEFAULT, &AqmPort { mtu: MTU, stream: Seed::new(1).stream("aqm", 0) })
    }

    /// A queue of 100 packets whose head has waited for 20 ms, with this drop probability until the end of the run.
    fn standing(drop_prob: f64) -> Pie<u32> {
        let mut pie = Pie { drop_prob, burst_allowance: Span::ZERO, next_update: Time::LAST, ..pie() };
        pie.qdelay_old = Span::from_ms(20);
        (0..100).for_each(|_| pie.enqueue(at(0), packet(Ecn::NotEct), Ecn::NotEct));
        pie
    }

    #[test]
    fn an_update_is_that_of_the_rfc_in_every_range_of_the_probability() {
        // Delay 25 ms after 20 ms, target 15 ms: 0.125 x 10 ms + 1.25 x 5 ms = 0.0075.
        for (before, scale) in [
            (0.0, 2_048.0),
            (0.000_005, 512.0),
            (0.000_05, 128.0),
            (0.000_5, 32.0),
            (0.005, 8.0),
            (0.05, 2.0),
            (0.1, 1.0),
            (0.5, 1.0),
        ] {
            let mut pie = Pie { drop_prob: before, qdelay_old: Span::from_ms(20), ..pie() };
            pie.calculate_drop_prob(Span::from_ms(25));
            let expected = before + 0.0075 / scale;
            assert!((pie.drop_prob - expected).abs() < 1e-15, "{before}: {}, expected {expected}", pie.drop_prob);
        }
        // From 0 to 50 ms: 0.125 x 35 ms + 1.25 x 50 ms = 0.066875, from 10 % on at most 2 %.
        for (before, after) in [(0.05, 0.05 + 0.066_875 / 2.0), (0.2, 0.22)] {
            let mut pie = Pie { drop_prob: before, ..pie() };
            pie.calculate_drop_prob(Span::from_ms(50));
            assert!((pie.drop_prob - after).abs() < 1e-15, "{before}: {}", pie.drop_prob);
        }
    }

    #[test]
    fn an_empty_queue_forgets_its_probability() {
        // -0.125 x 15 ms = -0.001875, then 2 % less; the first update follows one with delay.
        let mut pie = Pie { drop_prob: 0.2, qdelay_old: Span::from_ms(1), ..pie() };
        pie.update(at(15));
        assert!((pie.drop_prob - (0.2 - 0.001_875 - 0.001_25)).abs() < 1e-15, "{}", pie.drop_prob);
        let before = pie.drop_prob;
        pie.update(at(30));
        assert!((pie.drop_prob - (before - 0.001_875) * 0.98).abs() < 1e-15, "{}", pie.drop_prob);
        pie.update(at(15 * 1_000_000 + 1));
        assert_eq!((pie.drop_prob.to_bits(), pie.next_update), (0, at(15 * 1_000_001)));
    }

    #[test]
    fn nothing_is_dropped_in_the_first_150_ms_of_congestion() {
        let mut pie = pie();
        let arrives = |pie: &mut Pie<u32>, ms| {
            let decision = pie.on_arrival(at(ms), packet(Ecn::NotEct).envelope);
            pie.enqueue(at(ms), packet(Ecn::NotEct), Ecn::NotEct);
            decision
        };
        // The head waits from the start on, so the probability rises from the second update on.
        let first = (0..20_000).find(|&ms| arrives(&mut pie, ms) != Decision::Pass);
        // Updates at 15, 30 ... have consumed the allowance of the last arrival before 15 ms at 150 ms.
        let first = first.unwrap_or_default();
        assert!((150..2_000).contains(&first) && pie.burst_allowance.is_zero(), "{first} ms");
        let early = Pie { accu_prob: 9.0, burst_allowance: Span::from_ms(1), ..standing(1.0) };
        assert_eq!({ early }.on_arrival(at(20), packet(Ecn::NotEct).envelope), Decision::Pass);
    }

    #[test]
    fn drops_are_as_many_as_the_probability_says_and_never_close_together() {
        // A packet passes until the sum of probabilities is 0.85: with p = 0.05 the 17th is the first that may be
        // dropped, and then each with p. The mean distance is 16 + 1 / p = 36 packets.
        let mut pie = standing(0.05);
        let drop = Decision::Drop(DropCause::Aqm);
        let all: Vec<usize> =
            (0..200_000).filter(|_| pie.on_arrival(at(20), packet(Ecn::NotEct).envelope) == drop).collect();
        let gaps: Vec<usize> = all.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<usize>() as f64 / gaps.len() as f64;
        assert!(gaps.iter().all(|gap| (17..=171).contains(gap)) && (mean - 36.0).abs() < 1.5, "{mean}");
    }

    #[test]
    fn packets_pass_if_the_queue_is_short_and_are_marked_up_to_ten_percent() {
        let drop = Decision::Drop(DropCause::Aqm);
        let strike = |pie: Pie<u32>, ecn| Pie { accu_prob: 9.0, ..pie }.on_arrival(at(20), packet(ecn).envelope);
        assert_eq!(strike(standing(0.1), Ecn::Ect), Decision::Mark);
        assert_eq!(strike(standing(0.11), Ecn::Ect), drop);
        assert_eq!(strike(standing(0.1), Ecn::NotEct), drop);
        let fast = |drop_prob| Pie { qdelay_old: Span::from_ms(7), ..standing(drop_prob) };
        assert_eq!((strike(fast(0.19), Ecn::NotEct), strike(fast(0.21), Ecn::NotEct)), (Decision::Pass, drop));
        let mut short = standing(1.0);
        (0..98).for_each(|_| drop_head(&mut short));
        assert_eq!(strike(short, Ecn::NotEct), Decision::Pass);
    }

    fn drop_head(pie: &mut Pie<u32>) {
        pie.dequeue(at(20), &mut Vec::new());
    }
}

//! A test of whether the path treats emulation packets unlike data: trains of emulation packets, of which a random part
//! leaves with the DSCP of data.
//!
//! The peer answers both kinds alike, and both hosts are equally late for both, whatever else they do. So if one kind
//! is answered less often, the path has dropped it, and if one is answered earlier, the path has served it first: the
//! packets with the DSCP of data are the control group. Answers count whether or not they are too late for a data
//! packet. Source of the inference: Fisher's randomisation test.

use crate::{credit::packet::Stamp, credit::stats::fraction};
use serde::Serialize;
use shallop_core::{Span, Stream, Time};
use std::collections::BTreeMap;

/// The most packets of a probe; others are not sent.
const MAX_PACKETS: u32 = 20_000;
/// The fraction of packets that leave with the DSCP of data. It is so small that the peer does not report erased
/// classes ([`super::notice`]).
pub const CONTROL: f64 = 0.25;
/// A sender that is late catches up with the packets of at most this time, or of this many gaps. After a longer stall a
/// train goes on as another one.
const CATCH_UP: Span = Span::from_us(200);
const CATCH_UP_GAPS: u64 = 8;

/// The packets of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbePlan {
    /// Trains of packets.
    pub trains: u32,
    /// The packets of each train, of both kinds.
    pub packets: u32,
    /// The time from one packet of a train to the next.
    pub gap: Span,
    /// The time from the last packet of a train to the next train.
    pub pause: Span,
}

/// Packets of one kind that were sent, and those that the peer answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Answered {
    /// Packets that left.
    pub sent: u64,
    /// Packets with an answer, however late.
    pub answered: u64,
    /// The sum of the times from the departures to the answers, seconds.
    pub waited: f64,
    /// The sum of the squares of these times.
    pub waited_squares: f64,
}

impl Answered {
    /// The fraction of packets without an answer, 0 to 1; 0 if none was sent.
    pub fn loss(&self) -> f64 {
        fraction(self.sent.saturating_sub(self.answered), self.sent)
    }

    /// Notes an answer after `waited` seconds.
    pub fn answer(&mut self, waited: f64) {
        self.answered += 1;
        self.waited += waited;
        self.waited_squares += waited * waited;
    }

    fn add(&mut self, other: Self) {
        self.sent += other.sent;
        self.answered += other.answered;
        self.waited += other.waited;
        self.waited_squares += other.waited_squares;
    }
}

/// The packets of one train, or the sum of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ProbeCounts {
    /// Packets with the DSCP of emulation packets.
    pub emulation: Answered,
    /// Packets with the DSCP of data.
    pub control: Answered,
    /// The time from the first packet of a train to the last, seconds.
    pub seconds: f64,
    /// The time from the first answer to the last, seconds: the peer has received the packets no faster.
    pub answered_over: f64,
}

impl ProbeCounts {
    /// The sum of several trains.
    pub fn sum(trains: &[Self]) -> Self {
        trains.iter().fold(Self::default(), |mut sum, train| {
            sum.emulation.add(train.emulation);
            sum.control.add(train.control);
            sum.seconds += train.seconds;
            sum.answered_over += train.answered_over;
            sum
        })
    }

    /// How much more often emulation packets were lost than those with the DSCP of data, -1 to 1.
    pub fn difference(&self) -> f64 {
        self.emulation.loss() - self.control.loss()
    }

    /// The standard error of [`ProbeCounts::difference`], if the path treats both kinds alike: what the random choice
    /// of the kind leaves to chance. 1 if a kind was not sent.
    pub fn error(&self) -> f64 {
        let (some, others) = (self.emulation.sent as f64, self.control.sent as f64);
        if some * others == 0.0 {
            return 1.0;
        }
        let answered = self.emulation.answered + self.control.answered;
        let lost = 1.0 - (answered as f64 / (some + others)).min(1.0);
        // One packet of each kind more, so that no loss is not certainty.
        let lost = lost.clamp(1.0 / (some + others), 1.0 - 1.0 / (some + others));
        (lost * (1.0 - lost) * (1.0 / some + 1.0 / others)).sqrt()
    }

    /// How much later packets with the DSCP of data were answered than emulation packets, in standard errors of that
    /// difference if the path serves both kinds alike. 0 if either kind has no answers.
    pub fn overtaking(&self) -> f64 {
        let [some, others] = [self.emulation, self.control];
        let [few, fewer] = [some.answered, others.answered].map(|count| count as f64);
        if few * fewer == 0.0 {
            return 0.0;
        }
        let all = few + fewer;
        let mean = (some.waited + others.waited) / all;
        let variance = (some.waited_squares + others.waited_squares) / all - mean * mean;
        let error = (variance.max(0.0) * (1.0 / few + 1.0 / fewer)).sqrt();
        let later = others.waited / fewer - some.waited / few;
        if error > 0.0 { later / error } else { 0.0 }
    }
}

/// A packet that waits for its answer.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    time: Time,
    train: usize,
    is_control: bool,
}

/// One probe: decides when its packets leave, and counts their answers.
#[derive(Debug)]
pub(crate) struct PathProbe {
    plan: ProbePlan,
    random: Stream,
    /// When the next packet is due; `None` after the last.
    next: Option<Time>,
    /// When the current train began.
    begun: Time,
    /// The counts of each train, which is cut where the sender has stalled.
    trains: Vec<ProbeCounts>,
    /// Trains whose packets have all left.
    done: u32,
    /// Packets of the current train that have left.
    sent: u32,
    /// Packets without an answer, by sequence number.
    waiting: BTreeMap<u16, Waiting>,
    /// When the first answer to each train came.
    answered_from: BTreeMap<usize, Time>,
}

impl PathProbe {
    pub(crate) fn new(now: Time, plan: ProbePlan, random: Stream) -> Self {
        let trains = plan.trains.min(MAX_PACKETS / plan.packets.max(1));
        let plan = ProbePlan { trains, ..plan };
        Self {
            plan,
            random,
            next: (trains > 0 && plan.packets > 0).then_some(now),
            begun: now,
            trains: Vec::new(),
            done: 0,
            sent: 0,
            waiting: BTreeMap::new(),
            answered_from: BTreeMap::new(),
        }
    }

    /// When the next packet is due; `None` if all have left.
    pub(crate) fn due(&self) -> Option<Time> {
        self.next
    }

    /// Takes the packet that is due. Returns whether it leaves with the DSCP of data.
    pub(crate) fn take(&mut self, now: Time) -> Option<bool> {
        let next = self.next.filter(|&at| at <= now)?;
        let gap = self.plan.gap;
        let earliest = now - (gap * CATCH_UP_GAPS).max(CATCH_UP).min(now.since_start());
        if self.sent == 0 || next < earliest {
            self.begun = now;
            self.trains.push(ProbeCounts::default());
        }
        self.sent += 1;
        let mut then = next.max(earliest).saturating_add(gap);
        if self.sent == self.plan.packets {
            (self.sent, self.done) = (0, self.done + 1);
            then = now.saturating_add(self.plan.pause);
        }
        if let Some(train) = self.trains.last_mut() {
            train.seconds = now.saturating_since(self.begun).as_secs_f64();
        }
        self.next = (self.done < self.plan.trains).then_some(then);
        Some(self.random.chance(CONTROL))
    }

    /// Notes the stamp of the packet that was taken.
    pub(crate) fn on_sent(&mut self, stamp: Stamp, is_control: bool) {
        let train = self.trains.len().saturating_sub(1);
        self.waiting.insert(stamp.sequence, Waiting { time: stamp.time, train, is_control });
        if let Some(kind) = self.kind(train, is_control) {
            kind.sent += 1;
        }
    }

    /// Notes a stamp of an authentic credit. Returns whether it answers a packet of this probe.
    pub(crate) fn on_answer(&mut self, now: Time, stamp: Stamp) -> bool {
        let Some(of) = self.waiting.get(&stamp.sequence).copied().filter(|of| of.time == stamp.time) else {
            return false;
        };
        self.waiting.remove(&stamp.sequence);
        if let Some(kind) = self.kind(of.train, of.is_control) {
            kind.answer(now.saturating_since(stamp.time).as_secs_f64());
        }
        let first = *self.answered_from.entry(of.train).or_insert(now);
        if let Some(train) = self.trains.get_mut(of.train) {
            train.answered_over = now.saturating_since(first).as_secs_f64();
        }
        true
    }

    fn kind(&mut self, train: usize, is_control: bool) -> Option<&mut Answered> {
        let train = self.trains.get_mut(train)?;
        Some(if is_control { &mut train.control } else { &mut train.emulation })
    }

    /// The counts of each train so far.
    pub(crate) fn trains(&self) -> &[ProbeCounts] {
        &self.trains
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shallop_core::Seed;

    const PLAN: ProbePlan = ProbePlan { trains: 5, packets: 200, gap: Span::from_us(30), pause: Span::from_ms(20) };

    /// Runs a probe whose sender wakes every `step`, over a path that drops an emulation packet if `drops` says so, and
    /// each packet with the probability `host` in the hosts.
    fn run(step: Span, seed: u64, host: f64, mut drops: impl FnMut(Time) -> bool) -> PathProbe {
        let stream = |name| Seed::new(seed).stream(name, 0);
        let mut probe = PathProbe::new(Time::ZERO, PLAN, stream("probe"));
        let (mut now, mut random, mut sequence) = (Time::ZERO, stream("host"), 65_000_u16);
        while probe.due().is_some() {
            while let Some(is_control) = probe.take(now) {
                let time = now.saturating_add(Span::from_ns(u64::from(sequence)));
                let stamp = Stamp { sequence, time };
                sequence = sequence.wrapping_add(1);
                probe.on_sent(stamp, is_control);
                let is_dropped = !is_control && drops(now);
                if !is_dropped && !random.chance(host) {
                    assert!(probe.on_answer(time, stamp));
                    assert!(!probe.on_answer(time, stamp), "a second answer is none");
                }
                assert!(!probe.on_answer(time, Stamp { time: Time::ZERO, ..stamp }));
            }
            now = now.saturating_add(step);
        }
        probe
    }

    /// A meter that passes a packet every 60 us, with a queue of 8.
    fn meter() -> impl FnMut(Time) -> bool {
        let mut free = Time::ZERO;
        move |now| {
            free = free.max(now);
            let is_full = free.saturating_since(now) > Span::from_us(480);
            if !is_full {
                free = free.saturating_add(Span::from_us(60));
            }
            is_full
        }
    }

    #[test]
    fn all_packets_leave_in_trains_at_their_rate() {
        let probe = run(Span::from_us(10), 1, 0.0, |_| false);
        let sum = ProbeCounts::sum(probe.trains());
        assert_eq!((probe.trains().len(), sum.emulation.sent + sum.control.sent), (5, 1_000));
        assert!((sum.seconds - 5.0 * 199.0 * 30e-6).abs() < 1e-3, "{sum:?}");
        assert!((sum.answered_over - sum.seconds).abs() < 1e-3, "{sum:?}");
        assert_eq!((sum.emulation.loss(), sum.control.loss()), (0.0, 0.0));
        assert!((200..300).contains(&sum.control.sent), "{sum:?}");
    }

    #[test]
    fn a_train_is_cut_where_the_sender_stalls_and_catches_up_with_little() {
        let probe = run(Span::from_ms(1), 1, 0.0, |_| false);
        let packets: Vec<u64> = probe.trains().iter().map(|of| of.emulation.sent + of.control.sent).collect();
        assert!(packets.iter().all(|&count| count <= 9), "{packets:?}");
        assert_eq!(packets.iter().sum::<u64>(), 1_000);
    }

    #[test]
    fn a_meter_shows_and_losses_in_the_hosts_do_not() {
        for seed in 0..200 {
            let host = (seed % 5) as f64 / 10.0;
            let metered = run(Span::from_us(10), seed, host, meter());
            let sum = ProbeCounts::sum(metered.trains());
            let share = sum.difference() / (1.0 - host);
            assert!((0.05..0.55).contains(&share), "{host}: {sum:?}");
            let plain = run(Span::from_us(10), seed, host, |_| false);
            let sum = ProbeCounts::sum(plain.trains());
            assert!(sum.difference().abs() < 5.0 * sum.error(), "{host}: {sum:?}");
        }
    }

    #[test]
    fn a_plan_is_bounded() {
        let plan = ProbePlan { trains: u32::MAX, packets: u32::MAX, ..PLAN };
        let stream = Seed::new(1).stream("probe", 0);
        assert!(PathProbe::new(Time::ZERO, plan, stream).due().is_none());
    }
}

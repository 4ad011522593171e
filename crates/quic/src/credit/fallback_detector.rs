//! Detects paths that are unfit for credits although some credits have arrived: credits stop while other packets still
//! arrive ([`CreditLivenessProbe`]), or data packets are lost rather than emulation packets ([`DataLossDetector`]).

use shallop_core::{Span, Time};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The number of emulation packets without any credit before the first probe.
const UNANSWERED: u64 = 16;
/// Credits count as stopped when this many probes were acknowledged, and this many emulation packets that were sent
/// between the first and the last of them got no credit.
const PROBES: u64 = 8;

/// Detects that credits have stopped on a path that still delivers QUIC packets.
///
/// An interrupted path also delivers no credits. So after a time without credits, ack-eliciting QUIC packets are sent
/// as probes, one after the other. If they are acknowledged and the emulation packets sent meanwhile get no credit,
/// credits have stopped. Emulation packets are rare by then, because the feedback law counts all of them as lost, so
/// not every probe has one next to it.
#[derive(Debug, Default)]
pub(crate) struct CreditLivenessProbe {
    /// The time without credits before the first probe, and the time limit for the answer to a probe.
    limit: Duration,
    /// The least time between two probes.
    gap: Duration,
    /// Credits received by the time of the last one.
    granted: u64,
    /// Emulation packets sent by the time of the last credit.
    emulated: u64,
    /// The time of the first emulation packet after the last credit.
    since: Option<Instant>,
    /// The time of the unanswered probe, and the emulation packets sent by then.
    pending: Option<(Instant, u64)>,
    last_probe: Option<Instant>,
    /// Probes acknowledged since the last credit.
    answered: u64,
    /// Emulation packets sent before the first acknowledged probe.
    before_first: Option<u64>,
    /// Emulation packets sent between the first and the last acknowledged probe.
    between: u64,
}

impl CreditLivenessProbe {
    /// `wait` is the waiting time, and `limit` the time within which a reachable peer answers.
    pub(crate) fn new(wait: Duration, limit: Duration) -> Self {
        Self { limit, gap: wait / 4, ..Self::default() }
    }

    /// Records the totals so far, credits received and emulation packets sent, and whether the sender wants more
    /// credits.
    pub(crate) fn observe(&mut self, now: Instant, granted: u64, emulated: u64, has_demand: bool) {
        if granted > self.granted || !has_demand {
            let fresh = Self::new(self.gap * 4, self.limit);
            *self = Self { granted, emulated, ..fresh };
        } else if emulated > self.emulated {
            self.since.get_or_insert(now);
        }
    }

    /// Whether a probe is to be sent now. `newest_acked` is the send time of the newest acknowledged QUIC packet.
    pub(crate) fn should_probe(&mut self, now: Instant, newest_acked: Option<Instant>, emulated: u64) -> bool {
        let is_long = self.since.is_some_and(|since| since + self.limit < now);
        if !is_long || emulated - self.emulated < UNANSWERED {
            return false;
        }
        if let Some((at, before)) = self.pending {
            if newest_acked.is_some_and(|newest| newest >= at) {
                self.answered += 1;
                self.between = before - *self.before_first.get_or_insert(before);
                self.pending = None;
            } else if now < at + self.limit {
                return false;
            }
        }
        if self.last_probe.is_some_and(|at| now < at + self.gap) {
            return false;
        }
        (self.pending, self.last_probe) = (Some((now, emulated)), Some(now));
        true
    }

    pub(crate) fn have_credits_stopped(&self) -> bool {
        self.answered.min(self.between) >= PROBES
    }
}

/// The number of slots in a waiting time.
const SLOTS: u64 = 4;
/// The least number of lost data packets for a verdict. A slot contributes at most [`MAX_OF_SLOT`] of them, because a
/// short failure affects only a few slots.
const MIN_LOST: u64 = 32;
const MAX_OF_SLOT: u64 = 8;
/// The number of slots after which the counts restart at zero.
const MAX_COUNTED: u32 = 256;
/// Data counts as lost if its loss is more than this multiple of the loss of emulation packets.
const LOSS_RATIO: u64 = 4;
/// The most slots at a time whose losses are not known yet.
const MAX_OPEN: u64 = 64;

/// Counts of the packets that were sent in one slot of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Slot {
    emulated: u64,
    credited: u64,
    data: u64,
    lost: u64,
    /// Whether a test of the path may have filled queues.
    is_tested: bool,
}

/// Detects that the path loses data packets rather than emulation packets.
///
/// A switch for `FlashPass` drops emulation packets so that it need not drop data. Random loss affects both equally,
/// and emulation packets twice: on the way to the peer, and as a credit on the way back. So if emulation packets are
/// lost far less often than data, no queue on the path meters them. Losses are compared in slots of time in which both
/// kinds were sent, because a link that fails after the last emulation packet loses only data. Slots during a test of
/// the path ([`super::path_probe`]) are left out: its packets come above the meter's rate, and fill queues themselves.
#[derive(Debug, Default)]
pub(crate) struct DataLossDetector {
    slot: Span,
    /// The time after which the losses of a slot are known and the slot is closed.
    settle: Span,
    /// The number of the first slot that is not closed.
    first: u64,
    open: VecDeque<Slot>,
    /// The sum of the closed slots in which both kinds of packets were sent.
    sum: Slot,
    /// Lost data packets for the verdict, at most [`MAX_OF_SLOT`] of each slot.
    evidence: u64,
    counted: u32,
    pub(crate) is_data_lost: bool,
    /// When queues that a test of the path has filled no longer count as its doing.
    tested_until: Time,
}

impl DataLossDetector {
    /// `wait` is the waiting time, and `settle` the time after which losses are known.
    pub(crate) fn new(wait: Span, settle: Span) -> Self {
        let slot = (wait / SLOTS).max(settle / MAX_OPEN).max(Span::from_ns(1));
        Self { slot, settle, ..Self::default() }
    }

    fn number(&self, at: Time) -> u64 {
        at.since_start().as_ps() / self.slot.as_ps()
    }

    /// The slot in which `at` lies, unless it is closed.
    fn at(&mut self, at: Time) -> Option<&mut Slot> {
        let number = self.number(at);
        if self.open.is_empty() {
            self.first = self.first.max(number);
        }
        let index = number.checked_sub(self.first).filter(|&index| index <= MAX_OPEN + 1)? as usize;
        if index >= self.open.len() {
            self.open.resize(index + 1, Slot::default());
        }
        self.open.get_mut(index)
    }

    /// Counts an emulation packet that is sent now.
    pub(crate) fn on_emulation(&mut self, now: Time) {
        self.count_sent(now, |slot| slot.emulated += 1);
    }

    /// Notes a packet of a test of the path that is sent now.
    pub(crate) fn on_test(&mut self, now: Time) {
        self.tested_until = now.saturating_add(self.settle);
    }

    fn count_sent(&mut self, now: Time, count: impl FnOnce(&mut Slot)) {
        self.close(now);
        let is_tested = now < self.tested_until;
        if let Some(slot) = self.at(now) {
            slot.is_tested |= is_tested;
            count(slot);
        }
    }

    /// Counts the credit for an emulation packet that was sent at `sent`.
    pub(crate) fn on_credit(&mut self, sent: Time) {
        if let Some(slot) = self.at(sent) {
            slot.credited += 1;
        }
    }

    /// Counts a data packet that is sent now.
    pub(crate) fn on_data(&mut self, now: Time) {
        self.count_sent(now, |slot| slot.data += 1);
    }

    /// Counts lost data packets, the newest of which was sent at `sent`.
    pub(crate) fn on_lost(&mut self, sent: Time, packets: u64) {
        if let Some(slot) = self.at(sent) {
            slot.lost += packets;
        }
    }

    fn close(&mut self, now: Time) {
        let last = self.number(now - self.settle.min(now.since_start()));
        while self.first < last {
            let Some(slot) = self.open.pop_front() else { return };
            self.first += 1;
            self.count(slot);
        }
    }

    fn count(&mut self, slot: Slot) {
        if slot.is_tested || slot.emulated == 0 || slot.emulated * 2 < slot.data {
            return;
        }
        self.sum.emulated += slot.emulated;
        self.sum.credited += slot.credited;
        self.sum.data += slot.data;
        self.sum.lost += slot.lost;
        self.evidence += slot.lost.min(MAX_OF_SLOT);
        self.counted += 1;
        if self.evidence >= MIN_LOST {
            let Slot { emulated, credited, data, lost, .. } = self.sum;
            let emulation_lost = emulated.saturating_sub(credited);
            self.is_data_lost |= emulation_lost * data * LOSS_RATIO < lost * emulated;
        } else if self.counted < MAX_COUNTED {
            return;
        }
        (self.sum, self.evidence, self.counted) = (Slot::default(), 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shallop_core::{Seed, Stream};

    const WAIT: Span = Span::from_ms(40);

    fn detector() -> DataLossDetector {
        DataLossDetector::new(WAIT, WAIT * 2 + Span::from_ms(100))
    }

    fn at(micros: u64) -> Time {
        Time::after_start(Span::from_us(micros))
    }

    /// Sends an emulation packet and a data packet every 125 us during `ms`, and loses these fractions of both.
    fn run(detector: &mut DataLossDetector, millis: (u64, u64), parts: (f64, f64), random: &mut Stream) {
        for now in (millis.0 * 1_000..millis.1 * 1_000).step_by(125).map(at) {
            detector.on_emulation(now);
            if !random.chance(parts.0) {
                detector.on_credit(now);
            }
            detector.on_data(now);
            if random.chance(parts.1) {
                detector.on_lost(now, 1);
            }
        }
    }

    #[test]
    fn loss_of_data_is_detected_and_random_loss_is_not() {
        for (emulation, data, is_found) in [
            (0.0, 0.01, true),
            (0.02, 0.2, true),
            (0.1, 0.5, true),
            (0.0, 0.0, false),
            (0.01, 0.01, false),
            (0.05, 0.05, false),
            (0.0975, 0.05, false),
            (0.1, 0.01, false),
        ] {
            for seed in 0..20 {
                let (mut detector, mut random) = (detector(), Seed::new(seed).stream("loss", 0));
                run(&mut detector, (0, 10_000), (emulation, data), &mut random);
                assert_eq!(detector.is_data_lost, is_found, "{emulation} {data} {seed}");
            }
        }
    }

    #[test]
    fn losses_in_fewer_than_four_slots_are_not_enough() {
        let (mut detector, mut random) = (detector(), Seed::new(1).stream("loss", 0));
        // Three slots of 10 ms, each with all of its 80 data packets.
        run(&mut detector, (0, 30), (0.0, 1.0), &mut random);
        run(&mut detector, (30, 2_000), (0.0, 0.0), &mut random);
        assert!(!detector.is_data_lost);
        run(&mut detector, (2_000, 2_010), (0.0, 1.0), &mut random);
        run(&mut detector, (2_010, 3_000), (0.0, 0.0), &mut random);
        assert!(detector.is_data_lost, "the fourth");
    }

    #[test]
    fn losses_during_a_test_of_the_path_are_not_those_of_the_path() {
        let (mut detector, mut random) = (detector(), Seed::new(1).stream("loss", 0));
        for ms in (0..1_000).step_by(10) {
            detector.on_test(at(ms * 1_000));
            run(&mut detector, (ms, ms + 10), (0.0, 0.1), &mut random);
        }
        run(&mut detector, (1_000, 2_000), (0.0, 0.0), &mut random);
        assert!(!detector.is_data_lost);
        run(&mut detector, (2_000, 6_000), (0.0, 0.1), &mut random);
        assert!(detector.is_data_lost, "after the test");
    }

    #[test]
    fn slots_without_emulation_packets_are_not_compared() {
        let mut detector = detector();
        for now in (0..5_000_000).step_by(125).map(at) {
            detector.on_data(now);
            detector.on_lost(now, 1);
        }
        detector.on_emulation(at(5_000_000));
        assert!(!detector.is_data_lost);
        // A pause of an hour needs no more memory than a short one.
        detector.on_emulation(at(3_600_000_000));
        assert!(detector.open.len() <= 1, "{:?}", detector.open.len());
    }

    #[test]
    fn credits_have_stopped_if_probes_are_acknowledged_and_no_credit_arrives() {
        let (begun, wait) = (Instant::now(), Duration::from_millis(40));
        let limit = wait * 4 + Duration::from_millis(100);
        // Whether probes are acknowledged, and the ms from which credits arrive.
        for (is_answered, credits_from, stops) in [(true, None, true), (false, None, false), (true, Some(270), false)] {
            let mut probe = CreditLivenessProbe::new(wait, limit);
            let (mut granted, mut newest) = (0, None);
            for millis in 0..1_000 {
                let (now, emulated) = (begun + Duration::from_millis(millis), millis);
                granted += u64::from(credits_from.is_some_and(|from| from <= millis));
                probe.observe(now, granted, emulated, true);
                if probe.should_probe(now, newest, emulated) && is_answered {
                    newest = Some(now);
                }
            }
            assert_eq!(probe.have_credits_stopped(), stops, "{is_answered} {credits_from:?}");
        }
    }

    #[test]
    fn nothing_is_probed_without_demand() {
        let (begun, wait) = (Instant::now(), Duration::from_millis(40));
        let mut probe = CreditLivenessProbe::new(wait, wait * 4);
        for millis in 0..2_000 {
            let now = begun + Duration::from_millis(millis);
            probe.observe(now, 0, 100, millis < 100);
            assert!(!probe.should_probe(now, None, 100));
        }
    }
}

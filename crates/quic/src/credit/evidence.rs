//! What speaks against credits on a path that has let some through: credits that stop although other packets still
//! arrive ([`Answers`]), and data that is lost where emulation packets are not ([`Losses`]).

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use shallop_core::{Span, Time};

/// Emulation packets without any credit before it is asked whether other packets arrive.
const UNANSWERED: u64 = 16;
/// Questions that have to be answered, and emulation packets from the first of them to the last that are not.
const QUESTIONS: u64 = 8;

/// Whether credits still come.
///
/// A path that is cut for a while lets nothing through, and must not look like one that lets all but credits through.
/// So when no credit has come for long, packets of QUIC are sent that have to be acknowledged, one after the other. If
/// they are, and the emulation packets beside them have no credit, credits have stopped. Those become rare by then,
/// since the law takes all of them for lost, and not each question has one.
#[derive(Debug)]
pub(crate) struct Answers {
    /// How long no credit comes before a question is asked, and how long one waits for its answer.
    limit: Duration,
    /// The least time between two questions.
    gap: Duration,
    /// Credits so far, and emulation packets until the last one came.
    granted: u64,
    emulated: u64,
    /// When the first emulation packet was seen since.
    since: Option<Instant>,
    /// When the question was asked that waits for its answer, and emulation packets until then.
    asked: Option<(Instant, u64)>,
    last_asked: Option<Instant>,
    answered: u64,
    /// Emulation packets until the first question that was answered, and from there to the last one.
    first: Option<u64>,
    beside: u64,
}

impl Answers {
    /// Those of a sender that waits this long, and for answers up to `limit`.
    pub(crate) fn new(wait: Duration, limit: Duration) -> Self {
        Self {
            limit,
            gap: wait / 4,
            granted: 0,
            emulated: 0,
            since: None,
            asked: None,
            last_asked: None,
            answered: 0,
            first: None,
            beside: 0,
        }
    }

    /// So many credits have come for so many emulation packets by now, and more are asked for, or not.
    pub(crate) fn observe(&mut self, now: Instant, (granted, emulated): (u64, u64), asks: bool) {
        if granted > self.granted || !asks {
            let fresh = Self::new(self.gap * 4, self.limit);
            *self = Self { granted, emulated, ..fresh };
        } else if emulated > self.emulated {
            self.since.get_or_insert(now);
        }
    }

    /// Whether a packet that has to be acknowledged is to be sent now. `newest_acked`: when the newest one was sent
    /// that is acknowledged.
    pub(crate) fn asks(
        &mut self,
        now: Instant,
        newest_acked: Option<Instant>,
        emulated: u64,
    ) -> bool {
        let is_long = self.since.is_some_and(|since| since + self.limit < now);
        if !is_long || emulated - self.emulated < UNANSWERED {
            return false;
        }
        if let Some((at, before)) = self.asked {
            if newest_acked.is_some_and(|newest| newest >= at) {
                self.answered += 1;
                self.beside = before - *self.first.get_or_insert(before);
                self.asked = None;
            } else if now < at + self.limit {
                return false;
            }
        }
        if self.last_asked.is_some_and(|at| now < at + self.gap) {
            return false;
        }
        (self.asked, self.last_asked) = (Some((now, emulated)), Some(now));
        true
    }

    /// Whether credits have stopped.
    pub(crate) fn have_stopped(&self) -> bool {
        self.answered.min(self.beside) >= QUESTIONS
    }
}

/// Slots of time in a waiting time.
const SLOTS: u64 = 4;
/// Lost data packets for a judgement, of which each slot gives no more than this: one failure is in few slots.
const LEAST_LOST: u64 = 32;
const MOST_OF_SLOT: u64 = 8;
/// Slots after which lost packets are counted anew.
const LONGEST: u32 = 256;
/// How often less of the emulation packets than of the data has to be lost.
const FAR_BELOW: u64 = 4;
/// Slots that are open at a time, at most.
const MOST_OPEN: u64 = 64;

/// Packets by the time at which they were sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Slot {
    emulated: u64,
    credited: u64,
    data: u64,
    lost: u64,
}

/// Whether data is lost where emulation packets are not.
///
/// A switch for `FlashPass` loses emulation packets, so that data need not be lost. What is lost by chance hits both
/// alike, and emulation packets twice: on the way there, and as a credit on the way back. So where far less of them is
/// lost than of the data, no queue meters them. They are compared in slots of time in which both were sent: a link that
/// fails for a moment behind the last emulation packet takes data alone.
#[derive(Debug)]
pub(crate) struct Losses {
    slot: Span,
    /// How long after its beginning a slot is closed: by then it is known what was lost.
    settle: Span,
    /// The number of the first open slot.
    first: u64,
    open: VecDeque<Slot>,
    sum: Slot,
    evidence: u64,
    counted: u32,
    is_found: bool,
}

impl Losses {
    /// Those of a sender that waits this long; `settle` later it is known what was lost.
    pub(crate) fn new(wait: Span, settle: Span) -> Self {
        let slot = (wait / SLOTS).max(settle / MOST_OPEN).max(Span::from_ns(1));
        Self {
            slot,
            settle,
            first: 0,
            open: VecDeque::new(),
            sum: Slot::default(),
            evidence: 0,
            counted: 0,
            is_found: false,
        }
    }

    fn number(&self, at: Time) -> u64 {
        at.since_start().as_ps() / self.slot.as_ps()
    }

    /// The slot of this time, unless it is closed.
    fn at(&mut self, at: Time) -> Option<&mut Slot> {
        let number = self.number(at);
        if self.open.is_empty() {
            self.first = self.first.max(number);
        }
        let place =
            number.checked_sub(self.first).filter(|&place| place <= MOST_OPEN + 1)? as usize;
        if place >= self.open.len() {
            self.open.resize(place + 1, Slot::default());
        }
        self.open.get_mut(place)
    }

    /// An emulation packet is sent.
    pub(crate) fn on_emulation(&mut self, now: Time) {
        self.close(now);
        if let Some(slot) = self.at(now) {
            slot.emulated += 1;
        }
    }

    /// The credit came for an emulation packet that was sent at this time.
    pub(crate) fn on_credit(&mut self, sent: Time) {
        if let Some(slot) = self.at(sent) {
            slot.credited += 1;
        }
    }

    /// A data packet is sent.
    pub(crate) fn on_data(&mut self, now: Time) {
        self.close(now);
        if let Some(slot) = self.at(now) {
            slot.data += 1;
        }
    }

    /// Packets were lost of which the newest was sent at this time.
    pub(crate) fn on_lost(&mut self, sent: Time, packets: u64) {
        if let Some(slot) = self.at(sent) {
            slot.lost += packets;
        }
    }

    /// Whether it is so.
    pub(crate) fn are_of_data(&self) -> bool {
        self.is_found
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
        if slot.emulated == 0 || slot.emulated * 2 < slot.data {
            return;
        }
        self.sum.emulated += slot.emulated;
        self.sum.credited += slot.credited;
        self.sum.data += slot.data;
        self.sum.lost += slot.lost;
        self.evidence += slot.lost.min(MOST_OF_SLOT);
        self.counted += 1;
        if self.evidence >= LEAST_LOST {
            let Slot { emulated, credited, data, lost } = self.sum;
            let emulation_lost = emulated.saturating_sub(credited);
            self.is_found |= emulation_lost * data * FAR_BELOW < lost * emulated;
        } else if self.counted < LONGEST {
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

    fn losses() -> Losses {
        Losses::new(WAIT, WAIT * 2 + Span::from_ms(100))
    }

    fn at(micros: u64) -> Time {
        Time::after_start(Span::from_us(micros))
    }

    /// An emulation packet and a data packet each 125 us for so many ms, of which these parts are lost.
    fn run(losses: &mut Losses, millis: (u64, u64), parts: (f64, f64), random: &mut Stream) {
        for now in (millis.0 * 1_000..millis.1 * 1_000).step_by(125).map(at) {
            losses.on_emulation(now);
            if !random.chance(parts.0) {
                losses.on_credit(now);
            }
            losses.on_data(now);
            if random.chance(parts.1) {
                losses.on_lost(now, 1);
            }
        }
    }

    #[test]
    fn data_that_is_lost_alone_is_found_and_loss_by_chance_is_not() {
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
                let (mut losses, mut random) = (losses(), Seed::new(seed).stream("loss", 0));
                run(&mut losses, (0, 10_000), (emulation, data), &mut random);
                assert_eq!(losses.are_of_data(), is_found, "{emulation} {data} {seed}");
            }
        }
    }

    #[test]
    fn a_loss_in_few_slots_is_not_enough() {
        let (mut losses, mut random) = (losses(), Seed::new(1).stream("loss", 0));
        // Three slots of 10 ms, each with all of its 80 data packets.
        run(&mut losses, (0, 30), (0.0, 1.0), &mut random);
        run(&mut losses, (30, 2_000), (0.0, 0.0), &mut random);
        assert!(!losses.are_of_data());
        run(&mut losses, (2_000, 2_010), (0.0, 1.0), &mut random);
        run(&mut losses, (2_010, 3_000), (0.0, 0.0), &mut random);
        assert!(losses.are_of_data(), "the fourth");
    }

    #[test]
    fn data_without_emulation_packets_beside_it_is_not_compared() {
        let mut losses = losses();
        for now in (0..5_000_000).step_by(125).map(at) {
            losses.on_data(now);
            losses.on_lost(now, 1);
        }
        losses.on_emulation(at(5_000_000));
        assert!(!losses.are_of_data());
        // A pause of an hour needs no more room than a short one.
        losses.on_emulation(at(3_600_000_000));
        assert!(losses.open.len() <= 1, "{:?}", losses.open.len());
    }

    #[test]
    fn credits_have_stopped_when_other_packets_are_answered_and_they_are_not() {
        let (begun, wait) = (Instant::now(), Duration::from_millis(40));
        let limit = wait * 4 + Duration::from_millis(100);
        // What is answered: questions, and credits from this ms on.
        for (is_answered, credits_from, stops) in
            [(true, None, true), (false, None, false), (true, Some(270), false)]
        {
            let mut answers = Answers::new(wait, limit);
            let (mut granted, mut newest) = (0, None);
            for millis in 0..1_000 {
                let (now, emulated) = (begun + Duration::from_millis(millis), millis);
                granted += u64::from(credits_from.is_some_and(|from| from <= millis));
                answers.observe(now, (granted, emulated), true);
                if answers.asks(now, newest, emulated) && is_answered {
                    newest = Some(now);
                }
            }
            assert_eq!(answers.have_stopped(), stops, "{is_answered} {credits_from:?}");
        }
    }

    #[test]
    fn nothing_is_asked_while_nothing_is_to_be_sent() {
        let (begun, wait) = (Instant::now(), Duration::from_millis(40));
        let mut answers = Answers::new(wait, wait * 4);
        for millis in 0..2_000 {
            let now = begun + Duration::from_millis(millis);
            answers.observe(now, (0, 100), millis < 100);
            assert!(!answers.asks(now, None, 100));
        }
    }
}

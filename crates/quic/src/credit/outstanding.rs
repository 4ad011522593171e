//! The emulation packets whose credits a sender waits for. A credit is valid if its emulation packet was sent, has had
//! no credit yet, and is not older than the waiting time.

use crate::credit::counters::DropCounters;
use crate::credit::packet::{Stamp, step_of, time_of};
use shallop_core::{Span, Time};
use shallop_proto::flashpass::head::round_up_to_step;
use std::collections::VecDeque;
use thiserror::Error;

/// The most emulation packets that are remembered: one for each sequence number.
pub const MAX_OUTSTANDING: usize = 65_536;

/// Why a stamp of a credit is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum StampError {
    /// No emulation packet with this stamp was sent.
    #[error("no such emulation packet was sent")]
    Unknown,
    /// The emulation packet has had a credit before.
    #[error("the emulation packet has had its credit")]
    Repeated,
    /// The stamp is not newer than an emulation packet that was forgotten, whose data packet is due already.
    #[error("the credit is late")]
    Late,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    /// The send time in units of [`shallop_proto::flashpass::head::TIMESTAMP_STEP`].
    step: u64,
    late: Span,
    has_credit: bool,
}

/// The emulation packet that a credit answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentEmulation {
    /// When the emulation packet left, by this side's clock.
    pub time: Time,
    /// The delay of the send time after the planned time.
    pub late: Span,
}

/// The emulation packets of a connection in sending order, with their sequence numbers.
#[derive(Clone, Debug, Default)]
pub struct Outstanding {
    sent: VecDeque<Sent>,
    /// The sequence number of the next emulation packet.
    next: u16,
    /// The send time of the newest emulation packet, in steps of 8.192 ns.
    last: Option<u64>,
    /// The send time of the newest forgotten emulation packet, in steps of 8.192 ns.
    forgotten: Option<u64>,
    /// The stamps that [`Outstanding::take`] has refused, by reason.
    pub dropped: DropCounters,
}

impl Outstanding {
    /// Remembers an emulation packet sent at `time`, `late` after its planned time, and returns the stamp that it
    /// carries: the next sequence number, and `time` rounded up to a step that is later than the previous packet's. If
    /// 65,536 packets are remembered, the oldest is forgotten.
    pub fn note(&mut self, time: Time, late: Span) -> Stamp {
        let step = step_of(round_up_to_step(time.min(time_of(u64::MAX))));
        let step = self.last.map_or(step, |last| step.max(last + 1));
        if self.sent.len() == MAX_OUTSTANDING {
            self.forget();
        }
        self.sent.push_back(Sent { step, late, has_credit: false });
        self.last = Some(step);
        let sequence = self.next;
        self.next = sequence.wrapping_add(1);
        Stamp { sequence, time: time_of(step) }
    }

    /// Accepts a stamp of an authentic credit and returns its emulation packet.
    ///
    /// # Errors
    /// The stamp is invalid, which is counted.
    pub fn take(&mut self, stamp: Stamp) -> Result<SentEmulation, StampError> {
        let done = self.find_and_mark(stamp.sequence, step_of(stamp.time));
        match done {
            Ok(_) => {}
            Err(StampError::Unknown) => self.dropped.stamp_unknown += 1,
            Err(StampError::Repeated) => self.dropped.stamp_repeated += 1,
            Err(StampError::Late) => self.dropped.stamp_late += 1,
        }
        done
    }

    /// Refuses further credits for a packet that is remembered.
    pub(crate) fn settle(&mut self, stamp: Stamp) {
        let _ = self.find_and_mark(stamp.sequence, step_of(stamp.time));
    }

    /// Forgets the packets that were sent more than `wait` before `now`, and returns how many of them had no credit.
    pub fn expire(&mut self, now: Time, wait: Span) -> usize {
        let mut lost = 0;
        while let Some(first) = self.sent.front() {
            if now.saturating_since(time_of(first.step)) <= wait {
                break;
            }
            lost += usize::from(!first.has_credit);
            self.forget();
        }
        lost
    }

    /// Forgets all emulation packets, so that credits for them count as late.
    pub fn forget_all(&mut self) {
        while !self.sent.is_empty() {
            self.forget();
        }
    }

    fn forget(&mut self) {
        if let Some(first) = self.sent.pop_front() {
            self.forgotten = Some(first.step);
        }
    }

    fn find_and_mark(&mut self, sequence: u16, step: u64) -> Result<SentEmulation, StampError> {
        if self.forgotten.is_some_and(|forgotten| step <= forgotten) {
            return Err(StampError::Late);
        }
        // The position is the distance to the first remembered sequence number, modulo 2^16.
        let first = self.next.wrapping_sub(self.sent.len() as u16);
        let place = usize::from(sequence.wrapping_sub(first));
        match self.sent.get_mut(place) {
            Some(sent) if sent.step == step => {
                if std::mem::replace(&mut sent.has_credit, true) {
                    return Err(StampError::Repeated);
                }
                Ok(SentEmulation { time: time_of(step), late: sent.late })
            }
            _ => Err(StampError::Unknown),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::credit::packet::{Credit, MacKey, Packet, Parsed};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn steps(steps: u64) -> Span {
        time_of(steps).since_start()
    }

    fn on_time(time: Time) -> SentEmulation {
        SentEmulation { time, late: Span::ZERO }
    }

    #[test]
    fn send_times_are_rounded_up_to_increasing_steps() {
        let mut outstanding = Outstanding::default();
        let ps = |ps| Time::after_start(Span::from_ps(ps));
        let noted = [1, 8_192, 8_193, 3 * 8_192, 0].map(|at| outstanding.note(ps(at), Span::ZERO));
        assert_eq!(noted.map(|stamp| step_of(stamp.time)), [1, 2, 3, 4, 5]);
        assert_eq!(noted.map(|stamp| stamp.sequence), [0, 1, 2, 3, 4]);
        assert_eq!(outstanding.sent.len(), 5);
        let last = Outstanding::default().note(Time::LAST, Span::ZERO);
        assert_eq!(last.time, time_of(u64::MAX));
    }

    #[test]
    fn each_packet_is_credited_once_while_it_is_remembered() {
        let mut outstanding = Outstanding::default();
        let sent = [10, 20, 30].map(|at| outstanding.note(time_of(at), Span::ZERO));
        assert_eq!(outstanding.take(sent[1]), Ok(on_time(time_of(20))));
        assert_eq!(outstanding.take(sent[1]), Err(StampError::Repeated));
        for wrong in [(1, 21), (3, 40), (2, 20), (65_535, 20)] {
            let stamp = Stamp { sequence: wrong.0, time: time_of(wrong.1) };
            assert_eq!(outstanding.take(stamp), Err(StampError::Unknown), "{wrong:?}");
        }
        // A wait of 20 steps ends when more than 20 steps have passed.
        assert_eq!(outstanding.expire(time_of(30), steps(20)), 0);
        assert_eq!(outstanding.take(sent[0]), Ok(on_time(time_of(10))));
        assert_eq!(outstanding.expire(time_of(41), steps(20)), 0);
        assert_eq!(outstanding.take(sent[0]), Err(StampError::Late));
        assert_eq!(outstanding.expire(time_of(51), steps(20)), 1);
        assert_eq!(outstanding.take(sent[2]), Err(StampError::Late));
        assert!(outstanding.sent.is_empty());
        let dropped = DropCounters { stamp_unknown: 4, stamp_repeated: 1, stamp_late: 2, ..DropCounters::default() };
        assert_eq!(outstanding.dropped, dropped);
    }

    #[test]
    fn sequence_numbers_wrap_and_the_oldest_of_65536_packets_is_forgotten() {
        let mut outstanding = Outstanding::default();
        let mut all = Vec::new();
        for index in 0..210_000u64 {
            let stamp = outstanding.note(time_of(7 * index), Span::ZERO);
            assert_eq!(stamp.sequence, index as u16);
            all.push(stamp);
            if index % 3 == 0 {
                // One of the last 50,000 packets.
                let before = all[all.len() - 1 - (index as usize % 50_000).min(all.len() - 1)];
                let again = outstanding.take(before).and_then(|_| outstanding.take(before));
                assert_eq!(again, Err(StampError::Repeated));
            }
        }
        assert_eq!(outstanding.sent.len(), MAX_OUTSTANDING);
        let (old, remembered) = all.split_at(all.len() - MAX_OUTSTANDING);
        for &stamp in old {
            assert_eq!(outstanding.take(stamp), Err(StampError::Late));
        }
        for &stamp in remembered {
            assert_ne!(outstanding.take(stamp), Err(StampError::Unknown));
            assert_eq!(outstanding.take(stamp), Err(StampError::Repeated));
        }
    }

    #[test]
    fn credits_are_valid_across_the_wrap_of_timestamps() {
        let (wrap, key) = (1 << 40, MacKey::new([3; 16]));
        let mut outstanding = Outstanding::default();
        let sent: Vec<Stamp> =
            (0..100).map(|index| outstanding.note(time_of(5 * wrap - 50 + index), Span::ZERO)).collect();
        for &stamp in &sent {
            let credit = Credit::new(9, stamp).encode(&key);
            let parsed = Parsed::parse(&credit).unwrap();
            let Some(Packet::Credit(read)) = parsed.verify(&key, time_of(5 * wrap + 60)) else {
                panic!("{stamp:?} was not verified");
            };
            assert_eq!(outstanding.take(read.stamps()[0]), Ok(on_time(stamp.time)));
            // A credit with equal bytes on the wire, whose stamp is one wrap older.
            let old = Stamp { time: time_of(step_of(stamp.time) - wrap), ..stamp };
            let parsed = Parsed::parse(&Credit::new(9, old).encode(&key)).unwrap();
            assert_eq!(parsed.verify(&key, time_of(5 * wrap + 60)), None);
            assert_eq!(outstanding.take(old), Err(StampError::Unknown));
        }
    }

    proptest! {
        #[test]
        fn stamps_are_accepted_as_by_a_map_of_all_packets(
            acts in prop::collection::vec((0..4u8, 0..60u64, any::<u8>()), 0..600)
        ) {
            let (mut outstanding, mut all, mut now) = (Outstanding::default(), Vec::new(), 0);
            let mut known = BTreeMap::new();
            for (act, pause, which) in acts {
                now += pause;
                match act {
                    0 | 1 => {
                        let stamp = outstanding.note(time_of(now), Span::ZERO);
                        all.push(stamp);
                        known.insert(stamp.sequence, false);
                        now = step_of(stamp.time);
                    }
                    2 if !all.is_empty() => {
                        let stamp = all[all.len() - 1 - usize::from(which) % all.len()];
                        let expected = match known.get_mut(&stamp.sequence) {
                            None => Err(StampError::Late),
                            Some(true) => Err(StampError::Repeated),
                            Some(has_credit) => {
                                *has_credit = true;
                                Ok(stamp.time)
                            }
                        };
                        prop_assert_eq!(outstanding.take(stamp).map(|of| of.time), expected);
                    }
                    _ => {
                        let old = |stamp: &&Stamp| now - step_of(stamp.time) > 200;
                        let gone = all.iter().filter(old);
                        let lost = gone.filter_map(|stamp| known.remove(&stamp.sequence));
                        let lost = lost.filter(|has_credit| !has_credit).count();
                        prop_assert_eq!(outstanding.expire(time_of(now), steps(200)), lost);
                    }
                }
                prop_assert_eq!(outstanding.sent.len(), known.len());
            }
        }
    }
}

//! Emulation packets whose credits their sender waits for. A credit is good for one that was sent, once, and for as
//! long as the sender waits.

use std::collections::VecDeque;

use shallop_core::{Span, Time};
use shallop_proto::flashpass::head::round_up_to_step;
use thiserror::Error;

use crate::credit::counters::Counters;
use crate::credit::packet::{Stamp, step_of, time_of};

/// The most packets that are remembered: one for each number.
pub const MAX_OUTSTANDING: usize = 65_536;

/// Why a stamp in a credit is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum StampError {
    /// No such packet was sent.
    #[error("no such emulation packet was sent")]
    Unknown,
    /// There was a credit for it before.
    #[error("the emulation packet has had its credit")]
    Repeated,
    /// It is no later than a packet that was forgotten: its data packet is due, or it was not sent.
    #[error("the credit is late")]
    Late,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    step: u64,
    late: Span,
    taken: bool,
}

/// When an emulation packet was sent that has had its credit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departed {
    /// When it was sent.
    pub time: Time,
    /// How long after the time that was planned.
    pub late: Span,
}

/// The emulation packets of a connection, in the order in which they are sent. It numbers them.
#[derive(Clone, Debug, Default)]
pub struct Outstanding {
    sent: VecDeque<Sent>,
    /// The number of the next packet.
    next: u16,
    /// The step of the last packet that was sent.
    last: Option<u64>,
    /// The step of the last packet that was forgotten.
    forgotten: Option<u64>,
    dropped: Counters,
}

impl Outstanding {
    /// None, and the first packet has the number zero.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Notes a packet that is sent at `time`, and gives what it has to carry: the next number, and the first step that
    /// is not before `time` and is after that of the packet before. `late` is how long after its planned time it is
    /// sent. Makes room by forgetting the first of 65,536.
    pub fn note(&mut self, time: Time, late: Span) -> Stamp {
        let step = step_of(round_up_to_step(time.min(time_of(u64::MAX))));
        let step = self.last.map_or(step, |last| step.max(last + 1));
        if self.sent.len() == MAX_OUTSTANDING {
            self.forget();
        }
        self.sent.push_back(Sent { step, late, taken: false });
        self.last = Some(step);
        let sequence = self.next;
        self.next = sequence.wrapping_add(1);
        Stamp { sequence, time: time_of(step) }
    }

    /// Takes the stamp of a credit whose MAC was right, and says when its emulation packet was sent.
    ///
    /// # Errors
    /// If there is no such packet, any more or at all. It is counted.
    pub fn take(&mut self, stamp: Stamp) -> Result<Departed, StampError> {
        let done = self.find_and_mark(stamp.sequence, step_of(stamp.time));
        match done {
            Ok(_) => {}
            Err(StampError::Unknown) => self.dropped.stamp_unknown += 1,
            Err(StampError::Repeated) => self.dropped.stamp_repeated += 1,
            Err(StampError::Late) => self.dropped.stamp_late += 1,
        }
        done
    }

    /// Forgets the packets that were sent more than `wait` before `now`. Says how many of them had no credit.
    pub fn expire(&mut self, now: Time, wait: Span) -> usize {
        let mut lost = 0;
        while let Some(first) = self.sent.front() {
            if now.saturating_since(time_of(first.step)) <= wait {
                break;
            }
            lost += usize::from(!first.taken);
            self.forget();
        }
        lost
    }

    /// Forgets all packets.
    pub fn forget_all(&mut self) {
        while !self.sent.is_empty() {
            self.forget();
        }
    }

    /// The packets that are remembered, with a credit or without.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sent.len()
    }

    /// Whether no packet is remembered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }

    /// How many stamps were refused.
    #[must_use]
    pub fn dropped(&self) -> Counters {
        self.dropped
    }

    fn forget(&mut self) {
        if let Some(first) = self.sent.pop_front() {
            self.forgotten = Some(first.step);
        }
    }

    fn find_and_mark(&mut self, sequence: u16, step: u64) -> Result<Departed, StampError> {
        if self.forgotten.is_some_and(|forgotten| step <= forgotten) {
            return Err(StampError::Late);
        }
        // From the first number that is remembered to this one; the last 16 bits of the length are enough.
        let first = self.next.wrapping_sub(self.sent.len() as u16);
        let place = usize::from(sequence.wrapping_sub(first));
        match self.sent.get_mut(place) {
            Some(sent) if sent.step == step => {
                if std::mem::replace(&mut sent.taken, true) {
                    return Err(StampError::Repeated);
                }
                Ok(Departed { time: time_of(step), late: sent.late })
            }
            _ => Err(StampError::Unknown),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::credit::packet::{Credit, MacKey, Packet, Parsed};

    fn steps(steps: u64) -> Span {
        time_of(steps).since_start()
    }

    fn on_time(time: Time) -> Departed {
        Departed { time, late: Span::ZERO }
    }

    #[test]
    fn times_are_rounded_up_and_rise() {
        let mut outstanding = Outstanding::new();
        let ps = |ps| Time::after_start(Span::from_ps(ps));
        let noted = [1, 8_192, 8_193, 3 * 8_192, 0].map(|at| outstanding.note(ps(at), Span::ZERO));
        assert_eq!(noted.map(|stamp| step_of(stamp.time)), [1, 2, 3, 4, 5]);
        assert_eq!(noted.map(|stamp| stamp.sequence), [0, 1, 2, 3, 4]);
        assert_eq!(outstanding.len(), 5);
        let last = Outstanding::new().note(Time::LAST, Span::ZERO);
        assert_eq!(last.time, time_of(u64::MAX));
    }

    #[test]
    fn each_is_taken_once_while_it_is_remembered() {
        let mut outstanding = Outstanding::new();
        let sent = [10, 20, 30].map(|at| outstanding.note(time_of(at), Span::ZERO));
        assert_eq!(outstanding.take(sent[1]), Ok(on_time(time_of(20))));
        assert_eq!(outstanding.take(sent[1]), Err(StampError::Repeated));
        for wrong in [(1, 21), (3, 40), (2, 20), (65_535, 20)] {
            let stamp = Stamp { sequence: wrong.0, time: time_of(wrong.1) };
            assert_eq!(outstanding.take(stamp), Err(StampError::Unknown), "{wrong:?}");
        }
        // A wait of 20 steps is over only when more than 20 have passed.
        assert_eq!(outstanding.expire(time_of(30), steps(20)), 0);
        assert_eq!(outstanding.take(sent[0]), Ok(on_time(time_of(10))));
        assert_eq!(outstanding.expire(time_of(41), steps(20)), 0);
        assert_eq!(outstanding.take(sent[0]), Err(StampError::Late));
        assert_eq!(outstanding.expire(time_of(51), steps(20)), 1);
        assert_eq!(outstanding.take(sent[2]), Err(StampError::Late));
        assert!(outstanding.is_empty());
        let dropped =
            Counters { stamp_unknown: 4, stamp_repeated: 1, stamp_late: 2, ..Counters::default() };
        assert_eq!(outstanding.dropped(), dropped);
    }

    #[test]
    fn numbers_wrap_and_the_first_of_65536_makes_room() {
        let mut outstanding = Outstanding::new();
        let mut all = Vec::new();
        for index in 0..210_000u64 {
            let stamp = outstanding.note(time_of(7 * index), Span::ZERO);
            assert_eq!(stamp.sequence, index as u16);
            all.push(stamp);
            if index % 3 == 0 {
                // One of up to 50,000 packets before.
                let before = all[all.len() - 1 - (index as usize % 50_000).min(all.len() - 1)];
                let again = outstanding.take(before).and_then(|_| outstanding.take(before));
                assert_eq!(again, Err(StampError::Repeated));
            }
        }
        assert_eq!(outstanding.len(), MAX_OUTSTANDING);
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
    fn credits_are_good_across_the_wrap_of_the_time() {
        let (wrap, key) = (1 << 40, MacKey::new([3; 16]));
        let mut outstanding = Outstanding::new();
        let sent: Vec<Stamp> = (0..100)
            .map(|index| outstanding.note(time_of(5 * wrap - 50 + index), Span::ZERO))
            .collect();
        for &stamp in &sent {
            let credit = Credit::new(9, stamp).encode(&key);
            let parsed = Parsed::parse(&credit).unwrap();
            let Some(Packet::Credit(read)) = parsed.verify(&key, time_of(5 * wrap + 60)) else {
                panic!("{stamp:?} was not verified");
            };
            assert_eq!(outstanding.take(read.stamps()[0]), Ok(on_time(stamp.time)));
            // A credit with the same number and the same bits on the wire, of the wrap before.
            let old = Stamp { time: time_of(step_of(stamp.time) - wrap), ..stamp };
            let parsed = Parsed::parse(&Credit::new(9, old).encode(&key)).unwrap();
            assert_eq!(parsed.verify(&key, time_of(5 * wrap + 60)), None);
            assert_eq!(outstanding.take(old), Err(StampError::Unknown));
        }
    }

    proptest! {
        #[test]
        fn it_does_what_a_map_of_all_packets_would(
            acts in prop::collection::vec((0..4u8, 0..60u64, any::<u8>()), 0..600)
        ) {
            let (mut outstanding, mut all, mut now) = (Outstanding::new(), Vec::new(), 0);
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
                            Some(taken) => {
                                *taken = true;
                                Ok(stamp.time)
                            }
                        };
                        prop_assert_eq!(outstanding.take(stamp).map(|of| of.time), expected);
                    }
                    _ => {
                        let old = |stamp: &&Stamp| now - step_of(stamp.time) > 200;
                        let gone = all.iter().filter(old);
                        let lost = gone.filter_map(|stamp| known.remove(&stamp.sequence));
                        let lost = lost.filter(|taken| !taken).count();
                        prop_assert_eq!(outstanding.expire(time_of(now), steps(200)), lost);
                    }
                }
                prop_assert_eq!(outstanding.len(), known.len());
            }
        }
    }
}

//! The epochs of a credit engine: emulation packets in flight, grouped by the rate at which they were sent. An epoch
//! sends its packets in slots of equal length, each within half a gap of its slot. So the send time determines the
//! index of a packet in its epoch, and no state is stored for each packet.

use shallop_core::{Span, Time};
use std::{collections::VecDeque, ops::Range};

/// Emulation packets that were sent at one rate, one after the other.
#[derive(Clone, Debug)]
pub struct EmulationEpoch {
    pub start: Time,
    /// The rate of the epoch as a fraction of the maximum emulation rate.
    pub rate: f64,
    pub untagged_sent: u64,
    pub untagged_returned: u64,
    pub gap: Span,
    /// Packets per picosecond: a multiplication for each credit in place of a division.
    per_ps: f64,
    sent: u64,
    /// Index of the first packet of the epoch that has neither returned nor is known to be lost.
    resolved: u64,
    /// Bitmap of the tagged packets, as long as the last tagged packet requires.
    tagged: Vec<u64>,
}

impl EmulationEpoch {
    fn is_tagged(&self, index: u64) -> bool {
        let word = self.tagged.get((index / 64) as usize).copied().unwrap_or(0);
        word >> (index % 64) & 1 == 1
    }

    fn set_tagged(&mut self, index: u64) {
        let word = (index / 64) as usize;
        if word >= self.tagged.len() {
            self.tagged.resize(word + 1, 0);
        }
        self.tagged[word] |= 1 << (index % 64);
    }

    fn count_untagged(&self, indices: Range<u64>) -> u64 {
        if self.tagged.is_empty() {
            return indices.end - indices.start;
        }
        indices.filter(|&index| !self.is_tagged(index)).count() as u64
    }

    fn slot(&self, time: Time) -> u64 {
        (time.saturating_since(self.start).as_ps() as f64 * self.per_ps + 0.5) as u64
    }

    /// Index of the packet that was sent at `time`, if this epoch sent a packet in that slot.
    fn index(&self, time: Time) -> Option<u64> {
        let index = self.slot(time);
        (time >= self.start && index < self.sent).then_some(index)
    }

    /// Whether a packet at `at` would miss its slot if the epoch had sent `more` packets before.
    pub fn misses_slot(&self, at: Time, more: u64) -> bool {
        self.slot(at) > self.sent + more
    }

    fn end(&self) -> Time {
        self.start + self.gap * self.sent
    }
}

/// All epochs with packets in flight; the current epoch is the last.
#[derive(Clone, Debug, Default)]
pub struct Epochs {
    epochs: VecDeque<EmulationEpoch>,
    pub untagged_in_flight: u64,
}

impl Epochs {
    /// Whether a packet sent at `now` must begin a new epoch: there is none, the current one has lasted for `length`,
    /// or the packet would miss its slot because emulation was interrupted.
    pub fn is_over(&self, now: Time, length: Span) -> bool {
        let Some(current) = self.epochs.back() else { return true };
        now.saturating_since(current.start) >= length || current.misses_slot(now, 0)
    }

    /// Whether the current epoch began before `time`.
    pub fn began_before(&self, time: Time) -> bool {
        self.epochs.back().is_some_and(|current| current.start < time)
    }

    /// Begins an epoch with this rate and gap, and makes it the current one.
    pub fn begin(&mut self, start: Time, rate: f64, gap: Span) {
        self.epochs.push_back(EmulationEpoch {
            start,
            rate,
            untagged_sent: 0,
            untagged_returned: 0,
            gap,
            per_ps: 1.0 / gap.as_ps().max(1) as f64,
            sent: 0,
            resolved: 0,
            tagged: Vec::new(),
        });
    }

    pub fn on_send(&mut self, tagged: bool) {
        let Some(epoch) = self.epochs.back_mut() else { return };
        let index = epoch.sent;
        epoch.sent += 1;
        if tagged {
            epoch.set_tagged(index);
        } else {
            epoch.untagged_sent += 1;
            self.untagged_in_flight += 1;
        }
    }

    pub fn on_sent_untagged(&mut self, packets: u64) {
        let Some(epoch) = self.epochs.back_mut() else { return };
        epoch.sent += packets;
        epoch.untagged_sent += packets;
        self.untagged_in_flight += packets;
    }

    pub fn current(&self) -> Option<&EmulationEpoch> {
        self.epochs.back()
    }

    /// The time of the next packet's slot in the current epoch.
    pub fn next_slot(&self) -> Time {
        self.epochs.back().map_or(Time::ZERO, EmulationEpoch::end)
    }

    /// When [`Epochs::close_expired`] will close the last epoch in which packets were sent.
    pub fn expiry(&self, age: Span) -> Time {
        let last = self.epochs.iter().rev().find(|epoch| epoch.sent > 0);
        last.map_or(Time::ZERO, |last| last.end().saturating_add(age) + Span::from_ps(1))
    }

    /// Processes a credit for the packet that was sent at `time`. Earlier packets of its epoch without a credit count
    /// as lost until their credits arrive. Returns false if no epoch sent a packet at that time.
    pub fn on_credit(&mut self, time: Time) -> bool {
        let mut indices = self.epochs.iter_mut().filter_map(|epoch| Some((epoch.index(time)?, epoch)));
        let Some((index, epoch)) = indices.next() else { return false };
        if !epoch.is_tagged(index) && epoch.untagged_returned < epoch.untagged_sent {
            epoch.untagged_returned += 1;
        }
        let resolved = index + 1;
        if resolved > epoch.resolved {
            let untagged = epoch.count_untagged(epoch.resolved..resolved);
            epoch.resolved = resolved;
            self.untagged_in_flight -= untagged;
        }
        true
    }

    /// Removes and returns the first epoch if the packet that was sent at `time` belongs to a later one. Packets of the
    /// removed epoch without a credit are lost.
    pub fn close_before(&mut self, time: Time) -> Option<EmulationEpoch> {
        self.epochs.get(1).filter(|second| second.start <= time)?;
        self.close()
    }

    /// Removes and returns the first epoch if its last packet was sent more than `age` ago.
    pub fn close_expired(&mut self, now: Time, age: Span) -> Option<EmulationEpoch> {
        let first = self.epochs.front()?;
        if first.end().saturating_add(age) >= now {
            return None;
        }
        self.close()
    }

    fn close(&mut self) -> Option<EmulationEpoch> {
        let epoch = self.epochs.pop_front()?;
        self.untagged_in_flight -= epoch.count_untagged(epoch.resolved..epoch.sent);
        Some(epoch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time::after_start(Span::from_us(us))
    }

    #[test]
    fn a_send_time_identifies_the_packet_despite_jitter() {
        let mut epochs = Epochs::default();
        epochs.begin(at(100), 1.0, Span::from_us(10));
        for _ in 0..5 {
            epochs.on_send(false);
        }
        assert!(epochs.on_credit(Time::after_start(Span::from_ns(124_900))), "the third, late by 4.9 us");
        assert_eq!(epochs.untagged_in_flight, 2, "the first two are lost");
        assert!(!epochs.on_credit(at(151)), "nothing was sent then");
    }

    #[test]
    fn a_credit_of_a_later_epoch_closes_the_earlier_one() {
        let mut epochs = Epochs::default();
        for start in [0, 100] {
            epochs.begin(at(start), 0.5, Span::from_us(10));
            for number in 0..10 {
                epochs.on_send(number >= 8);
            }
        }
        for us in [0, 10, 20, 90] {
            assert!(epochs.close_before(at(us)).is_none());
            assert!(epochs.on_credit(at(us)));
        }
        let closed = epochs.close_before(at(110)).unwrap();
        assert_eq!((closed.untagged_sent, closed.untagged_returned), (8, 3), "the tagged one at 90 is not counted");
        assert!(epochs.on_credit(at(110)));
        assert_eq!(epochs.untagged_in_flight, 6);
    }

    #[test]
    fn a_packet_that_misses_its_slot_begins_a_new_epoch() {
        let mut epochs = Epochs::default();
        assert!(epochs.is_over(at(0), Span::from_ms(1)));
        epochs.begin(at(0), 1.0, Span::from_us(10));
        epochs.on_send(false);
        let over = |us| epochs.is_over(at(us), Span::from_us(100));
        assert!(!over(6) && !over(14), "the second is due at 10, give or take half a gap");
        assert!(over(16) && over(100));
        assert!(epochs.is_over(at(10), Span::from_us(10)));
    }

    #[test]
    fn an_epoch_without_credits_expires() {
        let mut epochs = Epochs::default();
        epochs.begin(at(0), 1.0, Span::from_us(10));
        epochs.on_send(false);
        assert!(epochs.close_expired(at(110), Span::from_us(100)).is_none());
        assert_eq!(epochs.expiry(Span::from_us(100)), at(110) + Span::from_ps(1));
        let due = epochs.expiry(Span::from_us(100));
        let closed = epochs.close_expired(due, Span::from_us(100)).unwrap();
        assert_eq!((closed.untagged_sent, closed.untagged_returned, epochs.untagged_in_flight), (1, 0, 0));
    }
}

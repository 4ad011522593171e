//! Emulation packets on their way, by epoch. The packets of an epoch lie on a grid of equal gaps, give or take less
//! than half a gap, so a packet's send time tells its number: nothing has to be kept for each packet.

use std::collections::VecDeque;
use std::ops::Range;

use shallop_core::{Span, Time};

/// Emulation packets sent at one rate.
#[derive(Clone, Debug)]
pub struct Record {
    /// When the first was sent.
    pub start: Time,
    /// The rate, as a fraction of the full rate.
    pub rate: f64,
    /// How many were sent that are not spare.
    pub plain: u64,
    /// How many of those came back.
    pub plain_returned: u64,
    gap: Span,
    /// Packets in a picosecond: a multiplication instead of a division for each credit.
    per_ps: f64,
    sent: u64,
    /// The fate of those with a lower number is known.
    settled: u64,
    /// Which are spare, a bit for each; as long as the last spare one needs.
    spares: Vec<u64>,
}

impl Record {
    fn is_spare(&self, number: u64) -> bool {
        let word = self.spares.get((number / 64) as usize).copied().unwrap_or(0);
        word >> (number % 64) & 1 == 1
    }

    fn note_spare(&mut self, number: u64) {
        let word = (number / 64) as usize;
        if word >= self.spares.len() {
            self.spares.resize(word + 1, 0);
        }
        self.spares[word] |= 1 << (number % 64);
    }

    /// How many of these numbers are not spare.
    fn plain_among(&self, numbers: Range<u64>) -> u64 {
        if self.spares.is_empty() {
            return numbers.end - numbers.start;
        }
        numbers.filter(|&number| !self.is_spare(number)).count() as u64
    }

    /// The place on the grid that is nearest to `time`.
    fn place(&self, time: Time) -> u64 {
        (time.saturating_since(self.start).as_ps() as f64 * self.per_ps + 0.5) as u64
    }

    /// The number of the packet sent at `time`, if this epoch sent one about then.
    fn number(&self, time: Time) -> Option<u64> {
        let number = self.place(time);
        (time >= self.start && number < self.sent).then_some(number)
    }

    /// When the packet after the last one is due by the grid.
    fn end(&self) -> Time {
        self.start + self.gap * self.sent
    }
}

/// All epochs with packets on their way, the current one last.
#[derive(Clone, Debug, Default)]
pub struct Epochs {
    records: VecDeque<Record>,
    plain_in_flight: u64,
}

impl Epochs {
    /// Emulation packets on their way that are not spare.
    #[must_use]
    pub fn plain_in_flight(&self) -> u64 {
        self.plain_in_flight
    }

    /// Whether a new epoch is to begin before a packet is sent at `now`: there is none, the current one has lasted for
    /// `length`, or packets were held back, so that this one would not lie at its place on the grid.
    #[must_use]
    pub fn is_over(&self, now: Time, length: Span) -> bool {
        let Some(current) = self.records.back() else { return true };
        now.saturating_since(current.start) >= length || current.place(now) > current.sent
    }

    /// Begins an epoch of this rate, with this gap between packets.
    pub fn begin(&mut self, start: Time, rate: f64, gap: Span) {
        let (plain, plain_returned, sent, settled) = (0, 0, 0, 0);
        let spares = Vec::new();
        self.records.push_back(Record {
            start,
            rate,
            plain,
            plain_returned,
            gap,
            per_ps: 1.0 / gap.as_ps().max(1) as f64,
            sent,
            settled,
            spares,
        });
    }

    /// Counts a packet sent in the current epoch.
    pub fn send(&mut self, spare: bool) {
        let Some(record) = self.records.back_mut() else { return };
        let number = record.sent;
        record.sent += 1;
        if spare {
            record.note_spare(number);
        } else {
            record.plain += 1;
            self.plain_in_flight += 1;
        }
    }

    /// When the next packet of the current epoch is due by its grid.
    #[must_use]
    pub fn next_start(&self) -> Time {
        self.records.back().map_or(Time::ZERO, Record::end)
    }

    /// When the latest epoch in which anything was sent is old enough to be closed by [`Epochs::close_older`].
    #[must_use]
    pub fn given_up(&self, age: Span) -> Time {
        let last = self.records.iter().rev().find(|record| record.sent > 0);
        last.map_or(Time::ZERO, |last| last.end().saturating_add(age) + Span::from_ps(1))
    }

    /// The packet sent at `time` came back, so those of its epoch before it are lost. False if there is no such packet.
    pub fn returned(&mut self, time: Time) -> bool {
        let Some(record) = self.records.front_mut() else { return false };
        let Some(number) = record.number(time) else { return false };
        if !record.is_spare(number) && record.plain_returned < record.plain {
            record.plain_returned += 1;
        }
        let upto = number + 1;
        if upto > record.settled {
            let plain = record.plain_among(record.settled..upto);
            record.settled = upto;
            self.plain_in_flight -= plain;
        }
        true
    }

    /// Removes the first epoch if the packet sent at `time` belongs to a later one: what did not come back is lost.
    pub fn close_before(&mut self, time: Time) -> Option<Record> {
        self.records.get(1).filter(|second| second.start <= time)?;
        self.close()
    }

    /// Removes the first epoch if its last packet was sent longer than `age` ago.
    pub fn close_older(&mut self, now: Time, age: Span) -> Option<Record> {
        let first = self.records.front()?;
        if first.end().saturating_add(age) >= now {
            return None;
        }
        self.close()
    }

    fn close(&mut self) -> Option<Record> {
        let record = self.records.pop_front()?;
        self.plain_in_flight -= record.plain_among(record.settled..record.sent);
        Some(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time::after_start(Span::from_us(us))
    }

    #[test]
    fn a_send_time_tells_the_packet_even_with_jitter() {
        let mut epochs = Epochs::default();
        epochs.begin(at(100), 1.0, Span::from_us(10));
        for _ in 0..5 {
            epochs.send(false);
        }
        assert!(
            epochs.returned(Time::after_start(Span::from_ns(124_900))),
            "the third, late by 4.9 us"
        );
        assert_eq!(epochs.plain_in_flight(), 2, "the first two are lost");
        assert!(!epochs.returned(at(151)), "nothing was sent then");
    }

    #[test]
    fn a_credit_of_a_later_epoch_settles_the_earlier_one() {
        let mut epochs = Epochs::default();
        for start in [0, 100] {
            epochs.begin(at(start), 0.5, Span::from_us(10));
            for number in 0..10 {
                epochs.send(number >= 8);
            }
        }
        for us in [0, 10, 20, 90] {
            assert!(epochs.close_before(at(us)).is_none());
            assert!(epochs.returned(at(us)));
        }
        let closed = epochs.close_before(at(110)).unwrap();
        assert_eq!(
            (closed.plain, closed.plain_returned),
            (8, 3),
            "the spare one at 90 is not counted"
        );
        assert!(epochs.returned(at(110)));
        assert_eq!(epochs.plain_in_flight(), 6);
    }

    #[test]
    fn a_packet_off_the_grid_begins_a_new_epoch() {
        let mut epochs = Epochs::default();
        assert!(epochs.is_over(at(0), Span::from_ms(1)));
        epochs.begin(at(0), 1.0, Span::from_us(10));
        epochs.send(false);
        let over = |us| epochs.is_over(at(us), Span::from_us(100));
        assert!(!over(6) && !over(14), "the second is due at 10, give or take half a gap");
        assert!(over(16) && over(100));
        assert!(epochs.is_over(at(10), Span::from_us(10)));
    }

    #[test]
    fn an_epoch_without_a_credit_is_given_up_with_age() {
        let mut epochs = Epochs::default();
        epochs.begin(at(0), 1.0, Span::from_us(10));
        epochs.send(false);
        assert!(epochs.close_older(at(110), Span::from_us(100)).is_none());
        assert_eq!(epochs.given_up(Span::from_us(100)), at(110) + Span::from_ps(1));
        let due = epochs.given_up(Span::from_us(100));
        let closed = epochs.close_older(due, Span::from_us(100)).unwrap();
        assert_eq!((closed.plain, closed.plain_returned, epochs.plain_in_flight()), (1, 0, 0));
    }
}

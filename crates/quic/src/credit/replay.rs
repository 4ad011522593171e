//! Which emulation packets their receiver accepts: each one once, and none that is much older than the newest.

use shallop_core::{Span, Time};
use thiserror::Error;

use crate::credit::counters::Counters;
use crate::credit::packet::{Stamp, step_of, time_of};

/// How far the number of a packet may be behind that of the newest one, less one.
pub const REPLAY_WINDOW: u16 = 1_024;

/// Why an emulation packet is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ReplayError {
    /// It was accepted before.
    #[error("the packet was accepted before")]
    Repeated,
    /// Its number is not within [`REPLAY_WINDOW`] of the newest, or its time is not later than those before the window.
    #[error("the packet is too far behind the newest one")]
    Behind,
    /// It is more than the longest age older than the newest.
    #[error("the packet is too much older than the newest one")]
    Old,
}

/// What the receiver of a connection's emulation packets knows of those it has accepted. Whatever comes, no pair of a
/// number and a time is accepted twice.
///
/// Numbers wrap within 65,536 packets, so a number in the window may be of an older cycle. A sender's later packets
/// have later times. The window therefore keeps the times of what it holds, and the newest time of what has left it:
/// a packet in it whose time is not later than that one is of an older cycle.
#[derive(Clone, Debug)]
pub struct ReplayWindow {
    max_age: Span,
    /// Number and step of the newest packet.
    newest: Option<(u16, u64)>,
    /// One more than the steps of accepted packets, by number; zero if there is none.
    accepted: Vec<u64>,
    /// One more than the latest step of packets that have left the window, or zero.
    left: u64,
    dropped: Counters,
}

impl ReplayWindow {
    /// A window for packets that are at most `max_age` older than the newest.
    #[must_use]
    pub fn new(max_age: Span) -> Self {
        let accepted = vec![0; usize::from(REPLAY_WINDOW)];
        Self { max_age, newest: None, accepted, left: 0, dropped: Counters::default() }
    }

    /// Accepts a packet whose MAC was right.
    ///
    /// # Errors
    /// If it was accepted before, or may have been. It is counted.
    pub fn accept(&mut self, stamp: Stamp) -> Result<(), ReplayError> {
        let done = self.check_and_note(stamp.sequence, step_of(stamp.time));
        match done {
            Ok(()) => {}
            Err(ReplayError::Repeated) => self.dropped.emulation_repeated += 1,
            Err(ReplayError::Behind) => self.dropped.emulation_behind += 1,
            Err(ReplayError::Old) => self.dropped.emulation_old += 1,
        }
        done
    }

    /// The newest time that was accepted, to which those on the wire are the nearest; the start before the first.
    #[must_use]
    pub fn newest(&self) -> Time {
        self.newest.map_or(Time::ZERO, |(_, step)| time_of(step))
    }

    /// How many were refused.
    #[must_use]
    pub fn dropped(&self) -> Counters {
        self.dropped
    }

    fn check_and_note(&mut self, sequence: u16, step: u64) -> Result<(), ReplayError> {
        let Some((newest, newest_step)) = self.newest else {
            self.newest = Some((sequence, step));
            self.accepted[slot(sequence)] = step + 1;
            return Ok(());
        };
        if step > newest_step {
            self.shift(newest, sequence.wrapping_sub(newest));
            self.newest = Some((sequence, step));
            self.accepted[slot(sequence)] = step + 1;
            return Ok(());
        }
        if time_of(newest_step) - time_of(step) > self.max_age {
            return Err(ReplayError::Old);
        }
        if newest.wrapping_sub(sequence) >= REPLAY_WINDOW || step < self.left {
            return Err(ReplayError::Behind);
        }
        let before = &mut self.accepted[slot(sequence)];
        if *before > step {
            return Err(ReplayError::Repeated);
        }
        *before = step + 1;
        Ok(())
    }

    /// Makes room for the `by` numbers after the newest.
    fn shift(&mut self, newest: u16, by: u16) {
        // The number of the newest again is one cycle later, if not more.
        let by = if by == 0 { REPLAY_WINDOW } else { by.min(REPLAY_WINDOW) };
        for ahead in 1..=by {
            let leaving = &mut self.accepted[slot(newest.wrapping_add(ahead))];
            self.left = self.left.max(std::mem::take(leaving));
        }
    }
}

fn slot(sequence: u16) -> usize {
    usize::from(sequence % REPLAY_WINDOW)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn window(max_age: u64) -> ReplayWindow {
        ReplayWindow::new(time_of(max_age).since_start())
    }

    fn stamp(sequence: u16, step: u64) -> Stamp {
        Stamp { sequence, time: time_of(step) }
    }

    /// The packet of this index of a sender that sends every 10 steps.
    fn sent(index: u64) -> Stamp {
        stamp(index as u16, 1_000 + 10 * index)
    }

    /// What a sender's packets meet at a receiver that remembers all.
    #[derive(Default)]
    struct Naive {
        accepted: BTreeSet<u64>,
        newest: Option<u64>,
    }

    impl Naive {
        fn accept(&mut self, index: u64, max_age: u64) -> Result<(), ReplayError> {
            let newest = self.newest.unwrap_or(index);
            if newest.saturating_sub(index) * 10 > max_age {
                return Err(ReplayError::Old);
            }
            if newest.saturating_sub(index) >= u64::from(REPLAY_WINDOW) {
                return Err(ReplayError::Behind);
            }
            self.newest = Some(newest.max(index));
            if self.accepted.insert(index) { Ok(()) } else { Err(ReplayError::Repeated) }
        }
    }

    fn steps() -> impl Strategy<Value = Vec<(bool, u64)>> {
        let step = prop_oneof![
            4 => 0..4u64,
            3 => 0..1_100u64,
            1 => 0..65_536u64,
        ];
        prop::collection::vec((any::<bool>(), step), 0..400)
    }

    proptest! {
        #[test]
        fn it_does_what_a_set_of_all_packets_would(
            start in 0..200_000u64,
            steps in steps(),
            max_age in prop_oneof![Just(1_000_000u64), 0..12_000u64],
        ) {
            let (mut window, mut naive, mut newest) = (window(max_age), Naive::default(), start);
            for (forward, distance) in steps {
                let index =
                    if forward { newest + distance } else { newest.saturating_sub(distance) };
                // The clock of the sender starts with its first packet.
                newest = newest.max(index);
                let expected = naive.accept(index, max_age);
                prop_assert_eq!(window.accept(sent(index)), expected, "{} of {}", index, newest);
                prop_assert_eq!(window.newest(), sent(naive.newest.unwrap()).time);
            }
        }

        #[test]
        fn whatever_comes_is_accepted_once_at_most(
            pairs in prop::collection::vec(
                (prop_oneof![any::<u16>(), 0..8u16, 1_020..1_030u16], 0..40u64),
                0..600,
            )
        ) {
            let (mut window, mut seen) = (window(1_000), BTreeSet::new());
            for (sequence, step) in pairs {
                if window.accept(stamp(sequence, step)).is_ok() {
                    prop_assert!(seen.insert((sequence, step)), "{} at {}", sequence, step);
                }
            }
        }
    }

    #[test]
    fn a_packet_of_an_older_cycle_of_numbers_is_behind() {
        let mut window = window(u64::MAX);
        assert_eq!(window.accept(sent(0)), Ok(()));
        // Packet 5 is lost to an attacker, who sends it a cycle later, before the real one of its number.
        for index in 10..65_540 {
            assert_eq!(window.accept(sent(index)), Ok(()));
        }
        assert_eq!(window.accept(sent(65_542)), Ok(()));
        assert_eq!(window.accept(sent(5)), Err(ReplayError::Behind));
        assert_eq!(window.accept(sent(65_541)), Ok(()));
        assert_eq!(window.accept(sent(65_541)), Err(ReplayError::Repeated));
        let dropped =
            Counters { emulation_behind: 1, emulation_repeated: 1, ..Counters::default() };
        assert_eq!(window.dropped(), dropped);
    }

    #[test]
    fn after_a_pause_of_one_cycle_all_before_it_is_behind() {
        let mut window = window(u64::MAX);
        for index in [0, 10, 10 + 65_536] {
            assert_eq!(window.accept(sent(index)), Ok(()));
        }
        assert_eq!(window.accept(sent(9)), Err(ReplayError::Behind));
        assert_eq!(window.accept(sent(9 + 65_536)), Ok(()));
    }

    #[test]
    fn the_step_after_what_has_left_the_window_is_within_it() {
        let mut window = window(u64::MAX);
        for index in [0, 1_024] {
            assert_eq!(window.accept(stamp(index, u64::from(index))), Ok(()));
        }
        assert_eq!(window.accept(stamp(1, 0)), Err(ReplayError::Behind));
        assert_eq!(window.accept(stamp(1, 1)), Ok(()));
    }

    #[test]
    fn the_bound_on_age_is_inclusive() {
        let mut window = window(100);
        assert_eq!(window.accept(stamp(20, 1_000)), Ok(()));
        assert_eq!(window.accept(stamp(10, 900)), Ok(()));
        assert_eq!(window.accept(stamp(9, 899)), Err(ReplayError::Old));
        assert_eq!(window.dropped().emulation_old, 1);
    }

    #[test]
    fn a_long_stream_with_wraps_is_accepted() {
        let mut window = window(100_000);
        for index in 0..300_000 {
            assert_eq!(window.accept(sent(index)), Ok(()));
            assert_eq!(window.accept(sent(index)), Err(ReplayError::Repeated));
        }
        // A pause of exactly one cycle, and of more.
        assert_eq!(window.accept(sent(299_999 + 65_536)), Ok(()));
        assert_eq!(window.accept(sent(299_998 + 65_536)), Ok(()));
        assert_eq!(window.accept(sent(999_999)), Ok(()));
        assert_eq!(window.accept(sent(999_999)), Err(ReplayError::Repeated));
    }
}

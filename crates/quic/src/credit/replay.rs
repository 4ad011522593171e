//! Replay protection of emulation packets: a receiver accepts each once, and none much older than the newest.

use crate::credit::counters::DropCounters;
use crate::credit::packet::{Stamp, step_of, time_of};
use shallop_core::{Span, Time};
use thiserror::Error;

/// The number of sequence numbers up to the newest in which emulation packets are accepted.
pub const REPLAY_WINDOW: u16 = 1_024;

/// Why a receiver refuses an authentic emulation packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ReplayError {
    /// The packet was accepted before.
    #[error("the packet was accepted before")]
    Repeated,
    /// The sequence number is outside [`REPLAY_WINDOW`], or the time is not later than the packets before the window.
    #[error("the packet is too far behind the newest one")]
    Behind,
    /// The packet is older than the newest one by more than the maximum age.
    #[error("the packet is too much older than the newest one")]
    Old,
}

/// The emulation packets that a receiver has accepted. No pair of sequence number and time is accepted twice.
///
/// Sequence numbers wrap after 65,536 packets, so a number in the window may belong to an older cycle. Later packets of
/// a sender have later times. The window therefore keeps the times of its packets, and the newest time of the packets
/// that have left it: a packet that is not later than this time belongs to an older cycle.
#[derive(Clone, Debug)]
pub struct ReplayWindow {
    max_age: Span,
    /// The sequence number of the newest packet, and its send time in steps of 8.192 ns.
    newest: Option<(u16, u64)>,
    /// The send time (in steps of 8.192 ns, plus one) of the accepted packet at each sequence number modulo the window;
    /// 0 for none.
    accepted: Vec<u64>,
    /// The latest send time of the packets that have left the window, in steps of 8.192 ns, plus one; 0 for none.
    left: u64,
    /// The emulation packets that [`ReplayWindow::accept`] has refused, by reason.
    pub dropped: DropCounters,
}

impl ReplayWindow {
    /// Creates an empty window, for packets at most `max_age` older than the newest.
    pub fn new(max_age: Span) -> Self {
        let accepted = vec![0; usize::from(REPLAY_WINDOW)];
        Self { max_age, newest: None, accepted, left: 0, dropped: DropCounters::default() }
    }

    /// Accepts an authentic packet.
    ///
    /// # Errors
    /// The packet was or may have been accepted before, which is counted.
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

    /// The newest accepted send time, or [`Time::ZERO`]. Wrapped times on the wire are resolved to the time nearest to
    /// it.
    pub fn newest(&self) -> Time {
        self.newest.map_or(Time::ZERO, |(_, step)| time_of(step))
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

    /// Moves the window forward by `by` sequence numbers; `newest` is its newest one before.
    fn shift(&mut self, newest: u16, by: u16) {
        // An equal sequence number with a later time is at least one whole cycle later.
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
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn window(max_age: u64) -> ReplayWindow {
        ReplayWindow::new(time_of(max_age).since_start())
    }

    fn stamp(sequence: u16, step: u64) -> Stamp {
        Stamp { sequence, time: time_of(step) }
    }

    /// The packet with this index of a sender that sends every 10 steps.
    fn sent(index: u64) -> Stamp {
        stamp(index as u16, 1_000 + 10 * index)
    }

    /// A model of the window that remembers all packets of a sender.
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
        fn packets_are_accepted_as_by_a_set_of_all_packets(
            start in 0..200_000u64,
            steps in steps(),
            max_age in prop_oneof![Just(1_000_000u64), (0..1_200u64).prop_map(|packets| packets * 10)],
        ) {
            let (mut window, mut naive, mut newest) = (window(max_age), Naive::default(), start);
            let mut dropped = DropCounters::default();
            for (forward, distance) in steps {
                let index =
                    if forward { newest + distance } else { newest.saturating_sub(distance) };
                newest = newest.max(index);
                let expected = naive.accept(index, max_age);
                match expected {
                    Ok(()) => {}
                    Err(ReplayError::Repeated) => dropped.emulation_repeated += 1,
                    Err(ReplayError::Behind) => dropped.emulation_behind += 1,
                    Err(ReplayError::Old) => dropped.emulation_old += 1,
                }
                prop_assert_eq!(window.accept(sent(index)), expected, "{} of {}", index, newest);
                prop_assert_eq!(window.newest(), sent(naive.newest.unwrap()).time);
            }
            prop_assert_eq!(window.dropped, dropped);
        }

        #[test]
        fn no_packet_is_accepted_twice(
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
    fn after_a_gap_of_one_cycle_all_earlier_packets_are_refused() {
        let mut window = window(u64::MAX);
        for index in [0, 10, 10 + 65_536] {
            assert_eq!(window.accept(sent(index)), Ok(()));
        }
        assert_eq!(window.accept(sent(9)), Err(ReplayError::Behind));
        assert_eq!(window.accept(sent(9 + 65_536)), Ok(()));
    }

    #[test]
    fn a_packet_one_step_later_than_those_before_the_window_is_accepted() {
        let mut window = window(u64::MAX);
        for index in [0, 1_024] {
            assert_eq!(window.accept(stamp(index, u64::from(index))), Ok(()));
        }
        assert_eq!(window.accept(stamp(1, 0)), Err(ReplayError::Behind));
        assert_eq!(window.accept(stamp(1, 1)), Ok(()));
    }
}

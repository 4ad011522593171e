//! When a run became fair: the first of the windows, all of one length, from which on Jain's index of the flows present
//! never fell below 0.95 again. State: bytes by flow at the last edge of a window, and where the present streak began,
//! however long the run is; nothing any more once there are too many flows to compare. Units: simulated time, IP bytes.
//! Source: own; the index is of Jain, Chiu, Hawe 1984.

use std::collections::VecDeque;

use shallop_core::Span;

use crate::records::Record;
use crate::summary::jain;

/// The index that counts as fair.
pub const FAIR: f64 = 0.95;
/// A streak shorter than this many windows shows nothing: one window can be fair by chance.
pub const STREAK: u32 = 5;

/// Follows the fairness of a run.
#[derive(Clone, Debug)]
pub struct Convergence {
    window: Span,
    /// When the present window ends.
    due: Span,
    /// The start of the last flow that has joined: before, fairness is no question.
    joined: Span,
    /// IP bytes of each flow that had arrived when the present window began.
    before: Vec<u64>,
    /// The end of the first window of the present streak, and its windows so far.
    streak: Option<(Span, u32)>,
}

impl Convergence {
    /// Follows flows in windows of this length, which must not be zero.
    #[must_use]
    pub fn new(window: Span) -> Self {
        Self { window, due: window, joined: Span::ZERO, before: Vec::new(), streak: None }
    }

    /// When it is to look next.
    #[must_use]
    pub fn due(&self) -> Span {
        self.due
    }

    /// Looks, at the time that [`Convergence::due`] named. `flows` are all that have started, if they are remembered.
    pub fn look(&mut self, flows: Option<&VecDeque<Record>>) {
        let (from, now) = (self.due.saturating_sub(self.window), self.due);
        self.due = now + self.window;
        let Some(flows) = flows else {
            (self.before, self.streak) = (Vec::new(), None);
            return;
        };
        self.before.resize(flows.len(), 0);
        let mut shares = Vec::new();
        for (flow, before) in flows.iter().zip(&mut self.before) {
            let start = flow.start.since_start();
            self.joined = self.joined.max(start);
            // Only who was there for the whole window can be compared.
            if start <= from && flow.complete.is_none() {
                shares.push((flow.ip_bytes - *before) as f64);
            }
            *before = flow.ip_bytes;
        }
        if from < self.joined {
            self.streak = None;
            return;
        }
        if shares.len() < 2 {
            return;
        }
        self.streak = match jain(&shares) {
            Some(index) if index >= FAIR => {
                let (since, windows) = self.streak.unwrap_or((now, 0));
                Some((since, windows + 1))
            }
            _ => None,
        };
    }

    /// From the start of the last flow that did to the end of the first window of the streak that lasted to the end of
    /// the run; `None` if there was none, or a short one, or never two flows to compare.
    #[must_use]
    pub fn reached(&self) -> Option<Span> {
        let (since, windows) = self.streak?;
        (windows >= STREAK).then(|| since.saturating_sub(self.joined))
    }
}

#[cfg(test)]
mod tests {
    use shallop_core::{Facts, Node, Time};

    use super::*;

    const WINDOW: Span = Span::from_ms(100);

    /// A flow that started then, and what it has carried.
    fn flow(start: Span, ip_bytes: u64, complete: Option<Time>) -> Record {
        let facts = Facts {
            from: Node(0),
            to: Node(1),
            group: 0,
            size: None,
            ideal: Span::ZERO,
            base_rtt: Span::ZERO,
            counted: true,
        };
        Record { facts, start: Time::after_start(start), ip_bytes, complete, over: false }
    }

    /// Flows from the beginning on, each with its bytes and whether it is complete.
    fn flows<const N: usize>(flows: [(u64, bool); N]) -> VecDeque<Record> {
        let all = flows.into_iter();
        all.map(|(bytes, over)| flow(Span::ZERO, bytes, over.then_some(Time::ZERO))).collect()
    }

    /// Follows two flows that start at 0 and at `second` and carry these bytes in each window.
    fn follow(second: Span, windows: &[(u64, u64)]) -> Convergence {
        let mut convergence = Convergence::new(WINDOW);
        let mut sum = (0, 0);
        for (number, (a, b)) in (1..).zip(windows) {
            assert_eq!(convergence.due(), WINDOW * number);
            sum = (sum.0 + a, sum.1 + b);
            let mut flows = VecDeque::from([flow(Span::ZERO, sum.0, None)]);
            if second < WINDOW * number {
                flows.push_back(flow(second, sum.1, None));
            }
            convergence.look(Some(&flows));
        }
        convergence
    }

    #[test]
    fn a_run_is_fair_from_the_first_window_of_its_last_streak() {
        // 100 to 50 has an index of 0.9, 100 to 80 one of 0.988.
        let mut windows = vec![(100, 50), (100, 80), (100, 50)];
        windows.extend([(100, 80); 5]);
        assert_eq!(follow(Span::ZERO, &windows).reached(), Some(WINDOW * 4));
    }

    #[test]
    fn fairness_that_does_not_last_or_did_not_last_long_is_none() {
        let mut windows = vec![(100, 100); 20];
        windows.push((100, 0));
        assert_eq!(follow(Span::ZERO, &windows).reached(), None);
        windows.extend([(100, 100); 4]);
        assert_eq!(follow(Span::ZERO, &windows).reached(), None, "four windows are too few");
        windows.push((100, 100));
        assert_eq!(follow(Span::ZERO, &windows).reached(), Some(WINDOW * 22));
    }

    #[test]
    fn time_counts_from_the_last_join_and_its_first_part_of_a_window_does_not_count() {
        let mut windows = vec![(100, 0), (100, 0), (100, 1)];
        windows.extend([(100, 99); 6]);
        // The second flow starts in the middle of the third window.
        let reached = follow(Span::from_ms(250), &windows).reached();
        assert_eq!(reached, Some(Span::from_ms(150)));
    }

    #[test]
    fn flows_that_ended_and_a_flow_alone_are_not_judged() {
        let mut convergence = Convergence::new(WINDOW);
        for number in 1..=6 {
            convergence.look(Some(&flows([(number * 10, false), (number * 9, false)])));
        }
        convergence.look(Some(&flows([(70, false), (54, true)])));
        convergence.look(Some(&flows([(80, false), (54, true)])));
        assert_eq!(convergence.reached(), Some(WINDOW));
        // Nobody knows the shares of flows that are forgotten.
        convergence.look(None);
        assert_eq!(convergence.reached(), None);
        let mut alone = Convergence::new(WINDOW);
        (1..9).for_each(|number| alone.look(Some(&flows([(number, false)]))));
        assert_eq!(alone.reached(), None);
    }
}

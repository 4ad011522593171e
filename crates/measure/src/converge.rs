//! Convergence to fairness: the run is divided into windows of equal length, and has converged from the first window on
//! after which Jain's index of the active flows stays at 0.95 or above. State: the bytes of each flow at the last edge
//! of a window and the start of the current streak, or nothing once there are too many flows to compare. Units:
//! simulated time, IP bytes. Sources: the index is from Jain, Chiu and Hawe, 1984; the rule is this project's.

use crate::flow_records::FlowRecord;
use shallop_core::Span;
use shallop_results::summary::jain;
use std::collections::VecDeque;

/// Least value of Jain's index that counts as fair.
pub const FAIR: f64 = 0.95;
/// Least number of consecutive fair windows that counts as convergence: a single window can be fair by chance.
pub const MIN_STREAK: u32 = 5;

/// Measures how long after the last flow start a run takes to become fair.
#[derive(Clone, Debug)]
pub struct Convergence {
    window: Span,
    /// End of the current window, since the start of the run.
    due: Span,
    /// Latest start of a flow: convergence is measured from then on.
    last_start: Span,
    /// IP bytes of each flow that had arrived when the current window began.
    before: Vec<u64>,
    /// End of the first window of the current fair streak, and the number of its windows.
    streak: Option<(Span, u32)>,
}

impl Convergence {
    /// A measurement with windows of length `window`, which must not be zero.
    #[must_use]
    pub fn new(window: Span) -> Self {
        Self { window, due: window, last_start: Span::ZERO, before: Vec::new(), streak: None }
    }

    /// Time at which [`Convergence::end_window`] must be called next.
    pub fn due(&self) -> Span {
        self.due
    }

    /// Ends the current window. `flows` are the records of all flows that have started; `None` if some have no record.
    pub fn end_window(&mut self, flows: Option<&VecDeque<FlowRecord>>) {
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
            self.last_start = self.last_start.max(start);
            // Only flows that were active for the whole window are compared.
            if start <= from && flow.complete.is_none() {
                shares.push((flow.ip_bytes - *before) as f64);
            }
            *before = flow.ip_bytes;
        }
        if from < self.last_start {
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

    /// Time from the last flow start to the end of the first window of the final fair streak, which lasts to the end of
    /// the run; `None` if that streak is too short or there is none.
    pub fn reached(&self) -> Option<Span> {
        let (since, windows) = self.streak?;
        (windows >= MIN_STREAK).then(|| since.saturating_sub(self.last_start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shallop_core::{Facts, Node, Time};

    const WINDOW: Span = Span::from_ms(100);

    /// Record of a flow that started at `start` and has received `ip_bytes`.
    fn flow(start: Span, ip_bytes: u64, complete: Option<Time>) -> FlowRecord {
        let facts = Facts::between(Node(0), Node(1));
        FlowRecord { facts, start: Time::after_start(start), ip_bytes, complete, closed: false }
    }

    /// Records of flows that start at time zero, each with its received bytes and whether it is complete.
    fn flows<const N: usize>(flows: [(u64, bool); N]) -> VecDeque<FlowRecord> {
        let all = flows.into_iter();
        all.map(|(bytes, over)| flow(Span::ZERO, bytes, over.then_some(Time::ZERO))).collect()
    }

    /// Measures two flows that start at 0 and at `second` and receive these bytes in each window.
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
            convergence.end_window(Some(&flows));
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
            convergence.end_window(Some(&flows([(number * 10, false), (number * 9, false)])));
        }
        convergence.end_window(Some(&flows([(70, false), (54, true)])));
        convergence.end_window(Some(&flows([(80, false), (54, true)])));
        assert_eq!(convergence.reached(), Some(WINDOW));
        // The shares of flows without records are unknown.
        convergence.end_window(None);
        assert_eq!(convergence.reached(), None);
        let mut alone = Convergence::new(WINDOW);
        (1..9).for_each(|number| alone.end_window(Some(&flows([(number, false)]))));
        assert_eq!(alone.reached(), None);
    }
}

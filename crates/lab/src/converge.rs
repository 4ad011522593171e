//! When a run became fair: the first of the windows, all of one length, from which on Jain's index of the flows present
//! never fell below 0.95 again. State: bytes by flow at the last edge of a window, and where the present streak began,
//! however long the run is. Units: simulated time, IP bytes. Source: own; the index is of Jain, Chiu, Hawe 1984.

use shallop_core::Span;

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
    /// The last flow that joins: before, fairness is no question.
    joined: Span,
    /// When each flow starts.
    starts: Vec<Span>,
    /// IP bytes that had arrived when the present window began.
    before: Vec<u64>,
    /// The end of the first window of the present streak, and its windows so far.
    streak: Option<(Span, u32)>,
}

impl Convergence {
    /// Follows flows that start at these times, in windows of this length, which must not be zero.
    #[must_use]
    pub fn new(window: Span, starts: Vec<Span>) -> Self {
        let joined = starts.iter().copied().max().unwrap_or_default();
        let before = vec![0; starts.len()];
        Self { window, due: window, joined, starts, before, streak: None }
    }

    /// When it is to look next.
    #[must_use]
    pub fn due(&self) -> Span {
        self.due
    }

    /// Looks, at the time that [`Convergence::due`] named. `flows` are the IP bytes of each flow that arrived so far,
    /// and whether it is complete; flows that are missing at the end have no bytes yet.
    pub fn look(&mut self, flows: impl Iterator<Item = (u64, bool)>) {
        let (from, now) = (self.due.saturating_sub(self.window), self.due);
        self.due = now + self.window;
        let mut shares = Vec::new();
        let mut flows = flows.fuse();
        for (start, before) in self.starts.iter().zip(&mut self.before) {
            let (bytes, complete) = flows.next().unwrap_or((0, false));
            // Only who was there for the whole window can be compared.
            if *start <= from && !complete {
                shares.push((bytes - *before) as f64);
            }
            *before = bytes;
        }
        if from < self.joined || shares.len() < 2 {
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

    /// From the start of the last flow to the end of the first window of the streak that lasted to the end of the run;
    /// `None` if there was none, or a short one, or never two flows to compare.
    #[must_use]
    pub fn reached(&self) -> Option<Span> {
        let (since, windows) = self.streak?;
        (windows >= STREAK).then(|| since.saturating_sub(self.joined))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Span = Span::from_ms(100);

    /// Follows two flows that start at 0 and at `second` and carry these bytes in each window.
    fn follow(second: Span, windows: &[(u64, u64)]) -> Convergence {
        let mut convergence = Convergence::new(WINDOW, vec![Span::ZERO, second]);
        let mut sum = (0, 0);
        for (number, (a, b)) in (1..).zip(windows) {
            assert_eq!(convergence.due(), WINDOW * number);
            sum = (sum.0 + a, sum.1 + b);
            convergence.look([(sum.0, false), (sum.1, false)].into_iter());
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
        let mut convergence = Convergence::new(WINDOW, vec![Span::ZERO; 2]);
        for number in 1..=6 {
            convergence.look([(number * 10, false), (number * 9, false)].into_iter());
        }
        convergence.look([(70, false), (54, true)].into_iter());
        convergence.look([(80, false), (54, true)].into_iter());
        assert_eq!(convergence.reached(), Some(WINDOW));
        let mut alone = Convergence::new(WINDOW, vec![Span::ZERO]);
        (1..9).for_each(|number| alone.look([(number, false)].into_iter()));
        assert_eq!(alone.reached(), None);
    }
}

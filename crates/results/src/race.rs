//! A race of candidates by successive halving: which candidates run next, with which seeds, and which are out. It is a
//! state machine: its input are the results of runs, and it knows no clock, so that equal results make equal decisions.
//!
//! | rung | runs of each candidate | who is out afterwards |
//! |---|---|---|
//! | 1, if the budget is short | one seed, a part of the duration | the worse ones, as the next rung requires |
//! | 2, if the budget is short | one seed | as above |
//! | then | 3, 6, 12 ... seeds in all | those that the seeds decide against; the worst if the budget is short |
//!
//! A rung costs at most half of the remaining budget, except that two candidates may have all of it. All candidates of
//! a rung have equal seeds (common random numbers). The race ends when the best is told from all others, when two rungs
//! in a row put nobody out, or when the budget is spent.
//! Sources: Jamieson and Talwalkar 2016 (successive halving); Maron and Moore 1994 (races).

use crate::contrast::{Contrast, Level, Shown};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::ops::Range;

/// Short runs that a full run costs: a short run simulates one over this of the duration.
pub const SHORT: u64 = 4;
/// The fewest seeds by which candidates are compared (`aggregate::MIN_VALUES`).
const FIRST: usize = 3;
/// The most seeds.
const MOST: usize = 192;

/// What one run says of a candidate.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The objective; infinite (minus infinity if more is better) where a run does not have it.
    pub objective: f64,
    /// By which fraction each bound is missed; not above zero where it is met.
    pub excess: Vec<f64>,
}

/// Where a candidate stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Standing {
    #[serde(rename = "best")]
    Best,
    /// No candidate meets all bounds; this one misses them least.
    #[serde(rename = "nearest")]
    Nearest,
    /// The paired seeds show no difference from the best, or one below 5 %.
    #[serde(rename = "equal within 5 %")]
    Alike,
    #[serde(rename = "not decided")]
    Open,
    /// The paired seeds show that the best is better.
    #[serde(rename = "decided: worse")]
    Worse,
    /// Its seeds show that it misses a bound that the best meets.
    #[serde(rename = "decided: misses a bound")]
    Misses,
    /// Left out after few runs, as the budget did not suffice for all.
    #[serde(rename = "left out early")]
    Halved,
}

names! { Standing::word {
    Best = "best", Nearest = "nearest", Alike = "equal within 5 %", Open = "not decided", Worse = "decided: worse",
    Misses = "decided: misses a bound", Halved = "left out early",
} }

#[derive(Clone, Debug, Default)]
pub struct Entrant {
    short: Option<Sample>,
    full: Vec<Sample>,
    out: Option<Standing>,
}

impl Entrant {
    /// The samples of full runs; of the short run if there is no full one.
    pub fn samples(&self) -> &[Sample] {
        if self.full.is_empty() { self.short.as_slice() } else { &self.full }
    }

    pub fn runs(&self) -> (usize, usize) {
        (self.short.iter().len(), self.full.len())
    }

    /// The mean objective.
    pub fn objective(&self) -> f64 {
        mean(self.samples(), |sample| sample.objective)
    }

    /// The mean excess of the bound that is missed most; not above zero if all are met.
    pub fn excess(&self) -> f64 {
        let bounds = self.samples().first().map_or(0, |first| first.excess.len());
        let of = |bound: usize| mean(self.samples(), |sample| sample.excess[bound]);
        (0..bounds).map(of).fold(f64::NEG_INFINITY, f64::max)
    }
}

fn mean(samples: &[Sample], of: impl Fn(&Sample) -> f64) -> f64 {
    samples.iter().map(of).sum::<f64>() / samples.len() as f64
}

/// The runs that a race asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rung {
    pub is_short: bool,
    pub candidates: Vec<usize>,
    /// The seeds, counted from the first seed of the race.
    pub seeds: Range<usize>,
}

#[derive(Clone, Debug)]
pub struct Race {
    pub entrants: Vec<Entrant>,
    maximise: bool,
    can_be_short: bool,
    /// What is left, in short runs.
    budget: u64,
    /// Rungs in a row that put nobody out.
    idle: u32,
    /// Why there is no next rung; empty while there is one.
    pub end: &'static str,
}

impl Race {
    /// A race with a budget in full runs. `None` if the budget does not suffice for a first rung.
    #[must_use]
    pub fn new(candidates: usize, maximise: bool, can_be_short: bool, budget: u64) -> Option<Self> {
        let budget = budget.saturating_mul(SHORT);
        let least = if can_be_short { 1 } else { SHORT };
        let is_enough = candidates > 0 && budget >= least.saturating_mul(candidates as u64);
        is_enough.then(|| Self { can_be_short, budget, ..Self::of(candidates, maximise) })
    }

    /// Candidates without a budget, to be ranked by what is recorded.
    #[must_use]
    pub fn of(candidates: usize, maximise: bool) -> Self {
        Self {
            entrants: vec![Entrant::default(); candidates],
            maximise,
            can_be_short: false,
            budget: 0,
            idle: 0,
            end: "",
        }
    }

    /// The runs of the next rung; `None` at the end of the race.
    pub fn rung(&mut self) -> Option<Rung> {
        let racing: Vec<usize> = self.ranking().into_iter().filter(|&at| self.entrants[at].out.is_none()).collect();
        let (done, ran) = (self.entrants[racing[0]].full.len(), self.entrants[racing[0]].short.is_some());
        self.end = match () {
            () if done >= FIRST && self.is_decided(&racing) => "as the best is told from all others",
            () if self.idle >= 2 => "as two rungs in a row dropped nobody",
            () if done >= MOST => "at the most seeds",
            () => "",
        };
        if !self.end.is_empty() {
            return None;
        }
        let half = self.budget / 2;
        let fits = |cost: u64| cost.saturating_mul(racing.len() as u64) <= half;
        let is_short = done == 0 && !ran && self.can_be_short && !fits(SHORT * FIRST as u64);
        let seeds = match done {
            _ if is_short => 0..1,
            0 if fits(SHORT * FIRST as u64) || racing.len() < 3 => 0..FIRST,
            0 => 0..1,
            done if done < FIRST => done..FIRST,
            done => done..2 * done,
        };
        let cost = if is_short { 1 } else { SHORT * seeds.len() as u64 };
        let affordable = self.budget / cost;
        let is_first = done == 0 && !ran;
        let keep = if is_first { affordable } else { affordable.min((half / cost).max(2)) };
        let keep = racing.len().min(usize::try_from(keep).unwrap_or(usize::MAX));
        if keep < racing.len().min(2) || is_first && keep < racing.len() {
            self.end = "as another rung would exceed the budget";
            return None;
        }
        for &at in &racing[keep..] {
            self.entrants[at].out = Some(Standing::Halved);
        }
        self.budget -= cost * keep as u64;
        Some(Rung { is_short, candidates: racing[..keep].to_vec(), seeds })
    }

    /// What was recorded, in full runs.
    pub fn used(&self) -> f64 {
        self.entrants.iter().map(Entrant::runs).map(|(short, full)| short as f64 / SHORT as f64 + full as f64).sum()
    }

    /// Takes the results of a candidate in a rung.
    pub fn record(&mut self, candidate: usize, is_short: bool, samples: Vec<Sample>) {
        let entrant = &mut self.entrants[candidate];
        if is_short {
            entrant.short = samples.into_iter().next();
        } else {
            entrant.full.extend(samples);
        }
    }

    /// Puts the candidates out that the results of a complete rung decide against.
    pub fn judge(&mut self) {
        let ranking = self.ranking();
        let decided = ranking.iter().map(|&at| (at, self.standing(at))).filter(|(at, standing)| {
            self.entrants[*at].out.is_none() && matches!(standing, Standing::Worse | Standing::Misses)
        });
        let decided: Vec<_> = decided.collect();
        for (at, standing) in &decided {
            self.entrants[*at].out = Some(*standing);
        }
        let is_told = self.entrants[ranking[0]].full.len() >= FIRST;
        self.idle = if is_told && decided.is_empty() { self.idle + 1 } else { 0 };
    }

    /// All candidates, the best first; those that ran longer are before those that were put out earlier.
    pub fn ranking(&self) -> Vec<usize> {
        let mut all: Vec<usize> = (0..self.entrants.len()).collect();
        all.sort_by(|&a, &b| self.order(&self.entrants[a], &self.entrants[b]));
        all
    }

    fn order(&self, a: &Entrant, b: &Entrant) -> Ordering {
        let later = |entrant: &Entrant| {
            let (runs, full) = (entrant.samples().len(), entrant.full.len());
            (entrant.out.is_some(), runs == 0, std::cmp::Reverse(full))
        };
        let (missed, objective) = ((a.excess(), b.excess()), (a.objective(), b.objective()));
        let objective = if self.maximise { (objective.1, objective.0) } else { objective };
        later(a)
            .cmp(&later(b))
            .then(missed.0.max(0.0).total_cmp(&missed.1.max(0.0)))
            .then(objective.0.total_cmp(&objective.1))
    }

    /// Whether the best is told from all others that still race.
    fn is_decided(&self, racing: &[usize]) -> bool {
        racing[1..].iter().all(|&at| self.standing(at) == Standing::Alike)
    }

    pub fn standing(&self, at: usize) -> Standing {
        let best = self.ranking()[0];
        match self.entrants[at].out {
            _ if at == best && self.entrants[at].excess() > 0.0 => Standing::Nearest,
            _ if at == best => Standing::Best,
            Some(out) => out,
            None => self.compared(&self.entrants[best], &self.entrants[at]),
        }
    }

    /// Compares a candidate with the best, both of which still race.
    fn compared(&self, best: &Entrant, other: &Entrant) -> Standing {
        let level =
            |contrasts: &[Contrast]| Level::beside(contrasts.iter().filter_map(Contrast::deviation).collect(), true);
        // Excess as a ratio to the bound, so that factors are compared as factors.
        let missed = |sample: &Sample| 1.0 + sample.excess.iter().copied().fold(0.0, f64::max);
        if other.excess() > 0.0 {
            let base = |sample: &Sample| if best.excess() > 0.0 { missed(sample) } else { 1.0 };
            let pairs = best.full.iter().map(base).zip(other.full.iter().map(missed));
            let contrast = contrast(pairs);
            let shown = contrast.map(|contrast| contrast.shown(level(&[contrast])));
            return if shown == Some(Shown::More) { Standing::Misses } else { Standing::Open };
        }
        let of = |other: &Entrant| contrast(best.full.iter().zip(&other.full).map(|(a, b)| (a.objective, b.objective)));
        let racing = self.entrants.iter().filter(|entrant| entrant.out.is_none());
        let all: Vec<Contrast> = racing.filter_map(of).collect();
        let worse = if self.maximise { Shown::Less } else { Shown::More };
        match of(other).map(|contrast| contrast.shown(level(&all))) {
            Some(Shown::Alike) => Standing::Alike,
            Some(shown) if shown == worse => Standing::Worse,
            _ => Standing::Open,
        }
    }
}

/// The contrast of pairs. A value that a run does not have is worse than any.
fn contrast(pairs: impl Iterator<Item = (f64, f64)>) -> Option<Contrast> {
    let finite = |value: f64| value.clamp(-1e300, 1e300);
    Contrast::from_pairs(&pairs.map(|(a, b)| (finite(a), finite(b))).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Runs a race to its end with results by candidate and seed. Returns the full runs that it cost.
    fn run(race: &mut Race, of: impl Fn(usize, usize) -> Sample) -> f64 {
        let mut cost = 0.0;
        while let Some(rung) = race.rung() {
            for &at in &rung.candidates {
                cost += if rung.is_short { 1.0 / SHORT as f64 } else { rung.seeds.len() as f64 };
                race.record(at, rung.is_short, rung.seeds.clone().map(|seed| of(at, seed)).collect());
            }
            race.judge();
        }
        cost
    }

    proptest! {
        #[test]
        fn a_race_keeps_to_its_budget_and_without_noise_the_best_wins(
            values in prop::collection::vec((1.0..100.0_f64, -1.0..1.0_f64), 2..40),
            (budget, maximise, can_be_short) in (1..500_u64, any::<bool>(), any::<bool>()),
            noise in prop_oneof![Just(0.0), 0.0..3.0_f64],
        ) {
            let Some(mut race) = Race::new(values.len(), maximise, can_be_short, budget) else { return Ok(()) };
            let of = |at: usize, seed: usize| {
                let (objective, excess) = values[at];
                let factor = 1.0 + noise * ((at * 31 + seed * 17 + at * seed) % 23) as f64 / 23.0;
                Sample { objective: objective * factor, excess: vec![excess * factor] }
            };
            prop_assert!(run(&mut race, of) <= budget as f64);
            let best = race.ranking()[0];
            prop_assert_eq!(race.entrants[best].out, None);
            let key = |(objective, excess): (f64, f64)| {
                (excess.max(0.0), if maximise { -objective } else { objective })
            };
            let wins = values.iter().all(|&other| key(values[best]) <= key(other));
            prop_assert!(noise > 0.0 || wins, "{:?} of {:?}", values[best], values);
        }
    }

    #[test]
    fn what_the_seeds_decide_is_out_and_what_they_do_not_races_on() {
        let mut race = Race::new(4, false, true, 1000).unwrap();
        // Twice as long as the first; it misses the bound by half; within a percent.
        let wave = |seed: usize| 1.0 + 0.3 * ((seed * 7) % 5) as f64;
        let of = |at: usize| [(1.0, -0.5), (2.0, -0.5), (0.5, 0.5), (1.01, -0.5)][at];
        run(&mut race, |at, seed| Sample { objective: of(at).0 * wave(seed), excess: vec![of(at).1] });
        let standings: Vec<Standing> = (0..4).map(|at| race.standing(at)).collect();
        assert_eq!(standings, [Standing::Best, Standing::Worse, Standing::Misses, Standing::Alike]);
        assert_eq!(race.entrants.iter().map(Entrant::runs).collect::<Vec<_>>(), [(0, 3); 4]);
        assert_eq!((race.used(), race.end), (12.0, "as the best is told from all others"));
    }
}

//! Sentences against the truth: random result sets whose true means are known, and what the headline says of them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod sets;
mod sweep_words;
mod words;

use sets::ResultSet;
use sweep_words::Sweep;
use words::Claims;

/// The logarithm of the practical bound, 5 %.
const BOUND: f64 = 0.048_790_164_169_432_05;

/// What the headlines of many sets say, counted.
#[derive(Debug, Default)]
struct Score {
    sets: u64,
    /// Sets of which the headline says something false.
    false_sets: u64,
    /// Pairs of schemes that a headline ranks, and those that it ranks against the order of their true means.
    ranked: [u64; 2],
    /// Pairs that a headline calls equal, and those that differ by more than the bound.
    equal: [u64; 2],
    /// Pairs with the best estimate, of three seeds or more, whose true paired difference exceeds four standard errors
    /// and the practical bound, and those of them that the headline does not rank.
    clear: [u64; 2],
}

impl Score {
    fn add(&mut self, set: &ResultSet) {
        let claims = Claims::read(&set.summary, set.less);
        let sign = if set.less { 1.0 } else { -1.0 };
        let excess = |a: usize, b: usize| sign * (set.log_mean(b) - set.log_mean(a));
        let count = |pairs: &[(usize, usize)], wrong: &dyn Fn(f64) -> bool| {
            let wrong = pairs.iter().filter(|&&(a, b)| wrong(excess(a, b))).count();
            [pairs.len() as u64, wrong as u64]
        };
        let ranked = count(&claims.better, &|excess| excess < 0.0);
        let equal = count(&claims.equal, &|excess| excess.abs() > BOUND);
        self.sets += 1;
        self.false_sets += u64::from(ranked[1] + equal[1] > 0);
        for place in 0..2 {
            self.ranked[place] += ranked[place];
            self.equal[place] += equal[place];
        }
        let Some((&best, others)) = claims.compared.split_first() else { return };
        for &other in others.iter().filter(|_| set.seeds >= 3) {
            let (difference, error) = set.paired(best, other);
            if difference.abs() > 4.0 * error && excess(best, other).abs() > BOUND {
                let is_ranked = claims.better.contains(&(best, other));
                self.clear[0] += 1;
                self.clear[1] += u64::from(!is_ranked);
            }
        }
    }

    /// At most one headline in a hundred is false, and at most one clear difference in ten is not decided.
    fn check(&self) {
        assert!(self.false_sets * 100 <= self.sets, "{self:#?}");
        assert!(self.clear[1] * 10 <= self.clear[0], "{self:#?}");
    }
}

fn score(sets: std::ops::Range<u64>) -> Score {
    let mut score = Score::default();
    sets.for_each(|number| score.add(&ResultSet::generate(number, 1)));
    score
}

#[test]
fn few_headlines_are_false_and_few_clear_differences_undecided() {
    let score = score(0..300);
    score.check();
    assert!(score.clear[0] > 100 && score.equal[0] > 10, "{score:#?}");
}

/// Sweeps of two to four points, those whose headline says something false, their claims, and the false ones.
fn sweeps(numbers: std::ops::Range<u64>) -> [u64; 4] {
    let mut score = [0; 4];
    for number in numbers {
        let set = ResultSet::generate(number, 2 + number % 3);
        let told = Sweep::new(&set).read();
        let wrong = told.wrong.len() as u64;
        let own = [1, u64::from(wrong > 0), told.claims, wrong];
        score.iter_mut().zip(own).for_each(|(all, one)| *all += one);
    }
    score
}

#[test]
fn few_sentences_on_sweeps_are_false() {
    let [all, wrong, claims, _] = sweeps(0..200);
    assert!(wrong * 100 <= all && claims > 100, "{wrong} of {all}, {claims} claims");
}

#[test]
#[ignore = "long: 12,000 result sets"]
fn of_two_thousand_sets_and_of_ten_thousand_others_the_same_is_true() {
    for sets in [0..2000, 2000..12_000] {
        let score = score(sets);
        score.check();
        #[expect(clippy::print_stdout, reason = "the figures of the page on reports")]
        {
            println!("{score:#?}");
        }
    }
    for numbers in [0..2000, 2000..6000] {
        let [all, wrong, claims, false_claims] = sweeps(numbers);
        #[expect(clippy::print_stdout, reason = "the figures of the page on reports")]
        {
            println!("sweeps: {wrong} of {all}, claims: {false_claims} of {claims}");
        }
        assert!(wrong * 100 <= all, "{wrong} of {all} sweeps");
    }
}

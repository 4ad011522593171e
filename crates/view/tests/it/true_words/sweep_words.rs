//! What the sentences on a sweep of the key `x` claim, read from the words alone.

use super::{BOUND, sets::ResultSet};

/// The numbers in a text that follow this mark: of "x=10" the point 0, of "s3" the scheme 3.
pub fn numbers(text: &str, mark: &str) -> Vec<usize> {
    let starts = text.match_indices(mark).map(|(at, _)| &text[at + mark.len()..]);
    let digits = starts.map(|rest| {
        let end = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
        rest[..end].parse().ok()
    });
    digits.flatten().collect()
}

fn points(text: &str) -> Vec<usize> {
    numbers(text, "x=").into_iter().map(|value: usize| value / 10 - 1).collect()
}

fn scheme(text: &str) -> Option<usize> {
    numbers(text.strip_prefix('s').map(|_| text)?, "s").first().copied()
}

pub struct Sweep<'a> {
    set: &'a ResultSet,
    /// Whether the value of a cell is exact, so that it is compared.
    exact: Vec<bool>,
}

#[derive(Debug, Default)]
pub struct Told {
    pub claims: u64,
    pub wrong: Vec<String>,
}

impl<'a> Sweep<'a> {
    pub fn new(set: &'a ResultSet) -> Self {
        let metric = super::words::metric(&set.summary);
        let value = |of: &shallop_results::Aggregate| of.get(&metric).copied();
        let exact = set.summary.aggregates.iter().map(|of| value(of).is_some_and(|it| !it.at_least));
        Self { set, exact: exact.collect() }
    }

    /// By how much a cell is worse than another one, on the logarithm.
    fn excess(&self, one: usize, other: usize) -> f64 {
        let sign = if self.set.less { 1.0 } else { -1.0 };
        sign * (self.set.log_mean(one) - self.set.log_mean(other))
    }

    fn at(&self, point: usize) -> impl Iterator<Item = usize> + '_ {
        let first = point * self.set.schemes;
        (first..first + self.set.schemes).filter(|cell| self.exact[*cell])
    }

    fn is_best(&self, scheme: usize, point: usize) -> bool {
        let own = point * self.set.schemes + scheme;
        self.at(point).all(|other| self.excess(own, other) <= 0.0)
    }

    /// Whether the best two of a point are equal but for the bound.
    fn is_tied(&self, point: usize) -> bool {
        let mut cells: Vec<usize> = self.at(point).collect();
        cells.sort_by(|a, b| self.excess(*a, *b).total_cmp(&0.0));
        cells.len() > 1 && self.excess(cells[1], cells[0]) <= BOUND
    }

    /// Whether the points in `best` have a better value of a scheme than all others.
    fn is_turn(&self, scheme: usize, best: &[usize]) -> bool {
        let cell = |point: usize| point * self.set.schemes + scheme;
        let all = 0..self.set.summary.points.len();
        let all: Vec<usize> = all.filter(|point| self.exact[cell(*point)]).collect();
        let inside = |point: &usize| (best[0]..=best[best.len() - 1]).contains(point);
        let (inside, outside): (Vec<usize>, Vec<usize>) = all.into_iter().partition(inside);
        let beats = |point: usize| outside.iter().all(|other| self.excess(cell(point), cell(*other)) <= 0.0);
        inside.into_iter().any(beats)
    }

    pub fn read(&self, sentences: &[String]) -> Told {
        let mut told = Told::default();
        for sentence in sentences {
            if sentence.starts_with("By ") || sentence.contains("by these estimates") {
                continue;
            }
            // The points at which nothing is ranked follow in a sentence of their own, without a claim.
            for part in sentence.split(". At ").take(1).flat_map(|ranked| ranked.split("; ")) {
                for is_true in self.check(part) {
                    told.claims += 1;
                    if !is_true {
                        told.wrong.push(part.to_owned());
                    }
                }
            }
        }
        told
    }

    /// Whether the claims of a part of a sentence are true.
    fn check(&self, part: &str) -> Vec<bool> {
        let all = 0..self.set.summary.points.len();
        let places = points(part);
        let several: Vec<usize> = match places.as_slice() {
            [first, last, ..] => (*first..=*last).collect(),
            some => some.to_vec(),
        };
        let is_compared = |point: &usize| self.at(*point).count() > 1;
        let best = [" did best", " did better", " carried the most", " carried more"];
        if let Some(rest) = part.strip_prefix("Where the difference is largest") {
            let schemes = numbers(rest, " s");
            let cell = |scheme: usize| places[0] * self.set.schemes + scheme;
            return vec![self.excess(cell(schemes[0]), cell(schemes[1])) <= 0.0];
        }
        if let Some((own, best)) = part.strip_prefix("For ").and_then(|rest| rest.split_once(" alone, the best value"))
        {
            let (scheme, (place, _)) = (scheme(own).unwrap(), best.split_once(':').unwrap());
            return vec![self.is_turn(scheme, &points(place))];
        }
        if let (true, Some(scheme)) = (best.iter().any(|it| part.contains(it)), scheme(part)) {
            if part.contains(" at each of ") {
                return all.filter(is_compared).map(|point| self.is_best(scheme, point)).collect();
            }
            if several.is_empty() {
                let count = numbers(part, " at ")[0];
                let true_ones = all.filter(|point| self.is_best(scheme, *point)).count();
                return vec![true_ones >= count];
            }
            let told = several.into_iter().filter(is_compared);
            return told.map(|point| self.is_best(scheme, point)).collect();
        }
        if part.contains("within 5 % of each other") {
            let told: Vec<usize> = if several.is_empty() { all.collect() } else { several };
            let told: Vec<usize> = told.into_iter().filter(is_compared).collect();
            let tied = told.iter().filter(|point| self.is_tied(**point)).count();
            let counted = numbers(part, "at ").first().copied().filter(|_| places.is_empty());
            return vec![tied >= counted.unwrap_or(told.len())];
        }
        Vec::new()
    }
}

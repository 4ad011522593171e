//! What the sentences on the price of a lead claim, read from the words alone, and what they leave out.

use super::{sets::ResultSet, sweep_words::numbers, words::Claims};

/// The least differences of loss rates and of Jain's indices that a lead is said to cost.
const BOUNDS: [f64; 2] = [0.05, 0.2];
/// The words before the loss and before Jain's index.
const WORDS: [&str; 2] = [" lost ", " shared the link unfairly"];

/// Claims and false ones, and clear prices of the leaders and those that are not told.
#[derive(Debug, Default)]
pub struct Prices {
    pub claims: [u64; 2],
    pub clear: [u64; 2],
}

/// A leader, another scheme, and by which of [`WORDS`] the leader is said to be worse; cells of the set.
type Price = (usize, usize, usize);

fn read(sentences: &[String], set: &ResultSet) -> Vec<Price> {
    let mut found = Vec::new();
    for sentence in sentences.iter().filter(|text| text.starts_with("But ")) {
        let point = numbers(sentence, "x=").first().map_or(0, |value| value / 10 - 1);
        let cell = |scheme: usize| point * set.schemes + scheme;
        let leader = numbers(sentence, " s")[0];
        for (figure, words) in WORDS.iter().enumerate() {
            let Some((_, rest)) = sentence.split_once(words) else { continue };
            found.push((cell(leader), cell(numbers(rest, "(s")[0]), figure));
        }
    }
    found
}

impl Prices {
    /// By how much a cell is worse than another one: it lost more, or its Jain's index is lower.
    fn excess(set: &ResultSet, (one, other, figure): Price) -> f64 {
        let difference = set.prices[one].means()[figure] - set.prices[other].means()[figure];
        if figure == 0 { difference } else { -difference }
    }

    /// Reads these sentences and compares them with the truth; `claims` has the leaders of a set with one point.
    pub fn of(sentences: &[String], set: &ResultSet, claims: &Claims) -> Self {
        let told = read(sentences, set);
        let mut prices = Self::default();
        let mut claim = |price: Price| {
            prices.claims[0] += 1;
            prices.claims[1] += u64::from(Self::excess(set, price) <= 0.0);
        };
        for price in &told {
            claim(*price);
        }
        for sentence in sentences {
            if let Some((places, schemes)) =
                sentence.split_once(": ").filter(|(places, _)| places.contains("oss begins"))
            {
                let [none, some] = numbers(places, "x=")[..] else { panic!("{sentence}") };
                let cell = |value: usize, scheme: usize| (value / 10 - 1) * set.schemes + scheme;
                for scheme in numbers(schemes, "s") {
                    claim((cell(some, scheme), cell(none, scheme), 0));
                }
            }
            let Some((name, _)) = sentence.split_once(" lost the least: ") else { continue };
            let one = numbers(name, "s")[0];
            let others = claims.compared.iter().filter(|other| **other != one);
            others.for_each(|other| claim((*other, one, 0)));
        }
        let is_ranked = |cell: &&usize| claims.better.iter().any(|(best, _)| best == *cell);
        let Some(leader) = claims.compared.first().filter(is_ranked) else { return prices };
        for (figure, bound) in BOUNDS.iter().enumerate() {
            let is_clear = |other: &&usize| {
                let is_large = Self::excess(set, (*leader, **other, figure)) >= *bound;
                is_large && set.prices[*leader].is_clear(&set.prices[**other], set.seeds)[figure]
            };
            if claims.compared.iter().any(|other| is_clear(&other)) {
                let is_told = told.iter().any(|of| (of.0, of.2) == (*leader, figure));
                prices.clear[0] += 1;
                prices.clear[1] += u64::from(!is_told);
            }
        }
        prices
    }
}

//! What the sentences of a headline claim, read from the words alone.

use super::sets::ResultSet;
use shallop_results::Summary;
use shallop_results::metrics::{GOODPUT, Metric, all_flows};
use shallop_view::Headline;

/// What a headline says of pairs of schemes, by number.
#[derive(Debug, Default)]
pub struct Claims {
    /// The first is said to be better than the second.
    pub better: Vec<(usize, usize)>,
    /// The two are said to be equal, or within the practical bound.
    pub equal: Vec<(usize, usize)>,
    /// Schemes of which the headline says that their place is not decided.
    pub undecided: Vec<usize>,
    /// The schemes that can be compared, the best estimate first.
    pub compared: Vec<usize>,
}

const BEST: [&str; 4] = [" did best", " did better", " carried the most", " carried more"];
const WORST: [&str; 4] = [" did worst", " did worse", " carried the least", " carried less"];
const EQUAL: [&str; 2] = [" did equally well", " carried the same"];

pub fn metric(summary: &Summary) -> Metric {
    let counts = summary.aggregates.iter().filter_map(|of| of.get(&all_flows::COUNT));
    match counts.map(|count| count.mean).reduce(f64::min) {
        None => GOODPUT,
        Some(count) if count >= 100.0 => all_flows::P99,
        Some(_) => all_flows::MEAN,
    }
}

/// The schemes with exact values, the best mean first.
fn compared(summary: &Summary, less: bool) -> Vec<usize> {
    let metric = metric(summary);
    let values = summary.aggregates.iter().enumerate();
    let values = values.filter_map(|(scheme, of)| Some((scheme, *of.get(&metric)?)));
    let mut values: Vec<_> = values.filter(|(_, value)| !value.at_least).collect();
    values.sort_by(|a, b| a.1.mean.total_cmp(&b.1.mean));
    if !less {
        values.reverse();
    }
    values.into_iter().map(|(scheme, _)| scheme).collect()
}

/// The schemes that a list names: "s0 and s1", "s1, s0, s2, s3 and 2 more"; from 5 on also "All 5 schemes" and "3 of 5
/// schemes", which stand for the first or the last of those compared.
fn named(list: &str, compared: &[usize], first: bool) -> Vec<usize> {
    let number = |text: &str| text.split_whitespace().find_map(|word| word.parse::<usize>().ok());
    let many = if list.contains("schemes") {
        number(list)
    } else {
        list.split_once(" more").and_then(|(names, _)| number(names).map(|more| more + names.matches('s').count()))
    };
    if let Some(many) = many {
        assert!(many <= compared.len(), "{list}");
        let from = if first { 0 } else { compared.len() - many };
        return compared[from..from + many].to_vec();
    }
    let words = list.split([' ', ',']);
    words.filter_map(|word| word.strip_prefix('s')?.parse().ok()).collect()
}

/// The sentences on all flows, and those on each of the groups of the set.
pub fn sentences(set: &ResultSet) -> Vec<Vec<String>> {
    let all = Headline::from_summary(&set.summary).sentences;
    let (of_groups, of_all): (Vec<_>, Vec<_>) = all.into_iter().partition(|text| text.starts_with("Group "));
    let mut found = vec![of_all];
    for (name, _) in &set.groups {
        let own = of_groups.iter().find_map(|text| text.strip_prefix(&format!("Group {name}: ")));
        found.push(
            own.map_or_else(Vec::new, |text| text.split_inclusive(". ").map(|one| one.trim().to_owned()).collect()),
        );
    }
    found
}

impl Claims {
    pub fn read(sentences: &[String], set: &ResultSet) -> Self {
        let mut claims = Self { compared: compared(&set.summary, set.less), ..Self::default() };
        for sentence in sentences {
            if let Some(list) = sentence.strip_prefix("Not decided: ") {
                // More than four of at most six are all, as then no scheme is shown to be worse than the best.
                claims.undecided = if list.contains(" more over ") {
                    claims.compared.clone()
                } else {
                    named(list.split(" over ").next().unwrap(), &[], true)
                };
            }
        }
        let decided = claims.compared.iter().filter(|it| !claims.undecided.contains(it));
        let decided: Vec<usize> = decided.copied().collect();
        for sentence in sentences.iter().filter(|sentence| !sentence.starts_with("By ")) {
            sentence.split("; ").for_each(|part| claims.add(part, &decided));
        }
        claims
    }

    fn add(&mut self, sentence: &str, decided: &[usize]) {
        let verb = |verbs: &[&str]| verbs.iter().find_map(|verb| sentence.find(verb));
        let (best, worst, equal) = (verb(&BEST), verb(&WORST), verb(&EQUAL));
        let Some(at) = best.or(worst).or(equal) else { return };
        let names = sentence[..at].rsplit_once("apart, ").map_or(&sentence[..at], |parts| parts.1);
        let some = named(names, decided, worst.is_none());
        assert!(!some.is_empty(), "{sentence}");
        for (place, &one) in some.iter().enumerate() {
            self.equal.extend(some[place + 1..].iter().map(|&other| (one, other)));
            let others = decided.iter().copied().filter(|other| !some.contains(other));
            match (best, worst) {
                (Some(_), _) => self.better.extend(others.map(|other| (one, other))),
                (None, Some(_)) => self.better.extend(others.map(|other| (other, one))),
                (None, None) => assert!(others.count() == 0, "{sentence}"),
            }
        }
    }
}

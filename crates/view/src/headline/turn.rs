//! Which value of the swept key is the best for a scheme, whether the metric turns there, and where loss begins.
//! Points are compared as schemes are: a seed draws the same traffic at each point, so that the differences are paired.

use super::one_point::alike;
use super::ranking::{is_worse, sorted};
use super::standings::{Entry, LEAST_LOSS, Standings};
use super::sweep::{on_a_line, order};
use super::wording::{listed, quoted};
use shallop_results::{contrast::Level, metrics};

/// The most schemes with a sentence of their own, the best first.
const MAX_SCHEMES: usize = 3;
/// What a sentence begins with that names no value.
pub(super) const NOT_DECIDED: &str = "Which value is best for";
/// The least number of points of which one can be the best.
const MIN_POINTS: usize = 2;

/// A sentence for each of the best schemes that the swept key changes; none if points are not on a line.
pub(super) fn sentences(standings: &Standings<'_>) -> Vec<String> {
    if !on_a_line(standings) {
        return Vec::new();
    }
    let less = standings.topic.is_less_better();
    let points = order(standings);
    let mut best: Vec<&Entry<'_>> = Vec::new();
    for entry in sorted(&standings.entries.iter().collect::<Vec<_>>(), less) {
        if !best.iter().any(|other| other.scheme == entry.scheme) {
            best.push(entry);
        }
    }
    let sentences = best.into_iter().filter_map(|best| {
        let at = |point: &usize| {
            let mut all = standings.entries.iter();
            all.find(|entry| entry.point == *point && entry.scheme == best.scheme)
        };
        let line: Vec<&Entry<'_>> = points.iter().filter_map(at).collect();
        sentence(standings, &line, best)
    });
    sentences.take(MAX_SCHEMES).collect()
}

/// Where loss begins for the schemes that lost nothing at one end of the swept key, and something at the other end in
/// every seed: a sentence for each pair of points between which it begins, with the loss at the second one.
pub(super) fn losses(standings: &Standings<'_>) -> Vec<String> {
    let all = standings.of(&metrics::LOSS, 0.0);
    let mut found: Vec<([usize; 2], Vec<String>)> = Vec::new();
    let points = if on_a_line(standings) { order(standings) } else { Vec::new() };
    for scheme in &standings.comparison.schemes {
        let at = |point: &usize| all.iter().find(|entry| entry.point == *point && entry.scheme == *scheme);
        let line: Vec<&Entry<'_>> = points.iter().filter_map(at).collect();
        let Some([last, first]) = beginning(&line) else { continue };
        let text = format!("{} {}", quoted(scheme), Standings::loss(&[first]));
        let place = [last.point, first.point];
        match found.iter_mut().find(|(other, _)| *other == place) {
            Some((_, schemes)) => schemes.push(text),
            None => found.push((place, vec![text])),
        }
    }
    let by = if standings.is_undecided() { "By these estimates, loss" } else { "Loss" };
    let sentence = |(places, schemes): ([usize; 2], Vec<String>)| {
        let [last, first] = places.map(|point| &standings.comparison.labels[point]);
        format!("{by} begins between {last} and {first}: {}.", listed(&schemes))
    };
    found.into_iter().map(sentence).take(MAX_SCHEMES).collect()
}

/// The last point without loss and the first one with loss, in whichever direction of the line loss begins.
fn beginning<'e, 'a>(line: &[&'e Entry<'a>]) -> Option<[&'e Entry<'a>; 2]> {
    let every = |entry: &Entry<'_>, is_loss: bool| entry.by_seed.values().all(|loss| (*loss >= LEAST_LOSS) == is_loss);
    let has_loss = |entry: &&Entry<'_>| {
        if every(entry, true) { Some(true) } else { every(entry, false).then_some(false) }
    };
    let losses: Vec<bool> = line.iter().map(has_loss).collect::<Option<_>>()?;
    let mut changes = (1..line.len()).filter(|at| losses[*at] != losses[at - 1]);
    let (Some(at), None) = (changes.next(), changes.next()) else { return None };
    let both = [line[at - 1], line[at]];
    Some(if losses[at] { both } else { [both[1], both[0]] })
}

/// The sentence on a scheme of which `line` has the points in order and `best` the best estimate.
fn sentence(standings: &Standings<'_>, line: &[&Entry<'_>], best: &Entry<'_>) -> Option<String> {
    let less = standings.topic.is_less_better();
    let changes = line.iter().any(|entry| entry.by_seed != best.by_seed);
    if line.len() < MIN_POINTS || !changes {
        return None;
    }
    let is_estimate = standings.is_undecided();
    let others = |of: &Entry<'_>| {
        let all = line.iter().filter(|entry| entry.point != of.point && entry.point != best.point);
        all.filter_map(|entry| best.contrast(entry)?.deviation()).collect()
    };
    let level = |entry: &Entry<'_>| if standings.has_groups { Level::beside(others(entry), true) } else { Level::FIRM };
    let is_below = |entry: &&Entry<'_>| {
        if is_estimate {
            !best.contrast(entry).is_some_and(|contrast| contrast.is_near())
        } else {
            is_worse(entry, best, less, level(entry))
        }
    };
    let worse: Vec<bool> = line.iter().map(is_below).collect();
    let (from, to) = (worse.iter().position(|it| !it)?, worse.iter().rposition(|it| !it)?);
    // A comparison of its own values: the sentence must not be read as one with other schemes.
    let by = if is_estimate { "By these estimates, for" } else { "For" };
    let who = quoted(best.scheme);
    let label = |entry: &Entry<'_>| standings.comparison.labels[entry.point].clone();
    let with = |entry: &Entry<'_>| format!("{} at {}", standings.value(&[entry]), label(entry));
    let (first, last) = (line[0], line[line.len() - 1]);
    if from == 0 && to + 1 == line.len() && is_estimate {
        return None;
    }
    if from == 0 && to + 1 == line.len() {
        return Some(format!("{NOT_DECIDED} {who} is not decided: {}, {}.", with(first), with(last)));
    }
    let values = standings.value(&line[from..=to]);
    let place = if from == to {
        format!("value is {}", label(line[from]))
    } else {
        let (low, high) = (label(line[from]), label(line[to]));
        let apart = if is_estimate { alike() } else { "not told apart by the seeds".to_owned() };
        format!("values are {low} to {high}, {apart}")
    };
    let beside = match (from == 0, to + 1 == line.len()) {
        (true, _) => format!(", an end of the sweep: {values}, beside {}", with(last)),
        (_, true) => format!(", an end of the sweep: {values}, beside {}", with(first)),
        _ => format!(", worse to both sides: {values}, beside {} and {}", with(first), with(last)),
    };
    Some(format!("{by} {who} alone, the best {place}{beside}."))
}

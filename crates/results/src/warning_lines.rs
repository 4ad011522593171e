//! The warnings of all runs, without repetition: a warning that several schemes and runs have is one line.

use crate::{design::Point, metrics::LOAD_THROUGHPUT, summary::Run};
use indexmap::{IndexMap, IndexSet};

/// The most schemes that the line of a warning names.
const MAX_NAMED: usize = 6;

/// A warning that runs of some schemes have. Warnings that differ only in numbers are one.
struct Shared<'a> {
    schemes: IndexSet<&'a str>,
    point: usize,
    run: &'a Run,
    /// The text of each run that has the warning.
    texts: Vec<&'a str>,
}

/// The lines of all warnings: each names the schemes that have it; a second line names the first run, and counts the
/// runs.
pub fn warnings(points: &[Point], runs: &[(usize, &Run)]) -> Vec<String> {
    let each = warnings_and_places(points, runs).into_iter();
    let lines = each.flat_map(|(line, place)| {
        let place = (!place.is_empty()).then(|| format!("  ({place})"));
        std::iter::once(format!("warning: {line}")).chain(place)
    });
    lines.chain(unfinished(runs)).collect()
}

/// A warning if counted flows were not complete at the end of the runs; it names the schemes and the numbers of flows.
fn unfinished(runs: &[(usize, &Run)]) -> Option<String> {
    let mut schemes: IndexMap<&str, (u64, u64)> = IndexMap::new();
    for (_, run) in runs.iter().filter(|(_, run)| !run.is_void()) {
        let Some(all) = &run.fct.all else { continue };
        let (open, count) = schemes.entry(&run.scheme).or_default();
        (*open, *count) = (*open + all.unfinished, *count + all.count);
    }
    let open = schemes.iter().filter(|(_, (open, _))| *open > 0);
    let open: Vec<String> = open.map(|(name, (open, all))| format!("{name}: {open} of {all}")).collect();
    (!open.is_empty()).then(|| {
        format!(
            "warning: flows that were not complete at the end, {}: a longer `duration` gives them time",
            open.join(", ")
        )
    })
}

/// The warnings as pairs: the line with the schemes, and the place, which is the first run that has the warning with
/// the number of such runs. The place is empty if there is one run only.
pub fn warnings_and_places(points: &[Point], runs: &[(usize, &Run)]) -> Vec<(String, String)> {
    shared(runs).iter().map(|one| (one.line(), one.place(points, runs))).collect()
}

/// The warnings by their texts without digits; of each kind, the first of each run.
fn shared<'a>(runs: &[(usize, &'a Run)]) -> Vec<Shared<'a>> {
    let kind = |text: &str| -> String { text.chars().filter(|c| !c.is_ascii_digit()).collect() };
    let mut found: IndexMap<String, Shared<'a>> = IndexMap::new();
    for &(point, run) in runs {
        let mut own = IndexMap::new();
        for text in &run.warnings {
            own.entry(kind(text)).or_insert(text);
        }
        for (kind, text) in own {
            let new = || Shared { schemes: IndexSet::new(), point, run, texts: Vec::new() };
            let shared = found.entry(kind).or_insert_with(new);
            shared.texts.push(text);
            shared.schemes.insert(&run.scheme);
        }
    }
    found.into_values().collect()
}

impl Shared<'_> {
    fn line(&self) -> String {
        let text = in_all(&self.texts).replace(LOAD_THROUGHPUT.path, &format!("\"{}\"", LOAD_THROUGHPUT.heading));
        if let (1, Some(one)) = (self.schemes.len(), self.schemes.first())
            && text.strip_prefix(one).is_some_and(|rest| rest.starts_with(' '))
        {
            return text;
        }
        let more = self.schemes.len().saturating_sub(MAX_NAMED);
        let names = self.schemes.iter().take(MAX_NAMED).copied().collect::<Vec<_>>().join(", ");
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{names}{more}: {text}")
    }

    fn place(&self, points: &[Point], runs: &[(usize, &Run)]) -> String {
        let same = runs.iter().filter(|(_, run)| self.schemes.contains(run.scheme.as_str()));
        let all = same.count();
        if all < 2 {
            return String::new();
        }
        let point = points.get(self.point).map_or("", |point| point.name.as_str());
        let point = if point.is_empty() { String::new() } else { format!("{point}, ") };
        let seed = self.run.seed;
        let (whose, first) = match self.schemes.len() {
            1 => (self.run.scheme.as_str(), String::new()),
            _ => ("these", format!("{}, ", self.run.scheme)),
        };
        let runs = match self.texts.len() {
            1 => "only there".to_owned(),
            warned => format!("in {warned} of {all} runs"),
        };
        format!("{first}{point}seed {seed}; {runs} of {whose}")
    }
}

/// One text for texts that differ only in numbers, with the range of each number. If digits of names differ, so that
/// the numbers are not of the same thing, it is the first text.
fn in_all(texts: &[&str]) -> String {
    let first = texts.first().copied().unwrap_or_default();
    let split: Vec<Vec<&str>> = texts.iter().map(|text| text.split(' ').collect()).collect();
    let word = |(place, word): (usize, &str)| {
        let all: Vec<&str> = split.iter().filter_map(|words| words.get(place).copied()).collect();
        if all.iter().all(|other| *other == word) { Some(word.to_owned()) } else { range(&all) }
    };
    first.split(' ').enumerate().map(word).collect::<Option<Vec<_>>>().map_or(first.to_owned(), |words| words.join(" "))
}

/// The range of these numbers, each with the same marks around it, such as "(3 to 12 %"; `None` if they are no numbers.
fn range(words: &[&str]) -> Option<String> {
    let mut numbers: Vec<(f64, &str)> = Vec::new();
    let is_mark = |letter: char| !letter.is_alphanumeric();
    for word in words {
        let number = word.trim_matches(is_mark);
        numbers.push((number.parse().ok()?, number));
    }
    numbers.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (first, number) = (words.first()?, words.first()?.trim_matches(is_mark));
    let (before, after) = first.split_once(number)?;
    let (least, most) = (numbers.first()?.1, numbers.last()?.1);
    Some(format!("{before}{least} to {most}{after}"))
}

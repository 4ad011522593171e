//! What is wrong with a scenario, and where: enough for a message that shows the line.

use std::fmt;
use std::ops::Range;

/// Why a text is no scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong, with what was found.
    pub message: String,
    /// A few words for beside the place.
    pub label: String,
    /// What is allowed, or what to do; empty if the message says it all.
    pub help: String,
    /// The bytes of the text it is about. `None` for what came from elsewhere, such as `--set`, and for the whole text.
    pub span: Option<Range<usize>>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Problem {}

impl Problem {
    /// The same, with advice.
    #[must_use]
    pub(super) fn with_help(self, help: impl Into<String>) -> Self {
        Self { help: help.into(), ..self }
    }

    /// The same, with words for beside the place.
    #[must_use]
    pub(super) fn with_label(self, label: impl Into<String>) -> Self {
        Self { label: label.into(), ..self }
    }

    /// The same, its message preceded by where it arose.
    #[must_use]
    pub(super) fn within(self, place: &str) -> Self {
        Self { message: format!("{place}: {}", self.message), ..self }
    }
}

/// Names with commas between them; no more than forty.
pub(super) fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    const MOST: usize = 40;
    let names: Vec<&str> = names.into_iter().collect();
    let mut text = names.iter().take(MOST).copied().collect::<Vec<_>>().join(", ");
    if names.len() > MOST {
        text.push_str(", ...");
    }
    text
}

/// The names most like this one, the nearest first; none if nothing comes near.
pub(super) fn near<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let likeness = |known: &str| strsim::normalized_damerau_levenshtein(name, known);
    let mut all: Vec<(f64, &str)> = known.into_iter().map(|k| (likeness(k), k)).collect();
    all.retain(|(likeness, _)| *likeness >= 0.5);
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    all.into_iter().take(3).map(|(_, name)| name).collect()
}

/// Advice for a name that is not known: the nearest ones, and all that are allowed.
pub(crate) fn advice<'a>(name: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> String {
    let allowed = format!("allowed here: {}", list(known.clone()));
    match near(name, known).first() {
        Some(near) => format!("did you mean \"{near}\"? {allowed}"),
        None => allowed,
    }
}

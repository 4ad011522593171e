//! What is wrong with a scenario, and where: enough for a message that shows the line.

use std::fmt;
use std::ops::Range;

pub(crate) use shallop_core::suggest::{advice, list, near};

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

//! An error of a scenario: the key, the reason, and the place in the text.

use std::fmt;
use std::ops::Range;

/// A place in the text of a scenario.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct At {
    /// The bytes of the text.
    pub span: Option<Range<usize>>,
    /// The origin of a value that is not in the text, such as `--set seed=2`.
    pub via: Option<String>,
}

impl At {
    /// A place outside the text.
    pub fn via(origin: impl Into<String>) -> Self {
        Self { span: None, via: Some(origin.into()) }
    }

    /// A problem at this place.
    pub fn problem(&self, reason: impl Into<String>) -> Problem {
        Problem::new(self, reason)
    }
}

/// The reason why a scenario is refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problem {
    /// Circumstances under which the problem arises, each followed by a colon and a blank, such as `in a quick run: `.
    pub context: String,
    /// The origin of a value that is not in the text, such as `--set group.all.size=0`.
    pub via: Option<String>,
    /// The name of the key with the wrong value, and the section it is in, such as `[[scheme]] "dctcp"`. `None` if the
    /// reason names all that is wrong.
    pub key: Option<(&'static str, String)>,
    /// What is wrong, with the value that was found.
    pub reason: String,
    /// A few words for display beside the place.
    pub label: String,
    /// The allowed values, or what to do; empty if the reason says it all.
    pub help: String,
    /// The bytes of the text that are wrong. `None` for values from elsewhere, such as `--set`, and for the whole text.
    pub span: Option<Range<usize>>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { context, via, key, reason, .. } = self;
        f.write_str(context)?;
        if let Some(via) = via {
            write!(f, "{via}: ")?;
        }
        if let Some((key, section)) = key {
            write!(f, "`{key}` in {section}: ")?;
        }
        f.write_str(reason)
    }
}

impl std::error::Error for Problem {}

impl Problem {
    /// A problem at this place.
    pub fn new(at: &At, reason: impl Into<String>) -> Self {
        let (via, span) = (at.via.clone(), at.span.clone());
        Self { via, reason: reason.into(), label: "here".into(), span, ..Self::default() }
    }

    /// Adds advice.
    #[must_use]
    pub fn with_help(self, help: impl Into<String>) -> Self {
        Self { help: help.into(), ..self }
    }

    /// Replaces the words beside the place.
    #[must_use]
    pub fn with_label(self, label: impl Into<String>) -> Self {
        Self { label: label.into(), ..self }
    }

    /// Adds a circumstance in front of those that are known.
    #[must_use]
    pub fn within(self, circumstance: &str) -> Self {
        Self { context: format!("{circumstance}: {}", self.context), ..self }
    }

    /// The whole message: circumstances, origin, key and reason.
    pub fn message(&self) -> String {
        self.to_string()
    }
}

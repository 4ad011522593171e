//! Errors of scenarios: the key, the reason, and the place in the text.

use std::{fmt, ops::Range};

/// Location of a value: in the text of a scenario, or an origin outside it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct At {
    /// Range of bytes of the scenario's text.
    pub span: Option<Range<usize>>,
    /// Origin of a value that is not in the text, such as `--set seed=2`.
    pub via: Option<String>,
}

impl At {
    /// Location of a value that is not in the text of the scenario.
    pub fn via(origin: impl Into<String>) -> Self {
        Self { span: None, via: Some(origin.into()) }
    }

    /// An error at this location.
    pub fn problem(&self, reason: impl Into<String>) -> Problem {
        Problem::new(self, reason)
    }
}

/// An error of a scenario, for which it is refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problem {
    /// Circumstances under which the error occurs, each followed by a colon and a blank, such as `in a quick run: `.
    pub context: String,
    /// Origin of the wrong value if it is not in the text, such as `--set group.all.size=0`.
    pub via: Option<String>,
    /// Name of the key with the wrong value, and its section, such as `[[scheme]] "dctcp"`. `None` if the error
    /// concerns no single key.
    pub key: Option<(&'static str, String)>,
    /// What is wrong, quoting the value that was found.
    pub reason: String,
    /// A few words that are displayed under the marked bytes of the text.
    pub label: String,
    /// Advice: the allowed values, or what to do. Empty if the reason says it all.
    pub help: String,
    /// Range of bytes of the text that is wrong. `None` for values from elsewhere, such as `--set`, and for errors of
    /// the whole scenario.
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
    /// An error at `at`.
    pub fn new(at: &At, reason: impl Into<String>) -> Self {
        let (via, span) = (at.via.clone(), at.span.clone());
        Self { via, reason: reason.into(), label: "here".into(), span, ..Self::default() }
    }

    /// Sets the advice.
    #[must_use]
    pub fn with_help(self, help: impl Into<String>) -> Self {
        Self { help: help.into(), ..self }
    }

    /// Sets the words that are displayed under the marked bytes.
    #[must_use]
    pub fn with_label(self, label: impl Into<String>) -> Self {
        Self { label: label.into(), ..self }
    }

    /// Puts a circumstance in front of the present ones.
    #[must_use]
    pub fn within(self, circumstance: &str) -> Self {
        Self { context: format!("{circumstance}: {}", self.context), ..self }
    }

    /// The complete message on one line: circumstances, origin, key and reason.
    pub fn message(&self) -> String {
        self.to_string()
    }
}

//! Errors as data, for programs that read `--message-format json`: docs/messages.md.

use std::fmt;

use miette::{Diagnostic, LabeledSpan, Report, Severity, SourceCode};
use serde::Serialize;

use super::diagnostic::{Missing, text};
use super::printable::printable_lines;

/// The kind of an error, which decides the exception that a client raises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A scenario cannot be read, or has an error; nothing was run.
    Scenario,
    /// An option of the command line has a wrong value.
    Option,
    /// This machine lacks what is needed.
    Missing,
    /// Any other error.
    Other,
}

/// The place in a text that an error is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Position {
    /// The name of the text.
    pub name: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in bytes of the line, from 1.
    pub column: usize,
    /// The length in bytes.
    pub length: usize,
}

/// An error as data.
#[derive(Clone, Debug, Serialize)]
pub struct Fault {
    /// The kind of the error.
    pub kind: Kind,
    /// What is wrong.
    pub message: String,
    /// The option of the command line, such as `--jobs`.
    pub option: Option<String>,
    /// The value of that option, as it was given.
    pub value: Option<String>,
    /// All values that the option may have, if they are words of a list.
    pub allowed: Vec<String>,
    /// The place in the scenario.
    pub position: Option<Position>,
    /// A few words to show at the place.
    pub label: Option<String>,
    /// The allowed values, or what to do.
    pub help: Option<String>,
    /// The message that the command prints for people, without colours.
    pub text: String,
}

impl From<&Report> for Fault {
    fn from(report: &Report) -> Self {
        let option = report.downcast_ref::<WrongOption>();
        let label = report.labels().and_then(|mut labels| labels.next());
        let position = label.as_ref().zip(report.source_code()).and_then(|(label, source)| {
            let place = source.read_span(label.inner(), 0, 0).ok()?;
            let name = place.name().unwrap_or_default().to_owned();
            let (line, column) = (place.line() + 1, place.column() + 1);
            Some(Position { name, line, column, length: label.len() })
        });
        let kind = if report.is::<InScenario>() {
            Kind::Scenario
        } else if option.is_some() {
            Kind::Option
        } else if report.is::<Missing>() {
            Kind::Missing
        } else {
            Kind::Other
        };
        Self {
            kind,
            message: option.map_or_else(|| report.to_string(), |it| it.why.clone()),
            option: option.map(|it| it.option.to_owned()),
            value: None,
            allowed: Vec::new(),
            position,
            label: label.and_then(|label| label.label().map(str::to_owned)),
            help: report.help().map(|help| help.to_string()),
            text: text(report),
        }
    }
}

/// An option whose value is wrong in a way that only shows after the command line was read.
#[derive(Debug, thiserror::Error)]
#[error("{option}: {why}")]
pub struct WrongOption {
    option: &'static str,
    why: String,
}

impl Diagnostic for WrongOption {}

/// The diagnostic of a wrong value of `option`.
pub fn wrong_option(option: &'static str, why: &impl ToString) -> Report {
    Report::new(WrongOption { option, why: printable_lines(&why.to_string()).into() })
}

/// An error of a scenario. It looks like the diagnostic in it.
pub struct InScenario(Report);

/// The diagnostic as one of a scenario.
#[must_use]
pub fn in_scenario(report: Report) -> Report {
    Report::new(InScenario(report))
}

impl fmt::Debug for InScenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for InScenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl std::error::Error for InScenario {}

impl Diagnostic for InScenario {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.0.code()
    }

    fn severity(&self) -> Option<Severity> {
        self.0.severity()
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.0.help()
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        self.0.labels()
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.0.source_code()
    }
}

#[cfg(test)]
mod tests {
    use shallop_scenario::Options;

    use super::*;
    use crate::diagnostic::{missing, plain};
    use crate::work::of_text;

    #[test]
    fn an_error_of_a_scenario_has_its_line_its_column_and_what_is_allowed() {
        let text = "title = \"a\"\nduration = \"1s\"\ntopology = { kind = \"dumbel\" }\n";
        let report = of_text("edge.toml", text, &Options::default()).unwrap_err();
        let fault = Fault::from(&report);
        assert_eq!(fault.kind, Kind::Scenario);
        let position = Position {
            name: "edge.toml".to_owned(),
            line: 3,
            column: 21,
            length: "\"dumbel\"".len(),
        };
        assert_eq!(fault.position, Some(position));
        assert!(fault.message.contains("dumbel"), "{fault:?}");
        assert!(fault.help.is_some_and(|help| help.contains("dumbbell")));
        assert!(fault.text.contains("edge.toml:3:21"), "{}", fault.text);
    }

    #[test]
    fn each_kind_of_error_is_named() {
        let kinds = [
            (of_text("x.toml", "", &Options::default()).unwrap_err(), Kind::Scenario),
            (crate::work::chosen(&["fp-fig10"]).unwrap_err(), Kind::Scenario),
            (wrong_option("--wait", &"too long"), Kind::Option),
            (missing(&"no kernel"), Kind::Missing),
            (plain(&"disk full"), Kind::Other),
        ];
        for (report, kind) in kinds {
            assert_eq!(Fault::from(&report).kind, kind, "{report:?}");
        }
        let fault = Fault::from(&wrong_option("--wait", &"too long"));
        assert_eq!((fault.option.as_deref(), fault.message.as_str()), (Some("--wait"), "too long"));
        assert!(fault.text.contains("--wait: too long"));
    }
}

//! Errors as data, for programs that use `--message-format json`; docs/messages.md describes them.

use super::diagnostic::{Missing, text};
use super::printable::printable_lines;
use miette::{Diagnostic, LabeledSpan, Report, Severity, SourceCode};
use serde::Serialize;
use std::fmt;

/// The kind of an error. Clients choose an exception by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// A scenario cannot be read or has an error. Nothing was run.
    Scenario,
    /// An option of the command line has a wrong value.
    Option,
    /// This machine lacks something.
    Missing,
    Other,
}

/// The place of an error in a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TextPosition {
    pub name: String,
    /// The line of the error, counted from 1.
    pub line: usize,
    /// The column of the error in its line, in bytes, counted from 1.
    pub column: usize,
    /// The length of the wrong text, in bytes.
    pub length: usize,
}

#[derive(Clone, Debug, Serialize)]
pub struct Fault {
    pub kind: FaultKind,
    pub message: String,
    /// The option of the command line, such as `--jobs`.
    pub option: Option<String>,
    /// The value of the option, as it was typed.
    pub value: Option<String>,
    /// The allowed values, if the option takes a word of a list.
    pub allowed: Vec<String>,
    /// The place of the error in the scenario; `None` for other errors.
    pub position: Option<TextPosition>,
    /// A few words to show at the place of the error, such as the reason.
    pub label: Option<String>,
    /// What the user can do, such as a list of allowed values.
    pub help: Option<String>,
    /// The whole message as it is printed for people, without colours.
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
            Some(TextPosition { name, line, column, length: label.len() })
        });
        let kind = if report.is::<InScenario>() {
            FaultKind::Scenario
        } else if option.is_some() {
            FaultKind::Option
        } else if report.is::<Missing>() {
            FaultKind::Missing
        } else {
            FaultKind::Other
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

/// A wrong option that is found only after the command line was parsed.
#[derive(Debug, thiserror::Error)]
#[error("{option}: {why}")]
pub struct WrongOption {
    option: &'static str,
    why: String,
}

impl Diagnostic for WrongOption {}

pub fn wrong_option(option: &'static str, why: &impl ToString) -> Report {
    Report::new(WrongOption { option, why: printable_lines(&why.to_string()).into() })
}

/// Marks a diagnostic as the error of a scenario, and displays it unchanged.
pub struct InScenario(Report);

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
    use super::*;
    use crate::diagnostic::{missing, plain};
    use crate::run_study::parse_scenario;
    use shallop_scenario::Options;

    #[test]
    fn a_scenario_error_has_its_line_its_column_and_the_allowed_values() {
        let text = "title = \"a\"\nduration = \"1s\"\ntopology = { kind = \"dumbel\" }\n";
        let report = parse_scenario("edge.toml", text, &Options::default()).unwrap_err();
        let fault = Fault::from(&report);
        assert_eq!(fault.kind, FaultKind::Scenario);
        let position = TextPosition { name: "edge.toml".to_owned(), line: 3, column: 21, length: "\"dumbel\"".len() };
        assert_eq!(fault.position, Some(position));
        assert!(fault.message.contains("dumbel"), "{fault:?}");
        assert!(fault.help.is_some_and(|help| help.contains("dumbbell")));
        assert!(fault.text.contains("edge.toml:3:21"), "{}", fault.text);
    }

    #[test]
    fn each_kind_of_error_is_named() {
        let kinds = [
            (parse_scenario("x.toml", "", &Options::default()).unwrap_err(), FaultKind::Scenario),
            (crate::run_study::find_experiments(&["fp-fig10"]).unwrap_err(), FaultKind::Scenario),
            (wrong_option("--wait", &"too long"), FaultKind::Option),
            (missing(&"no kernel"), FaultKind::Missing),
            (plain(&"disk full"), FaultKind::Other),
        ];
        for (report, kind) in kinds {
            assert_eq!(Fault::from(&report).kind, kind, "{report:?}");
        }
        let fault = Fault::from(&wrong_option("--wait", &"too long"));
        assert_eq!((fault.option.as_deref(), fault.message.as_str()), (Some("--wait"), "too long"));
        assert!(fault.text.contains("--wait: too long"));
    }
}

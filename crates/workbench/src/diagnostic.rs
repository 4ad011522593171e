//! Diagnostics for the user: the place in the input, what was found, what is allowed. Exit code 2, or 3 for what this
//! machine lacks.

use std::{fmt::Display, path::Path};

use super::error::StudyError;
use super::printable::{printable, printable_lines, printable_source};
pub use miette::Report;
use miette::{
    Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteDiagnostic, MietteHandlerOpts, NamedSource,
};
use shallop_scenario::Problem;
use textwrap::{WordSeparator, WordSplitter};

/// Lines of a scenario with more bytes are not shown.
const LONGEST_LINE: usize = 240;
/// The width of messages if standard error is not a terminal.
const COLUMNS: usize = 100;

pub type Result<T> = std::result::Result<T, Report>;

pub fn plain(what: &impl Display) -> Report {
    Report::new(MietteDiagnostic::new(printable_lines(&what.to_string())))
}

/// The error that this machine lacks something: what, and how to get it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Missing(String);

impl Diagnostic for Missing {}

pub fn missing(what: &impl Display) -> Report {
    Report::new(Missing(printable_lines(&what.to_string()).into()))
}

pub fn study_error(why: &StudyError) -> Report {
    match why {
        StudyError::NoKernel(what) => Report::new(Missing(printable_lines(what).into())),
        other => plain(other),
    }
}

pub fn with_help(what: &impl Display, help: &impl Display) -> Report {
    let (what, help) = (what.to_string(), help.to_string());
    Report::new(MietteDiagnostic::new(printable_lines(&what)).with_help(printable_lines(&help)))
}

/// A diagnostic that shows the line of a scenario in which the problem is.
pub fn in_text(name: &str, text: &str, problem: Problem) -> Report {
    let mut diagnostic = MietteDiagnostic::new(printable_lines(&problem.message()));
    let Problem { label, help, span, .. } = problem;
    if !help.is_empty() {
        diagnostic = diagnostic.with_help(printable_lines(&help));
    }
    let Some(span) = span.and_then(|span| showable(text, span)) else {
        diagnostic.message = format!("{}: {}", printable(name), diagnostic.message);
        return Report::new(diagnostic);
    };
    let label = Some(printable(&label).into_owned()).filter(|label| !label.is_empty());
    // Escapes make the text longer, so the span moves.
    let start = printable_source(&text[..span.start]).len();
    let length = printable_source(&text[span]).len();
    let source = NamedSource::new(printable(name), printable_source(text));
    Report::new(diagnostic.with_label(LabeledSpan::new(label, start, length)))
        .with_source_code(source.with_language("TOML"))
}

/// The part of a span on its first line; `None` if that line or a neighbour is too long to be shown.
fn showable(text: &str, span: std::ops::Range<usize>) -> Option<std::ops::Range<usize>> {
    let start = span.start.min(text.len());
    let before = text.get(..start)?;
    let line = before.matches('\n').count();
    let end_of_line = text.get(start..)?.find('\n').map_or(text.len(), |length| start + length);
    let mut near = text.split('\n').skip(line.saturating_sub(1)).take(3);
    let short = near.all(|line| line.len() <= LONGEST_LINE);
    short.then(|| start..span.end.clamp(start, end_of_line))
}

/// Sets up how diagnostics break lines: at spaces only, so that options, fingerprints and paths can be copied.
pub fn keep_words_whole() {
    let whole =
        MietteHandlerOpts::new().word_separator(WordSeparator::AsciiSpace).word_splitter(WordSplitter::NoHyphenation);
    // If a hook is set already, it stays.
    let _ = miette::set_hook(Box::new(move |_| Box::new(whole.clone().build())));
}

/// The diagnostic as it is printed, without colours.
pub fn text(report: &Report) -> String {
    let theme = GraphicalTheme::unicode_nocolor();
    let handler = GraphicalReportHandler::new_themed(theme)
        .with_width(COLUMNS)
        .with_word_separator(WordSeparator::AsciiSpace)
        .with_word_splitter(WordSplitter::NoHyphenation);
    let mut text = String::new();
    match handler.render_report(&mut text, report.as_ref()) {
        Ok(()) => text.trim_end().to_owned(),
        Err(_) => report.to_string(),
    }
}

/// A path for messages, with control characters escaped.
pub fn name(path: &Path) -> String {
    printable(&path.display().to_string()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_and_paths_are_not_broken() {
        let fingerprint = ["0123abcd"; 8].join("-");
        let what = format!("the host at 127.0.0.1:4747 of that name shows {fingerprint}, not it");
        assert!(text(&plain(&what)).contains(&fingerprint));
        let path = format!("/{}", "a-folder/".repeat(9));
        assert!(text(&plain(&format!("there is no folder for results at {path}"))).contains(&path));
    }

    #[test]
    fn control_characters_are_escaped_in_the_message_and_in_the_shown_line() {
        let source = "a = \"\u{1b}[2J\u{202e}\" # c\nb = 1\n";
        let problem = Problem {
            reason: "no \u{1b}[31m".to_owned(),
            label: "here \u{9b}".to_owned(),
            help: "say \u{202e}".to_owned(),
            span: Some(4..14),
            ..Problem::default()
        };
        let shown = text(&in_text("a\u{1b}.toml", source, problem));
        let obeyed = shown.chars().filter(|letter| letter.is_control() && *letter != '\n');
        assert_eq!(obeyed.count(), 0, "{shown:?}");
        assert!(!shown.contains('\u{202e}') && shown.contains("\\u001b[2J\\u202e"), "{shown}");
        assert!(shown.contains("a\\u001b.toml:1"), "{shown}");
    }

    #[test]
    fn a_span_is_shown_on_its_first_line_and_long_lines_are_not() {
        let text = "a = 1\nb = [\n1,\n]\n";
        assert_eq!(showable(text, 6..15), Some(6..11));
        assert_eq!(showable(text, 99..120), Some(text.len()..text.len()));
        let long = format!("a = \"{}\"\n", "x".repeat(1000));
        assert_eq!(showable(&long, 0..1), None);
    }
}

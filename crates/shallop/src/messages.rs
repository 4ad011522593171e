//! `--message-format json`: messages for programs on standard error, one JSON object per line. docs/messages.md
//! describes their members.

use clap::ValueEnum;
use clap::error::{ContextKind, ContextValue};
use serde::Serialize;
use serde_json::Value;
use shallop_workbench::fault::{Fault, FaultKind};
use std::time::{Duration, Instant};
use std::{io::Write, sync::OnceLock};

/// The least time between two messages on progress.
pub const BETWEEN: Duration = Duration::from_millis(100);

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MessageFormat {
    /// Text for people
    Text,
    /// JSON for programs, one object per line
    Json,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Message<'a> {
    Version {
        version: &'a str,
    },
    Progress {
        /// The fraction of the simulated time that has passed, 0 to 1.
        part: f64,
        ended: usize,
        runs: usize,
        /// The point and scheme of the run that started last.
        last: &'a str,
    },
    Note {
        text: &'a str,
    },
    /// The results of a scenario or an experiment are written.
    Results {
        /// The identifier of the experiment.
        id: Option<&'a str>,
        folder: Option<&'a std::path::Path>,
        /// The tables of results as the command prints them.
        tables: &'a str,
        /// Lines about missing runs and the path of the report.
        notes: &'a str,
        /// The meaning of the columns of the tables.
        legend: &'a str,
    },
    Comparison {
        text: &'a str,
    },
    Transfer {
        /// Bytes of the transfer that arrived at the receiver.
        done: u64,
        /// Bytes of all files of the transfer.
        total: u64,
    },
    Listening {
        address: &'a str,
        code: Option<&'a str>,
    },
    Received {
        /// The address of the sender.
        from: &'a str,
        /// The object that `--json` prints.
        report: &'a Value,
    },
    /// A sender left before its transfer ended.
    BrokeOff {
        /// The address of the sender.
        from: &'a str,
        why: &'a str,
    },
    Error(&'a Fault),
}

static FORMAT: OnceLock<MessageFormat> = OnceLock::new();

/// Sets the format of all messages, once. In JSON, the first message is the version.
pub fn begin(format: MessageFormat) {
    if FORMAT.set(format).is_ok() && is_json() {
        send(&Message::Version { version: env!("CARGO_PKG_VERSION") });
    }
}

pub fn is_json() -> bool {
    FORMAT.get() == Some(&MessageFormat::Json)
}

/// Sends a message if the format is JSON.
pub fn send(message: &Message<'_>) {
    if !is_json() {
        return;
    }
    if let Ok(mut line) = serde_json::to_vec(message) {
        line.push(b'\n');
        let _ = std::io::stderr().lock().write_all(&line);
    }
}

/// The message format in arguments that could not be parsed.
pub fn format_of(arguments: &[std::ffi::OsString]) -> MessageFormat {
    let mut pairs = arguments.windows(2);
    let is_json = pairs.any(|pair| pair[0] == "--message-format" && pair[1] == "json")
        || arguments.iter().any(|argument| argument == "--message-format=json");
    if is_json { MessageFormat::Json } else { MessageFormat::Text }
}

/// Converts an error of the argument parser.
pub fn fault(error: &clap::Error) -> Fault {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(texts)) => texts.first().cloned(),
        _ => None,
    };
    let words = |kind| match error.get(kind) {
        Some(ContextValue::Strings(words)) => words.clone(),
        _ => Vec::new(),
    };
    let rendered = error.render().to_string().trim_end().to_owned();
    let why = std::error::Error::source(error).map(ToString::to_string);
    let first = || {
        let first = rendered.split("\n\n").next().unwrap_or_default();
        first.strip_prefix("error: ").unwrap_or(first).to_owned()
    };
    Fault {
        kind: FaultKind::Option,
        message: why.unwrap_or_else(first),
        // The context is as in `--jobs <N>`.
        option: text(ContextKind::InvalidArg).map(|option| option.split(' ').next().unwrap_or_default().to_owned()),
        value: text(ContextKind::InvalidValue),
        allowed: words(ContextKind::ValidValue),
        position: None,
        label: None,
        help: None,
        text: rendered,
    }
}

/// Limits messages on progress to one per [`BETWEEN`].
#[derive(Debug, Default)]
pub struct MessagePace(Option<Instant>);

impl MessagePace {
    /// Whether a message is due. If so, the next one is due [`BETWEEN`] later.
    pub fn is_due(&mut self) -> bool {
        let due = self.0.is_none_or(|last| last.elapsed() >= BETWEEN);
        if due {
            self.0 = Some(Instant::now());
        }
        due
    }
}

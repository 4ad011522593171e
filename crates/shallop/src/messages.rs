//! `--message-format json`: messages for programs on standard error, one JSON object per line, as docs/messages.md
//! describes.

use std::io::Write;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use clap::error::{ContextKind, ContextValue};
use serde::Serialize;
use serde_json::Value;
use shallop_workbench::fault::{Fault, Kind};

/// The least time between two messages on progress.
pub const BETWEEN: Duration = Duration::from_millis(100);

/// The form of messages on standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MessageFormat {
    /// For people
    Text,
    /// For programs: one JSON object per line
    Json,
}

/// A message for programs.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Message<'a> {
    /// The first message: the version of the command.
    Version {
        /// As `--version` prints it.
        version: &'a str,
    },
    /// The progress of runs.
    Progress {
        /// The part of the simulated time that has passed, 0 to 1.
        part: f64,
        /// Runs that ended.
        ended: usize,
        /// All runs.
        runs: usize,
        /// The run that started last: its point and its scheme.
        last: &'a str,
    },
    /// A remark for the user.
    Note {
        /// The remark.
        text: &'a str,
    },
    /// The results of a scenario or an experiment are written.
    Results {
        /// The name of the experiment.
        id: Option<&'a str>,
        /// The folder of the results.
        folder: Option<&'a std::path::Path>,
        /// The tables that the command prints.
        tables: &'a str,
        /// Runs that are missing, and the path of the report.
        notes: &'a str,
        /// The meaning of the columns.
        legend: &'a str,
    },
    /// The text of a comparison, as the command prints it.
    Comparison {
        /// The sentences and the table.
        text: &'a str,
    },
    /// The progress of a transfer.
    Transfer {
        /// Bytes that are at the receiver.
        done: u64,
        /// Bytes of all files.
        total: u64,
    },
    /// The receiver listens.
    Listening {
        /// The address and port.
        address: &'a str,
        /// The fingerprint of this host.
        fingerprint: &'a str,
    },
    /// A transfer ended.
    Received {
        /// Its address.
        from: &'a str,
        /// The object that `--json` prints.
        report: &'a Value,
    },
    /// A sender left before its transfer ended.
    BrokeOff {
        /// Its address.
        from: &'a str,
        /// Why.
        why: &'a str,
    },
    /// Why the command ends without having done what was asked.
    Error(&'a Fault),
}

static FORMAT: OnceLock<MessageFormat> = OnceLock::new();

/// Sets the form of all messages, once. In JSON, the first message is the version.
pub fn begin(format: MessageFormat) {
    if FORMAT.set(format).is_ok() && is_json() {
        send(&Message::Version { version: env!("CARGO_PKG_VERSION") });
    }
}

/// Whether a program reads the messages.
pub fn is_json() -> bool {
    FORMAT.get() == Some(&MessageFormat::Json)
}

/// Sends a message, if a program reads them.
pub fn send(message: &Message<'_>) {
    if !is_json() {
        return;
    }
    if let Ok(mut line) = serde_json::to_vec(message) {
        line.push(b'\n');
        // There is nobody to tell if this cannot be written.
        let _ = std::io::stderr().lock().write_all(&line);
    }
}

/// The format that these arguments ask for, if they could not be read as a whole.
pub fn format_of(arguments: &[std::ffi::OsString]) -> MessageFormat {
    let mut pairs = arguments.windows(2);
    let is_json = pairs.any(|pair| pair[0] == "--message-format" && pair[1] == "json")
        || arguments.iter().any(|argument| argument == "--message-format=json");
    if is_json { MessageFormat::Json } else { MessageFormat::Text }
}

/// Why arguments could not be read.
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
        kind: Kind::Option,
        message: why.unwrap_or_else(first),
        // As in `--jobs <N>`.
        option: text(ContextKind::InvalidArg)
            .map(|option| option.split(' ').next().unwrap_or_default().to_owned()),
        value: text(ContextKind::InvalidValue),
        allowed: words(ContextKind::ValidValue),
        position: None,
        label: None,
        help: None,
        text: rendered,
    }
}

/// When the next message on progress is due; the first one is due at once.
#[derive(Debug, Default)]
pub struct Pace(Option<Instant>);

impl Pace {
    /// Whether a message is due; the next one is due [`BETWEEN`] later.
    pub fn is_due(&mut self) -> bool {
        let due = self.0.is_none_or(|last| last.elapsed() >= BETWEEN);
        if due {
            self.0 = Some(Instant::now());
        }
        due
    }
}

//! What writing and reading a configuration gives: the text and the device, with everything that was rounded, refused
//! or not understood.

use crate::model::Device;
use std::fmt::{self, Write};

/// A configuration as text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Written {
    pub text: String,
    pub notes: Vec<Note>,
}

/// A difference between a device and its configuration.
#[derive(Clone, Debug, PartialEq)]
pub enum Note {
    /// The system has coarser steps.
    Rounded { what: String, asked: f64, expressed: f64, unit: &'static str },
    /// The system has no such setting. `nearest` is what the configuration has instead.
    Refused { what: String, nearest: String },
    /// The derivation of a value, where the text has no comments.
    Derived { what: String, why: String },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rounded { what, asked, expressed, unit } => {
                let error = (expressed / asked - 1.0) * 100.0;
                let digits = (1.0 - libm::log10(error.abs().max(1e-9))).clamp(0.0, 9.0) as usize;
                write!(f, "{what}: {expressed}{unit} in place of {asked}{unit} ({error:+.digits$} %)")
            }
            Self::Refused { what, nearest } => write!(f, "{what}: no such setting; {nearest}"),
            Self::Derived { what, why } => write!(f, "{what}: {why}"),
        }
    }
}

/// A device as read from a configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    pub device: Device,
    /// What queues are taken for.
    pub roles: Vec<String>,
    pub not_understood: Vec<NotUnderstood>,
}

/// A line or an entry of a configuration that gave no value of the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotUnderstood {
    /// Number of the line, from 1.
    pub line: usize,
    pub text: String,
    pub reason: String,
    /// Whether the line is a setting of queues.
    pub of_queues: bool,
}

/// A text that is not a configuration of the system at all, or is damaged: the line, from 1, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct NotThis {
    pub line: usize,
    pub reason: String,
}

impl Written {
    /// Adds a line.
    pub fn line(&mut self, line: impl fmt::Display) {
        let _ = writeln!(self.text, "{line}");
    }

    /// Notes a setting that the system does not have.
    pub fn refuse(&mut self, what: impl Into<String>, nearest: impl Into<String>) {
        self.note(Note::Refused { what: what.into(), nearest: nearest.into() });
    }

    /// Notes a derivation, unless it is empty.
    pub fn derived(&mut self, what: impl Into<String>, why: &str) {
        if !why.is_empty() {
            self.note(Note::Derived { what: what.into(), why: why.into() });
        }
    }

    /// Notes that `asked` is written as `expressed`, if they differ, and returns the latter.
    pub fn rounded(&mut self, what: impl Into<String>, asked: f64, expressed: f64, unit: &'static str) -> f64 {
        if (asked - expressed).abs() > 0.0 {
            self.note(Note::Rounded { what: what.into(), asked, expressed, unit });
        }
        expressed
    }

    fn note(&mut self, note: Note) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

/// A whole number up to `most`.
pub(crate) fn number(word: &str, most: u64) -> Result<u64, String> {
    let number = word.parse::<u64>().map_err(|_| format!("`{word}` is not a whole number"))?;
    if number <= most { Ok(number) } else { Err(format!("{number} is above {most}")) }
}

//! What the control streams say, one JSON object per line.

use crate::files::transfer::manifest::{Entry, Kind};
use serde::{Deserialize, Serialize};

/// The protocol that is spoken here.
pub(crate) const PROTOCOL: &str = "shallop-files-1";

/// Bytes of a reason, at most.
const MAX_REASON: usize = 1000;

/// A BLAKE3, in hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Sum(pub blake3::Hash);

impl TryFrom<String> for Sum {
    type Error = String;

    fn try_from(text: String) -> Result<Sum, String> {
        blake3::Hash::from_hex(text).map(Sum).map_err(|why| why.to_string())
    }
}

impl From<Sum> for String {
    fn from(sum: Sum) -> String {
        sum.0.to_hex().as_str().to_owned()
    }
}

/// The start of a file that the receiver has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Part {
    /// Its bytes.
    pub len: u64,
    /// Their BLAKE3.
    pub sum: Sum,
}

/// What is said on a control stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Message {
    /// Sender, first.
    Hello {
        /// [`PROTOCOL`].
        protocol: String,
        /// How many entries follow.
        entries: u32,
        /// The sum of their sizes.
        bytes: u64,
    },
    /// Sender: an entry. Numbers count up from 0.
    Entry {
        /// Its number.
        id: u32,
        /// Its path.
        path: String,
        /// What it is.
        kind: Kind,
        /// Its bytes.
        size: u64,
    },
    /// Receiver: what it has of a file.
    Have {
        /// The file's number.
        id: u32,
        /// The BLAKE3 of a file of that name and size.
        whole: Option<Sum>,
        /// Whether such a file may be replaced.
        replace: bool,
        /// The start of one.
        part: Option<Part>,
    },
    /// Sender: the receiver's file is the same.
    Same {
        /// The file's number.
        id: u32,
    },
    /// Sender: the receiver's file is another, and may not be replaced.
    Different {
        /// The file's number.
        id: u32,
    },
    /// Sender: the BLAKE3 of a file whose bytes have all gone.
    Sent {
        /// The file's number.
        id: u32,
        /// The BLAKE3 of all of it.
        sum: Sum,
    },
    /// Sender: nothing more comes of a file.
    Abandon {
        /// The file's number.
        id: u32,
        /// Why.
        reason: String,
    },
    /// Receiver: an entry is in place.
    Done {
        /// Its number.
        id: u32,
    },
    /// Receiver: an entry is not in place, and will not be.
    Failed {
        /// Its number.
        id: u32,
        /// Why.
        reason: String,
    },
    /// Receiver: nothing of this transfer is wanted.
    Refuse {
        /// Why.
        reason: String,
    },
    /// Either side, last: every entry has its answer.
    End,
}

impl Message {
    /// Says an entry.
    pub(crate) fn entry(id: u32, entry: &Entry) -> Message {
        Message::Entry { id, path: entry.path.clone(), kind: entry.kind, size: entry.size }
    }

    /// The name of what is said, for errors.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Message::Hello { .. } => "hello",
            Message::Entry { .. } => "entry",
            Message::Have { .. } => "have",
            Message::Same { .. } => "same",
            Message::Different { .. } => "different",
            Message::Sent { .. } => "sent",
            Message::Abandon { .. } => "abandon",
            Message::Done { .. } => "done",
            Message::Failed { .. } => "failed",
            Message::Refuse { .. } => "refuse",
            Message::End => "end",
        }
    }
}

/// Shortens a reason to what may be said, and keeps a terminal safe from what a peer says: no control characters.
pub(crate) fn tidy(reason: &str) -> String {
    let mut tidy = String::new();
    for character in reason.chars().map(|it| if it.is_control() { ' ' } else { it }) {
        if tidy.len() + character.len_utf8() > MAX_REASON {
            break;
        }
        tidy.push(character);
    }
    tidy
}

#[cfg(test)]
mod tests {
    use super::{Message, Part, Sum, tidy};

    #[test]
    fn what_is_said_is_understood() {
        let sum = Sum(blake3::hash(b"a"));
        let have =
            Message::Have { id: 7, whole: None, replace: true, part: Some(Part { len: 1, sum }) };
        let line = serde_json::to_string(&have).expect("a line");
        assert_eq!(serde_json::from_str::<Message>(&line).expect("a message"), have);
        assert_eq!(serde_json::to_string(&Message::End).expect("a line"), r#"{"say":"end"}"#);
        for bad in [
            r#"{"say":"same","id":1,"more":1}"#,
            r#"{"say":"sent","id":1,"sum":"00"}"#,
            r#"{"say":"same","id":-1}"#,
        ] {
            assert!(serde_json::from_str::<Message>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn reasons_are_short_and_harmless() {
        assert_eq!(tidy("a\u{1b}[31m\nb"), "a [31m b");
        assert_eq!(tidy(&"ü".repeat(2000)).len(), 1000);
    }
}

//! The messages of control streams, one JSON object per line.

use crate::protocol::manifest::{Entry, Kind};
use crate::protocol::token::Token;
use serde::{Deserialize, Serialize};

pub(crate) const PROTOCOL: &str = "shallop-files-3";

/// A BLAKE3 hash, in messages as hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Digest(pub blake3::Hash);

impl TryFrom<String> for Digest {
    type Error = String;

    fn try_from(text: String) -> Result<Digest, String> {
        blake3::Hash::from_hex(text).map(Digest).map_err(|why| why.to_string())
    }
}

impl From<Digest> for String {
    fn from(sum: Digest) -> String {
        sum.0.to_hex().as_str().to_owned()
    }
}

/// A partial file at the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Part {
    /// The length of the partial file, bytes.
    pub len: u64,
    /// The BLAKE3 of the partial file's bytes.
    pub sum: Digest,
}

/// A message of a control stream. `id` is the number of an entry, in the order of `Entry` messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Message {
    /// The sender's first message: its token, the number of entries that follow and the sum of their sizes, and whether
    /// the files follow unasked.
    Hello { protocol: String, token: Token, entries: u32, bytes: u64, pushed: bool },
    /// The sender offers an entry. IDs count up from 0.
    Entry { id: u32, path: String, kind: Kind, size: u64, mode: u16 },
    /// The receiver has a complete file of this name, and asks for the BLAKE3 of the sender's file.
    Ask { id: u32 },
    /// The BLAKE3 of the sender's file.
    Sum { id: u32, sum: Digest },
    /// The receiver wants a file. `part` is the partial file of an earlier transfer with the token of this one.
    Want { id: u32, part: Option<Part> },
    /// The sender cannot send a file.
    Abandon { id: u32, reason: String },
    /// The receiver has the sender's file already.
    Same { id: u32 },
    /// The receiver has put an entry in place.
    Done { id: u32 },
    /// The receiver could not put an entry in place.
    Failed { id: u32, reason: String },
    /// The receiver refuses the whole transfer.
    Refuse { reason: String },
    /// The receiver's last message, after its last answer to an entry.
    End,
}

impl Message {
    pub(crate) fn entry(id: u32, entry: &Entry) -> Message {
        Message::Entry { id, path: entry.path.clone(), kind: entry.kind, size: entry.size, mode: entry.mode }
    }

    /// The name of the message, for errors.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Message::Hello { .. } => "hello",
            Message::Entry { .. } => "entry",
            Message::Ask { .. } => "ask",
            Message::Sum { .. } => "sum",
            Message::Want { .. } => "want",
            Message::Same { .. } => "same",
            Message::Abandon { .. } => "abandon",
            Message::Done { .. } => "done",
            Message::Failed { .. } => "failed",
            Message::Refuse { .. } => "refuse",
            Message::End => "end",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Digest, Message, Part};

    #[test]
    fn messages_decode_to_themselves_and_malformed_ones_are_refused() {
        let sum = Digest(blake3::hash(b"a"));
        let want = Message::Want { id: 7, part: Some(Part { len: 1, sum }) };
        let line = serde_json::to_string(&want).expect("a line");
        assert_eq!(serde_json::from_str::<Message>(&line).expect("a message"), want);
        assert_eq!(serde_json::to_string(&Message::End).expect("a line"), r#"{"say":"end"}"#);
        for bad in
            [r#"{"say":"same","id":1,"more":1}"#, r#"{"say":"sum","id":1,"sum":"00"}"#, r#"{"say":"same","id":-1}"#]
        {
            assert!(serde_json::from_str::<Message>(bad).is_err(), "{bad}");
        }
    }
}

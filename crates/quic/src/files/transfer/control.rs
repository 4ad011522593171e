//! The control streams: lines of bounded length.

use crate::files::transfer::error::TransferError;
use crate::files::transfer::link::Outgoing;
use crate::files::transfer::message::Message;
use std::io::{self, BufRead, BufReader, Read};

/// Bytes of a line, at most: a path of the longest, every byte of it escaped in six, and what surrounds it.
const MAX_LINE: u64 = 32 * 1024;

/// Bytes that are gathered before they are written.
const GATHER: usize = 64 * 1024;

/// Bytes of a stream that are read for courtesy after a refusal, at most.
const MAX_DRAIN: u64 = 1 << 30;

/// Says messages.
pub(crate) struct ControlWriter {
    stream: Box<dyn Outgoing>,
    gathered: Vec<u8>,
}

impl ControlWriter {
    /// Says messages on a stream.
    pub(crate) fn new(stream: Box<dyn Outgoing>) -> ControlWriter {
        ControlWriter { stream, gathered: Vec::new() }
    }

    /// Says a message, now or with the next.
    pub(crate) fn say(&mut self, message: &Message) -> io::Result<()> {
        serde_json::to_writer(&mut self.gathered, message)?;
        self.gathered.push(b'\n');
        if self.gathered.len() >= GATHER { self.flush() } else { Ok(()) }
    }

    /// Says a message now.
    pub(crate) fn say_now(&mut self, message: &Message) -> io::Result<()> {
        self.say(message)?;
        self.flush()
    }

    /// Writes what has been gathered.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if self.gathered.is_empty() {
            return Ok(());
        }
        self.stream.write_all(&self.gathered)?;
        self.gathered.clear();
        self.stream.flush()
    }

    /// Ends the stream.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        self.stream.finish()
    }
}

/// Hears messages.
pub(crate) struct ControlReader {
    stream: BufReader<Box<dyn Read + Send>>,
    line: Vec<u8>,
}

impl ControlReader {
    /// Hears messages on a stream.
    pub(crate) fn new(stream: Box<dyn Read + Send>) -> ControlReader {
        ControlReader { stream: BufReader::new(stream), line: Vec::new() }
    }

    /// Waits for the next message.
    ///
    /// # Errors
    ///
    /// When the link is lost, the stream ends, or what comes is no message.
    pub(crate) fn hear(&mut self) -> Result<Message, TransferError> {
        self.line.clear();
        (&mut self.stream).take(MAX_LINE).read_until(b'\n', &mut self.line)?;
        if self.line.last() != Some(&b'\n') {
            if self.line.len() as u64 == MAX_LINE {
                return Err(TransferError::Protocol(format!(
                    "a line of more than {MAX_LINE} bytes"
                )));
            }
            return Err(TransferError::Link(io::ErrorKind::UnexpectedEof.into()));
        }
        serde_json::from_slice(&self.line).map_err(|why| TransferError::Protocol(why.to_string()))
    }

    /// Reads to the end, so that the peer can come to reading what it is told.
    pub(crate) fn drain(self) {
        let _ = io::copy(&mut self.stream.take(MAX_DRAIN), &mut io::sink());
    }
}

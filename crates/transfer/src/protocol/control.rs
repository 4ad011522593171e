//! Control streams: messages as lines of bounded length.

use crate::{protocol::error::TransferError, protocol::link::Outgoing, protocol::message::Message};
use shallop_quic::tidy;
use std::io::{self, BufRead, BufReader, Read};

/// The longest line of a control stream, bytes: enough for the longest path with each byte escaped as six characters.
const MAX_LINE: u64 = 32 * 1024;

/// The number of buffered bytes at which messages are written.
const BUFFER: usize = 64 * 1024;

/// The most bytes that are read and discarded after a refusal.
const MAX_DRAIN: u64 = 1 << 30;

pub(crate) struct ControlWriter {
    stream: Box<dyn Outgoing>,
    buffer: Vec<u8>,
}

impl ControlWriter {
    pub(crate) fn new(stream: Box<dyn Outgoing>) -> ControlWriter {
        ControlWriter { stream, buffer: Vec::new() }
    }

    /// Buffers a message, and writes all buffered messages once they exceed [`BUFFER`].
    pub(crate) fn write(&mut self, message: &Message) -> io::Result<()> {
        serde_json::to_writer(&mut self.buffer, message)?;
        self.buffer.push(b'\n');
        if self.buffer.len() >= BUFFER { self.flush() } else { Ok(()) }
    }

    /// Writes a message and all buffered ones.
    pub(crate) fn write_now(&mut self, message: &Message) -> io::Result<()> {
        self.write(message)?;
        self.flush()
    }

    /// Writes all buffered messages.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        self.stream.write_all(&self.buffer)?;
        self.buffer.clear();
        self.stream.flush()
    }

    /// Writes all buffered messages and ends the stream.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        self.stream.finish()
    }
}

pub(crate) struct ControlReader {
    stream: BufReader<Box<dyn Read + Send>>,
    line: Vec<u8>,
}

impl ControlReader {
    pub(crate) fn new(stream: Box<dyn Read + Send>) -> ControlReader {
        ControlReader { stream: BufReader::new(stream), line: Vec::new() }
    }

    /// Waits for the next message.
    ///
    /// # Errors
    /// The link is lost, the stream ends, or a line is not a message.
    pub(crate) fn read(&mut self) -> Result<Message, TransferError> {
        self.line.clear();
        (&mut self.stream).take(MAX_LINE).read_until(b'\n', &mut self.line)?;
        if self.line.last() != Some(&b'\n') {
            if self.line.len() as u64 == MAX_LINE {
                return Err(TransferError::Protocol(format!("a line of more than {MAX_LINE} bytes")));
            }
            return Err(TransferError::Link(io::ErrorKind::UnexpectedEof.into()));
        }
        serde_json::from_slice(&self.line).map_err(|why| TransferError::Protocol(tidy(&why.to_string())))
    }

    /// Reads to the end of the stream, so that a peer that is still writing gets to read the refusal.
    pub(crate) fn drain(self) {
        let _ = io::copy(&mut self.stream.take(MAX_DRAIN), &mut io::sink());
    }
}

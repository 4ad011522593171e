//! The records of a stream of files. All numbers are little-endian:
//!
//! - `F`, the entry's number (4 bytes), the offset of the first byte in the file (8 bytes);
//! - chunks: a length from 1 to 262,144 (4 bytes), and that many bytes of the file;
//! - the end: a length of 0, and the BLAKE3 of the whole file (32 bytes). If the sender cannot send the rest of the
//!   file, a length of 2^32 - 1, the length of a reason (2 bytes), and the reason.

use crate::protocol::{CHUNK, message::Digest};
use std::io::{self, BufReader, Read, Write};

const RECORD: u8 = b'F';
const END: u32 = 0;
const ABANDONED: u32 = u32::MAX;

pub(crate) fn write_header(stream: &mut dyn Write, id: u32, offset: u64) -> io::Result<()> {
    stream.write_all(&[RECORD])?;
    stream.write_all(&id.to_le_bytes())?;
    stream.write_all(&offset.to_le_bytes())
}

/// The first length of a reader's buffer, bytes, and the factor by which it grows when a read fills it: a stream whose
/// chunks do not arrive takes little memory.
const FIRST_BUFFER: usize = 16 * 1024;
const GROWTH: usize = 4;

/// Writes up to [`CHUNK`] bytes of the file.
pub(crate) fn write_chunk(stream: &mut dyn Write, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(&(bytes.len() as u32).to_le_bytes())?;
    stream.write_all(bytes)
}

/// Ends a record with the BLAKE3 of the file, or with the reason for which the rest of it is not sent.
pub(crate) fn write_end(stream: &mut dyn Write, end: &Result<Digest, String>) -> io::Result<()> {
    match end {
        Ok(sum) => {
            stream.write_all(&END.to_le_bytes())?;
            stream.write_all(sum.0.as_bytes())
        }
        Err(reason) => {
            stream.write_all(&ABANDONED.to_le_bytes())?;
            stream.write_all(&(reason.len() as u16).to_le_bytes())?;
            stream.write_all(reason.as_bytes())
        }
    }
}

pub(crate) enum Piece<'a> {
    Bytes(&'a [u8]),
    End(Digest),
    Abandoned(String),
}

pub(crate) struct RecordReader {
    stream: BufReader<Box<dyn Read + Send>>,
    /// The bytes of the current chunk that were not read yet.
    left: usize,
    buffer: Vec<u8>,
    /// Whether the last read filled the buffer.
    is_full: bool,
}

impl RecordReader {
    pub(crate) fn new(stream: Box<dyn Read + Send>) -> Self {
        Self { stream: BufReader::new(stream), left: 0, buffer: vec![0; FIRST_BUFFER], is_full: false }
    }

    /// Whether the next read may have to wait.
    pub(crate) fn is_drained(&self) -> bool {
        self.stream.buffer().is_empty()
    }

    /// Reads the entry's number and the offset of the next record. `None` at the end of the stream.
    ///
    /// # Errors
    /// The stream is broken, or has no record here ([`io::ErrorKind::InvalidData`]).
    pub(crate) fn header(&mut self) -> io::Result<Option<(u32, u64)>> {
        let mut mark = [0];
        if self.stream.read(&mut mark)? == 0 {
            return Ok(None);
        }
        if mark != [RECORD] {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(Some((u32::from_le_bytes(self.array()?), u64::from_le_bytes(self.array()?))))
    }

    /// Reads bytes of the file as they arrive, or the end of the record.
    ///
    /// # Errors
    /// As [`header`](Self::header).
    pub(crate) fn piece(&mut self) -> io::Result<Piece<'_>> {
        if self.left == 0 {
            match u32::from_le_bytes(self.array()?) {
                END => return Ok(Piece::End(Digest(self.array()?.into()))),
                ABANDONED => {
                    let mut reason = vec![0; u16::from_le_bytes(self.array()?).into()];
                    self.stream.read_exact(&mut reason)?;
                    return Ok(Piece::Abandoned(String::from_utf8_lossy(&reason).into_owned()));
                }
                length if length as usize > CHUNK => return Err(io::ErrorKind::InvalidData.into()),
                length => self.left = length as usize,
            }
        }
        if self.is_full && self.buffer.len() < CHUNK {
            self.buffer.resize(self.buffer.len() * GROWTH, 0);
        }
        let most = self.left.min(self.buffer.len());
        let got = self.stream.read(&mut self.buffer[..most])?;
        self.is_full = got == self.buffer.len();
        if got == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.left -= got;
        Ok(Piece::Bytes(&self.buffer[..got]))
    }

    fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.stream.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_that_does_not_arrive_takes_little_memory() {
        let begun = [&(CHUNK as u32).to_le_bytes()[..], &[7]].concat();
        let mut reader = RecordReader::new(Box::new(io::Cursor::new(begun)));
        assert!(matches!(reader.piece(), Ok(Piece::Bytes([7]))));
        assert!(reader.piece().is_err() && reader.buffer.capacity() <= FIRST_BUFFER);
        let whole = [&(CHUNK as u32).to_le_bytes()[..], &vec![7; CHUNK]].concat();
        let mut reader = RecordReader::new(Box::new(io::Cursor::new(whole)));
        let mut lengths = Vec::new();
        while let Ok(Piece::Bytes(bytes)) = reader.piece() {
            lengths.push(bytes.len() / 1_024);
        }
        assert_eq!(lengths, [7, 16, 64, 168], "after the 8 KiB that the inner reader has read");
    }
}

//! A tape: what hosts sent in a run and what the network delivered, each with its time, without payload. A network that
//! is given the tape must decide the same.
//!
//! A tape is a text line, `shallop tape 1 SCHEME SEED` and the names of hosts by number, and records: a byte (0 for a
//! frame that was read, 1 for one that was written), the time in picoseconds (8 bytes), the host (4), the length of the
//! frame with its virtio-net header (4), the number of bytes that are kept (2), and these bytes. Numbers are
//! little-endian.

use std::collections::VecDeque;

use shallop_core::{Span, Time};

use crate::lines::Lines;
use crate::offload::HEADER;

/// The most bytes that are kept of a frame: the header of the line, Ethernet, and headers of IPv4 and TCP with options.
const KEPT: usize = HEADER + 14 + 60 + 60;
/// The first words of a tape of any version.
const TITLE: &str = "shallop tape ";
/// The version of tapes.
const VERSION: &str = "1";
/// The most bytes of a tape.
const LONGEST: usize = 1 << 30;

/// Which way a frame went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// A host sent it.
    Read,
    /// A host got it.
    Written,
}

/// A frame on a tape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Which way it went.
    pub way: Way,
    /// When it entered the network, or was due at the host.
    pub at: Time,
    /// The host.
    pub host: u32,
    /// Its length with the header of the line.
    pub length: u32,
    /// The first bytes of it.
    pub bytes: Vec<u8>,
}

/// What is on a tape.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tape {
    /// The index of the scheme, and the seed.
    pub job: (usize, u64),
    /// The names of hosts, by number; none on older tapes.
    pub names: Vec<String>,
    /// The frames, in the order in which the emulator had them.
    pub records: Vec<Record>,
    /// Whether it ends before the run did.
    pub is_cut: bool,
}

/// Why a file is no tape that can be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TapeError {
    /// It does not begin as one.
    #[error("is no tape of a rehearsal")]
    Other,
    /// Another version of shallop has written it.
    #[error("is a tape of version {0}, and this shallop reads version {VERSION}")]
    Version(String),
    /// It ends within a packet, or has what no tape has.
    #[error("is damaged or was cut off behind {0} packets")]
    Damaged(usize),
}

impl Tape {
    /// The bytes of the tape's file.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut title = format!("{TITLE}{VERSION} {} {}", self.job.0, self.job.1);
        // A name with a space would be read as two.
        if !self.names.iter().any(|name| name.contains(char::is_whitespace)) {
            title.extend(self.names.iter().flat_map(|name| [" ", name]));
        }
        let mut bytes = (title + "\n").into_bytes();
        for Record { way, at, host, length, bytes: kept } in &self.records {
            bytes.push(u8::from(*way == Way::Written));
            bytes.extend(at.since_start().as_ps().to_le_bytes());
            bytes.extend(host.to_le_bytes());
            bytes.extend(length.to_le_bytes());
            bytes.extend((kept.len() as u16).to_le_bytes());
            bytes.extend(kept);
        }
        bytes
    }

    /// Reads a tape's file.
    ///
    /// # Errors
    /// If it is none, of another version, or damaged.
    pub fn of_bytes(bytes: &[u8]) -> Result<Self, TapeError> {
        let end = bytes.iter().position(|&byte| byte == b'\n');
        let title = std::str::from_utf8(&bytes[..end.unwrap_or(bytes.len())]).ok();
        let title = title.and_then(|title| title.strip_prefix(TITLE)).ok_or(TapeError::Other)?;
        let mut words = title.split_whitespace();
        let version = words.next().ok_or(TapeError::Damaged(0))?;
        if version != VERSION {
            return Err(TapeError::Version(version.to_owned()));
        }
        let mut job = || Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?));
        let (job, end) = job().zip(end).ok_or(TapeError::Damaged(0))?;
        let names = words.map(str::to_owned).collect();
        let mut records = Vec::new();
        match Self::add_records(&bytes[end + 1..], &mut records) {
            Some(()) => Ok(Self { job, names, records, is_cut: false }),
            None => Err(TapeError::Damaged(records.len())),
        }
    }

    /// Reads records; `None` at the first that is damaged.
    fn add_records(mut rest: &[u8], records: &mut Vec<Record>) -> Option<()> {
        while !rest.is_empty() {
            let (head, after) = rest.split_first_chunk::<19>()?;
            let number = |from: usize| u32::from_le_bytes([0, 1, 2, 3].map(|at| head[from + at]));
            let time = u64::from(number(1)) | u64::from(number(5)) << 32;
            let kept = usize::from(u16::from_le_bytes([head[17], head[18]]));
            let (kept, after) = after.split_at_checked(kept)?;
            let way = match head[0] {
                0 => Way::Read,
                1 => Way::Written,
                _ => return None,
            };
            let at = Time::after_start(Span::from_ps(time));
            let (host, length, bytes) = (number(9), number(13), kept.to_vec());
            records.push(Record { way, at, host, length, bytes });
            rest = after;
        }
        Some(())
    }

    /// The frames that were written.
    pub fn written(&self) -> impl Iterator<Item = &Record> {
        self.records.iter().filter(|record| record.way == Way::Written)
    }

    fn add(&mut self, way: Way, at: Time, host: u32, frame: &[u8]) {
        if self.records.len() * (KEPT + 19) > LONGEST {
            self.is_cut = true;
            return;
        }
        let bytes = frame[..headers(frame).min(frame.len())].to_vec();
        self.records.push(Record { way, at, host, length: frame.len() as u32, bytes });
    }
}

/// Lines that are recorded.
#[derive(Debug)]
pub struct Recorder<L> {
    lines: L,
    /// What has been recorded; nothing is if there is none.
    pub tape: Option<Tape>,
    /// Whether the frame that was read last has no time yet: it is that of the next look at the clock.
    is_open: bool,
}

impl<L> Recorder<L> {
    /// Records these lines on this tape, if there is one.
    pub fn new(lines: L, tape: Option<Tape>) -> Self {
        Self { lines, tape, is_open: false }
    }

    /// The lines.
    pub fn into_inner(self) -> L {
        self.lines
    }
}

impl<L: Lines> Lines for Recorder<L> {
    fn now(&mut self) -> Time {
        let now = self.lines.now();
        if std::mem::take(&mut self.is_open)
            && let Some(record) = self.tape.as_mut().and_then(|tape| tape.records.last_mut())
        {
            record.at = now;
        }
        now
    }

    fn receive(&mut self, holds: &dyn Fn(u32) -> bool, frame: &mut [u8]) -> Option<(u32, usize)> {
        let (host, count) = self.lines.receive(holds, frame)?;
        if let (Some(tape), Some(frame)) = (&mut self.tape, frame.get(..count)) {
            tape.add(Way::Read, Time::ZERO, host, frame);
            self.is_open = !tape.is_cut;
        }
        Some((host, count))
    }

    fn send(&mut self, host: u32, due: Time, frame: &[u8]) -> bool {
        if let Some(tape) = &mut self.tape {
            tape.add(Way::Written, due, host, frame);
        }
        self.lines.send(host, due, frame)
    }

    fn sleep(&mut self, until: Time) {
        self.lines.sleep(until);
    }
}

/// Lines that play a tape: what was read comes again at the same times, without payload.
#[derive(Debug)]
pub struct Player {
    now: Time,
    frames: VecDeque<Record>,
}

impl Player {
    /// Plays this tape.
    #[must_use]
    pub fn new(tape: &Tape) -> Self {
        let read = tape.records.iter().filter(|record| record.way == Way::Read);
        Self { now: Time::ZERO, frames: read.cloned().collect() }
    }
}

impl Lines for Player {
    fn now(&mut self) -> Time {
        self.now
    }

    fn receive(&mut self, _holds: &dyn Fn(u32) -> bool, frame: &mut [u8]) -> Option<(u32, usize)> {
        if self.frames.front()?.at > self.now {
            return None;
        }
        let Record { at, host, length, bytes, .. } = self.frames.pop_front()?;
        self.now = self.now.max(at);
        let into = frame.get_mut(..length as usize)?;
        into.fill(0);
        into.get_mut(..bytes.len())?.copy_from_slice(&bytes);
        Some((host, into.len()))
    }

    fn send(&mut self, _host: u32, _due: Time, _frame: &[u8]) -> bool {
        true
    }

    fn sleep(&mut self, until: Time) {
        let next = self.frames.front().map_or(until, |frame| frame.at.min(until));
        self.now = self.now.max(next);
    }
}

/// The bytes of a frame's headers, with that of the line: all but the payload of TCP and UDP.
fn headers(frame: &[u8]) -> usize {
    let ip = HEADER + 14;
    let transport = ip + frame.get(ip).map_or(0, |first| usize::from(first & 0x0f) * 4);
    let length = match frame.get(ip + 9) {
        Some(6) => frame.get(transport + 12).map_or(20, |offset| usize::from(offset >> 4) * 4),
        _ => 8,
    };
    transport + length
}

/// What two tapes have in common of a packet that was written: its host, time and length, and its headers without
/// checksums, which depend on the payload.
#[must_use]
pub fn decision(record: &Record) -> (u32, Time, u32, Vec<u8>) {
    let mut bytes = record.bytes.clone();
    let ip = HEADER + 14;
    let transport = bytes.get(ip).map_or(0, |first| ip + usize::from(first & 0x0f) * 4);
    // TCP's checksum is 16 bytes into its header, UDP's 6; of other protocols nothing is left out.
    let checksum = match bytes.get(ip + 9) {
        Some(6) => transport + 16,
        Some(17) => transport + 6,
        _ => bytes.len(),
    };
    for at in [checksum, checksum + 1] {
        if let Some(byte) = bytes.get_mut(at) {
            *byte = 0;
        }
    }
    (record.host, record.at, record.length, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tape_is_the_same_after_it_was_written_and_read() {
        let names = vec!["s0".to_owned(), "r0".to_owned()];
        let mut tape = Tape { job: (2, 7), names, ..Tape::default() };
        tape.add(Way::Read, Time::after_start(Span::from_ps(u64::MAX / 3)), 5, &[0x45; 1_500]);
        tape.add(Way::Written, Time::ZERO, 0, &[1; 60]);
        let bytes = tape.to_bytes();
        assert_eq!(Tape::of_bytes(&bytes), Ok(tape.clone()));
        assert_eq!(tape.records[0].bytes.len(), HEADER + 14 + 20 + 8, "no payload");
        for cut in 0..bytes.len() {
            let part = Tape::of_bytes(&bytes[..cut]);
            assert!(part.map_or(true, |part| part.records.len() < 2), "{cut}");
        }
        let cut = Tape::of_bytes(&bytes[..bytes.len() - 1]);
        assert_eq!(cut, Err(TapeError::Damaged(1)));
        assert_eq!(Tape::of_bytes(b"shallop tape 1 x 1\n"), Err(TapeError::Damaged(0)));
        assert_eq!(Tape::of_bytes(b"shallop tape 2 0 1\n"), Err(TapeError::Version("2".into())));
        assert_eq!(Tape::of_bytes(b"title = \"a\"\n"), Err(TapeError::Other));
        assert_eq!(Tape::of_bytes(b""), Err(TapeError::Other));
        // A tape without names.
        assert_eq!(Tape::of_bytes(b"shallop tape 1 0 1\n").map(|tape| tape.names), Ok(vec![]));
    }
}

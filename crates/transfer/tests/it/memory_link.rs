//! A link in memory that breaks after a given number of bytes.

use shallop_transfer::protocol::{Link, Outgoing};
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

/// The most bytes of a stream that are written and not read.
const WINDOW: usize = 48 * 1024;

#[derive(Default)]
struct Pipe {
    bytes: VecDeque<u8>,
    finished: bool,
    reset: bool,
    dropped: bool,
}

#[derive(Default)]
struct State {
    /// The bytes until the link breaks.
    budget: Option<u64>,
    broken: bool,
    closed_by: Option<usize>,
    pipes: Vec<Pipe>,
    /// The streams that each side has not accepted yet.
    incoming: [VecDeque<usize>; 2],
    written: u64,
}

impl State {
    fn alive(&self) -> io::Result<()> {
        if self.broken {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        if self.closed_by.is_some() {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        Ok(())
    }
}

#[derive(Clone, Default)]
struct Shared(Arc<(Mutex<State>, Condvar)>);

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.0.lock().expect("no panic while locked")
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.0.1.wait(state).expect("no panic while locked")
    }

    fn notify(&self) {
        self.0.1.notify_all();
    }
}

pub(crate) struct MemoryLink {
    shared: Shared,
    side: usize,
}

impl MemoryLink {
    /// Both sides of a link that breaks after `budget` bytes of both directions.
    pub(crate) fn pair(budget: Option<u64>) -> (MemoryLink, MemoryLink) {
        let shared = Shared::default();
        shared.lock().budget = budget;
        (MemoryLink { shared: shared.clone(), side: 0 }, MemoryLink { shared, side: 1 })
    }

    pub(crate) fn written(&self) -> u64 {
        self.shared.lock().written
    }
}

impl Drop for MemoryLink {
    fn drop(&mut self) {
        self.close("dropped");
    }
}

impl Link for MemoryLink {
    fn open_uni(&self) -> io::Result<Box<dyn Outgoing>> {
        let mut state = self.shared.lock();
        state.alive()?;
        let pipe = state.pipes.len();
        state.pipes.push(Pipe::default());
        state.incoming[1 - self.side].push_back(pipe);
        self.shared.notify();
        Ok(Box::new(Writer { shared: self.shared.clone(), pipe }))
    }

    fn accept_uni(&self) -> io::Result<Option<Box<dyn Read + Send>>> {
        let mut state = self.shared.lock();
        loop {
            if state.closed_by == Some(1 - self.side) {
                return Ok(None);
            }
            state.alive()?;
            if let Some(pipe) = state.incoming[self.side].pop_front() {
                return Ok(Some(Box::new(Reader { shared: self.shared.clone(), pipe })));
            }
            state = self.shared.wait(state);
        }
    }

    fn close(&self, _reason: &str) {
        self.shared.lock().closed_by.get_or_insert(self.side);
        self.shared.notify();
    }
}

struct Writer {
    shared: Shared,
    pipe: usize,
}

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.shared.lock();
        loop {
            state.alive()?;
            let pipe = &state.pipes[self.pipe];
            if pipe.dropped {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            let mut count = bytes.len().min(WINDOW - pipe.bytes.len());
            if let Some(budget) = &mut state.budget {
                count = count.min(*budget as usize);
                *budget -= count as u64;
                state.broken = *budget == 0;
            }
            if count > 0 || bytes.is_empty() || state.broken {
                state.written += count as u64;
                state.pipes[self.pipe].bytes.extend(&bytes[..count]);
                self.shared.notify();
                state.alive()?;
                return Ok(count);
            }
            state = self.shared.wait(state);
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Outgoing for Writer {
    fn finish(self: Box<Self>) -> io::Result<()> {
        let mut state = self.shared.lock();
        state.alive()?;
        state.pipes[self.pipe].finished = true;
        Ok(())
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        let pipe = &mut state.pipes[self.pipe];
        pipe.reset = !pipe.finished;
        self.shared.notify();
    }
}

struct Reader {
    shared: Shared,
    pipe: usize,
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut state = self.shared.lock();
        loop {
            state.alive()?;
            let pipe = &mut state.pipes[self.pipe];
            if pipe.reset {
                return Err(io::ErrorKind::ConnectionReset.into());
            }
            if !pipe.bytes.is_empty() || pipe.finished {
                let count = pipe.bytes.read(buffer)?;
                self.shared.notify();
                return Ok(count);
            }
            state = self.shared.wait(state);
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.shared.lock().pipes[self.pipe].dropped = true;
        self.shared.notify();
    }
}

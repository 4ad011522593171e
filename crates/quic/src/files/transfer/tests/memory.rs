//! A link within this process, which breaks after a given number of bytes.

use crate::files::transfer::{Link, Outgoing};
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

/// Bytes of a stream that are written and not read, at most.
const WINDOW: usize = 48 * 1024;

#[derive(Default)]
struct Pipe {
    bytes: VecDeque<u8>,
    finished: bool,
    reset: bool,
    dropped: bool,
}

#[derive(Default)]
struct World {
    /// Bytes until it breaks.
    budget: Option<u64>,
    broken: bool,
    closed_by: Option<usize>,
    pipes: Vec<Pipe>,
    /// Streams that each side has not accepted.
    incoming: [VecDeque<usize>; 2],
    /// All bytes written.
    written: u64,
}

impl World {
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
struct Shared(Arc<(Mutex<World>, Condvar)>);

impl Shared {
    fn lock(&self) -> MutexGuard<'_, World> {
        self.0.0.lock().expect("no panic while locked")
    }

    fn wait<'a>(&self, world: MutexGuard<'a, World>) -> MutexGuard<'a, World> {
        self.0.1.wait(world).expect("no panic while locked")
    }

    fn notify(&self) {
        self.0.1.notify_all();
    }
}

/// One side of a link.
pub(super) struct Memory {
    shared: Shared,
    side: usize,
}

impl Memory {
    /// Both sides of a link that breaks after so many bytes, both directions together.
    pub(super) fn pair(budget: Option<u64>) -> (Memory, Memory) {
        let shared = Shared::default();
        shared.lock().budget = budget;
        (Memory { shared: shared.clone(), side: 0 }, Memory { shared, side: 1 })
    }

    /// All bytes that have been written, in both directions.
    pub(super) fn written(&self) -> u64 {
        self.shared.lock().written
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.close("dropped");
    }
}

impl Link for Memory {
    fn open_uni(&self) -> io::Result<Box<dyn Outgoing>> {
        let mut world = self.shared.lock();
        world.alive()?;
        let pipe = world.pipes.len();
        world.pipes.push(Pipe::default());
        world.incoming[1 - self.side].push_back(pipe);
        self.shared.notify();
        Ok(Box::new(Writer { shared: self.shared.clone(), pipe }))
    }

    fn accept_uni(&self) -> io::Result<Option<Box<dyn Read + Send>>> {
        let mut world = self.shared.lock();
        loop {
            if world.closed_by == Some(1 - self.side) {
                return Ok(None);
            }
            world.alive()?;
            if let Some(pipe) = world.incoming[self.side].pop_front() {
                return Ok(Some(Box::new(Reader { shared: self.shared.clone(), pipe })));
            }
            world = self.shared.wait(world);
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
        let mut world = self.shared.lock();
        loop {
            world.alive()?;
            let pipe = &world.pipes[self.pipe];
            if pipe.dropped {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            let mut count = bytes.len().min(WINDOW - pipe.bytes.len());
            if let Some(budget) = &mut world.budget {
                count = count.min(*budget as usize);
                *budget -= count as u64;
                world.broken = *budget == 0;
            }
            if count > 0 || bytes.is_empty() || world.broken {
                world.written += count as u64;
                world.pipes[self.pipe].bytes.extend(&bytes[..count]);
                self.shared.notify();
                world.alive()?;
                return Ok(count);
            }
            world = self.shared.wait(world);
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Outgoing for Writer {
    fn finish(self: Box<Self>) -> io::Result<()> {
        let mut world = self.shared.lock();
        world.alive()?;
        world.pipes[self.pipe].finished = true;
        Ok(())
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let mut world = self.shared.lock();
        let pipe = &mut world.pipes[self.pipe];
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
        let mut world = self.shared.lock();
        loop {
            world.alive()?;
            let pipe = &mut world.pipes[self.pipe];
            if pipe.reset {
                return Err(io::ErrorKind::ConnectionReset.into());
            }
            if !pipe.bytes.is_empty() || pipe.finished {
                let count = pipe.bytes.read(buffer)?;
                self.shared.notify();
                return Ok(count);
            }
            world = self.shared.wait(world);
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.shared.lock().pipes[self.pipe].dropped = true;
        self.shared.notify();
    }
}

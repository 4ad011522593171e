//! Shared parts of the threads of hosts: the clock of the run, waiting for sockets, and the report on flows.

use crate::tcp_info::TcpInfoLog;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::time::Timespec;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The longest time until a thread of the hosts notices that the run is over.
pub(crate) const LOOK: Duration = Duration::from_millis(5);
const EVENTS: usize = 64;

/// The time of the simulated network: the time of this machine since the start of the run, less the time for which the
/// machine stood still, divided by the factor by which the run is stretched.
pub(crate) struct NetworkClock {
    start: OnceLock<Instant>,
    /// The time of this machine for which it stood still, in nanoseconds.
    stood_still: AtomicU64,
    /// How many times slower than this machine's clock the network's clock is; at least 1.
    pub(crate) stretch: u32,
}

impl NetworkClock {
    pub(crate) fn new(stretch: u32) -> Self {
        Self { start: OnceLock::new(), stood_still: AtomicU64::new(0), stretch: stretch.max(1) }
    }

    /// The time of this machine at the start of the run, once it has started.
    pub(crate) fn started(&self) -> Option<Instant> {
        self.start.get().copied()
    }

    /// The network's time, which starts with the first call.
    pub(crate) fn now(&self) -> Duration {
        self.since(*self.start.get_or_init(Instant::now))
    }

    /// The network's time; `None` before the start.
    pub(crate) fn elapsed(&self) -> Option<Duration> {
        self.start.get().map(|&start| self.since(start))
    }

    fn since(&self, start: Instant) -> Duration {
        let still = Duration::from_nanos(self.stood_still.load(Ordering::Relaxed));
        start.elapsed().saturating_sub(still) / self.stretch
    }

    /// Takes this much of the network's time back, because the machine stood still.
    pub(crate) fn take_back(&self, time: Duration) {
        let nanoseconds = (time * self.stretch).as_nanos() as u64;
        self.stood_still.fetch_add(nanoseconds, Ordering::Relaxed);
    }

    /// How long this machine takes for a time of the network.
    pub(crate) fn real(&self, time: Duration) -> Duration {
        time.saturating_mul(self.stretch)
    }
}

/// The clock of a run, for threads of hosts.
#[derive(Clone, Copy)]
pub(crate) struct RunClock<'a> {
    pub(crate) network: &'a NetworkClock,
    pub(crate) stop: &'a AtomicBool,
}

impl RunClock<'_> {
    /// The network's time; `None` before the start.
    pub(crate) fn elapsed(&self) -> Option<Duration> {
        self.network.elapsed()
    }

    pub(crate) fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Waits for sockets (`epoll(7)`).
pub(crate) struct Poll {
    epoll: OwnedFd,
    events: Vec<Event>,
}

impl Poll {
    pub(crate) fn new() -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        Ok(Self { epoll, events: Vec::with_capacity(EVENTS) })
    }

    /// Adds a socket, whose events have this number.
    pub(crate) fn add(&self, socket: &impl AsFd, number: u64, flags: EventFlags) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, socket, EventData::new_u64(number), flags)?)
    }

    /// Waits for events, at most this long. Returns the numbers of sockets with events.
    pub(crate) fn wait(&mut self, timeout: Duration) -> impl Iterator<Item = u64> {
        let timeout = Timespec { tv_sec: timeout.as_secs().cast_signed(), tv_nsec: i64::from(timeout.subsec_nanos()) };
        self.events.clear();
        // An interrupted wait is a short one.
        let _ = epoll::wait(&self.epoll, spare_capacity(&mut self.events), Some(&timeout));
        self.events.iter().map(|event| event.data.u64())
    }
}

#[derive(Debug, Default)]
pub(crate) struct FlowReport {
    /// The numbers of failed flows, with the errors.
    pub(crate) failures: Vec<(u32, String)>,
    /// Payload bytes that were received and had the right contents.
    pub(crate) checked: u64,
    /// The time for which the threads of hosts waited for a processor.
    pub(crate) waited: Duration,
    /// The part of the time that TCP flows without an end had nothing to send: a mean over them.
    pub(crate) starved: f64,
    /// The longest delay of a flow's start, or of a datagram.
    pub(crate) late: Duration,
    /// The longest delay of a datagram.
    pub(crate) datagrams_late: Duration,
    pub(crate) tcp_info: TcpInfoLog,
}

impl FlowReport {
    /// Adds the report about the flows of another thread.
    pub(crate) fn add(&mut self, other: Self) {
        self.failures.extend(other.failures);
        self.checked += other.checked;
        self.waited += other.waited;
        self.late = self.late.max(other.late);
        self.datagrams_late = self.datagrams_late.max(other.datagrams_late);
    }

    /// Updates the longest delay with an event that was due at `due` and happened at time `now` of the run.
    pub(crate) fn record_delay(&mut self, due: Duration, now: Option<Duration>) {
        self.late = self.late.max(now.unwrap_or_default().saturating_sub(due));
    }
}

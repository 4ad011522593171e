//! The thread that keeps an endpoint going: it waits for datagrams and deadlines, and looks at the clock without a
//! pause shortly before a deadline.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fd::OwnedFd;
use rustix::time::Timespec;

use crate::connection::Datagram;
use crate::core::{Arrival, Core};
use crate::socket::{Inbox, Socket};

/// Before a deadline the thread does not sleep: a timer of the kernel is not as exact.
pub(crate) const SPIN: Duration = Duration::from_micros(60);
/// System calls that receive before what is due is looked at.
const BATCH: usize = 2;
/// How long a full socket is waited for before a datagram counts as lost.
const FULL: Duration = Duration::from_millis(2);
/// Without a deadline.
const LONG: Duration = Duration::from_secs(1);

/// What the thread and the users of an endpoint share.
pub(crate) struct Shared {
    core: Mutex<Core>,
    /// Wakes the thread.
    bell: OwnedFd,
}

impl Shared {
    pub(crate) fn new(core: Core) -> io::Result<Self> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { core: Mutex::new(core), bell })
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something is to be sent, perhaps.
    pub(crate) fn ring(&self) {
        // A bell that cannot ring louder has rung.
        let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
    }

    fn silence(&self) {
        let _ = rustix::io::read(&self.bell, &mut [0; 8]);
    }
}

/// Runs until the endpoint is closed and has said so to all peers.
pub(crate) fn run(shared: &Arc<Shared>, mut socket: Socket) -> io::Result<()> {
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    let mut inbox = Inbox::default();
    loop {
        receive(shared, &socket, &mut inbox)?;
        let now = Instant::now();
        let (out, next, is_over) = {
            let mut core = shared.lock();
            let out = core.transmit(now);
            (out, core.wakeup(), core.is_closed && core.connections.is_empty())
        };
        send(&mut socket, &out)?;
        if is_over {
            return Ok(());
        }
        sleep(shared, &socket, next)?;
    }
}

fn receive(shared: &Shared, socket: &Socket, inbox: &mut Inbox) -> io::Result<()> {
    for _ in 0..BATCH {
        // Nobody waits for the lock while the system is asked.
        let mut core = None;
        let take = |arrival: &Arrival<'_>| {
            let (core, now) = core.get_or_insert_with(|| (shared.lock(), Instant::now()));
            core.on_datagram(*now, arrival);
        };
        if !socket.receive(inbox, take)? {
            break;
        }
    }
    Ok(())
}

fn send(socket: &mut Socket, mut datagrams: &[Datagram]) -> io::Result<()> {
    while !datagrams.is_empty() {
        let mut sent = socket.send(datagrams)?;
        if sent == 0 {
            wait(&[PollFd::new(&*socket, PollFlags::OUT)], FULL)?;
            sent = socket.send(datagrams)?.max(1);
        }
        datagrams = &datagrams[sent..];
    }
    Ok(())
}

fn sleep(shared: &Shared, socket: &Socket, next: Option<Instant>) -> io::Result<()> {
    let ahead = next.map_or(LONG, |at| at.saturating_duration_since(Instant::now()));
    let timeout = ahead.saturating_sub(SPIN);
    let fds = [PollFd::new(socket, PollFlags::IN), PollFd::new(&shared.bell, PollFlags::IN)];
    wait(&fds, timeout)?;
    shared.silence();
    Ok(())
}

fn wait(fds: &[PollFd<'_>], timeout: Duration) -> io::Result<()> {
    let mut fds = fds.to_vec();
    let timeout = Timespec {
        tv_sec: timeout.as_secs().cast_signed(),
        tv_nsec: i64::from(timeout.subsec_nanos()),
    };
    match poll(&mut fds, Some(&timeout)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

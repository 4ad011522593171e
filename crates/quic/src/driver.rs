//! The thread that keeps an endpoint going: it waits for datagrams and deadlines, and looks at the clock without a
//! pause shortly before a deadline.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fd::OwnedFd;
use rustix::time::Timespec;

use crate::core::Core;
use crate::socket::Socket;

/// Before a deadline the thread does not sleep: a timer of the kernel is not as exact.
pub(crate) const SPIN: Duration = Duration::from_micros(60);
/// Datagrams that are received before what is due is looked at.
const BATCH: usize = 32;
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
    loop {
        receive(shared, &mut socket)?;
        let now = Instant::now();
        let (out, next, is_over) = {
            let mut core = shared.lock();
            let out = core.transmit(now);
            (out, core.wakeup(), core.is_closed && core.connections.is_empty())
        };
        for datagram in &out {
            if !socket.send(datagram)? {
                wait(&[PollFd::new(&socket, PollFlags::OUT)], FULL)?;
                socket.send(datagram)?;
            }
        }
        if is_over {
            return Ok(());
        }
        sleep(shared, &socket, next)?;
    }
}

fn receive(shared: &Shared, socket: &mut Socket) -> io::Result<()> {
    for _ in 0..BATCH {
        let Some(arrival) = socket.receive()? else { break };
        shared.lock().on_datagram(Instant::now(), &arrival);
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

//! The thread of an endpoint, which waits for datagrams and deadlines. Shortly before a deadline it polls the clock
//! instead of sleeping, because timers of the kernel are not exact enough. Under a kernel in virtual time sleeps are
//! exact and time stands still while a program computes, so it always sleeps there.

use crate::config::SPIN;
use crate::endpoint_state::EndpointState;
use crate::sockets::datagram::{IncomingDatagram, OutgoingDatagram};
use crate::sockets::socket::{ReceiveBuffers, Socket};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::{fd::OwnedFd, time::Timespec};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The number of sleeps at the start that measure how exact timers are.
const TRIALS: usize = 8;
/// The length of a sleep that measures how exact timers are.
const TRIAL: Duration = Duration::from_micros(20);
/// The delay up to which timers count as exact.
const EXACT: Duration = Duration::from_micros(2);
/// `poll` may end late by 1/1,000 of its timeout (`select_estimate_accuracy` in Linux).
const POLL_SLACK: u32 = 1_000;
/// The longest timeout of `poll` that ends at most a microsecond late ([`POLL_SLACK`]).
const SHORT: Duration = Duration::from_millis(1);
/// The most receive calls before the thread checks deadlines.
const BATCH: usize = 2;
/// The time limit for sending to a full socket, after which a datagram is dropped.
const SEND_TIMEOUT: Duration = Duration::from_millis(2);
/// The timeout of `poll` if there is no deadline.
const NO_DEADLINE: Duration = Duration::from_secs(1);

/// The state of an endpoint, shared by its thread and its handles.
pub(crate) struct SharedState {
    state: Mutex<EndpointState>,
    /// An eventfd that wakes the thread.
    wake_fd: OwnedFd,
}

impl SharedState {
    pub(crate) fn new(state: EndpointState) -> io::Result<Self> {
        let wake_fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { state: Mutex::new(state), wake_fd })
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, EndpointState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the thread, because there may be something to send.
    pub(crate) fn wake_thread(&self) {
        // A write fails only if the counter is full, and then the thread is awake.
        let _ = rustix::io::write(&self.wake_fd, &1_u64.to_ne_bytes());
    }

    fn clear_wake(&self) {
        let _ = rustix::io::read(&self.wake_fd, &mut [0; 8]);
    }
}

/// Runs until the endpoint is closed and all peers were told.
pub(crate) fn run(shared: &Arc<SharedState>, mut socket: Socket) -> io::Result<()> {
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    let (spin, mut inbox) = (spin()?, ReceiveBuffers::default());
    let mut now = Instant::now();
    loop {
        let (out, next, is_over) = {
            let mut state = shared.lock();
            state.datagram_drops += socket.take_drops();
            let out = state.transmit(now);
            (out, state.wakeup(), state.is_closed && state.connections.is_empty())
        };
        send(&mut socket, &out)?;
        if is_over {
            return Ok(());
        }
        // In virtual time no time has passed, and reading the clock is expensive.
        let asleep_at = if spin.is_zero() { now } else { Instant::now() };
        let has_arrived = sleep(shared, &socket, next, asleep_at, spin)?;
        now = Instant::now();
        if has_arrived {
            receive(shared, &mut socket, &mut inbox, now)?;
            if !spin.is_zero() {
                now = Instant::now();
            }
        }
    }
}

/// Measures sleeps, and returns the time before a deadline in which the thread has to poll the clock.
fn spin() -> io::Result<Duration> {
    let mut latest = Duration::ZERO;
    for _ in 0..TRIALS {
        let until = Instant::now() + TRIAL;
        wait(&mut [], TRIAL)?;
        latest = latest.max(until.elapsed());
    }
    Ok(spin_of(latest))
}

fn spin_of(latest: Duration) -> Duration {
    if latest <= EXACT { Duration::ZERO } else { SPIN }
}

fn receive(shared: &SharedState, socket: &mut Socket, inbox: &mut ReceiveBuffers, now: Instant) -> io::Result<()> {
    for _ in 0..BATCH {
        // The state is not locked during the system call.
        let mut state = None;
        let take = |arrival: &IncomingDatagram<'_>| {
            state.get_or_insert_with(|| shared.lock()).on_datagram(now, arrival);
        };
        if !socket.receive(inbox, take)? {
            break;
        }
    }
    Ok(())
}

fn send(socket: &mut Socket, mut datagrams: &[OutgoingDatagram]) -> io::Result<()> {
    while !datagrams.is_empty() {
        let mut done = socket.send(datagrams);
        if done == 0 {
            wait(&mut [PollFd::new(&*socket, PollFlags::OUT)], SEND_TIMEOUT)?;
            done = socket.send(datagrams);
        }
        if done == 0 {
            socket.drops.unsent += 1;
            done = 1;
        }
        datagrams = &datagrams[done..];
    }
    Ok(())
}

/// Sleeps from `now` until shortly before the next deadline, or until a datagram arrives or a handle wakes the thread.
/// Returns whether datagrams have arrived.
fn sleep(
    shared: &SharedState, socket: &Socket, next: Option<Instant>, now: Instant, spin: Duration,
) -> io::Result<bool> {
    let mut fds = [PollFd::new(socket, PollFlags::IN), PollFd::new(&shared.wake_fd, PollFlags::IN)];
    let ahead = |now| next.map_or(NO_DEADLINE, |at| at.saturating_duration_since(now));
    let timeout = timeout(ahead(now), spin);
    if wait(&mut fds, timeout)? == 0 && timeout > SHORT && next.is_some() {
        wait(&mut fds, ahead(Instant::now()).saturating_sub(spin))?;
    }
    let [has_arrived, has_rung] = [0, 1].map(|at: usize| !fds[at].revents().is_empty());
    if has_rung {
        shared.clear_wake();
    }
    Ok(has_arrived)
}

/// The timeout with which `poll` ends at least `spin` before a deadline.
fn timeout(ahead: Duration, spin: Duration) -> Duration {
    let timeout = ahead.saturating_sub(spin);
    if timeout > SHORT { timeout.saturating_sub(timeout / POLL_SLACK) } else { timeout }
}

/// Waits until a file descriptor is ready, and returns how many are.
fn wait(fds: &mut [PollFd<'_>], timeout: Duration) -> io::Result<usize> {
    let timeout = Timespec { tv_sec: timeout.as_secs().cast_signed(), tv_nsec: i64::from(timeout.subsec_nanos()) };
    match poll(fds, Some(&timeout)) {
        Err(rustix::io::Errno::INTR) => Ok(0),
        ready => Ok(ready?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_leave_room_for_polling_the_clock_and_for_the_slack_of_poll() {
        let ms = Duration::from_millis;
        assert_eq!(timeout(Duration::from_micros(50), SPIN), Duration::ZERO);
        assert_eq!(timeout(ms(1), Duration::ZERO), ms(1));
        for spin in [Duration::ZERO, SPIN] {
            let longest = timeout(ms(500), spin);
            assert!(longest + longest / POLL_SLACK <= ms(500).saturating_sub(spin), "{longest:?}");
            assert!(longest > ms(499));
        }
    }

    #[test]
    fn the_clock_is_polled_unless_all_sleeps_are_exact() {
        assert_eq!(spin_of(Duration::from_nanos(600)), Duration::ZERO);
        assert_eq!(spin_of(Duration::from_micros(55)), SPIN);
    }
}

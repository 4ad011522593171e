//! The thread that keeps an endpoint going: it waits for datagrams and deadlines, and looks at the clock without a
//! pause shortly before a deadline, unless sleeps of this machine end when they should: those of a kernel in virtual
//! time do, and time stands still there while a program computes.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fd::OwnedFd;
use rustix::time::Timespec;

use crate::connection::Datagram;
use crate::core::Core;
use crate::sockets::datagram::Arrival;
use crate::sockets::socket::{Inbox, Socket};

/// So long before a deadline the thread does not sleep: a timer of the kernel is not as exact.
pub(crate) const SPIN: Duration = Duration::from_micros(60);
/// Sleeps at the start that show how exact timers are, how long each is, and how late it may end.
const TRIALS: usize = 8;
const TRIAL: Duration = Duration::from_micros(20);
const EXACT: Duration = Duration::from_micros(2);
/// `poll` ends up to a thousandth of its timeout late (`select_estimate_accuracy` of Linux).
const POLL_SLACK: u32 = 1_000;
/// Timeouts of which that is no more than a microsecond.
const SHORT: Duration = Duration::from_millis(1);
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
    let (spin, mut inbox) = (spin()?, Inbox::default());
    let mut now = Instant::now();
    loop {
        let (out, next, is_over) = {
            let mut core = shared.lock();
            core.datagram_drops += socket.take_drops();
            let out = core.transmit(now);
            (out, core.wakeup(), core.is_closed && core.connections.is_empty())
        };
        send(&mut socket, &out)?;
        if is_over {
            return Ok(());
        }
        // Where sleeps are exact no time has passed, and to ask for it costs more than what was done.
        let asleep_at = if spin.is_zero() { now } else { Instant::now() };
        let has_arrived = sleep(shared, &socket, next, (asleep_at, spin))?;
        now = Instant::now();
        if has_arrived {
            receive(shared, &mut socket, &mut inbox, now)?;
            if !spin.is_zero() {
                now = Instant::now();
            }
        }
    }
}

/// How long before a deadline the thread looks at the clock without a pause: not at all if sleeps end on time.
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

/// Receives what had arrived by now.
fn receive(
    shared: &Shared,
    socket: &mut Socket,
    inbox: &mut Inbox,
    now: Instant,
) -> io::Result<()> {
    for _ in 0..BATCH {
        // Nobody waits for the lock while the system is asked.
        let mut core = None;
        let take = |arrival: &Arrival<'_>| {
            core.get_or_insert_with(|| shared.lock()).on_datagram(now, arrival);
        };
        if !socket.receive(inbox, take)? {
            break;
        }
    }
    Ok(())
}

fn send(socket: &mut Socket, mut datagrams: &[Datagram]) -> io::Result<()> {
    while !datagrams.is_empty() {
        let mut done = socket.send(datagrams);
        if done == 0 {
            wait(&mut [PollFd::new(&*socket, PollFlags::OUT)], FULL)?;
            done = socket.send(datagrams);
        }
        if done == 0 {
            socket.give_up();
            done = 1;
        }
        datagrams = &datagrams[done..];
    }
    Ok(())
}

/// Sleeps from now until shortly before the next deadline, and not longer than until something happens. True if
/// datagrams have arrived.
fn sleep(
    shared: &Shared,
    socket: &Socket,
    next: Option<Instant>,
    (now, spin): (Instant, Duration),
) -> io::Result<bool> {
    let mut fds = [PollFd::new(socket, PollFlags::IN), PollFd::new(&shared.bell, PollFlags::IN)];
    let ahead = |now| next.map_or(LONG, |at| at.saturating_duration_since(now));
    let timeout = timeout(ahead(now), spin);
    if wait(&mut fds, timeout)? == 0 && timeout > SHORT && next.is_some() {
        wait(&mut fds, ahead(Instant::now()).saturating_sub(spin))?;
    }
    let [has_arrived, has_rung] = [0, 1].map(|at: usize| !fds[at].revents().is_empty());
    if has_rung {
        shared.silence();
    }
    Ok(has_arrived)
}

/// The timeout with which `poll` does not end later than `spin` before a deadline that is so far ahead.
fn timeout(ahead: Duration, spin: Duration) -> Duration {
    let timeout = ahead.saturating_sub(spin);
    if timeout > SHORT { timeout.saturating_sub(timeout / POLL_SLACK) } else { timeout }
}

/// Waits for one of these descriptors, and returns how many are ready.
fn wait(fds: &mut [PollFd<'_>], timeout: Duration) -> io::Result<usize> {
    let timeout = Timespec {
        tv_sec: timeout.as_secs().cast_signed(),
        tv_nsec: i64::from(timeout.subsec_nanos()),
    };
    match poll(fds, Some(&timeout)) {
        Err(rustix::io::Errno::INTR) => Ok(0),
        ready => Ok(ready?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_timeout_leaves_room_for_the_slack_of_poll_and_a_short_one_for_the_spin() {
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
    fn only_where_every_sleep_ends_on_time_the_clock_is_not_watched() {
        assert_eq!(spin_of(Duration::from_nanos(600)), Duration::ZERO);
        assert_eq!(spin_of(Duration::from_micros(55)), SPIN);
    }
}

//! The links between hosts and the emulator: a virtual network interface (TAP) in each host, with offload as in a card,
//! or an interface of this machine that replaces the host.

use crate::attached::Interface;
use crate::run_clock::{NetworkClock, Poll};
use rustix::{event::epoll::EventFlags, io::Errno};
use shallop_core::{Span, Time};
use shallop_hosts::PacketIo;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};
use std::{collections::VecDeque, io};
use tun_rs::{DeviceBuilder, Layer, SyncDevice};

/// The name of the virtual interface in each host.
pub(crate) const NAME: &str = "eth0";
/// The emulator polls without sleeping for this time before a deadline, because timers of the kernel are less exact.
const SPIN: Duration = Duration::from_micros(60);
/// The number of reads after which all links are polled, even while some have frames.
const READS: u32 = 8;
/// The emulator sleeps for one part in this many of its time, in short naps: Linux stops a real-time thread that never
/// sleeps for 50 ms in each second (`sched_rt_runtime_us`).
const GIVE_BACK: u32 = 12;
const NAP: Duration = Duration::from_micros(60);

/// Creates the interface of a host, in the network namespace of this thread.
pub(crate) fn open() -> io::Result<SyncDevice> {
    let device = DeviceBuilder::new().name(NAME).layer(Layer::L2).offload(true).enable(false);
    let device = device.build_sync()?;
    device.set_nonblocking(true)?;
    Ok(device)
}

pub(crate) enum HostLink {
    /// The virtual interface of a namespace.
    Tap(SyncDevice),
    /// An interface of this machine that replaces the host.
    Attached(Interface),
}

impl AsFd for HostLink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tap(device) => device.as_fd(),
            Self::Attached(interface) => interface.as_fd(),
        }
    }
}

impl HostLink {
    /// Reads a frame. [`Errno::AGAIN`] if no frame is there.
    fn receive(&mut self, frame: &mut [u8]) -> Result<usize, Errno> {
        match self {
            Self::Tap(device) => rustix::io::read(device, frame),
            Self::Attached(interface) => interface.receive(frame).ok_or(Errno::AGAIN),
        }
    }

    fn send(&mut self, frame: &[u8]) -> bool {
        match self {
            Self::Tap(device) => rustix::io::write(device, frame) == Ok(frame.len()),
            Self::Attached(interface) => interface.send(frame),
        }
    }
}

/// The links to all hosts, and the clock of the network, which starts at its first use.
pub(crate) struct HostLinks<'a> {
    pub(crate) links: Vec<HostLink>,
    poll: Poll,
    /// The hosts whose links may have frames, in the order of reading.
    ready: VecDeque<u32>,
    is_ready: Vec<bool>,
    reads: u32,
    clock: &'a NetworkClock,
    /// The time that the thread still has to sleep, and the time when it was last updated. `None` without real-time
    /// priority.
    debt: Option<(Duration, Instant)>,
}

impl<'a> HostLinks<'a> {
    /// Creates the links to hosts, by number. `gives_back` is true for a real-time thread, which has to sleep at times.
    pub(crate) fn new(links: Vec<HostLink>, clock: &'a NetworkClock, gives_back: bool) -> io::Result<Self> {
        let poll = Poll::new()?;
        for (number, link) in (0..).zip(&links) {
            poll.add(link, number, EventFlags::IN | EventFlags::ET)?;
        }
        let count = links.len();
        let debt = gives_back.then(|| (Duration::ZERO, Instant::now()));
        Ok(Self { links, poll, ready: (0..count as u32).collect(), is_ready: vec![true; count], reads: 0, clock, debt })
    }

    /// Finds the links that have frames, and waits for them at most this long.
    fn poll(&mut self, timeout: Duration) {
        for host in self.poll.wait(timeout) {
            if let Some(is_ready) = self.is_ready.get_mut(host as usize)
                && !std::mem::replace(is_ready, true)
            {
                self.ready.push_back(host as u32);
            }
        }
    }

    /// Naps if the emulator's thread owes enough sleep.
    fn give_back(&mut self) {
        let Some((debt, since)) = &mut self.debt else { return };
        let now = Instant::now();
        *debt += now.saturating_duration_since(*since) / GIVE_BACK;
        *since = now;
        if *debt >= NAP {
            std::thread::sleep(NAP);
            let woken = Instant::now();
            *debt = debt.saturating_sub(woken.saturating_duration_since(now));
            *since = woken;
        }
    }
}

impl PacketIo for HostLinks<'_> {
    fn now(&mut self) -> Time {
        Time::after_start(Span::from_ns(self.clock.now().as_nanos() as u64))
    }

    fn take_back(&mut self, time: Span) {
        self.clock.take_back(Duration::from_nanos(time.as_ps() / 1_000));
    }

    fn receive(&mut self, holds: &dyn Fn(u32) -> bool, frame: &mut [u8]) -> Option<(u32, usize)> {
        self.reads += 1;
        if self.ready.is_empty() || self.reads.is_multiple_of(READS) {
            self.give_back();
            self.poll(Duration::ZERO);
        }
        for _ in 0..self.ready.len() {
            let host = self.ready.pop_front()?;
            if holds(host) {
                self.ready.push_back(host);
                continue;
            }
            match self.links[host as usize].receive(frame) {
                Ok(count) => {
                    self.ready.push_back(host);
                    return Some((host, count));
                }
                Err(Errno::INTR) => self.ready.push_back(host),
                Err(_) => self.is_ready[host as usize] = false,
            }
        }
        None
    }

    fn send(&mut self, host: u32, _due: Time, frame: &[u8]) -> bool {
        self.links[host as usize].send(frame)
    }

    fn sleep(&mut self, until: Time) {
        let ahead = Duration::from_nanos(until.saturating_since(self.now()).as_ps() / 1_000);
        let ahead = self.clock.real(ahead).saturating_sub(SPIN);
        if ahead.is_zero() {
            return;
        }
        let before = Instant::now();
        self.poll(ahead);
        if let Some((debt, since)) = &mut self.debt {
            let now = Instant::now();
            *debt = debt.saturating_sub(now.saturating_duration_since(before));
            *since = now;
        }
    }
}

//! One processor of this machine for a run and its kernels. Of the thread that simulates and its kernels only one works
//! at a time; on one processor the change from one to the other takes a few microseconds, and across two of a virtual
//! machine ten times that (measured: 0.5 s of one CUBIC flow at 1 Gb/s took 3.5 s, and 18.6 s without this).

use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};
use rustix::thread::{CpuSet, Pid, gettid, sched_getaffinity, sched_setaffinity};

/// How many runs may share a processor before they are left to the scheduler.
const SHARES: u32 = 8;

/// A processor that this thread and its children run on, until this is dropped.
#[derive(Debug)]
pub struct Processor {
    thread: Pid,
    before: CpuSet,
    /// The name by which other runs of this machine know that it is taken.
    _claim: OwnedFd,
}

impl Processor {
    /// Keeps this thread, and processes that it starts from now on, on the processor that the fewest runs have taken.
    /// `None` where the machine has one processor, or does not allow it: a run is slower then, and the same.
    #[must_use]
    pub fn take() -> Option<Self> {
        let thread = gettid();
        let before = sched_getaffinity(Some(thread)).ok().filter(|set| set.count() > 1)?;
        let (number, claim) = claim(&before)?;
        let mut one = CpuSet::new();
        one.set(number);
        sched_setaffinity(Some(thread), &one).ok()?;
        Some(Self { thread, before, _claim: claim })
    }
}

impl Drop for Processor {
    fn drop(&mut self) {
        // A thread that may not be moved back stays where it is, which is slow and not wrong.
        let _ = sched_setaffinity(Some(self.thread), &self.before);
    }
}

/// A processor of this set that the fewest have taken, and what others see of it: a name without a file, which is gone
/// when its owner is.
fn claim(allowed: &CpuSet) -> Option<(usize, OwnedFd)> {
    for share in 0..SHARES {
        for number in (0..CpuSet::MAX_CPU).filter(|&number| allowed.is_set(number)) {
            let name = format!("shallop-processor-{number}-{share}");
            let address = SocketAddrUnix::new_abstract_name(name.as_bytes()).ok()?;
            let kind = rustix::net::SocketFlags::CLOEXEC;
            let socket =
                rustix::net::socket_with(AddressFamily::UNIX, SocketType::DGRAM, kind, None)
                    .ok()?;
            if rustix::net::bind(&socket, &address).is_ok() {
                return Some((number, socket));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_runs_take_two_processors_and_give_them_back() {
        let all = sched_getaffinity(None).unwrap();
        if all.count() < 2 {
            return;
        }
        // A thread that is started later would be on the processor of the one that starts it.
        let both = std::sync::Barrier::new(2);
        let one = || {
            both.wait();
            let taken = Processor::take();
            let during = sched_getaffinity(None).unwrap();
            both.wait();
            drop(taken);
            (during, sched_getaffinity(None).unwrap())
        };
        let [(first, first_after), (second, second_after)] = std::thread::scope(|scope| {
            [scope.spawn(one), scope.spawn(one)].map(|thread| thread.join().unwrap())
        });
        assert_eq!([first.count(), second.count()], [1, 1]);
        assert_eq!([first_after, second_after], [all, all]);
    }
}

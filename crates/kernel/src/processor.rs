//! Keeps a run and its kernels on one processor of this machine. Only one of them works at a time: the simulating
//! thread or a kernel. On one processor a switch between them takes a few microseconds; between two processors of a
//! virtual machine it takes ten times as long (measured: 0.5 s of one CUBIC flow at 1 Gb/s took 3.5 s, and 18.6 s
//! without this).

use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};
use rustix::thread::{CpuSet, Pid, gettid, sched_getaffinity, sched_setaffinity};
use std::os::fd::OwnedFd;

/// The largest number of runs on one processor; further runs are left to the scheduler.
const SHARES: u32 = 8;

/// The processor on which this thread and its children run until this value is dropped.
#[derive(Debug)]
pub struct Processor {
    thread: Pid,
    before: CpuSet,
    /// A socket whose name shows other runs on this machine that the processor is taken.
    _claim: OwnedFd,
}

impl Processor {
    /// Moves this thread, and the processes that it starts from now on, to the processor with the fewest runs. `None`
    /// if the machine has one processor or does not allow it: a run is then slower, with equal results.
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
        // A thread that cannot be moved back stays on its processor, which is slow and not wrong.
        let _ = sched_setaffinity(Some(self.thread), &self.before);
    }
}

/// The processor of this set with the fewest runs, and the socket that claims it for a run. The socket's name is
/// abstract (without a file), so the system frees the name when this process ends.
fn claim(allowed: &CpuSet) -> Option<(usize, OwnedFd)> {
    for share in 0..SHARES {
        for number in (0..CpuSet::MAX_CPU).filter(|&number| allowed.is_set(number)) {
            let name = format!("shallop-processor-{number}-{share}");
            let address = SocketAddrUnix::new_abstract_name(name.as_bytes()).ok()?;
            let kind = rustix::net::SocketFlags::CLOEXEC;
            let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::DGRAM, kind, None).ok()?;
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
        let [(first, first_after), (second, second_after)] =
            std::thread::scope(|scope| [scope.spawn(one), scope.spawn(one)].map(|thread| thread.join().unwrap()));
        assert_eq!([first.count(), second.count()], [1, 1]);
        assert_eq!([first_after, second_after], [all, all]);
    }
}

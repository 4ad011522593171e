//! Processors and priorities of a rehearsal. The emulator has the last processor and, where that is allowed, real-time
//! priority. The threads and programs of hosts have the other processors.

use rustix::thread::{CpuSet, gettid, sched_getaffinity, sched_setaffinity};
use std::{fs, time::Duration};
use thread_priority::unix::{
    RealtimeThreadSchedulePolicy, ThreadSchedulePolicy, set_thread_priority_and_policy, thread_native_id,
};
use thread_priority::{ThreadPriority, ThreadPriorityValue};

/// The real-time priorities of the emulator and of hosts' threads (`SCHED_FIFO`). An ordinary thread that is preempted
/// while it holds a socket's lock delays the acknowledgements of that socket by milliseconds on a busy machine.
const PRIORITY: u8 = 50;
const HOST_PRIORITY: u8 = 10;
/// The nice value of hosts' threads where they cannot have that: the highest ordinary priority.
const NICE: i32 = -20;

/// The priority of the emulator's thread. Dropping it restores the thread.
pub(crate) struct EmulatorPriority {
    processors: Option<CpuSet>,
    /// Whether the thread has real-time priority, so that no ordinary thread preempts it.
    pub(crate) is_realtime: bool,
}

/// The set of all processors of this process, the number of the last, and the set of all others; `None` if there is
/// only one processor.
fn processors() -> Option<(CpuSet, usize, CpuSet)> {
    let all = sched_getaffinity(None).ok().filter(|set| set.count() > 1)?;
    let last = (0..CpuSet::MAX_CPU).rev().find(|&number| all.is_set(number))?;
    let mut others = all;
    others.unset(last);
    Some((all, last, others))
}

/// The mask of the hosts' processors in hexadecimal digits; `None` if there is only one processor.
pub(crate) fn others_mask() -> Option<String> {
    let (_, _, others) = processors()?;
    let mask = (0..64).filter(|&number| others.is_set(number)).fold(0_u64, |all, of| all | 1 << of);
    Some(format!("{:x},{:08x}", mask >> 32, mask & 0xffff_ffff))
}

/// Moves this thread to the last processor and gives it real-time priority, where that is allowed.
pub(crate) fn emulate() -> EmulatorPriority {
    let mut before = None;
    if let Some((all, last, _)) = processors() {
        let mut one = CpuSet::new();
        one.set(last);
        before = sched_setaffinity(None, &one).ok().map(|()| all);
    }
    // The kernel may delay the end of a sleep by the timer slack, 50 us by default.
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    EmulatorPriority { processors: before, is_realtime: make_realtime(PRIORITY) }
}

/// Gives this thread a real-time priority. False if that is not allowed.
fn make_realtime(priority: u8) -> bool {
    let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
    let priority = ThreadPriorityValue::try_from(priority).map(ThreadPriority::Crossplatform);
    priority.is_ok_and(|of| set_thread_priority_and_policy(thread_native_id(), of, policy).is_ok())
}

impl Drop for EmulatorPriority {
    fn drop(&mut self) {
        if self.is_realtime {
            let policy = ThreadSchedulePolicy::Normal(thread_priority::unix::NormalThreadSchedulePolicy::Other);
            // If this fails, the thread keeps its priority until it ends.
            let _ = set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, policy);
        }
        let _ = rustix::thread::set_current_timer_slack(None);
        if let Some(before) = &self.processors {
            let _ = sched_setaffinity(None, before);
        }
    }
}

/// Moves this thread, and processes that it starts, to the processors of hosts.
pub fn keep_off() {
    if let Some((_, _, others)) = processors() {
        // If this fails, the lateness of packets shows it.
        let _ = sched_setaffinity(None, &others);
    }
}

/// Measures for how long a host's thread waits for a processor.
pub(crate) struct HostThread {
    before: Duration,
}

/// Moves this thread to the processors of hosts, with a real-time priority or the highest ordinary one where that is
/// allowed.
pub(crate) fn host() -> HostThread {
    keep_off();
    if !make_realtime(HOST_PRIORITY) {
        let _ = rustix::process::setpriority_process(Some(gettid()), NICE);
    }
    HostThread { before: waited() }
}

impl HostThread {
    /// The time for which this thread waited for a processor since [`host`].
    pub(crate) fn waited(&self) -> Duration {
        waited().saturating_sub(self.before)
    }
}

/// The time for which this thread was runnable and waited for a processor (`/proc/thread-self/schedstat`).
fn waited() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let wait = text.split_whitespace().nth(1).and_then(|ns| ns.parse().ok());
    Duration::from_nanos(wait.unwrap_or(0))
}

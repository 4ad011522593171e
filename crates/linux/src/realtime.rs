//! The processors and priorities of a rehearsal: the emulator has a processor of its own where it may, at the highest
//! priority; the hosts' sockets have the others.

use std::fs;
use std::time::Duration;

use rustix::thread::{CpuSet, gettid, sched_getaffinity, sched_setaffinity};
use thread_priority::unix::{
    RealtimeThreadSchedulePolicy, ThreadSchedulePolicy, set_thread_priority_and_policy,
    thread_native_id,
};
use thread_priority::{ThreadPriority, ThreadPriorityValue};

/// The priority of the emulator among threads that are never preempted by ordinary ones (`SCHED_FIFO`).
const PRIORITY: u8 = 50;
/// The most urgent of ordinary priorities.
const NICE: i32 = -20;

/// What this thread was before it became the emulator's; it is so again when this is dropped.
pub(crate) struct Emulating {
    processors: Option<CpuSet>,
    /// Whether no ordinary thread may interrupt it.
    pub(crate) is_realtime: bool,
}

/// The processors that this process may use, and those without the last, if there are several.
fn processors() -> Option<(CpuSet, usize, CpuSet)> {
    let all = sched_getaffinity(None).ok().filter(|set| set.count() > 1)?;
    let last = (0..CpuSet::MAX_CPU).rev().find(|&number| all.is_set(number))?;
    let mut others = all;
    others.unset(last);
    Some((all, last, others))
}

/// The processors that are not the emulator's, as a mask in hexadecimal digits; `None` if there is only one.
pub(crate) fn others_mask() -> Option<String> {
    let (_, _, others) = processors()?;
    let mask = (0..64).filter(|&number| others.is_set(number)).fold(0_u64, |all, of| all | 1 << of);
    Some(format!("{:x},{:08x}", mask >> 32, mask & 0xffff_ffff))
}

/// Makes this thread the emulator's: on the last processor, before all others where that is allowed.
pub(crate) fn emulate() -> Emulating {
    let mut before = None;
    if let Some((all, last, _)) = processors() {
        let mut one = CpuSet::new();
        one.set(last);
        before = sched_setaffinity(None, &one).ok().map(|()| all);
    }
    // Deadlines of sleeps are kept to a nanosecond, not to 50 us.
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
    let priority = ThreadPriorityValue::try_from(PRIORITY).map(ThreadPriority::Crossplatform);
    let is_realtime = priority
        .is_ok_and(|of| set_thread_priority_and_policy(thread_native_id(), of, policy).is_ok());
    Emulating { processors: before, is_realtime }
}

impl Drop for Emulating {
    fn drop(&mut self) {
        if self.is_realtime {
            let policy = ThreadSchedulePolicy::Normal(
                thread_priority::unix::NormalThreadSchedulePolicy::Other,
            );
            // A thread that stays as it is ends soon.
            let _ = set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, policy);
        }
        let _ = rustix::thread::set_current_timer_slack(None);
        if let Some(before) = &self.processors {
            let _ = sched_setaffinity(None, before);
        }
    }
}

/// Keeps this thread, and processes that it starts, off the emulator's processor.
pub fn keep_off() {
    if let Some((_, _, others)) = processors() {
        // Where that is not allowed, lateness tells.
        let _ = sched_setaffinity(None, &others);
    }
}

/// A thread of the hosts, since it became one.
pub(crate) struct Hosting {
    before: Duration,
}

/// Makes this thread one of the hosts': on the other processors, before other ordinary threads where that is allowed.
pub(crate) fn host() -> Hosting {
    keep_off();
    let _ = rustix::process::setpriority_process(Some(gettid()), NICE);
    Hosting { before: waited() }
}

impl Hosting {
    /// How long this thread has waited for a processor since then.
    pub(crate) fn waited(&self) -> Duration {
        waited().saturating_sub(self.before)
    }
}

/// How long this thread has waited for a processor so far, though it could have run (`sched_stat_runtime`).
fn waited() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let wait = text.split_whitespace().nth(1).and_then(|ns| ns.parse().ok());
    Duration::from_nanos(wait.unwrap_or(0))
}

//! Time limits for calls that wait for a peer, which may keep its connection alive and send nothing.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};
use std::{io, thread::Builder};

/// The default of the time in which a peer has to send something.
pub(crate) const STALL_TIMEOUT: Duration = Duration::from_secs(300);

/// The rate at which a peer reads its files at least, bytes a microsecond.
const PEER_READS: u64 = 10;

/// The most time that a peer gets to read its files.
const MAX_READING: Duration = Duration::from_secs(24 * 3600);

/// What a peer does, and when it cannot do anything.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    steps: AtomicU64,
    own_work: AtomicUsize,
    peer_reads: AtomicU64,
}

impl Activity {
    /// Notes that the peer has sent or accepted something.
    pub(crate) fn note(&self) {
        self.steps.fetch_add(1, Ordering::Relaxed);
    }

    /// Runs what the peer may have to wait for, such as writing to disk. This time does not count.
    pub(crate) fn own_work<T>(&self, run: impl FnOnce() -> T) -> T {
        self.own_work.fetch_add(1, Ordering::Relaxed);
        let result = run();
        self.own_work.fetch_sub(1, Ordering::Relaxed);
        result
    }

    /// Notes that the peer may have to read, hash or sync this many bytes before it sends something.
    pub(crate) fn peer_reads(&self, bytes: u64) {
        self.peer_reads.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Runs `act` and returns its result. If the peer does nothing for `limit`, and the time that it needs to read its
    /// files, another thread calls `cancel`, which has to make `act` return, and the result is `None`.
    ///
    /// # Errors
    /// The system has no thread left, and `act` was not run.
    pub(crate) fn watched<T>(
        &self, limit: Duration, cancel: impl FnOnce() + Send, act: impl FnOnce() -> T,
    ) -> io::Result<Option<T>> {
        let (done, is_done) = sync_channel::<()>(1);
        std::thread::scope(|scope| {
            let watch = Builder::new().spawn_scoped(scope, move || {
                let (mut seen, mut since) = (0, Instant::now());
                while is_done.recv_timeout(limit / 8) == Err(RecvTimeoutError::Timeout) {
                    let steps = self.steps.load(Ordering::Relaxed);
                    let reading = Duration::from_micros(self.peer_reads.load(Ordering::Relaxed) / PEER_READS);
                    if steps != seen || self.own_work.load(Ordering::Relaxed) > 0 {
                        (seen, since) = (steps, Instant::now());
                    } else if since.elapsed() >= limit + reading.min(MAX_READING) {
                        cancel();
                        return false;
                    }
                }
                true
            })?;
            let result = act();
            drop(done);
            Ok(watch.join().is_ok_and(|in_time| in_time).then_some(result))
        })
    }
}

/// The error, and the close reason, after a peer did nothing for `limit`.
pub(crate) fn stalled(limit: Duration) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, format!("nothing has come from the peer for {} s", limit.as_secs_f64()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn a_peer_that_does_nothing_is_cut_and_one_that_sends_or_reads_is_not() {
        let limit = Duration::from_millis(40);
        let (cancel, cancelled) = channel();
        let long = Duration::from_secs(60);
        let wait = || cancelled.recv_timeout(long).is_ok();
        let activity = Activity::default();
        assert_eq!(activity.watched(long, || panic!("it was in time"), || 7).unwrap(), Some(7));
        assert_eq!(activity.watched(limit, move || cancel.send(()).unwrap(), wait).unwrap(), None);
        let may_last = |each: &dyn Fn(&Activity), activity: Activity| {
            let act = || {
                for _ in 0..40 {
                    std::thread::sleep(Duration::from_millis(5));
                    each(&activity);
                }
            };
            // A machine that stands still looks as a silent peer.
            (0..5).any(|_| activity.watched(limit, || (), act).unwrap().is_some())
        };
        assert!(may_last(&Activity::note, Activity::default()));
        let works = |activity: &Activity| activity.own_work(|| std::thread::sleep(Duration::from_millis(20)));
        assert!(may_last(&works, Activity::default()));
        let reads = Activity::default();
        reads.peer_reads(100_000_000);
        assert!(may_last(&|_| (), reads));
    }
}

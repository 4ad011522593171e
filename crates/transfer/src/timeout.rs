//! A time limit for blocking calls.

use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::{io, thread::Builder, time::Duration};

/// Runs `act` and returns its result. If it takes longer than `limit`, another thread calls `cancel`, which has to make
/// `act` return, and the result is `None`.
///
/// # Errors
/// The system has no thread left, and `act` was not run.
pub(crate) fn with_timeout<T>(
    limit: Duration, cancel: impl FnOnce() + Send, act: impl FnOnce() -> T,
) -> io::Result<Option<T>> {
    let (done, is_done) = sync_channel::<()>(1);
    std::thread::scope(|scope| {
        let watch = Builder::new().spawn_scoped(scope, move || {
            let in_time = is_done.recv_timeout(limit) != Err(RecvTimeoutError::Timeout);
            if !in_time {
                cancel();
            }
            in_time
        })?;
        let result = act();
        drop(done);
        Ok(watch.join().is_ok_and(|in_time| in_time).then_some(result))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn a_call_within_the_limit_returns_its_result_and_a_longer_one_is_cancelled() {
        let long = Duration::from_secs(60);
        assert_eq!(with_timeout(long, || panic!("it was in time"), || 7).unwrap(), Some(7));
        let (cancel, cancelled) = channel();
        let short = Duration::from_millis(20);
        let wait = || cancelled.recv_timeout(long).is_ok();
        assert_eq!(with_timeout(short, move || cancel.send(()).unwrap(), wait).unwrap(), None);
    }
}

//! Waiting that ends.

use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

/// What `act` gives, unless it takes longer than `patience`: then `cancel` has to end it, and there is nothing.
pub(crate) fn within<T>(
    patience: Duration,
    cancel: impl FnOnce() + Send,
    act: impl FnOnce() -> T,
) -> Option<T> {
    let (done, is_done) = sync_channel::<()>(1);
    std::thread::scope(|scope| {
        let watch = scope.spawn(move || {
            let in_time = is_done.recv_timeout(patience) != Err(RecvTimeoutError::Timeout);
            if !in_time {
                cancel();
            }
            in_time
        });
        let found = act();
        drop(done);
        watch.join().is_ok_and(|in_time| in_time).then_some(found)
    })
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn what_is_in_time_is_given_and_what_is_late_is_cancelled() {
        let long = Duration::from_secs(60);
        assert_eq!(within(long, || panic!("it was in time"), || 7), Some(7));
        let (cancel, cancelled) = channel();
        let short = Duration::from_millis(20);
        let wait = || cancelled.recv_timeout(long).is_ok();
        assert_eq!(within(short, move || cancel.send(()).unwrap(), wait), None);
    }
}

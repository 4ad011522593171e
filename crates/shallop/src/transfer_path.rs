//! Watches a transfer from a second thread: reports how data leaves, tries whether it moves faster without credits,
//! tries credits again, and closes the connection after Ctrl-C.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use shallop_core::BitsPerSec;
use shallop_quic::{Connection, SendMode};
use shallop_transfer::plain_trial::{PlainTrial, TrialResult};
use shallop_transfer::session::ReceiveServer;

/// The interval at which the second thread checks the connection.
const LOOK: Duration = Duration::from_millis(50);

/// What happens to the way in which data leaves.
pub enum PathEvent {
    Changed(SendMode),
    Compared(TrialResult),
}

/// How credits are left and tried again during a transfer.
pub struct CreditPolicy {
    /// The interval at which credits are tried again after a fallback.
    pub retry: Option<Duration>,
    /// The rate that the user gave, and the time after which answers to tests are no longer awaited.
    pub link: BitsPerSec,
    pub settle: Duration,
}

/// Calls `act` and meanwhile tries whether data moves faster without credits, and passes each change of how data leaves
/// to `tell`. Setting `stop` closes the connection.
pub fn watch<T>(
    connection: &Connection,
    policy: &CreditPolicy,
    stop: &AtomicBool,
    tell: &(dyn Fn(PathEvent) + Sync),
    act: impl FnOnce() -> T,
) -> T {
    let (mut path, mut since) = (connection.send_mode(), Instant::now());
    let retry = policy.retry;
    let mut trial = PlainTrial::new(policy.link, policy.settle);
    let look = move || {
        if stop.load(Ordering::Relaxed) {
            connection.close(0, b"interrupted");
        }
        let now = connection.send_mode();
        // `Unknown` means that the connection has ended.
        if now != path && now != SendMode::Unknown {
            (path, since) = (now, Instant::now());
            tell(PathEvent::Changed(path));
        }
        if let Some(result) = trial.poll(Instant::now(), connection) {
            tell(PathEvent::Compared(result));
        }
        if path.is_fallback() && retry.is_some_and(|retry| since.elapsed() >= retry) {
            connection.use_credits();
            since = Instant::now();
        }
    };
    meanwhile(look, act)
}

/// Calls `act`, and closes the listener when `stop` is set.
pub fn close_on_stop<T>(receiving: &ReceiveServer, stop: &AtomicBool, act: impl FnOnce() -> T) -> T {
    let look = || {
        if stop.load(Ordering::Relaxed) {
            receiving.close();
        }
    };
    meanwhile(look, act)
}

/// Calls `act`, and meanwhile calls `look` at intervals in another thread.
fn meanwhile<T>(mut look: impl FnMut() + Send, act: impl FnOnce() -> T) -> T {
    let (done, is_done) = channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while is_done.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                look();
            }
        });
        let acted = act();
        drop(done);
        acted
    })
}

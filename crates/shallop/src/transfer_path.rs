//! Watches a transfer from a second thread: reports how data leaves, tries whether it moves faster without credits,
//! tries credits again, and closes the connection after Ctrl-C.

use shallop_quic::{Config, Connection, SendMode};
use shallop_transfer::plain_trial::{TrialResult, try_without_credits};
use shallop_transfer::session::ReceiveServer;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use std::{io, thread::Builder};

/// The interval at which the second thread checks the connection.
const LOOK: Duration = Duration::from_millis(50);

/// What happens to the way in which data leaves.
pub enum PathEvent {
    Changed(SendMode),
    Compared(TrialResult),
}

/// Calls `act`, which ends the connection. Meanwhile tries whether data moves faster without credits, and passes each
/// change of how data leaves to `tell`. After a fallback, credits are tried again every `retry`. Setting `stop` closes
/// the connection.
///
/// # Errors
/// The system has no thread left, and `act` was not called.
pub fn watch<T>(
    connection: &Connection, config: &Config, retry: Option<Duration>, stop: &AtomicBool,
    tell: &(dyn Fn(PathEvent) + Sync), act: impl FnOnce() -> T,
) -> io::Result<T> {
    let (mut path, mut since) = (connection.send_mode(), Instant::now());
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
        if path.is_fallback() && retry.is_some_and(|retry| since.elapsed() >= retry) {
            connection.use_credits();
            since = Instant::now();
        }
    };
    std::thread::scope(|scope| {
        let compare = || try_without_credits(connection, config, |result| tell(PathEvent::Compared(result)));
        Builder::new().spawn_scoped(scope, compare)?;
        meanwhile(look, act)
    })
}

/// Calls `act`, and closes the listener when `stop` is set.
///
/// # Errors
/// The system has no thread left, and `act` was not called.
pub fn close_on_stop<T>(receiving: &ReceiveServer, stop: &AtomicBool, act: impl FnOnce() -> T) -> io::Result<T> {
    let look = || {
        if stop.load(Ordering::Relaxed) {
            receiving.close();
        }
    };
    meanwhile(look, act)
}

/// Calls `act`, and meanwhile calls `look` at intervals in another thread.
fn meanwhile<T>(mut look: impl FnMut() + Send, act: impl FnOnce() -> T) -> io::Result<T> {
    let (done, is_done) = channel::<()>();
    std::thread::scope(|scope| {
        Builder::new().spawn_scoped(scope, move || {
            while is_done.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                look();
            }
        })?;
        let acted = act();
        drop(done);
        Ok(acted)
    })
}

//! What is looked at while a transfer goes on: how data leaves, of which changes are told, whether credits are to be
//! tried again, and Ctrl-C, after which the peer is told that this is the end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use shallop_quic::{Connection, SendMode};
use shallop_transfer::session::ReceiveServer;

/// How often it is looked.
const LOOK: Duration = Duration::from_millis(50);

/// Does `act`, and meanwhile tells each way in which data leaves that is another one than before. Where credits were
/// given up, they are tried again after `retry`, each time. The connection is closed when `stop` is set.
pub fn watching<T>(
    connection: &Connection,
    (retry, stop): (Option<Duration>, &AtomicBool),
    tell: &(dyn Fn(SendMode) + Sync),
    act: impl FnOnce() -> T,
) -> T {
    let (mut path, mut since) = (connection.send_mode(), Instant::now());
    let look = move || {
        if stop.load(Ordering::Relaxed) {
            connection.close(0, b"interrupted");
        }
        let now = connection.send_mode();
        // A connection that has ended leaves in no way.
        if now != path && now != SendMode::Unknown {
            (path, since) = (now, Instant::now());
            tell(path);
        }
        if path.is_fallback() && retry.is_some_and(|retry| since.elapsed() >= retry) {
            connection.use_credits();
            since = Instant::now();
        }
    };
    meanwhile(look, act)
}

/// Does `act`, and meanwhile ends what is received when `stop` is set.
pub fn receiving<T>(receiving: &ReceiveServer, stop: &AtomicBool, act: impl FnOnce() -> T) -> T {
    let look = || {
        if stop.load(Ordering::Relaxed) {
            receiving.close();
        }
    };
    meanwhile(look, act)
}

/// Does `act`, and looks from time to time in another thread.
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

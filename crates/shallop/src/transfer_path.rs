//! How data of a transfer leaves, while it goes on: what has changed is told, and credits are tried again.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use shallop_quic::{Connection, Path};

/// How often it is looked.
const LOOK: Duration = Duration::from_millis(50);

/// Does `act`, and meanwhile tells each way in which data leaves that is another one than before. Where credits were
/// given up, they are tried again after `retry`, each time.
pub fn watching<T>(
    connection: &Connection,
    retry: Option<Duration>,
    tell: &(dyn Fn(Path) + Sync),
    act: impl FnOnce() -> T,
) -> T {
    let (done, is_done) = channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let (mut path, mut since) = (connection.path(), Instant::now());
            while is_done.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                let now = connection.path();
                // A connection that has ended leaves in no way.
                if now != path && now != Path::Unknown {
                    (path, since) = (now, Instant::now());
                    tell(path);
                }
                if path.is_fallback() && retry.is_some_and(|retry| since.elapsed() >= retry) {
                    connection.use_credits();
                    since = Instant::now();
                }
            }
        });
        let acted = act();
        drop(done);
        acted
    })
}

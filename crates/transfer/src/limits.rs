//! What the transfers of a server may use together.

use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{Builder, Scope};

/// The default bound of the threads of all transfers of a server.
const MAX_THREADS: usize = 2_048;

/// Bounds that the transfers of a server share.
#[derive(Debug)]
pub struct Limits {
    threads_left: AtomicUsize,
    /// Held while a piece of a file is hashed that a peer claims to know, so that such work takes one processor.
    pub(crate) hashing: Mutex<()>,
}

impl Default for Limits {
    fn default() -> Self {
        Self::of_threads(MAX_THREADS)
    }
}

impl Limits {
    /// Allows at most this many threads at a time.
    pub fn of_threads(most: usize) -> Self {
        Self { threads_left: AtomicUsize::new(most), hashing: Mutex::default() }
    }

    /// Starts a thread.
    ///
    /// # Errors
    /// The bound is reached, or the system has no thread left.
    pub(crate) fn spawn<'scope>(
        &'scope self, scope: &'scope Scope<'scope, '_>, run: impl FnOnce() + Send + 'scope,
    ) -> io::Result<()> {
        let less = |left: usize| left.checked_sub(1);
        if self.threads_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_err() {
            return Err(io::Error::other("all its threads are in use"));
        }
        let ticket = Ticket(self);
        Builder::new().spawn_scoped(scope, move || {
            let _ticket = ticket;
            run();
        })?;
        Ok(())
    }
}

/// One of the threads. Dropping it allows another one.
struct Ticket<'a>(&'a Limits);

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        self.0.threads_left.fetch_add(1, Ordering::Relaxed);
    }
}

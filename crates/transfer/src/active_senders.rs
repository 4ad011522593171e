//! Registry of the senders whose files are being received. When a sender that was killed comes back, its old connection
//! would lock the files until it times out after a minute, so the receiver closes that connection first.

use crate::protocol::Token;
use shallop_quic::Connection;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long an earlier sender may take to answer before it counts as gone, in addition to three round trips.
const LIVENESS_TIMEOUT: Duration = Duration::from_secs(1);
/// How long to wait for a transfer to end after its connection was closed.
const END_TIMEOUT: Duration = Duration::from_secs(10);

struct Sender {
    id: u64,
    token: Option<Token>,
    connection: Connection,
}

#[derive(Default)]
struct Registry {
    next_id: u64,
    senders: Vec<Sender>,
}

#[derive(Default)]
pub(crate) struct ActiveSenders {
    registry: Mutex<Registry>,
    removed: Condvar,
}

/// A sender in the registry. Dropping this value removes the sender.
pub(crate) struct ActiveSender<'a> {
    all: &'a ActiveSenders,
    id: u64,
}

impl ActiveSenders {
    fn lock(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a sender whose token is not known yet.
    pub(crate) fn enter(&self, connection: &Connection) -> ActiveSender<'_> {
        let mut registry = self.lock();
        let id = registry.next_id;
        registry.next_id += 1;
        registry.senders.push(Sender { id, token: None, connection: connection.clone() });
        ActiveSender { all: self, id }
    }
}

impl ActiveSender<'_> {
    pub(crate) fn set_token(&self, token: Token) {
        let mut registry = self.all.lock();
        registry.senders.iter_mut().filter(|of| of.id == self.id).for_each(|of| of.token = Some(token));
    }

    /// Closes the connections of earlier senders with this token that no longer answer. Returns whether one of them
    /// has ended.
    pub(crate) fn end_silent(&self) -> bool {
        let registry = self.all.lock();
        let own = registry.senders.iter().find(|of| of.id == self.id).and_then(|of| of.token);
        let earlier = registry.senders.iter().filter(|of| of.id < self.id && own.is_some() && of.token == own);
        let earlier: Vec<_> = earlier.map(|of| (of.id, of.connection.clone())).collect();
        drop(registry);
        let mut has_ended = false;
        for (id, earlier) in earlier {
            if !earlier.is_alive(LIVENESS_TIMEOUT) {
                earlier.close(0, b"a later transfer of this sender has taken its place");
                let is_there = |all: &mut Registry| all.senders.iter().any(|of| of.id == id);
                // After the timeout the files are still locked, and the new sender is told so.
                let _ = self.all.removed.wait_timeout_while(self.all.lock(), END_TIMEOUT, is_there);
                has_ended = true;
            }
        }
        has_ended
    }
}

impl Drop for ActiveSender<'_> {
    fn drop(&mut self) {
        self.all.lock().senders.retain(|of| of.id != self.id);
        self.all.removed.notify_all();
    }
}

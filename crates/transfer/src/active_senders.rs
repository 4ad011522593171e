//! Registry of the senders whose files are being received. When a sender that was killed comes back, its old connection
//! would lock the files until it times out after a minute, so the receiver closes that connection first.

use shallop_quic::Connection;
use std::net::IpAddr;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long an earlier sender may take to answer before it counts as gone, in addition to three round trips.
const LIVENESS_TIMEOUT: Duration = Duration::from_secs(1);
/// How long to wait for a transfer to end after its connection was closed.
const END_TIMEOUT: Duration = Duration::from_secs(10);

struct Sender {
    id: u64,
    address: Option<IpAddr>,
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
pub(crate) struct Registered<'a> {
    all: &'a ActiveSenders,
    id: u64,
}

impl ActiveSenders {
    fn lock(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a sender. Earlier senders with the same IP address that no longer answer are closed first.
    pub(crate) fn register(&self, connection: &Connection) -> Registered<'_> {
        let address = connection.remote_address().map(|of| of.ip());
        let mut registry = self.lock();
        let id = registry.next_id;
        registry.next_id += 1;
        let is_same = |of: &&Sender| address.is_some() && of.address == address;
        let earlier = registry.senders.iter().filter(is_same);
        let earlier: Vec<_> = earlier.map(|of| (of.id, of.connection.clone())).collect();
        registry.senders.push(Sender { id, address, connection: connection.clone() });
        drop(registry);
        for (id, earlier) in earlier {
            if !earlier.is_alive(LIVENESS_TIMEOUT) {
                earlier.close(0, b"a later transfer of the same host has taken its place");
                let is_there = |all: &mut Registry| all.senders.iter().any(|of| of.id == id);
                // After the timeout the files are still locked, and the new sender is told so.
                let _ = self.removed.wait_timeout_while(self.lock(), END_TIMEOUT, is_there);
            }
        }
        Registered { all: self, id }
    }
}

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        self.all.lock().senders.retain(|of| of.id != self.id);
        self.all.removed.notify_all();
    }
}

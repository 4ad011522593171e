//! Senders whose files are being received. A sender that was killed and started again must not wait until its earlier
//! connection has timed out, which takes a minute: the files of that one are locked.

use std::net::IpAddr;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::endpoint::Connection;

/// How long an earlier sender may take to answer, besides round trips.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long the end of a transfer is waited for, once its connection is closed.
const END: Duration = Duration::from_secs(10);

/// A sender.
struct Sender {
    number: u64,
    address: Option<IpAddr>,
    connection: Connection,
}

#[derive(Default)]
struct Inner {
    next: u64,
    all: Vec<Sender>,
}

/// Senders whose files are being received.
#[derive(Default)]
pub(crate) struct Senders {
    inner: Mutex<Inner>,
    left: Condvar,
}

/// A sender is there until this is dropped.
pub(crate) struct Turn<'a> {
    senders: &'a Senders,
    number: u64,
}

impl Senders {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A sender comes. Earlier ones of its address that give no sign of life are ended first.
    pub(crate) fn enter(&self, connection: &Connection) -> Turn<'_> {
        let address = connection.remote_address().map(|of| of.ip());
        let mut inner = self.lock();
        let number = inner.next;
        inner.next += 1;
        let same = inner.all.iter().filter(|of| address.is_some() && of.address == address);
        let earlier: Vec<(u64, Connection)> =
            same.map(|of| (of.number, of.connection.clone())).collect();
        inner.all.push(Sender { number, address, connection: connection.clone() });
        drop(inner);
        for (number, earlier) in earlier {
            if !earlier.is_alive(PATIENCE) {
                earlier.close(0, b"a later transfer of the same host has taken its place");
                self.wait_for_end(number);
            }
        }
        Turn { senders: self, number }
    }

    fn wait_for_end(&self, number: u64) {
        let is_there = |inner: &mut Inner| inner.all.iter().any(|of| of.number == number);
        // If it takes longer, the files are locked, and the sender is told so.
        let _ = self.left.wait_timeout_while(self.lock(), END, is_there);
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.senders.lock().all.retain(|of| of.number != self.number);
        self.senders.left.notify_all();
    }
}

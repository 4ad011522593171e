//! What the transfers of a server may use together.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use shallop_quic::host_prefix;
use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, Scope};

/// The default bound of the threads of all transfers of a server.
const MAX_THREADS: usize = 2_048;

/// The default bound of the threads for peers at one address.
const MAX_THREADS_OF_ADDRESS: usize = 512;

/// The most files of a transfer that wait to be synced.
const MAX_WAITING: usize = 1_024;

/// The memory for the lists of all transfers, from which on further lists get [`LEAST_LIST`], bytes. One list may take
/// half of it.
const LISTS: usize = 1 << 30;
/// The least memory for a list, bytes: about 5,000 entries.
const LEAST_LIST: usize = 1 << 20;

/// The open files that a receiver may need: two for each thread, and partial files that wait for their streams.
const OPEN_FILES: u64 = 65_536;

/// Raises the number of files that this process may have open, often 1,024, to 65,536, or as far as the system allows.
/// Otherwise the files of a few senders would be all, and the files of others would fail.
///
/// # Errors
/// The system refuses.
pub fn raise_open_files() -> io::Result<()> {
    let now = getrlimit(Resource::Nofile);
    let most = now.maximum.map_or(OPEN_FILES, |most| most.min(OPEN_FILES));
    if now.current.is_some_and(|current| current < most) {
        setrlimit(Resource::Nofile, Rlimit { current: Some(most), ..now })?;
    }
    Ok(())
}

/// Bounds that the transfers of a server share.
#[derive(Debug)]
pub struct Limits {
    most: usize,
    most_of_address: usize,
    /// The threads in use, by the [`host_prefix`] of the peer. No entry is 0.
    in_use: Mutex<BTreeMap<Option<u128>, usize>>,
    /// The memory that lists take, bytes.
    lists: AtomicUsize,
    /// The most files of a transfer that are open and wait to be synced: an eighth of what this process may open.
    pub(crate) waiting: usize,
    /// Held while a piece of a file is hashed that a peer claims to know, so that such work takes one processor.
    pub(crate) hashing: Mutex<()>,
}

impl Default for Limits {
    fn default() -> Self {
        Self::of_threads(MAX_THREADS, MAX_THREADS_OF_ADDRESS)
    }
}

impl Limits {
    /// Allows at most `most` threads at a time, of them `most_of_address` for peers at one address (of IPv6, one /64).
    pub fn of_threads(most: usize, most_of_address: usize) -> Self {
        let may_open = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX) / 8;
        let waiting = may_open.clamp(1, MAX_WAITING as u64) as usize;
        let (in_use, lists, hashing) = Default::default();
        Self { most, most_of_address, in_use, lists, waiting, hashing }
    }

    /// Counts a thread for a peer at this address until the result is dropped.
    ///
    /// # Errors
    /// A bound is reached.
    pub(crate) fn take(&self, peer: Option<IpAddr>) -> io::Result<Ticket<'_>> {
        let peer = peer.map(host_prefix);
        let mut in_use = self.in_use();
        if in_use.values().sum::<usize>() >= self.most {
            return Err(io::Error::other("all its threads are in use"));
        }
        let of_peer = in_use.get(&peer).copied().unwrap_or_default();
        if of_peer >= self.most_of_address {
            return Err(io::Error::other("all its threads for this address are in use"));
        }
        in_use.insert(peer, of_peer + 1);
        Ok(Ticket { limits: self, peer })
    }

    /// Starts a thread for a peer at this address.
    ///
    /// # Errors
    /// A bound is reached, or the system has no thread left.
    pub(crate) fn spawn<'scope>(
        &'scope self, scope: &'scope Scope<'scope, '_>, peer: Option<IpAddr>, run: impl FnOnce() + Send + 'scope,
    ) -> io::Result<()> {
        let ticket = self.take(peer)?;
        Builder::new().spawn_scoped(scope, move || {
            let _ticket = ticket;
            run();
        })?;
        Ok(())
    }

    fn in_use(&self) -> MutexGuard<'_, BTreeMap<Option<u128>, usize>> {
        self.in_use.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The memory that the list of one transfer takes. Dropping it returns the memory.
pub(crate) struct ListMemory<'a> {
    limits: &'a Limits,
    taken: usize,
}

impl<'a> ListMemory<'a> {
    pub(crate) fn new(limits: &'a Limits) -> Self {
        Self { limits, taken: 0 }
    }

    /// Takes memory for an entry. False if the list takes more than half of what other lists leave.
    pub(crate) fn take(&mut self, bytes: usize) -> bool {
        let others = self.limits.lists.fetch_add(bytes, Ordering::Relaxed).saturating_sub(self.taken);
        self.taken += bytes;
        self.taken <= (LISTS.saturating_sub(others) / 2).max(LEAST_LIST)
    }
}

impl Drop for ListMemory<'_> {
    fn drop(&mut self) {
        self.limits.lists.fetch_sub(self.taken, Ordering::Relaxed);
    }
}

/// One of the threads. Dropping it allows another one.
pub(crate) struct Ticket<'a> {
    limits: &'a Limits,
    peer: Option<u128>,
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        let mut in_use = self.limits.in_use();
        let left = in_use.remove(&self.peer).unwrap_or_default().saturating_sub(1);
        if left > 0 {
            in_use.insert(self.peer, left);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_does_not_take_all_threads() {
        let limits = Limits::of_threads(4, 2);
        let of = |peer: &str| limits.take(Some(peer.parse().unwrap()));
        let mine = [of("2001:db8::1").unwrap(), of("2001:db8::2").unwrap()];
        let why = of("2001:db8::3").map(drop).unwrap_err().to_string();
        assert!(why.contains("for this address"), "{why}");
        let theirs = [of("192.0.2.1").unwrap(), of("192.0.2.1").unwrap()];
        assert!(of("192.0.2.2").is_err());
        drop(mine);
        assert!(of("192.0.2.1").is_err());
        let _mine = [of("2001:db8::3").unwrap(), of("192.0.2.2").unwrap()];
        drop(theirs);
        assert_eq!(limits.in_use().values().sum::<usize>(), 2);
    }

    #[test]
    fn a_thousand_lists_share_2_gib_and_return_them() {
        let limits = Limits::default();
        let fill = |list: &mut ListMemory| while list.take(1 << 16) {};
        let mut all: Vec<_> = (0..1_024).map(|_| ListMemory::new(&limits)).collect();
        all.iter_mut().for_each(fill);
        let taken = limits.lists.load(Ordering::Relaxed);
        assert!(all[0].taken >= LISTS / 2 && all[1_023].taken >= LEAST_LIST && taken <= 2 * LISTS + (1_024 << 16));
        drop(all);
        assert_eq!(limits.lists.load(Ordering::Relaxed), 0);
    }
}

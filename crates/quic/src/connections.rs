//! The connections of an endpoint, and which of them have something to do: those that were touched, and those with
//! something due. The others cost nothing while they are idle.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use crate::connection::Connection;

/// A connection, and when something is due.
struct Entry {
    connection: Connection,
    due: Option<Instant>,
}

/// Connections by number.
#[derive(Default)]
pub(crate) struct Connections {
    all: BTreeMap<usize, Entry>,
    /// Those with something due, by its time.
    due: BTreeSet<(Instant, usize)>,
    /// Those to which something may have happened since they have had their turn.
    touched: BTreeSet<usize>,
}

impl Connections {
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(crate) fn get(&self, number: usize) -> Option<&Connection> {
        self.all.get(&number).map(|entry| &entry.connection)
    }

    /// A connection that something is done to: it has its turn at the next occasion.
    pub(crate) fn get_mut(&mut self, number: usize) -> Option<&mut Connection> {
        let entry = self.all.get_mut(&number)?;
        self.touched.insert(number);
        Some(&mut entry.connection)
    }

    /// Something is done to a connection: it has its turn at the next occasion.
    pub(crate) fn touch(&mut self, number: usize) {
        self.touched.insert(number);
    }

    /// A connection whose turn it is, or of which nothing new is to leave.
    pub(crate) fn get_untouched(&mut self, number: usize) -> Option<&mut Connection> {
        self.all.get_mut(&number).map(|entry| &mut entry.connection)
    }

    pub(crate) fn insert(&mut self, number: usize, connection: Connection) {
        self.all.insert(number, Entry { connection, due: None });
        self.touched.insert(number);
    }

    pub(crate) fn remove(&mut self, number: usize) {
        if let Some(due) = self.all.remove(&number).and_then(|entry| entry.due) {
            self.due.remove(&(due, number));
        }
        self.touched.remove(&number);
    }

    /// All of them, each to be touched.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut Connection> {
        self.touched.extend(self.all.keys());
        self.all.values_mut().map(|entry| &mut entry.connection)
    }

    /// Those whose turn it is: they were touched, or something is due.
    pub(crate) fn take_active(&mut self, now: Instant) -> BTreeSet<usize> {
        let mut active = std::mem::take(&mut self.touched);
        active.extend(self.due.iter().take_while(|(at, _)| *at <= now).map(|(_, number)| number));
        active
    }

    /// When something of a connection is due next.
    pub(crate) fn set_due(&mut self, number: usize, due: Option<Instant>) {
        let Some(entry) = self.all.get_mut(&number) else { return };
        let before = std::mem::replace(&mut entry.due, due);
        if before != due {
            before.map(|at| self.due.remove(&(at, number)));
            self.due.extend(due.map(|at| (at, number)));
        }
    }

    /// Those that were touched since their turn.
    pub(crate) fn touched(&self) -> Vec<usize> {
        self.touched.iter().copied().collect()
    }

    /// The earliest time at which something is due.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.due.first().map(|&(at, _)| at)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::sync::Arc;
    use std::time::Duration;

    use shallop_core::BitsPerSec;

    use super::*;
    use crate::config::Config;
    use crate::core::Core;
    use crate::trust::identity::ServerVerifier;
    use crate::trust::tls::Tls;

    #[test]
    fn a_connection_has_a_turn_when_it_is_touched_or_something_is_due_and_not_otherwise() {
        let (now, config) = (Instant::now(), Config::new(BitsPerSec::gbps(1)));
        let crypto = Tls::client(ServerVerifier::first_use() as Arc<_>).client_config().unwrap();
        let mut core = Core::new(now, config, None, None, 1).unwrap();
        let mut numbers = Vec::new();
        for port in 1..=3 {
            let to = (Ipv4Addr::LOCALHOST, port).into();
            numbers.push(core.connect(now, Arc::clone(&crypto), to, "host").unwrap());
        }
        let mut ports: Vec<u16> = core.transmit(now).iter().map(|of| of.to.port()).collect();
        ports.dedup();
        assert_eq!(ports, [1, 2, 3], "each begins its handshake");
        assert!(core.connections.take_active(now).is_empty());
        core.connections.get_mut(numbers[1]).unwrap();
        assert_eq!(core.connections.take_active(now), BTreeSet::from([numbers[1]]));
        // Nobody answers: the handshake is repeated.
        let due = core.wakeup().unwrap();
        assert!(
            core.connections
                .take_active(due.checked_sub(Duration::from_nanos(1)).unwrap())
                .is_empty()
        );
        assert_eq!(core.connections.take_active(due), BTreeSet::from_iter(numbers.clone()));
        core.connections.remove(numbers[0]);
        assert_eq!(core.connections.take_active(due), BTreeSet::from_iter(numbers[1..].to_vec()));
    }
}

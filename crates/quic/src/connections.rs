//! The connections of an endpoint, with a list of those that have work to do, so that idle connections cost nothing.

use crate::connection::Connection;
use quinn_proto::ConnectionHandle;
use std::collections::{BTreeMap, BTreeSet};
use std::{net::IpAddr, time::Instant};

struct Entry {
    connection: Connection,
    /// The prefix of the peer's first address. Later ones may be forged.
    prefix: u128,
    due: Option<Instant>,
}

/// Connections by number. No number is used twice: the application may keep the handle of a connection that has ended,
/// and quinn-proto gives its `ConnectionHandle` to the next connection. "Touched" connections may have something to
/// send.
#[derive(Default)]
pub(crate) struct Connections {
    all: BTreeMap<usize, Entry>,
    /// The numbers of the connections that quinn-proto knows, by its `ConnectionHandle`.
    numbers: BTreeMap<usize, usize>,
    /// The number of the next connection.
    next: usize,
    /// The connections with a deadline, in the order of deadlines.
    pub(crate) due: BTreeSet<(Instant, usize)>,
    /// The connections that may have something to send before their deadline, because an event has changed them.
    touched: BTreeSet<usize>,
}

impl Connections {
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The number of connections that peers at this address have begun; of IPv6, peers in its /64.
    pub(crate) fn count_from(&self, address: IpAddr) -> usize {
        let prefix = host_prefix(address);
        self.all.values().filter(|entry| entry.prefix == prefix).count()
    }

    /// Whether every connection is closed and QUIC's endpoint has forgotten it.
    pub(crate) fn are_drained(&self) -> bool {
        self.all.values().all(|entry| entry.connection.is_drained)
    }

    pub(crate) fn get(&self, number: usize) -> Option<&Connection> {
        self.all.get(&number).map(|entry| &entry.connection)
    }

    /// Returns a connection and marks it as touched, because the caller may give it something to send.
    pub(crate) fn get_mut(&mut self, number: usize) -> Option<&mut Connection> {
        let entry = self.all.get_mut(&number)?;
        self.touched.insert(number);
        Some(&mut entry.connection)
    }

    /// Marks a connection as touched: it may have something to send.
    pub(crate) fn touch(&mut self, number: usize) {
        self.touched.insert(number);
    }

    /// Returns a connection without marking it as touched, for changes after which nothing new is to be sent.
    pub(crate) fn get_untouched(&mut self, number: usize) -> Option<&mut Connection> {
        self.all.get_mut(&number).map(|entry| &mut entry.connection)
    }

    /// The oldest connection of a client that has not completed the handshake, or not proved the code.
    pub(crate) fn oldest_stranger(&mut self) -> Option<(usize, &mut Connection)> {
        let mut all = self.all.iter_mut().map(|(number, entry)| (*number, &mut entry.connection));
        all.find(|(_, connection)| connection.is_of_stranger())
    }

    /// Adds a connection, and returns its number.
    pub(crate) fn insert(&mut self, connection: Connection) -> usize {
        let number = self.next;
        self.next += 1;
        self.numbers.insert(connection.handle.0, number);
        let prefix = host_prefix(connection.quic.remote_address().ip());
        self.all.insert(number, Entry { connection, prefix, due: None });
        self.touched.insert(number);
        number
    }

    pub(crate) fn number_of(&self, handle: ConnectionHandle) -> Option<usize> {
        self.numbers.get(&handle.0).copied()
    }

    /// Notes that quinn-proto may give this handle to another connection.
    pub(crate) fn release(&mut self, handle: ConnectionHandle) {
        self.numbers.remove(&handle.0);
    }

    pub(crate) fn remove(&mut self, number: usize) {
        if let Some(due) = self.all.remove(&number).and_then(|entry| entry.due) {
            self.due.remove(&(due, number));
        }
        self.touched.remove(&number);
    }

    /// Iterates over all connections and marks them as touched.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut Connection> {
        self.touched.extend(self.all.keys());
        self.all.values_mut().map(|entry| &mut entry.connection)
    }

    /// Removes and returns the connections that were touched or whose deadline has passed.
    pub(crate) fn take_active(&mut self, now: Instant) -> BTreeSet<usize> {
        let mut active = std::mem::take(&mut self.touched);
        active.extend(self.due.iter().take_while(|(at, _)| *at <= now).map(|(_, number)| number));
        active
    }

    /// Sets the time at which a connection next has something to do; `None` for no such time.
    pub(crate) fn set_due(&mut self, number: usize, due: Option<Instant>) {
        let Some(entry) = self.all.get_mut(&number) else { return };
        let before = std::mem::replace(&mut entry.due, due);
        if before != due {
            before.map(|at| self.due.remove(&(at, number)));
            self.due.extend(due.map(|at| (at, number)));
        }
    }

    /// The connections that were touched since [`Connections::take_active`].
    pub(crate) fn touched(&self) -> Vec<usize> {
        self.touched.iter().copied().collect()
    }
}

/// What the addresses of one host have in common: all of IPv4, the first 64 bits of IPv6.
pub fn host_prefix(address: IpAddr) -> u128 {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
        IpAddr::V6(address) => address.to_bits() >> 64 << 64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{config::Config, endpoint_state::EndpointState, trust::identity::AnyServer, trust::tls::Tls};
    use shallop_core::BitsPerSec;
    use std::{net::Ipv4Addr, sync::Arc, time::Duration};

    #[test]
    fn only_connections_that_were_touched_or_are_due_are_active() {
        let (now, config) = (Instant::now(), Config::new(BitsPerSec::gbps(1)));
        let crypto = Tls::client(AnyServer::new()).client_config().unwrap();
        let mut state = EndpointState::new(config, None, None, 1).unwrap();
        let numbers = [1, 2, 3].map(|port| {
            let to = (Ipv4Addr::LOCALHOST, port).into();
            state.connect(now, Arc::clone(&crypto), to, "host").unwrap()
        });
        let mut ports: Vec<u16> = state.transmit(now).iter().map(|of| of.to.port()).collect();
        ports.dedup();
        assert_eq!(ports, [1, 2, 3], "each begins its handshake");
        assert!(state.connections.take_active(now).is_empty());
        state.connections.get_mut(numbers[1]).unwrap();
        assert_eq!(state.connections.take_active(now), BTreeSet::from([numbers[1]]));
        // Nobody answers: the handshake is due again.
        let due = state.wakeup().unwrap();
        let before = due.checked_sub(Duration::from_nanos(1)).unwrap();
        assert!(state.connections.take_active(before).is_empty());
        assert_eq!(state.connections.take_active(due), BTreeSet::from(numbers));
        state.connections.remove(numbers[0]);
        assert_eq!(state.connections.take_active(due), BTreeSet::from([numbers[1], numbers[2]]));
    }

    #[test]
    fn addresses_of_one_host_count_together() {
        let of = |text: &str| host_prefix(text.parse().unwrap());
        assert_eq!(of("2001:db8:1:2::3"), of("2001:db8:1:2:ffff::"));
        assert_ne!(of("2001:db8:1:2::3"), of("2001:db8:1:3::3"));
        assert_eq!(of("192.0.2.1"), of("::ffff:192.0.2.1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
    }
}

//! The flows of a run and the state of their endpoints. A flow occupies a slot from its start until it retires. It
//! retires when both endpoints are complete, neither has a deadline, and none of its packets is queued or in flight;
//! its slot is then free for a later flow. Memory therefore grows with the flows in progress, not with all flows.
//!
//! Flows may share connections. A flow then takes over the slot of a retired flow between the same hosts, if there is
//! one, together with its path and the connection state of its endpoints.
//!
//! State: the slots, lists of free slots and of idle connections, and an entry for each flow. Entries of retired flows
//! are dropped from the front. The number of an endpoint in the event queue is twice its slot, plus one for the
//! receiver.

use shallop_core::{End, Node, Probe, Time};
use shallop_proto::{Endpoint, EndpointCounters, Priority};
use std::collections::BTreeMap;

/// An endpoint, with what the simulator knows about it.
#[derive(Clone, Debug)]
pub(crate) struct EndState<E> {
    pub machine: E,
    /// Number of the host's port that sends the endpoint's packets.
    pub port: u32,
    /// Priority with which the endpoint waits for the host's link; `None` while it does not wait.
    pub waiting: Option<Priority>,
    /// Whether completion of the endpoint has been reported to the probe.
    pub complete: bool,
    /// Where the runs of the endpoint are queued: number of the port, and index in its [`crate::sources::Sources`].
    pub source: Option<(u32, u32)>,
    /// Counts the timers since the last packet came to the endpoint, up to [`crate::sources::CALM`].
    pub calm: u8,
}

impl<E: Endpoint> EndState<E> {
    /// Reports a new RTT sample of the endpoint, and its completion, to the probe. Returns whether it completes now.
    #[inline]
    pub fn report(&mut self, now: Time, end: End, probe: &mut impl Probe) -> bool {
        if let Some(rtt) = self.machine.rtt_sample() {
            probe.on_rtt(now, end, rtt);
        }
        let completes = !self.complete && self.machine.is_complete();
        if completes {
            self.complete = true;
            probe.on_complete(now, end);
        }
        completes
    }
}

/// A flow that has retired, with the counters of its endpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retired {
    pub flow: u32,
    pub sender: EndpointCounters,
    pub receiver: EndpointCounters,
}

/// State of one flow in progress: its two endpoints and its packets.
#[derive(Clone, Debug)]
struct Slot<E> {
    ends: [EndState<E>; 2],
    /// Number of the flow's packets that are queued or in flight. In a part of a network: packets that were sent there
    /// less those that were delivered or dropped there, modulo 2^32.
    in_network: u32,
    /// Number of the flow; [`VACANT`] once it has retired.
    flow: u32,
    /// Number of the first flow of the connection, which selects the path of all flows of the connection.
    path_flow: u32,
    /// Key by which a later flow finds the connection to take it over; `None` if the connection is not reused.
    connection: Option<ConnectionKey>,
}

/// Group of connections that a flow may take over ([`crate::Flow`]), and the two hosts.
type ConnectionKey = (u32, [Node; 2]);

#[derive(Clone, Copy, Debug)]
struct FlowEntry {
    /// Slot of the flow; [`VACANT`] once the flow has retired.
    slot: u32,
    hosts: [Node; 2],
    path_flow: u32,
}

const VACANT: u32 = u32::MAX;

/// All started flows of a run, with the endpoints of those in progress.
#[derive(Debug)]
pub(crate) struct FlowTable<E> {
    slots: Vec<Slot<E>>,
    /// Free slots; the last one in the list is used next.
    free: Vec<u32>,
    /// Slots of idle connections, in the order in which they became idle.
    idle_connections: BTreeMap<ConnectionKey, Vec<u32>>,
    /// Entries of flows from number `first` on; all flows before have retired.
    flows: Vec<FlowEntry>,
    first: u32,
    retires: bool,
    retired: Vec<Retired>,
}

impl<E> Default for FlowTable<E> {
    fn default() -> Self {
        let (slots, free, flows, retired) = (vec![], vec![], vec![], vec![]);
        let idle_connections = BTreeMap::new();
        Self { slots, free, idle_connections, flows, first: 0, retires: false, retired }
    }
}

impl<E: Endpoint> FlowTable<E> {
    /// Address of the sender of the flow that will start next.
    pub fn next_flow(&self) -> End {
        End::sender(self.started() as u32)
    }

    pub fn started(&self) -> usize {
        self.first as usize + self.flows.len()
    }

    #[inline]
    fn entry(&self, end: End) -> &FlowEntry {
        &self.flows[(end.flow() - self.first) as usize]
    }

    /// Number of the flow whose hash selects the path of the next flow: the next flow itself, or the first flow of the
    /// connection that it will take over.
    pub fn path_flow(&self, connections: Option<u32>, hosts: [Node; 2]) -> u32 {
        let idle = connections.and_then(|key| self.idle_connections.get(&(key, hosts))?.last());
        idle.map_or(self.started() as u32, |&slot| self.slots[slot as usize].path_flow)
    }

    /// Starts the next flow, between these hosts. The flow takes over an idle connection of the group `connections`, if
    /// there is one.
    pub fn start(&mut self, mut ends: [EndState<E>; 2], hosts: [Node; 2], connections: Option<u32>) {
        let connection = connections.map(|number| (number, hosts));
        let (flow, path_flow) = (self.started() as u32, self.path_flow(connections, hosts));
        let idle = connection.and_then(|key| self.idle_connections.get_mut(&key)?.pop());
        if let Some(slot) = idle {
            for (end, before) in ends.iter_mut().zip(&self.slots[slot as usize].ends) {
                end.machine.continue_connection(&before.machine);
            }
        }
        let state = Slot { ends, in_network: 0, flow, path_flow, connection };
        let slot = if let Some(slot) = idle.or_else(|| self.free.pop()) {
            self.slots[slot as usize] = state;
            slot
        } else {
            self.slots.push(state);
            self.slots.len() as u32 - 1
        };
        self.flows.push(FlowEntry { slot, hosts, path_flow });
    }

    /// Host of an endpoint, and the endpoint whose hash selects the path of packets to it.
    #[inline]
    pub fn destination(&self, end: End) -> (Node, End) {
        let FlowEntry { hosts, path_flow, .. } = *self.entry(end);
        let side = end.0 & 1;
        (hosts[side as usize], End(path_flow << 1 | side))
    }

    /// Number of an endpoint in the event queue: twice its slot, plus one for a receiver.
    #[inline]
    pub fn number(&self, end: End) -> u32 {
        self.entry(end).slot << 1 | end.0 & 1
    }

    /// Endpoint with the number `number` in the event queue.
    #[inline]
    pub fn end(&self, number: u32) -> End {
        End(self.slots[(number >> 1) as usize].flow << 1 | number & 1)
    }

    /// Whether a flow has started and not yet retired.
    pub fn is_open(&self, flow: u32) -> bool {
        let entry = flow.checked_sub(self.first).and_then(|at| self.flows.get(at as usize));
        entry.is_some_and(|entry| entry.slot != VACANT)
    }

    /// State of an endpoint. Its flow must not have retired.
    #[inline]
    pub fn get(&mut self, end: End) -> &mut EndState<E> {
        self.get_counted(end).0
    }

    /// State of an endpoint, and the number of its flow's packets that are queued or in flight. The flow must not have
    /// retired.
    #[inline]
    pub fn get_counted(&mut self, end: End) -> (&mut EndState<E>, &mut u32) {
        let slot = self.entry(end).slot;
        let slot = &mut self.slots[slot as usize];
        debug_assert!(slot.flow == end.flow(), "a retired flow has no events");
        (&mut slot.ends[(end.0 & 1) as usize], &mut slot.in_network)
    }

    /// Counts down the packets in the network when a packet to `end` was delivered, dropped or lost.
    #[inline]
    pub fn on_packet_gone(&mut self, end: End) {
        let (_, in_network) = self.get_counted(end);
        *in_network = in_network.wrapping_sub(1);
    }

    /// Counts up the packets in the network when a packet to `end` was duplicated.
    pub fn on_packet_duplicated(&mut self, end: End) {
        let (_, in_network) = self.get_counted(end);
        *in_network = in_network.wrapping_add(1);
    }

    /// Whether the flow of an endpoint can retire: both endpoints are complete, and none of its packets is in the
    /// network. False if retirement is off or the flow has already retired.
    #[inline]
    pub fn is_quiescent(&self, end: End) -> bool {
        let Some(slot) = self.slots.get(self.entry(end).slot as usize) else { return false };
        let [sender, receiver] = &slot.ends;
        let idle = |end: &EndState<E>| end.complete && end.waiting.is_none();
        slot.in_network == 0 && self.retires && idle(sender) && idle(receiver)
    }

    /// Retires the flow of an endpoint, which frees its slot.
    pub fn retire_flow(&mut self, end: End) {
        let index = self.entry(end).slot;
        let slot = &mut self.slots[index as usize];
        slot.flow = VACANT;
        self.flows[(end.flow() - self.first) as usize].slot = VACANT;
        let [sender, receiver] = slot.ends.each_ref().map(|end| end.machine.counters());
        match slot.connection {
            Some(key) => self.idle_connections.entry(key).or_default().push(index),
            None => self.free.push(index),
        }
        self.retired.push(Retired { flow: end.flow(), sender, receiver });
    }

    /// Flows that have started and not retired, in a fixed order.
    pub fn in_progress(&self) -> impl Iterator<Item = u32> {
        self.slots.iter().map(|slot| slot.flow).filter(|&flow| flow != VACANT)
    }

    /// Endpoints of a flow in progress, and the number of its packets in the network.
    pub fn ends_of(&self, flow: u32) -> (&[EndState<E>; 2], u32) {
        let slot = &self.slots[self.entry(End::sender(flow)).slot as usize];
        (&slot.ends, slot.in_network)
    }

    pub fn enable_retirement(&mut self) {
        self.retires = true;
    }

    /// Removes and returns the flows that have retired since the last call, in order of retirement.
    pub fn take_retired(&mut self) -> Vec<Retired> {
        self.drop_retired_entries();
        std::mem::take(&mut self.retired)
    }

    /// Drops the leading entries of retired flows if they are at least half of all entries.
    fn drop_retired_entries(&mut self) {
        let retired = self.flows.iter().take_while(|flow| flow.slot == VACANT).count();
        if retired > 0 && retired * 2 >= self.flows.len() {
            self.flows.drain(..retired);
            self.first += retired as u32;
        }
    }

    /// Endpoints of flows in progress, in the order of their slots: sender and receiver alternate.
    pub fn ends(&self) -> impl Iterator<Item = (End, &E)> {
        self.slots.iter().filter(|slot| slot.flow != VACANT).flat_map(|slot| {
            let [sender, receiver] = &slot.ends;
            let (first, second) = (End::sender(slot.flow), End::receiver(slot.flow));
            [(first, &sender.machine), (second, &receiver.machine)]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shallop_core::{BitsPerSec, Bytes};
    use shallop_proto::udp::{Config, Sender};

    #[test]
    fn a_flow_is_open_from_its_start_until_it_retires() {
        let config = Config { rate: BitsPerSec::gbps(1), ect: false, payload: Bytes::new(1_000), headers: 40 };
        let end = || EndState {
            machine: Sender::new(&config, Some(1)),
            port: 0,
            waiting: None,
            complete: true,
            source: None,
            calm: 0,
        };
        let mut table = FlowTable::default();
        let open = |table: &FlowTable<Sender>| [0, 1, 2].map(|flow| table.is_open(flow));
        assert_eq!(open(&table), [false; 3]);
        for _ in 0..2 {
            table.start([end(), end()], [Node(0), Node(1)], None);
        }
        assert_eq!(open(&table), [true, true, false]);
        table.retire_flow(End::sender(0));
        assert_eq!(open(&table), [false, true, false]);
        // Its entry goes, too.
        assert_eq!(table.take_retired().len(), 1);
        assert_eq!(open(&table), [false, true, false]);
        assert!(!table.is_open(u32::MAX));
    }
}

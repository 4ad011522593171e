//! Flows of datagrams at a constant rate between real hosts: what hosts send, and what the simulator counts of it.

use shallop_core::{BitsPerSec, Bytes};
use shallop_proto::{EndpointCounters, wire};

use crate::addresses;
use crate::endpoint::FrameHead;
use crate::frame::Ends;
use crate::host_flow::HostFlow;

/// A flow of datagrams that a real host sends to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatagramOrder {
    /// The flow.
    pub flow: HostFlow,
    /// Its rate on the wire, preambles and gaps included.
    pub rate: BitsPerSec,
    /// Payload bytes of a full datagram.
    pub payload: u16,
    /// Whether its packets are ECN-capable.
    pub ect: bool,
}

/// Bytes of the headers of IP and UDP.
const HEADERS: u64 = 28;

/// Bytes on the wire of a datagram with this much payload.
#[must_use]
pub fn wire_bytes(payload: u64) -> Bytes {
    Bytes::new(u64::from(wire::frame(HEADERS + payload)))
}

/// One end of a flow of datagrams, which counts them.
#[derive(Clone, Debug)]
pub struct DatagramEnd {
    /// The ends of the flow.
    pub ends: Ends,
    is_sender: bool,
    size: Option<u64>,
    /// Payload bytes that were sent or received.
    bytes: u64,
    sent: u64,
}

impl DatagramEnd {
    /// The two ends of a flow, the sending one first.
    #[must_use]
    pub fn pair(order: &DatagramOrder) -> [Self; 2] {
        let flow = &order.flow;
        let (ends, size) = (flow.ends(addresses::DATAGRAM_PORT), flow.size);
        [true, false].map(|is_sender| Self { ends, is_sender, size, bytes: 0, sent: 0 })
    }

    /// Counts a packet that this end sends.
    pub fn on_send(&mut self, head: &FrameHead) {
        if self.is_sender {
            self.sent += 1;
            self.bytes += u64::from(head.payload);
        }
    }

    /// Counts a packet that arrives.
    pub fn on_arrival(&mut self, head: &FrameHead) {
        if !self.is_sender {
            self.bytes += u64::from(head.payload);
        }
    }

    /// Whether all of the flow was sent, or received.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.size == Some(self.bytes)
    }

    /// What it has counted.
    #[must_use]
    pub fn counters(&self) -> EndpointCounters {
        let received = if self.is_sender { 0 } else { self.bytes };
        EndpointCounters { sent: self.sent, received, ..EndpointCounters::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_is_complete_when_all_of_it_was_received() {
        let order = DatagramOrder {
            flow: HostFlow {
                number: 3,
                start: 0,
                size: Some(2_000),
                from: 0,
                to: 1,
                local: 10_000,
            },
            rate: BitsPerSec::gbps(1),
            payload: 1_460,
            ect: false,
        };
        let [mut sender, mut receiver] = DatagramEnd::pair(&order);
        for (payload, is_lost) in [(1_460, false), (540, true)] {
            let head = FrameHead {
                slot: 0,
                connection: 0,
                sequence: 0,
                acknowledged: None,
                payload,
                syn: false,
                class: None,
            };
            sender.on_send(&head);
            if !is_lost {
                receiver.on_arrival(&head);
            }
        }
        assert!(sender.is_complete() && !receiver.is_complete());
        assert_eq!((sender.counters().sent, sender.counters().received), (2, 0));
        assert_eq!((receiver.counters().sent, receiver.counters().received), (0, 1_460));
    }
}

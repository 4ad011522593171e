//! Flows between real hosts by QUIC on credits. Their packets are encrypted, so that a switch sees classes and lengths
//! and no more: what has arrived, and what was sent again, is told by the hosts themselves.

use shallop_core::Class;
pub use shallop_proto::Credits;
use shallop_proto::EndpointCounters;

use crate::addresses;
use crate::frame::Ends;
use crate::host_flow::HostFlow;

/// How far a flow is, as its hosts tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Payload bytes that were received in order and checked.
    pub received: u64,
    /// Packets that the sender has found lost, and whose data it sends again.
    pub lost: u64,
    /// Emulation packets sent.
    pub emulated: u64,
    /// Credits that came back and what became of them.
    pub credits: Credits,
}

/// One end of a flow by QUIC.
#[derive(Clone, Debug)]
pub struct QuicEnd {
    /// The ends of the flow.
    pub ends: Ends,
    is_sender: bool,
    size: Option<u64>,
    sent: u64,
    unscheduled: u64,
    progress: Progress,
}

impl QuicEnd {
    /// The two ends of a flow, the sending one first.
    #[must_use]
    pub fn pair(flow: &HostFlow) -> [Self; 2] {
        [true, false].map(|is_sender| Self {
            ends: flow.ends(addresses::QUIC_PORT),
            is_sender,
            size: flow.size,
            sent: 0,
            unscheduled: 0,
            progress: Progress::default(),
        })
    }

    /// Counts a packet that this end sends, which says this class.
    pub fn on_send(&mut self, said: Option<Class>) {
        let is = |class: Class| self.is_sender && said == Some(class);
        let is_unscheduled = is(Class::Unscheduled);
        self.sent += u64::from(is(Class::Data) || is_unscheduled);
        self.unscheduled += u64::from(is_unscheduled);
    }

    /// Its hosts tell how far the flow is.
    pub fn on_news(&mut self, progress: Progress) {
        self.progress = progress;
    }

    /// Whether all of the flow has arrived, as its receiver tells.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.size.is_some_and(|size| self.progress.received >= size)
    }

    /// What it has counted.
    #[must_use]
    pub fn counters(&self) -> EndpointCounters {
        let Progress { received, lost, emulated, credits } = self.progress;
        if !self.is_sender {
            return EndpointCounters { received, ..EndpointCounters::default() };
        }
        EndpointCounters {
            sent: self.sent,
            unscheduled: self.unscheduled,
            retransmits: lost,
            metered: emulated,
            credits,
            ..EndpointCounters::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_is_complete_when_its_receiver_says_so_and_packets_count_by_class() {
        let flow =
            HostFlow { number: 3, start: 0, size: Some(2_000), from: 0, to: 1, local: 10_000 };
        let [mut sender, mut receiver] = QuicEnd::pair(&flow);
        for class in [Class::Data, Class::Emulation, Class::Unscheduled, Class::Ack] {
            sender.on_send(Some(class));
            receiver.on_send(Some(class));
        }
        let credits = Credits { granted: 3, used: 2, wasted: 1 };
        let progress = Progress { received: 1_999, credits, ..Progress::default() };
        sender.on_news(progress);
        receiver.on_news(progress);
        assert!(!receiver.is_complete());
        let counted = sender.counters();
        assert_eq!((counted.sent, counted.unscheduled, counted.credits.used), (2, 1, 2));
        assert_eq!((receiver.counters().sent, receiver.counters().received), (0, 1_999));
        let progress = Progress { received: 2_000, ..progress };
        sender.on_news(progress);
        receiver.on_news(progress);
        assert!(sender.is_complete() && receiver.is_complete());
    }
}

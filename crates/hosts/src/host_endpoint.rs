//! Ends of flows in a network with real hosts: simulated endpoints, and monitors of ends in real hosts.

use crate::flow_monitor::{FlowMonitor, FrameHead};
use shallop_core::{Class, Ecn, Span, Time};
use shallop_proto::clean::AsTcp;
use shallop_proto::{Endpoint, EndpointCounters, FlowState, Out, tcp, wire};

/// The header of a packet of a simulated endpoint or of a real host.
#[derive(Clone, Copy, Debug)]
pub enum Head<H> {
    Simulated(H),
    Frame(FrameHead),
}

impl<H: AsTcp> AsTcp for Head<H> {
    fn as_tcp_mut(&mut self) -> Option<&mut tcp::Head> {
        match self {
            Self::Simulated(head) => head.as_tcp_mut(),
            Self::Frame(_) => None,
        }
    }
}

/// Makes the simulated packet of a real host's packet. `uses_legacy_classes` applies to packets without a class of
/// their own: they get the classes of transports without credits, because other flows in the network use credits.
pub fn outgoing<H>(head: FrameHead, ecn: Ecn, ip_bytes: u16, uses_legacy_classes: bool) -> Out<Head<H>> {
    let class = if head.payload > 0 { Class::Data } else { Class::Ack };
    let class = if uses_legacy_classes { class.legacy() } else { class };
    let (body, size) = (0..u64::from(head.payload), wire::frame(u64::from(ip_bytes)));
    Out { head: Head::Frame(head), body, size, class: head.class.unwrap_or(class), ecn }
}

/// One end of a flow in a network with real hosts: a simulated endpoint, or the monitor of a real one.
#[derive(Debug)]
pub enum HostEndpoint<E> {
    Simulated(E),
    /// The monitor of an end in a real host.
    Monitored(Box<FlowMonitor>),
}

/// Wraps the header of a simulated endpoint's packet in [`Head`].
fn simulated<H>(out: Out<H>) -> Out<Head<H>> {
    let Out { head, body, size, class, ecn } = out;
    Out { head: Head::Simulated(head), body, size, class, ecn }
}

impl<E> HostEndpoint<E> {
    /// The monitor of this end; `None` if the endpoint is simulated.
    pub fn monitor(&mut self) -> Option<&mut FlowMonitor> {
        match self {
            Self::Simulated(_) => None,
            Self::Monitored(monitor) => Some(monitor),
        }
    }

    const fn simulated(&self) -> Option<&E> {
        match self {
            Self::Simulated(end) => Some(end),
            Self::Monitored(_) => None,
        }
    }

    const fn simulated_mut(&mut self) -> Option<&mut E> {
        match self {
            Self::Simulated(end) => Some(end),
            Self::Monitored(_) => None,
        }
    }
}

impl<E: Endpoint> Endpoint for HostEndpoint<E> {
    type Head = Head<E::Head>;

    fn on_packet(&mut self, now: Time, head: &Self::Head, ecn: Ecn) {
        match (self, head) {
            (Self::Simulated(end), Head::Simulated(head)) => end.on_packet(now, head, ecn),
            (Self::Monitored(monitor), Head::Frame(head)) => monitor.on_arrival(now, head),
            _ => debug_assert!(false, "both ends of a flow are simulated or neither"),
        }
    }

    fn on_timer(&mut self, now: Time) {
        if let Self::Simulated(end) = self {
            end.on_timer(now);
        }
    }

    fn poll_metered(&mut self, now: Time) -> Option<Out<Self::Head>> {
        self.simulated_mut()?.poll_metered(now).map(simulated)
    }

    fn ready(&self, now: Time) -> bool {
        self.simulated().is_some_and(|end| end.ready(now))
    }

    fn is_low_priority(&self) -> bool {
        self.simulated().is_some_and(Endpoint::is_low_priority)
    }

    fn poll(&mut self, now: Time) -> Option<Out<Self::Head>> {
        self.simulated_mut()?.poll(now).map(simulated)
    }

    fn wakeup(&self) -> Option<Time> {
        self.simulated()?.wakeup()
    }

    fn is_complete(&self) -> bool {
        match self {
            Self::Simulated(end) => end.is_complete(),
            Self::Monitored(monitor) => monitor.is_complete(),
        }
    }

    fn rtt_sample(&self) -> Option<Span> {
        match self {
            Self::Simulated(end) => end.rtt_sample(),
            Self::Monitored(monitor) => monitor.rtt,
        }
    }

    fn counters(&self) -> EndpointCounters {
        match self {
            Self::Simulated(end) => end.counters(),
            Self::Monitored(monitor) => monitor.counters,
        }
    }

    fn flow_state(&self) -> Option<FlowState> {
        self.simulated()?.flow_state()
    }

    fn continue_connection(&mut self, before: &Self) {
        if let (Self::Simulated(end), Self::Simulated(before)) = (self, before) {
            end.continue_connection(before);
        }
    }
}

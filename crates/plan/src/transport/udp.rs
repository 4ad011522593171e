//! UDP at a constant rate: unresponsive traffic.

use super::{Configured, FlowContext, Protocol};
use shallop_core::{BitsPerSec, Bytes};
use shallop_options::{HostStack, Key, Options, Problem, Section, SectionKind, section_kind};
use shallop_proto::{Peer, UdpEnd, udp, wire};
use shallop_topology::bounds::RATE;

/// UDP with the options of a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Options)]
#[options(defaults)]
pub struct Udp {
    /// The rate of each flow on the wire, preambles and gaps included.
    #[key(RATE, shown = "the rate of the sender's link")]
    pub rate: Option<BitsPerSec>,
    /// The payload of each datagram (iperf3: `-l`). Its IP packet has 28 B more, and its frame at least 84 B on the
    /// wire.
    #[key(
        Size(Bytes::new(1), Bytes::new(9_188)),
        shown = "1460 B, or what the MTU of the path leaves of 40 B of headers",
        was = "packet",
        was = "packet_size",
        was = "length"
    )]
    pub datagram: Option<Bytes>,
    /// Whether packets are ECN-capable, so that a queue marks them instead of dropping them. The flow does not
    /// respond to marks.
    #[key(default = false)]
    pub ect: bool,
}

impl Udp {
    /// The payload of a full datagram, and the bytes of the headers in its IP packet. `payload` is what a path takes
    /// with [`wire::HEADERS`].
    pub fn datagram(&self, payload: u16) -> (u64, u64) {
        let largest = u64::from(payload) + wire::HEADERS - wire::UDP_HEADERS;
        let own = self.datagram.map(|size| (size.get().min(largest), wire::UDP_HEADERS));
        own.unwrap_or((payload.into(), wire::HEADERS))
    }
}

impl Configured for Udp {
    fn kinds() -> Vec<SectionKind> {
        vec![section_kind::<Self>("udp", "a constant rate, whatever happens")]
    }

    fn read(_: &str, section: &Section<'_>, _: HostStack) -> Result<Self, Problem> {
        Options::read(section, ())
    }

    fn values(&self) -> Vec<(&'static Key, Option<String>)> {
        Options::values(self)
    }
}

impl Protocol for Udp {
    type End = UdpEnd;
    const NAME: &'static str = "UDP";

    fn is_ecn_capable(&self) -> bool {
        self.ect
    }

    fn endpoints(&self, flow: &FlowContext) -> [UdpEnd; 2] {
        let rate = self.rate.unwrap_or(flow.sender_link);
        let (payload, headers) = self.datagram(flow.payload);
        let config = udp::Config { rate, ect: self.ect, payload: Bytes::new(payload), headers };
        let sender = udp::Sender::new(&config, flow.size);
        let receiver = udp::Receiver::new(flow.size);
        [Peer::sender(sender), Peer::receiver(receiver)]
    }
}

//! UDP at a constant rate: unresponsive traffic.

use shallop_core::{BitsPerSec, Bytes};
use shallop_options::{HostStack, Key, Options, Problem, Section, SectionKind, section_kind};
use shallop_proto::{Peer, UdpEnd, udp};
use shallop_topology::bounds::RATE;

use super::{Configured, FlowContext, Protocol};

/// UDP with the options of a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Options)]
#[options(defaults)]
pub struct Udp {
    /// The rate of each flow on the wire, preambles and gaps included.
    #[key(RATE, shown = "the rate of the sender's link")]
    pub rate: Option<BitsPerSec>,
    /// Whether packets are ECN-capable, so that a queue marks them instead of dropping them. The flow does not
    /// respond to marks.
    #[key(default = false)]
    pub ect: bool,
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
        let payload = Bytes::new(u64::from(flow.payload));
        let config = udp::Config { rate, ect: self.ect, payload };
        let sender = udp::Sender::new(&config, flow.size);
        let receiver = udp::Receiver::new(flow.size);
        [Peer::sender(sender), Peer::receiver(receiver)]
    }
}

//! UDP at a constant rate: unresponsive traffic.

use shallop_core::form::{Key, Kind};
use shallop_core::options::{HostStack, Options, Source, kind};
use shallop_core::{BitsPerSec, Bytes, options};
use shallop_proto::{Peer, UdpEnd, udp};
use shallop_topology::bounds::RATE;

use super::{Configured, FlowContext, Protocol};

options! {
    /// Unresponsive traffic with its options.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Udp(const) {
        /// The rate of each flow on the wire, preambles and gaps included.
        key rate: Option<BitsPerSec> [= RATE] = None, "the rate of the sender's link";
        /// Whether packets are ECN-capable, so that a queue marks them instead of dropping them. The flow does not
        /// respond to marks.
        key ect: bool = false;
    }
}

impl Configured for Udp {
    fn kinds() -> Vec<Kind> {
        vec![kind::<Self>("udp", "a constant rate, whatever happens")]
    }

    fn read<S: Source>(_: &str, source: &S, _: HostStack) -> Result<Self, S::Error> {
        Options::read(source, ())
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

//! The transports. Each has a file with its options, its requirements of switches, and the configuration of its
//! endpoints.

mod aeolus;
mod demand;
mod expresspass;
mod flashpass;
mod tcp;
mod udp;

use shallop_core::form::{Key, Kind};
use shallop_core::options::{HostStack, Source};
use shallop_core::{BitsPerSec, BufferSize, Bytes, Class, Seed, Share, Span, Stream};
use shallop_proto::clean::AsTcp;
use shallop_proto::{AnyEnd, Endpoint, wire};

pub use aeolus::{Aeolus, BurstUntil};
pub use demand::{Demand, KnownDemand};
pub use expresspass::{ExpressPass, ExpressPassOptions, ExpressPassRule};
pub use flashpass::{FlashPass, FlashPassLaw, FlashPassOptions};
pub use tcp::{Tcp, TcpOptions};
pub use udp::Udp;

/// A transport with its options.
#[derive(Clone, Debug, PartialEq)]
pub enum Transport {
    /// TCP with a window controller.
    Tcp(Tcp),
    /// `ExpressPass`.
    ExpressPass(ExpressPass),
    /// `FlashPass`.
    FlashPass(FlashPass),
    /// Packets at a constant rate.
    Udp(Udp),
}

/// Evaluates an expression with the options of a transport, whichever it is.
#[macro_export]
macro_rules! with_transport {
    ($transport:expr, $options:ident => $what:expr) => {
        match $transport {
            $crate::transport::Transport::Tcp($options) => $what,
            $crate::transport::Transport::ExpressPass($options) => $what,
            $crate::transport::Transport::FlashPass($options) => $what,
            $crate::transport::Transport::Udp($options) => $what,
        }
    };
}

/// The key of the transport in scenarios.
pub const TAG: &str = "transport";
/// The largest value of an option that is a time.
pub(crate) const LONGEST: Span = shallop_control::options::LONGEST;
/// The default timeout of transports with credits (flashpass-icnp21, IV.A).
const TIMEOUT: Span = Span::from_ms(200);

/// A transport as it is written in scenarios.
pub trait Configured: Sized {
    /// Its names in scenarios, with the keys of each.
    fn kinds() -> Vec<Kind>;

    /// The transport with this name and its options; `stack` is that of the scenario.
    ///
    /// # Errors
    /// As [`Options::read`](shallop_core::options::Options::read).
    fn read<S: Source>(kind: &str, source: &S, stack: HostStack) -> Result<Self, S::Error>;

    /// Its keys with their values, as a scenario would write them or in words.
    fn values(&self) -> Vec<(&'static Key, Option<String>)>;
}

impl Transport {
    /// The controller's name in scenarios, if its hosts are real kernels.
    pub fn kernel(&self) -> Option<&'static str> {
        match self {
            Self::Tcp(tcp) => tcp.kernel,
            _ => None,
        }
    }
}

impl Configured for Transport {
    fn kinds() -> Vec<Kind> {
        [Tcp::kinds(), ExpressPass::kinds(), Udp::kinds(), FlashPass::kinds()].concat()
    }

    fn read<S: Source>(kind: &str, source: &S, stack: HostStack) -> Result<Self, S::Error> {
        fn has<T: Configured>(kind: &str) -> bool {
            T::kinds().iter().any(|known| known.name == kind)
        }
        if has::<ExpressPass>(kind) {
            return ExpressPass::read(kind, source, stack).map(Self::ExpressPass);
        }
        if has::<FlashPass>(kind) {
            return FlashPass::read(kind, source, stack).map(Self::FlashPass);
        }
        if has::<Udp>(kind) {
            return Udp::read(kind, source, stack).map(Self::Udp);
        }
        Tcp::read(kind, source, stack).map(Self::Tcp)
    }

    fn values(&self) -> Vec<(&'static Key, Option<String>)> {
        with_transport!(self, options => Configured::values(options))
    }
}

/// A transport as the network and drivers see it.
pub trait Protocol: Sync {
    /// Either endpoint of a flow.
    type End: Endpoint<Head: AsTcp> + Into<AnyEnd> + Send + 'static;
    /// Its name in messages.
    const NAME: &'static str;
    /// Its requirements of switches, if its data is sent on credits.
    const CREDITS: Option<&'static Credits> = None;

    /// Its name with a variant, such as the window controller.
    fn describe(&self) -> String {
        Self::NAME.to_owned()
    }

    /// Its unscheduled burst, if it sends one.
    fn aeolus(&self) -> Option<Aeolus> {
        None
    }

    /// Whether it responds to congestion marks.
    fn responds_to_marks(&self) -> bool {
        false
    }

    /// Whether any of its packets is ECN-capable.
    fn is_ecn_capable(&self) -> bool {
        true
    }

    /// Whether it needs marks in proportion to the queue, as DCTCP does: without them it goes by losses alone.
    fn relies_on_marks(&self) -> bool {
        false
    }

    /// Timestamps in a credit packet.
    fn batch(&self) -> u8 {
        1
    }

    /// The largest packet that switches meter, in bytes on the wire.
    fn largest_metered(&self) -> Bytes {
        Bytes::new(u64::from(wire::MIN_FRAME))
    }

    /// How long before its data is available a flow with this base round-trip time requests credits.
    fn request_lead(&self, _base_rtt: Span) -> Span {
        Span::ZERO
    }

    /// The sending and the receiving endpoint of a flow.
    fn endpoints(&self, flow: &FlowContext) -> [Self::End; 2];
}

/// The requirements of switches of a transport whose data is sent on credits. Constant for each transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credits {
    /// The transport's name.
    pub name: &'static str,
    /// The name of its metered packets.
    pub packets: &'static str,
    /// Their class.
    pub metered: Class,
    /// Whether data crosses a link in the direction opposite to the metered packets that release it.
    pub releases_reverse: bool,
    /// Whether receivers return a credit for each metered packet, for which ports have a queue.
    pub returns: bool,
    /// Whether metered packets that are not ECN-capable are dropped above a threshold (selective drop).
    pub selective: bool,
    /// The names of a port's queues, the metered one first, that of data last.
    pub queues: &'static [&'static str],
    /// These queues and one for transports without credits.
    pub queues_with_legacy: &'static [&'static str],
    /// The queue of each class.
    pub queue_of: [u8; Class::COUNT],
    /// The depth of the metered queue of a host's own link; `None` for that of a switch.
    pub host_queue: Option<BufferSize>,
}

/// The context from which the endpoints of a flow are configured.
#[derive(Clone, Copy, Debug)]
pub struct FlowContext {
    /// The flow's number.
    pub number: u32,
    /// Payload bytes; `None` without end.
    pub size: Option<u64>,
    /// Payload of a full packet.
    pub payload: u16,
    /// The round-trip time of its path in an empty network.
    pub base_rtt: Span,
    /// The waiting time from an emulation packet to its data packet; zero for transports without emulation.
    pub wait: Span,
    /// Rate of the sender's link.
    pub sender_link: BitsPerSec,
    /// Rate of the receiver's link.
    pub receiver_link: BitsPerSec,
    /// The share of the sender's link for metered packets.
    pub sender_share: Option<Share>,
    /// The share of the receiver's link for metered packets.
    pub receiver_share: Option<Share>,
    /// The root of the run's random streams.
    pub seed: Seed,
}

impl FlowContext {
    /// The random stream of the flow with this name.
    pub fn stream(&self, name: &str) -> Stream {
        self.seed.stream(name, u64::from(self.number))
    }
}

impl Transport {
    /// See [`Protocol::CREDITS`].
    pub fn credits(&self) -> Option<&'static Credits> {
        fn of<P: Protocol>(_: &P) -> Option<&'static Credits> {
            P::CREDITS
        }
        with_transport!(self, options => of(options))
    }

    /// See [`Protocol::describe`].
    pub fn describe(&self) -> String {
        with_transport!(self, options => options.describe())
    }

    /// See [`Protocol::aeolus`].
    pub fn aeolus(&self) -> Option<Aeolus> {
        with_transport!(self, options => options.aeolus())
    }

    /// See [`Protocol::responds_to_marks`].
    pub fn responds_to_marks(&self) -> bool {
        with_transport!(self, options => options.responds_to_marks())
    }

    /// See [`Protocol::is_ecn_capable`].
    pub fn is_ecn_capable(&self) -> bool {
        with_transport!(self, options => options.is_ecn_capable())
    }

    /// See [`Protocol::relies_on_marks`].
    pub fn relies_on_marks(&self) -> bool {
        with_transport!(self, options => options.relies_on_marks())
    }

    /// See [`Protocol::batch`].
    pub fn batch(&self) -> u8 {
        with_transport!(self, options => options.batch())
    }

    /// See [`Protocol::largest_metered`].
    pub fn largest_metered(&self) -> Bytes {
        with_transport!(self, options => options.largest_metered())
    }

    /// See [`Protocol::request_lead`].
    pub fn request_lead(&self, base_rtt: Span) -> Span {
        with_transport!(self, options => options.request_lead(base_rtt))
    }
}

//! The transports of plans. Each has a file with its options, its requirements of switches, and the configuration of
//! its endpoints.

mod aeolus;
mod demand;
mod expresspass;
mod flashpass;
mod tcp;
mod udp;

use shallop_core::{BitsPerSec, BufferSize, Bytes, Class, Seed, Share, Span, Stream};
use shallop_options::{HostStack, Key, Problem, Section, SectionKind};
use shallop_proto::clean::AsTcp;
use shallop_proto::{AnyEnd, Endpoint, wire};

use crate::switches::Accounting;

pub use aeolus::{Aeolus, BurstUntil, UnscheduledAcks};
pub use demand::{Demand, KnownDemand};
pub use expresspass::{ExpressPass, ExpressPassOptions, ExpressPassRule};
pub use flashpass::{FlashPass, FlashPassLaw, FlashPassOptions};
pub use tcp::{Tcp, TcpOptions};
pub use udp::Udp;

/// A transport with its options, as a scheme of a scenario sets them.
#[derive(Clone, Debug, PartialEq)]
pub enum Transport {
    Tcp(Tcp),
    ExpressPass(ExpressPass),
    FlashPass(FlashPass),
    Udp(Udp),
}

impl Transport {
    /// Whether the transport is as its paper writes it; `FlashPass` also has laws of this project.
    pub fn is_as_in_paper(&self) -> bool {
        !matches!(self, Self::FlashPass(flashpass) if !flashpass.as_in_paper)
    }
}

/// Evaluates an expression with `$options` bound to the options of a [`Transport`], whichever transport it is.
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

/// The key of scenarios that names the transport of a scheme.
pub const TAG: &str = "transport";
/// Upper bound of all options of transports that are times.
pub(crate) const LONGEST: Span = shallop_control::options::LONGEST;
/// Default of the retransmission timeout of transports with credits (flashpass-icnp21, IV.A).
const TIMEOUT: Span = Span::from_ms(200);

/// A transport that scenarios configure: its names, keys and values.
pub trait Configured: Sized {
    /// The names of the transport in scenarios, with the keys that belong to each name.
    fn kinds() -> Vec<SectionKind>;

    /// Reads the options of the transport under its name `kind`. `stack` is the host stack of the scenario.
    ///
    /// # Errors
    /// As [`Options::read`](shallop_options::Options::read).
    fn read(kind: &str, section: &Section<'_>, stack: HostStack) -> Result<Self, Problem>;

    /// All keys with their values, as a scenario would write them, or in words.
    fn values(&self) -> Vec<(&'static Key, Option<String>)>;
}

impl Transport {
    /// Name of the TCP controller in scenarios, if the hosts are real kernels.
    pub fn kernel(&self) -> Option<&'static str> {
        match self {
            Self::Tcp(tcp) => tcp.kernel,
            _ => None,
        }
    }
}

impl Configured for Transport {
    fn kinds() -> Vec<SectionKind> {
        [Tcp::kinds(), ExpressPass::kinds(), Udp::kinds(), FlashPass::kinds()].concat()
    }

    fn read(kind: &str, section: &Section<'_>, stack: HostStack) -> Result<Self, Problem> {
        fn has<T: Configured>(kind: &str) -> bool {
            T::kinds().iter().any(|known| known.name == kind)
        }
        if has::<ExpressPass>(kind) {
            return ExpressPass::read(kind, section, stack).map(Self::ExpressPass);
        }
        if has::<FlashPass>(kind) {
            return FlashPass::read(kind, section, stack).map(Self::FlashPass);
        }
        if has::<Udp>(kind) {
            return Udp::read(kind, section, stack).map(Self::Udp);
        }
        Tcp::read(kind, section, stack).map(Self::Tcp)
    }

    fn values(&self) -> Vec<(&'static Key, Option<String>)> {
        with_transport!(self, options => Configured::values(options))
    }
}

/// A transport's properties that networks and drivers use.
pub trait Protocol: Sync {
    type End: Endpoint<Head: AsTcp> + Into<AnyEnd> + Send + 'static;
    /// The transport's name in messages.
    const NAME: &'static str;
    /// The queues and meters that the transport requires of switches; `None` if it sends data without credits.
    const CREDITS: Option<&'static CreditRequirements> = None;

    /// [`Protocol::CREDITS`], for protocols whose options change them.
    fn credits(&self) -> Option<&'static CreditRequirements> {
        Self::CREDITS
    }

    /// The transport's name with its variant, such as the congestion controller.
    fn describe(&self) -> String {
        Self::NAME.to_owned()
    }

    /// The limits of its unscheduled burst, if the transport sends one.
    fn aeolus(&self) -> Option<Aeolus> {
        None
    }

    /// Whether senders slow down for congestion marks.
    fn responds_to_marks(&self) -> bool {
        false
    }

    /// Whether any packet of the transport is ECN-capable, so that switches may mark it.
    fn is_ecn_capable(&self) -> bool {
        true
    }

    /// Whether the transport needs marks in proportion to the queue length, as DCTCP does; without them it responds
    /// only to losses.
    fn relies_on_marks(&self) -> bool {
        false
    }

    /// Whether senders ask for the marks of L4S (`l4s`), but miss those that are sparse and evenly spread.
    fn misses_sparse_marks(&self) -> bool {
        false
    }

    /// The number of timestamps in a full credit packet of `FlashPass`.
    fn batch(&self) -> u8 {
        1
    }

    /// Size on the wire of the largest packet that switches meter.
    fn largest_metered(&self) -> Bytes {
        Bytes::new(u64::from(wire::MIN_FRAME))
    }

    /// How long before the data of a flow is available the sender requests credits.
    fn request_lead(&self, _base_rtt: Span) -> Span {
        Span::ZERO
    }

    fn endpoints(&self, flow: &FlowContext) -> [Self::End; 2];
}

/// What a transport with credits requires of switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreditRequirements {
    pub name: &'static str,
    /// The name of metered packets in messages, such as "credits".
    pub packets: &'static str,
    /// The class of packets that switches meter.
    pub metered: Class,
    /// Whether a metered packet on a link releases a data packet in the opposite direction.
    pub releases_reverse: bool,
    /// Whether receivers return a credit for each metered packet. If so, ports have a queue for returned credits.
    pub returns: bool,
    /// Whether switches drop metered packets that are not ECN-capable above a threshold (selective drop).
    pub selective: bool,
    /// The names of a port's queues: the metered queue first, the data queue last.
    pub queues: &'static [&'static str],
    /// The names of a port's queues if transports without credits have a separate queue.
    pub queues_with_legacy: &'static [&'static str],
    /// The names of a port's queues if unscheduled data has a queue of low priority.
    pub queues_with_unscheduled: &'static [&'static str],
    /// By class of packets: index of the queue that it joins.
    pub queue_of: [u8; Class::COUNT],
    /// Limit of the metered queue at hosts; `None` to use the limit of switches.
    pub host_queue: Option<BufferSize>,
    /// Default of the key `accounting` of switches.
    pub accounting: Accounting,
}

/// Properties of a flow, its path and its run from which endpoints are configured.
#[derive(Clone, Copy, Debug)]
pub struct FlowContext {
    pub number: u32,
    /// Payload of the flow in bytes; `None` for a flow without end.
    pub size: Option<u64>,
    /// Payload bytes of a full data packet.
    pub payload: u16,
    /// Round-trip time of a smallest frame in an empty network.
    pub base_rtt: Span,
    /// `FlashPass`: time from an emulation packet to its data packet. Zero for other transports.
    pub wait: Span,
    /// The application of the flow ([`crate::plan::Group::application`]).
    pub application: Option<(BitsPerSec, Option<Bytes>)>,
    /// How long its application offers payload ([`crate::plan::Group::lasts`]).
    pub lasts: Option<Span>,
    pub sender_link: BitsPerSec,
    pub receiver_link: BitsPerSec,
    /// Share of the sender's link for metered packets; `None` if they are not metered.
    pub sender_share: Option<Share>,
    /// Share of the receiver's link for metered packets; `None` if they are not metered.
    pub receiver_share: Option<Share>,
    /// Root of the run's random streams.
    pub seed: Seed,
}

impl FlowContext {
    /// A random stream of this flow, by the name of its use.
    pub fn stream(&self, name: &str) -> Stream {
        self.seed.stream(name, u64::from(self.number))
    }
}

/// Implements methods of [`Protocol`] for [`Transport`] by calling them on its options.
macro_rules! forward {
    ($($method:ident($($argument:ident: $type:ty)?) -> $output:ty;)*) => {$(
        pub fn $method(&self $(, $argument: $type)?) -> $output {
            with_transport!(self, options => options.$method($($argument)?))
        }
    )*};
}

impl Transport {
    forward! {
        describe() -> String;
        aeolus() -> Option<Aeolus>;
        responds_to_marks() -> bool;
        is_ecn_capable() -> bool;
        relies_on_marks() -> bool;
        misses_sparse_marks() -> bool;
        batch() -> u8;
        largest_metered() -> Bytes;
        request_lead(base_rtt: Span) -> Span;
    }

    pub fn credits(&self) -> Option<&'static CreditRequirements> {
        with_transport!(self, options => options.credits())
    }
}

//! The transports. Each has a file with its options, its requirements of switches, and the configuration of its
//! endpoints.

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

pub use aeolus::{Aeolus, BurstUntil};
pub use demand::{Demand, KnownDemand};
pub use expresspass::{ExpressPass, ExpressPassOptions, ExpressPassRule};
pub use flashpass::{FlashPass, FlashPassLaw, FlashPassOptions};
pub use tcp::{Tcp, TcpOptions};
pub use udp::Udp;

/// A scheme's transport with its options.
#[derive(Clone, Debug, PartialEq)]
pub enum Transport {
    Tcp(Tcp),
    ExpressPass(ExpressPass),
    FlashPass(FlashPass),
    Udp(Udp),
}

/// Evaluates an expression for the options of a [`Transport`] of any variant.
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

/// The scenarios' key that names the transport.
pub const TAG: &str = "transport";
/// The largest value of options that are times.
pub(crate) const LONGEST: Span = shallop_control::options::LONGEST;
/// Default timeout of transports with credits (flashpass-icnp21, IV.A).
const TIMEOUT: Span = Span::from_ms(200);

/// A transport as scenarios write it.
pub trait Configured: Sized {
    /// The transport's names in scenarios, with the keys of each.
    fn kinds() -> Vec<SectionKind>;

    /// Reads the transport that is named `kind`. `stack` is the host stack of the scenario.
    ///
    /// # Errors
    /// As [`Options::read`](shallop_options::Options::read).
    fn read(kind: &str, section: &Section<'_>, stack: HostStack) -> Result<Self, Problem>;

    /// All keys with their values, as a scenario would write them or in words.
    fn values(&self) -> Vec<(&'static Key, Option<String>)>;
}

impl Transport {
    /// The name in scenarios of the TCP controller, if the hosts are real kernels.
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

/// A transport as the network and drivers see it.
pub trait Protocol: Sync {
    type End: Endpoint<Head: AsTcp> + Into<AnyEnd> + Send + 'static;
    /// Name in messages.
    const NAME: &'static str;
    /// What it requires of switches; `None` if its data is sent without credits.
    const CREDITS: Option<&'static CreditRequirements> = None;

    /// Its name with the variant, such as the window controller.
    fn describe(&self) -> String {
        Self::NAME.to_owned()
    }

    /// Its unscheduled burst, if it sends one.
    fn aeolus(&self) -> Option<Aeolus> {
        None
    }

    /// Whether senders slow down for congestion marks.
    fn responds_to_marks(&self) -> bool {
        false
    }

    /// Whether any of its packets is ECN-capable, so that switches may mark it.
    fn is_ecn_capable(&self) -> bool {
        true
    }

    /// Whether it needs marks in proportion to the queue length, as DCTCP does, and otherwise responds to losses only.
    fn relies_on_marks(&self) -> bool {
        false
    }

    /// Timestamps in a full credit packet.
    fn batch(&self) -> u8 {
        1
    }

    /// Size on the wire of the largest packet that switches meter.
    fn largest_metered(&self) -> Bytes {
        Bytes::new(u64::from(wire::MIN_FRAME))
    }

    /// How long before its data is available a flow with this base round-trip time requests credits.
    fn request_lead(&self, _base_rtt: Span) -> Span {
        Span::ZERO
    }

    /// Creates sender and receiver of a flow.
    fn endpoints(&self, flow: &FlowContext) -> [Self::End; 2];
}

/// What a transport with credits requires of switches. Constant for each transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreditRequirements {
    pub name: &'static str,
    /// Name of the metered packets in messages.
    pub packets: &'static str,
    /// Class of the metered packets.
    pub metered: Class,
    /// Whether data crosses a link in the direction opposite to the metered packets that release it.
    pub releases_reverse: bool,
    /// Whether receivers return a credit for each metered packet, for which ports have a queue.
    pub returns: bool,
    /// Whether metered packets that are not ECN-capable are dropped above a threshold (selective drop).
    pub selective: bool,
    /// Names of a port's queues: the metered queue first, data last.
    pub queues: &'static [&'static str],
    /// Names of a port's queues if transports without credits have one as well.
    pub queues_with_legacy: &'static [&'static str],
    /// By class: index of its queue.
    pub queue_of: [u8; Class::COUNT],
    /// Limit of the metered queue at hosts; `None` for the limit of switches.
    pub host_queue: Option<BufferSize>,
}

/// What the endpoints of a flow are configured from.
#[derive(Clone, Copy, Debug)]
pub struct FlowContext {
    pub number: u32,
    /// Payload in bytes; `None` for a flow without end.
    pub size: Option<u64>,
    /// Payload bytes of a full packet.
    pub payload: u16,
    /// Round-trip time of a smallest frame in an empty network.
    pub base_rtt: Span,
    /// Time from an emulation packet to its data packet; zero for transports without emulation.
    pub wait: Span,
    pub sender_link: BitsPerSec,
    pub receiver_link: BitsPerSec,
    /// Share of the sender's link for metered packets.
    pub sender_share: Option<Share>,
    /// Share of the receiver's link for metered packets.
    pub receiver_share: Option<Share>,
    /// Root of the run's random streams.
    pub seed: Seed,
}

impl FlowContext {
    /// The flow's random stream with this name.
    pub fn stream(&self, name: &str) -> Stream {
        self.seed.stream(name, u64::from(self.number))
    }
}

/// Forwards methods of [`Protocol`] to the options of the transport.
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
        batch() -> u8;
        largest_metered() -> Bytes;
        request_lead(base_rtt: Span) -> Span;
    }

    pub fn credits(&self) -> Option<&'static CreditRequirements> {
        fn credits<P: Protocol>(_: &P) -> Option<&'static CreditRequirements> {
            P::CREDITS
        }
        with_transport!(self, options => credits(options))
    }
}

//! Queue disciplines. The FIFO is part of [`crate::queue`]; each other discipline, active queue management (AQM), has a
//! file in this folder. An AQM stores its packets itself, with the time at which each was enqueued, and decides at
//! enqueue and at dequeue which packet is marked, dropped or sent next.
//!
//! To add one: a file with its options ([`Options`]) and its queue (`ManagedQueue`); here its `mod` and a line of
//! `disciplines!`. The keys of scenarios follow from these.

pub(crate) mod backlog;
pub mod codel;
pub mod dualpi2;
pub mod fq_codel;

use shallop_core::{Bytes, DropCause, Ecn, Envelope, Packet, Span, Stream, Time};
use shallop_options::{Key, Options, Problem, Section, StringEnum, Subsection, string_enum};

use crate::limit::QueueLength;
use crate::mark::{Decision, MarkThreshold};
use crate::red::RedConfig;
use backlog::{Dropped, Overflow};

/// Upper bound of options that are times.
const LONGEST: Span = Span::from_secs(10);

/// The discipline of a queue: the packets that it marks or drops, and the order in which they leave.
#[derive(Clone, Debug)]
pub enum Discipline {
    /// First in, first out; drop tail.
    Fifo(FifoConfig),
    Aqm(Aqm, AqmPort),
}

/// Rules by which a FIFO marks and drops packets before it is full.
#[derive(Clone, Debug, Default)]
pub struct FifoConfig {
    pub mark: Option<MarkThreshold>,
    pub red: Option<RedConfig>,
}

/// Properties of the port whose queue a discipline manages.
#[derive(Clone, Debug)]
pub struct AqmPort {
    /// Size of the largest packet of the link, in bytes on the wire.
    pub mtu: Bytes,
    /// Source of the discipline's random draws.
    pub stream: Stream,
}

impl Default for Discipline {
    fn default() -> Self {
        Self::Fifo(FifoConfig::default())
    }
}

impl Discipline {
    /// Whether the discipline need not see packets that find the link idle, because they do not change its state.
    pub(crate) fn ignores_idle_arrivals(&self) -> bool {
        match self {
            Self::Fifo(fifo) => fifo.red.as_ref().is_none_or(|red| red.average.is_none()),
            Self::Aqm(aqm, _) => aqm.ignores_idle_arrivals(),
        }
    }
}

/// The options of a discipline.
pub(crate) trait AqmConfig: Options<Context = ()> {
    /// Whether the discipline need not see packets that find the link idle, because they do not change its state.
    const IGNORES_IDLE_ARRIVALS: bool = false;

    /// Whether the discipline marks packets.
    fn marks(&self) -> bool {
        true
    }

    /// Whether the discipline marks as DCTCP needs it: in proportion to the queue, or every packet above a threshold.
    fn marks_in_proportion(&self) -> bool {
        self.marks()
    }
}

/// A queue under an AQM, with its packets.
pub(crate) trait ManagedQueue<C: Copy> {
    type Config;

    fn new(config: &Self::Config, port: &AqmPort) -> Self;

    /// Enqueues a packet that fits. `arrived` is its ECN field at arrival, before marks.
    fn enqueue(&mut self, now: Time, packet: Packet<C>, arrived: Ecn);

    /// Dequeues the next packet. Returns it and whether to mark it; `None` if no packet is left.
    fn dequeue(&mut self, now: Time, dropped: &mut Vec<Dropped>) -> Option<(Packet<C>, bool)>;

    /// Whether this length exceeds the discipline's own limit.
    fn is_over_limit(&self, _length: QueueLength) -> bool {
        false
    }

    /// Makes room for an arriving packet that does not fit by dropping others, or refuses the packet.
    fn overflow(
        &mut self,
        _arriving: Envelope,
        _cause: DropCause,
        _dropped: &mut Vec<Dropped>,
    ) -> Overflow {
        Overflow::DropArriving
    }

    /// Decides about a packet that finds the queue empty and the link idle, and so leaves without being enqueued.
    fn on_idle_arrival(&mut self, _now: Time, _packet: Envelope) -> Decision {
        Decision::Pass
    }
}

/// Generates from the list of disciplines: [`Aqm`], a discipline with its options; [`AqmOptions`], the keys of
/// scenarios; `AnyQueue`, the queue of a discipline.
///
/// A line has the discipline's name, the key of its section, the word that chooses it, its options and its queue.
macro_rules! disciplines {
    ($($(#[doc = $about:literal])+ $name:ident($key:ident, $word:literal, $config:ty, $queue:ty);)+) => {
        /// A discipline other than the FIFO, with its options.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum Aqm {
            $($(#[doc = $about])+ $name($config),)+
        }

        /// The name of a discipline in scenarios.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum AqmName {
            /// First in, first out.
            Fifo,
            $($(#[doc = $about])+ $name,)+
        }

        string_enum! { AqmName { Fifo = "fifo", $($name = $word),+ } }

        /// The discipline of the data queues of a switch.
        #[derive(Clone, Copy, Debug, Options)]
        pub struct AqmOptions {
            /// The discipline of the data queues: first in, first out (drop tail, with the marks of `mark` or
            /// `bcc`), or active queue management. Queues of credits and of emulation packets are FIFOs.
            #[key(default = AqmName::Fifo)]
            pub aqm: AqmName,
            $(
                $(#[doc = $about])+
                #[section]
                pub $key: Subsection<$config>,
            )+
        }

        impl Aqm {
            /// The discipline that a section asks for; `None` for the FIFO.
            ///
            /// # Errors
            /// If an option is wrong, or belongs to a discipline that the section does not ask for.
            pub fn read(section: &Section<'_>) -> Result<Option<Self>, Problem> {
                let chosen = AqmOptions::read(section, ())?.aqm;
                $(
                    if chosen != AqmName::$name && section.is_written(AqmOptions::KEY.$key) {
                        let key = AqmOptions::KEY.$key.key;
                        return Err(belongs_to(section, key, AqmName::$name, chosen));
                    }
                )+
                Ok(match chosen {
                    AqmName::Fifo => None,
                    $(AqmName::$name => Some(Self::$name(section.nested_or_default(AqmOptions::KEY.$key)?)),)+
                })
            }

            pub const fn name(&self) -> AqmName {
                match self { $(Self::$name(_) => AqmName::$name,)+ }
            }

            /// Keys of the discipline's section, with their values.
            pub fn values(&self) -> Vec<(&'static Key, Option<String>)> {
                match self { $(Self::$name(config) => config.values(),)+ }
            }

            /// Whether the discipline marks packets.
            pub fn marks(&self) -> bool {
                match self { $(Self::$name(config) => config.marks(),)+ }
            }

            /// Whether the discipline marks as DCTCP needs it: in proportion to the queue, or every packet above a
            /// threshold.
            pub fn marks_in_proportion(&self) -> bool {
                match self { $(Self::$name(config) => config.marks_in_proportion(),)+ }
            }

            fn ignores_idle_arrivals(&self) -> bool {
                match self { $(Self::$name(_) => <$config>::IGNORES_IDLE_ARRIVALS,)+ }
            }

            pub(crate) fn queue<C: Copy>(&self, port: &AqmPort) -> AnyQueue<C> {
                match self {
                    $(Self::$name(config) => AnyQueue::$name(<$queue>::new(config, port)),)+
                }
            }
        }

        #[derive(Clone, Debug)]
        pub(crate) enum AnyQueue<C> {
            $($name($queue),)+
        }

        impl<C: Copy> AnyQueue<C> {
            pub fn is_over_limit(&self, length: QueueLength) -> bool {
                match self { $(Self::$name(queue) => queue.is_over_limit(length),)+ }
            }

            pub fn overflow(
                &mut self,
                arriving: Envelope,
                cause: DropCause,
                dropped: &mut Vec<Dropped>,
            ) -> Overflow {
                match self { $(Self::$name(queue) => queue.overflow(arriving, cause, dropped),)+ }
            }

            /// Enqueues a packet that fits, and marks it if `mark` is set. The discipline classifies the packet by its
            /// ECN field before the mark.
            pub fn enqueue(&mut self, now: Time, packet: &Packet<C>, mark: bool) {
                let arrived = packet.envelope.ecn;
                let mut packet = *packet;
                if mark {
                    packet.envelope.ecn = Ecn::Ce;
                }
                match self { $(Self::$name(queue) => queue.enqueue(now, packet, arrived),)+ }
            }

            pub fn dequeue(
                &mut self,
                now: Time,
                dropped: &mut Vec<Dropped>,
            ) -> Option<(Packet<C>, bool)> {
                match self { $(Self::$name(queue) => queue.dequeue(now, dropped),)+ }
            }

            pub fn on_idle_arrival(&mut self, now: Time, packet: Envelope) -> Decision {
                match self { $(Self::$name(queue) => queue.on_idle_arrival(now, packet),)+ }
            }
        }
    };
}

disciplines! {
    /// Controlled Delay on a FIFO (RFC 8289).
    CoDel(codel, "codel", codel::CoDelConfig, codel::CoDelQueue<C>);
    /// A queue for each flow, each under Controlled Delay (RFC 8290).
    FqCoDel(fq_codel, "fq-codel", fq_codel::FqCoDelConfig, fq_codel::FqCoDel<C>);
    /// A Classic and an L4S queue, coupled (RFC 9332, Appendix A). Packets with ECT(1) or CE are L4S.
    DualPi2(dualpi2, "dualpi2", dualpi2::DualPi2Config, dualpi2::DualPi2<C>);
}

/// Error for a section of a discipline that is not the chosen one.
fn belongs_to(section: &Section<'_>, key: &'static Key, name: AqmName, chosen: AqmName) -> Problem {
    let (name, chosen) = (name.word(), chosen.word());
    let problem = section.reject(key, format!("`aqm` is \"{chosen}\", which has no such options"));
    problem.with_help(format!("write aqm = \"{name}\", or leave out `{}`", key.name))
}

//! Queue disciplines. The FIFO is part of [`crate::queue`]; each other discipline, an active queue management (AQM),
//! has its own file in this folder. An AQM stores its packets itself, with the time at which each was enqueued, and
//! decides at enqueue and at dequeue which packet is marked, dropped or sent next.
//!
//! To add an AQM: write a file with its options ([`Options`]) and its queue (`ManagedQueue`); add its `mod` and a line
//! in `disciplines!` here. The keys of scenarios are generated from these.

pub(crate) mod backlog;
pub mod codel;
pub mod dualpi2;
pub mod fq_codel;
pub mod pie;

use crate::limit::QueueLength;
use crate::mark::{Decision, MarkThreshold};
use crate::red::RedConfig;
use backlog::{Dropped, Overflow};
use shallop_core::{Bytes, DropCause, Ecn, Envelope, Packet, Span, Stream, Time};
use shallop_options::{Key, Options, Problem, Section, StringEnum, Subsection, string_enum};

/// Upper bound of options of disciplines that are times.
const LONGEST: Span = Span::from_secs(10);

/// Discipline of a queue: which packets it marks or drops, and in which order they leave.
#[derive(Clone, Debug)]
pub enum Discipline {
    /// First in, first out. Arrivals at a full queue are dropped.
    Fifo(FifoConfig),
    Aqm(Aqm, AqmPort),
}

/// Rules by which a FIFO marks and drops packets before it is full.
#[derive(Clone, Debug, Default)]
pub struct FifoConfig {
    pub mark: Option<MarkThreshold>,
    /// RED for marks and RED for drops; each judges every packet.
    pub red: Vec<RedConfig>,
}

/// Properties of a port that a discipline needs to manage one of its queues.
#[derive(Clone, Debug)]
pub struct AqmPort {
    /// Size of the largest packet of the link, in bytes on the wire.
    pub mtu: Bytes,
    /// Random stream of the discipline.
    pub stream: Stream,
}

impl Default for Discipline {
    fn default() -> Self {
        Self::Fifo(FifoConfig::default())
    }
}

impl Discipline {
    /// Whether the discipline may skip packets that find the link idle, because they do not change its state.
    pub(crate) fn ignores_idle_arrivals(&self) -> bool {
        match self {
            Self::Fifo(fifo) => fifo.red.iter().all(|red| red.average.is_none()),
            Self::Aqm(aqm, _) => aqm.ignores_idle_arrivals(),
        }
    }
}

/// Options of a discipline, with the properties of the discipline that follow from them.
pub(crate) trait AqmConfig: Options<Context = ()> {
    /// Whether the discipline may skip packets that find the link idle, because they do not change its state.
    const IGNORES_IDLE_ARRIVALS: bool = false;

    /// Whether the discipline marks ECN-capable packets.
    fn marks(&self) -> bool {
        true
    }

    /// Whether the discipline marks as DCTCP requires: in proportion to the queue, or every packet above a threshold.
    fn marks_in_proportion(&self) -> bool {
        self.marks()
    }
}

/// A queue under an AQM, which stores its packets itself.
pub(crate) trait ManagedQueue<C: Copy> {
    type Config;

    fn new(config: &Self::Config, port: &AqmPort) -> Self;

    /// Decides about an arriving packet before room is made for it.
    fn on_arrival(&mut self, _now: Time, _packet: Envelope) -> Decision {
        Decision::Pass
    }

    /// Enqueues a packet for which there is room. `arrived` is its ECN field at arrival; the packet may have been
    /// marked since.
    fn enqueue(&mut self, now: Time, packet: Packet<C>, arrived: Ecn);

    /// Dequeues the next packet and returns it with whether to mark it; `None` if no packet is left. Appends packets
    /// that it drops to `dropped`.
    fn dequeue(&mut self, now: Time, dropped: &mut Vec<Dropped>) -> Option<(Packet<C>, bool)>;

    /// Whether a queue of this length exceeds the discipline's own packet limit.
    fn is_over_limit(&self, _length: QueueLength) -> bool {
        false
    }

    /// Makes room for an arriving packet that does not fit, by dropping stored packets, or refuses the arriving packet.
    fn overflow(&mut self, _arriving: Envelope, _cause: DropCause, _dropped: &mut Vec<Dropped>) -> Overflow {
        Overflow::DropArriving
    }

    /// Decides whether a packet that finds the queue empty and the link idle is marked or dropped. It leaves without
    /// being enqueued.
    fn on_idle_arrival(&mut self, _now: Time, _packet: Envelope) -> Decision {
        Decision::Pass
    }
}

/// Generates three types from the list of disciplines: [`Aqm`], a discipline with its options; [`AqmOptions`], its keys
/// in scenarios; `AnyQueue`, its queue.
///
/// A line of the list has the discipline's name, the key of its section, the word that chooses it, its options and its
/// queue.
macro_rules! disciplines {
    ($($(#[doc = $about:literal])+ $name:ident($key:ident, $word:literal, $config:ty, $queue:ty);)+) => {
        /// A discipline other than the FIFO, with its options.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum Aqm {
            $($(#[doc = $about])+ $name($config),)+
        }

        /// Words for disciplines in scenarios.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum AqmName {
            /// First in, first out.
            Fifo,
            $($(#[doc = $about])+ $name,)+
        }

        string_enum! { AqmName { Fifo = "fifo", $($name = $word),+ } }

        /// Keys of `[switch.NAME]` that choose a discipline for the data queues and set its options.
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
            /// The discipline that a section of a switch chooses; `None` for the FIFO.
            ///
            /// # Errors
            /// If an option is wrong, or belongs to a discipline that the section does not choose.
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

            /// Keys of the discipline's section, with their values in this struct.
            pub fn values(&self) -> Vec<(&'static Key, Option<String>)> {
                match self { $(Self::$name(config) => config.values(),)+ }
            }

            /// Whether the discipline marks ECN-capable packets.
            pub fn marks(&self) -> bool {
                match self { $(Self::$name(config) => config.marks(),)+ }
            }

            /// Whether the discipline marks as DCTCP requires: in proportion to the queue, or every packet above a
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

            pub fn on_arrival(&mut self, now: Time, packet: Envelope) -> Decision {
                match self { $(Self::$name(queue) => queue.on_arrival(now, packet),)+ }
            }

            pub fn overflow(
                &mut self,
                arriving: Envelope,
                cause: DropCause,
                dropped: &mut Vec<Dropped>,
            ) -> Overflow {
                match self { $(Self::$name(queue) => queue.overflow(arriving, cause, dropped),)+ }
            }

            /// Enqueues a packet for which there is room, and marks it if `mark` is set. The discipline classifies the
            /// packet by its ECN field before the mark.
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
    /// `CoDel` (RFC 8289) on one FIFO.
    CoDel(codel, "codel", codel::CoDelConfig, codel::CoDelQueue<C>);
    /// `FQ-CoDel` (RFC 8290): a queue for each flow, each under `CoDel`.
    FqCoDel(fq_codel, "fq-codel", fq_codel::FqCoDelConfig, fq_codel::FqCoDel<C>);
    /// `DualPI2` (RFC 9332): a Classic queue, and an L4S queue for packets with ECT(1) or CE.
    DualPi2(dualpi2, "dualpi2", dualpi2::DualPi2Config, dualpi2::DualPi2<C>);
    /// PIE (RFC 8033) on one FIFO, with drops and marks of arriving packets.
    Pie(pie, "pie", pie::PieConfig, pie::Pie<C>);
}

/// Error for a section with the options of a discipline that is not the chosen one.
fn belongs_to(section: &Section<'_>, key: &'static Key, name: AqmName, chosen: AqmName) -> Problem {
    let (name, chosen) = (name.word(), chosen.word());
    let problem = section.reject(key, format!("`aqm` is \"{chosen}\", which has no such options"));
    problem.with_help(format!("write aqm = \"{name}\", or leave out `{}`", key.name))
}

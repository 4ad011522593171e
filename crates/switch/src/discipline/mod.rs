//! Queue disciplines. The FIFO is part of [`crate::queue`]; the others, active queue management (AQM), are one file
//! each in this folder. They store their packets themselves, with the time at which each was enqueued, and decide at
//! enqueue and at dequeue which packet is marked, which is dropped and which leaves next.
//!
//! To add one: a file with its options ([`options!`]) and its queue ([`ManagedQueue`]); here its `mod` and a line of
//! `disciplines!`. The keys of scenarios follow from these.

pub(crate) mod backlog;
pub mod codel;
pub mod dualpi2;
pub mod fq_codel;

use shallop_core::form::Key;
use shallop_core::options::{Options, Refused, Source, Words};
use shallop_core::{Bytes, DropCause, Ecn, Envelope, Packet, Span, Stream, Time, options, words};

use crate::limit::QueueLength;
use crate::mark::{Decision, MarkThreshold};
use crate::red::RedConfig;
use backlog::{Dropped, Overflow};

/// The longest time that an option of a discipline may be.
const LONGEST: Span = Span::from_secs(10);

/// Which packets of a queue are marked or dropped, and in which order they leave.
#[derive(Clone, Debug)]
pub enum Discipline {
    /// First in, first out; drop tail. May mark above a step, and mark or drop at random (RED).
    Fifo(FifoConfig),
    /// Another discipline, at this port.
    Aqm(Aqm, AqmPort),
}

/// What a FIFO marks and drops before it is full.
#[derive(Clone, Debug, Default)]
pub struct FifoConfig {
    /// ECN marking above a step, if any.
    pub mark: Option<MarkThreshold>,
    /// Marking or dropping at random, if any.
    pub red: Option<RedConfig>,
}

/// What a discipline is told about the port whose queue it manages.
#[derive(Clone, Debug)]
pub struct AqmPort {
    /// Size of the largest packet of the link, in bytes on the wire.
    pub mtu: Bytes,
    /// Source of random draws.
    pub stream: Stream,
}

impl Default for Discipline {
    fn default() -> Self {
        Self::Fifo(FifoConfig::default())
    }
}

impl Discipline {
    /// Whether a packet that finds the link idle does not change the discipline's state, so that the queue need not be
    /// asked.
    pub(crate) fn ignores_idle_arrivals(&self) -> bool {
        match self {
            Self::Fifo(fifo) => fifo.red.as_ref().is_none_or(|red| red.average.is_none()),
            Self::Aqm(aqm, _) => aqm.ignores_idle_arrivals(),
        }
    }
}

/// The options of a discipline.
pub(crate) trait AqmConfig: Options<Context = ()> {
    /// Whether a packet that finds the link idle does not change the discipline's state.
    const IGNORES_IDLE_ARRIVALS: bool = false;

    /// Whether it marks any packet.
    fn marks(&self) -> bool {
        true
    }

    /// Whether it marks in proportion to the queue or every packet above a threshold, as DCTCP needs it, and not one
    /// packet now and then.
    fn marks_in_proportion(&self) -> bool {
        self.marks()
    }
}

/// A queue that is not a plain FIFO, with its packets.
pub(crate) trait ManagedQueue<C: Copy> {
    /// The options of the discipline.
    type Config;

    /// An empty queue.
    fn new(config: &Self::Config, port: &AqmPort) -> Self;

    /// Enqueues a packet that fits, which had this ECN field as it arrived.
    fn enqueue(&mut self, now: Time, packet: Packet<C>, arrived: Ecn);

    /// Dequeues the packet that leaves next, and whether it is marked as it leaves; `None` once no packet is left.
    fn dequeue(&mut self, now: Time, dropped: &mut Vec<Dropped>) -> Option<(Packet<C>, bool)>;

    /// Whether the discipline has a limit of its own that this length exceeds.
    fn is_over_limit(&self, _length: QueueLength) -> bool {
        false
    }

    /// The arriving packet does not fit, for this cause: drops packets from the queue to make room for it, or refuses
    /// it.
    fn overflow(
        &mut self,
        _arriving: Envelope,
        _cause: DropCause,
        _dropped: &mut Vec<Dropped>,
    ) -> Overflow {
        Overflow::DropArriving
    }

    /// What becomes of a packet that finds this queue empty and the link idle: it leaves without being enqueued.
    fn on_idle_arrival(&mut self, _now: Time, _packet: Envelope) -> Decision {
        Decision::Pass
    }
}

/// Makes the choice among these disciplines: [`Aqm`], which one with its options; [`AqmOptions`], the keys of
/// scenarios; `AnyQueue`, one at work.
///
/// A line names the discipline, the key of its section, the word that chooses it, its options and its queue.
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

        words! { AqmName { Fifo = "fifo", $($name = $word),+ } }

        options! {
            /// The discipline of the data queues of a switch.
            #[derive(Clone, Copy, Debug)]
            pub struct AqmOptions {
                /// The discipline of the data queues: first in, first out (drop tail, with the marks of `mark` or
                /// `bcc`), or active queue management. Queues of credits and of emulation packets are FIFOs.
                key aqm: AqmName = AqmName::Fifo;
                $($(#[doc = $about])+ section $key: $config;)+
            }
        }

        impl Aqm {
            /// The discipline that a section asks for; `None` for the FIFO.
            ///
            /// # Errors
            /// If an option is wrong, or belongs to a discipline that the section does not ask for.
            pub fn read<S: Source>(source: &S) -> Result<Option<Self>, S::Error> {
                let chosen = AqmOptions::read(source, ())?.aqm;
                $(
                    let section = AqmOptions::KEY.$key;
                    if chosen != AqmName::$name && source.is_written(section.key) {
                        return Err(source.refuse(belongs_to(section.key, AqmName::$name, chosen)));
                    }
                )+
                Ok(match chosen {
                    AqmName::Fifo => None,
                    $(AqmName::$name => Some(Self::$name(source.section(AqmOptions::KEY.$key)?)),)+
                })
            }

            /// Its name in scenarios.
            #[must_use]
            pub const fn name(&self) -> AqmName {
                match self { $(Self::$name(_) => AqmName::$name,)+ }
            }

            /// The keys of its section with their values.
            #[must_use]
            pub fn values(&self) -> Vec<(&'static Key, Option<String>)> {
                match self { $(Self::$name(config) => config.values(),)+ }
            }

            /// Whether it marks any packet.
            #[must_use]
            pub fn marks(&self) -> bool {
                match self { $(Self::$name(config) => config.marks(),)+ }
            }

            /// Whether it marks in proportion to the queue or every packet above a threshold, as DCTCP needs it, and
            /// not one packet now and then.
            #[must_use]
            pub fn marks_in_proportion(&self) -> bool {
                match self { $(Self::$name(config) => config.marks_in_proportion(),)+ }
            }

            fn ignores_idle_arrivals(&self) -> bool {
                match self { $(Self::$name(_) => <$config>::IGNORES_IDLE_ARRIVALS,)+ }
            }

            /// Its queue at this port.
            pub(crate) fn queue<C: Copy>(&self, port: &AqmPort) -> AnyQueue<C> {
                match self {
                    $(Self::$name(config) => AnyQueue::$name(<$queue>::new(config, port)),)+
                }
            }
        }

        /// The queue of one of the disciplines.
        #[derive(Clone, Debug)]
        pub(crate) enum AnyQueue<C> {
            $($name($queue),)+
        }

        impl<C: Copy> AnyQueue<C> {
            /// As [`ManagedQueue::is_over_limit`].
            pub fn is_over_limit(&self, length: QueueLength) -> bool {
                match self { $(Self::$name(queue) => queue.is_over_limit(length),)+ }
            }

            /// As [`ManagedQueue::overflow`].
            pub fn overflow(
                &mut self,
                arriving: Envelope,
                cause: DropCause,
                dropped: &mut Vec<Dropped>,
            ) -> Overflow {
                match self { $(Self::$name(queue) => queue.overflow(arriving, cause, dropped),)+ }
            }

            /// Enqueues a packet that fits. It is classified by the ECN field with which it arrived and then, with
            /// `mark`, marked.
            pub fn enqueue(&mut self, now: Time, packet: &Packet<C>, mark: bool) {
                let arrived = packet.envelope.ecn;
                let mut packet = *packet;
                if mark {
                    packet.envelope.ecn = Ecn::Ce;
                }
                match self { $(Self::$name(queue) => queue.enqueue(now, packet, arrived),)+ }
            }

            /// As [`ManagedQueue::dequeue`].
            pub fn dequeue(
                &mut self,
                now: Time,
                dropped: &mut Vec<Dropped>,
            ) -> Option<(Packet<C>, bool)> {
                match self { $(Self::$name(queue) => queue.dequeue(now, dropped),)+ }
            }

            /// As [`ManagedQueue::on_idle_arrival`].
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

/// That a section is of another discipline than the chosen one.
fn belongs_to(key: &'static Key, name: AqmName, chosen: AqmName) -> Refused {
    let (name, chosen) = (name.word(), chosen.word());
    let message = format!("`aqm` is \"{chosen}\", which has no such options");
    Refused::new(key, message, format!("write aqm = \"{name}\", or leave out `{}`", key.name))
}

//! A switch independent of its operating system: ports with queues, shared memory, and the map from DSCP to queues.

use shallop_core::{BitsPerSec, Bytes};
use std::ops::Deref;

/// A value and its origin: the derivation of a value to write, or the line from which a value was read. Values are
/// equal whatever their origin.
#[derive(Clone, Debug, Default)]
pub struct Known<T> {
    pub value: T,
    /// The derivation, such as `10Gbps × 80us × 0.72: C RTT lambda`, or the origin, such as `line 12: priority strict`.
    pub why: String,
}

impl<T> Known<T> {
    pub fn new(value: T, why: impl Into<String>) -> Self {
        Self { value, why: why.into() }
    }
}

impl<T: PartialEq> PartialEq for Known<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<T> Deref for Known<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Device {
    pub name: String,
    /// Name of a chip as in `shallop chips`.
    pub chip: Option<String>,
    /// Memory that ports share. `None`: each port has a buffer, whose size is `limit` of its queues.
    pub pool: Option<Pool>,
    pub ports: Vec<Port>,
    /// DSCP, and the number of the queue that its packets join.
    pub dscp: Vec<Known<(u8, u8)>>,
    /// Comments on what hosts need, a command or a sentence each. Written, never read.
    pub hosts: Vec<String>,
}

/// Memory that several ports share with Dynamic Thresholds.
#[derive(Clone, Debug, PartialEq)]
pub struct Pool {
    pub size: Known<Bytes>,
    /// Ports that share a pool; `None` if all do.
    pub ports: Option<u32>,
    /// Size of a memory cell; 1 B if it is not known.
    pub cell: Bytes,
    /// ECN marking by the occupancy of the pool.
    pub mark: Option<Known<Ramp>>,
}

/// Ports with equal settings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Port {
    /// A word for names of profiles, such as `10Gbps`. Labels of the ports of a switch differ.
    pub label: String,
    pub interfaces: Vec<Interface>,
    pub rate: Option<BitsPerSec>,
    /// In ascending order of numbers.
    pub queues: Vec<Queue>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Interface {
    /// The name in the operating system, such as `Ethernet1`, `swp1` or `eth1`.
    pub name: String,
    /// The node at the other end; empty if it is not known.
    pub far: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Queue {
    /// 0 to 7. Of queues with strict priority, those with higher numbers are served first.
    pub number: u8,
    pub role: Role,
    pub schedule: Known<Schedule>,
    pub shaper: Option<Known<Bucket>>,
    pub policer: Option<Known<Bucket>>,
    /// The most that the queue may hold, in bytes on the wire: a fixed limit, in a pool in addition to `reserved`.
    pub limit: Option<Known<Bytes>>,
    /// Dynamic Thresholds: the queue may hold this times the free memory of the pool.
    pub alpha: Option<Known<f64>>,
    /// Private memory.
    pub reserved: Option<Known<Bytes>>,
    /// ECN marking by the length of the queue.
    pub mark: Option<Known<Ramp>>,
    /// Drops by the length of the queue: beside `mark` of packets that are not ECN-capable, otherwise of all.
    pub drop: Option<Known<Ramp>>,
    /// Active queue management in place of `mark` and `drop`.
    pub aqm: Option<Known<Aqm>>,
}

impl Queue {
    pub fn new(number: u8, role: Role, schedule: Known<Schedule>) -> Self {
        let (shaper, policer, limit, alpha, reserved, mark, drop, aqm) = Default::default();
        Self { number, role, schedule, shaper, policer, limit, alpha, reserved, mark, drop, aqm }
    }

    /// The weight of the queue, if it is not of strict priority.
    pub fn weight(&self) -> Option<u32> {
        match self.schedule.value {
            Schedule::Weight(weight) => Some(weight),
            Schedule::Strict => None,
        }
    }

    /// The size of the packets of the queue if all have one size: credits or emulation packets.
    pub fn packet(&self) -> Option<Bytes> {
        self.shaper.as_ref().and_then(|shaper| shaper.packet)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    Data,
    /// Transports without credits beside transports with credits.
    Legacy,
    /// Credits of `ExpressPass` or emulation packets of `FlashPass`.
    Metered,
    /// Credits that return to senders of `FlashPass`, and acknowledgements.
    Returned,
    /// Data before the first credit, in a queue of low priority.
    Unscheduled,
    /// Read from a configuration, and none of the above.
    Other,
}

shallop_core::names! { Role {
    Data = "data", Legacy = "transports without credits", Metered = "credits or emulation packets",
    Returned = "returned credits", Unscheduled = "unscheduled data", Other = "other",
} }

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    Strict,
    Weight(u32),
}

/// A token bucket.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bucket {
    /// Rate in bytes on the wire, with preamble and gap.
    pub rate: BitsPerSec,
    /// Tokens that pass at once after a pause; `None` if the system has no such setting.
    pub burst: Option<Bytes>,
    /// Size on the wire of all packets of the queue if they have one size. `rate` is then also a rate of packets.
    pub packet: Option<Bytes>,
}

impl Bucket {
    pub fn packets_per_second(&self) -> Option<f64> {
        self.packet.map(|packet| self.rate.get() as f64 / 8.0 / packet.get().max(1) as f64)
    }
}

/// A probability that rises linearly from zero at `min` to `probability` at `max`, and is 1 above. A step if `min` is
/// `max`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ramp {
    pub min: Bytes,
    pub max: Bytes,
    /// Above 0, up to 1.
    pub probability: f64,
    /// The length is averaged with the gain 2^-`weight`; 0 is the present length.
    pub weight: u32,
    /// Of `mark`: whether packets that are not ECN-capable are dropped where others are marked.
    pub not_ect_dropped: bool,
}

impl Ramp {
    /// Marks or drops everything above a length, and nothing below.
    pub const fn step(above: Bytes) -> Self {
        Self { min: above, max: above, probability: 1.0, weight: 0, not_ect_dropped: false }
    }

    pub fn is_step(&self) -> bool {
        self.min == self.max && self.weight == 0
    }
}

/// A queue discipline by its name in scenarios, such as `fq-codel`, with its options as (key, value).
#[derive(Clone, Debug, PartialEq)]
pub struct Aqm {
    pub name: String,
    pub options: Vec<(String, String)>,
}

impl Device {
    /// The queue that packets with this DSCP join, if the device says so.
    pub fn queue_of(&self, dscp: u8) -> Option<u8> {
        self.dscp.iter().find(|entry| entry.0 == dscp).map(|entry| entry.1)
    }

    /// The origins of all values, in the order of the model.
    pub fn origins(&self) -> Vec<&str> {
        fn of<T>(value: Option<&Known<T>>) -> Option<&str> {
            value.map(|it| it.why.as_str())
        }
        let pool = self.pool.iter().flat_map(|it| [of(Some(&it.size)), of(it.mark.as_ref())]);
        let queues = self.ports.iter().flat_map(|port| &port.queues).flat_map(|it| {
            let buckets = [of(Some(&it.schedule)), of(it.shaper.as_ref()), of(it.policer.as_ref())];
            let memory = [of(it.limit.as_ref()), of(it.alpha.as_ref()), of(it.reserved.as_ref())];
            [buckets, memory, [of(it.mark.as_ref()), of(it.drop.as_ref()), of(it.aqm.as_ref())]].concat()
        });
        let dscp = self.dscp.iter().map(|it| of(Some(it)));
        pool.chain(queues).chain(dscp).flatten().collect()
    }

    /// Finds out what the queues of a device that was read are for, and says so. `default` is the queue of each DSCP
    /// that no line maps. Data is what best effort joins, or AF11 if it has a queue of its own beside a metered queue.
    /// A metered queue is strict and shaped, and lines map emulation packets (CS3) or credits (CS4) to it, but not EF:
    /// voice.
    pub fn find_roles(&mut self, default: impl Fn(u8) -> u8) -> Vec<String> {
        let [best_effort, credited, early] =
            [0, 10, 40].map(|dscp| self.queue_of(dscp).unwrap_or_else(|| default(dscp)));
        let returned = self.queue_of(32);
        let is_metered = |number: u8| {
            let meters = |it: &Queue| it.schedule.value == Schedule::Strict && it.shaper.is_some();
            let mut queues = self.ports.iter().flat_map(|port| &port.queues);
            let is_voice = self.queue_of(46) == Some(number);
            number > best_effort && !is_voice && queues.any(|queue| queue.number == number && meters(queue))
        };
        let of = |dscp| Some((self.queue_of(dscp).filter(|&number| is_metered(number))?, dscp));
        let metered = of(24).or_else(|| of(32));
        let (data, joins) = if metered.is_some() { (credited, 10) } else { (best_effort, 0) };
        for queue in self.ports.iter_mut().flat_map(|port| &mut port.queues) {
            queue.role = match queue.number {
                number if metered.is_some_and(|(metered, _)| metered == number) => Role::Metered,
                number if number == data => Role::Data,
                number if number == best_effort => Role::Legacy,
                number if metered.is_some() && returned == Some(number) => Role::Returned,
                number if metered.is_some() && number == early && number < data => Role::Unscheduled,
                _ => Role::Other,
            };
        }
        let credits = |(number, dscp)| {
            format!("credits or emulation packets: queue {number}, strict and shaped, which DSCP {dscp} joins")
        };
        [format!("data: queue {data}, which DSCP {joins} joins")].into_iter().chain(metered.map(credits)).collect()
    }
}

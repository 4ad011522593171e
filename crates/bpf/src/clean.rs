//! The CLEAN proxy on a Linux machine: the programs of `c/clean.bpf.c`, their settings, counters and flows.

#[cfg(feature = "load")]
mod loaded;

#[cfg(not(feature = "load"))]
pub use crate::absent::{Proxy, ProxyMaps, attached, detach};
#[cfg(feature = "load")]
pub use loaded::{Proxy, ProxyMaps, attached, detach};

use shallop_control::binary::{Fraction, Gain};
use shallop_control::clean::{self as law, Decrease, Increase, SEGMENT};
use shallop_core::{BitsPerSec, Bytes, Span};
pub use shallop_proto::clean::Config;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// The size of `struct settings` of `c/clean_settings.h`, bytes.
const SETTINGS: usize = 64;
/// The size of `struct flow_key` of `c/clean_settings.h`, bytes.
const KEY: usize = 36;
/// The size of `struct flow` of `c/clean_settings.h`, bytes.
const FLOW: usize = 208;

/// Byte offsets of the fields that this module reads or writes in the structs of `c/clean_settings.h`.
mod at {
    pub mod settings {
        pub const SCALE: usize = 0;
        pub const GAIN: usize = 4;
        pub const ALPHA_INITIAL: usize = 8;
        pub const MIN_WINDOW: usize = 12;
        pub const INITIAL_WINDOW: usize = 16;
        pub const HALVES: usize = 20;
        pub const ROOT: usize = 24;
        pub const IDLE_NS: usize = 32;
        pub const SEGMENT_BYTES: usize = 40;
        pub const VALIDATE: usize = 44;
        pub const SHAPER_BPS: usize = 48;
        pub const SHAPER_MARK_BYTES: usize = 56;
    }

    pub mod key {
        pub const SENDER: usize = 0;
        pub const RECEIVER: usize = 16;
        pub const SENDER_PORT: usize = 32;
        pub const RECEIVER_PORT: usize = 34;
    }

    pub mod flow {
        pub const WINDOW: usize = 8;
        pub const ALPHA: usize = 48;
        pub const SLOW_START: usize = 52;
        pub const RTT: usize = 80;
        pub const RTT_STATE: usize = 88;
        pub const MSS: usize = 100;
        pub const BYTES: usize = 120;
        pub const DATA: usize = 128;
        pub const MARKED: usize = 132;
        pub const REDUCED: usize = 136;
        pub const SYNS: usize = 152;
    }
}

/// The position of a network device in the path, which decides the programs attached to it and their direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcHook {
    /// A device of a machine in the path, towards the receivers: data leaves through it, acknowledgements enter.
    LastHop,
    /// A device of a machine in the path through which packets enter the network.
    Edge,
    /// A device of the receiving host: data enters through it, acknowledgements leave.
    Receiver,
    /// A device of the sending host, behind which the network begins.
    Sender,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// Sets the ECN field of TCP packets that are not ECN-capable to ECT(0), so that switches mark them.
    Edge,
    /// Counts the CE marks of data packets and clears the ECN field.
    Data,
    /// Reduces the receive window in acknowledgements.
    Acks,
}

// The names of the functions in `c/clean.bpf.c`.
shallop_core::names! { Program { Edge = "clean_edge", Data = "clean_data", Acks = "clean_acks" } }

impl TcHook {
    /// The programs that are attached at this position, each with `true` for egress or `false` for ingress.
    pub const fn programs(self) -> &'static [(Program, bool)] {
        match self {
            Self::LastHop => &[(Program::Data, true), (Program::Acks, false)],
            Self::Receiver => &[(Program::Data, false), (Program::Acks, true)],
            Self::Edge => &[(Program::Edge, false)],
            Self::Sender => &[(Program::Edge, true)],
        }
    }
}

/// The machine's own traffic shaper behind the last hop. No program sees its queue, so the programs compute a model of
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shaper {
    /// The rate at which packets leave the shaper.
    pub rate: BitsPerSec,
    /// The queue length above which a packet counts as marked.
    pub mark_above: Bytes,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The parameters of the window law, and the size and idle timeout of the flow cache.
    pub config: Config,
    /// The machine's traffic shaper behind the last hop, if there is one.
    pub shaper: Option<Shaper>,
}

impl Settings {
    /// Encodes the settings as `struct settings`.
    pub fn to_bytes(&self) -> Vec<u8> {
        let Config { law, segment, idle, validate, .. } = &self.config;
        let (halves, root) = (law.decrease == Decrease::Half, law.increase == Increase::Root);
        let of_law = [law.scale.units(), law.gain.shift(), law.alpha_initial.units()];
        // The last word aligns `idle_ns`.
        let words = [&of_law[..], &[law.min_window, law.initial_window, halves.into(), root.into(), 0]].concat();
        let mut bytes: Vec<u8> = words.into_iter().flat_map(u32::to_ne_bytes).collect();
        bytes.extend((idle.as_ps() / 1_000).to_ne_bytes());
        bytes.extend([u32::from(*segment), u32::from(*validate)].map(u32::to_ne_bytes).concat());
        let shaper = self.shaper.map_or([0; 2], |of| [of.rate.get(), of.mark_above.get()]);
        bytes.extend(shaper.map(u64::to_ne_bytes).concat());
        bytes
    }

    /// Decodes the bytes of [`to_bytes`](Self::to_bytes), for a proxy whose cache has this number of flows; `None` if
    /// they are too short or out of range.
    pub fn from_bytes(bytes: &[u8], flows: u32) -> Option<Self> {
        use at::settings as at;
        let bytes = Fields(bytes.get(..SETTINGS)?);
        let law = law::Config {
            decrease: if bytes.word(at::HALVES)? != 0 { Decrease::Half } else { Decrease::Marked },
            increase: if bytes.word(at::ROOT)? != 0 { Increase::Root } else { Increase::Cubic },
            scale: Fraction::new(bytes.word(at::SCALE)?),
            gain: Gain::new(bytes.word(at::GAIN)?),
            alpha_initial: Fraction::new(bytes.word(at::ALPHA_INITIAL)?),
            min_window: bytes.word(at::MIN_WINDOW)?,
            initial_window: bytes.word(at::INITIAL_WINDOW)?,
        };
        let config = Config {
            law,
            segment: u16::try_from(bytes.word(at::SEGMENT_BYTES)?).ok()?,
            idle: Span::from_ns(bytes.long(at::IDLE_NS)?),
            flows,
            validate: bytes.word(at::VALIDATE)? != 0,
        };
        let rate = bytes.long(at::SHAPER_BPS)?;
        let mark_above = Bytes::new(bytes.long(at::SHAPER_MARK_BYTES)?);
        let shaper = (rate > 0).then(|| Shaper { rate: BitsPerSec::at_least_one(rate), mark_above });
        Some(Self { config, shaper })
    }
}

/// Counters of the programs (`enum counter`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets made ECN-capable.
    pub made_ect: u64,
    /// Data segments of known flows.
    pub data: u64,
    /// Marked data segments of known flows.
    pub marked: u64,
    /// Packets whose ECN bits were cleared.
    pub cleared: u64,
    /// Acknowledgements of known flows.
    pub acks: u64,
    /// Acknowledgements whose window was reduced.
    pub reduced: u64,
    /// TCP packets whose SYNs were not seen, whose flow was evicted from the cache, or whose numbers are outside of the
    /// window.
    pub unknown: u64,
    /// Packets that are not complete TCP packets.
    pub other: u64,
    /// Flows for which the cache had no room.
    pub no_room: u64,
    /// Packets that could not be rewritten.
    pub failed: u64,
    /// Bytes that passed the model of the shaper.
    pub shaped_bytes: u64,
}

impl Counters {
    /// The number of counters in `enum counter`.
    pub const COUNT: u32 = 11;

    /// Assigns these values to the counters, in the order of `enum counter`.
    pub fn from_values(values: &[u64]) -> Self {
        let at = |number: usize| values.get(number).copied().unwrap_or(0);
        Self {
            made_ect: at(0),
            data: at(1),
            marked: at(2),
            cleared: at(3),
            acks: at(4),
            reduced: at(5),
            unknown: at(6),
            other: at(7),
            no_room: at(8),
            failed: at(9),
            shaped_bytes: at(10),
        }
    }
}

/// A flow in the cache of a proxy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flow {
    /// The address and port of the end that sends data.
    pub sender: SocketAddr,
    /// The address and port of the end that acknowledges.
    pub receiver: SocketAddr,
    /// Whether the proxy saw both SYNs and controls the flow. Other flows pass unchanged.
    pub is_controlled: bool,
    /// The congestion window that the proxy allows the flow, in segments.
    pub window_segments: f64,
    /// The moving average of the fraction of the flow's marked segments, 0 to 1.
    pub alpha: f64,
    /// Whether the flow is in slow start: no mark has arrived yet.
    pub is_slow_start: bool,
    /// The round-trip time between the proxy and the sender, if it is known.
    pub rtt: Option<Span>,
    /// The payload of the flow's largest segment so far, bytes.
    pub segment_bytes: u32,
    /// Payload of the flow that has passed the proxy, bytes.
    pub bytes: u64,
    /// Data segments of the flow that have passed the proxy.
    pub data: u32,
    /// Data segments of the flow that arrived with a CE mark.
    pub marked: u32,
    /// Acknowledgements of the flow whose receive window the proxy reduced.
    pub reduced: u32,
}

impl Flow {
    /// Decodes an entry of the map `flows`: `struct flow_key` and `struct flow`.
    pub fn from_bytes(key: &[u8], bytes: &[u8]) -> Option<Self> {
        use at::{flow, key as of_key};
        const KNOWN: u32 = 2;
        const BOTH: u32 = 3;
        let (key, of) = (Fields(key.get(..KEY)?), Fields(bytes.get(..FLOW)?));
        let rtt = of.long(flow::RTT)?;
        Some(Self {
            sender: SocketAddr::new(key.address(of_key::SENDER)?, key.port(of_key::SENDER_PORT)?),
            receiver: SocketAddr::new(key.address(of_key::RECEIVER)?, key.port(of_key::RECEIVER_PORT)?),
            is_controlled: of.word(flow::SYNS)? == BOTH,
            window_segments: of.long(flow::WINDOW)? as f64 / SEGMENT as f64,
            alpha: f64::from(of.word(flow::ALPHA)?) / f64::from(1_u32 << 10),
            is_slow_start: of.word(flow::SLOW_START)? != 0,
            rtt: (of.word(flow::RTT_STATE)? == KNOWN).then(|| Span::from_ns(rtt.min(u64::MAX / 1_000))),
            segment_bytes: of.word(flow::MSS)?,
            bytes: of.long(flow::BYTES)?,
            data: of.word(flow::DATA)?,
            marked: of.word(flow::MARKED)?,
            reduced: of.word(flow::REDUCED)?,
        })
    }
}

/// Reads fields of a C struct at their byte offsets.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn at<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.0.get(at..)?.first_chunk().copied()
    }

    fn word(&self, at: usize) -> Option<u32> {
        self.at(at).map(u32::from_ne_bytes)
    }

    fn long(&self, at: usize) -> Option<u64> {
        self.at(at).map(u64::from_ne_bytes)
    }

    /// Reads a port in network byte order.
    fn port(&self, at: usize) -> Option<u16> {
        self.at(at).map(u16::from_be_bytes)
    }

    fn address(&self, at: usize) -> Option<IpAddr> {
        let address = Ipv6Addr::from(self.at::<16>(at)?);
        Some(address.to_ipv4_mapped().map_or(IpAddr::V6(address), IpAddr::V4))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_survives_its_bytes() {
        let law = law::Config { decrease: Decrease::Half, increase: Increase::Root, ..law::Config::default() };
        let config = Config { law, idle: Span::from_ms(1_500), flows: 7, ..Config::default() };
        let shaper = Shaper { rate: BitsPerSec::gbps(1), mark_above: Bytes::new(150_000) };
        for shaper in [None, Some(shaper)] {
            let set = Settings { config, shaper };
            let bytes = set.to_bytes();
            assert_eq!((bytes.len(), Settings::from_bytes(&bytes, 7)), (SETTINGS, Some(set)));
            assert_eq!(Settings::from_bytes(&bytes[..SETTINGS - 1], 7), None);
        }
    }

    #[test]
    fn a_flow_has_its_fields_in_the_order_of_c() {
        let (mut key, mut bytes) = (vec![0; KEY], vec![0; FLOW]);
        key[10..16].copy_from_slice(&[0xff, 0xff, 10, 0, 0, 1]);
        key[16..18].copy_from_slice(&[0xfd, 0]);
        key[32..36].copy_from_slice(&[0, 80, 1, 0]);
        for (at, value) in (0..FLOW).step_by(4).zip(1_u32..) {
            bytes[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        }
        let flow = Flow::from_bytes(&key, &bytes).unwrap();
        assert_eq!(flow.sender.to_string(), "10.0.0.1:80");
        assert_eq!(flow.receiver.to_string(), "[fd00::]:256");
        assert_eq!((flow.alpha * 1_024.0, flow.segment_bytes), (13.0, 26));
        assert_eq!((flow.data, flow.marked, flow.reduced, flow.is_controlled), (33, 34, 35, false));
    }
}

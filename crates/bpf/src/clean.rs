//! CLEAN on a Linux machine: its programs (`c/clean.bpf.c`), what is set of them, and what they tell.

#[cfg(not(feature = "load"))]
mod absent;
#[cfg(feature = "load")]
mod loaded;

#[cfg(not(feature = "load"))]
pub use absent::{Pinned, Proxy, detach, is_attached};
#[cfg(feature = "load")]
pub use loaded::{Pinned, Proxy, detach, is_attached};

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use shallop_control::binary::{Fraction, Gain};
use shallop_control::clean::{self as law, Decrease, SEGMENT};
use shallop_core::{BitsPerSec, Bytes, Span};
pub use shallop_proto::clean::Config;

/// Bytes of `struct settings`, `struct flow_key` and `struct flow` of `c/clean_settings.h`.
const SETTINGS: usize = 56;
const KEY: usize = 36;
const FLOW: usize = 152;

/// What stands in a device's way: where a program is attached to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A device of a machine in the path that leads to the receivers: data leaves by it, acknowledgements enter.
    LastHop,
    /// A device of a machine in the path by which packets enter the network.
    Edge,
    /// The device of a receiver itself: data enters by it, acknowledgements leave.
    Receiver,
    /// The device of a sender itself, behind which the network begins.
    Sender,
}

/// The programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// Makes packets ECN-capable.
    Edge,
    /// Counts the marks of data, and clears them.
    Data,
    /// Reduces windows.
    Acks,
}

impl Program {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Edge, Self::Data, Self::Acks];

    /// Its name in `c/clean.bpf.c`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Edge => "clean_edge",
            Self::Data => "clean_data",
            Self::Acks => "clean_acks",
        }
    }
}

impl Place {
    /// The programs here, and whether each is given what leaves by the device; otherwise what enters by it.
    #[must_use]
    pub const fn programs(self) -> &'static [(Program, bool)] {
        match self {
            Self::LastHop => &[(Program::Data, true), (Program::Acks, false)],
            Self::Receiver => &[(Program::Data, false), (Program::Acks, true)],
            Self::Edge => &[(Program::Edge, false)],
            Self::Sender => &[(Program::Edge, true)],
        }
    }
}

/// The machine's own shaper behind the last hop, whose queue no program sees: the programs have a model of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shaper {
    /// What it lets through.
    pub rate: BitsPerSec,
    /// The queue above which a packet counts as marked.
    pub mark_above: Bytes,
}

/// What is set of a proxy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The law, the flow cache.
    pub config: Config,
    /// The machine's own shaper, if there is one.
    pub shaper: Option<Shaper>,
}

impl Settings {
    /// `struct settings`.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let Config { law, segment, idle, validate, .. } = &self.config;
        let halves = u32::from(law.decrease == Decrease::Half);
        let of_law = [law.scale.units(), law.gain.shift(), law.alpha_initial.units()];
        let words = [&of_law[..], &[law.min_window, law.initial_window, halves]].concat();
        let mut bytes: Vec<u8> = words.into_iter().flat_map(u32::to_ne_bytes).collect();
        bytes.extend((idle.as_ps() / 1_000).to_ne_bytes());
        bytes.extend([u32::from(*segment), u32::from(*validate)].map(u32::to_ne_bytes).concat());
        let shaper = self.shaper.map_or([0; 2], |of| [of.rate.get(), of.mark_above.get()]);
        bytes.extend(shaper.map(u64::to_ne_bytes).concat());
        bytes
    }

    /// What [`to_bytes`](Self::to_bytes) has written, of a proxy that keeps so many flows; `None` if it cannot have.
    #[must_use]
    pub fn of_bytes(bytes: &[u8], flows: u32) -> Option<Self> {
        let bytes = Fields(bytes.get(..SETTINGS)?);
        let law = law::Config {
            decrease: if bytes.word(20)? != 0 { Decrease::Half } else { Decrease::Marked },
            scale: Fraction::new(bytes.word(0)?),
            gain: Gain::new(bytes.word(4)?),
            alpha_initial: Fraction::new(bytes.word(8)?),
            min_window: bytes.word(12)?,
            initial_window: bytes.word(16)?,
        };
        let config = Config {
            law,
            segment: u16::try_from(bytes.word(32)?).ok()?,
            idle: Span::from_ns(bytes.long(24)?),
            flows,
            validate: bytes.word(36)? != 0,
        };
        let rate = bytes.long(40)?;
        let mark_above = Bytes::new(bytes.long(48)?);
        let shaper =
            (rate > 0).then(|| Shaper { rate: BitsPerSec::at_least_one(rate), mark_above });
        Some(Self { config, shaper })
    }
}

/// What the programs have counted (`enum counter`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets made ECN-capable.
    pub made_ect: u64,
    /// Segments of data of known flows.
    pub data: u64,
    /// Of these, with a mark.
    pub marked: u64,
    /// Packets whose bits of ECN were cleared.
    pub cleared: u64,
    /// Packets with an acknowledgement of known flows.
    pub acks: u64,
    /// Of these, with a window that was reduced.
    pub reduced: u64,
    /// Packets of TCP whose SYNs were not seen, or whose flow made room for another.
    pub unknown: u64,
    /// Packets that are no whole packets of TCP.
    pub other: u64,
    /// Flows that could not be kept.
    pub no_room: u64,
    /// Packets that could not be changed.
    pub failed: u64,
    /// Bytes that passed the model of the shaper.
    pub shaped_bytes: u64,
}

impl Counters {
    /// How many there are.
    pub const COUNT: u32 = 11;

    /// Those with these values, in the order of their numbers.
    #[must_use]
    pub fn of(values: &[u64]) -> Self {
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

/// A flow of a proxy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flow {
    /// Whose data it is.
    pub sender: SocketAddr,
    /// Who acknowledges it.
    pub receiver: SocketAddr,
    /// Whether both SYNs were seen; otherwise the flow is left alone.
    pub is_controlled: bool,
    /// The window, in segments.
    pub window_segments: f64,
    /// The average part of marked segments.
    pub alpha: f64,
    /// Whether no mark has ended its slow start.
    pub is_slow_start: bool,
    /// The round trip between the proxy and the sender, if it is known.
    pub rtt: Option<Span>,
    /// Payload of its largest segment.
    pub segment_bytes: u32,
    /// Payload that has passed.
    pub bytes: u64,
    /// Segments of data that have passed, and those of them with a mark.
    pub data: u32,
    /// Of these, with a mark.
    pub marked: u32,
    /// Acknowledgements whose window was reduced.
    pub reduced: u32,
}

impl Flow {
    /// That with this key and these bytes in the map of flows.
    #[must_use]
    pub fn of_bytes(key: &[u8], bytes: &[u8]) -> Option<Self> {
        const KNOWN: u32 = 2;
        const BOTH: u32 = 3;
        let (key, of) = (Fields(key.get(..KEY)?), Fields(bytes.get(..FLOW)?));
        let rtt = of.long(80)?;
        Some(Self {
            sender: SocketAddr::new(key.address(0)?, key.port(32)?),
            receiver: SocketAddr::new(key.address(16)?, key.port(34)?),
            is_controlled: of.word(132)? == BOTH,
            window_segments: of.long(8)? as f64 / SEGMENT as f64,
            alpha: f64::from(of.word(48)?) / f64::from(1_u32 << 10),
            is_slow_start: of.word(52)? != 0,
            rtt: (of.word(88)? == KNOWN).then(|| Span::from_ns(rtt.min(u64::MAX / 1_000))),
            segment_bytes: of.word(100)?,
            bytes: of.long(112)?,
            data: of.word(120)?,
            marked: of.word(124)?,
            reduced: of.word(128)?,
        })
    }
}

/// Fields of a struct of C.
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

    /// A port in the byte order of the network.
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
    #![allow(clippy::unwrap_used, reason = "a test that cannot make its input should fail there")]

    use super::*;

    #[test]
    fn what_is_set_survives_its_bytes() {
        let law = law::Config { decrease: Decrease::Half, ..law::Config::default() };
        let config = Config { law, idle: Span::from_ms(1_500), flows: 7, ..Config::default() };
        let shaper = Shaper { rate: BitsPerSec::gbps(1), mark_above: Bytes::new(150_000) };
        for shaper in [None, Some(shaper)] {
            let set = Settings { config, shaper };
            let bytes = set.to_bytes();
            assert_eq!((bytes.len(), Settings::of_bytes(&bytes, 7)), (SETTINGS, Some(set)));
            assert_eq!(Settings::of_bytes(&bytes[..SETTINGS - 1], 7), None);
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
        let flow = Flow::of_bytes(&key, &bytes).unwrap();
        assert_eq!(flow.sender.to_string(), "10.0.0.1:80");
        assert_eq!(flow.receiver.to_string(), "[fd00::]:256");
        assert_eq!((flow.alpha * 1_024.0, flow.segment_bytes), (13.0, 26));
        assert_eq!((flow.data, flow.marked, flow.reduced, flow.is_controlled), (31, 32, 33, false));
    }
}

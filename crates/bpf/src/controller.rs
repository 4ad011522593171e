//! Congestion controllers as BPF programs: their names, their settings, and how they are loaded.

#[cfg(feature = "load")]
mod loaded;
mod names;
mod pins;

#[cfg(not(feature = "load"))]
pub use crate::absent::{Controller, Watch, change, settings};
#[cfg(feature = "load")]
pub use loaded::{Controller, Watch, change, settings};
pub use names::check_name;
pub use pins::{Pinned, unpin};

use crate::Prefix;
use shallop_control::gemini::Integers;

/// Whether this build contains the BPF programs.
pub const IS_BUILT: bool = cfg!(feature = "load");
/// The largest number of classes of destinations (`MAX_CLASSES` of `c/tcp.h`).
pub const MAX_CLASSES: u32 = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    Gemini,
    Dctcp,
    EcnStar,
    Vegas,
}

shallop_core::names! { Program { Gemini = "gemini", Dctcp = "dctcp", EcnStar = "ecn-star", Vegas = "vegas" } }

impl Program {
    /// The name of the controller in C; also in the kernel, unless the user chooses another one.
    pub const fn default_name(self) -> &'static str {
        match self {
            Self::EcnStar => "ecn_star",
            other => other.name(),
        }
    }
}

/// How connections of a controller negotiate ECN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// As the program needs it: with ECT in the SYN, which servers without the controller refuse
    /// (`TCP_CONG_NEEDS_ECN`).
    #[default]
    Required,
    /// As RFC 3168 and `net.ipv4.tcp_ecn` say, so that common remote ends agree.
    BySysctl,
}

/// The settings of a loaded Gemini controller: one for each prefix of destinations, and one for all other destinations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Settings for destinations outside of all prefixes (class 0); `None` if the controller is not Gemini.
    pub base: Option<Integers>,
    /// Settings for the destinations of each prefix.
    pub to: Vec<(Prefix, Integers)>,
}

/// A controller to load, with its settings for destinations without a prefix of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Law {
    Gemini(Integers),
    /// DCTCP (RFC 8257).
    Dctcp,
    /// ECN*: Reno that reacts to a mark as to a loss.
    EcnStar,
    /// Vegas, with the parameters of Linux.
    Vegas,
}

impl Law {
    pub const fn program(&self) -> Program {
        match self {
            Self::Gemini(_) => Program::Gemini,
            Self::Dctcp => Program::Dctcp,
            Self::EcnStar => Program::EcnStar,
            Self::Vegas => Program::Vegas,
        }
    }
}

/// Offsets of the fields of `struct gemini_config` of gemini.h, in bytes.
mod at {
    pub const CAPACITY_KBPS: usize = 0;
    pub const MARK_BYTES: usize = 8;
    pub const THRESHOLD_NS: usize = 16;
    pub const DECREASE: usize = 24;
    pub const INCREASE: usize = 28;
    pub const ALPHA_SHIFT: usize = 32;
    pub const DCN: usize = 36;
    pub const WAN: usize = 40;
    pub const RECOUNT: usize = 44;
}

/// Encodes the settings as `struct gemini_config` of gemini.h.
pub fn gemini_bytes(of: &Integers) -> Vec<u8> {
    let words = [of.decrease, of.increase, u64::from(of.alpha_shift)];
    let words = words.map(|word| u32::try_from(word).unwrap_or(u32::MAX));
    let flags = [of.dcn, of.wan, of.recount].map(u32::from);
    let long = [of.capacity_kbps, of.mark_bytes, of.threshold_ns].map(u64::to_ne_bytes);
    let short = [words, flags].concat().into_iter().flat_map(u32::to_ne_bytes);
    long.into_iter().flatten().chain(short).collect()
}

/// Decodes the bytes of [`gemini_bytes`]; `None` if they are too short.
pub fn gemini_from_bytes(bytes: &[u8]) -> Option<Integers> {
    let long = |at: usize| bytes.get(at..)?.first_chunk().map(|of| u64::from_ne_bytes(*of));
    let word = |at: usize| bytes.get(at..)?.first_chunk().map(|of| u32::from_ne_bytes(*of));
    Some(Integers {
        capacity_kbps: long(at::CAPACITY_KBPS)?,
        mark_bytes: long(at::MARK_BYTES)?,
        threshold_ns: long(at::THRESHOLD_NS)?,
        decrease: word(at::DECREASE)?.into(),
        increase: word(at::INCREASE)?.into(),
        alpha_shift: word(at::ALPHA_SHIFT)?,
        dcn: word(at::DCN)? != 0,
        wan: word(at::WAN)? != 0,
        recount: word(at::RECOUNT)? != 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use shallop_control::gemini::Config;
    use shallop_core::BitsPerSec;

    #[test]
    fn what_is_set_survives_its_bytes() {
        let set = Config { wan: false, ..Config::THESIS }.integers(BitsPerSec::gbps(10));
        let bytes = gemini_bytes(&set);
        assert_eq!((bytes.len(), gemini_from_bytes(&bytes)), (48, Some(set)));
        assert_eq!(gemini_from_bytes(&bytes[..47]), None);
    }
}

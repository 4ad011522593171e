//! Controllers of TCP: which there are, what is set of them, and how they are loaded.

#[cfg(not(feature = "load"))]
mod absent;
#[cfg(feature = "load")]
mod loaded;
mod names;
mod pins;

#[cfg(not(feature = "load"))]
pub use absent::{Controller, Watch, change, settings};
#[cfg(feature = "load")]
pub use loaded::{Controller, Watch, change, settings};
pub use names::check_name;
pub use pins::{Pinned, unpin};

use shallop_control::gemini::Integers;

use crate::Prefix;

/// Whether programs are in this build.
pub const IS_BUILT: bool = cfg!(feature = "load");
/// The most classes of destinations (`MAX_CLASSES` of `c/settings.h`).
pub const MAX_CLASSES: u32 = 64;

/// The program of a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// Gemini.
    Gemini,
    /// DCTCP.
    Dctcp,
    /// ECN*.
    EcnStar,
    /// Vegas.
    Vegas,
}

impl Program {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Gemini, Self::Dctcp, Self::EcnStar, Self::Vegas];

    /// Its name in scenarios.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gemini => "gemini",
            Self::Dctcp => "dctcp",
            Self::EcnStar => "ecn-star",
            Self::Vegas => "vegas",
        }
    }

    /// Its name in C, and what a kernel calls it unless another name is given.
    #[must_use]
    pub const fn default_name(self) -> &'static str {
        match self {
            Self::EcnStar => "ecn_star",
            other => other.name(),
        }
    }
}

/// What is set of a controller of Gemini: of class 0, and of the destinations with prefixes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// For destinations without a prefix.
    pub base: Option<Integers>,
    /// For those of each prefix.
    pub to: Vec<(Prefix, Integers)>,
}

/// The law of a controller, with what is set of it for the destinations of class 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Law {
    /// Gemini.
    Gemini(Integers),
    /// DCTCP, as RFC 8257 has it.
    Dctcp,
    /// ECN*: Reno, which answers a mark as a loss.
    EcnStar,
    /// Vegas, with the numbers of Linux.
    Vegas,
}

impl Law {
    /// Its program.
    #[must_use]
    pub const fn program(&self) -> Program {
        match self {
            Self::Gemini(_) => Program::Gemini,
            Self::Dctcp => Program::Dctcp,
            Self::EcnStar => Program::EcnStar,
            Self::Vegas => Program::Vegas,
        }
    }
}

/// Where the fields of `struct gemini_config` of gemini.h are.
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

/// `struct gemini_config` of gemini.h.
#[must_use]
pub fn gemini_bytes(of: &Integers) -> Vec<u8> {
    let words = [of.decrease, of.increase, u64::from(of.alpha_shift)];
    let words = words.map(|word| u32::try_from(word).unwrap_or(u32::MAX));
    let flags = [of.dcn, of.wan, of.recount].map(u32::from);
    let long = [of.capacity_kbps, of.mark_bytes, of.threshold_ns].map(u64::to_ne_bytes);
    let short = [words, flags].concat().into_iter().flat_map(u32::to_ne_bytes);
    long.into_iter().flatten().chain(short).collect()
}

/// What [`gemini_bytes`] has written; `None` if it cannot have.
#[must_use]
pub fn gemini_of_bytes(bytes: &[u8]) -> Option<Integers> {
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
    use shallop_control::gemini::Config;
    use shallop_core::BitsPerSec;

    use super::*;

    #[test]
    fn what_is_set_survives_its_bytes() {
        let set = Config { wan: false, ..Config::THESIS }.integers(BitsPerSec::gbps(10));
        let bytes = gemini_bytes(&set);
        assert_eq!((bytes.len(), gemini_of_bytes(&bytes)), (48, Some(set)));
        assert_eq!(gemini_of_bytes(&bytes[..47]), None);
    }
}

//! Configurations of real switches: a neutral model ([`model`]), which switch operating systems' texts are written from
//! and read into, and the `[switch.NAME]` section that it gives. The crate reads no file and no clock, and knows no
//! plans.

#![forbid(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)]

pub mod eos;
pub mod linux;
pub mod model;
pub mod tc;
pub mod text;
pub mod toml;

pub use model::{Aqm, Bucket, Device, Interface, Known, Pool, Port, Queue, Ramp, Role, Schedule};
pub use text::{Imported, NotThis, NotUnderstood, Note, Written};

/// A switch operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Os {
    /// Arista EOS.
    Eos,
    /// `SONiC`: `config_db.json`.
    Sonic,
    /// Cumulus Linux: YAML of NVUE.
    Cumulus,
    /// Linux with `tc`.
    Tc,
}

shallop_core::names! { Os { Eos = "eos", Sonic = "sonic", Cumulus = "cumulus", Tc = "tc" } }

impl Os {
    /// The configuration of a device, with what the system cannot express as notes.
    pub fn write(self, device: &Device) -> Written {
        match self {
            Self::Eos => eos::write(device),
            Self::Sonic | Self::Cumulus => linux::write(self, device),
            Self::Tc => tc::write(device),
        }
    }

    /// Reads a configuration. `known` has the name of the device, its chip and the memory of the chip, as far as known.
    ///
    /// # Errors
    /// If the text is not a configuration of this system.
    pub fn read(self, text: &str, known: &Device) -> Result<Imported, NotThis> {
        match self {
            Self::Eos => eos::read(text, known),
            Self::Sonic | Self::Cumulus => linux::read(self, text, known),
            Self::Tc => Err(NotThis { line: 1, reason: "scripts of tc are written and not read".to_owned() }),
        }
    }

    /// Whether [`Self::read`] reads configurations of the system.
    pub fn is_read(self) -> bool {
        self != Self::Tc
    }

    /// The name of a port by its number, from 0.
    pub fn interface(self, number: usize) -> String {
        match self {
            Self::Eos => format!("Ethernet{}", number + 1),
            Self::Sonic => format!("Ethernet{}", number * 4),
            Self::Cumulus => format!("swp{}", number + 1),
            Self::Tc => format!("eth{number}"),
        }
    }
}

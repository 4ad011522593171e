//! How data leaves, and what replaces credits where they cannot be used.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Instant;

use quinn_proto::congestion::{BbrConfig, Controller, ControllerFactory, CubicConfig};
use serde::Serialize;

/// How data leaves. Each direction of a connection has its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Path {
    /// It is not known yet: the handshake goes on.
    Unknown,
    /// On credits.
    Credits,
    /// By the fallback controller, because the peer has no credits, or one of both does not want them.
    WithoutCredits,
    /// By the fallback controller, because no emulation packet was answered: the path does not let them through.
    Unanswered,
    /// By the fallback controller, because no more credits came while QUIC's own packets were acknowledged.
    CreditsStopped,
    /// By the fallback controller, because the peer sees other classes (DSCP) than this side sends.
    ClassesErased,
    /// By the fallback controller, because data was lost and emulation packets were not.
    DataLost,
}

impl Path {
    /// Whether credits were given up on this path, and may be tried again.
    #[must_use]
    pub const fn is_fallback(self) -> bool {
        use Path::{ClassesErased, CreditsStopped, DataLost, Unanswered};
        matches!(self, Unanswered | CreditsStopped | ClassesErased | DataLost)
    }

    /// Whether the controller of QUIC decides when data leaves.
    pub(crate) const fn has_window(self) -> bool {
        matches!(self, Self::WithoutCredits) || self.is_fallback()
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "not known yet",
            Self::Credits => "on credits",
            Self::WithoutCredits => "without credits: one of both ends does not use them",
            Self::Unanswered => "without credits: no emulation packet was answered",
            Self::CreditsStopped => "without credits: they stopped, and other packets still arrive",
            Self::ClassesErased => {
                "without credits: the path changes the classes (DSCP) of packets"
            }
            Self::DataLost => "without credits: the path loses data rather than emulation packets",
        })
    }
}

/// The congestion controller of a connection, or of a part of it, without credits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fallback {
    /// CUBIC (RFC 9438), as quinn-proto has it.
    #[default]
    Cubic,
    /// BBR, as quinn-proto has it: version 1, which its authors call experimental.
    Bbr,
}

impl Fallback {
    /// A controller at its start.
    pub(crate) fn build(self, now: Instant, mtu: u16) -> Box<dyn Controller> {
        match self {
            Self::Cubic => Arc::new(CubicConfig::default()).build(now, mtu),
            Self::Bbr => Arc::new(BbrConfig::default()).build(now, mtu),
        }
    }
}

impl FromStr for Fallback {
    type Err = &'static str;

    /// As the option `--fallback` of the commands has it.
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "cubic" => Ok(Self::Cubic),
            "bbr" => Ok(Self::Bbr),
            _ => Err("\"cubic\" or \"bbr\""),
        }
    }
}

impl fmt::Display for Fallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cubic => "CUBIC",
            Self::Bbr => "BBR",
        })
    }
}

//! How a connection sends data: on credits, or with a congestion controller where credits cannot be used.

use quinn_proto::congestion::{BbrConfig, Controller, ControllerFactory, CubicConfig};
use serde::Serialize;
use std::{fmt, str::FromStr, sync::Arc, time::Instant};

/// How one side of a connection sends data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SendMode {
    /// The handshake is not over, so the mode is not known.
    Unknown,
    /// Data leaves on credits of the peer.
    Credits,
    /// One of both sides does not use credits, or the connection is older than 200 days. The fallback controller
    /// decides when data leaves.
    WithoutCredits,
    /// No emulation packet was answered, as the path drops them. The fallback controller decides when data leaves.
    Unanswered,
    /// Credits stopped while QUIC packets were still acknowledged. The fallback controller decides when data leaves.
    CreditsStopped,
    /// Packets arrive with another DSCP than this side sends. The fallback controller decides when data leaves.
    ClassesErased,
    /// The path lost data packets far more often than emulation packets. The fallback controller decides when data
    /// leaves.
    DataLost,
    /// No switch of the path meters emulation packets ([`Connection::leave_unmetered`]). The fallback controller
    /// decides when data leaves.
    ///
    /// [`Connection::leave_unmetered`]: crate::Connection::leave_unmetered
    Unmetered,
}

impl SendMode {
    /// Whether the path was found unfit for credits, which may be tried again.
    pub const fn is_fallback(self) -> bool {
        use SendMode::{ClassesErased, CreditsStopped, DataLost, Unanswered, Unmetered};
        matches!(self, Unanswered | CreditsStopped | ClassesErased | DataLost | Unmetered)
    }

    /// Whether the fallback controller decides when data leaves.
    pub(crate) const fn has_window(self) -> bool {
        matches!(self, Self::WithoutCredits) || self.is_fallback()
    }
}

impl fmt::Display for SendMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "not known yet",
            Self::Credits => "on credits",
            Self::WithoutCredits => "without credits: one of both ends does not use them",
            Self::Unanswered => "without credits: no emulation packet was answered",
            Self::CreditsStopped => "without credits: they stopped, and other packets still arrive",
            Self::ClassesErased => "without credits: the path changes the classes (DSCP) of packets",
            Self::DataLost => "without credits: the path loses data rather than emulation packets",
            Self::Unmetered => {
                "without credits: the path has no FlashPass classes, as nothing meters emulation packets"
            }
        })
    }
}

/// The congestion controller of a connection that sends without credits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fallback {
    /// CUBIC (RFC 9438) of quinn-proto.
    #[default]
    Cubic,
    /// BBR version 1 of quinn-proto, which its authors call experimental.
    Bbr,
}

impl Fallback {
    pub(crate) fn build(self, now: Instant, mtu: u16) -> Box<dyn Controller> {
        match self {
            Self::Cubic => Arc::new(CubicConfig::default()).build(now, mtu),
            Self::Bbr => Arc::new(BbrConfig::default()).build(now, mtu),
        }
    }
}

impl FromStr for Fallback {
    type Err = &'static str;

    /// Parses a value of the command's option `--fallback`.
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

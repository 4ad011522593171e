//! Parameters of controllers with Reno's growth and reduction: multiplicative decrease and slow start.

use crate::{hystart, window::Basis};
use shallop_options::{HostStack, Options};

/// Additive increase and multiplicative decrease, as in Reno. Each controller that uses them sets its own defaults.
#[derive(Clone, Copy, Debug, PartialEq, Options)]
#[options(preset, defaults)]
pub struct Config {
    /// Multiplicative decrease: the fraction of `basis` by which a loss reduces the congestion window (RFC 5681: 0.5).
    #[key(Above(0.0, 0.99))]
    pub decrease: f64,
    /// The quantity that the multiplicative decrease applies to: the bytes in flight (`"flight"`, RFC 5681) or the
    /// congestion window (`"window"`, Linux).
    pub basis: Basis,
    /// Slow start.
    #[part]
    pub slow_start: hystart::Config,
    /// The congestion window after an idle period.
    #[fixed]
    pub restart: Restart,
}

/// How cwnd changes after an idle period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// cwnd becomes the initial window, or stays if it is less (RFC 5681, 4.1; kernel: `tcp_cwnd_restart`).
    Lesser,
    /// cwnd becomes the initial window (ns-2: `CLOSE_CWND_INIT`).
    First,
}

impl Config {
    /// Values of RFC 5681.
    pub const RFC: Self =
        Self { decrease: 0.5, basis: Basis::Flight, slow_start: hystart::Config::STANDARD, restart: Restart::Lesser };
    /// Values of Linux: slow start grows by all acknowledged bytes, and reductions apply to cwnd.
    pub const LINUX: Self = Self { basis: Basis::Window, slow_start: hystart::Config::UNLIMITED, ..Self::RFC };

    /// Values that Reno has on a host stack.
    pub const fn reno(stack: HostStack) -> Self {
        match stack {
            HostStack::Ns2 => Self { basis: Basis::Window, restart: Restart::First, ..Self::RFC },
            // ns-3: `TcpLinuxReno`, since `TcpNewReno` does not count acknowledged bytes.
            _ => Self::LINUX,
        }
    }
}

//! How a host's TCP is set up, and the stacks people compare with.
//!
//! | | ns2 | ns3 | linux |
//! |---|---|---|---|
//! | first window | 2 | 10 | 10 segments |
//! | timeout: first, least, most | 3 s, 0.2 s, 60 s | 1 s, 1 s, 60 s | 1 s, 0.2 s above the round trip, 120 s |
//! | loss | RFC 6675 | RFC 6675 | RACK-TLP |
//! | acknowledgements | every segment | every 2nd, 200 ms | every 2nd, 40 ms, the first 16 at once |
//! | a mark shrinks the window | at once | over a round trip | over a round trip |
//!
//! What a host has of each controller is said by that controller ([`Host`]). All three greet before they send, as even
//! ns-2's one-way agents do (`syn_`).
//! Sources: `ns-default.tcl` of ns-2.35, with the kernel modules of its time; attributes of ns-3.44, whose marks are
//! answered by `TcpSocketBase::EnterCwr`; `net.ipv4` defaults of Linux 6. Segments are of 1460 B and receive buffers as
//! large as scaling allows in all three: ns-2 counts packets, and nobody keeps the 536 B and 128 KB that ns-3 starts
//! with.

use shallop_control::{Host, Marking, Start};
use shallop_core::{BitsPerSec, Bytes, Span};

use super::echo;
use super::head::{MAX_SCALE, scale_for};
use crate::rtt::{self, Floor};
use crate::wire::{HEADERS, MTU};

/// How losses are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detection {
    /// By three duplicate acknowledgements; no selective ones are sent. One hole is repaired each round trip (RFC
    /// 6582).
    DuplicateAcks,
    /// By three segments acknowledged selectively above (RFC 6675).
    Sack,
    /// By a segment delivered that was sent later, and by probes of the tail (RFC 8985).
    Rack,
}

/// The silence after which a sender begins with its first window again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Silence {
    /// None.
    Never,
    /// More than a timeout (RFC 5681, 4.1; Linux).
    Timeout,
    /// More than the smoothed round trip and four deviations, without the least timeout (ns-2:
    /// `FullTcpAgent::idle_restart`).
    Estimate,
}

/// Which packets say that they understand marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capable {
    /// None.
    Nothing,
    /// Data sent for the first time (RFC 3168, 6.1).
    NewData,
    /// Everything, for networks that drop what does not.
    Everything,
}

/// Congestion marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marks {
    /// Which packets may be marked.
    pub capable: Capable,
    /// How the receiver echoes marks.
    pub echo: echo::Policy,
    /// The window shrinks over a round trip, as after a loss, instead of at once (Linux).
    pub gradual: bool,
}

impl Marks {
    /// ECN is not used.
    pub const OFF: Self =
        Self { capable: Capable::Nothing, echo: echo::Policy::Off, gradual: false };
    /// As in RFC 3168.
    pub const CLASSIC: Self =
        Self { capable: Capable::NewData, echo: echo::Policy::Latch, gradual: false };
    /// As a controller asks for them; where it asks for none, none are used, and those that a scenario asks for shrink
    /// the window as those of this stack do.
    #[must_use]
    pub const fn of(marking: Marking, stack: Self) -> Self {
        match marking {
            Marking::Off => Self { gradual: stack.gradual, ..Self::OFF },
            Marking::Classic => Self::CLASSIC,
            Marking::Exact => Self::EXACT,
        }
    }

    /// As DCTCP needs them (RFC 8257; kernel: `TCP_CONG_NEEDS_ECN`).
    pub const EXACT: Self =
        Self { capable: Capable::Everything, echo: echo::Policy::Exact, gradual: false };
}

/// When a receiver acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acks {
    /// At the latest when so many segments came in order.
    pub every: u32,
    /// At the latest after so long.
    pub timeout: Span,
    /// The first so many segments of a flow at once.
    pub quick: u32,
}

impl Acks {
    /// Every segment at once.
    pub const EACH: Self = Self { every: 1, timeout: Span::ZERO, quick: 0 };
}

/// The TCP of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Payload of a full segment.
    pub segment: u16,
    /// Segments in the first window.
    pub initial_window: u32,
    /// The window at which slow start ends, before the first loss; [`Bytes::MAX`] to find out.
    pub initial_threshold: Bytes,
    /// A round trip passes before the first data.
    pub handshake: bool,
    /// Which silences are told to the controller (Linux: the sysctl of this name).
    pub slow_start_after_idle: Silence,
    /// The retransmission timeout.
    pub timeout: rtt::Config,
    /// How losses are found.
    pub detection: Detection,
    /// Congestion marks.
    pub marks: Marks,
    /// When data is acknowledged.
    pub acks: Acks,
    /// The receiver's buffer. At least two segments are held whatever it says.
    pub buffer: Bytes,
}

/// As much as a scaled window can offer.
pub const LARGEST_BUFFER: Bytes = Bytes::new((u16::MAX as u64) << MAX_SCALE);

impl Config {
    /// What a controller of a new flow is made from, on a host with this link; `draw` is a number drawn for it.
    #[must_use]
    pub const fn start(&self, link: BitsPerSec, draw: u64) -> Start {
        let window = self.segment as u64 * self.initial_window as u64;
        Start {
            segment: Bytes::new(self.segment as u64),
            window: Bytes::new(window),
            threshold: self.initial_threshold,
            link,
            draw,
        }
    }

    /// The receiver's buffer as it is kept: two segments can always be offered, and no more than scaling allows.
    pub(super) fn kept_buffer(&self) -> u64 {
        let largest = LARGEST_BUFFER.get();
        let least = u64::from(self.segment) * 2;
        let wanted = self.buffer.get().clamp(least, largest);
        let unit = 1 << scale_for(wanted);
        wanted.next_multiple_of(unit).min(largest)
    }

    /// The longest a receiver holds an acknowledgement back.
    pub(super) const fn ack_delay(&self) -> Span {
        if self.acks.every > 1 { self.acks.timeout } else { Span::ZERO }
    }
}

/// A host's TCP, and whose controllers it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stack {
    /// TCP.
    pub tcp: Config,
    /// Whose controllers they are.
    pub host: Host,
}

impl Stack {
    /// ns-2, its one-way agents with the kernel's CUBIC of 2007.
    pub const NS2: Self = Self {
        tcp: Config {
            segment: (MTU - HEADERS) as u16,
            initial_window: 2,
            initial_threshold: Bytes::MAX,
            handshake: true,
            slow_start_after_idle: Silence::Timeout,
            timeout: rtt::Config {
                initial: Span::from_secs(3),
                min: Span::from_ms(200),
                max: Span::from_secs(60),
                floor: Floor::Timeout,
            },
            detection: Detection::Sack,
            marks: Marks::OFF,
            acks: Acks::EACH,
            buffer: LARGEST_BUFFER,
        },
        host: Host::Ns2,
    };

    /// ns-3.
    pub const NS3: Self = Self {
        tcp: Config {
            initial_window: 10,
            timeout: rtt::Config {
                initial: Span::from_secs(1),
                min: Span::from_secs(1),
                ..Self::NS2.tcp.timeout
            },
            marks: Marks { gradual: true, ..Marks::OFF },
            acks: Acks { every: 2, timeout: Span::from_ms(200), quick: 0 },
            ..Self::NS2.tcp
        },
        host: Host::Ns3,
    };

    /// Linux.
    pub const LINUX: Self = Self {
        tcp: Config {
            timeout: rtt::Config {
                initial: Span::from_secs(1),
                min: Span::from_ms(200),
                max: Span::from_secs(120),
                floor: Floor::Deviation,
            },
            detection: Detection::Rack,
            acks: Acks { every: 2, timeout: Span::from_ms(40), quick: 16 },
            ..Self::NS3.tcp
        },
        host: Host::Linux,
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_holds_two_segments_and_can_be_offered_whole() {
        let kept = |bytes| Config { buffer: Bytes::new(bytes), ..Stack::NS2.tcp }.kept_buffer();
        assert_eq!([0, 10_000, 70_001].map(kept), [2_920, 10_000, 70_002]);
        assert_eq!(kept(u64::MAX), LARGEST_BUFFER.get());
    }
}

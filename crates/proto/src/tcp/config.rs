//! The configuration of a host's TCP, and the stacks that scenarios choose from.
//!
//! | | ns2 | ns3 | linux, linux-pfifo, linux-ideal |
//! |---|---|---|---|
//! | initial window, segments | 2 | 10 | 10 |
//! | RTO: initial, minimum, maximum | 3 s, 0.2 s, 60 s | 1 s, 1 s, 60 s | 1 s, SRTT + 0.2 s, 120 s |
//! | loss detection | RFC 6675 | RFC 6675 | RACK-TLP |
//! | spurious recovery | not undone | not undone | undone, by DSACK, timestamps and F-RTO |
//! | delayed acknowledgements | none | every 2nd, 200 ms | every 2nd, 40 ms, none for the first 16 segments |
//! | reduction for a congestion mark | at once | over a round trip | over a round trip |
//! | segmentation offload | none | none | linux-ideal: none; the others: bursts of up to 64 KB |
//! | bytes of options in a segment | 0 | 0 | linux-ideal: 0; the others: 12 |
//! | pacing of all flows | no | no | linux: yes; the others: no |
//!
//! How a stack's congestion controllers are configured is in the file of each controller ([`HostStack`]). All
//! stacks open a connection with a handshake before they send data, as ns-2's one-way agents do with `syn_`.
//! Sources: `ns-default.tcl` of ns-2.35, with the kernel modules of its time; attributes of ns-3.44, which answers
//! marks in `TcpSocketBase::EnterCwr`; `net.ipv4` defaults of Linux 6. A packet has 1500 B everywhere, and the receive
//! buffer is as large as window scaling allows: ns-2 counts packets, and nobody keeps the 536 B and 128 KB that
//! ns-3 starts with.

use shallop_control::{HostStack, Marking, Start};
use shallop_core::form::{Form, Reads};
use shallop_core::options::{Natural, Value, Written};
use shallop_core::{BitsPerSec, Bytes, Ecn, Span, words};

use super::echo;
use super::head::{MAX_SCALE, scale_for};
use crate::rtt::{self, Floor};
use crate::wire::{HEADERS, MTU};

/// How losses are detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detection {
    /// By three duplicate acknowledgements, without SACK: one lost segment is repaired each round trip (RFC 6582).
    DuplicateAcks,
    /// By three segments selectively acknowledged above (RFC 6675).
    Sack,
    /// By time, with tail loss probes (RFC 8985).
    Rack,
}

words! { Detection { DuplicateAcks = "duplicate-acks", Sack = "sack", Rack = "rack" } }

/// The idle time after which a sender restarts with its initial window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleRestart {
    /// None.
    Never,
    /// More than a retransmission timeout (RFC 5681, 4.1; RFC 2861; Linux).
    Timeout,
    /// More than the smoothed round-trip time and four deviations, without the minimum timeout (ns-2:
    /// `FullTcpAgent::idle_restart`).
    Estimate,
}

/// True or false as the sysctl of Linux, or a word.
impl Value for IdleRestart {
    const READS: Reads = Reads::Any;

    fn read<W: Written>(written: &W, form: &Form) -> Result<Self, W::Wrong> {
        if written.as_text() == Some("estimate") {
            return Ok(Self::Estimate);
        }
        Ok(if written.boolean(form)? { Self::Timeout } else { Self::Never })
    }

    fn show(&self) -> Option<String> {
        Some(match self {
            Self::Never => "false".to_owned(),
            Self::Timeout => "true".to_owned(),
            Self::Estimate => "\"estimate\"".to_owned(),
        })
    }
}

impl Natural for IdleRestart {
    const FORM: Form = Form::AnyOf(&[Form::Boolean, Form::OneOf(&["estimate"])]);
}

/// What a receiver sends in SACK blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SackPolicy {
    /// No blocks.
    Off,
    /// What arrived above a gap (RFC 2018).
    Sack,
    /// The same, and what arrived twice (RFC 2883).
    SackAndDsack,
}

/// Which packets are ECN-capable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnCapable {
    /// None.
    Nothing,
    /// Data sent for the first time (RFC 3168, 6.1).
    NewData,
    /// Everything, for networks that drop packets which are not ECN-capable.
    Everything,
}

/// Explicit congestion notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EcnConfig {
    /// Which packets are ECN-capable.
    pub capable: EcnCapable,
    /// How the receiver echoes marks.
    pub echo: echo::Policy,
    /// A mark reduces the window over a round trip, as a loss does (Linux), instead of at once.
    pub gradual: bool,
    /// ECN-capable packets carry ECT(1), the identifier of L4S (RFC 9331), instead of ECT(0).
    pub l4s: bool,
}

impl EcnConfig {
    /// The ECN field of a packet that is ECN-capable or not.
    pub(super) const fn codepoint(self, capable: bool) -> Ecn {
        match (capable, self.l4s) {
            (false, _) => Ecn::NotEct,
            (true, false) => Ecn::Ect,
            (true, true) => Ecn::Ect1,
        }
    }

    /// ECN is not used.
    pub const OFF: Self =
        Self { capable: EcnCapable::Nothing, echo: echo::Policy::Off, gradual: false, l4s: false };
    /// As in RFC 3168.
    pub const CLASSIC: Self =
        Self { capable: EcnCapable::NewData, echo: echo::Policy::Rfc3168, ..Self::OFF };
    /// The ECN that a controller requires. For one that requires none ECN is off, and `gradual` is that of the stack,
    /// in case the scenario turns ECN on.
    pub const fn for_marking(marking: Marking, stack: Self) -> Self {
        match marking {
            Marking::Off => Self { gradual: stack.gradual, ..Self::OFF },
            Marking::Classic => Self::CLASSIC,
            Marking::Exact => Self::EXACT,
        }
    }

    /// As DCTCP requires it (RFC 8257; kernel: `TCP_CONG_NEEDS_ECN`).
    pub const EXACT: Self =
        Self { capable: EcnCapable::Everything, echo: echo::Policy::Dctcp, ..Self::OFF };
}

/// When a receiver sends acknowledgements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayedAcks {
    /// At the latest after this many segments in order.
    pub every: u32,
    /// At the latest after this time.
    pub timeout: Span,
    /// At once for this many segments at the start of a flow (kernel: quick acknowledgements).
    pub quick: u32,
}

impl DelayedAcks {
    /// Every segment is acknowledged at once.
    pub const OFF: Self = Self { every: 1, timeout: Span::ZERO, quick: 0 };
}

/// How spurious retransmissions and timeouts are detected. If any of it is on, the sender undoes the reductions they
/// caused. The switches are those of Linux's sysctls `tcp_dsack`, `tcp_timestamps` and `tcp_frto`. They have no effect
/// without SACK ([`Detection::DuplicateAcks`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spurious {
    /// The receiver reports duplicates (RFC 2883), and the sender undoes a reduction when all its retransmissions were
    /// reported (RFC 3708). With [`Detection::Rack`] receivers report them in any case, as RACK-TLP needs it.
    pub dsack: bool,
    /// The timestamp option tells an original from its retransmission (Eifel detection, RFC 3522).
    pub timestamps: bool,
    /// Forward RTO-recovery with SACK (RFC 5682, 3.1).
    pub frto: bool,
}

impl Spurious {
    /// Nothing is detected, and nothing undone.
    pub const OFF: Self = Self { dsack: false, timestamps: false, frto: false };
    /// The defaults of Linux.
    pub const LINUX: Self = Self { dsack: true, timestamps: true, frto: true };

    /// True if anything is on.
    pub const fn is_on(&self) -> bool {
        self.dsack || self.timestamps || self.frto
    }
}

/// The TCP of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Payload of a full segment. Unit: bytes.
    pub segment: u16,
    /// The initial window. Unit: segments.
    pub initial_window: u32,
    /// The initial slow-start threshold; [`Bytes::MAX`] for slow start until the first loss.
    pub initial_threshold: Bytes,
    /// Data is preceded by a handshake, which takes a round trip.
    pub handshake: bool,
    /// After which idle times the controller restarts (Linux: the sysctl of this name).
    pub slow_start_after_idle: IdleRestart,
    /// The retransmission timeout.
    pub timeout: rtt::Config,
    /// How losses are detected.
    pub detection: Detection,
    /// How spurious retransmissions are detected, which are then undone.
    pub spurious: Spurious,
    /// Explicit congestion notification.
    pub ecn: EcnConfig,
    /// When data is acknowledged.
    pub acks: DelayedAcks,
    /// The most segments of a burst of segmentation offload; 1 for a host that sends packet by packet.
    pub gso_max_segs: u16,
    /// The most bursts of a flow that wait in the host to be paced; one more is dropped there, which reduces the window
    /// as a mark does (Linux: `flow_limit` of `fq`). `u16::MAX` for a host without such a limit.
    pub fq_flow_limit: u16,
    /// Bytes of options in each segment and acknowledgement after the handshake: 12 of timestamps (RFC 7323,
    /// appendix A). SACK blocks are not counted.
    pub option_bytes: u8,
    /// What Linux does and no RFC says. The pacer makes up for a late segment by half of its time at most, and not by
    /// all of it (`tcp_update_skb_after_send`). A recovery that ends while retransmissions are in flight is followed by
    /// another, with a reduction of its own (`tcp_time_to_recover`: `lost_out` counts them).
    pub kernel_habits: bool,
    /// How long after a packet the host's card interrupts it, with all that came meanwhile ([`super::InterruptCoalescing`]).
    pub interrupt_gap: Span,
    /// The receive buffer. At least two segments, whatever this says.
    pub buffer: Bytes,
    /// The window that a receiver advertises follows the data that comes, up to the buffer (Linux:
    /// `tcp_moderate_rcvbuf`).
    pub receive_autotuning: bool,
}

/// The largest window that can be advertised with window scaling.
pub const LARGEST_BUFFER: Bytes = Bytes::new((u16::MAX as u64) << MAX_SCALE);

/// What a receiver with autotuning offers first: whole segments in half of `tcp_rmem[1]`, 131,072 bytes.
const FIRST_WINDOW: u64 = 65_535;

impl Config {
    /// What the controller of a new flow is created from, on a host with this link; `draw` is a random number.
    pub const fn start(&self, link: BitsPerSec, draw: u64) -> Start {
        let window = self.segment as u64 * self.initial_window as u64;
        Start {
            mss: Bytes::new(self.segment as u64),
            initial_window: Bytes::new(window),
            initial_ssthresh: self.initial_threshold,
            link_rate: link,
            seed: draw,
        }
    }

    /// The receive buffer in use: at least two segments, at most what window scaling can advertise, and a whole number
    /// of the units in which it is advertised.
    pub(super) fn receive_buffer(&self) -> u64 {
        let largest = LARGEST_BUFFER.get();
        let least = u64::from(self.segment) * 2;
        let wanted = self.buffer.get().clamp(least, largest);
        let unit = 1 << scale_for(wanted);
        wanted.next_multiple_of(unit).min(largest)
    }

    /// The window that a receiver offers first: whole segments.
    pub(super) fn first_window(&self) -> u64 {
        let buffer = self.receive_buffer();
        if self.receive_autotuning {
            let segment = u64::from(self.segment.max(1));
            (FIRST_WINDOW / segment * segment).clamp(2 * segment, buffer)
        } else {
            buffer
        }
    }

    /// The switches of [`Config::spurious`] that are in force.
    pub(super) fn spurious_detection(&self) -> Spurious {
        if self.detection == Detection::DuplicateAcks { Spurious::OFF } else { self.spurious }
    }

    /// What the receiver sends in SACK blocks.
    pub(super) fn sack_policy(&self) -> SackPolicy {
        match self.detection {
            Detection::DuplicateAcks => SackPolicy::Off,
            Detection::Sack if !self.spurious.dsack => SackPolicy::Sack,
            Detection::Sack | Detection::Rack => SackPolicy::SackAndDsack,
        }
    }

    /// The longest a receiver delays an acknowledgement.
    pub(super) const fn max_ack_delay(&self) -> Span {
        if self.acks.every > 1 { self.acks.timeout } else { Span::ZERO }
    }
}

/// A host's TCP and the configuration of its congestion controllers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stack {
    /// TCP.
    pub tcp: Config,
    /// Whose defaults the controllers have.
    pub host: HostStack,
}

impl Stack {
    /// ns-2, its one-way agents with the kernel's CUBIC of 2007.
    pub const NS2: Self = Self {
        tcp: Config {
            segment: (MTU - HEADERS) as u16,
            initial_window: 2,
            initial_threshold: Bytes::MAX,
            handshake: true,
            slow_start_after_idle: IdleRestart::Timeout,
            timeout: rtt::Config {
                initial: Span::from_secs(3),
                min: Span::from_ms(200),
                max: Span::from_secs(60),
                floor: Floor::Timeout,
            },
            detection: Detection::Sack,
            spurious: Spurious::OFF,
            ecn: EcnConfig::OFF,
            acks: DelayedAcks::OFF,
            gso_max_segs: 1,
            fq_flow_limit: u16::MAX,
            option_bytes: 0,
            kernel_habits: false,
            interrupt_gap: Span::ZERO,
            buffer: LARGEST_BUFFER,
            receive_autotuning: false,
        },
        host: HostStack::Ns2,
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
            ecn: EcnConfig { gradual: true, ..EcnConfig::OFF },
            acks: DelayedAcks { every: 2, timeout: Span::from_ms(200), quick: 0 },
            ..Self::NS2.tcp
        },
        host: HostStack::Ns3,
    };

    /// Linux without segmentation offload.
    pub const LINUX_IDEAL: Self = Self {
        tcp: Config {
            timeout: rtt::Config {
                initial: Span::from_secs(1),
                min: Span::from_ms(200),
                max: Span::from_secs(120),
                floor: Floor::Deviation,
            },
            detection: Detection::Rack,
            spurious: Spurious::LINUX,
            acks: DelayedAcks { every: 2, timeout: Span::from_ms(40), quick: 16 },
            ..Self::NS3.tcp
        },
        host: HostStack::LinuxIdeal,
    };

    /// Linux with segmentation offload and a host that paces.
    pub const LINUX: Self = Self {
        tcp: Config {
            gso_max_segs: u16::MAX,
            fq_flow_limit: 100,
            option_bytes: 12,
            kernel_habits: true,
            interrupt_gap: Span::from_us(20),
            receive_autotuning: true,
            ..Self::LINUX_IDEAL.tcp
        },
        host: HostStack::Linux,
    };

    /// The same without pacing by the host.
    pub const LINUX_PFIFO: Self = Self {
        tcp: Config { fq_flow_limit: u16::MAX, ..Self::LINUX.tcp },
        host: HostStack::LinuxPfifo,
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_holds_two_segments_and_can_be_advertised_whole() {
        let kept = |bytes| Config { buffer: Bytes::new(bytes), ..Stack::NS2.tcp }.receive_buffer();
        assert_eq!([0, 10_000, 70_001].map(kept), [2_920, 10_000, 70_002]);
        assert_eq!(kept(u64::MAX), LARGEST_BUFFER.get());
    }
}

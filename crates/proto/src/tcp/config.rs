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

use super::echo;
use super::head::{MAX_SCALE, scale_for};
use crate::rtt::{self, RtoFloor};
use crate::wire::{HEADERS, MTU};
use shallop_control::options::LONGEST;
use shallop_control::{HostStack, Marking, Start};
use shallop_core::{BitsPerSec, Bytes, Ecn, Span};
use shallop_options::{Item, Options, Problem, RustType, Section, Value, ValueType, WrongValue, string_enum};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detection {
    /// Three duplicate acknowledgements show a loss, without SACK. One lost segment is repaired in each round trip (RFC
    /// 6582).
    DuplicateAcks,
    /// A segment is lost if three segments after it are selectively acknowledged (RFC 6675).
    Sack,
    /// A segment is lost if one sent later was delivered and enough time has passed; tail loss probes (RACK-TLP, RFC
    /// 8985).
    Rack,
}

string_enum! { Detection { DuplicateAcks = "duplicate-acks", Sack = "sack", Rack = "rack" } }

/// Whether, and after which idle time, a sender restarts with its initial window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleRestart {
    Never,
    /// The sender restarts after more than a retransmission timeout (RFC 5681, 4.1; RFC 2861; Linux).
    Timeout,
    /// The sender restarts after more than the smoothed round-trip time and four deviations, without the minimum
    /// timeout (ns-2: `FullTcpAgent::idle_restart`).
    Estimate,
}

/// Scenarios write true or false, like Linux's sysctl, or "estimate".
impl Value for IdleRestart {
    const RUST_TYPE: RustType = RustType::Any;
    const VALUE_TYPE: Option<ValueType> =
        Some(ValueType::AnyOf(&[ValueType::Boolean, ValueType::OneOf(&["estimate"])]));

    fn read(item: &Item, allowed: &ValueType) -> Result<Self, WrongValue> {
        if item.text() == Some("estimate") {
            return Ok(Self::Estimate);
        }
        Ok(if bool::read(item, allowed)? { Self::Timeout } else { Self::Never })
    }

    fn show(&self) -> Option<String> {
        Some(match self {
            Self::Never => "false".to_owned(),
            Self::Timeout => "true".to_owned(),
            Self::Estimate => "\"estimate\"".to_owned(),
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SackPolicy {
    Off,
    /// SACK blocks report data that arrived above a gap (RFC 2018).
    Sack,
    /// SACK blocks report data above a gap, and duplicates (DSACK, RFC 2883).
    SackAndDsack,
}

/// Explicit congestion notification. The host stack and the controller determine the defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Options)]
#[options(preset, check)]
pub struct EcnConfig {
    /// Congestion marks: not used (`"off"`), echoed until CWR arrives (`"classic"`, RFC 3168), or each echoed
    /// (`"exact"`, RFC 8257).
    pub ecn: Marking,
    /// Whether the window is reduced for a mark over a round trip, as after a loss (Linux), instead of at once.
    pub ecn_gradual: bool,
    /// Whether ECN-capable packets carry ECT(1), the identifier of L4S (RFC 9331), in place of ECT(0). A switch
    /// with `aqm = "dualpi2"` queues them with low latency. Needs `ecn = "exact"`.
    pub l4s: bool,
}

impl EcnConfig {
    pub const OFF: Self = Self { ecn: Marking::Off, ecn_gradual: false, l4s: false };
    /// ECN as in RFC 3168, 6.1: only new data is ECN-capable.
    pub const CLASSIC: Self = Self { ecn: Marking::Classic, ..Self::OFF };
    /// ECN as DCTCP requires it (RFC 8257; kernel: `TCP_CONG_NEEDS_ECN`): all packets are ECN-capable, for networks
    /// that drop other packets.
    pub const EXACT: Self = Self { ecn: Marking::Exact, ..Self::OFF };

    /// The ECN that a controller with this `marking` requires. If it requires none, `ecn_gradual` is that of `stack`,
    /// as the scenario may turn ECN on.
    #[must_use]
    pub const fn for_marking(marking: Marking, stack: Self) -> Self {
        match marking {
            Marking::Off => Self { ecn_gradual: stack.ecn_gradual, ..Self::OFF },
            Marking::Classic => Self::CLASSIC,
            Marking::Exact => Self::EXACT,
        }
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "checks of all options have one signature")]
    fn check(&self, section: &Section<'_>) -> Result<(), Problem> {
        let keys = Self::KEY;
        if self.ecn == Marking::Off && section.is_written(keys.ecn_gradual) {
            let help = "write ecn = \"classic\" or \"exact\" beside it";
            return Err(section.reject(keys.ecn_gradual, "ECN is off").with_help(help));
        }
        if self.l4s && self.ecn != Marking::Exact {
            let message = "an L4S sender needs each mark echoed";
            let help = "write ecn = \"exact\" beside it, or leave it out: ECT(0) suits a classic response";
            // A controller of L4S has `l4s = true` without its being written.
            if !section.is_written(keys.l4s) {
                let help = "write l4s = false beside it, or leave it out";
                return Err(section.reject(keys.ecn, message).with_help(help));
            }
            return Err(section.reject(keys.l4s, message).with_help(help));
        }
        Ok(())
    }

    /// The ECN codepoint of a packet: ECT if `capable`, otherwise Not-ECT.
    pub(super) const fn codepoint(self, capable: bool) -> Ecn {
        match (capable, self.l4s) {
            (false, _) => Ecn::NotEct,
            (true, false) => Ecn::Ect,
            (true, true) => Ecn::Ect1,
        }
    }

    /// How a receiver echoes marks in ECE.
    pub(super) const fn echo(self) -> echo::Policy {
        match self.ecn {
            Marking::Off => echo::Policy::Off,
            Marking::Classic => echo::Policy::Rfc3168,
            Marking::Exact => echo::Policy::Dctcp,
        }
    }
}

/// When a receiver sends acknowledgements. The host stack determines the defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Options)]
#[options(preset)]
pub struct DelayedAcks {
    /// A receiver acknowledges every n-th segment that arrives in order.
    #[key(Integer(1, 1_000))]
    pub ack_every: u32,
    /// The longest time for which an acknowledgement is delayed.
    #[key(Time(Span::ZERO, LONGEST))]
    pub ack_delay: Span,
    /// The number of segments at the start of a flow that are acknowledged at once.
    #[key(Integer(0, 1_000_000))]
    pub ack_quick: u32,
    /// The size of an acknowledgement on the wire. ns-2 counts 40 B, and no Ethernet header.
    #[key(Size(Bytes::new(40), Bytes::new(1_538)), shown = "its frame, at least 84 B")]
    pub ack_size: Option<Bytes>,
}

impl DelayedAcks {
    pub const OFF: Self = Self { ack_every: 1, ack_delay: Span::ZERO, ack_quick: 0, ack_size: None };
}

/// How spurious retransmissions and timeouts are detected. If any method is on, the sender undoes the reductions that
/// they caused. The switches are Linux's sysctls `tcp_dsack`, `tcp_timestamps` and `tcp_frto`. They have no effect
/// without SACK ([`Detection::DuplicateAcks`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spurious {
    /// The receiver reports duplicates (RFC 2883), and the sender undoes a reduction when all its retransmissions were
    /// reported (RFC 3708). With [`Detection::Rack`] receivers report them in any case, as RACK-TLP needs it.
    pub dsack: bool,
    /// The timestamp option distinguishes originals from retransmissions (Eifel detection, RFC 3522).
    pub timestamps: bool,
    /// Forward RTO-recovery with SACK (RFC 5682, 3.1).
    pub frto: bool,
}

impl Spurious {
    pub const OFF: Self = Self { dsack: false, timestamps: false, frto: false };
    pub const LINUX: Self = Self { dsack: true, timestamps: true, frto: true };

    pub const fn is_on(&self) -> bool {
        self.dsack || self.timestamps || self.frto
    }
}

/// The TCP of a host. The host stack determines the defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Options)]
#[options(preset)]
pub struct Config {
    /// Payload of a full segment, in bytes.
    #[fixed]
    pub segment: u16,
    /// The initial slow-start threshold; [`Bytes::MAX`] for slow start until the first loss.
    #[fixed]
    pub initial_threshold: Bytes,
    /// The initial congestion window, in segments.
    #[key(Integer(1, 10_000))]
    pub initial_window: u32,
    /// Whether the first data waits for a three-way handshake, which takes a round trip.
    pub handshake: bool,
    /// Whether the congestion window returns to the initial window after an idle period longer than the
    /// retransmission timeout (RFC 5681, 4.1). `"estimate"`: longer than the smoothed round-trip time and four
    /// deviations, without `rto_min`, as in ns-2's FullTcp. With `connections = "kept"` this holds for the next
    /// flow of a connection as well.
    pub slow_start_after_idle: IdleRestart,
    #[part]
    pub timeout: rtt::Config,
    /// Loss detection: three duplicate acknowledgements (RFC 6582), selective acknowledgements (RFC 6675), or
    /// RACK-TLP (RFC 8985).
    pub detection: Detection,
    /// How the sender detects spurious recoveries, which it then undoes.
    #[fixed]
    pub spurious: Spurious,
    #[part]
    pub ecn: EcnConfig,
    #[part]
    pub acks: DelayedAcks,
    /// The most segments that a sender hands to its card at once (Linux: `gso_max_segs` of the card). They leave
    /// back to back, about a millisecond of the pacing rate and at most 64 KB. 1: packet by packet.
    #[key(Integer(1, 65_535))]
    pub gso_max_segs: u16,
    /// The most bursts of a flow that wait in the host to be paced (Linux: `flow_limit` of `fq`). A further burst is
    /// dropped, which reduces the window as a mark does. With `gso_max_segs = 1` this limits flows above 2 Gb/s.
    /// 65,535: no limit.
    #[key(Integer(1, 65_535))]
    pub fq_flow_limit: u16,
    /// Bytes of options in each segment and acknowledgement, which leave less for data (Linux: 12, of timestamps).
    #[key(Integer(0, 40))]
    pub option_bytes: u8,
    /// Behaviour of Linux that no RFC describes. The pacer makes up for at most half of a segment's lateness
    /// (`tcp_update_skb_after_send`). A recovery that ends with retransmissions in flight is followed by another
    /// recovery with a reduction of its own (`tcp_time_to_recover`: `lost_out` counts them).
    #[fixed]
    pub kernel_habits: bool,
    /// How long after a packet the card interrupts the host (interrupt moderation; `ethtool -C rx-usecs`). Packets that
    /// arrived in the meantime are delivered together, and successive segments as one, which is acknowledged once.
    #[key(Time(Span::ZERO, Span::from_ms(10)))]
    pub interrupt_gap: Span,
    /// The highest rate at which a flow's payload is paced (`SO_MAX_PACING_RATE`; iperf3: `--fq-rate`). With it the
    /// host paces the flow even if it paces no other.
    #[key(Rate(BitsPerSec::at_least_one(1_000), BitsPerSec::gbps(10_000)), shown = "none")]
    pub max_pacing_rate: Option<BitsPerSec>,
    /// The size of a connection's receive buffer.
    #[key(
        Size(Bytes::new(1_000), Bytes::new(1_000_000_000_000)),
        shown = "as much as a scaled window can advertise, 1.07 GB"
    )]
    pub receive_buffer: Bytes,
    /// Whether the window that a receiver advertises begins at 64 KB and follows the data of a round trip, up to
    /// `receive_buffer` (Linux: `tcp_moderate_rcvbuf`).
    pub receive_autotuning: bool,
}

/// The largest receive window that window scaling can advertise.
pub const LARGEST_BUFFER: Bytes = Bytes::new((u16::MAX as u64) << MAX_SCALE);

/// Bytes of the first window of a receiver with autotuning: half of `tcp_rmem[1]` (131,072 bytes), before it is rounded
/// to whole segments.
const FIRST_WINDOW: u64 = 65_535;

impl Config {
    /// The initial values for the controller of a new flow, on a host with this link. `draw` is a random number.
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
    /// of the units in which windows are advertised.
    pub(super) fn usable_receive_buffer(&self) -> u64 {
        let largest = LARGEST_BUFFER.get();
        let least = u64::from(self.segment) * 2;
        let wanted = self.receive_buffer.get().clamp(least, largest);
        let unit = 1 << scale_for(wanted);
        wanted.next_multiple_of(unit).min(largest)
    }

    /// The first window of a receiver in bytes, rounded to whole segments.
    pub(super) fn first_window(&self) -> u64 {
        let buffer = self.usable_receive_buffer();
        if self.receive_autotuning {
            let segment = u64::from(self.segment.max(1));
            (FIRST_WINDOW / segment * segment).clamp(2 * segment, buffer)
        } else {
            buffer
        }
    }

    /// The methods of [`Config::spurious`] that take effect; without SACK there are none.
    pub(super) fn spurious_detection(&self) -> Spurious {
        if self.detection == Detection::DuplicateAcks { Spurious::OFF } else { self.spurious }
    }

    pub(super) fn sack_policy(&self) -> SackPolicy {
        match self.detection {
            Detection::DuplicateAcks => SackPolicy::Off,
            Detection::Sack if !self.spurious.dsack => SackPolicy::Sack,
            Detection::Sack | Detection::Rack => SackPolicy::SackAndDsack,
        }
    }

    /// The longest time for which a receiver delays an acknowledgement.
    pub(super) const fn max_ack_delay(&self) -> Span {
        if self.acks.ack_every > 1 { self.acks.ack_delay } else { Span::ZERO }
    }
}

/// A host's TCP, and the stack from which congestion controllers take their defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stack {
    pub tcp: Config,
    pub host: HostStack,
}

impl Stack {
    /// ns-2: the TCP of its one-way agents, with the kernel's CUBIC of 2007.
    pub const NS2: Self = Self {
        tcp: Config {
            segment: (MTU - HEADERS) as u16,
            initial_window: 2,
            initial_threshold: Bytes::MAX,
            handshake: true,
            slow_start_after_idle: IdleRestart::Timeout,
            timeout: rtt::Config {
                rto_initial: Span::from_secs(3),
                rto_min: Span::from_ms(200),
                rto_max: Span::from_secs(60),
                rto_floor: RtoFloor::Timeout,
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
            max_pacing_rate: None,
            receive_buffer: LARGEST_BUFFER,
            receive_autotuning: false,
        },
        host: HostStack::Ns2,
    };

    pub const NS3: Self = Self {
        tcp: Config {
            initial_window: 10,
            timeout: rtt::Config {
                rto_initial: Span::from_secs(1),
                rto_min: Span::from_secs(1),
                ..Self::NS2.tcp.timeout
            },
            ecn: EcnConfig { ecn_gradual: true, ..EcnConfig::OFF },
            acks: DelayedAcks { ack_every: 2, ack_delay: Span::from_ms(200), ack_quick: 0, ack_size: None },
            ..Self::NS2.tcp
        },
        host: HostStack::Ns3,
    };

    /// Linux without segmentation offload, for comparisons.
    pub const LINUX_IDEAL: Self = Self {
        tcp: Config {
            timeout: rtt::Config {
                rto_initial: Span::from_secs(1),
                rto_min: Span::from_ms(200),
                rto_max: Span::from_secs(120),
                rto_floor: RtoFloor::Deviation,
            },
            detection: Detection::Rack,
            spurious: Spurious::LINUX,
            acks: DelayedAcks { ack_every: 2, ack_delay: Span::from_ms(40), ack_quick: 16, ack_size: None },
            ..Self::NS3.tcp
        },
        host: HostStack::LinuxIdeal,
    };

    /// Linux with segmentation offload, where the host paces all flows (`fq`).
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

    /// Linux with segmentation offload, where the host does not pace (`pfifo_fast`).
    pub const LINUX_PFIFO: Self =
        Self { tcp: Config { fq_flow_limit: u16::MAX, ..Self::LINUX.tcp }, host: HostStack::LinuxPfifo };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_holds_two_segments_and_can_be_advertised_whole() {
        let kept = |bytes| Config { receive_buffer: Bytes::new(bytes), ..Stack::NS2.tcp }.usable_receive_buffer();
        assert_eq!([0, 10_000, 70_001].map(kept), [2_920, 10_000, 70_002]);
        assert_eq!(kept(u64::MAX), LARGEST_BUFFER.get());
    }
}

//! All metrics, one row each: definition, constant, path, how it is read from a run, and quantity. If tables or pages
//! show the metric, the row also has digits after the decimal point, which values are better, heading and label.

use super::Better::{self, Less, More, Neither};
use super::{Metric, Number, Source};
use crate::completion::Statistic;
use crate::summary::{Fct, Run};
use crate::units::Quantity::{
    self, Bytes, Count, Fraction, JainIndex, Packets, PoolOccupancy, QueueLength, Rate, Ratio, Share, Time,
};

/// A metric without heading, label and definition, which no table shows by itself.
const fn row(path: &'static str, quantity: Quantity, source: Source) -> Metric {
    let (digits, better, heading, label, about) = (0, Neither, "", "", "");
    Metric { path, quantity, digits, better, heading, label, about, source }
}

impl Metric {
    /// Adds the definition.
    const fn about(self, about: &'static str) -> Self {
        Self { about, ..self }
    }

    /// Adds what tables and pages need.
    const fn shown(self, digits: usize, better: Better, heading: &'static str, label: &'static str) -> Self {
        Self { digits, better, heading, label, ..self }
    }
}

/// Declares a constant for each metric that code refers to, and `OF_RUNS` with all of them.
macro_rules! metrics {
    ($($(#[doc = $about:literal])* $name:ident: $path:literal |$run:ident| $value:expr; $quantity:expr
        $(, $digits:literal, $better:expr, $heading:literal, $label:literal)?;)+) => {
        $($(#[doc = $about])* pub const $name: Metric =
            row($path, $quantity, Source::Number(|$run: &Run| Number::number($value)))
            .about(concat!($($about),*))
            $(.shown($digits, $better, $heading, $label))?;)+
        pub(super) const OF_RUNS: &[Metric] = &[$($name),+];
    };
}

metrics! {
    /// Flows that started.
    FLOWS: "flows" |run| run.flows; Count("flows"), 0, Neither, "flows", "flows";
    /// IP bytes of data that arrived, with retransmissions.
    THROUGHPUT: "throughput_bps" |run| run.throughput_bps; Rate, 3, More, "{}", "throughput";
    /// Throughput while flows start, which stragglers do not lower.
    LOAD_THROUGHPUT: "load_throughput_bps" |run| run.load_throughput_bps;
        Rate, 3, More, "in load", "throughput in the load phase";
    /// Payload that arrived, each byte counted once.
    GOODPUT: "goodput_bps" |run| run.goodput_bps; Rate, 3, More, "goodput", "goodput";
    /// Data packets dropped or lost on a wire, of those sent.
    LOSS: "loss_rate" |run| run.loss_rate; Share, 3, Less, "loss {}", "loss";
    /// Credits or emulation packets dropped, of those sent.
    CREDIT_LOSS: "credit.loss_rate" |run| run.credit?.loss_rate;
        Share, 1, Neither, "credit loss {}", "credit loss";
    /// The longest data queue of a switch, without the packet in service.
    MAX_QUEUE: "max_queue_bytes" |run| run.max_queue_bytes;
        QueueLength, 1, Less, "queue pkt", "longest queue";
    /// Mean round-trip time.
    MEAN_RTT: "rtt.mean_s" |run| run.rtt.mean_s; Time, 2, Less, "RTT {}", "mean round trip";
    /// 99th percentile of the round-trip times.
    P99_RTT: "rtt.p99_s" |run| run.rtt.p99_s; Time, 2, Less, "RTT p99", "round trip p99";
    /// Fairness in the last second, 1 if all flows are equal.
    JAIN: "jain" |run| run.jain; JainIndex, 3, More, "Jain", "Jain's index";
    /// Bits sent by the busiest switch port, of what its link could carry.
    UTILIZATION: "utilization" |run| run.utilization; Share;
    /// Data packets retransmitted.
    RETRANSMITS: "retransmits" |run| run.retransmits;
        Packets, 0, Less, "resent", "retransmissions";
    /// Retransmission timeouts.
    TIMEOUTS: "timeouts" |run| run.timeouts; Count("timeouts"), 0, Less, "RTOs", "timeouts";
    /// Computing time.
    WALL: "wall_s" |run| run.wall_s; Time, 1, Neither, "wall s", "computing time";
}

/// Makes metrics of fields of a run, or of a part of a run, that no code refers to by a constant.
macro_rules! fields {
    ($path:literal |$run:ident| $part:expr; $($field:ident $quantity:expr),+) => {
        &[$(row(
            concat!($path, stringify!($field)),
            $quantity,
            Source::Number(|$run: &Run| Number::number($part.$field)),
        )),+]
    };
}

pub(super) const UNNAMED: [&[Metric]; 8] = [
    fields!("" |run| run; duration_s Time, wire_bps Rate, mean_port_drop_rate Share, marks Packets,
        mean_queue_bytes QueueLength, queue_limit_bytes Bytes, max_pool_bytes PoolOccupancy,
        jain_095_s Time, packet_hops Packets, delivered_data_packets Packets),
    fields!("rtt." |run| run.rtt; p50_s Time),
    fields!("drops." |run| run.drops; data Packets, scheduled Packets, unscheduled Packets,
        emulation Packets, credit Packets, ack Packets, control Packets),
    fields!("credit." |run| run.credit?; granted Packets, used Packets, wasted Packets,
        sent Packets, waste_rate Share, waste_volume Fraction),
    fields!("offered." |run| run.offered; flows_per_s Count("1/s"), mean_size_bytes Bytes,
        small Share, medium Share, large Share),
    fields!("kernel." |run| run.kernel.as_ref()?; gso_max_segs Count("segments"),
        interrupts Count("interrupts"), receive_ring_drops Count("frames"),
        stray_frames Count("frames")),
    fields!("rehearsal." |run| run.rehearsal.as_ref()?; scale Fraction, setup_s Time,
        packets_per_s Count("1/s"), packets_read Packets, packets_written Packets,
        stretch Ratio, lateness_mean_s Time, lateness_rms_s Time, lateness_p50_s Time, lateness_p99_s Time,
        lateness_p999_s Time, lateness_max_s Time, longest_gap_s Time,
        standstills Count("standstills"), stood_still_s Time, response_mean_s Time,
        response_rms_s Time, response_p99_s Time, hosts_waited Fraction, starved Fraction,
        starts_late_s Time,
        datagrams_late_s Time, bytes_checked Bytes, stray_frames Packets,
        malformed_frames Packets, lost_frames Packets, checksum_errors Packets),
    fields!("rehearsal.proxy." |run| run.rehearsal.as_ref()?.proxy.as_ref()?; made_ect Packets,
        data_segments Count("segments"), marked_segments Count("segments"),
        reduced_windows Packets, unknown_packets Packets, failed_packets Packets),
];

/// Packet hops per second of computing time, for a column of tables. `summary.json` has no such field, only hops and
/// time.
pub const SPEED: Metric = row(
    "packet_hops_per_s",
    Count("packets/s"),
    Source::Number(|run| Some(run.packet_hops as f64 / run.wall_s.filter(|wall| *wall > 0.0)?)),
)
.shown(1, Neither, "Mhop/s", "packet hops per second");

/// Declares a module of metrics for each size class: the module, the field of [`Fct`], its path, the start of headings,
/// and the end of labels and definitions.
macro_rules! completion_times {
    ($($module:ident: $class:ident $field:literal, $heading:literal, $of:literal;)+) => {$(
        #[doc = concat!("Completion times", $of, ", as in `", $field, "`.")]
        pub mod $module {
            use super::{Count, Fct, Less, Metric, Number, Quantity, Ratio, Run, Share, Source, Statistic, Time, row};

            const fn of(path: &'static str, quantity: Quantity, statistic: Statistic) -> Metric {
                row(path, quantity, Source::Completion(|fct: &Fct| fct.$class.as_ref(), statistic))
            }

            pub const COUNT: Metric =
                fields!($field |run| run.fct.$class.as_ref()?; count Count("flows"))[0];
            pub const UNFINISHED: Metric =
                fields!($field |run| run.fct.$class.as_ref()?; unfinished Count("flows"))[0]
                .about(concat!("Flows", $of, " not complete at the end."))
                .shown(0, Less, "open", concat!("unfinished flows", $of));
            pub const MEAN: Metric = of(concat!($field, "mean_s"), Time, Statistic::MeanS)
                .about(concat!("Mean flow completion time", $of, "."))
                .shown(2, Less, concat!($heading, " {}"), concat!("mean completion time", $of));
            pub const P99: Metric = of(concat!($field, "p99_s"), Time, Statistic::P99S)
                .about(concat!("99th percentile of the flow completion times", $of, "."))
                .shown(2, Less, concat!($heading, " p99"), concat!("completion time p99", $of));
            pub const MEAN_SLOWDOWN: Metric =
                of(concat!($field, "slowdown_mean"), Ratio, Statistic::SlowdownMean)
                .about(concat!("Mean slowdown", $of, "."))
                .shown(2, Less, "slowdown", concat!("mean slowdown", $of));
            pub const P99_SLOWDOWN: Metric =
                of(concat!($field, "slowdown_p99"), Ratio, Statistic::SlowdownP99)
                .about(concat!("99th percentile of slowdowns", $of, "."))
                .shown(2, Less, "slowdown p99", concat!("slowdown p99", $of));
            pub(super) const ALL: &[Metric] = &[
                COUNT, UNFINISHED, MEAN, P99, MEAN_SLOWDOWN, P99_SLOWDOWN,
                of(concat!($field, "p50_s"), Time, Statistic::P50S),
                of(concat!($field, "p95_s"), Time, Statistic::P95S),
                of(concat!($field, "p999_s"), Time, Statistic::P999S),
                of(concat!($field, "within_rtt"), Share, Statistic::WithinRtt),
            ];
        }
    )+
        /// The metrics of completion times, one list for each size class.
        pub const CLASSES: &[&[Metric]] = &[$($module::ALL),+];
    };
}

completion_times! {
    all_flows: all "fct.all.", "FCT", "";
    small_flows: small "fct.small.", "small", " of small flows";
    medium_flows: medium "fct.medium.", "medium", " of medium flows";
    large_flows: large "fct.large.", "large", " of large flows";
}

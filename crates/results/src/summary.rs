//! The schema of `summary.json`. Names of fields end in their unit; values that do not apply are null.

use crate::aggregate::Aggregate;
pub use crate::completion::{Completion, Fct, FlowTime, Statistic};
use crate::design::Point;
pub use crate::host_summary::{
    FigureIntervals, Interval, KernelOfRun, LatenessBounds, ProgramOfRun, ProxyOfRun, RehearsalOfRun,
};
use crate::setup::{DerivedValue, SchemeInfo, SizeClasses};
use crate::{judged::JudgedClaim, link::Link, reuse::Reuse};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The results of a scenario: `summary.json`, and the output of `run --json`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// The name of the experiment, such as `fp-fig10a`; left out if the scenario is not a shipped experiment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The title of the scenario.
    pub scenario: String,
    /// What the scenario shows, in one line. Left out if the scenario does not say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// The version of shallop that made the runs.
    pub version: String,
    /// True for a quick run: the scenario with the changes under `[quick]`.
    pub quick: bool,
    /// The seeds, in the order of the runs.
    #[schemars(extend("unit" = "none"))]
    pub seeds: Vec<u64>,
    /// True if the work was interrupted, so that runs are missing. Left out otherwise.
    #[serde(default, skip_serializing_if = "is_false")]
    pub interrupted: bool,
    /// The shard of the runs, such as "1/4", that is here; other runs are missing. Left out if all runs were requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<String>,
    /// Values derived from the scenario, at the first point and under the first scheme.
    #[serde(default)]
    pub setup: Vec<DerivedValue>,
    /// The schemes that were compared, with their transports.
    #[serde(default)]
    pub schemes: Vec<SchemeInfo>,
    /// The points (choices of values for varied keys), in the order of the runs.
    #[serde(default)]
    pub points: Vec<Point>,
    /// The size classes of flows; null if there are none.
    #[serde(default)]
    pub classes: Option<SizeClasses>,
    /// Runs that were made once for several points or schemes, because these do not change them. Left out if there are
    /// none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reused: Vec<Reuse>,
    /// The claims with their verdicts. Left out if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<JudgedClaim>,
    /// Means over the seeds, with 95 % intervals, for each scheme at each point.
    pub aggregates: Vec<Aggregate>,
    /// The results of each run, in the order of points, then schemes, then seeds.
    pub runs: Vec<Run>,
}

impl Summary {
    #[must_use]
    pub fn counted(&self) -> Self {
        let runs = self.runs.iter().filter(|run| !run.is_void()).cloned().collect();
        Self { runs, ..self.clone() }
    }
}

/// The results of several experiments: the output of `reproduce --json`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Reproduction {
    /// The version of shallop that made the runs.
    pub version: String,
    /// True if the work was interrupted, so that runs or experiments are missing. Left out otherwise.
    #[serde(skip_serializing_if = "is_false")]
    pub interrupted: bool,
    pub experiments: Vec<Experiment>,
}

/// The results of one experiment, without its set-up.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Experiment {
    /// The name of the experiment, such as `fp-fig10a`.
    pub id: String,
    /// True for a quick run: the scenario with the changes under `[quick]`.
    pub quick: bool,
    /// The seeds, in the order of the runs.
    pub seeds: Vec<u64>,
    pub claims: Vec<JudgedClaim>,
    /// Means over the seeds, as in [`Summary::aggregates`].
    pub aggregates: Vec<Aggregate>,
    pub runs: Vec<Run>,
}

impl From<Summary> for Experiment {
    fn from(summary: Summary) -> Self {
        let Summary { id, scenario, quick, seeds, claims, aggregates, runs, .. } = summary;
        Self { id: id.unwrap_or(scenario), quick, seeds, claims, aggregates, runs }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
pub(crate) fn is_false(value: &bool) -> bool {
    !value
}

/// The results of one run: one scheme at one point with one seed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// The label of the scheme.
    pub scheme: String,
    /// The seed of every random draw of the run.
    #[schemars(extend("unit" = "none"))]
    pub seed: u64,
    /// Values of the varied scenario keys at the point of the run, by key.
    pub point: BTreeMap<String, serde_json::Value>,
    /// The simulated duration, in seconds: the duration of the scenario, or the time until every counted flow was
    /// complete.
    pub duration_s: f64,
    /// The number of flows that started.
    pub flows: u64,
    /// IP bytes of data that arrived, retransmissions included, in bits per second of the duration.
    pub throughput_bps: f64,
    /// Bytes on the wire of data packets that arrived, retransmissions and Ethernet overhead included, in bits per
    /// second of the duration.
    pub wire_bps: f64,
    /// Payload bytes that arrived, each counted once, in bits per second of the duration.
    pub goodput_bps: f64,
    /// The throughput in the load phase alone, which lasts from the start of the first flow to the start of the last,
    /// so that stragglers do not lower it. Null if flows have no end, or all start at once.
    #[serde(default)]
    pub load_throughput_bps: Option<f64>,
    /// The kernel of hosts that are real kernels in virtual time. Left out without such hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<KernelOfRun>,
    /// How exactly a rehearsal kept to the clock. Left out unless the hosts were namespaces of this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rehearsal: Option<RehearsalOfRun>,
    /// The programs that ran in hosts. Left out if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<ProgramOfRun>,
    /// Results of the scenario's `windows`, which are parts of the run.
    pub windows: Vec<Window>,
    /// Data packets dropped or lost on a wire, as a fraction of those sent.
    pub loss_rate: f64,
    /// The fraction of packets of all classes that a switch port dropped, as a mean over the switch ports at which
    /// packets arrived: the loss rate of simulations that count at queues.
    #[serde(default)]
    pub mean_port_drop_rate: f64,
    /// The number of packets dropped at ports or lost on wires, by class.
    pub drops: Drops,
    /// The number of packets dropped or lost, by cause, port and class.
    #[serde(default)]
    pub drops_by_cause: Vec<DropCount>,
    /// For each port that lost data, the fraction of the data offered to it that was lost.
    #[schemars(extend("unit" = "fraction"))]
    pub loss_by_place: BTreeMap<String, f64>,
    /// For each named set of links (`bottleneck`, `access`, `all` and so on), the data packets that its ports drop or
    /// its wires lose, as a fraction of all data packets sent. Fractions of sets without a common link add up.
    #[schemars(extend("unit" = "fraction"))]
    pub loss_by_set: BTreeMap<String, f64>,
    /// For each switch port that carried data, the bits it sent as a fraction of what its link could carry.
    #[schemars(extend("unit" = "fraction"))]
    pub utilization_by_place: BTreeMap<String, f64>,
    /// Results of each link, with an entry for each direction, the most utilised first.
    #[serde(default)]
    pub links: Vec<Link>,
    /// The number of entries that a list or map of places leaves out, by the name of the list. A list keeps its 1,000
    /// largest entries; `links` keeps those that lost data before the busiest. Empty if nothing is left out.
    #[serde(default)]
    #[schemars(extend("unit" = "entries"))]
    pub left_out: BTreeMap<String, u64>,
    /// Results of each group of flows.
    pub groups: Vec<Group>,
    /// What a reader should know before trusting the figures: traffic that was left out, keys without effect,
    /// assumptions of transports that did not hold.
    pub warnings: Vec<String>,
    /// Packets that switches marked CE (congestion experienced).
    pub marks: u64,
    /// Lengths of the queues of switch ports, without queues that were always empty.
    pub queues: Vec<Queue>,
    /// Occupancy of the memory pools that ports of a switch share.
    pub pools: Vec<Pool>,
    /// The maximum length of any data queue of a switch, in bytes on the wire.
    pub max_queue_bytes: u64,
    /// The port with the longest data queue, to which `max_queue_bytes` refers; null if no data queue was ever longer
    /// than zero.
    #[serde(default)]
    pub max_queue_place: Option<String>,
    /// The mean over time of the data queue of a switch for which it is largest, in bytes on the wire.
    pub mean_queue_bytes: f64,
    /// The capacity of the largest data queue of a switch, in bytes: its buffer or memory pool; null if one is
    /// unlimited.
    #[serde(default)]
    pub queue_limit_bytes: Option<u64>,
    /// The maximum occupancy of any memory pool, in bytes; null without pools.
    pub max_pool_bytes: Option<u64>,
    /// Traffic that the groups offer, computed from their distributions.
    pub offered: Offered,
    /// Round-trip times that senders measured.
    pub rtt: Rtt,
    /// Jain's index of the flows' throughputs in the last second of the run; null if nothing arrived, or if more than
    /// 10,000 flows started, too many to follow one by one.
    pub jain: Option<f64>,
    /// The time from the start of the last flow until Jain's index per window is 0.95 or more and stays so to the end
    /// of the run, in seconds; null if that is never or for less than five windows.
    pub jain_095_s: Option<f64>,
    /// Bits sent by the busiest switch port, as a fraction of what its link could carry.
    pub utilization: f64,
    /// Data packets retransmitted.
    pub retransmits: u64,
    /// Retransmission timeouts. `FlashPass` also counts those that resend no data, after the loss of acknowledgements
    /// alone.
    pub timeouts: u64,
    /// Counts of credits; null for transports without credits.
    pub credit: Option<Credit>,
    /// Completion times, by size class.
    pub fct: Fct,
    /// Departures of packets of any class from a port onto a wire.
    pub packet_hops: u64,
    /// Data packets that arrived, retransmissions included.
    pub delivered_data_packets: u64,
    /// The pcapng file of captured packets, relative to the folder of the results; null without a capture.
    pub capture: Option<String>,
    /// The computing time, in seconds; null if it was not measured.
    pub wall_s: Option<f64>,
}

/// Results of a part of the run, a window of the scenario.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Window {
    /// The start of the window, in seconds of the run.
    pub from_s: f64,
    /// The end of the window, in seconds of the run.
    pub to_s: f64,
    /// Throughput of all flows in the window, as in [`Run::throughput_bps`].
    pub throughput_bps: f64,
    /// Jain's index of the throughputs of the flows that are active in the window.
    pub jain: Option<f64>,
    /// Emulation packets or credits lost in the window, as a fraction of those lost or delivered; null if there were
    /// none.
    #[schemars(extend("unit" = "fraction"))]
    pub metered_loss: Option<f64>,
    /// Results of each group of flows in the window.
    pub groups: Vec<GroupWindow>,
}

impl Run {
    /// Whether the run is a rehearsal that was too inexact to be trusted.
    pub fn is_void(&self) -> bool {
        self.rehearsal.as_ref().is_some_and(|rehearsal| !rehearsal.void.is_empty())
    }
}

/// The results of one group in a window of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupWindow {
    /// The name of the group.
    pub name: String,
    /// Throughput of the group's flows in the window, as in [`Run::throughput_bps`].
    pub throughput_bps: f64,
}

/// The results of the flows of one group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Group {
    /// The name of the group.
    pub name: String,
    /// The label of the group's transport, which is the scheme unless the group has its own.
    pub transport: String,
    /// The number of flows of the group that started.
    pub flows: u64,
    /// Throughput of the group's flows, as in [`Run::throughput_bps`].
    pub throughput_bps: f64,
    /// Goodput of the group's flows, as in [`Run::goodput_bps`].
    pub goodput_bps: f64,
    /// Loss rate of the group's flows, as in [`Run::loss_rate`].
    pub loss_rate: f64,
    /// Retransmitted data packets of the group's flows, as in [`Run::retransmits`].
    #[serde(default)]
    pub retransmits: u64,
    /// Retransmission timeouts of the group's flows, as in [`Run::timeouts`].
    #[serde(default)]
    pub timeouts: u64,
    /// Round-trip times of the group's flows, as in [`Run::rtt`].
    pub rtt: Rtt,
    /// Jain's index of the group's flows, as in [`Run::jain`].
    pub jain: Option<f64>,
    /// Completion times of the group's flows, as in [`Run::fct`].
    #[serde(default)]
    pub fct: Fct,
}

impl Group {
    /// Copies the results of the group into a run, so that metrics can be read from it.
    pub fn as_run(&self) -> Run {
        Run {
            flows: self.flows,
            throughput_bps: self.throughput_bps,
            goodput_bps: self.goodput_bps,
            loss_rate: self.loss_rate,
            retransmits: self.retransmits,
            timeouts: self.timeouts,
            rtt: self.rtt,
            jain: self.jain,
            fct: self.fct.clone(),
            ..Run::default()
        }
    }
}

/// The number of packets dropped at ports or lost on wires, by class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Drops {
    /// Data packets, both scheduled and unscheduled.
    pub data: u64,
    /// Data packets sent on credits; null without unscheduled data.
    pub scheduled: Option<u64>,
    /// Data packets sent before the first credit of a flow; null for transports that send none.
    pub unscheduled: Option<u64>,
    /// Emulation packets (`FlashPass`).
    pub emulation: u64,
    /// Credits, which carry no payload.
    pub credit: u64,
    /// Acknowledgements.
    pub ack: u64,
    /// Packets that set up, end and recover transfers.
    pub control: u64,
}

/// Packets of one class that one port dropped for one cause.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DropCount {
    /// The name of the port, `FROM>TO`: the nodes from and to which it leads.
    pub place: String,
    /// The class of the packets: `data`, `unscheduled`, `emulation`, `credit`, `ack`, `control`; `legacy` and
    /// `legacy_ack` for transports without credits beside one with credits.
    pub class: String,
    /// The cause: `buffer_full` and `queue_full` (tail drop), `metered_queue_full` (the queue of credits or emulation
    /// packets was full), `dynamic_threshold` (the memory had space, but the queue had its share), `selective` (packets
    /// that are not ECN-capable, above the selective-drop threshold), `red`, `aqm` (active queue management),
    /// `wire_loss`, `policer` (a token bucket had no tokens).
    pub cause: String,
    /// The number of packets of the class that the port dropped for the cause.
    #[schemars(extend("unit" = "packets"))]
    pub packets: u64,
}

/// A queue of a switch port. Lengths are in bytes on the wire, without the packet in service; quantiles are over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Queue {
    /// The name of the port, `FROM>TO`: the nodes from and to which it leads.
    pub place: String,
    /// The class of packets in the queue, such as `data`.
    pub class: String,
    /// The maximum length, in bytes.
    pub max_bytes: u64,
    /// The mean over time of the length, in bytes.
    pub mean_bytes: f64,
    /// The median over time of the length, in bytes.
    pub p50_bytes: u64,
    /// The length, in bytes, that is not exceeded for 99 % of the time.
    pub p99_bytes: u64,
    /// The length, in bytes, that is not exceeded for 99.99 % of the time.
    pub p9999_bytes: u64,
    /// For each size in the scenario's `levels`, the fraction of the time for which the queue was longer.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("unit" = "fraction"))]
    pub above: BTreeMap<String, f64>,
}

/// The occupancy of a memory pool that ports of a switch share. It is in whole cells if the pool has cells, and does
/// not include the private bytes of queues. Quantiles are over time, exact to one percent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pool {
    /// The switch; with several pools also the index of the pool at the switch: "leaf0/2".
    pub place: String,
    /// The number of ports that share the pool.
    #[schemars(extend("unit" = "ports"))]
    pub ports: u64,
    /// The size of the pool, in bytes.
    pub size_bytes: u64,
    /// The maximum occupancy, in bytes.
    pub max_bytes: u64,
    /// The mean over time of the occupancy, in bytes.
    pub mean_bytes: f64,
    /// The median over time of the occupancy, in bytes.
    pub p50_bytes: u64,
    /// The occupancy, in bytes, that is not exceeded for 99 % of the time.
    pub p99_bytes: u64,
    /// The occupancy, in bytes, that is not exceeded for 99.99 % of the time.
    pub p9999_bytes: u64,
    /// For each size in the scenario's `levels`, the fraction of the time for which the occupancy was larger.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("unit" = "fraction"))]
    pub above: BTreeMap<String, f64>,
}

/// Round-trip times that senders measured, in seconds; null without samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rtt {
    /// The mean of all samples, in seconds.
    pub mean_s: Option<f64>,
    /// The median of all samples, in seconds.
    pub p50_s: Option<f64>,
    /// The 99th percentile of all samples, in seconds.
    pub p99_s: Option<f64>,
}

/// Traffic that the groups offer, computed from their distributions; only flows that have an end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Offered {
    /// The mean number of flows that start per second, for groups with random arrivals.
    pub flows_per_s: f64,
    /// The mean payload of a flow, in bytes; null without a distribution of sizes, as in a trace.
    pub mean_size_bytes: Option<f64>,
    /// The fraction of flows that are small; null without size classes.
    pub small: Option<f64>,
    /// The fraction of flows that are medium-sized; null without size classes.
    pub medium: Option<f64>,
    /// The fraction of flows that are large; null without size classes.
    pub large: Option<f64>,
}

/// What became of the credits of `ExpressPass` or `FlashPass`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Credit {
    /// Credits that arrived at senders.
    pub granted: u64,
    /// Credits that released a data packet.
    pub used: u64,
    /// Credits that arrived and released no data.
    pub wasted: u64,
    /// `wasted` as a fraction of `granted`.
    pub waste_rate: f64,
    /// `wasted` as a fraction of the data packets that arrived: how much more data the credits could have released.
    pub waste_volume: f64,
    /// Credit packets (`ExpressPass`) or emulation packets (`FlashPass`) sent.
    pub sent: u64,
    /// The fraction of the sent credit packets (`ExpressPass`) or emulation packets (`FlashPass`) that was lost.
    pub loss_rate: f64,
}

/// Jain's fairness index (Jain, Chiu, Hawe 1984), 1/n to 1; `None` without flows or without throughput.
pub fn jain(shares: &[f64]) -> Option<f64> {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jain_is_one_for_equal_shares_and_the_part_served_for_some() {
        assert_eq!(jain(&[]), None);
        assert_eq!(jain(&[0.0, 0.0]), None);
        assert_eq!(jain(&[3.0; 7]), Some(1.0));
        assert_eq!(jain(&[1.0, 0.0, 0.0, 0.0]), Some(0.25));
    }
}

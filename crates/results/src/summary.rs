//! The schema of `summary.json`. Names of fields end in their unit; values that do not apply are null.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::aggregate::Aggregate;
pub use crate::completion::{Completion, Fct, FlowTime, Statistic};
use crate::design::Point;
pub use crate::host_summary::{KernelOfRun, ProgramOfRun, ProxyOfRun, RehearsalOfRun};
use crate::judged::JudgedClaim;
use crate::link::Link;
use crate::reuse::Reuse;
use crate::setup::{DerivedValue, SchemeInfo, SizeClasses};

/// The results of a scenario: `summary.json`, and the output of `run --json`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// The name of the experiment, if it is a shipped one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The title of the scenario.
    pub scenario: String,
    /// A line on what the scenario shows. Left out if it has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// The version of shallop.
    pub version: String,
    /// True if the smaller form of the scenario was run.
    pub quick: bool,
    /// The seeds, in the order of the runs.
    #[schemars(extend("unit" = "none"))]
    pub seeds: Vec<u64>,
    /// True if the work was interrupted, so that runs are missing. Left out otherwise.
    #[serde(default, skip_serializing_if = "is_false")]
    pub interrupted: bool,
    /// The shard of the runs, such as "1/4"; other runs are missing. Left out if all runs were requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<String>,
    /// The network and the traffic of the first point, under the first scheme.
    #[serde(default)]
    pub setup: Vec<DerivedValue>,
    /// The schemes.
    #[serde(default)]
    pub schemes: Vec<SchemeInfo>,
    /// The points, in the order of the runs.
    #[serde(default)]
    pub points: Vec<Point>,
    /// The size classes of flows; null if there are none.
    #[serde(default)]
    pub classes: Option<SizeClasses>,
    /// Runs that were made once for several points or schemes, since these do not change them. Left out if there are
    /// none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reused: Vec<Reuse>,
    /// The claims with their verdicts. Left out if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<JudgedClaim>,
    /// Means over the seeds, with 95 % intervals, for each scheme at each point.
    pub aggregates: Vec<Aggregate>,
    /// The runs: one for each scheme, point and seed.
    pub runs: Vec<Run>,
}

impl Summary {
    /// The summary without void runs.
    #[must_use]
    pub fn counted(&self) -> Self {
        let runs = self.runs.iter().filter(|run| !run.is_void()).cloned().collect();
        Self { runs, ..self.clone() }
    }
}

/// The results of several experiments: the output of `reproduce --json`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Reproduction {
    /// The version of shallop.
    pub version: String,
    /// True if the work was interrupted, so that runs or experiments are missing. Left out otherwise.
    #[serde(skip_serializing_if = "is_false")]
    pub interrupted: bool,
    /// The experiments.
    pub experiments: Vec<Experiment>,
}

/// The results of an experiment.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Experiment {
    /// The name.
    pub id: String,
    /// True if the smaller form was run.
    pub quick: bool,
    /// The seeds, in the order of the runs.
    pub seeds: Vec<u64>,
    /// The claims with their verdicts.
    pub claims: Vec<JudgedClaim>,
    /// Means over the seeds, as in [`Summary::aggregates`].
    pub aggregates: Vec<Aggregate>,
    /// The runs.
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

/// A run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Label of the scheme.
    pub scheme: String,
    /// The run seed.
    #[schemars(extend("unit" = "none"))]
    pub seed: u64,
    /// The keys that differ between points, with their values here.
    pub point: BTreeMap<String, serde_json::Value>,
    /// The simulated duration, in seconds: the duration of the scenario, or the time until every counted flow was
    /// complete.
    pub duration_s: f64,
    /// Flows that started.
    pub flows: u64,
    /// IP bytes of data that arrived, retransmissions included, in bits per second of the duration.
    pub throughput_bps: f64,
    /// As `throughput_bps`, with all bytes on the wire.
    pub wire_bps: f64,
    /// Payload bytes that arrived, each counted once, in bits per second of the duration.
    pub goodput_bps: f64,
    /// As `throughput_bps`, in the load phase alone: from the start of the first flow to the start of the last.
    /// Stragglers do not lower it. Null if flows have no end, or all start at once.
    #[serde(default)]
    pub load_throughput_bps: Option<f64>,
    /// The kernels of the run's hosts, if they are real ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<KernelOfRun>,
    /// How the rehearsal of the run went, if its hosts were namespaces of a real machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rehearsal: Option<RehearsalOfRun>,
    /// The programs that ran in its hosts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<ProgramOfRun>,
    /// Results of the windows of the run.
    pub windows: Vec<Window>,
    /// Data packets dropped or lost on a wire, as a fraction of those sent.
    pub loss_rate: f64,
    /// The fraction of packets of all classes that a switch port dropped, as a mean over the switch ports at which
    /// packets arrived: the loss rate of simulations that count at queues.
    #[serde(default)]
    pub mean_port_drop_rate: f64,
    /// Packets dropped or lost, by class.
    pub drops: Drops,
    /// The causes of drops, by port and class.
    #[serde(default)]
    pub drops_by_cause: Vec<DropCount>,
    /// For each port that lost data, the fraction of the data offered to it that was lost.
    #[schemars(extend("unit" = "fraction"))]
    pub loss_by_place: BTreeMap<String, f64>,
    /// For each named set of links (`bottleneck`, `access`, `all` and so on), data packets that its ports drop or that
    /// are lost on its wires, as a fraction of all data packets sent. Sets that share no link add up.
    #[schemars(extend("unit" = "fraction"))]
    pub loss_by_set: BTreeMap<String, f64>,
    /// For each switch port that carried data, the bits it sent as a fraction of what its link could carry.
    #[schemars(extend("unit" = "fraction"))]
    pub utilization_by_place: BTreeMap<String, f64>,
    /// The links, each direction by itself, the most utilised first.
    #[serde(default)]
    pub links: Vec<Link>,
    /// The number of entries that a list or map of places leaves out, by its name: each keeps its 1,000 largest, and
    /// `links` those that lost data before the busiest. Empty if none leaves out any.
    #[serde(default)]
    #[schemars(extend("unit" = "entries"))]
    pub left_out: BTreeMap<String, u64>,
    /// Results of the groups.
    pub groups: Vec<Group>,
    /// What a reader should know before trusting the figures: traffic that was left out, keys without effect,
    /// assumptions of transports that did not hold.
    pub warnings: Vec<String>,
    /// Packets marked congestion-experienced.
    pub marks: u64,
    /// Queues of switch ports that were not always empty.
    pub queues: Vec<Queue>,
    /// Memory pools that ports of a switch share.
    pub pools: Vec<Pool>,
    /// The maximum length of any data queue of a switch, in bytes on the wire.
    pub max_queue_bytes: u64,
    /// The port of that queue; null if no data queue was ever longer than zero.
    #[serde(default)]
    pub max_queue_place: Option<String>,
    /// The largest mean over time of any data queue of a switch, in bytes on the wire.
    pub mean_queue_bytes: f64,
    /// The most that any data queue of a switch may hold: the largest buffer of a port, or pool; null if one is
    /// unlimited.
    #[serde(default)]
    pub queue_limit_bytes: Option<u64>,
    /// The maximum occupancy of any pool, in bytes; null without pools.
    pub max_pool_bytes: Option<u64>,
    /// The offered traffic, by its distributions.
    pub offered: Offered,
    /// Round-trip times measured by the senders.
    pub rtt: Rtt,
    /// Jain's index of the flows' throughputs in the last second; null if more than 10,000 flows started, since flows
    /// are then not followed one by one, or if nothing arrived.
    pub jain: Option<f64>,
    /// The time from the start of the last flow until Jain's index per window is 0.95 or more and stays so to the end
    /// of the run, in seconds; null if that is never or for less than five windows.
    pub jain_095_s: Option<f64>,
    /// Bits sent by the busiest switch port, as a fraction of what its link could carry.
    pub utilization: f64,
    /// Data packets retransmitted.
    pub retransmits: u64,
    /// Retransmission timeouts. One of `FlashPass` after the loss of acknowledgements alone sends nothing again.
    pub timeouts: u64,
    /// Counts of credits; null for transports without credits.
    pub credit: Option<Credit>,
    /// Completion times, by size class.
    pub fct: Fct,
    /// Packets of any class that left a port onto a wire.
    pub packet_hops: u64,
    /// Data packets that arrived, retransmissions included.
    pub delivered_data_packets: u64,
    /// The pcapng file of captured packets, relative to the results; null without a capture.
    pub capture: Option<String>,
    /// The computing time, in seconds; null if it was not measured.
    pub wall_s: Option<f64>,
}

/// A window of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Window {
    /// The start, in seconds.
    pub from_s: f64,
    /// The end, in seconds.
    pub to_s: f64,
    /// As [`Run::throughput_bps`], in this window.
    pub throughput_bps: f64,
    /// Jain's index of the throughputs of active flows in this window.
    pub jain: Option<f64>,
    /// Emulation packets or credits lost in this window, as a fraction of those lost or delivered in it; null without
    /// any.
    #[schemars(extend("unit" = "fraction"))]
    pub metered_loss: Option<f64>,
    /// Results of the groups.
    pub groups: Vec<GroupWindow>,
}

impl Run {
    /// Whether the run is a rehearsal that was too late to be trusted.
    pub fn is_void(&self) -> bool {
        self.rehearsal.as_ref().is_some_and(|rehearsal| !rehearsal.void.is_empty())
    }
}

/// A group in a window of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupWindow {
    /// The name.
    pub name: String,
    /// As [`Run::throughput_bps`], of its flows in this window.
    pub throughput_bps: f64,
}

/// A group of flows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Group {
    /// The name.
    pub name: String,
    /// The label of its transport: the scheme's, unless the group has one of its own.
    pub transport: String,
    /// Flows that started.
    pub flows: u64,
    /// As [`Run::throughput_bps`], of its flows.
    pub throughput_bps: f64,
    /// As [`Run::goodput_bps`], of its flows.
    pub goodput_bps: f64,
    /// As [`Run::loss_rate`], of its flows.
    pub loss_rate: f64,
    /// As [`Run::retransmits`], of its flows.
    #[serde(default)]
    pub retransmits: u64,
    /// As [`Run::timeouts`], of its flows.
    #[serde(default)]
    pub timeouts: u64,
    /// As [`Run::rtt`], of its flows.
    pub rtt: Rtt,
    /// As [`Run::jain`], of its flows.
    pub jain: Option<f64>,
    /// As [`Run::fct`], of its flows.
    #[serde(default)]
    pub fct: Fct,
}

impl Group {
    /// The group as a run of its flows alone, so that metrics can be read from it.
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

/// Packets dropped or lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Drops {
    /// Data, scheduled and unscheduled.
    pub data: u64,
    /// Data sent on credits; null without unscheduled data.
    pub scheduled: Option<u64>,
    /// Unscheduled data, sent before the first credit; null without any.
    pub unscheduled: Option<u64>,
    /// Emulation packets.
    pub emulation: u64,
    /// Credits.
    pub credit: u64,
    /// Acknowledgements.
    pub ack: u64,
    /// Packets that set up, end and recover transfers.
    pub control: u64,
}

/// Packets of one class that one port dropped for one cause.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DropCount {
    /// The port, named by the nodes from and to which it leads.
    pub place: String,
    /// The class of the packets: `data`, `unscheduled`, `emulation`, `credit`, `ack`, `control`; `legacy` and
    /// `legacy_ack` for transports without credits beside one with credits.
    pub class: String,
    /// The cause: `buffer_full` and `queue_full` (tail drop), `metered_queue_full` (credits or emulation packets beyond
    /// their meter), `dynamic_threshold` (shared memory had room, the queue's share of it had not), `selective` (not
    /// ECN-capable above the selective-drop threshold), `red`, `aqm` (active queue management), `wire_loss`.
    pub cause: String,
    /// The number of packets.
    #[schemars(extend("unit" = "packets"))]
    pub packets: u64,
}

/// A queue of a switch port. Lengths are in bytes on the wire, without the packet in service; quantiles are over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Queue {
    /// The port, named by the nodes from and to which it leads.
    pub place: String,
    /// The queue of that port.
    pub class: String,
    /// The maximum, exactly.
    pub max_bytes: u64,
    /// The mean over time.
    pub mean_bytes: f64,
    /// The median over time.
    pub p50_bytes: u64,
    /// The value that is not exceeded for 99 % of the time.
    pub p99_bytes: u64,
    /// The value that is not exceeded for 99.99 % of the time.
    pub p9999_bytes: u64,
    /// For each of the `levels` of the scenario the fraction of the time above it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("unit" = "fraction"))]
    pub above: BTreeMap<String, f64>,
}

/// A memory pool that ports of a switch share. The occupancy is in whole cells if the pool has cells, and without the
/// private bytes of queues. Quantiles are over time, exact to one percent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pool {
    /// The switch; with several pools also the number of the pool there, from 0 on: "leaf0/2".
    pub place: String,
    /// The number of ports that share it.
    #[schemars(extend("unit" = "ports"))]
    pub ports: u64,
    /// The size.
    pub size_bytes: u64,
    /// The maximum, exactly.
    pub max_bytes: u64,
    /// The mean over time.
    pub mean_bytes: f64,
    /// The median over time.
    pub p50_bytes: u64,
    /// The value that is not exceeded for 99 % of the time.
    pub p99_bytes: u64,
    /// The value that is not exceeded for 99.99 % of the time.
    pub p9999_bytes: u64,
    /// For each of the `levels` of the scenario the fraction of the time above it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("unit" = "fraction"))]
    pub above: BTreeMap<String, f64>,
}

/// Round-trip times in seconds; null without samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rtt {
    /// The mean of all samples.
    pub mean_s: Option<f64>,
    /// The median.
    pub p50_s: Option<f64>,
    /// The 99th percentile.
    pub p99_s: Option<f64>,
}

/// The offered traffic, computed from its distributions, of the flows that have an end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Offered {
    /// The mean number of flows that start in a second, of groups with random arrivals.
    pub flows_per_s: f64,
    /// The mean payload of a flow, in bytes; null without a distribution, as in a trace.
    pub mean_size_bytes: Option<f64>,
    /// The fraction of small flows; null without size classes.
    pub small: Option<f64>,
    /// The fraction of medium flows.
    pub medium: Option<f64>,
    /// The fraction of large flows.
    pub large: Option<f64>,
}

/// Counts of credits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Credit {
    /// Credits that arrived at senders.
    pub granted: u64,
    /// Credits that released a data packet.
    pub used: u64,
    /// Credits that arrived and released nothing.
    pub wasted: u64,
    /// `wasted` as a fraction of `granted`.
    pub waste_rate: f64,
    /// `wasted` as a fraction of the data packets that arrived: the traffic that these credits could have added.
    pub waste_volume: f64,
    /// Credits (`ExpressPass`) or emulation packets (`FlashPass`) sent.
    pub sent: u64,
    /// The fraction of them that was lost.
    pub loss_rate: f64,
}

/// Jain's fairness index (Jain, Chiu, Hawe 1984); `None` without flows or without throughput.
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

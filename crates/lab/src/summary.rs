//! What a run comes to: the words of `summary.json`. Every field is said in its unit; what does not apply is null.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::aggregate::Aggregate;
use crate::explain::Line;
use crate::setting::{Contender, Limits, Place};
use crate::verdict::Judged;

/// A full frame of the usual size, in bytes on the wire: what "packets" of a queue's length are.
pub const FULL_FRAME: f64 = 1538.0;

/// All runs of a scenario: what `run --json` prints, and `summary.json` beside the tables.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// The experiment, if it is one of those that come with shallop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Title of the scenario.
    pub scenario: String,
    /// A line on what it shows. Left out if the scenario has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// Version of shallop.
    pub version: String,
    /// True if the smaller form of the scenario was run.
    pub quick: bool,
    /// The seeds, in the order of the runs.
    pub seeds: Vec<u64>,
    /// True if somebody stopped the work: runs are missing then. Left out otherwise.
    #[serde(default, skip_serializing_if = "is_false")]
    pub interrupted: bool,
    /// The part of the runs that was asked for, such as "1/4": the others are missing. Left out where it is all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<String>,
    /// The network and the traffic of the first point, under the first scheme.
    #[serde(default)]
    pub setup: Vec<Line>,
    /// What is compared.
    #[serde(default)]
    pub schemes: Vec<Contender>,
    /// The points, in the order of the runs.
    #[serde(default)]
    pub points: Vec<Place>,
    /// Where flows are told apart by size; null if they are not.
    #[serde(default)]
    pub classes: Option<Limits>,
    /// What is claimed of the results, judged. Left out if nothing is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<Judged>,
    /// Means over the seeds, with 95 % intervals, for each scheme at each point.
    pub aggregates: Vec<Aggregate>,
    /// A run for each scheme, point and seed.
    pub runs: Vec<Run>,
}

/// Experiments that were reproduced: what `reproduce --json` prints.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Reproduction {
    /// Version of shallop.
    pub version: String,
    /// True if somebody stopped the work: runs or experiments are missing then. Left out otherwise.
    #[serde(skip_serializing_if = "is_false")]
    pub interrupted: bool,
    /// One after the other.
    pub experiments: Vec<Experiment>,
}

/// One of them.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Experiment {
    /// Its name.
    pub id: String,
    /// True if its smaller form was run.
    pub quick: bool,
    /// The seeds, in the order of the runs.
    pub seeds: Vec<u64>,
    /// Its claims, judged.
    pub claims: Vec<Judged>,
    /// Means over its seeds, as in [`Summary::aggregates`].
    pub aggregates: Vec<Aggregate>,
    /// Its runs.
    pub runs: Vec<Run>,
}

impl From<Summary> for Experiment {
    fn from(summary: Summary) -> Self {
        let Summary { id, scenario, quick, seeds, claims, aggregates, runs, .. } = summary;
        Self { id: id.unwrap_or(scenario), quick, seeds, claims, aggregates, runs }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Label of the scheme.
    pub scheme: String,
    /// The run seed.
    pub seed: u64,
    /// The keys that differ between points, with their values here.
    pub point: BTreeMap<String, serde_json::Value>,
    /// How long the run lasted, in seconds: as long as the scenario says, or until every flow was complete.
    pub duration_s: f64,
    /// Flows that started.
    pub flows: u64,
    /// IP bytes of data that arrived, repeats included, in bits per second of the duration.
    pub throughput_bps: f64,
    /// The same with everything a frame takes on the wire.
    pub wire_bps: f64,
    /// Different payload bytes that arrived, in bits per second of the duration.
    pub goodput_bps: f64,
    /// Parts of the run by themselves.
    pub windows: Vec<Window>,
    /// Data packets dropped or lost on a wire, as a fraction of those sent.
    pub loss_rate: f64,
    /// The mean, over the switch ports that packets came to, of the part of these that the port dropped, packets of all
    /// classes: what simulations that count at queues call loss.
    #[serde(default)]
    pub mean_port_drop_rate: f64,
    /// Packets dropped or lost, by what they were.
    pub drops: Drops,
    /// For each port that lost data, the fraction of the data offered to it that it lost.
    pub loss_by_place: BTreeMap<String, f64>,
    /// For each named set of links, data packets lost at its ports and on its wires, as a fraction of all sent.
    pub loss_by_set: BTreeMap<String, f64>,
    /// For each switch port that carried data, the bits it sent as a fraction of what its link could carry.
    pub utilization_by_place: BTreeMap<String, f64>,
    /// The groups by themselves.
    pub groups: Vec<Group>,
    /// What somebody should know before believing these figures.
    pub warnings: Vec<String>,
    /// Packets marked congestion-experienced.
    pub marks: u64,
    /// Queues of switch ports that ever held anything.
    pub queues: Vec<Queue>,
    /// Memory that ports of a switch share.
    pub pools: Vec<Pool>,
    /// The longest any data queue of a switch ever was, in bytes on the wire.
    pub max_queue_bytes: u64,
    /// The largest mean over time of any data queue of a switch, in bytes on the wire.
    pub mean_queue_bytes: f64,
    /// The most that any pool ever held, in bytes as it counts them; null where none is.
    pub max_pool_bytes: Option<u64>,
    /// What the traffic asks for, by its distributions.
    pub offered: Offered,
    /// Round-trip times measured by the senders.
    pub rtt: Rtt,
    /// Jain's index of the flows' throughputs in the last second.
    pub jain: Option<f64>,
    /// From the start of the last flow until Jain's index, window by window, is 0.95 or more and stays so to the end of
    /// the run, in seconds; null if it never is, or for less than five windows.
    pub jain_095_s: Option<f64>,
    /// Bits sent by the busiest switch port, as a fraction of what its link could carry.
    pub utilization: f64,
    /// Data packets sent again.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// What became of credits; null for transports without.
    pub credit: Option<Credit>,
    /// Completion times, by size of the flow.
    pub fct: Fct,
    /// Packets of any class that left a port onto a wire.
    pub packet_hops: u64,
    /// Data packets that arrived, repeats included.
    pub delivered_data_packets: u64,
    /// The captured packets, a pcapng file beside the results; null without.
    pub capture: Option<String>,
    /// How long the run took to compute, in seconds; null if nobody looked at a clock.
    pub wall_s: Option<f64>,
}

/// A part of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Window {
    /// Its start, in seconds.
    pub from_s: f64,
    /// Its end.
    pub to_s: f64,
    /// As [`Run::throughput_bps`], over this part.
    pub throughput_bps: f64,
    /// Jain's index of the throughputs of the flows present, over this part.
    pub jain: Option<f64>,
    /// Emulation packets or credits lost in this part, as a fraction of those that ended in it; null without any.
    pub metered_loss: Option<f64>,
    /// The groups by themselves.
    pub groups: Vec<GroupWindow>,
}

/// A group in a part of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupWindow {
    /// Its name.
    pub name: String,
    /// As [`Run::throughput_bps`], of its flows over this part.
    pub throughput_bps: f64,
}

/// A group of flows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// Label of its transport: the scheme, unless it has one of its own.
    pub transport: String,
    /// Flows that started.
    pub flows: u64,
    /// As [`Run::throughput_bps`], of its flows.
    pub throughput_bps: f64,
    /// As [`Run::goodput_bps`], of its flows.
    pub goodput_bps: f64,
    /// As [`Run::loss_rate`], of its flows.
    pub loss_rate: f64,
    /// As [`Run::rtt`], of its flows.
    pub rtt: Rtt,
    /// Jain's index of its flows' throughputs in the last second.
    pub jain: Option<f64>,
}

/// Packets dropped or lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Drops {
    /// Data, scheduled or not.
    pub data: u64,
    /// Data sent on a credit; null where there is no other.
    pub scheduled: Option<u64>,
    /// Data sent before the first credit; null where there is none.
    pub unscheduled: Option<u64>,
    /// Emulation packets.
    pub emulation: u64,
    /// Credits.
    pub credit: u64,
    /// Acknowledgements.
    pub ack: u64,
    /// What sets up, ends and repairs transfers.
    pub control: u64,
}

/// A queue of a switch port. Lengths are of what waits, in bytes on the wire; quantiles are over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Queue {
    /// The port: the nodes it leads from and to.
    pub place: String,
    /// The queue of that port.
    pub class: String,
    /// The longest it ever was, exactly.
    pub max_bytes: u64,
    /// Mean over time.
    pub mean_bytes: f64,
    /// Not exceeded for half of the time.
    pub p50_bytes: u64,
    /// Not exceeded for 99 % of the time.
    pub p99_bytes: u64,
    /// Not exceeded for 99.99 % of the time.
    pub p9999_bytes: u64,
    /// For each of the scenario's `levels` the part of the time at more than that.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub above: BTreeMap<String, f64>,
}

/// Memory that ports of a switch share. What is held is what is taken of the pool, in whole cells where it has any;
/// what queues hold in private room is not in it. Quantiles are over time, right to one percent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pool {
    /// The switch; of several pools each with its number there, from 0 on: "leaf0/2".
    pub place: String,
    /// Ports that draw on it.
    pub ports: u64,
    /// All of it.
    pub size_bytes: u64,
    /// The most it ever held, exactly.
    pub max_bytes: u64,
    /// Mean over time.
    pub mean_bytes: f64,
    /// Not exceeded for half of the time.
    pub p50_bytes: u64,
    /// Not exceeded for 99 % of the time.
    pub p99_bytes: u64,
    /// Not exceeded for 99.99 % of the time.
    pub p9999_bytes: u64,
    /// For each of the scenario's `levels` the part of the time at more than that.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub above: BTreeMap<String, f64>,
}

/// Round-trip times in seconds; null if none was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rtt {
    /// Mean of all samples.
    pub mean_s: Option<f64>,
    /// Median.
    pub p50_s: Option<f64>,
    /// 99th percentile.
    pub p99_s: Option<f64>,
}

/// What the traffic asks for, worked out from its distributions: of the flows that have an end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Offered {
    /// Flows that start in a second on average, of the groups that start at random.
    pub flows_per_s: f64,
    /// Mean payload of a flow, in bytes; null where sizes are not drawn or set, as in a trace.
    pub mean_size_bytes: Option<f64>,
    /// The part of flows that are small; null where sizes are not told apart.
    pub small: Option<f64>,
    /// The part that are medium.
    pub medium: Option<f64>,
    /// The part that are large.
    pub large: Option<f64>,
}

/// What became of credits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Credit {
    /// Arrived at senders.
    pub granted: u64,
    /// Released a data packet.
    pub used: u64,
    /// Arrived in vain.
    pub wasted: u64,
    /// The fraction of those that arrived which did so in vain.
    pub waste_rate: f64,
    /// Those that arrived in vain, as a fraction of the data packets that arrived: what they would have added to the
    /// volume of the traffic.
    pub waste_volume: f64,
    /// Credits (`ExpressPass`) or emulation packets (`FlashPass`) that were sent.
    pub sent: u64,
    /// The fraction of them that was lost.
    pub loss_rate: f64,
}

/// Completion times by size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fct {
    /// All flows that end; null if none does.
    pub all: Option<Completion>,
    /// Small ones; null where sizes are not told apart.
    pub small: Option<Completion>,
    /// Medium ones.
    pub medium: Option<Completion>,
    /// Large ones.
    pub large: Option<Completion>,
}

/// Completion times of some flows, from the start to the arrival of the last byte. Flows of a group's warm-up and
/// cool-down do not count. Percentiles are of those that finished.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Completion {
    /// Flows that count and have started.
    pub count: u64,
    /// Of these, not complete at the end of the run.
    pub unfinished: u64,
    /// Mean.
    pub mean_s: Option<f64>,
    /// Median.
    pub p50_s: Option<f64>,
    /// 95th percentile.
    pub p95_s: Option<f64>,
    /// 99th percentile.
    pub p99_s: Option<f64>,
    /// 99.9th percentile.
    pub p999_s: Option<f64>,
    /// Mean ratio to the time on an empty network (docs/model.md, "slowdown").
    pub slowdown_mean: Option<f64>,
    /// 99th percentile of that ratio.
    pub slowdown_p99: Option<f64>,
    /// The part of all these flows that completed within one base round trip of their paths.
    pub within_rtt: Option<f64>,
}

impl Completion {
    /// The completion times, in seconds, of the flows that finished, and how many did not.
    #[must_use]
    pub fn of(times: &mut [f64], unfinished: u64) -> Self {
        times.sort_unstable_by(f64::total_cmp);
        Self {
            count: times.len() as u64 + unfinished,
            unfinished,
            mean_s: mean(times),
            p50_s: percentile(times, 0.5),
            p95_s: percentile(times, 0.95),
            p99_s: percentile(times, 0.99),
            p999_s: percentile(times, 0.999),
            slowdown_mean: None,
            slowdown_p99: None,
            within_rtt: None,
        }
    }

    /// The same with the ratios of these times to those on an empty network.
    #[must_use]
    pub fn with_slowdowns(self, slowdowns: &mut [f64]) -> Self {
        slowdowns.sort_unstable_by(f64::total_cmp);
        Self { slowdown_mean: mean(slowdowns), slowdown_p99: percentile(slowdowns, 0.99), ..self }
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The smallest value that at least this part of all values does not exceed.
fn percentile(sorted: &[f64], part: f64) -> Option<f64> {
    let rank = (part * sorted.len() as f64).ceil().max(1.0) as usize;
    sorted.get(rank - 1).copied()
}

/// Jain's fairness index (Jain, Chiu, Hawe 1984); `None` for no flow or no throughput at all.
#[must_use]
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

    #[test]
    fn percentiles_are_values_that_occurred_and_unfinished_flows_are_told() {
        let mut times: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        let fct = Completion::of(&mut times, 3);
        assert_eq!((fct.count, fct.unfinished, fct.mean_s), (103, 3, Some(50.5)));
        let percentiles = [fct.p50_s, fct.p95_s, fct.p99_s, fct.p999_s];
        assert_eq!(percentiles, [50.0, 95.0, 99.0, 100.0].map(Some));
        let none = Completion::of(&mut [], 2);
        assert_eq!((none.count, none.mean_s, none.p99_s), (2, None, None));
    }
}

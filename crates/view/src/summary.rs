//! What `summary.json` says, as far as pages and figures need it. Fields that are missing count as empty: results of
//! other versions show what they have.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// Keys that differ between points, with their values.
pub type Set = BTreeMap<String, Value>;

/// The results of a scenario.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Summary {
    /// The experiment, if it is one that comes with shallop.
    pub id: Option<String>,
    /// Title of the scenario.
    pub scenario: String,
    /// A line on what it shows.
    pub about: String,
    /// Version of shallop.
    pub version: String,
    /// True if the smaller form was run.
    pub quick: bool,
    /// The seeds.
    pub seeds: Vec<u64>,
    /// True if runs are missing.
    pub interrupted: bool,
    /// What the network and the traffic are.
    pub setup: Vec<Fact>,
    /// What was compared.
    pub schemes: Vec<Scheme>,
    /// The points, in order.
    pub points: Vec<Point>,
    /// Where flows are told apart by size.
    pub classes: Option<Classes>,
    /// Claims with their verdicts.
    pub claims: Vec<Claim>,
    /// Means over seeds.
    pub aggregates: Vec<Aggregate>,
    /// The runs.
    pub runs: Vec<Run>,
}

/// A line on what was run.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Fact {
    /// What it is.
    pub what: String,
    /// The value with its unit.
    pub value: String,
    /// Where it comes from.
    pub how: String,
}

/// A scheme.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Scheme {
    /// Its label.
    pub name: String,
    /// Its transport.
    pub transport: String,
}

/// A point.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Point {
    /// Its name; empty if there is one alone.
    pub name: String,
    /// What it sets.
    pub set: Set,
}

/// Where sizes are told apart, in bytes of payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Classes {
    /// Small flows have up to this much.
    pub small_bytes: u64,
    /// Large ones have more than this.
    pub large_bytes: u64,
}

/// A claim, judged; its figures are in `unit`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Claim {
    /// The claim in words.
    pub what: String,
    /// What the paper says.
    pub paper: Option<f64>,
    /// The smallest figure that is accepted.
    pub low: Option<f64>,
    /// The largest.
    pub high: Option<f64>,
    /// What was measured.
    pub measured: Option<f64>,
    /// The smallest of any seed.
    pub measured_min: Option<f64>,
    /// The largest.
    pub measured_max: Option<f64>,
    /// The unit of these figures.
    pub unit: String,
    /// `holds`, `differs`, `fails` or `not run`.
    pub verdict: String,
    /// Why.
    pub why: String,
    /// Where the paper says so.
    pub source: String,
}

/// The runs of one scheme at one point.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Aggregate {
    /// Label of the scheme.
    pub scheme: String,
    /// The point.
    pub point: Set,
    /// How many runs.
    pub n: u64,
    /// Every number of a run by its name, with dots.
    pub metrics: BTreeMap<String, Estimate>,
}

/// A mean over seeds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half the width of its 95 % confidence interval; null for a single run.
    pub ci95: Option<f64>,
    /// How many runs have the figure.
    pub n: u64,
}

/// A run.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Run {
    /// Label of the scheme.
    pub scheme: String,
    /// The run seed.
    pub seed: u64,
    /// The point.
    pub point: Set,
    /// How long it lasted, in seconds.
    pub duration_s: f64,
    /// Flows that started.
    pub flows: u64,
    /// The groups.
    pub groups: Vec<Group>,
    /// The longest any data queue of a switch ever was.
    pub max_queue_bytes: u64,
    /// Queues that ever held anything, of hosts too where these have some.
    pub queues: Vec<Queue>,
    /// What to know before believing the figures.
    pub warnings: Vec<String>,
}

/// A group of flows.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Group {
    /// Its name.
    pub name: String,
}

/// A queue of a port.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Queue {
    /// The port.
    pub place: String,
    /// The queue of that port.
    pub class: String,
    /// The longest it ever was.
    pub max_bytes: u64,
}

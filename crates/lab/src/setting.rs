//! What was run, in words that stay with the results: the network, the schemes, the points.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::explain::{Line, network};
use crate::plan::{Scheme, Topology, Transport};
use crate::run::Setup;
use crate::study::Study;

/// A scheme that was run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Contender {
    /// Its label.
    pub name: String,
    /// What carries its data, in words.
    pub transport: String,
}

/// A point that was run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Place {
    /// Its name; empty if there is one alone.
    pub name: String,
    /// The keys that differ between points, with their values here.
    pub set: BTreeMap<String, serde_json::Value>,
    /// The labels of the schemes that run there.
    pub schemes: Vec<String>,
}

/// Where flows are told apart by size, in bytes of payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// Small flows have up to this much.
    pub small_bytes: u64,
    /// Large ones have more than this.
    pub large_bytes: u64,
}

/// The schemes of all points, each once.
#[must_use]
pub fn schemes(study: &Study) -> Vec<Contender> {
    let mut contenders: Vec<Contender> = Vec::new();
    for scheme in study.points.iter().flat_map(|point| &point.plan.schemes) {
        if !contenders.iter().any(|known| known.name == scheme.name) {
            contenders.push(Contender { name: scheme.name.clone(), transport: words(scheme) });
        }
    }
    contenders
}

/// The points.
#[must_use]
pub fn points(study: &Study) -> Vec<Place> {
    let place = |point: &crate::study::Point| Place {
        name: point.name.clone(),
        set: point.set.clone(),
        schemes: point.plan.schemes.iter().map(|scheme| scheme.name.clone()).collect(),
    };
    study.points.iter().map(place).collect()
}

/// Where the first point tells flows apart.
#[must_use]
pub fn limits(study: &Study) -> Option<Limits> {
    let classes = study.points.first()?.plan.classes?;
    Some(Limits { small_bytes: classes.small.get(), large_bytes: classes.large.get() })
}

/// The network and the traffic of the first point. Empty if it cannot be made, which is said elsewhere.
#[must_use]
pub fn setup(study: &Study) -> Vec<Line> {
    let Some(point) = study.points.first() else { return Vec::new() };
    let seed = study.seeds.first().copied().unwrap_or_default();
    let Ok(setup) = Setup::new(&point.plan, 0, seed) else { return Vec::new() };
    let value = topology(&point.plan.topology).to_owned();
    let first = Line { what: "topology".to_owned(), value, how: String::new() };
    let lines = network(&setup, String::new()).lines.into_iter();
    std::iter::once(first).chain(lines.filter(|line| line.what != "ports")).collect()
}

fn topology(topology: &Topology) -> &'static str {
    match topology {
        Topology::Dumbbell { .. } => "dumbbell",
        Topology::ParkingLot { .. } => "parking lot",
        Topology::Graph { .. } => "graph",
        Topology::ThreeDc(_) => "three data centres",
        Topology::LeafSpine(_) => "leaf-spine",
        Topology::FatTree(_) => "fat-tree",
        Topology::CrossDc(_) => "two data centres",
        Topology::Campus(_) => "campus",
        Topology::File(_) => "from a file",
    }
}

fn words(scheme: &Scheme) -> String {
    let transport = match &scheme.transport {
        Transport::Tcp { controller, .. } => format!("TCP with {}", controller.name()),
        Transport::ExpressPass(_) => "ExpressPass".to_owned(),
        Transport::FlashPass(_) => "FlashPass".to_owned(),
        Transport::Udp(_) => "UDP".to_owned(),
    };
    let proxy = if scheme.clean.is_some() { ", behind CLEAN" } else { "" };
    let switches = if scheme.switches.is_some() { ", switches of its own" } else { "" };
    format!("{transport}{proxy}{switches}")
}

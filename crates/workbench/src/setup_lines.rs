//! What `summary.json` says about a study besides results: its network and traffic, schemes and size classes.

use shallop_plan::plan::{Scheme, Topology};
use shallop_plan::{resolved::ResolvedRun, study::Study};
use shallop_results::{DerivedValue, SchemeInfo, SizeClasses};
use shallop_scenario::explain::network;

/// The schemes of all points, each once.
pub fn schemes(study: &Study) -> Vec<SchemeInfo> {
    let mut schemes: Vec<SchemeInfo> = Vec::new();
    for scheme in study.points.iter().flat_map(|point| &point.plan.schemes) {
        if !schemes.iter().any(|known| known.name == scheme.name) {
            schemes.push(SchemeInfo { name: scheme.name.clone(), transport: words(scheme) });
        }
    }
    schemes
}

/// The size classes of the first point.
pub fn limits(study: &Study) -> Option<SizeClasses> {
    let classes = study.points.first()?.plan.classes?;
    Some(SizeClasses { small_bytes: classes.small.get(), large_bytes: classes.large.get() })
}

/// The network and the traffic of the first point. Empty if it cannot be set up; running it reports the error.
pub fn setup(study: &Study) -> Vec<DerivedValue> {
    let Some(point) = study.points.first() else { return Vec::new() };
    let seed = study.seeds.first().copied().unwrap_or_default();
    let Ok(setup) = ResolvedRun::new(&point.plan, 0, seed) else { return Vec::new() };
    let value = topology(&point.plan.topology).to_owned();
    let first = DerivedValue { what: "topology".to_owned(), value, how: String::new() };
    let lines = network(&setup, String::new()).lines.into_iter();
    std::iter::once(first).chain(lines.filter(|line| line.what != "ports")).collect()
}

fn topology(topology: &Topology) -> &'static str {
    match topology {
        Topology::Fabric(fabric) => fabric.label(),
        Topology::Graph { .. } => "graph",
        Topology::File(..) => "from a file",
        Topology::Scaled { of, .. } => self::topology(of),
    }
}

fn words(scheme: &Scheme) -> String {
    let transport = scheme.transport.describe();
    let proxy = if scheme.clean.is_some() { ", behind CLEAN" } else { "" };
    let switches = if scheme.switches.is_some() { ", switches of its own" } else { "" };
    format!("{transport}{proxy}{switches}")
}

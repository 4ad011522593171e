//! The benchmark scenarios of `shallop bench`. Dumbbell: the network of the first headline experiment (10 Gb/s, 20 KB
//! of buffer per Gb/s, 10 ms and 0 to 20 ms of delay) with flows without end. Leaf-spine: hosts with 100 Gb/s and jumbo
//! frames, to which DCTCP flows of the sizes of web search come at a load of 0.4; the ports of a switch share memory as
//! in the simulations of BCC, or each has the memory that one queue could take from the shared memory.

use crate::{Options, Problem, read};
use shallop_core::Span;
use shallop_plan::plan::Plan;

/// A benchmark scenario, and how long it is simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Case {
    pub name: &'static str,
    pub transport: &'static str,
    what: What,
    /// The simulated time of a full benchmark, in which it computes for some seconds.
    pub duration: Span,
}

/// The network of a benchmark scenario, and its flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// A dumbbell with this number of flows, each between two hosts of its own.
    Dumbbell(usize),
    /// A leaf-spine fabric: spines, leaves and hosts of each leaf; and the memory of switches.
    LeafSpine([usize; 3], &'static str),
}

pub const CASES: [Case; 15] = [
    dumbbell("20 flows", "cubic", 20, 10_000),
    dumbbell("20 flows", "expresspass", 20, 5000),
    dumbbell("20 flows", "flashpass", 20, 2000),
    dumbbell("200 flows", "cubic", 200, 5000),
    dumbbell("200 flows", "expresspass", 200, 2000),
    dumbbell("200 flows", "flashpass", 200, 500),
    dumbbell("2,000 flows", "cubic", 2000, 2000),
    dumbbell("2,000 flows", "expresspass", 2000, 500),
    dumbbell("2,000 flows", "flashpass", 2000, 15),
    dumbbell("20,000 flows", "cubic", 20_000, 1000),
    leaf_spine("128 hosts, shared memory", What::LeafSpine([8, 8, 16], SHARED)),
    leaf_spine("128 hosts", What::LeafSpine([8, 8, 16], OWN)),
    leaf_spine("512 hosts", What::LeafSpine([16, 16, 32], OWN)),
    leaf_spine("1,024 hosts", What::LeafSpine([16, 32, 32], OWN)),
    leaf_spine("2,048 hosts", What::LeafSpine([32, 32, 64], OWN)),
];

const fn dumbbell(name: &'static str, transport: &'static str, flows: usize, ms: u64) -> Case {
    Case { name, transport, what: What::Dumbbell(flows), duration: Span::from_ms(ms) }
}

const fn leaf_spine(name: &'static str, what: What) -> Case {
    Case { name, transport: "dctcp", what, duration: Span::from_ms(20) }
}

impl Case {
    /// The plan of the scenario with this simulated time; one of its schemes is the transport of the case.
    ///
    /// # Errors
    /// If there are more flows than a scenario may have.
    pub fn plan(&self, duration: Span) -> Result<Plan, Problem> {
        match self.what {
            What::Dumbbell(flows) => plan(flows, duration),
            What::LeafSpine([spines, leaves, hosts], memory) => {
                let numbers = [("topology.spines", spines), ("topology.leaves", leaves), ("topology.hosts", hosts)];
                let set = numbers.map(|(key, number)| (key, number.to_string()));
                filled(
                    &LEAF_SPINE.replace("MEMORY", memory),
                    set.into_iter().chain([("duration", duration.to_string())]),
                )
            }
        }
    }
}

const DUMBBELL: &str = include_str!("reference_run/dumbbell.toml");
const LEAF_SPINE: &str = include_str!("reference_run/leaf-spine.toml");
/// The switch key for shared memory, as in the simulations of BCC.
const SHARED: &str = r#"shared = { size = "3146KB", private = "131KB", ports = 8, alpha = 4 }"#;
/// The switch key for private buffers, each as large as a queue could become in the shared memory.
const OWN: &str = r#"buffer = "2648KB""#;

/// The plan of a dumbbell with this number of flows and this simulated time, with CUBIC, ExpressPass and FlashPass.
///
/// # Errors
/// If there are more flows than a scenario may have.
pub fn plan(flows: usize, duration: Span) -> Result<Plan, Problem> {
    let start = format!("0ms..{}", Span::from_ms(100).min(duration / 2));
    let set = [("topology.senders", flows.to_string()), ("group.all.start", start)];
    filled(DUMBBELL, set.into_iter().chain([("duration", duration.to_string())]))
}

fn filled(text: &str, set: impl IntoIterator<Item = (&'static str, String)>) -> Result<Plan, Problem> {
    let set = set.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    let study = read(text, &Options { set, ..Options::default() })?;
    Ok(study.points[0].plan.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_can_be_run() {
        for case in CASES {
            let plan = case.plan(case.duration / 10).unwrap();
            let scheme = plan.schemes.iter().position(|scheme| scheme.name == case.transport).unwrap();
            shallop_plan::wait::check(&plan, scheme, plan.seed).unwrap();
        }
    }
}

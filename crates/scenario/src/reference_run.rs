//! The benchmark scenarios of `shallop bench`. Dumbbell: the network of the first headline experiment (10 Gb/s, 20 KB
//! of buffer per Gb/s, 10 ms and 0 to 20 ms of delay) with 20, 200 and 2,000 flows without end, under each transport.
//! Leaf-spine: 128 hosts with 100 Gb/s and jumbo frames, each with two DCTCP flows without end to another host. The
//! ports of a switch share memory as in the simulations of BCC, or each has the memory that one queue could take from
//! the shared memory.

use crate::{Options, Problem, read};
use shallop_core::Span;
use shallop_plan::plan::Plan;

/// A benchmark scenario, and how long it is simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Case {
    pub name: &'static str,
    /// The network and its flows.
    pub what: What,
    /// The simulated time of a full benchmark.
    pub duration: Span,
    /// The simulated time of a quick benchmark.
    pub quick: Span,
}

/// The network of a benchmark scenario, and its flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A dumbbell with this number of flows, each between two hosts of its own.
    Dumbbell(usize),
    /// A leaf-spine fabric with 128 hosts.
    LeafSpine {
        /// Whether the ports of a switch share memory, or each has its own.
        shared: bool,
    },
}

pub const CASES: [Case; 5] = [
    dumbbell("20 flows", 20, 5000),
    dumbbell("200 flows", 200, 3000),
    dumbbell("2,000 flows", 2000, 1000),
    leaf_spine("128 hosts, shared memory", true),
    leaf_spine("128 hosts, own memory", false),
];

/// The transports that the dumbbells are run with.
pub const TRANSPORTS: [&str; 3] = ["cubic", "expresspass", "flashpass"];

const fn dumbbell(name: &'static str, flows: usize, ms: u64) -> Case {
    let duration = Span::from_ms(ms);
    Case { name, what: What::Dumbbell(flows), duration, quick: Span::from_ms(300) }
}

const fn leaf_spine(name: &'static str, shared: bool) -> Case {
    let duration = Span::from_ms(20);
    Case { name, what: What::LeafSpine { shared }, duration, quick: Span::from_ms(2) }
}

impl Case {
    /// The transports that the scenario is run with.
    pub const fn transports(&self) -> &'static [&'static str] {
        match self.what {
            What::Dumbbell(_) => &TRANSPORTS,
            What::LeafSpine { .. } => &["dctcp"],
        }
    }

    /// The plan of the scenario with this simulated time and all its transports.
    ///
    /// # Errors
    /// If there are more flows than a scenario may have.
    pub fn plan(&self, duration: Span) -> Result<Plan, Problem> {
        match self.what {
            What::Dumbbell(flows) => plan(flows, duration),
            What::LeafSpine { shared } => {
                let text = LEAF_SPINE.replace("MEMORY", if shared { SHARED } else { OWN });
                filled(&text, [("duration", duration.to_string())].into_iter())
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

/// The plan of a dumbbell with this number of flows and this simulated time, with all [`TRANSPORTS`].
///
/// # Errors
/// If there are more flows than a scenario may have.
pub fn plan(flows: usize, duration: Span) -> Result<Plan, Problem> {
    let set = [("topology.senders", flows.to_string()), ("duration", duration.to_string())];
    filled(DUMBBELL, set.into_iter())
}

fn filled(text: &str, set: impl Iterator<Item = (&'static str, String)>) -> Result<Plan, Problem> {
    let set = set.map(|(key, value)| (key.to_owned(), value)).collect();
    let study = read(text, &Options { set, ..Options::default() })?;
    Ok(study.points[0].plan.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_can_be_run_under_every_transport() {
        for case in CASES {
            let few = match case.what {
                What::Dumbbell(flows) => Case { what: What::Dumbbell(flows.min(200)), ..case },
                What::LeafSpine { .. } => case,
            };
            let plan = few.plan(case.quick).unwrap();
            assert_eq!(plan.schemes.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), case.transports());
            for scheme in 0..case.transports().len() {
                shallop_plan::wait::check(&plan, scheme, plan.seed).unwrap();
            }
        }
    }
}

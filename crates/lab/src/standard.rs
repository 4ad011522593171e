//! The standard cases that speed is measured in: the network of the first headline experiment (10 Gb/s, 20 KB of buffer
//! per Gb/s, 10 ms and 0 to 20 ms of delay) with 20, 200 and 2,000 flows without end, under each transport.

use shallop_core::Span;

use crate::plan::Plan;
use crate::scenario::{Options, Problem, read};

/// A case: a number of flows, and how long it is simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Case {
    /// Its name.
    pub name: &'static str,
    /// Flows, each between hosts of its own.
    pub flows: usize,
    /// Simulated time, in full.
    pub duration: Span,
    /// Simulated time, quick.
    pub quick: Span,
}

/// The cases.
pub const CASES: [Case; 3] =
    [case("20 flows", 20, 5000), case("200 flows", 200, 3000), case("2,000 flows", 2000, 1000)];

/// The labels of the transports.
pub const TRANSPORTS: [&str; 3] = ["cubic", "expresspass", "flashpass"];

const fn case(name: &'static str, flows: usize, ms: u64) -> Case {
    Case { name, flows, duration: Span::from_ms(ms), quick: Span::from_ms(300) }
}

/// As long as nobody says how many flows there are, and for how long.
const TEXT: &str = r#"
title = "Flows without end into 10 Gb/s"
seed = 1
duration = "5s"
sample = "10ms"
stack = "ns2"
topology = { kind = "dumbbell", senders = 20, rate = "10Gbps", delay = "10ms", sender_delay = "0ms..20ms" }
switch.default.buffer = "20KB/Gbps"
scheme = [{ transport = "cubic" }, { transport = "expresspass" }, { transport = "flashpass" }]
group = [{ name = "all", start = "0ms..100ms" }]
"#;

/// This many flows for this long, under each of [`TRANSPORTS`].
///
/// # Errors
/// If there are more flows than a scenario may have.
pub fn plan(flows: usize, duration: Span) -> Result<Plan, Problem> {
    let set = [("topology.senders", flows.to_string()), ("duration", duration.to_string())];
    let set = set.map(|(key, value)| (key.to_owned(), value)).to_vec();
    let study = read(TEXT, &Options { set, ..Options::default() })?;
    Ok(study.points[0].plan.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_can_be_run_under_every_transport() {
        for case in CASES {
            let plan = plan(case.flows.min(200), case.quick).unwrap();
            assert_eq!(
                plan.schemes.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(),
                TRANSPORTS
            );
            for scheme in 0..TRANSPORTS.len() {
                crate::run::check(&plan, scheme, plan.seed).unwrap();
            }
        }
    }
}

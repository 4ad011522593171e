//! The scenario of most tests of rehearsals.

use shallop_plan::plan::{Driver, Plan};
use shallop_scenario::{Options, read};

pub const SCENARIO: &str = r#"
title = "four flows over 100 Mb/s"
duration = "600ms"
stack = "kernel"
topology = { kind = "dumbbell", senders = 4, rate = "100Mbps", delay = "2ms" }
switch.default.buffer = "50KB"
scheme = [{ transport = "cubic" }]
group = [{ name = "all" }]
"#;

/// The plan of the rehearsal of a scenario, with changed keys.
pub fn plan(text: &str, set: &[(&str, &str)]) -> Plan {
    let set = set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    let options = Options { set: set.collect(), ..Options::default() };
    let mut plan = read(text, &options).unwrap().points.remove(0).plan;
    plan.driver = Driver::Rehearsal { tape: None, attached: Vec::new() };
    plan
}

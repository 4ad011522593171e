//! Scenarios of tests of rehearsals.

use shallop_plan::plan::{Driver, Plan};
use shallop_scenario::{Options, read};

/// A scenario with kernels in a dumbbell. The arguments are TOML: keys of the topology and of the scheme, and the
/// groups.
pub fn scenario(duration: &str, topology: &str, scheme: &str, groups: &str) -> String {
    format!(
        r#"
title = "a rehearsal"
duration = "{duration}"
stack = "kernel"
topology = {{ kind = "dumbbell", {topology} }}
switch.default.buffer = "50KB"
scheme = [{{ {scheme} }}]
{groups}"#
    )
}

/// Four flows over 100 Mb/s, with changed keys.
pub fn four_flows(set: &[(&str, &str)]) -> Plan {
    let topology = r#"senders = 4, rate = "100Mbps", delay = "2ms""#;
    let groups = r#"group = [{ name = "all" }]"#;
    plan(&scenario("600ms", topology, r#"transport = "cubic""#, groups), set)
}

/// The plan of the rehearsal of a scenario, with changed keys.
pub fn plan(text: &str, set: &[(&str, &str)]) -> Plan {
    let set = set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    let options = Options { set: set.collect(), ..Options::default() };
    let mut plan = read(text, &options).unwrap().points.remove(0).plan;
    plan.driver = Driver::Rehearsal { tape: None, attached: Vec::new(), stretch: 1 };
    plan
}

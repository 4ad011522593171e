//! Scenarios that a check refuses before a rehearsal.

use shallop_linux::rehearse;
use shallop_plan::plan::{Driver, Plan};
use shallop_scenario::{Options, read};

const SCENARIO: &str = r#"
title = "four flows over 100 Mb/s"
duration = "600ms"
stack = "kernel"
topology = { kind = "dumbbell", senders = 4, rate = "100Mbps", delay = "2ms" }
switch.default.buffer = "50KB"
scheme = [{ transport = "cubic" }]
group = [{ name = "all" }]
"#;

fn plan(set: &[(&str, &str)]) -> Plan {
    let set = set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    let options = Options { set: set.collect(), ..Options::default() };
    let mut plan = read(SCENARIO, &options).unwrap().points.remove(0).plan;
    plan.driver = Driver::Rehearsal { tape: None, attached: Vec::new() };
    plan
}

#[test]
fn options_that_flashpass_over_quic_lacks_are_refused_by_name() {
    let set = [
        ("scheme.cubic.transport", "flashpass"),
        ("scheme.flashpass.demand", "buffer"),
        ("scheme.flashpass.send_buffer", "100KB"),
    ];
    let why = rehearse::check(&plan(&set), 0, 1).unwrap_err().to_string();
    assert!(
        why.contains("FlashPass over QUIC has not") && why.contains("its send buffer"),
        "{why}"
    );
    let aeolus = plan(&[("scheme.cubic.transport", "flashpass-aeolus")]);
    rehearse::check(&aeolus, 0, 1).unwrap();
}

//! Groups whose traffic is that of programs.

use crate::malformed::check;
use shallop_plan::plan::{Pattern, Starts};
use shallop_scenario::{Options, read};

fn scenario(group: &str) -> String {
    format!(
        r#"
title = "programs"
duration = "1s"
stack = "kernel"
topology = {{ kind = "dumbbell", senders = 2, receivers = 2, rate = "1Gbps", delay = "1ms" }}
scheme = [{{ transport = "cubic" }}]
[[group]]
{group}
"#
    )
}

#[test]
fn a_command_has_a_flow_for_each_pair_of_hosts() {
    let text = scenario("name = \"ping\"\ncommand = [\"ping\", \"r 0\"]\nstart = \"100ms\"");
    let study = read(&text, &Options::default()).unwrap();
    let group = &study.points[0].plan.groups[0];
    assert_eq!((group.flows, &group.pattern), (4, &Pattern::AllToAll));
    assert!(matches!(group.start, Starts::At(_)));
    assert_eq!(group.command.as_ref().unwrap().words, ["ping", "r 0"]);
    assert!(study.points[0].plan.has_programs());
}

#[test]
fn in_turn_each_host_has_one_other_whose_name_may_be_an_argument_and_a_start_of_its_own() {
    let group = "name = \"x\"\ncommand = [\"ping\", \"{to}:1\"]\npattern = \"turn\"\nstart = \"0s..1ms\"";
    let study = read(&scenario(group), &Options::default()).unwrap();
    let group = &study.points[0].plan.groups[0];
    assert_eq!((group.flows, &group.pattern), (2, &Pattern::RoundRobin));
    assert!(matches!(group.start, Starts::Drawn(..)));
    assert_eq!(group.command.as_ref().unwrap().words_for("r0", None), ["ping", "r0:1"]);
}

#[test]
fn programs_with_flashpass_are_in_kernels_and_switches_have_its_queues() {
    let flashpass = "name = \"x\"\ncommand = [\"shallop\", \"receive\"]\ntransport = { transport = \"flashpass\" }";
    let text = scenario(flashpass).replace("[[group]]", "switch.default.credit_queue = \"8pkt\"\n[[group]]");
    let study = read(&text, &Options::default()).unwrap();
    let plan = &study.points[0].plan;
    assert!(plan.has_kernels(0));
    assert_eq!(plan.kernel(0, 0), Some("cubic"));
    assert!(study.notes.is_empty(), "{:?}", study.notes);
}

#[test]
fn what_a_command_cannot_have_is_pointed_at() {
    check(&scenario("GROUP"), "commands");
}

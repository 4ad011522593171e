//! Runs on several cores and on one core have identical outcomes.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use shallop_core::{Span, Time};
use shallop_measure::{Observer, Outcome, flow_log::FlowRow, live_snapshot::LiveSnapshot, run_on};
use shallop_plan::plan::Plan;
use shallop_results::Job;
use shallop_scenario::{Options, read};
use shallop_workbench::{forecast, team::PoolTeam};
use std::cell::Cell;

/// Collects what a run tells its observer.
#[derive(Debug, Default, PartialEq)]
struct Told {
    progress: Vec<Time>,
    rows: Vec<Vec<FlowRow>>,
    snapshots: Vec<LiveSnapshot>,
    notes: Vec<String>,
}

impl Observer for Told {
    fn on_progress(&mut self, now: Time) -> bool {
        self.progress.push(now);
        true
    }

    fn on_flows(&mut self, rows: Vec<FlowRow>) {
        self.rows.push(rows);
    }

    fn wants_snapshot(&self, _: Span) -> bool {
        true
    }

    fn on_snapshot(&mut self, snapshot: LiveSnapshot) {
        self.snapshots.push(snapshot);
    }

    fn on_note(&mut self, text: &str) {
        self.notes.push(text.to_owned());
    }
}

fn told(plan: &Plan, cores: usize) -> (Outcome, Told) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(cores).build().expect("threads");
    let mut told = Told::default();
    let outcome = pool.install(|| run_on((cores, &PoolTeam), plan, 0, plan.seed, &mut told)).expect("a run");
    (outcome, told)
}

fn plan_of(text: &str) -> Plan {
    let study = read(text, &Options::default()).unwrap_or_else(|problem| panic!("{problem:?}\n{text}"));
    let plan = study.points[0].plan.clone();
    Plan { record: plan.seed.is_multiple_of(2).then_some(Span::from_ms(1)), ..plan }
}

/// Compares runs on 2, 3 and 8 cores with one on one core. Returns what those on several cores noted.
fn compare(plan: &Plan) -> Vec<String> {
    let (outcome, one) = told(plan, 1);
    assert!(one.notes.is_empty() && !one.rows.is_empty(), "{:?}", one.notes);
    let mut notes = Vec::new();
    for cores in [2, 3, 8] {
        let (other, mut told) = told(plan, cores);
        notes.append(&mut told.notes);
        assert!(other == outcome, "{cores} cores: {:#?}\n{:#?}", other.run, outcome.run);
        assert!(told == one, "{cores} cores: {told:#?}\n{one:#?}");
    }
    notes
}

/// A scenario of random parts: network, links of a ring, switches, scheme, sizes, starts, host stack and duration.
fn scenario() -> impl Strategy<Value = String> {
    let mut parts = include_str!("cores/parts.txt").split("\n\n");
    let mut part = || prop::sample::select(parts.next().unwrap_or_default().lines().collect::<Vec<_>>());
    let (network, links, others) = (part(), prop::collection::vec(part(), 16), [(); 6].map(|()| part()));
    (network, links, others, 8..60usize, any::<u32>()).prop_map(|(network, links, others, flows, seed)| {
        let [switch, scheme, sizes, start, stack, duration] = others;
        // Only a campus has links at which proxies stand by default.
        let scheme = scheme.replace("CLEAN", if network.contains("campus") { ", clean = {}" } else { "" });
        // Flows without end last for the whole run.
        let (sizes, duration) = if sizes.contains("size") { (sizes, duration) } else { ("", "20ms") };
        let comma = if sizes.is_empty() { "" } else { ", " };
        let network = network.replace("RING", &ring(&links));
        format!(
            r#"title = "drawn"
seed = {seed}
duration = "{duration}"
sample = "3ms"
windows = ["4ms..9ms"]
stack = "{stack}"
topology = {{ {network} }}
switch.default = {{ {switch} }}
scheme = [{{ {scheme} }}]
group = [{{ name = "all", from = "hosts", to = "hosts", pattern = "uniform", {start}, flows = {flows}{comma}{sizes} }}]
"#
        )
    })
}

/// Eight switches in a ring, each with one host.
fn ring(links: &[&str]) -> String {
    let node =
        |number: usize| format!("{{ name = 's{number}', kind = 'switch' }}, {{ name = 'h{number}', kind = 'host' }}");
    let link = |number: usize| {
        let (next, around, access) = ((number + 1) % 8, links[number], links[number + 8]);
        format!(
            "{{ between = ['s{number}', 's{next}'], rate = '300Mbps', {around} }}, \
             {{ between = ['h{number}', 's{number}'], rate = '1Gbps', {access} }}"
        )
    };
    let all = |of: &dyn Fn(usize) -> String| (0..8).map(of).collect::<Vec<_>>().join(", ");
    format!("node = [{}], link = [{}]", all(&node), all(&link))
}

fn compare_drawn(cases: u32) {
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let divided = Cell::new(0);
    runner
        .run(&scenario(), |text| {
            divided.set(divided.get() + u32::from(compare(&plan_of(&text)).len() < 3));
            Ok(())
        })
        .expect("equal outcomes");
    assert!(divided.get() * 2 > cases, "only {} of {cases} runs were divided", divided.get());
}

#[test]
fn a_dozen_scenarios_have_equal_outcomes_on_any_number_of_cores() {
    compare_drawn(12);
}

/// Web search between 64 hosts in two racks.
fn fabric(transport: &str) -> Plan {
    plan_of(&format!(
        r#"title = "fabric"
duration = "2s"
topology = {{ kind = "leaf-spine", spines = 8, leaves = 2, hosts = 32, rate = "10Gbps", delay = "5us" }}
scheme = [{{ transport = "{transport}" }}]
[[group]]
name = "web"
from = "hosts"
to = "hosts"
pattern = "uniform"
sizes = "web-search"
arrivals = {{ load = 0.5, of = "access" }}
flows = 4_000
"#
    ))
}

#[test]
fn a_long_run_is_divided_only_if_that_pays_and_a_note_says_why_not() {
    let job = Job { point: 0, scheme: 0, seed: 1 };
    let why_not = |plan: &Plan, most| forecast::cores(plan, job, most).err();
    assert_eq!(why_not(&fabric("dctcp"), 1).as_deref(), Some(""), "a machine with one core");
    assert!(why_not(&fabric("flashpass"), 2).is_some_and(|why| why.contains("sends credits")));
    // Whether 2 cores are faster depends on what else the machine does.
    match forecast::cores(&fabric("dctcp"), job, 2) {
        Ok((cores, speed)) => assert!(cores == 2 && speed >= 1.2, "{cores} cores, {speed}"),
        Err(why) => assert_eq!(why, "2 cores: the run uses one, since they save less than 17 % of its time now"),
    }
}

#[test]
#[ignore = "long: 800 runs"]
fn two_hundred_scenarios_have_equal_outcomes_on_any_number_of_cores() {
    compare_drawn(200);
}

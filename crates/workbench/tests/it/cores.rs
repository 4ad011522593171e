//! A run on several cores has the outcome of a run on one, to the last bit.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use shallop_core::{Span, Time};
use shallop_measure::{Observer, Outcome, flow_log::FlowRow, live_snapshot::LiveSnapshot, run_on};
use shallop_plan::plan::Plan;
use shallop_scenario::{Options, read};
use shallop_workbench::team::PoolTeam;
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

/// A ring of switches with hosts, with all that a link, a switch and a group may have.
fn scenario() -> impl Strategy<Value = String> {
    let pick = |of: &'static [&'static str]| prop::sample::select(of);
    let network = pick(&[
        r#"kind = "leaf-spine", spines = 2, leaves = 4, hosts = 3, rate = "1Gbps", delay = "5us""#,
        r#"kind = "fat-tree", pods = 4, tors = 2, aggregations = 2, cores = 2, hosts = 2, rate = "2Gbps", access_rate = "1Gbps""#,
        r#"kind = "three-dc", hosts = 4, wan_rate = "500Mbps", wan_delay = ["1ms", "2ms", "300us"]"#,
        r#"kind = "cross-dc", hosts = 3, wan_rate = "1Gbps", wan_delay = "1ms", delay = "20us""#,
        r#"kind = "parking-lot", hops = 3, hosts = 2, rate = "200Mbps", delay = "100us""#,
        r#"kind = "campus", stations = 6"#,
        r#"kind = "graph", RING"#,
        r#"kind = "graph", RING"#,
        r#"kind = "graph", RING"#,
    ]);
    let link = pick(&[
        r#"delay = "50us""#,
        r#"delay = "0s""#,
        r#"delay = ["10us", "400us"]"#,
        r#"delay = "50us", loss = 0.01"#,
        r#"delay = "50us", jitter = "30us""#,
        r#"delay = "50us", changes = [{ at = "3ms", rate = "20Mbps" }, { at = "9ms", rate = "2Gbps" }]"#,
    ]);
    let links = prop::collection::vec(link, 24);
    let switch = pick(&[
        r#"buffer = "60KB", mark = { above = "15KB" }"#,
        r#"buffer = "30KB""#,
        r#"shared = { size = "100KB", alpha = 2 }, mark = { above = "20KB" }"#,
        r#"buffer = "200KB", aqm = "codel""#,
    ]);
    let scheme = pick(&[
        r#"transport = "dctcp""#, r#"transport = "cubic""#, r#"transport = "cubic"CLEAN"#,
        r#"transport = "newreno"CLEAN"#, r#"transport = "bbr""#, r#"transport = "copa""#,
    ]);
    let sizes = pick(&[r#"size = "30KB", "#, r#"size = "400KB", "#, r#"sizes = "web-search", "#, ""]);
    let start = pick(&[r#"start = "0ms..8ms""#, r#"start = "0s""#, r#"start = "1ms""#]);
    let more = pick(&["", "", "warm_up = 3, cool_down = 4, ", r#"connections = "kept", "#]);
    let stack = pick(&["linux", "ns2", "ns3"]);
    let duration = pick(&["20ms", "20ms", "2s"]);
    let parts = (network, links, switch, scheme, sizes);
    (parts, (start, more, stack, duration, 8..60usize, any::<u32>())).prop_map(
        |(parts, (start, more, stack, duration, flows, seed))| {
            let (network, links, switch, scheme, sizes) = parts;
            // Only a campus has links at which proxies stand by default.
            let clean = if network.contains("campus") { ", clean = {}" } else { "" };
            let scheme = scheme.replace("CLEAN", clean);
            // Flows without end last for the whole run.
            let duration = if sizes.is_empty() { "20ms" } else { duration };
            let more = if sizes.is_empty() { "" } else { more };
            format!(
                r#"title = "drawn"
seed = {seed}
duration = "{duration}"
sample = "3ms"
windows = ["4ms..9ms"]
stack = "{stack}"
topology = {{ {} }}
switch.default = {{ {switch} }}
scheme = [{{ {scheme} }}]
group = [{{ name = "all", from = "hosts", to = "hosts", pattern = "uniform", {sizes}{more}flows = {flows}, {start} }}]
"#,
                network.replace("RING", &ring(&links))
            )
        },
    )
}

/// Eight switches in a ring, each with one host.
fn ring(links: &[&str]) -> String {
    let node = |number: usize| {
        format!(r#"{{ name = "s{number}", kind = "switch" }}, {{ name = "h{number}", kind = "host" }}"#)
    };
    let link = |number: usize| {
        let (next, around, access) = ((number + 1) % 8, links[number], links[number + 8]);
        format!(
            r#"{{ between = ["s{number}", "s{next}"], rate = "300Mbps", {around} }}, {{ between = ["h{number}", "s{number}"], rate = "1Gbps", {access} }}"#
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

#[test]
#[ignore = "long: 800 runs"]
fn two_hundred_scenarios_have_equal_outcomes_on_any_number_of_cores() {
    compare_drawn(200);
}

//! Flows that come and go: how many, when, between whom, and what is said of them.

use crate::support;
use shallop_core::{Seed, Span};
use shallop_measure::Outcome;
use shallop_plan::{Plan, Study};
use shallop_plan::{ResolvedRun, files::FilesInMemory, flows::FlowGenerator};
use shallop_scenario::{Options, Problem, read};
use std::sync::Arc;

const NETWORK: &str = include_str!("scenarios/dynamic.toml");

fn study(group: &str, files: &[(&str, &str)]) -> Result<Study, Problem> {
    let files = FilesInMemory::from_texts(files.iter().copied());
    let options = Options { files: Arc::new(files), ..Options::default() };
    read(&format!("{NETWORK}\n[[group]]\nname = \"all\"\n{group}\n"), &options)
}

fn plan(group: &str) -> Plan {
    study(group, &[]).unwrap().points[0].plan.clone()
}

fn outcome(plan: &Plan, scheme: usize) -> Outcome {
    support::outcome(plan, scheme, 1)
}

const POISSON: &str = r#"
pattern = "uniform"
sizes = "web-server"
arrivals = { load = 0.25, of = "bottleneck" }
flows = 300
warm_up = 20
cool_down = 30
"#;

#[test]
fn flows_arrive_as_often_as_the_load_asks_for() {
    let plan = plan(POISSON);
    let setup = ResolvedRun::new(&plan, 0, 1).unwrap();
    // Flows go one way: the other direction of the link adds nothing to its capacity.
    let mean = plan.groups[0].sizes.as_ref().unwrap().mean();
    let expected = 0.25 * 1e9 / (8.0 * mean);
    assert!((setup.rates[0].unwrap() / expected - 1.0).abs() < 1e-9, "{:?}", setup.rates);
    let flows: Vec<_> = FlowGenerator::new(&setup).collect();
    assert_eq!(flows.len(), 300);
    assert!(flows.windows(2).all(|two| two[0].start <= two[1].start));
    let lasted = flows[299].start.since_start().as_secs_f64();
    assert!((300.0 / lasted / expected - 1.0).abs() < 0.2, "{lasted} s for 300 flows");
    let offered = outcome(&plan, 0).run.offered;
    assert_eq!(offered.mean_size_bytes, Some(mean));
    let parts = [offered.small, offered.medium, offered.large].map(Option::unwrap);
    assert!((parts.iter().sum::<f64>() - 1.0).abs() < 1e-9 && parts.iter().all(|&part| part > 0.0));
}

#[test]
fn only_flows_between_warm_up_and_cool_down_are_judged_and_the_run_ends_with_them() {
    let plan = plan(POISSON);
    for scheme in 0..3 {
        let Outcome { run, flows, .. } = outcome(&plan, scheme);
        let all = run.fct.all.as_ref().unwrap();
        assert_eq!((all.count, all.unfinished), (250, 0), "{}", run.scheme);
        let of = |class: &Option<shallop_results::summary::Completion>| class.as_ref().map_or(0, |it| it.count);
        let classes = of(&run.fct.small) + of(&run.fct.medium) + of(&run.fct.large);
        assert_eq!(classes, 250, "every flow is of one class");
        let counted = flows.iter().filter(|flow| flow.counted).count();
        assert_eq!(counted, 250);
        assert!(flows.iter().take(20).all(|flow| !flow.counted));
        assert!(flows.iter().enumerate().all(|(number, flow)| flow.flow as usize == number));
        let last = flows.iter().filter(|flow| flow.counted);
        let last = last.map(|flow| flow.start_s + flow.fct_s.unwrap()).fold(0.0, f64::max);
        assert!(run.duration_s >= last && run.duration_s <= last + 0.1 + 1e-9);
    }
}

#[test]
fn no_flow_is_faster_than_on_an_empty_network() {
    let plan = plan(POISSON);
    for scheme in 0..3 {
        let Outcome { run, flows, .. } = outcome(&plan, scheme);
        let least = flows.iter().filter_map(|flow| flow.slowdown).fold(f64::INFINITY, f64::min);
        assert!((1.0..4.0).contains(&least), "{}: {least}", run.scheme);
        let all = run.fct.all.as_ref().unwrap();
        assert!(all.slowdown_mean.unwrap() >= least);
        assert_eq!(all.within_rtt, Some(0.0), "with a round trip before any data nothing is");
    }
}

#[test]
fn a_run_of_more_flows_than_are_remembered_forgets_none() {
    let group = "pattern = \"uniform\"\nsize = \"1KB\"\nflows = 12000\narrivals = { per_second = 20000 }";
    let plan = plan(group);
    let Outcome { run, flows, .. } = outcome(&plan, 0);
    assert_eq!((run.flows, flows.len()), (12_000, 12_000));
    assert!(flows.iter().enumerate().all(|(number, flow)| flow.flow as usize == number));
    let done = |flow: &&shallop_measure::flow_log::FlowRow| flow.received_bytes == 1_000;
    assert_eq!(flows.iter().filter(done).count(), 12_000);
    assert!((run.goodput_bps * run.duration_s - 12_000.0 * 8_000.0).abs() < 1.0);
    assert_eq!(run.jain, None, "shares of so many flows are not compared");
}

#[test]
fn bursts_are_sent_by_several_at_once_to_one() {
    let group = "pattern = \"incast\"\nat_once = 3\nsize = \"10KB\"\nflows = 9\n\
                 arrivals = { every = \"10ms\", at_once = 3 }";
    let plan = plan(group);
    let setup = ResolvedRun::new(&plan, 0, 1).unwrap();
    let flows: Vec<_> = FlowGenerator::new(&setup).collect();
    for (number, burst) in flows.chunks(3).enumerate() {
        let start = Span::from_ms(10 * number as u64);
        assert!(burst.iter().all(|flow| flow.start.since_start() == start));
        assert!(burst.iter().all(|flow| flow.to == burst[0].to), "one receiver");
        assert!(burst[0].from != burst[1].from && burst[1].from != burst[2].from);
    }
}

const TRACE: &str = "start,source,destination,bytes\n0.001,s0,r1,5000\n0.002,s3,r0,1\n2ms,s1,r2,1MB\n";

#[test]
fn a_trace_says_who_sends_what_to_whom_and_when() {
    let study = study("trace = \"flows.csv\"", &[("flows.csv", TRACE)]).unwrap();
    let plan = &study.points[0].plan;
    for scheme in 0..3 {
        let flows = outcome(plan, scheme).flows;
        let said = |flow: &shallop_measure::flow_log::FlowRow| {
            (flow.from.clone(), flow.to.clone(), flow.size_bytes, flow.received_bytes)
        };
        let expected = [("s0", "r1", 5_000), ("s3", "r0", 1), ("s1", "r2", 1_000_000)];
        let expected = expected.map(|(from, to, size)| (from.into(), to.into(), Some(size), size));
        assert_eq!(flows.iter().map(said).collect::<Vec<_>>(), expected);
        assert!((flows[1].start_s - 0.002).abs() < 1e-12);
    }
}

#[test]
fn what_is_wrong_with_a_trace_is_told_with_its_line() {
    let broken = TRACE.replace("s3", "s9");
    let message = study("trace = \"flows.csv\"", &[("flows.csv", &broken)]).unwrap_err().message();
    assert!(message.contains("line 3") && message.contains("s9"), "{message}");
}

#[test]
fn credits_ahead_of_the_data_do_not_go_with_data_ahead_of_credits() {
    let scheme = |text: &str| {
        let text = NETWORK.replace("{ transport = \"cubic\" }", text) + "[[group]]\nname = \"all\"\n";
        read(&text, &Options::default()).map_err(|problem| problem.message())
    };
    let both = scheme("{ transport = \"expresspass-ideal\", aeolus = true }");
    assert!(both.is_err_and(|message| message.contains("`aeolus`")));
    let named = "{ transport = \"expresspass-aeolus\" }, { transport = \"expresspass-ideal\" }";
    assert!(scheme(named).is_ok() && scheme("{ transport = \"expresspass-paper\" }").is_ok());
}

#[test]
fn a_group_that_is_added_moves_no_flow_of_another() {
    let one = study(POISSON, &[]).unwrap();
    let more = format!(
        "{POISSON}\n[[group]]\nname = \"more\"\nsize = \"1KB\"\nflows = 50\n\
                        arrivals = {{ per_second = 500 }}\npattern = \"uniform\""
    );
    let two = study(&more, &[]).unwrap();
    let flows = |study: &Study| {
        let setup = ResolvedRun::new(&study.points[0].plan, 0, 7).unwrap();
        let of_first = FlowGenerator::new(&setup).filter(|flow| flow.group == 0);
        of_first.map(|flow| (flow.start, flow.from, flow.to, flow.size)).collect::<Vec<_>>()
    };
    assert_eq!(flows(&one), flows(&two));
    assert_ne!(Seed::new(1), Seed::new(7));
}

#[test]
fn what_may_cross_a_port_is_known_before_any_flow_is() {
    let text = "title = \"wan\"\nduration = \"1s\"\ntopology = { kind = \"three-dc\" }\n\
                scheme = [{ transport = \"flashpass\" }]\n[[group]]\nname = \"all\"\nfrom = \"dc0\"\n\
                to = \"dc1\"\npattern = \"uniform\"\n";
    let study = read(text, &Options::default()).unwrap();
    let plan = &study.points[0].plan;
    let setup = ResolvedRun::new(plan, 0, 1).unwrap();
    let crossed = |data: bool| {
        let crossings = setup.traffic_paths.ports.iter();
        crossings.filter(|crossing| if data { crossing.data } else { crossing.returns }).count()
    };
    assert_eq!((crossed(true), crossed(false)), (41, 41), "20 links, the WAN, 20 links");
    let longest = setup.traffic_paths.longest.unwrap().base_rtt;
    assert!(longest > Span::from_ms(40) && longest < Span::from_us(40_100), "{longest}");
    assert_eq!(setup.traffic_paths.hops, 3);
    let measured = FlowGenerator::new(&setup).map(|flow| flow.path.base_rtt).max().unwrap();
    assert_eq!(measured, longest);
}

//! Runs with equal identities must have equal results, byte for byte.

use shallop_core::{BufferSize, Bytes};
use shallop_measure::run;
use shallop_plan::plan::{Accounting, Plan, Switch};
use shallop_scenario::{Options, read};
use shallop_workbench::identity::Identity;

const SCENARIO: &str = include_str!("reuse/scenario.toml");

/// Switch configurations: threshold marking, RED, averaged queues, a shared pool that marks, BCC.
const SWITCHES: [&str; 5] = [
    "[switch.default]\nbuffer = \"60KB\"\nmark = { above = \"15KB\" }\n",
    "[switch.default]\nbuffer = \"60KB\"\nmark = { min = \"5KB\", max = \"30KB\", probability = 0.5 }\n",
    "[switch.default]\nbuffer = \"60KB\"\nmark = { min = \"5KB\", max = \"30KB\", probability = 0.5, weight = 4 }\n",
    "[switch.default]\nshared = { size = \"100KB\", mark = { min = \"10KB\", max = \"40KB\", probability = 0.5 } }\n",
    "[switch.default]\nshared = { size = \"200KB\", alpha = 4 }\n\
     bcc = { rtt = \"300us\", lambda = 0.7, h = \"20us\", max = \"100KB\", min = \"20KB\" }\n",
];

const GROUPS: [&str; 2] = [
    "[[group]]\nname = \"all\"\nstart = \"0ms..5ms\"\n",
    "[[group]]\nname = \"web\"\nflows = 40\nsizes = \"web-server\"\narrivals = { load = 0.6, of = \"bottleneck\" }\n\
     [[group]]\nname = \"noise\"\nflows = 2\ntransport = { transport = \"udp\", rate = \"50Mbps\" }\n",
];

fn plans() -> Vec<Plan> {
    let texts = SWITCHES.iter().flat_map(|switch| GROUPS.map(|group| format!("{SCENARIO}{switch}{group}")));
    texts
        .map(|text| {
            let study = read(&text, &Options::default());
            study.unwrap_or_else(|why| panic!("{}\n{text}", why.message())).points[0].plan.clone()
        })
        .collect()
}

type Change = (&'static str, fn(&mut Switch));

/// Changes of switches, which some schemes notice and others do not.
const CHANGES: [Change; 6] = [
    ("no mark", |switch| {
        switch.mark = None;
        switch.bcc = None;
        if let Some(shared) = &mut switch.shared {
            shared.mark = None;
        }
    }),
    ("another mark", |switch| {
        let above = BufferSize::Bytes(Bytes::new(3_000));
        for mark in switch.mark.iter_mut().chain(switch.shared.iter_mut().filter_map(|it| it.mark.as_mut())) {
            (mark.min, mark.max) = (above, above);
        }
    }),
    ("no emulation queue", |switch| switch.emulation = false),
    ("another credit queue", |switch| {
        switch.credit_queue = BufferSize::Packets(3);
        switch.credit_burst = 7;
    }),
    ("selective drop", |switch| {
        switch.select = Some(BufferSize::Packets(1));
        switch.unscheduled_above = BufferSize::Packets(1);
    }),
    ("weights", |switch| {
        switch.weights = Some((3, 1));
        switch.accounting = Some(Accounting::TwoWay);
    }),
];

#[test]
fn runs_with_equal_identities_are_equal_byte_for_byte() {
    let (mut reused, mut made) = (0, 0);
    for plan in plans() {
        for scheme in 0..plan.schemes.len() {
            let results = |plan: &Plan| {
                let outcome = run(plan, scheme, 3, &mut |_| true).expect("a run");
                let run = serde_json::to_string(&outcome.run).expect("JSON");
                (run, outcome.flows, outcome.series)
            };
            let mut first = None;
            for (name, change) in CHANGES {
                let mut changed = plan.clone();
                changed.switches.iter_mut().for_each(change);
                let same = Identity::for_run(&changed, scheme, 3) == Identity::for_run(&plan, scheme, 3);
                made += usize::from(!same);
                if same && format!("{changed:?}") != format!("{plan:?}") {
                    reused += 1;
                    let first = first.get_or_insert_with(|| results(&plan));
                    let label = &plan.schemes[scheme].name;
                    assert!(*first == results(&changed), "{label}: {name} changes its results");
                }
            }
        }
    }
    // CUBIC and BBR notice no change, controllers that use ECN notice marks, and credit transports notice nearly all
    // changes.
    assert!(reused >= 80 && made >= 80, "{reused} reused, {made} made");
}

#[test]
fn a_scheme_that_sends_any_ecn_capable_packet_depends_on_marks() {
    let marked = &plans()[0];
    let without = |plan: &Plan| {
        let mut plan = plan.clone();
        plan.switches.iter_mut().for_each(|switch| switch.mark = None);
        plan
    };
    let notices =
        |plan: &Plan, scheme| Identity::for_run(plan, scheme, 1) != Identity::for_run(&without(plan), scheme, 1);
    let found: Vec<bool> = (0..6).map(|scheme| notices(marked, scheme)).collect();
    // Credit transports send ECN-capable packets, too.
    assert_eq!(found, [false, false, true, true, true, true]);
    let other = "[[group]]\nname = \"other\"\nflows = 1\n\
                 transport = { transport = \"udp\", rate = \"1Mbps\", ect = true }\n";
    let text = format!("{SCENARIO}{}{}{other}", SWITCHES[0], GROUPS[0]);
    let study = read(&text, &Options::default()).unwrap_or_else(|why| panic!("{}", why.message()));
    assert!(notices(&study.points[0].plan, 0));
    // All schemes notice a threshold above which packets that cannot be marked are dropped.
    let mut dropping = marked.clone();
    dropping.switches.iter_mut().for_each(|switch| {
        switch.mark = switch
            .mark
            .map(|mark| shallop_plan::plan::QueueMarking { signals: shallop_plan::plan::Signals::MarkOrDrop, ..mark });
    });
    assert!(notices(&dropping, 0));
}

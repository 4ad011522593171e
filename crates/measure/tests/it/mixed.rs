//! Several transports in one network: everybody finishes, what happens is a function of the seed, queues and meters are
//! what the weights say, and who breaks a promise is told.

use crate::support::{self, dumbbell, group, plan, schemes};
use shallop_core::{BitsPerSec, BufferSize, Bytes, Share, Span};
use shallop_measure::Outcome;
use shallop_plan::Plan;
use shallop_plan::plan::{Scheme, Starts, Topology};
use shallop_plan::{ResolvedRun, SetupError};
use shallop_scenario::{Options, read};
use shallop_topology::{Dumbbell, SenderDelay};

fn scheme(name: &str) -> Scheme {
    schemes().into_iter().find(|scheme| scheme.name == name).unwrap()
}

/// Two flows of the scheme and two of another transport, from hosts 2 to 5 to host 1, over 1 Gb/s.
fn beside(own: &str, other: &str, size: Option<u64>) -> Plan {
    let topology = Topology::from(Dumbbell {
        sender_delay: SenderDelay::One(Span::from_ms(1)),
        ..dumbbell(BitsPerSec::gbps(1), Span::from_ms(1), 4)
    });
    let mut groups = vec![group("new", (2, 1), 2, size), group("old", (4, 1), 2, size)];
    groups[0].from = vec![2, 3];
    groups[1].from = vec![4, 5];
    groups[1].transport = Some(scheme(other));
    for group in &mut groups {
        group.start = Starts::Drawn(Span::ZERO, Span::from_ms(5));
    }
    let mut plan = plan(topology, BufferSize::Bytes(Bytes::new(40_000)), groups);
    plan.schemes = vec![scheme(own)];
    plan.duration = Span::from_secs(3);
    plan.sample = Span::from_ms(10);
    plan
}

fn outcome(plan: &Plan, seed: u64) -> Outcome {
    support::outcome(plan, 0, seed)
}

const PAIRS: [(&str, &str); 8] = [
    ("flashpass", "cubic"),
    ("flashpass-mimd", "newreno"),
    ("expresspass", "cubic"),
    ("newreno", "cubic"),
    ("flashpass", "flashpass-mimd"),
    ("flashpass-aeolus", "cubic"),
    ("expresspass-aeolus", "expresspass"),
    ("expresspass-ideal", "cubic"),
];

#[test]
fn both_transports_finish_and_the_same_seed_gives_the_same_outcome() {
    for (own, other) in PAIRS {
        let plan = beside(own, other, Some(2_000_000));
        let first = outcome(&plan, 3);
        assert!(first.flows.iter().all(|flow| flow.fct_s.is_some()), "{own}, {other}");
        assert_eq!(first, outcome(&plan, 3), "{own}, {other}");
        assert_ne!(first.flows, outcome(&plan, 4).flows, "{own}, {other}");
        let labels: Vec<&str> = first.run.groups.iter().map(|g| g.transport.as_str()).collect();
        assert_eq!(labels, [own, other]);
        let sum: f64 = first.run.groups.iter().map(|group| group.throughput_bps).sum();
        assert!((sum / first.run.throughput_bps - 1.0).abs() < 1e-9, "{own}, {other}");
    }
}

#[test]
fn weights_leave_credits_the_part_of_the_link_that_data_have_and_nothing_is_lost() {
    let shared = outcome(&beside("flashpass", "cubic", None), 1).run;
    assert!(shared.groups[0].loss_rate > 0.0, "{:?}", shared.groups);
    assert_eq!(shared.warnings.len(), 1, "{:?}", shared.warnings);
    assert!(shared.warnings[0].contains("legacy_weight"), "{:?}", shared.warnings);
    for (data, legacy) in [(1, 1), (3, 1)] {
        let mut plan = beside("flashpass", "cubic", None);
        plan.switches[0].weights = Some((data, legacy));
        let setup = ResolvedRun::new(&plan, 0, 1).unwrap();
        let (own, all) = (u64::from(data), u64::from(data + legacy));
        assert_eq!(setup.layout.shares[0].metered, Share::new(own * 84, own * 84 + all * 1538));
        let run = outcome(&plan, 1).run;
        assert!(run.warnings.is_empty() && run.groups[0].loss_rate == 0.0, "{:?}", run.warnings);
        let share = run.groups[0].throughput_bps / 1e9;
        let theory = (own * 1500) as f64 / (own * 84 + all * 1538) as f64;
        assert!(share < theory && share > theory * 0.95, "{share} of {theory}");
        let legacy = run.queues.iter().find(|queue| queue.class == "legacy").unwrap();
        let most = 40_000 * (all - own) / all;
        assert!(legacy.max_bytes > most / 2 && legacy.max_bytes <= most, "{legacy:?}");
    }
}

#[test]
fn where_tcp_does_not_cross_weights_leave_credits_the_whole_link() {
    let mut plan = beside("flashpass", "cubic", None);
    plan.switches[0].weights = Some((1, 1));
    let setup = ResolvedRun::new(&plan, 0, 1).unwrap();
    // Links are numbered as they are made: the bottleneck, then those of the hosts 2 to 5.
    let shares = &setup.layout.shares;
    assert_eq!(shares[0].metered, Share::new(84, 84 + 2 * 1538));
    assert_eq!(shares[3].metered, Share::new(84, 84 + 1538), "from s0, where no TCP is");
}

#[test]
fn a_bottleneck_without_emulation_queue_loses_data_and_says_so() {
    for (own, what) in [("flashpass", "emulation packets"), ("expresspass", "credits")] {
        let mut plan = beside(own, own, None);
        plan.groups[1].transport = None;
        let metered = outcome(&plan, 1).run;
        assert_eq!((metered.drops.data, metered.warnings.len()), (0, 0), "{own}");
        plan.switches[0].emulation = false;
        let bare = outcome(&plan, 1).run;
        assert!(bare.warnings.iter().any(|w| w.contains(what)), "{:?}", bare.warnings);
        if own == "flashpass" {
            assert!(bare.drops.data > 0);
            let lost = format!("lost {} data packets", bare.drops.scheduled.unwrap_or(bare.drops.data));
            assert!(bare.warnings.iter().any(|w| w.contains(&lost)), "{:?}", bare.warnings);
        }
    }
}

#[test]
fn transports_that_ask_different_things_of_switches_are_refused() {
    let plan = beside("flashpass", "expresspass", None);
    let error = ResolvedRun::new(&plan, 0, 1).err();
    assert_eq!(error, Some(SetupError::Mix { scheme: "flashpass".to_owned() }));
}

const TEXT: &str = include_str!("scenarios/mixed.toml");

#[test]
fn a_group_says_its_transport_with_the_keys_of_a_scheme_and_set_reaches_them() {
    let study = read(TEXT, &Options::default()).unwrap();
    let plan = &study.points[0].plan;
    assert_eq!(plan.groups[0].transport, None);
    assert_eq!(plan.groups[1].transport.as_ref().unwrap().name, "cubic");
    assert_eq!((plan.switches[0].weights, plan.switches[0].emulation), (Some((3, 2)), false));
    let set = [("group.old.transport.transport", "newreno"), ("group.old.transport.stack", "linux-ideal")];
    let set = set.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
    let study = read(TEXT, &Options { set, ..Options::default() }).unwrap();
    let transport = study.points[0].plan.groups[1].transport.clone();
    assert_eq!(transport.map(|t| t.transport), Some(scheme("newreno").transport));
}

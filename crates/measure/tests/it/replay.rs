//! A run is a function of its plan, its scheme and its seed.

use crate::support::{dumbbell, group, outcome, plan};
use shallop_core::{BitsPerSec, BufferSize, Bytes, Span};
use shallop_measure::Outcome;
use shallop_plan::Plan;
use shallop_plan::plan::{Shared, Topology};
use shallop_topology::{Dumbbell, SenderDelay};

fn eight_flows() -> Plan {
    let topology = Topology::from(Dumbbell {
        access_rate: BitsPerSec::gbps(10),
        sender_delay: SenderDelay::Drawn(Span::ZERO, Span::from_ms(4)),
        receivers: 2,
        ..dumbbell(BitsPerSec::gbps(1), Span::from_ms(1), 4)
    });
    let groups = (0..4).map(|n| group("g", (2 + n, 6 + n % 2), 2, Some(400_000))).collect();
    let mut plan = plan(topology, BufferSize::Packets(30), groups);
    plan.sample = Span::from_ms(10);
    plan.windows = vec![(Span::from_ms(10), Span::from_ms(40))];
    plan
}

#[test]
fn the_same_seed_gives_the_same_outcome_and_another_seed_another() {
    let plan = eight_flows();
    for scheme in 0..plan.schemes.len() {
        let name = &plan.schemes[scheme].name;
        let first = outcome(&plan, scheme, 7);
        assert!(first.flows.iter().all(|flow| flow.fct_s.is_some()), "{name}");
        assert_eq!(first.run.drops.unscheduled.is_some(), name.ends_with("aeolus"), "{name}");
        assert_eq!(first, outcome(&plan, scheme, 7), "{name}");
        let other = outcome(&plan, scheme, 8);
        assert_ne!(first.flows, other.flows, "{name}");
    }
}

#[test]
fn a_scheme_does_not_depend_on_what_it_is_compared_with() {
    let plan = eight_flows();
    for (scheme, alone) in plan.schemes.iter().enumerate() {
        let single = Plan { schemes: vec![alone.clone()], ..plan.clone() };
        assert_eq!(outcome(&plan, scheme, 3), outcome(&single, 0, 3), "{}", alone.name);
    }
}

#[test]
fn what_happens_does_not_depend_on_when_somebody_looks() {
    let mut plan = eight_flows();
    plan.switches[0].shared = Some(Shared::new(Bytes::new(100_000)));
    let looked = Plan { sample: Span::from_ns(13_300), ..plan.clone() };
    for (scheme, named) in plan.schemes.iter().enumerate() {
        // When the last flow is seen to be over, and so how many credits are in vain, does.
        let told = |plan: &Plan| {
            let Outcome { run, flows, .. } = outcome(plan, scheme, 1);
            let flows: Vec<_> = flows.iter().map(|flow| (flow.fct_s, flow.sent, flow.retransmits)).collect();
            (flows, run.drops.data, run.delivered_data_packets)
        };
        assert_eq!(told(&plan), told(&looked), "{}", named.name);
    }
}

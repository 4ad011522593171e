//! Switches whose ports share their memory, in a network: what a port may hold, and that looking changes nothing.

use crate::support::{dumbbell, group, outcome, plan};
use shallop_core::{BitsPerSec, BufferSize, Bytes, Span};
use shallop_measure::outcome::Outcome;
use shallop_plan::plan::{Plan, Shared, Starts, Topology};
use shallop_topology::{Dumbbell, SenderDelay};

const SIZE: Bytes = Bytes::new(100_000);
const FRAME: u64 = 1538;

/// Hosts on the right of a fast link send to three on the left, eight flows to as many of these as `receivers`. The
/// links to them are slow and long, and share the memory of their switch.
fn incast(receivers: u32, alpha: f64) -> Plan {
    let topology = Topology::from(Dumbbell {
        access_rate: BitsPerSec::gbps(1),
        sender_delay: SenderDelay::Each((0..3).map(|n| Span::from_us(100 + 17 * n)).collect()),
        receivers: 6,
        ..dumbbell(BitsPerSec::gbps(100), Span::from_us(10), 3)
    });
    // Nodes 0 and 1 are the switches, then come the hosts on the left and those on the right.
    let groups = (0..receivers * 2).map(|number| {
        let mut group = group(&format!("g{number}"), (5 + number, 2 + number / 2), 4, Some(600_000));
        group.start = Starts::Drawn(Span::ZERO, Span::from_ms(2));
        group
    });
    let mut plan = plan(topology, BufferSize::Packets(1000), groups.collect());
    plan.duration = Span::from_secs(10);
    plan.switches[0].shared = Some(Shared { alpha, ..Shared::new(SIZE) });
    plan
}

fn run(plan: &Plan, scheme: &str) -> Outcome {
    let scheme = plan.schemes.iter().position(|other| other.name == scheme).unwrap();
    outcome(plan, scheme, 1)
}

#[test]
fn a_port_alone_fills_its_part_and_drops_beyond_it() {
    for alpha in [0.125, 0.5, 1.0, 4.0] {
        let plan = incast(1, alpha);
        let run = run(&plan, "newreno").run;
        let part = (SIZE.get() as f64 * alpha / (1.0 + alpha)) as u64;
        let longest = run.max_queue_bytes;
        assert!((part - FRAME..=part + FRAME).contains(&longest), "{alpha}: {longest}, not {part}");
        assert!(run.drops.data > 0, "{alpha}");
        assert_eq!(run.fct.all.as_ref().unwrap().unfinished, 0, "{alpha}");
    }
}

#[test]
fn ports_that_are_full_at_once_leave_each_other_their_part() {
    let alone = run(&incast(1, 1.0), "newreno").run.max_queue_bytes;
    let plan = incast(3, 1.0);
    let run = run(&plan, "newreno").run;
    let longest: Vec<u64> = (run.queues.iter())
        .filter(|queue| queue.class == "data" && queue.place.starts_with("left>"))
        .map(|queue| queue.max_bytes)
        .collect();
    let all: u64 = longest.iter().sum();
    assert_eq!(longest.len(), 3, "{:?}", run.queues);
    assert!(longest.iter().all(|&one| one < alone + FRAME && one > alone / 3), "{longest:?}");
    assert!(all > SIZE.get() / 2, "{longest:?}: together more than one alone");
}

#[test]
fn what_happens_does_not_depend_on_when_somebody_looks() {
    for scheme in ["newreno", "cubic", "expresspass", "flashpass-aeolus"] {
        let mut plan = incast(3, 1.0);
        let blind = run(&plan, scheme);
        plan.sample = Span::from_ns(13_300);
        let looked = run(&plan, scheme);
        // When the last flow is seen to be over, and so how many credits are in vain, does.
        let told = |run: &Outcome| -> Vec<_> {
            run.flows.iter().map(|flow| (flow.fct_s, flow.sent, flow.retransmits)).collect()
        };
        assert_eq!(told(&blind), told(&looked), "{scheme}");
        assert_eq!(blind.run.drops.data, looked.run.drops.data, "{scheme}");
        let delivered = |run: &Outcome| run.run.delivered_data_packets;
        assert_eq!(delivered(&blind), delivered(&looked), "{scheme}");
    }
}

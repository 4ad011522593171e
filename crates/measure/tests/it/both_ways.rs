//! `FlashPass` in both directions of one link: returned credits take room that the data of the other direction needs.

use crate::support::{dumbbell, group, plan, run_of};
use shallop_core::{BitsPerSec, BufferSize, Bytes, Span};
use shallop_plan::plan::{Accounting, Plan, Starts, Topology, Transport};
use shallop_results::summary::Run;
use shallop_topology::{Dumbbell, SenderDelay};

/// Four hosts on either side of a link of 10 Gb/s, each sending to one on the other side without end.
fn both_ways(accounting: Accounting, batch: u8) -> Plan {
    let topology = Topology::from(Dumbbell {
        sender_delay: SenderDelay::One(Span::from_us(10)),
        receivers: 4,
        ..dumbbell(BitsPerSec::gbps(10), Span::from_ms(2), 4)
    });
    // Hosts 2 to 5 are on the left, 6 to 9 on the right.
    let pair = |n: u32| [group("right", (2 + n, 6 + n), 1, None), group("left", (6 + n, 2 + n), 1, None)];
    let mut plan = plan(topology, BufferSize::Bytes(Bytes::new(200_000)), (0..4).flat_map(pair).collect());
    for group in &mut plan.groups {
        group.start = Starts::Drawn(Span::ZERO, Span::from_ms(20));
    }
    plan.switches[0].accounting = Some(accounting);
    plan.duration = Span::from_ms(500);
    plan.windows = vec![(Span::from_ms(300), Span::from_ms(500))];
    for scheme in &mut plan.schemes {
        if let Transport::FlashPass(config) = &mut scheme.transport {
            config.options.batch = batch;
        }
    }
    plan
}

/// The run of a law that lasts this long, and the IP bits per second of data each way over the last part of it.
fn measured(law: &str, plan: &Plan) -> (Run, f64) {
    let run = run_of(plan, law);
    let each = run.windows[0].throughput_bps / 2.0;
    (run, each)
}

fn lasting(ms: u64, plan: Plan) -> Plan {
    let end = Span::from_ms(ms);
    Plan { duration: end, windows: vec![(end - Span::from_ms(40), end)], ..plan }
}

#[test]
fn no_data_is_lost_where_returned_credits_are_accounted_for() {
    for (law, least) in [("flashpass", 8.6e9), ("flashpass-mimd", 8.0e9)] {
        let (run, each) = measured(law, &lasting(500, both_ways(Accounting::PerLink, 1)));
        assert_eq!(run.drops.data, 0, "{law}");
        // Of 1706 bytes 1500 are data at IP: 8.79 Gb/s is all there is.
        assert!((least..8.8e9).contains(&each), "{law}: {each} bits per second each way");
        assert!(run.max_queue_bytes < 40_000, "{law}: {} bytes", run.max_queue_bytes);
    }
}

#[test]
fn links_with_data_and_credits_count_the_same_always_or_when_they_need_to() {
    let run = |accounting| measured("flashpass", &lasting(60, both_ways(accounting, 1))).0;
    assert_eq!(run(Accounting::PerLink), run(Accounting::TwoWay));
}

#[test]
fn the_share_of_the_paper_loses_data_when_both_directions_are_full() {
    let (run, _) = measured("flashpass", &lasting(100, both_ways(Accounting::OneWay, 1)));
    assert!(run.drops.data > 0 && run.max_queue_bytes > 190_000, "{:?}", run.drops);
}

#[test]
fn a_start_with_credits_that_come_singly_loses_no_data_either() {
    // Until a sender knows its round trip it asks for no delay, and credits of one timestamp come back while the
    // accounting counts on full ones: the meter of returned credits drops the rest.
    let (run, _) = measured("flashpass", &lasting(100, both_ways(Accounting::PerLink, 6)));
    assert!(run.drops.data == 0 && run.drops.credit > 0, "{:?}", run.drops);
}

//! Aeolus in a network: what is dropped, how long queues grow, and how much sooner flows complete.

use crate::support::{dumbbell, group, plan, run_of as run};
use shallop_core::{BitsPerSec, BufferSize, Bytes, Span};
use shallop_plan::plan::{Group, Plan, Starts, Topology, Transport};
use shallop_results::summary::Run;
use shallop_topology::{Dumbbell, SenderDelay};

const FRAME: u64 = 1538;

/// So many hosts around the left switch of a link of 10 Gb/s to one receiver, a microsecond for each link.
fn star(senders: usize, groups: Vec<Group>) -> Plan {
    let topology = Topology::from(Dumbbell {
        sender_delay: SenderDelay::One(Span::from_us(10)),
        ..dumbbell(BitsPerSec::gbps(10), Span::from_us(10), senders)
    });
    let mut plan = plan(topology, BufferSize::Bytes(Bytes::new(200_000)), groups);
    plan.duration = Span::from_ms(200);
    plan.sample = Span::from_ms(10);
    plan
}

/// A group of the senders, all starting at this time; host 0 is the switch, 1 the receiver.
fn burst(name: &str, senders: std::ops::Range<u32>, at: Span, size: Option<u64>) -> Group {
    let flows = senders.len();
    let from = senders.map(|number| 2 + number).collect();
    Group { from, start: Starts::At(at), ..group(name, (0, 1), flows, size) }
}

const AEOLUS: [&str; 2] = ["expresspass-aeolus", "flashpass-aeolus"];

#[test]
fn a_burst_of_many_never_lifts_the_queue_above_the_threshold_and_costs_no_scheduled_packet() {
    for above in [2u64, 4, 8] {
        let size = Some(20 * 1460);
        let mut plan = star(16, vec![burst("all", 0..16, Span::ZERO, size)]);
        plan.switches[0].unscheduled_above = BufferSize::Packets(above as u32);
        for scheme in AEOLUS {
            let run = run(&plan, scheme);
            assert_eq!(run.drops.scheduled, Some(0), "{scheme}");
            let unscheduled = run.drops.unscheduled.unwrap();
            assert!(unscheduled > 200, "{scheme}: of 320 only {unscheduled} dropped");
            assert_eq!(run.drops.data, unscheduled);
            assert_eq!(run.fct.all.as_ref().unwrap().unfinished, 0, "{scheme}");
            let others = if scheme == "expresspass-aeolus" { 16 } else { 8 };
            // Requests, probes and repairs on credits come on top, which no threshold keeps out.
            let most = (above + others) * FRAME;
            assert!(run.max_queue_bytes <= most, "{scheme}: {} bytes", run.max_queue_bytes);
        }
    }
}

#[test]
fn flows_that_find_the_link_idle_end_a_round_trip_sooner() {
    let size = Some(10 * 1460);
    let plan = star(2, vec![burst("one", 0..1, Span::ZERO, size)]);
    let took = |scheme| run(&plan, scheme).fct.all.as_ref().unwrap().mean_s.unwrap();
    let round_trip = 40e-6;
    // Ten frames at 10 Gb/s, and two hops more for the last.
    let ideal = 20e-6 + 12.0 * 1.2304e-6;
    for scheme in AEOLUS {
        let took = took(scheme);
        assert!((ideal - 2e-6..ideal + 2e-6).contains(&took), "{scheme}: {took} s");
    }
    assert!(took("expresspass") - took("expresspass-aeolus") > 0.9 * round_trip);
    assert!(took("flashpass") - took("flashpass-aeolus") > 0.9 * round_trip);
}

#[test]
fn credits_asked_for_ahead_save_a_round_trip_and_change_nothing_else() {
    let plan = star(16, vec![burst("all", 0..16, Span::ZERO, Some(100_000))]);
    let (without, ahead) = (run(&plan, "expresspass"), run(&plan, "expresspass-ideal"));
    let mean = |run: &Run| run.fct.all.as_ref().unwrap().mean_s.unwrap();
    let saved = mean(&without) - mean(&ahead);
    // The smallest packet takes longer than nothing, so a base round trip is longer than its delays.
    assert!((40e-6..41e-6).contains(&saved), "{saved} s");
    assert_eq!((without.packet_hops, without.drops), (ahead.packet_hops, ahead.drops));
}

#[test]
fn newcomers_cost_flows_with_credits_neither_packets_nor_room() {
    for (plain, starred) in [("expresspass", AEOLUS[0]), ("flashpass", AEOLUS[1])] {
        let long = burst("long", 0..4, Span::ZERO, None);
        let short = burst("short", 4..20, Span::from_ms(20), Some(30_000));
        let mut plan = star(20, vec![long, short]);
        plan.duration = Span::from_ms(40);
        let (without, with) = (run(&plan, plain), run(&plan, starred));
        assert_eq!((without.drops.data, with.drops.scheduled), (0, Some(0)), "{starred}");
        assert!(with.drops.unscheduled.unwrap() > 100, "{starred}: {:?}", with.drops);
        assert_eq!(without.drops.unscheduled, None);
        let rise = with.max_queue_bytes.saturating_sub(without.max_queue_bytes);
        assert!(rise <= 10 * FRAME, "{starred}: {rise} bytes more queued");
        let ratio = with.throughput_bps / without.throughput_bps;
        assert!(ratio > 0.98, "{starred}: {ratio} of the throughput");
    }
}

#[test]
fn a_threshold_of_nothing_degenerates_to_no_start_and_one_of_everything_to_a_blind_burst() {
    let size = Some(100_000);
    let mut plan = star(16, vec![burst("all", 0..16, Span::ZERO, size)]);
    plan.switches[0].unscheduled_above = BufferSize::Packets(0);
    let nothing = run(&plan, "expresspass-aeolus");
    let sent = nothing.delivered_data_packets + nothing.drops.data;
    assert!(nothing.drops.unscheduled.unwrap() > 0 && nothing.drops.scheduled == Some(0));
    let without = run(&plan, "expresspass").fct.all.as_ref().unwrap().mean_s.unwrap();
    let mean = nothing.fct.all.as_ref().unwrap().mean_s.unwrap();
    assert!(mean < without * 1.1, "{mean} s instead of {without} s, {sent} packets");
    plan.switches[0].unscheduled_above = BufferSize::Bytes(Bytes::new(1 << 40));
    let blind = run(&plan, "expresspass-aeolus");
    assert!(blind.max_queue_bytes > 190_000, "the burst fills the buffer");
}

#[test]
fn over_provision_and_selective_drop_are_chosen_apart() {
    // Eight flows of 2 MB, one after the other: near its end each has spare emulation packets beside ordinary ones.
    let groups: Vec<_> =
        (0..8).map(|n| burst(&format!("g{n}"), n..n + 1, Span::from_us(u64::from(n) * 200), Some(2_000_000))).collect();
    let base = star(8, groups);
    let over = |on: bool, select: Option<BufferSize>| {
        let mut plan = base.clone();
        plan.switches[0].select = select;
        for scheme in &mut plan.schemes {
            if let Transport::FlashPass(config) = &mut scheme.transport {
                config.options.over_provision = Some(on);
            }
        }
        let run = run(&plan, "flashpass");
        assert_eq!((run.drops.data, run.fct.all.as_ref().unwrap().unfinished), (0, 0));
        (run.credit.unwrap(), run.fct.all.as_ref().unwrap().mean_s.unwrap())
    };
    let two = Some(BufferSize::Packets(2));
    let (off, slow) = over(false, two);
    let (on, fast) = over(true, two);
    let (blunt, _) = over(true, None);
    for credit in [&off, &on, &blunt] {
        assert_eq!(credit.granted, credit.used + credit.wasted);
    }
    assert!(on.sent > off.sent && fast <= slow * 1.01, "{on:?} {fast} s, {off:?} {slow} s");
    assert!(blunt != on, "the threshold is looked at");
}

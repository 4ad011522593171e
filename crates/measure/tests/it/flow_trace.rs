//! Traces of flows in whole runs.

use crate::support::{self, dumbbell, group, plan};
use shallop_core::{BitsPerSec, BufferSize, Bytes, Span};
use shallop_measure::Outcome;
use shallop_measure::series::{Quantity, Sample};
use shallop_plan::{Plan, plan::Transport};
use shallop_topology::Dumbbell;
use std::collections::BTreeMap;

const TRACED: [Quantity; 6] = [
    Quantity::Cwnd,
    Quantity::Ssthresh,
    Quantity::Pacing,
    Quantity::SmoothedRtt,
    Quantity::Delivered,
    Quantity::CaState,
];

/// Three long flows and one of ten segments that share a link with a small buffer for half a second.
fn crowded(record: Option<Span>) -> Plan {
    let dumbbell = Dumbbell {
        access_rate: BitsPerSec::gbps(1),
        ..dumbbell(BitsPerSec::at_least_one(100_000_000), Span::from_ms(5), 4)
    };
    let long = group("long", (2, 1), 3, None);
    let short = group("short", (5, 1), 1, Some(14_600));
    let buffer = BufferSize::Bytes(Bytes::new(30_000));
    let plan = plan(dumbbell.into(), buffer, vec![long, short]);
    Plan { record, duration: Span::from_ms(500), ..plan }
}

fn outcome(plan: &Plan, scheme: usize) -> Outcome {
    support::outcome(plan, scheme, 3)
}

/// The traced samples of an outcome, and the others with the names of their places.
fn divided(outcome: &Outcome) -> (Vec<Sample>, Vec<(String, Sample)>) {
    let of = &outcome.series;
    let (traced, others): (Vec<Sample>, Vec<Sample>) =
        of.samples.iter().partition(|sample| TRACED.contains(&sample.quantity));
    let named = |sample: Sample| (of.places[sample.place as usize].clone(), sample);
    (traced, others.into_iter().map(named).collect())
}

#[test]
fn recording_changes_no_other_result_of_any_transport() {
    let (without, with) = (crowded(None), crowded(Some(Span::from_us(333))));
    for scheme in 0..without.schemes.len() {
        let (plain, recorded) = (outcome(&without, scheme), outcome(&with, scheme));
        let name = &without.schemes[scheme].name;
        assert_eq!(plain.run, recorded.run, "{name}");
        assert_eq!(plain.flows, recorded.flows, "{name}");
        let ((none, before), (traced, after)) = (divided(&plain), divided(&recorded));
        assert!(none.is_empty() && !traced.is_empty(), "{name}");
        assert_eq!(before, after, "{name}");
    }
}

#[test]
fn each_flow_has_a_sample_at_each_multiple_of_the_interval_while_it_is_open() {
    let plan = crowded(Some(Span::from_ms(2)));
    for (scheme, named) in plan.schemes.iter().enumerate() {
        let outcome = outcome(&plan, scheme);
        let (traced, _) = divided(&outcome);
        let mut times: BTreeMap<(u32, Quantity), Vec<u64>> = BTreeMap::new();
        for sample in &traced {
            assert!(sample.value.is_finite() && sample.value >= 0.0, "{sample:?}");
            let ms = sample.time.as_ps() / 1_000_000_000;
            assert_eq!(sample.time, Span::from_ms(ms));
            times.entry((sample.place, sample.quantity)).or_default().push(ms);
        }
        let is_tcp = matches!(named.transport, Transport::Tcp(_));
        let quantity = if is_tcp { Quantity::Cwnd } else { Quantity::Pacing };
        for row in &outcome.flows {
            let place = format!("flow {}", row.flow);
            let place = outcome.series.places.iter().position(|name| *name == place).unwrap();
            let times = times.get(&(place as u32, quantity)).cloned().unwrap_or_default();
            assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "{}: {times:?}", named.name);
            if is_tcp && row.size_bytes.is_none() {
                let first = (row.start_s * 1e3) as u64;
                let all: Vec<u64> = (1..=250).map(|n| n * 2).filter(|&ms| ms > first).collect();
                let from = times.len() - all.len();
                assert_eq!(times[from..], all, "{}: flow {}", named.name, row.flow);
            }
        }
    }
}

#[test]
fn delivered_segments_grow_up_to_what_has_arrived() {
    let plan = crowded(Some(Span::from_ms(1)));
    let scheme = plan.schemes.iter().position(|scheme| scheme.name == "cubic").unwrap();
    let outcome = outcome(&plan, scheme);
    let (traced, _) = divided(&outcome);
    // The SYN of a flow may have been dropped.
    let sent = outcome.flows.iter().filter(|row| row.size_bytes.is_none() && row.received_bytes > 0);
    let (mut flows, mut recovering) = (0, 0);
    for row in sent {
        let place = format!("flow {}", row.flow);
        let place = outcome.series.places.iter().position(|name| *name == place).unwrap() as u32;
        let of = |quantity: Quantity| {
            let rows = traced.iter().filter(move |it| it.place == place && it.quantity == quantity);
            rows.map(|it| it.value).collect::<Vec<_>>()
        };
        let delivered = of(Quantity::Delivered);
        assert!(delivered.windows(2).all(|pair| pair[0] <= pair[1]));
        let arrived = row.received_bytes as f64 / 1_448.0;
        let last = delivered[delivered.len() - 1];
        assert!(last <= arrived + 1.0 && last > 0.8 * arrived, "{last} of {arrived}");
        let states = of(Quantity::CaState);
        assert!(states.iter().all(|&state| state <= 4.0));
        assert!(of(Quantity::SmoothedRtt).iter().all(|&srtt| (0.01..0.05).contains(&srtt)));
        assert!(of(Quantity::Cwnd).iter().all(|&cwnd| (1.0..300.0).contains(&cwnd)));
        flows += 1;
        recovering += usize::from(states.contains(&3.0) && !of(Quantity::Ssthresh).is_empty());
    }
    assert!(flows > 0 && recovering > 0, "{flows} flows, {recovering} recover");
}

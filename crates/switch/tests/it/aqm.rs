//! Queue disciplines that drop packets after they have enqueued them: packets and bytes are conserved, limits hold, and
//! the result does not depend on when the port catches up.

use crate::support::bench;
use proptest::prelude::*;
use shallop_core::{Bytes, Class, Ecn, End, Envelope, Packet, Span, Time};

fn at(us: u64) -> Time {
    Time::after_start(Span::from_us(us))
}

/// The disciplines under test, with several settings: a thousandth of the times of RFCs, for a link that is a thousand
/// times as fast.
const DISCIPLINES: [&str; 9] = [
    "codel target=5us interval=100us",
    "codel target=5us interval=100us ecn=false",
    "codel target=5us interval=100us ce_threshold=2us",
    "fq-codel target=5us interval=100us flows=1024 limit=10240",
    "fq-codel target=5us interval=100us flows=2 limit=12",
    "dualpi2 target=15us tupdate=16us alpha=160.0 beta=3200.0 step_thresh=800ns ramp=4us",
    "dualpi2 target=15us tupdate=16us alpha=160.0 beta=3200.0 step_thresh=800ns ramp=4us random=true",
    "dualpi2 target=15us tupdate=16us alpha=160.0 beta=3200.0 step_thresh=800ns ramp=4us time_shift=50us",
    "pie target=15us tupdate=15us max_burst=30us alpha=1250.0 beta=12500.0",
];

/// A further property of the port: acknowledgements have a queue of higher or of equal priority, the data queue may use
/// half of the link, frames.
const EXTRAS: [&str; 5] = ["", "\nqueue ack", "\nqueue ack priority=1", " meter=500Mbps/3076B", " frames=20us/5000B"];

/// An arrival: microseconds since the previous one, flow, size, ECN field, whether it is data.
type Arrival = (u64, u32, u16, Ecn, bool);

fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let ecn = prop::sample::select(vec![Ecn::NotEct, Ecn::Ect, Ecn::Ect1, Ecn::Ce]);
    let gap = prop_oneof![4 => 0u64..12, 1 => 0u64..600];
    prop::collection::vec((gap, 0u32..6, 84u16..=1538, ecn, prop::bool::weighted(0.8)), 1..300)
}

fn packet(number: usize, &(_, flow, size, ecn, data): &Arrival) -> Packet<u32> {
    let class = if data { Class::Data } else { Class::Ack };
    Packet { envelope: Envelope { end: End(flow), size, class, ecn }, cargo: number as u32 }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn packets_are_conserved_within_limits_and_catching_up_early_changes_nothing(
        coming in arrivals(),
        looks in prop::collection::vec(0u64..6_000, 0..60),
        which in 0usize..9,
        extra in 0usize..5,
        size in 2_000u64..60_000,
    ) {
        let (aqm, extra) = (DISCIPLINES[which], EXTRAS[extra]);
        let port = format!("link 1Gbps 1us\npool {size}B alpha=8\nqueue priority=1 aqm={aqm}{extra}");
        let (mut lazy, mut eager) = (bench(&port), bench(&port));
        let mut looks = looks;
        looks.sort_unstable();
        let (mut now, mut looks, mut taken) = (0, looks.into_iter().peekable(), 0);
        for (number, coming) in coming.iter().enumerate() {
            now += coming.0;
            while let Some(look) = looks.next_if(|&look| look <= now) {
                eager.catch_up(at(look));
            }
            let packet = packet(number, coming);
            let fits = lazy.offer(at(now), &packet);
            prop_assert_eq!(fits, eager.offer(at(now), &packet));
            taken += usize::from(fits.is_ok());
            prop_assert!(lazy.held().get() <= size);
        }
        let arrivals = lazy.drain();
        prop_assert_eq!(&arrivals, &eager.drain());
        prop_assert_eq!(&lazy.probe, &eager.probe);
        // Packets and bytes are conserved, and all memory is released.
        let (dropped, counts) = (&lazy.probe.drops, lazy.port.counters());
        prop_assert_eq!(arrivals.len() + dropped.len(), coming.len());
        prop_assert_eq!(counts.sent.iter().sum::<u64>() as usize, arrivals.len());
        prop_assert_eq!(counts.dropped.iter().sum::<u64>() as usize, dropped.len());
        prop_assert_eq!(lazy.port.take_dropped().count(), taken - arrivals.len());
        let sizes = |all: &mut dyn Iterator<Item = u16>| all.map(u64::from).sum::<u64>();
        let left = sizes(&mut arrivals.iter().map(|it| it.1.envelope.size));
        let lost = sizes(&mut dropped.iter().map(|it| it.2.size));
        prop_assert_eq!(left + lost, sizes(&mut coming.iter().map(|it| it.2)));
        prop_assert_eq!((lazy.held(), lazy.port.queued()), (Bytes::ZERO, 0));
        let mut pool = lazy.pool.take().unwrap();
        pool.advance_to(at(1_000_000));
        prop_assert_eq!(pool.occupancy().held(), Bytes::ZERO);
        // No packet leaves before it came, flows stay in order, and only ECT becomes CE.
        let mut last = std::collections::BTreeMap::new();
        let came = |number: u32| {
            let gaps = coming[..=number as usize].iter().map(|it| it.0);
            at(gaps.sum())
        };
        for (arrival, packet, _) in &arrivals {
            let of = &coming[packet.cargo as usize];
            prop_assert!(*arrival > came(packet.cargo));
            let key = (of.1, of.4, of.3 == Ecn::Ect1 || of.3 == Ecn::Ce);
            prop_assert!(last.insert(key, packet.cargo).is_none_or(|last| last < packet.cargo));
            let kept = packet.envelope.ecn == of.3;
            prop_assert!(kept || (packet.envelope.ecn == Ecn::Ce && of.3.is_ect()));
        }
        let marked = arrivals.iter().filter(|(_, it, _)| it.envelope.ecn != coming[it.cargo as usize].3);
        prop_assert_eq!(marked.count(), lazy.probe.marks.len());
        prop_assert!(lazy.probe.lengths.is_sorted_by_key(|it| it.0));
    }
}

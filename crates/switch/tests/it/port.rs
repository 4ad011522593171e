//! A port from outside: packets are enqueued at given times, and arrive at the other end of the wire. Ports without
//! chance are in `ports.txt`.

use proptest::prelude::*;
use shallop_core::{Bytes, Class, DropCause, Ecn, Packet, Span, Time};

use crate::support::{Bench, bench, packet};

const FRAME: u16 = 1538;
const CREDIT: u16 = 84;
/// A 1538 B frame at 10 Gb/s, in picoseconds.
const FRAME_PS: u64 = 1_230_400;

fn at(ps: u64) -> Time {
    Time::after_start(Span::from_ps(ps))
}

impl Bench {
    fn offer_at(&mut self, ps: u64, packet: Packet<u32>) -> bool {
        self.offer(at(ps), &packet).is_ok()
    }

    /// Drains the port. Returns the arrivals as (picosecond, head).
    fn arrivals(&mut self) -> Vec<(u64, u32)> {
        self.drain().iter().map(|(at, packet, _)| (at.since_start().as_ps(), packet.cargo)).collect()
    }

    /// The arrivals of packets that are sent at time zero.
    fn arrivals_of(&mut self, packets: u32) -> Vec<(u64, u32)> {
        (0..packets).for_each(|head| assert!(self.offer_at(0, packet(Class::Data, FRAME, Ecn::Ect, head))));
        self.arrivals()
    }
}

#[test]
fn a_change_of_rate_and_delay_takes_effect_on_time_and_does_not_reorder() {
    let mut bench = bench("link 10Gbps 100us\nwire jitter=5us\nchange 12.304us 1Gbps 1us\nqueue");
    let arrivals = bench.arrivals_of(20);
    assert!(arrivals.is_sorted());
    assert!(arrivals.iter().map(|&(_, head)| head).eq(0..20));
    assert_eq!(bench.port.free_at(), at(FRAME_PS * 10 + FRAME_PS * 10 * 10));
}

#[test]
fn reordered_packets_are_overtaken_and_arrive_once() {
    let arrivals = bench("buffer 20MB\nwire reordering=0.1/30us\nqueue").arrivals_of(4_000);
    assert!(arrivals.is_sorted_by_key(|&(at, _)| at), "arrivals come in the order of time");
    let mut heads: Vec<u32> = arrivals.iter().map(|&(_, head)| head).collect();
    let on_time = |head: u32| FRAME_PS * u64::from(head + 1) + 1_000_000;
    let lateness = arrivals.iter().map(|&(at, head)| at - on_time(head));
    let late: Vec<u64> = lateness.filter(|&late| late > 0).collect();
    assert!((300..500).contains(&late.len()), "{}", late.len());
    assert!(late.iter().all(|&late| late < 30_000_000) && late.iter().max() > Some(&25_000_000));
    assert!(heads.windows(2).filter(|two| two[0] > two[1]).count() > 250, "later packets overtake them");
    heads.sort_unstable();
    assert!(heads.into_iter().eq(0..4_000), "each packet arrives once");
}

/// A port with a metered queue of eight credits, and a second queue for other packets.
const CREDITS: &str = "buffer 200KB\nqueue credit emulation credits own=8pkt\nqueue priority=1";

proptest! {
    #[test]
    fn catching_up_more_often_does_not_change_the_result(
        gaps in prop::collection::vec((0u64..3_000_000, 0usize..5), 1..120),
        looks in prop::collection::vec(0u64..200_000_000, 0..60),
    ) {
        let (mut lazy, mut eager) = (bench(CREDITS), bench(CREDITS));
        let mut looks = looks;
        looks.sort_unstable();
        let (mut now, mut seen) = (0, 0);
        for (head, &(gap, class)) in gaps.iter().enumerate() {
            now += gap;
            while let Some(&look) = looks.get(seen).filter(|&&look| look <= now) {
                eager.catch_up(at(look));
                seen += 1;
            }
            let class = Class::ALL[class];
            let size = if class == Class::Data { FRAME } else { CREDIT };
            let slot = packet(class, size, Ecn::Ect, head as u32);
            prop_assert_eq!(lazy.offer_at(now, slot), eager.offer_at(now, slot));
        }
        prop_assert_eq!(lazy.arrivals(), eager.arrivals());
        prop_assert_eq!(&lazy.probe, &eager.probe);
        let (sent, dropped) = (lazy.probe.sent.len(), lazy.probe.drops.len());
        prop_assert_eq!(sent + dropped, gaps.len());
    }

    /// Aeolus: if the buffer has room for the threshold, unscheduled packets cause no drop of scheduled ones.
    #[test]
    fn unscheduled_data_lengthens_a_queue_by_at_most_the_threshold(
        arrivals in prop::collection::vec((0u64..3_000_000, any::<bool>(), 84u16..=FRAME), 1..200),
        above in 0u32..30_000,
    ) {
        let threshold = Bytes::new(u64::from(above));
        let port = |buffer: u64| bench(&format!("buffer {buffer}B\nqueue select={above}B"));
        let mut without = port(10_000_000);
        let mut now = 0;
        for (head, &(gap, scheduled, size)) in arrivals.iter().enumerate() {
            now += gap;
            if scheduled {
                without.offer_at(now, packet(Class::Data, size, Ecn::Ect, head as u32));
            }
        }
        without.arrivals();
        let most = without.probe.longest() + threshold + Bytes::new(u64::from(FRAME));
        let mut with = port(most.get());
        let mut now = 0;
        for (head, &(gap, scheduled, size)) in arrivals.iter().enumerate() {
            now += gap;
            let (class, ecn) = if scheduled {
                (Class::Data, Ecn::Ect)
            } else {
                (Class::Unscheduled, Ecn::NotEct)
            };
            let kept = with.offer_at(now, packet(class, size, ecn, head as u32));
            prop_assert!(kept || !scheduled, "a scheduled packet was dropped");
        }
        with.arrivals();
        prop_assert!(with.probe.drops.iter().all(|it| it.3 == DropCause::Selective));
        prop_assert!(with.probe.longest() <= most);
    }
}

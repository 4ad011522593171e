//! Queue disciplines that drop packets after they have enqueued them: packets and bytes are conserved, limits hold, and
//! the result does not depend on when the port catches up.

use crate::support::{self, at_port};
use proptest::prelude::*;
use shallop_core::{BitsPerSec, Bytes, Class, DropCause, Ecn, End, Envelope, Packet, Probe, QueueId, Span, Time};
use shallop_switch::{
    Aqm, Discipline, FrameAggregation, Meter, Pool, PoolConfig, PoolMember, PoolQuota, PortBuffer, PortConfig,
    QueueConfig,
};
use shallop_switch::{discipline::codel::CoDelConfig, discipline::dualpi2::DualPi2Config};
use shallop_switch::{discipline::fq_codel::FqCoDelConfig, discipline::pie::PieConfig};

type Bench = support::Bench<Trace>;

const MTU: Bytes = Bytes::new(1538);

fn at(us: u64) -> Time {
    Time::after_start(Span::from_us(us))
}

/// All calls of the probe, in order.
#[derive(Default, Debug, PartialEq)]
struct Trace {
    drops: Vec<(Time, Envelope, DropCause)>,
    marks: Vec<(Time, Envelope)>,
    sent: Vec<(Time, Envelope)>,
    lengths: Vec<(Time, u8, Bytes)>,
}

impl Probe for Trace {
    fn on_queue(&mut self, now: Time, at: QueueId, held: Bytes) {
        self.lengths.push((now, at.queue, held));
    }
    fn on_drop(&mut self, now: Time, _: QueueId, packet: &Envelope, why: DropCause) {
        self.drops.push((now, *packet, why));
    }
    fn on_mark(&mut self, now: Time, _: QueueId, packet: &Envelope) {
        assert_ne!(packet.ecn, Ecn::NotEct);
        self.marks.push((now, *packet));
    }
    fn on_send(&mut self, now: Time, _: u32, packet: &Envelope) {
        self.sent.push((now, *packet));
    }
}

/// `CoDel` with a thousandth of the RFC's times, for a link that is a thousand times as fast.
fn codel() -> CoDelConfig {
    let (target, interval) = (Span::from_us(5), Span::from_us(100));
    CoDelConfig { target, interval, ..CoDelConfig::defaults(()) }
}

fn dualpi2(time_shift: Option<Span>, random: bool) -> Aqm {
    let us = Span::from_us;
    Aqm::DualPi2(DualPi2Config {
        target: us(15),
        tupdate: us(16),
        alpha: 160.0,
        beta: 3_200.0,
        step_thresh: Span::from_ns(800),
        ramp: us(4),
        time_shift,
        random,
        ..DualPi2Config::defaults(())
    })
}

fn on_port(aqm: Aqm) -> Discipline {
    at_port(aqm, MTU)
}

/// The disciplines under test, with several settings.
fn disciplines() -> Vec<Discipline> {
    let without_ecn = CoDelConfig { ecn: false, ..codel() };
    let threshold = CoDelConfig { ce_threshold: Some(Span::from_us(2)), ..codel() };
    let fq = |flows, limit| {
        let config = FqCoDelConfig::defaults(());
        Aqm::FqCoDel(FqCoDelConfig { codel: codel(), flows, limit, ..config })
    };
    let (target, tupdate, max_burst) = (Span::from_us(15), Span::from_us(15), Span::from_us(30));
    let (alpha, beta) = (1_250.0, 12_500.0);
    let pie = Aqm::Pie(PieConfig { target, tupdate, max_burst, alpha, beta, ..PieConfig::defaults(()) });
    let all = vec![
        Aqm::CoDel(codel()),
        Aqm::CoDel(without_ecn),
        Aqm::CoDel(threshold),
        fq(1024, 10_240),
        fq(2, 12),
        dualpi2(None, false),
        dualpi2(None, true),
        dualpi2(Some(Span::from_us(50)), false),
        pie,
    ];
    all.into_iter().map(on_port).collect()
}

/// A further property of the port.
#[derive(Clone, Copy, Debug)]
enum Extra {
    None,
    /// Acknowledgements have a queue of higher priority.
    Priority,
    /// Acknowledgements have a queue of equal priority.
    Weighted,
    /// The data queue may use half of the link.
    Metered,
    Frames,
}

const EXTRAS: [Extra; 5] = [Extra::None, Extra::Priority, Extra::Weighted, Extra::Metered, Extra::Frames];

/// A port of 1 Gb/s with a pool of `size` bytes to itself.
fn bench(discipline: Discipline, extra: Extra, size: u64) -> Bench {
    let meter =
        matches!(extra, Extra::Metered).then(|| Meter::new(BitsPerSec::at_least_one(500_000_000), Bytes::new(3_076)));
    let frame = FrameAggregation { overhead: Span::from_us(20), max_bytes: Bytes::new(5_000) };
    let aggregate = matches!(extra, Extra::Frames).then_some(frame);
    let data = QueueConfig { discipline, meter, aggregate, priority: 1, ..Default::default() };
    let priority = u8::from(matches!(extra, Extra::Weighted));
    let acks = QueueConfig { priority, ..QueueConfig::default() };
    let apart = matches!(extra, Extra::Priority | Extra::Weighted);
    let (queues, ack) = if apart { (vec![data, acks], 1) } else { (vec![data], 0) };
    let quotas = vec![PoolQuota { alpha: 8.0, limit: None, private: Bytes::ZERO }; queues.len()];
    let member = PoolMember { pool: 0, index: 0 };
    let buffer = PortBuffer::pooled(member, vec![None; queues.len()], &quotas);
    let mut config = PortConfig::new(BitsPerSec::gbps(1), Span::from_us(1), queues);
    config.queue_of[Class::Ack.index()] = ack;
    let pool = PoolConfig { size: Bytes::new(size), cell: Bytes::new(1), red: None };
    Bench::new(&config, buffer, Some(Pool::new(&pool, 1)))
}

fn held(bench: &Bench) -> Bytes {
    bench.pool.as_ref().unwrap().held()
}

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
        extra in prop::sample::select(EXTRAS.to_vec()),
        size in 2_000u64..60_000,
    ) {
        let discipline = disciplines()[which].clone();
        let new = || bench(discipline.clone(), extra, size);
        let (mut lazy, mut eager) = (new(), new());
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
            prop_assert!(held(&lazy).get() <= size);
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
        let lost = sizes(&mut dropped.iter().map(|it| it.1.size));
        prop_assert_eq!(left + lost, sizes(&mut coming.iter().map(|it| it.2)));
        prop_assert_eq!((held(&lazy), lazy.port.queued()), (Bytes::ZERO, 0));
        let mut pool = lazy.pool.take().unwrap();
        pool.advance_to(at(1_000_000));
        prop_assert_eq!(pool.occupancy().held(), Bytes::ZERO);
        // No packet leaves before it came, flows stay in order, and only ECT becomes CE.
        let mut last = std::collections::BTreeMap::new();
        let came = |number: u32| {
            let gaps = coming[..=number as usize].iter().map(|it| it.0);
            at(gaps.sum())
        };
        for (arrival, packet) in &arrivals {
            let of = &coming[packet.cargo as usize];
            prop_assert!(*arrival > came(packet.cargo));
            let key = (of.1, of.4, of.3 == Ecn::Ect1 || of.3 == Ecn::Ce);
            prop_assert!(last.insert(key, packet.cargo).is_none_or(|last| last < packet.cargo));
            let kept = packet.envelope.ecn == of.3;
            prop_assert!(kept || (packet.envelope.ecn == Ecn::Ce && of.3.is_ect()));
        }
        let marked = arrivals.iter().filter(|(_, it)| it.envelope.ecn != coming[it.cargo as usize].3);
        prop_assert_eq!(marked.count(), lazy.probe.marks.len());
        prop_assert!(lazy.probe.lengths.is_sorted_by_key(|it| it.0));
    }
}

/// Enqueues packets at time zero; `flow` maps a packet's number to its flow. Returns the number of accepted packets.
fn burst(bench: &mut Bench, count: u32, size: u16, ecn: Ecn, flow: impl Fn(u32) -> u32) -> usize {
    let offered = (0..count).filter(|&number| {
        let coming = (0, flow(number), size, ecn, true);
        bench.offer(Time::ZERO, &packet(number as usize, &coming)).is_ok()
    });
    offered.count()
}

#[test]
fn a_port_continues_if_all_queued_packets_are_dropped_at_dequeue() {
    // In overload, with p' = 1, DualPI2 drops every Classic packet.
    let config = DualPi2Config {
        alpha: 1e9,
        beta: 0.0,
        target: Span::ZERO,
        tupdate: Span::from_us(1),
        ..DualPi2Config::defaults(())
    };
    let mut bench = bench(on_port(Aqm::DualPi2(config)), Extra::None, 100_000);
    assert_eq!(burst(&mut bench, 20, 1538, Ecn::NotEct, |_| 0), 20);
    let arrivals = bench.drain();
    assert_eq!((arrivals.len(), bench.probe.drops.len()), (1, 19), "packet 0 was in service");
    // All are dropped when the link becomes free: 1538 B at 1 Gb/s.
    let free = Time::after_start(Span::from_ns(12_304));
    assert!(bench.probe.drops.iter().all(|&(now, _, why)| (now, why) == (free, DropCause::Aqm)));
    assert_eq!((held(&bench), bench.port.deadline()), (Bytes::ZERO, None));
    assert_eq!(bench.probe.lengths.last(), Some(&(free, 0, Bytes::ZERO)));
    // p' is still 1, so a packet that finds the link idle is dropped, too.
    let coming = (0, 0, 1538, Ecn::NotEct, true);
    assert!(bench.offer(free, &packet(0, &coming)).is_err());
}

#[test]
fn fq_codel_makes_room_by_dropping_from_the_longest_queue() {
    // Memory for nine packets; packet 0 is in service.
    let discipline = on_port(Aqm::FqCoDel(FqCoDelConfig { codel: codel(), ..FqCoDelConfig::defaults(()) }));
    let mut bench = bench(discipline, Extra::None, 15_380);
    assert_eq!(burst(&mut bench, 10, 1538, Ecn::Ect, |_| 0), 10);
    let other = |number| packet(number, &(0, 2, 1538, Ecn::Ect, true));
    // Alpha 8 and a pool of 10 packets: another packet is refused, since 8 x (10 - 9) is less than the 9 held.
    assert!(bench.probe.drops.is_empty());
    assert!(bench.offer(Time::ZERO, &other(10)).is_ok(), "accepted though memory is full");
    let victims: Vec<End> = bench.probe.drops.iter().map(|it| it.1.end).collect();
    assert_eq!(victims, [End(0); 4], "half of nine, from the head");
    assert_eq!(bench.port.take_dropped().collect::<Vec<_>>(), [End(0); 4]);
    let order: Vec<u32> = bench.drain().iter().map(|it| it.1.cargo).collect();
    assert_eq!(order, [0, 10, 5, 6, 7, 8, 9], "packet 0 used up the quantum of its flow");
}

#[test]
fn a_port_is_idle_after_all_queued_packets_were_dropped_for_one_that_does_not_fit() {
    let discipline = on_port(Aqm::FqCoDel(FqCoDelConfig { codel: codel(), ..FqCoDelConfig::defaults(()) }));
    let mut bench = bench(discipline, Extra::Metered, 1_000);
    let mut offer = |us, size| {
        let taken = bench.offer(at(us), &packet(0, &(0, 0, size, Ecn::Ect, true))).is_ok();
        while bench.port.pop_arrived(at(us)).is_some() {}
        (taken, bench.port.queued(), bench.port.deadline())
    };
    // Three packets leave 87 tokens, and 812 arrive in 13 us. Packet 4 waits until there are 1,538.
    let left: Vec<_> = [0, 13, 26].map(|us| offer(us, 1538)).into();
    assert!(left.iter().all(|it| (it.0, it.1) == (true, 0)), "{left:?}");
    let (taken, queued, _) = offer(39, 900);
    assert_eq!((taken, queued), (true, 1));
    // It is dropped to make room for a packet that does not fit even into empty memory.
    assert_eq!(offer(40, 1538), (false, 0, None));
    let (taken, queued, due) = offer(1_000, 900);
    assert_eq!((taken, queued, due), (true, 0, Some(at(1_000) + Span::from_ns(7_200 + 1_000))));
}

#[test]
fn codel_on_a_port_drops_at_the_times_of_its_control_law() {
    // A packet takes 12.304 us. Target 5 us, interval 100 us: the first packet leaves the queue at 12.304 us and has
    // waited longer than the target, so the drop state begins with the first packet that leaves at 112.304 us or later:
    // at 123.04 us. Drop 2 is due at 223.04 us and made at 233.776 us, drop 3 70.711 us after 223.04 us, at 295.296 us.
    let discipline = on_port(Aqm::CoDel(codel()));
    let mut bench = bench(discipline, Extra::None, 1_000_000);
    burst(&mut bench, 40, 1538, Ecn::NotEct, |_| 0);
    bench.drain();
    let times: Vec<u64> = bench.probe.drops.iter().map(|it| it.0.since_start().as_ps() / 1_000).collect();
    assert_eq!(times[..3], [123_040, 233_776, 295_296]);
    assert!(bench.probe.drops.iter().all(|it| it.2 == DropCause::Aqm));
}

#[test]
fn l4s_packets_overtake_classic_ones() {
    let mut bench = bench(on_port(dualpi2(None, false)), Extra::None, 1_000_000);
    for number in 0..10 {
        let ecn = if number < 8 { Ecn::Ect } else { Ecn::Ect1 };
        bench.offer(Time::ZERO, &packet(number, &(0, 0, 1538, ecn, true))).unwrap();
    }
    let order: Vec<u32> = bench.drain().iter().map(|it| it.1.cargo).collect();
    assert_eq!(order[..4], [0, 8, 9, 1], "one Classic packet was in service");
}

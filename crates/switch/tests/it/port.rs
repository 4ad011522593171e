//! A port from outside: packets are enqueued at given times, and arrive at the other end of the wire.

use proptest::prelude::*;
use shallop_core::{
    BitsPerSec, BufferSize, Bytes, Class, DropCause, Ecn, Envelope, Packet, Probe, QueueId, Seed, Share, Span, Time,
};
use shallop_switch::{
    Discipline, Fate, FifoConfig, Impairment, Limit, LinkChange, MarkAt, MarkThreshold, Meter, Outage, PortBuffer,
    PortConfig, QueueConfig, SelectiveDrop,
};

use crate::support::{self, packet, queue};

const FRAME: u16 = 1538;
const CREDIT: u16 = 84;
/// A 1538 B frame at 10 Gb/s, in picoseconds.
const FRAME_PS: u64 = 1_230_400;

fn at(ps: u64) -> Time {
    Time::after_start(Span::from_ps(ps))
}

fn data(head: u32) -> Packet<u32> {
    packet(Class::Data, FRAME, Ecn::Ect, head)
}

#[derive(Default)]
struct Tally {
    drops: Vec<(u32, DropCause)>,
    marks: u32,
    sent: u32,
    longest: Bytes,
}

impl Probe for Tally {
    fn on_queue(&mut self, _: Time, _: QueueId, held: Bytes) {
        self.longest = self.longest.max(held);
    }
    fn on_drop(&mut self, _: Time, at: QueueId, _: &Envelope, why: DropCause) {
        self.drops.push((u32::from(at.queue), why));
    }
    fn on_mark(&mut self, _: Time, _: QueueId, _: &Envelope) {
        self.marks += 1;
    }
    fn on_send(&mut self, _: Time, _: u32, _: &Envelope) {
        self.sent += 1;
    }
}

type Bench = support::Bench<Tally>;

/// A port of 10 Gb/s with a wire of 1 us.
fn config(queues: Vec<QueueConfig>) -> PortConfig {
    PortConfig::new(BitsPerSec::gbps(10), Span::from_us(1), queues)
}

fn bench(config: &PortConfig, buffer: &str, own: Vec<Option<Limit>>) -> Bench {
    let buffer: BufferSize = buffer.parse().unwrap();
    Bench::new(config, PortBuffer::new(Limit::for_buffer(buffer, config.rate), own), None)
}

fn single(queue: QueueConfig, buffer: &str) -> Bench {
    bench(&config(vec![queue]), buffer, vec![None])
}

fn plain(buffer: &str) -> Bench {
    single(QueueConfig::default(), buffer)
}

fn credit_meter() -> Meter {
    let share = Share::of(Bytes::new(84), Bytes::new(1538)).unwrap();
    Meter::new(BitsPerSec::gbps(10).share(share), Bytes::new(168))
}

/// A port with a metered queue of eight credits, and a second queue for other packets.
fn credits() -> Bench {
    let metered = QueueConfig { meter: Some(credit_meter()), ..QueueConfig::default() };
    let rest = QueueConfig { priority: 1, ..QueueConfig::default() };
    let eight = Limit { packets: 8, ..Limit::NONE };
    let config = PortConfig { queue_of: [1, 1, 1, 0, 0, 1, 1, 1], ..config(vec![metered, rest]) };
    bench(&config, "200KB", vec![Some(eight), None])
}

impl Bench {
    fn offer_at(&mut self, ps: u64, packet: Packet<u32>) -> bool {
        self.offer(at(ps), &packet).is_ok()
    }

    /// Drains the port. Returns the arrivals as (picosecond, head).
    fn arrivals(&mut self) -> Vec<(u64, u32)> {
        self.drain().iter().map(|(at, packet)| (at.since_start().as_ps(), packet.cargo)).collect()
    }
}

#[test]
fn frames_arrive_one_transmission_time_apart() {
    let mut bench = plain("200KB");
    for head in 0..3 {
        assert!(bench.offer_at(0, data(head)));
    }
    let expected: Vec<_> = (0..3).map(|n| (FRAME_PS * (n + 1) + 1_000_000, n as u32)).collect();
    assert_eq!(bench.arrivals(), expected);
}

#[test]
fn a_full_buffer_drops_arrivals_until_a_frame_has_left() {
    let mut bench = plain("2pkt");
    let taken: Vec<_> = (0..4).map(|head| bench.offer_at(0, data(head))).collect();
    assert_eq!(taken, [true, true, true, false], "one in service, two queued");
    assert!(bench.offer_at(FRAME_PS, data(4)), "departures precede an arrival at one instant");
    assert!(!bench.offer_at(FRAME_PS, data(5)));
    assert_eq!(bench.probe.drops, [(0, DropCause::BufferFull), (0, DropCause::BufferFull)]);
    assert_eq!(bench.arrivals().len(), 4);
}

#[test]
fn of_twenty_credits_at_once_one_is_sent_eight_wait_and_eleven_are_dropped() {
    let mut bench = credits();
    let kept = (0..20).filter(|&head| bench.offer_at(0, packet(Class::Credit, CREDIT, Ecn::Ect, head))).count();
    assert_eq!((kept, bench.probe.drops.len()), (9, 11));
    assert!(bench.probe.drops.iter().all(|drop| *drop == (0, DropCause::MeteredQueueFull)));
    let times: Vec<_> = bench.arrivals().iter().map(|&(ps, _)| ps - 67_200 - 1_000_000).collect();
    assert_eq!(times[..2], [0, 67_200]);
    for (nth, &ps) in times.iter().enumerate().skip(2) {
        assert!(ps.abs_diff((nth as u64 - 1) * 1_297_600) <= nth as u64, "{times:?}");
    }
}

#[test]
fn credits_within_their_rate_precede_data_and_data_fills_the_rest_of_the_link() {
    let mut bench = credits();
    for head in 0..50 {
        bench.offer_at(0, data(head));
    }
    for head in 50..58 {
        bench.offer_at(0, packet(Class::Credit, CREDIT, Ecn::Ect, head));
    }
    let arrivals = bench.arrivals();
    let order: Vec<_> = arrivals.iter().map(|&(_, head)| head).take(6).collect();
    assert_eq!(order, [0, 50, 51, 1, 52, 2], "one frame was in service, then the bucket's two credits");
    let busy = 50 * FRAME_PS + 8 * 67_200;
    assert_eq!(arrivals.last().unwrap().0, busy + 1_000_000, "the link never idles");
}

#[test]
fn a_packet_that_finds_the_link_idle_while_credits_wait_for_tokens_starts_as_it_arrives() {
    let mut bench = credits();
    for head in 0..3 {
        assert!(bench.offer_at(0, packet(Class::Credit, CREDIT, Ecn::Ect, head)));
    }
    // Two credits leave at once, the third waits for tokens until 1.30 us.
    assert!(bench.offer_at(500_000, data(3)));
    let arrivals = bench.arrivals();
    let order = arrivals.iter().map(|&(_, head)| head);
    assert!(order.eq([0, 1, 3, 2]), "{arrivals:?}");
    let starts = [arrivals[2].0 - 1_000_000 - FRAME_PS, arrivals[3].0 - 1_000_000 - 67_200];
    assert_eq!(starts, [500_000, 500_000 + FRAME_PS]);
}

#[test]
fn queues_of_one_priority_share_by_weight() {
    let weighted = |weight| QueueConfig { weight, ..QueueConfig::default() };
    let queues = vec![weighted(3), weighted(1)];
    let config = PortConfig { queue_of: [0, 1, 1, 1, 1, 1, 1, 1], ..config(queues) };
    let mut bench = bench(&config, "10MB", vec![None, None]);
    for head in 0..800 {
        bench.offer_at(0, data(head));
        bench.offer_at(0, packet(Class::Ack, FRAME, Ecn::Ect, 1000 + head));
    }
    let first: Vec<_> = bench.arrivals().into_iter().take(400).collect();
    let heavy = first.iter().filter(|&&(_, head)| head < 1000).count();
    assert!(heavy.abs_diff(300) <= 2, "{heavy} of 400");
}

#[test]
fn packets_above_the_threshold_are_marked_at_enqueue_or_dequeue() {
    for (when, marked) in [(MarkAt::Enqueue, 3), (MarkAt::Dequeue, 3)] {
        let above = Limit { packets: 5, ..Limit::NONE };
        let mark = Some(MarkThreshold { above, at: when });
        let queue = queue(Discipline::Fifo(FifoConfig { mark, red: vec![] }));
        let mut bench = single(queue, "200KB");
        for head in 0..9 {
            bench.offer_at(0, data(head));
        }
        let marks: Vec<_> = bench.drain().iter().map(|(_, it)| it.envelope.ecn == Ecn::Ce).collect();
        assert_eq!(marks.iter().filter(|&&ce| ce).count(), marked);
        assert_eq!(marks[1], when == MarkAt::Dequeue, "the oldest frame in the queue");
        assert_eq!(marks[8], when == MarkAt::Enqueue, "the youngest");
    }
}

#[test]
fn selective_drop_admits_only_ecn_capable_packets_above_its_threshold() {
    let above = Limit { packets: 2, ..Limit::NONE };
    let queue = QueueConfig { select: Some(SelectiveDrop { above }), ..QueueConfig::default() };
    let mut bench = single(queue, "8pkt");
    let spare = |head| packet(Class::Emulation, CREDIT, Ecn::NotEct, head);
    let kept: Vec<_> = (0..5).map(|head| bench.offer_at(0, spare(head))).collect();
    assert_eq!(kept, [true, true, true, false, false], "one in service, two queued");
    assert!(bench.offer_at(0, packet(Class::Emulation, CREDIT, Ecn::Ect, 9)));
    assert_eq!(bench.probe.drops[0].1, DropCause::Selective);
}

/// Frames of 1,538 B arrive at a queue with one in service.
#[test]
fn selective_drop_at_a_threshold_drops_what_finds_it_reached() {
    for (threshold, reached, kept) in
        [(3_075, false, 1), (3_076, false, 2), (3_076, true, 2), (3_077, true, 3), (1, true, 1), (0, true, 0)]
    {
        let above = Limit { bytes: Bytes::new(threshold), ..Limit::NONE };
        let select = Some(SelectiveDrop { above });
        let queue = QueueConfig { select, select_reached: reached, ..QueueConfig::default() };
        let mut bench = single(queue, "200KB");
        let spare = |head| packet(Class::Unscheduled, FRAME, Ecn::NotEct, head);
        let admitted = (0..9).filter(|&head| bench.offer_at(0, spare(head))).count();
        assert_eq!(admitted, 1 + kept, "{threshold} {reached}");
    }
}

#[test]
fn a_change_of_rate_and_delay_takes_effect_on_time_and_does_not_reorder() {
    let change = LinkChange {
        at: at(FRAME_PS * 10),
        rate: BitsPerSec::new(1_000_000_000),
        delay: Some(Span::from_us(1)),
        hold: Time::ZERO,
    };
    let config = PortConfig {
        delay: Span::from_us(100),
        impairment: Some(Impairment { jitter: Span::from_us(5), ..perfect() }),
        changes: vec![change],
        ..config(vec![QueueConfig::default()])
    };
    let mut bench = bench(&config, "200KB", vec![None]);
    for head in 0..20 {
        bench.offer_at(0, data(head));
    }
    let arrivals = bench.arrivals();
    assert!(arrivals.is_sorted());
    assert!(arrivals.iter().map(|&(_, head)| head).eq(0..20));
    assert_eq!(bench.port.free_at(), at(FRAME_PS * 10 + FRAME_PS * 10 * 10));
}

#[test]
fn packets_that_are_due_in_a_pause_start_at_its_end() {
    let pause = |[from, until]: [u64; 2]| LinkChange {
        at: at(FRAME_PS * from),
        rate: None,
        delay: None,
        hold: at(FRAME_PS * until),
    };
    let config = PortConfig { changes: [[0, 5], [7, 9]].map(pause).to_vec(), ..config(vec![QueueConfig::default()]) };
    let mut bench = bench(&config, "200KB", vec![None]);
    for head in 0..4 {
        bench.offer_at(FRAME_PS, data(head));
    }
    // The third packet would start at the beginning of the second pause.
    let expected = [6, 7, 10, 11].map(|frames| frames * FRAME_PS + 1_000_000);
    assert!(bench.arrivals().iter().map(|&(at, _)| at).eq(expected));
}

fn perfect() -> Impairment {
    Impairment::none(Seed::new(1).stream("wire", 0))
}

/// Sends `packets` at time zero over this wire. Returns the port and the arrivals, as (picosecond, head).
fn arrivals_over(impairment: Impairment, packets: u32) -> (Bench, Vec<(u64, u32)>) {
    let impairment = Some(impairment);
    let config = PortConfig { impairment, ..config(vec![QueueConfig::default()]) };
    let mut bench = bench(&config, "20MB", vec![None]);
    for head in 0..packets {
        assert!(bench.offer_at(0, data(head)));
    }
    let arrivals = bench.arrivals();
    (bench, arrivals)
}

#[test]
fn reordered_packets_are_overtaken_and_arrive_once() {
    let late = Span::from_us(30);
    let impairment = Impairment { reordering: 0.1, reordering_delay: late, ..perfect() };
    let (_, arrivals) = arrivals_over(impairment, 4_000);
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

#[test]
fn packets_on_a_wire_during_an_outage_are_lost() {
    let us = |us| Time::after_start(Span::from_us(us));
    let once = Outage { from: us(100), lasts: Span::from_us(20), every: None };
    let often = Outage { from: us(500), every: Some(Span::from_us(50)), ..once };
    let impairment = Impairment { outages: vec![once, often], duplicates: 1.0, ..perfect() };
    let mut tally = Tally::default();
    let (mut bench, arrivals) = arrivals_over(impairment, 600);
    let mut fates = Vec::new();
    for (at_ps, _) in arrivals {
        let sent = data(0);
        fates.push((at_ps, bench.port.draw_fate(at(at_ps), &sent.envelope, &mut tally)));
    }
    for (at, fate) in fates {
        // Packets that arrive up to a microsecond after an outage were sent before its end.
        let since = |from: u64| at.checked_sub(from * 1_000_000);
        let is_in = |since: Option<u64>| since.is_some_and(|since| since < 21_000_000);
        let is_down = is_in(since(100)) || is_in(since(500).map(|since| since % 50_000_000));
        let expected = if is_down { Fate::Lost } else { Fate::Duplicated };
        assert_eq!(fate, expected, "{at}");
    }
    let counters = bench.port.counters();
    assert_eq!(counters.lost.iter().sum::<u64>(), tally.drops.len() as u64);
    assert_eq!(counters.lost.iter().chain(&counters.duplicated).sum::<u64>(), 600);
}

#[test]
fn a_meter_keeps_its_share_of_the_link_if_the_rate_changes_while_the_link_is_idle() {
    let queue = QueueConfig { meter: Some(credit_meter()), ..QueueConfig::default() };
    let config = PortConfig {
        delay: Span::ZERO,
        changes: vec![LinkChange { at: at(0), rate: BitsPerSec::new(1_000_000_000), delay: None, hold: Time::ZERO }],
        ..config(vec![queue])
    };
    let mut bench = bench(&config, "200KB", vec![None]);
    // The first credits arrive a second later.
    for head in 0..10 {
        bench.offer_at(1_000_000_000_000, packet(Class::Credit, CREDIT, Ecn::Ect, head));
    }
    let arrivals = bench.arrivals();
    let gaps: Vec<u64> = arrivals.windows(2).map(|two| two[1].0 - two[0].0).collect();
    assert!(gaps[0] < 1_000_000, "{gaps:?}");
    // Two credits find tokens; the others follow at the share of the new rate.
    assert!(gaps[1..].iter().all(|gap| gap.abs_diff(12_976_000) < 900_000), "{gaps:?}");
    assert_eq!(gaps.len(), 9);
}

proptest! {
    #[test]
    fn catching_up_more_often_does_not_change_the_result(
        gaps in prop::collection::vec((0u64..3_000_000, 0usize..5), 1..120),
        looks in prop::collection::vec(0u64..200_000_000, 0..60),
    ) {
        let (mut lazy, mut eager) = (credits(), credits());
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
        prop_assert_eq!(lazy.probe.longest, eager.probe.longest);
        let (sent, dropped) = (lazy.probe.sent as usize, lazy.probe.drops.len());
        prop_assert_eq!(sent + dropped, gaps.len());
    }
}

proptest! {
    /// Aeolus: if the buffer has room for the threshold, unscheduled packets cause no drop of scheduled ones.
    #[test]
    fn unscheduled_data_lengthens_a_queue_by_at_most_the_threshold(
        arrivals in prop::collection::vec((0u64..3_000_000, any::<bool>(), 84u16..=FRAME), 1..200),
        above in 0u32..30_000,
    ) {
        let threshold = Bytes::new(u64::from(above));
        let bench = |buffer: &str| {
            let above = Limit { bytes: threshold, ..Limit::NONE };
            let queue = QueueConfig { select: Some(SelectiveDrop { above }), ..QueueConfig::default() };
            single(queue, buffer)
        };
        let mut without = bench("10MB");
        let mut now = 0;
        for (head, &(gap, scheduled, size)) in arrivals.iter().enumerate() {
            now += gap;
            if scheduled {
                without.offer_at(now, packet(Class::Data, size, Ecn::Ect, head as u32));
            }
        }
        without.arrivals();
        let most = without.probe.longest + threshold + Bytes::new(u64::from(FRAME));
        let mut with = bench(&format!("{}B", most.get()));
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
        prop_assert!(with.probe.drops.iter().all(|&(_, why)| why == DropCause::Selective));
        prop_assert!(with.probe.longest <= most);
    }
}

//! A port seen from outside: packets are enqueued at given times, and arrive at the other end of the wire.

#![allow(clippy::unwrap_used, reason = "a test that cannot build its bench should fail there")]

use proptest::prelude::*;
use shallop_core::{
    BitsPerSec, BufferSize, Bytes, Class, DropCause, Ecn, End, Envelope, Packet, Probe, QueueId,
    Seed, Share, Span, Time,
};
use shallop_switch::{
    Discipline, Fate, FifoConfig, Impairment, Limit, LinkChange, MarkAt, MarkThreshold, Meter,
    Outage, Port, PortBuffer, PortConfig, QueueConfig, SelectiveDrop,
};

const FRAME: u16 = 1538;
const CREDIT: u16 = 84;
/// A 1538 B frame at 10 Gb/s, in picoseconds.
const FRAME_PS: u64 = 1_230_400;

fn at(ps: u64) -> Time {
    Time::after_start(Span::from_ps(ps))
}

fn packet(class: Class, size: u16, ecn: Ecn, head: u32) -> Packet<u32> {
    Packet { envelope: Envelope { end: End(0), size, class, ecn }, cargo: head }
}

/// A FIFO that marks above a step.
fn fifo(mark: Option<MarkThreshold>) -> QueueConfig {
    let discipline = Discipline::Fifo(FifoConfig { mark, red: None });
    QueueConfig { discipline, ..QueueConfig::default() }
}

fn data(head: u32) -> Packet<u32> {
    packet(Class::Data, FRAME, Ecn::Ect, head)
}

/// Counts what happened.
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

/// A 10 Gb/s port under test with everything it needs beside it.
struct Bench {
    port: Port<u32>,
    buffer: PortBuffer,
    tally: Tally,
}

impl Bench {
    fn new(
        queues: Vec<QueueConfig>,
        queue_of: [u8; Class::COUNT],
        buffer: &str,
        own: Vec<Option<Limit>>,
    ) -> Self {
        let rate = BitsPerSec::gbps(10);
        let buffer: BufferSize = buffer.parse().unwrap();
        let config = PortConfig {
            rate,
            delay: Span::from_us(1),
            queues,
            queue_of,
            impairment: None,
            changes: vec![],
        };
        let buffer = PortBuffer::new(Limit::of(buffer, rate), own);
        Self { port: Port::new(0, &config), buffer, tally: Tally::default() }
    }

    /// One queue for everything.
    fn plain(buffer: &str) -> Self {
        Self::new(vec![QueueConfig::default()], [0; Class::COUNT], buffer, vec![None])
    }

    /// Credits in a metered queue of eight packets before data.
    fn credits() -> Self {
        let share = Share::of(Bytes::new(84), Bytes::new(1538)).unwrap();
        let meter = Meter::new(BitsPerSec::gbps(10).share(share), Bytes::new(168));
        let metered = QueueConfig { meter: Some(meter), ..QueueConfig::default() };
        let rest = QueueConfig { priority: 1, ..QueueConfig::default() };
        let eight = Limit { packets: 8, ..Limit::NONE };
        Self::new(vec![metered, rest], [1, 1, 1, 0, 0, 1, 1, 1], "200KB", vec![Some(eight), None])
    }

    fn offer(&mut self, ps: u64, slot: Packet<u32>) -> bool {
        self.port.enqueue(at(ps), &slot, &mut self.buffer, &mut self.tally).is_ok()
    }

    /// Lets the port run on its own deadlines until nothing is left: arrivals as (picosecond, head).
    fn drain(&mut self) -> Vec<(u64, u32)> {
        let mut arrivals = vec![];
        while let Some(due) = self.port.deadline() {
            self.port.catch_up(due, &mut self.buffer, &mut self.tally);
            while let Some(slot) = self.port.pop_arrived(due) {
                arrivals.push((due.since_start().as_ps(), slot.cargo));
            }
        }
        arrivals
    }
}

#[test]
fn frames_leave_one_after_the_other_and_cross_the_wire() {
    let mut bench = Bench::plain("200KB");
    for head in 0..3 {
        assert!(bench.offer(0, data(head)));
    }
    let expected: Vec<_> = (0..3).map(|n| (FRAME_PS * (n + 1) + 1_000_000, n as u32)).collect();
    assert_eq!(bench.drain(), expected);
}

#[test]
fn a_full_buffer_drops_what_arrives_and_a_frame_that_left_makes_room() {
    let mut bench = Bench::plain("2pkt");
    let taken: Vec<_> = (0..4).map(|head| bench.offer(0, data(head))).collect();
    assert_eq!(taken, [true, true, true, false], "one in service, two queued");
    assert!(
        bench.offer(FRAME_PS, data(4)),
        "departures come before an arrival at the same instant"
    );
    assert!(!bench.offer(FRAME_PS, data(5)));
    assert_eq!(bench.tally.drops, [(0, DropCause::BufferFull), (0, DropCause::BufferFull)]);
    assert_eq!(bench.drain().len(), 4);
}

#[test]
fn twenty_credits_at_once_find_one_server_and_eight_places() {
    let mut bench = Bench::credits();
    let kept = (0..20)
        .filter(|&head| bench.offer(0, packet(Class::Credit, CREDIT, Ecn::Ect, head)))
        .count();
    assert_eq!((kept, bench.tally.drops.len()), (9, 11));
    assert!(bench.tally.drops.iter().all(|drop| *drop == (0, DropCause::MeteredQueueFull)));
    let times: Vec<_> = bench.drain().iter().map(|&(ps, _)| ps - 67_200 - 1_000_000).collect();
    assert_eq!(times[..2], [0, 67_200]);
    for (nth, &ps) in times.iter().enumerate().skip(2) {
        assert!(ps.abs_diff((nth as u64 - 1) * 1_297_600) <= nth as u64, "{times:?}");
    }
}

#[test]
fn conforming_credits_go_before_data_and_data_fills_what_they_leave() {
    let mut bench = Bench::credits();
    for head in 0..50 {
        bench.offer(0, data(head));
    }
    for head in 50..58 {
        bench.offer(0, packet(Class::Credit, CREDIT, Ecn::Ect, head));
    }
    let arrivals = bench.drain();
    let order: Vec<_> = arrivals.iter().map(|&(_, head)| head).take(6).collect();
    assert_eq!(
        order,
        [0, 50, 51, 1, 52, 2],
        "one frame was in service, then the bucket's two credits"
    );
    let busy = 50 * FRAME_PS + 8 * 67_200;
    assert_eq!(arrivals.last().unwrap().0, busy + 1_000_000, "the link never idles");
}

#[test]
fn queues_of_one_priority_share_by_weight() {
    let weighted = |weight| QueueConfig { weight, ..QueueConfig::default() };
    let mut bench = Bench::new(
        vec![weighted(3), weighted(1)],
        [0, 1, 1, 1, 1, 1, 1, 1],
        "10MB",
        vec![None, None],
    );
    for head in 0..800 {
        bench.offer(0, data(head));
        bench.offer(0, packet(Class::Ack, FRAME, Ecn::Ect, 1000 + head));
    }
    let first: Vec<_> = bench.drain().into_iter().take(400).collect();
    let heavy = first.iter().filter(|&&(_, head)| head < 1000).count();
    assert!(heavy.abs_diff(300) <= 2, "{heavy} of 400");
}

#[test]
fn marks_step_at_the_threshold_on_entry_or_on_exit() {
    for (when, marked) in [(MarkAt::Enqueue, 3), (MarkAt::Dequeue, 3)] {
        let above = Limit { packets: 5, ..Limit::NONE };
        let queue = fifo(Some(MarkThreshold { above, at: when }));
        let mut bench = Bench::new(vec![queue], [0; Class::COUNT], "200KB", vec![None]);
        for head in 0..9 {
            bench.offer(0, data(head));
        }
        let mut marks = vec![];
        while let Some(due) = bench.port.deadline() {
            bench.port.catch_up(due, &mut bench.buffer, &mut bench.tally);
            while let Some(slot) = bench.port.pop_arrived(due) {
                marks.push(slot.envelope.ecn == Ecn::Ce);
            }
        }
        assert_eq!(marks.iter().filter(|&&ce| ce).count(), marked);
        assert_eq!(marks[1], when == MarkAt::Dequeue, "the oldest frame in the queue");
        assert_eq!(marks[8], when == MarkAt::Enqueue, "the youngest");
    }
}

#[test]
fn above_the_threshold_only_ecn_capable_packets_join() {
    let above = Limit { packets: 2, ..Limit::NONE };
    let queue = QueueConfig { select: Some(SelectiveDrop { above }), ..QueueConfig::default() };
    let mut bench = Bench::new(vec![queue], [0; Class::COUNT], "8pkt", vec![None]);
    let spare = |head| packet(Class::Emulation, CREDIT, Ecn::NotEct, head);
    let kept: Vec<_> = (0..5).map(|head| bench.offer(0, spare(head))).collect();
    assert_eq!(kept, [true, true, true, false, false], "one in service, two queued");
    assert!(bench.offer(0, packet(Class::Emulation, CREDIT, Ecn::Ect, 9)));
    assert_eq!(bench.tally.drops[0].1, DropCause::Selective);
}

#[test]
fn a_link_changes_rate_and_delay_when_told_and_never_reorders() {
    let config = PortConfig {
        rate: BitsPerSec::gbps(10),
        delay: Span::from_us(100),
        queues: vec![QueueConfig::default()],
        queue_of: [0; Class::COUNT],
        impairment: Some(Impairment {
            jitter: Span::from_us(5),
            ..Impairment::none(Seed::new(1).stream("wire", 0))
        }),
        changes: vec![LinkChange {
            at: at(FRAME_PS * 10),
            rate: BitsPerSec::new(1_000_000_000),
            delay: Some(Span::from_us(1)),
        }],
    };
    let mut bench = Bench::plain("200KB");
    bench.port = Port::new(0, &config);
    for head in 0..20 {
        bench.offer(0, data(head));
    }
    let arrivals = bench.drain();
    assert!(arrivals.is_sorted());
    assert_eq!(
        arrivals.iter().map(|&(_, head)| head).collect::<Vec<_>>(),
        (0..20).collect::<Vec<_>>()
    );
    assert_eq!(bench.port.free_at(), at(FRAME_PS * 10 + FRAME_PS * 10 * 10));
}

/// A port over this wire, with so many packets sent at time zero: their arrivals, as (picosecond, head).
fn arrivals_over(impairment: Impairment, packets: u32) -> (Bench, Vec<(u64, u32)>) {
    let mut bench = Bench::plain("20MB");
    let config = PortConfig {
        rate: BitsPerSec::gbps(10),
        delay: Span::from_us(1),
        queues: vec![QueueConfig::default()],
        queue_of: [0; Class::COUNT],
        impairment: Some(impairment),
        changes: vec![],
    };
    bench.port = Port::new(0, &config);
    for head in 0..packets {
        assert!(bench.offer(0, data(head)));
    }
    let arrivals = bench.drain();
    (bench, arrivals)
}

#[test]
fn packets_that_are_late_are_overtaken_and_arrive() {
    let none = Impairment::none(Seed::new(1).stream("wire", 0));
    let late = Span::from_us(30);
    let impairment = Impairment { reordering: 0.1, reordering_delay: late, ..none };
    let (_, arrivals) = arrivals_over(impairment, 4_000);
    assert!(arrivals.is_sorted_by_key(|&(at, _)| at), "arrivals come in the order of time");
    let mut heads: Vec<u32> = arrivals.iter().map(|&(_, head)| head).collect();
    let on_time = |head: u32| FRAME_PS * u64::from(head + 1) + 1_000_000;
    let lateness = arrivals.iter().map(|&(at, head)| at - on_time(head));
    let late: Vec<u64> = lateness.filter(|&late| late > 0).collect();
    assert!((300..500).contains(&late.len()), "{}", late.len());
    assert!(late.iter().all(|&late| late < 30_000_000) && late.iter().max() > Some(&25_000_000));
    assert!(heads.windows(2).filter(|two| two[0] > two[1]).count() > 250, "others overtake them");
    heads.sort_unstable();
    assert!(heads.into_iter().eq(0..4_000), "each arrives once");
}

#[test]
fn nothing_arrives_that_is_on_a_wire_while_it_is_down() {
    let none = Impairment::none(Seed::new(1).stream("wire", 0));
    let us = |us| Time::after_start(Span::from_us(us));
    let once = Outage { from: us(100), lasts: Span::from_us(20), every: None };
    let often = Outage { from: us(500), every: Some(Span::from_us(50)), ..once };
    let impairment = Impairment { outages: vec![once, often], duplicates: 1.0, ..none };
    let mut bench = Bench::plain("200KB");
    let (mut port, arrivals) = arrivals_over(impairment, 600);
    let mut fates = Vec::new();
    for (at_ps, _) in arrivals {
        let sent = data(0);
        fates.push((at_ps, port.port.draw_fate(at(at_ps), &sent.envelope, &mut bench.tally)));
    }
    for (at, fate) in fates {
        // Packets that arrive up to a microsecond after an outage were sent before its end.
        let since = |from: u64| at.checked_sub(from * 1_000_000);
        let is_in = |since: Option<u64>| since.is_some_and(|since| since < 21_000_000);
        let is_down = is_in(since(100)) || is_in(since(500).map(|since| since % 50_000_000));
        let expected = if is_down { Fate::Lost } else { Fate::Twice };
        assert_eq!(fate, expected, "{at}");
    }
    let counters = port.port.counters();
    assert_eq!(counters.lost.iter().sum::<u64>(), bench.tally.drops.len() as u64);
    assert_eq!(counters.lost.iter().chain(&counters.duplicated).sum::<u64>(), 600);
}

#[test]
fn a_meter_follows_its_link_even_if_nothing_passed_when_the_link_changed() {
    let share = Share::of(Bytes::new(84), Bytes::new(1538)).unwrap();
    let meter = Meter::new(BitsPerSec::gbps(10).share(share), Bytes::new(168));
    let config = PortConfig {
        rate: BitsPerSec::gbps(10),
        delay: Span::ZERO,
        queues: vec![QueueConfig { meter: Some(meter), ..QueueConfig::default() }],
        queue_of: [0; Class::COUNT],
        impairment: None,
        changes: vec![LinkChange { at: at(0), rate: BitsPerSec::new(1_000_000_000), delay: None }],
    };
    let mut bench = Bench::plain("200KB");
    bench.port = Port::new(0, &config);
    // A second later the first credits come.
    for head in 0..10 {
        bench.offer(1_000_000_000_000, packet(Class::Credit, CREDIT, Ecn::Ect, head));
    }
    let arrivals = bench.drain();
    let gaps: Vec<u64> = arrivals.windows(2).map(|two| two[1].0 - two[0].0).collect();
    assert!(gaps[0] < 1_000_000, "{gaps:?}");
    // Two are there at once; the others come at the share of the new rate.
    assert!(gaps[1..].iter().all(|gap| gap.abs_diff(12_976_000) < 900_000), "{gaps:?}");
    assert_eq!(gaps.len(), 9);
}

proptest! {
    /// Lazy service decides as eager service would: asking a port to catch up at any times in between changes nothing.
    #[test]
    fn catching_up_often_or_seldom_is_the_same(
        gaps in prop::collection::vec((0u64..3_000_000, 0usize..5), 1..120),
        looks in prop::collection::vec(0u64..200_000_000, 0..60),
    ) {
        let (mut lazy, mut eager) = (Bench::credits(), Bench::credits());
        let mut looks = looks;
        looks.sort_unstable();
        let (mut now, mut seen) = (0, 0);
        for (head, &(gap, class)) in gaps.iter().enumerate() {
            now += gap;
            while let Some(&look) = looks.get(seen).filter(|&&look| look <= now) {
                eager.port.catch_up(at(look), &mut eager.buffer, &mut eager.tally);
                seen += 1;
            }
            let class = Class::ALL[class];
            let size = if class == Class::Data { FRAME } else { CREDIT };
            let slot = packet(class, size, Ecn::Ect, head as u32);
            prop_assert_eq!(lazy.offer(now, slot), eager.offer(now, slot));
        }
        prop_assert_eq!(lazy.drain(), eager.drain());
        prop_assert_eq!(lazy.tally.longest, eager.tally.longest);
        let (sent, dropped) = (lazy.tally.sent as usize, lazy.tally.drops.len());
        prop_assert_eq!(sent + dropped, gaps.len());
    }
}

proptest! {
    /// Aeolus: with room for the threshold to spare, no scheduled packet is dropped because of unscheduled ones.
    #[test]
    fn unscheduled_data_lengthens_a_queue_by_its_threshold_at_most(
        arrivals in prop::collection::vec((0u64..3_000_000, any::<bool>(), 84u16..=FRAME), 1..200),
        above in 0u32..30_000,
    ) {
        let threshold = Bytes::new(u64::from(above));
        let bench = |buffer: &str| {
            let above = Limit { bytes: threshold, ..Limit::NONE };
            let queue = QueueConfig { select: Some(SelectiveDrop { above }), ..QueueConfig::default() };
            Bench::new(vec![queue], [0; Class::COUNT], buffer, vec![None])
        };
        let mut without = bench("10MB");
        let mut now = 0;
        for (head, &(gap, scheduled, size)) in arrivals.iter().enumerate() {
            now += gap;
            if scheduled {
                without.offer(now, packet(Class::Data, size, Ecn::Ect, head as u32));
            }
        }
        without.drain();
        let most = without.tally.longest + threshold + Bytes::new(u64::from(FRAME));
        let mut with = bench(&format!("{}B", most.get()));
        let mut now = 0;
        for (head, &(gap, scheduled, size)) in arrivals.iter().enumerate() {
            now += gap;
            let (class, ecn) = if scheduled {
                (Class::Data, Ecn::Ect)
            } else {
                (Class::Unscheduled, Ecn::NotEct)
            };
            let kept = with.offer(now, packet(class, size, ecn, head as u32));
            prop_assert!(kept || !scheduled, "a scheduled packet was dropped");
        }
        with.drain();
        prop_assert!(with.tally.drops.iter().all(|&(_, why)| why == DropCause::Selective));
        prop_assert!(with.tally.longest <= most);
    }
}

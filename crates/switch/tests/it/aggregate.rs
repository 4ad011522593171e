//! Aggregated frames: what waits leaves together and arrives together, each frame with its overhead.

use shallop_core::{
    BitsPerSec, Bytes, Class, DropCause, Ecn, End, Envelope, Packet, Probe, QueueId, Span, Time,
};
use shallop_switch::{
    AqmInput, Buffer, Decision, Discipline, FifoConfig, FrameAggregation, Limit, MarkAt,
    MarkThreshold, Port, PortBuffer, PortConfig, QueueConfig, QueueLength,
};

const MBPS_1201: BitsPerSec = BitsPerSec::at_least_one(1_201_000_000);
const OVERHEAD: Span = Span::from_us(178);

#[derive(Default)]
struct Marks(u32);

impl Probe for Marks {
    fn on_drop(&mut self, _: Time, _: QueueId, _: &Envelope, why: DropCause) {
        assert_eq!(why, DropCause::Red, "nothing else drops here");
    }
    fn on_mark(&mut self, _: Time, _: QueueId, _: &Envelope) {
        self.0 += 1;
    }
}

fn port(most: u64, mark: Option<MarkThreshold>) -> (Port<u32>, PortBuffer) {
    let discipline = Discipline::Fifo(FifoConfig { mark, red: None });
    let aggregate = Some(FrameAggregation { overhead: OVERHEAD, max_bytes: Bytes::new(most) });
    let config = PortConfig {
        rate: MBPS_1201,
        delay: Span::from_us(10),
        queues: vec![QueueConfig { aggregate, discipline, ..QueueConfig::default() }],
        queue_of: [0; Class::COUNT],
        impairment: None,
        changes: vec![],
    };
    (Port::new(0, &config), PortBuffer::new(Limit::NONE, vec![None]))
}

fn packet(cargo: u32) -> Packet<u32> {
    let end = End::receiver(0);
    Packet { envelope: Envelope { end, size: 1538, class: Class::Data, ecn: Ecn::Ect }, cargo }
}

/// Runs the port on its deadlines until it is empty: what arrived when.
fn drain(
    port: &mut Port<u32>,
    buffer: &mut PortBuffer,
    probe: &mut Marks,
) -> Vec<(Time, Vec<u32>)> {
    let mut frames = vec![];
    while let Some(now) = port.deadline() {
        port.catch_up(now, buffer, probe);
        let mut frame = vec![];
        while let Some(packet) = port.pop_arrived(now) {
            frame.push(packet.cargo);
        }
        if !frame.is_empty() {
            frames.push((now, frame));
        }
    }
    frames
}

fn us(us: u64) -> Time {
    Time::after_start(Span::from_us(us))
}

#[test]
fn what_waits_leaves_in_frames_and_each_arrives_as_a_whole() {
    let (mut port, mut buffer) = port(65_535, None);
    let mut probe = Marks::default();
    // The first finds the radio idle and leaves alone; the others wait for it.
    for number in 0..100 {
        port.enqueue(us(0), &packet(number), &mut buffer, &mut probe).unwrap();
    }
    let frames = drain(&mut port, &mut buffer, &mut probe);
    let sizes: Vec<usize> = frames.iter().map(|(_, frame)| frame.len()).collect();
    assert_eq!(sizes, [1, 42, 42, 15], "42 packets are 64,596 B");
    let all: Vec<u32> = frames.iter().flat_map(|(_, frame)| frame.clone()).collect();
    assert!(all.iter().copied().eq(0..100), "in order");
    // 178 us and 10.24 us for 1538 B at 1201 Mb/s, and 10 us on the air.
    let first = frames[0].0.since_start().as_ps();
    assert_eq!(first / 1_000, 198_244);
    let apart = frames[2].0.since_start() - frames[1].0.since_start();
    assert_eq!(apart.as_ps() / 1_000, 178_000 + 42 * 1538 * 8_000 / 1_201);
    let rate = Bytes::new(42 * 1538).per(apart);
    assert!((rate - 850e6).abs() < 3e6, "{rate}: the 850 Mb/s of the paper");
}

#[test]
fn who_comes_while_a_frame_is_under_way_waits_for_the_next() {
    let (mut port, mut buffer) = port(65_535, None);
    let mut probe = Marks::default();
    for number in 0..8 {
        port.enqueue(us(u64::from(number) * 30), &packet(number), &mut buffer, &mut probe).unwrap();
    }
    let frames = drain(&mut port, &mut buffer, &mut probe);
    // The first lasts to 188.2 us: packets up to 180 us wait for it, the last for the second.
    let frames: Vec<Vec<u32>> = frames.into_iter().map(|(_, frame)| frame).collect();
    assert_eq!(frames, [vec![0], vec![1, 2, 3, 4, 5, 6], vec![7]]);
}

#[test]
fn a_frame_holds_a_packet_whatever_its_bound_and_marks_count_each() {
    let above = Limit { packets: 3, ..Limit::NONE };
    for (at, marked) in [(MarkAt::Enqueue, 6), (MarkAt::Dequeue, 6)] {
        let (mut port, mut buffer) = port(1, Some(MarkThreshold { above, at }));
        let mut probe = Marks::default();
        for number in 0..10 {
            port.enqueue(us(0), &packet(number), &mut buffer, &mut probe).unwrap();
        }
        assert_eq!(drain(&mut port, &mut buffer, &mut probe).len(), 10);
        assert_eq!(probe.0, marked, "nine are queued at most");
        assert_eq!(port.counters().bytes, 15_380);
    }
}

/// Memory without end that has one verdict on every packet.
struct Deciding(Decision);

impl Buffer for Deciding {
    fn store(&mut self, _: Time, _: usize, _: QueueLength, _: Bytes) -> Result<(), DropCause> {
        Ok(())
    }
    fn release(&mut self, _: Time, _: usize, _: QueueLength, _: Bytes) {}
    fn decide(&mut self, _: usize, input: &AqmInput) -> Decision {
        assert_eq!(input.at, None, "the link is idle");
        self.0
    }
}

#[test]
fn a_frame_of_one_packet_that_passes_is_marked_or_dropped_as_the_memory_says() {
    for (decision, marks, arrives) in [
        (Decision::Pass, 0, Some(Ecn::Ect)),
        (Decision::Mark, 1, Some(Ecn::Ce)),
        (Decision::Drop(DropCause::Red), 0, None),
    ] {
        let (mut port, _) = port(65_535, None);
        let mut probe = Marks::default();
        let taken = port.enqueue(us(0), &packet(0), &mut Deciding(decision), &mut probe);
        assert_eq!(taken, arrives.map(|_| ()).ok_or(DropCause::Red));
        assert_eq!(probe.0, marks);
        let came = port.deadline().and_then(|at| port.pop_arrived(at));
        assert_eq!(came.map(|packet| packet.envelope.ecn), arrives);
        assert_eq!(port.counters().dropped.iter().sum::<u64>(), u64::from(arrives.is_none()));
        assert_eq!(port.free_at() > us(0), arrives.is_some(), "with its overhead, if it left");
    }
}

//! Frame aggregation: packets that wait leave and arrive together, and each frame costs its overhead.

use shallop_core::{BitsPerSec, Bytes, Class, DropCause, Ecn, Envelope, Packet, Probe, QueueId, Span, Time};
use shallop_switch::{
    AqmInput, Buffer, Decision, Discipline, FifoConfig, FrameAggregation, Limit, MarkAt, MarkThreshold, PortBuffer,
    PortConfig, QueueConfig, QueueLength,
};

use crate::support::{self, queue};

const MBPS_1201: BitsPerSec = BitsPerSec::at_least_one(1_201_000_000);
const OVERHEAD: Span = Span::from_us(178);

type Bench = support::Bench<Marks>;

#[derive(Default)]
struct Marks(u32);

impl Probe for Marks {
    fn on_drop(&mut self, _: Time, _: QueueId, _: &Envelope, why: DropCause) {
        assert_eq!(why, DropCause::Red, "no other rule drops packets");
    }
    fn on_mark(&mut self, _: Time, _: QueueId, _: &Envelope) {
        self.0 += 1;
    }
}

/// A radio port with frames of up to `max_bytes`.
fn bench(max_bytes: u64, mark: Option<MarkThreshold>) -> Bench {
    let fifo = queue(Discipline::Fifo(FifoConfig { mark, red: vec![] }));
    let max_bytes = Bytes::new(max_bytes);
    let aggregate = Some(FrameAggregation { overhead: OVERHEAD, max_bytes });
    let queues = vec![QueueConfig { aggregate, ..fifo }];
    let config = PortConfig::new(MBPS_1201, Span::from_us(10), queues);
    Bench::new(&config, PortBuffer::new(Limit::NONE, vec![None]), None)
}

fn packet(cargo: u32) -> Packet<u32> {
    support::packet(Class::Data, 1538, Ecn::Ect, cargo)
}

/// Runs the port until it is empty. Returns the time and the packets of each frame.
fn frames(bench: &mut Bench) -> Vec<(Time, Vec<u32>)> {
    let arrivals = bench.drain();
    let frames = arrivals.chunk_by(|a, b| a.0 == b.0);
    frames.map(|frame| (frame[0].0, frame.iter().map(|it| it.1.cargo).collect())).collect()
}

fn us(us: u64) -> Time {
    Time::after_start(Span::from_us(us))
}

#[test]
fn waiting_packets_leave_in_frames_that_arrive_as_a_whole() {
    let mut bench = bench(65_535, None);
    // Packet 0 finds the radio idle and leaves alone; the others wait.
    for number in 0..100 {
        bench.offer(us(0), &packet(number)).unwrap();
    }
    let frames = frames(&mut bench);
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
fn packets_that_arrive_during_a_frame_wait_for_the_next_frame() {
    let mut bench = bench(65_535, None);
    for number in 0..8 {
        bench.offer(us(u64::from(number) * 30), &packet(number)).unwrap();
    }
    // Frame 1 lasts until 188.2 us: packets 1 to 6 arrive by then, packet 7 during frame 2.
    let frames: Vec<Vec<u32>> = frames(&mut bench).into_iter().map(|(_, frame)| frame).collect();
    assert_eq!(frames, [vec![0], vec![1, 2, 3, 4, 5, 6], vec![7]]);
}

#[test]
fn a_packet_larger_than_max_bytes_has_a_frame_to_itself_and_each_packet_is_marked() {
    let above = Limit { packets: 3, ..Limit::NONE };
    for (at, marked) in [(MarkAt::Enqueue, 6), (MarkAt::Dequeue, 6)] {
        let mut bench = bench(1, Some(MarkThreshold { above, at }));
        for number in 0..10 {
            bench.offer(us(0), &packet(number)).unwrap();
        }
        assert_eq!(frames(&mut bench).len(), 10);
        assert_eq!(bench.probe.0, marked, "at most nine packets are queued");
        assert_eq!(bench.port.counters().bytes, 15_380);
    }
}

/// Unlimited memory that makes one decision about every packet.
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
fn shared_memory_may_mark_or_drop_a_packet_that_finds_the_radio_idle() {
    for (decision, marks, arrives) in [
        (Decision::Pass, 0, Some(Ecn::Ect)),
        (Decision::Mark, 1, Some(Ecn::Ce)),
        (Decision::Drop(DropCause::Red), 0, None),
    ] {
        let Bench { mut port, mut probe, .. } = bench(65_535, None);
        let taken = port.enqueue(us(0), &packet(0), &mut Deciding(decision), &mut probe);
        assert_eq!(taken, arrives.map(|_| ()).ok_or(DropCause::Red));
        assert_eq!(probe.0, marks);
        let came = port.deadline().and_then(|at| port.pop_arrived(at));
        assert_eq!(came.map(|packet| packet.envelope.ecn), arrives);
        assert_eq!(port.counters().dropped.iter().sum::<u64>(), u64::from(arrives.is_none()));
        assert_eq!(port.free_at() > us(0), arrives.is_some(), "the frame takes time if it left");
    }
}

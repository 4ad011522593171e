//! CLEAN's arithmetic in C (`c/clean_math.h`, `c/clean_flow_math.h`) compared with the simulator's, on random packets.

use crate::steps::{Step, compare, spread, step, steps};
use shallop_control::binary::{Fraction, Gain};
use shallop_control::clean::{self, Clean, DataPacket, Decrease, Increase, MAX_WINDOW};
use shallop_core::{Seed, Span, Stream, Time};
use shallop_proto::tcp::{Flags, Head};
use shallop_proto::{clean::Config, clean::flow::Flow};
use shallop_testing::Outcome;

/// A random law with windows of at most `most` segments, and its inputs in C.
fn random_law(random: &mut Stream, most: u64) -> (clean::Config, [u64; 7]) {
    let (scale, shift, alpha) = (spread(random, 4_096), random.below(11), random.below(1_025));
    let (halves, root, least) = (random.below(2), random.below(2), spread(random, most));
    let initial = least.max(spread(random, most));
    let config = clean::Config {
        decrease: if halves == 1 { Decrease::Half } else { Decrease::Marked },
        increase: if root == 1 { Increase::Root } else { Increase::Cubic },
        scale: Fraction::new(scale as u32),
        gain: Gain::new(shift as u32),
        alpha_initial: Fraction::new(alpha as u32),
        min_window: least as u32,
        initial_window: initial as u32,
    };
    (config, [scale, shift, alpha, least, initial, halves, root])
}

/// A CLEAN flow with random settings, packets, marks and times.
struct CleanFlow {
    random: Stream,
    config: clean::Config,
    flow: Clean,
    left: u64,
    now: u64,
    seq: u32,
    /// The packets of the port, and those with CE.
    port: (u32, u32),
}

/// Counts packets of a port, a part of them marked.
fn pass_port(random: &mut Stream, port: (u32, u32), most: u64) -> (u32, u32) {
    let packets = 1 + random.below(most);
    (port.0.wrapping_add(packets as u32), port.1.wrapping_add(random.below(packets + 1) as u32))
}

fn state(flow: &Clean) -> Vec<u64> {
    let slow_start = u64::from(flow.is_slow_start);
    vec![flow.window_size, flow.alpha().into(), flow.ecn_cwr_seq.into(), slow_start]
}

impl CleanFlow {
    fn new() -> Self {
        let config = clean::Config::default();
        let random = Seed::new(12).stream("clean", 0);
        Self {
            random,
            config,
            flow: Clean::new(&config, 0),
            left: 0,
            now: 0,
            seq: 0,
            port: (u32::MAX - 1_000, u32::MAX),
        }
    }

    fn begin(&mut self) -> Step {
        let random = &mut self.random;
        let (config, law) = random_law(random, 10_000);
        self.config = config;
        self.seq = random.below(1 << 32) as u32;
        self.left = spread(random, 2_000);
        self.now = spread(random, 1 << 50);
        self.flow = Clean::new(&self.config, self.seq);
        let inputs = [&law[..], &[self.seq.into()]].concat();
        step(20, &inputs, &state(&self.flow))
    }

    fn next(&mut self) -> Step {
        if self.left == 0 {
            return self.begin();
        }
        self.left -= 1;
        let random = &mut self.random;
        self.now += spread(random, 1 << 32);
        if random.below(50) == 0 {
            let idle = spread(random, 1 << 36);
            self.flow.on_idle(Span::from_ns(idle));
            return step(22, &[idle], &state(&self.flow));
        }
        let mss = 536 + random.below(8_424);
        // A few packets are retransmissions.
        let back = if random.below(20) == 0 { random.below(100_000) as u32 } else { 0 };
        let seq = self.seq.wrapping_sub(back);
        self.seq = self.seq.wrapping_add(mss as u32);
        let edge = self.seq.wrapping_add(random.below(1 << 30) as u32);
        let ce = random.below(random_part(self.left)) == 0;
        self.port = pass_port(random, self.port, 100);
        let limit = if random.below(3) == 0 { spread(random, MAX_WINDOW) } else { MAX_WINDOW };
        let packet = DataPacket {
            now: Time::after_start(Span::from_ns(self.now)),
            seq,
            ce,
            window_edge: edge,
            port: self.port,
            mss: mss as u16,
            growth_limit: limit,
        };
        self.flow.on_data(&self.config, &packet);
        let bytes = self.flow.window_bytes(mss as u16).get();
        let results = [state(&self.flow), vec![bytes]].concat();
        let (packets, packets_ce) = (self.port.0.into(), self.port.1.into());
        let inputs = [self.now, limit, seq.into(), edge.into(), mss, u64::from(ce), packets, packets_ce];
        step(21, &inputs, &results)
    }
}

/// The average number of packets per mark, which differs between flows.
fn random_part(left: u64) -> u64 {
    [2, 10, 100, 1_000][(left % 4) as usize]
}

pub fn clean_flows_are_equal_in_c() -> Outcome {
    let mut flow = CleanFlow::new();
    compare((0..steps()).map(move |_| flow.next()))
}

/// A flow at a proxy: SYNs, marked and unmarked bursts of data, acknowledgements with any window scale, forged numbers,
/// and idle times.
struct PassingFlow {
    random: Stream,
    config: Config,
    flow: Flow,
    left: u64,
    now: u64,
    last_packet: u64,
    rtt: u64,
    /// The sequence numbers that the sender has sent and the receiver has acknowledged.
    next: u64,
    acked: u64,
    has_data: bool,
    scale: u8,
    gso: u64,
    port: (u32, u32),
}

impl PassingFlow {
    fn new() -> Self {
        let random = Seed::new(14).stream("passing", 0);
        let config = Config::default();
        let flow = Flow::new(&config, Time::ZERO, 0);
        let (left, now, last_packet, rtt, next, acked, has_data, scale, gso) = (0, 0, 0, 1, 0, 0, false, 0, 1);
        let port = (0, 0);
        Self { random, config, flow, left, now, last_packet, rtt, next, acked, has_data, scale, gso, port }
    }

    fn time(&self) -> Time {
        Time::after_start(Span::from_ns(self.now))
    }

    fn results(&self, window: u64) -> Vec<u64> {
        let law = self.flow.law();
        let edge = self.flow.right_edge() as u32;
        let slow_start = u64::from(law.is_slow_start);
        let of_law = [law.window_size, law.alpha().into(), law.ecn_cwr_seq.into(), slow_start];
        [&of_law[..], &[edge.into(), window]].concat()
    }

    fn begin(&mut self) -> Step {
        let random = &mut self.random;
        let (law, law_inputs) = random_law(random, 100);
        let validate = random.below(2);
        let idle = 1_000_000 + spread(random, 1 << 34);
        let idle_span = Span::from_ns(idle);
        self.config = Config { law, idle: idle_span, validate: validate == 1, ..Config::default() };
        self.left = spread(random, 2_000);
        self.now = spread(random, 1 << 50);
        self.last_packet = self.now;
        self.rtt = spread(random, 100_000_000);
        self.next = (1 << 32) - spread(random, 1 << 20);
        self.acked = self.next;
        self.has_data = false;
        self.scale = random.below(15) as u8;
        self.gso = 500 + random.below(8_000);
        self.flow = Flow::new(&self.config, self.time(), self.next as u32);
        let segment = self.config.segment.into();
        let others = [idle, validate, segment, self.now, self.next & 0xffff_ffff];
        let inputs = [&law_inputs[..], &others].concat();
        step(30, &inputs, &self.results(0))
    }

    /// Advances the time before a packet with this sequence number. After a long time the flow starts again, unless the
    /// packet does not count.
    fn pass(&mut self, next: u64, counts: bool) {
        let most = [self.rtt / 20 + 1, self.rtt + 1, 8 * self.rtt, 1 << 35];
        let which = [0, 0, 0, 0, 0, 1, 2, 3][self.random.below(8) as usize];
        self.now += spread(&mut self.random, most[which]);
        if !counts {
            return;
        }
        let idle = self.now - self.last_packet;
        if Span::from_ns(idle) > self.config.idle {
            self.flow.restart(&self.config, self.time(), next as u32);
        }
        self.last_packet = self.now;
    }

    /// A number somewhere in half of the sequence space, at times, in place of the right one.
    fn forged(&mut self, number: u64) -> u64 {
        if self.random.below(50) > 0 { number } else { number + self.random.below(1 << 31) - (1 << 30) }
    }

    fn data(&mut self) -> Step {
        let seq = if self.random.below(20) == 0 { self.acked } else { self.next };
        let seq = self.forged(seq);
        let room = self.flow.right_edge().saturating_sub(seq);
        // The proxy counts a burst beyond the receiver's window as one packet.
        let most = if room > 2 * self.gso { room.min(64_000).min(64 * self.gso) } else { self.gso };
        let payload = 1 + self.random.below(most);
        let counts = self.flow.accepts(seq + payload);
        self.pass(seq, counts);
        let marked = self.random.below(random_part(self.left)) == 0;
        self.port = pass_port(&mut self.random, self.port, 100);
        let (packets, packets_ce) = (self.port.0.into(), self.port.1.into());
        for at in (0..payload).step_by(self.gso as usize) {
            let len = self.gso.min(payload - at) as u16;
            let head = Head { seq: seq + at, len, ..Head::default() };
            let (before, ce) = (self.port, u32::from(marked));
            self.port = (before.0.wrapping_add(1), before.1.wrapping_add(ce));
            if counts {
                self.flow.on_data(&self.config, self.time(), &head, (marked, self.port));
            }
        }
        if counts {
            self.next = self.next.max(seq + payload);
            self.has_data = true;
        }
        let (segments, segment) = (payload.div_ceil(self.gso), self.gso.min(payload));
        let inputs = [self.now, seq & 0xffff_ffff, payload, segments, segment, u64::from(marked), packets, packets_ce];
        step(32, &inputs, &self.results(0))
    }

    fn ack(&mut self, is_syn: bool) -> Step {
        if !is_syn {
            self.acked += self.random.below(self.next - self.acked + 1);
        }
        let ack = self.forged(self.acked);
        self.pass(ack, !(is_syn && self.has_data) && self.flow.accepts(ack));
        let scale = if is_syn { 0 } else { self.scale };
        let window = spread(&mut self.random, 65_536).min(65_535) as u16;
        let flags = Flags::ACK | Flags::SYN.when(is_syn);
        let mut head = Head { ack, window, scale, flags, ..Head::default() };
        self.flow.on_ack(&self.config, self.time(), &mut head);
        let inputs = [self.now, ack & 0xffff_ffff, window.into(), scale.into()];
        step(if is_syn { 34 } else { 33 }, &inputs, &self.results(head.window.into()))
    }

    fn sender_syn(&mut self) -> Step {
        self.pass(self.next, !self.has_data);
        self.flow.on_syn(self.time());
        step(35, &[self.now, self.next & 0xffff_ffff], &self.results(0))
    }

    fn next(&mut self) -> Step {
        if self.left == 0 {
            return self.begin();
        }
        self.left -= 1;
        match self.random.below(if self.left.is_multiple_of(10) { 40 } else { 1_000 }) {
            0 => self.ack(true),
            2 => self.sender_syn(),
            of if of.is_multiple_of(2) => self.ack(false),
            _ => self.data(),
        }
    }
}

pub fn flows_at_a_proxy_are_equal_in_c() -> Outcome {
    let mut flow = PassingFlow::new();
    compare((0..steps()).map(move |_| flow.next()))
}

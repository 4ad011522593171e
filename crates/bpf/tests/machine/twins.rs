//! The programs' arithmetic in C (`c/*_math.h`, `c/gemini.h`) compared with the simulator's controllers: on all rows of
//! the controllers' tables, and on random steps.

use crate::steps::{MSS, Step, ack, compare, spread, start, step, steps, table, whole};
use shallop_control::gemini::law::{self, Cwnd, MAX_CWND, REDUCTION_BITS, STEP_BITS, STEP_BOUNDS};
use shallop_control::gemini::{Config, Gemini};
use shallop_control::{Ack, Loss, Window};
use shallop_control::{binary::Gain, clean::SEGMENT, ewma::update_alpha};
use shallop_core::{BitsPerSec, BufferSize, Bytes, Seed, Span, Stream, Time};
use shallop_testing::Outcome;

/// The operations in `gemini_connections.txt`: name, number of the operation in `twins.c`, count of inputs.
const GEMINI_OPERATIONS: [(&str, u64, usize); 10] = [
    ("bdp", 0, 2),
    ("factor", 1, 2),
    ("step", 2, 2),
    ("f_dcn", 3, 2),
    ("alpha", 4, 4),
    ("reduce", 5, 3),
    ("grow", 6, 4),
    ("connection", 7, 10),
    ("ack", 8, 5),
    ("loss", 9, 1),
];

/// The rows of `gemini_connections.txt`: an operation, its inputs and its results. After `connection`, `ack` and `loss`
/// are events of that connection, whose results are cwnd, ssthresh, alpha, F and h.
fn gemini_connections() -> impl Iterator<Item = Step> {
    include_str!("../../../control/vectors/gemini_connections.txt").lines().map(|line| {
        let mut words = line.split(' ');
        let name = words.next().unwrap();
        let (_, number, inputs) = GEMINI_OPERATIONS.into_iter().find(|of| of.0 == name).unwrap();
        let numbers: Vec<u64> = words.map(whole).collect();
        let (inputs, results) = numbers.split_at(inputs);
        // A new connection has no threshold, and the largest alpha.
        let [factor, step_now] = [1 << (REDUCTION_BITS - 1), 1 << STEP_BITS];
        let begun = [inputs[inputs.len() - 1], u32::MAX.into(), 1 << 10, factor, step_now];
        step(number, inputs, if name == "connection" { &begun } else { results })
    })
}

pub fn all_rows_of_the_tables_are_equal_in_c() -> Outcome {
    let mut all: Vec<_> = gemini_connections().collect();
    assert_eq!(all.len(), 1_632);
    for row in table(include_str!("../../../control/vectors/gemini.csv")) {
        let [capacity, rtt, k, f, h] = [0, 1, 2, 3, 4].map(|at| whole(row[at]));
        let bdp = law::bdp(BitsPerSec::at_least_one(capacity), Span::from_ns(rtt));
        all.push(step(0, &[capacity / 1_000, rtt], &[bdp]));
        all.push(step(1, &[k, bdp], &[f]));
        all.push(step(2, &[131_941, bdp], &[h]));
    }
    for row in table(include_str!("../../../control/vectors/gemini_window.csv")) {
        let [cwnd, count, alpha, f, beta, acked, h, new, new_count] =
            [1, 2, 3, 4, 5, 6, 7, 8, 9].map(|at| whole(row[at]));
        if row[0] == "reduce" {
            let extent = law::f_dcn(alpha as u32, f);
            all.push(step(3, &[alpha, f], &[extent]));
            all.push(step(5, &[cwnd, count, extent.max(beta)], &[new, new_count]));
        } else {
            all.push(step(6, &[cwnd, count, acked, h], &[new, new_count]));
        }
    }
    for row in table(include_str!("../../../control/vectors/dctcp.csv")) {
        let [shift, before, delivered, marked, alpha, cwnd, reduced] = [0, 1, 2, 3, 4, 5, 6].map(|at| whole(row[at]));
        all.push(step(10, &[before, shift, delivered, marked], &[alpha]));
        all.push(step(11, &[cwnd, alpha], &[reduced]));
    }
    for row in table(include_str!("../../../control/vectors/clean_curve.csv")) {
        let [c, w_max, reduction, t, k, window] = [0, 1, 2, 3, 4, 5].map(|at| whole(row[at]));
        all.push(step(12, &[c, reduction], &[k]));
        all.push(step(13, &[c, w_max, k, t], &[window]));
    }
    for row in table(include_str!("../../../control/vectors/clean_flow.csv")) {
        let [initial, alpha, mss, limit, edge, now, seq, ce] = [1, 2, 3, 4, 5, 6, 7, 8].map(|at| whole(row[at]));
        let [packets, packets_ce] = [13, 14].map(|at| whole(row[at]));
        let state = [9, 10, 11, 12].map(|at| whole(row[at]));
        if row[0].is_empty() {
            let bytes = (state[0] * mss).div_ceil(SEGMENT);
            let state = [&state[..], &[bytes]].concat();
            all.push(step(21, &[now, limit, seq, edge, mss, ce, packets, packets_ce], &state));
        } else {
            let [halves, root] = ["half", "root"].map(|of| u64::from(row[0] == of));
            all.push(step(20, &[410, 4, alpha, 2, initial, halves, root, seq], &state));
        }
    }
    assert!(all.len() > 2_300, "{} rows", all.len());
    compare(all.into_iter())
}

/// A formula of Gemini or DCTCP with random inputs.
fn formula(random: &mut Stream) -> Step {
    let (kbps, ns) = (spread(random, 4_000_000_000), spread(random, 40_000_000_000));
    let bdp = law::bdp(BitsPerSec::at_least_one(kbps * 1_000), Span::from_ns(ns));
    let (alpha, shift, acked) = (random.below(1_025), random.below(11), spread(random, 1 << 27));
    let marked = random.below(acked + 1);
    let segments = spread(random, MAX_CWND - 1);
    let cwnd = Cwnd { segments, cwnd_cnt: random.below(segments << STEP_BITS) };
    let what = random.below(8);
    match what {
        0 => step(what, &[kbps, ns], &[bdp]),
        1 => {
            let k = spread(random, u64::MAX);
            step(what, &[k, bdp], &[law::scale_factor(Bytes::new(k), bdp)])
        }
        2 => {
            let h = spread(random, u64::from(u32::MAX));
            step(what, &[h, bdp], &[law::increase_step(h, bdp)])
        }
        3 => {
            let factor = random.below(4 << REDUCTION_BITS);
            step(what, &[alpha, factor], &[law::f_dcn(alpha as u32, factor)])
        }
        5 => {
            let extent = random.below(2 * law::MAX_REDUCTION);
            let left = law::reduce(cwnd, extent);
            step(what, &[segments, cwnd.cwnd_cnt, extent], &[left.segments, left.cwnd_cnt])
        }
        6 => {
            let h = STEP_BOUNDS.0 + random.below(STEP_BOUNDS.1 - STEP_BOUNDS.0 + 1);
            let grown = law::grow(cwnd, acked, h);
            step(what, &[segments, cwnd.cwnd_cnt, acked, h], &[grown.segments, grown.cwnd_cnt])
        }
        _ => {
            let new = update_alpha(alpha as u32, shift as u32, acked, marked);
            let what = [4, 10][random.below(2) as usize];
            step(what, &[alpha, shift, acked, marked], &[new.into()])
        }
    }
}

pub fn formulas_are_equal_in_c_for_random_inputs() -> Outcome {
    let mut random = Seed::new(11).stream("formulas", 0);
    compare((0..steps()).map(move |_| formula(&mut random)))
}

/// A Gemini connection with random settings, marks, delays and losses.
struct Connection {
    random: Stream,
    gemini: Gemini,
    una: u64,
    left: u64,
    base: u64,
    queue: u64,
}

impl Connection {
    fn new() -> Self {
        let random = Seed::new(13).stream("gemini", 0);
        let gemini = Gemini::new(&Config::THESIS, &start(10, Bytes::MAX));
        Self { random, gemini, una: 0, left: 0, base: 1, queue: 1 }
    }

    fn state(&self) -> [u64; 5] {
        let gemini = &self.gemini;
        let ssthresh = gemini.slow_start_threshold();
        // An unknown threshold is all ones in C.
        let ssthresh = if ssthresh == Bytes::MAX { u32::MAX.into() } else { ssthresh.get() / MSS };
        let (alpha, cwnd) = (gemini.alpha().into(), gemini.window().get() / MSS);
        [cwnd, ssthresh, alpha, gemini.scale_factor(), gemini.increase_step()]
    }

    fn begin(&mut self) -> Step {
        let random = &mut self.random;
        let kbps = spread(random, 100_000_000);
        let (k, threshold) = (spread(random, 10_000_000), spread(random, 20_000_000));
        let (decrease, increase) = (random.below(law::MAX_REDUCTION) + 1, spread(random, 1 << 20));
        let (shift, initial) = (random.below(11), 1 + random.below(20));
        let [dcn, wan, recount] = [7, 7, 2].map(|of| random.below(of) != 0);
        let config = Config {
            capacity: Some(BitsPerSec::at_least_one(kbps * 1_000)),
            k: BufferSize::Bytes(Bytes::new(k)),
            delay_threshold: Span::from_ns(threshold),
            decrease: decrease as f64 / (1u64 << REDUCTION_BITS) as f64,
            increase: increase as f64 / (1u64 << law::H_BITS) as f64,
            alpha_gain: Gain::new(shift as u32),
            dcn,
            wan,
            recount,
            ..Config::THESIS
        };
        self.gemini = Gemini::new(&config, &start(initial, Bytes::MAX));
        (self.una, self.left) = (0, spread(random, 400));
        (self.base, self.queue) = (spread(random, 50_000_000), spread(random, 40_000_000));
        let [dcn, wan, recount] = [dcn, wan, recount].map(u64::from);
        let inputs = [kbps, k, threshold, decrease, increase, shift, dcn, wan, recount, initial];
        step(7, &inputs, &self.state())
    }

    fn next(&mut self) -> Step {
        if self.left == 0 {
            return self.begin();
        }
        self.left -= 1;
        let window = self.gemini.window().get();
        let next = self.una + window;
        if self.random.below(60) == 0 {
            let prior_in_flight = Bytes::new(window);
            let (snd_una, snd_nxt) = (self.una, next);
            let now = Time::ZERO;
            self.gemini.on_loss(&Loss { now, prior_in_flight, in_cwr: false, snd_una, snd_nxt });
            return step(9, &[next], &self.state());
        }
        let segments = 1 + self.random.below((window / MSS).min(64));
        self.una += segments * MSS;
        let next = self.una + window;
        let is_marked = self.left % 40 < 20 && self.random.below(3) == 0;
        let marked = if is_marked { 1 + self.random.below(segments) } else { 0 };
        let rtt = self.base + self.random.below(self.queue + 1);
        let acked = ack(self.una, next, Span::from_ns(rtt), Bytes::new(segments * MSS));
        self.gemini.on_ack(&Ack { marked: Bytes::new(marked * MSS), ..acked });
        step(8, &[self.una, next, segments, marked, rtt], &self.state())
    }
}

pub fn gemini_connections_are_equal_in_c() -> Outcome {
    let mut connection = Connection::new();
    compare((0..steps()).map(move |_| connection.next()))
}

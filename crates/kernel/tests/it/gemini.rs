//! Gemini in C (`modules/gemini.h`, which the kernel's module includes) against the controller of the simulator, by
//! vectors: `modules/gemini.txt`, a line each, a word, inputs and what comes out. `bdp`, `factor`, `step`, `f_dcn`,
//! `alpha`, `reduce` and `grow` are formulas; after `connection`, `ack` and `loss` are events of one connection, and
//! what comes out is cwnd, ssthresh, alpha, F and h. `UPDATE_VECTORS=1` writes the file anew.

use std::fmt::Write as _;
use std::path::Path;

use shallop_control::binary::Gain;
use shallop_control::ewma::update_alpha;
use shallop_control::gemini::law::{self, Cwnd, H_BITS, MAX_CWND, REDUCTION_BITS, STEP_BOUNDS};
use shallop_control::gemini::{Config, Gemini};
use shallop_control::{Ack, Loss, Start, Window};
use shallop_core::{BitsPerSec, BufferSize, Bytes, Seed, Span, Stream, Time};

const MSS: u64 = 1_448;
const VECTORS: &str = include_str!("../../modules/gemini.txt");

/// A number whose size is spread evenly over the powers of two below `most`.
fn spread(random: &mut Stream, most: u64) -> u64 {
    let bits = random.below(u64::from(most.ilog2()) + 1);
    random.below((2 << bits).min(most)) + 1
}

/// The formulas, for arbitrary inputs within their formats.
fn formulas(text: &mut String, random: &mut Stream) {
    for _ in 0..60 {
        let (kbps, ns) = (spread(random, 4_000_000_000), spread(random, 40_000_000_000));
        let bdp = law::bdp(BitsPerSec::at_least_one(kbps * 1_000), Span::from_ns(ns));
        writeln!(text, "bdp {kbps} {ns} {bdp}").unwrap();
        let k = spread(random, 1 << 40);
        writeln!(text, "factor {k} {bdp} {}", law::scale_factor(Bytes::new(k), bdp)).unwrap();
        let h = spread(random, 1 << 30);
        writeln!(text, "step {h} {bdp} {}", law::increase_step(h, bdp)).unwrap();
        let (alpha, factor) = (random.below(1_025) as u32, random.below(4 << REDUCTION_BITS));
        writeln!(text, "f_dcn {alpha} {factor} {}", law::f_dcn(alpha, factor)).unwrap();
        let (shift, acked) = (random.below(11) as u32, spread(random, 1 << 27));
        let marked = random.below(acked + 1);
        let new = update_alpha(alpha, shift, acked, marked);
        writeln!(text, "alpha {alpha} {shift} {acked} {marked} {new}").unwrap();
        let segments = spread(random, MAX_CWND - 1);
        let progress = random.below(segments << law::STEP_BITS);
        let cwnd = Cwnd { segments, cwnd_cnt: progress };
        let extent = random.below(2 * law::MAX_REDUCTION);
        let Cwnd { segments: left, cwnd_cnt } = law::reduce(cwnd, extent);
        writeln!(text, "reduce {segments} {progress} {extent} {left} {cwnd_cnt}").unwrap();
        let step = STEP_BOUNDS.0 + random.below(STEP_BOUNDS.1 - STEP_BOUNDS.0 + 1);
        let acked = spread(random, 1 << 27);
        let Cwnd { segments: now, cwnd_cnt } = law::grow(cwnd, acked, step);
        writeln!(text, "grow {segments} {progress} {acked} {step} {now} {cwnd_cnt}").unwrap();
    }
}

fn state(controller: &Gemini) -> String {
    let cwnd = controller.window().get() / MSS;
    let ssthresh = controller.slow_start_threshold().get() / MSS;
    // Not known yet: all ones in C.
    let unknown = controller.slow_start_threshold() == Bytes::MAX;
    let ssthresh = if unknown { u64::from(u32::MAX) } else { ssthresh };
    let (alpha, factor) = (controller.alpha(), controller.scale_factor());
    format!("{cwnd} {ssthresh} {alpha} {factor} {}", controller.increase_step())
}

fn controller(text: &mut String, random: &mut Stream) -> Gemini {
    let kbps = spread(random, 100_000_000);
    let (k, threshold) = (spread(random, 10_000_000), spread(random, 20_000_000));
    let (decrease, increase) = (random.below(law::MAX_REDUCTION) + 1, spread(random, 1 << 20));
    let (shift, initial) = (random.below(11), 1 + random.below(20));
    let [marks, delay, recount] = [7, 7, 2].map(|of| random.below(of) != 0);
    let config = Config {
        capacity: Some(BitsPerSec::at_least_one(kbps * 1_000)),
        k: BufferSize::Bytes(Bytes::new(k)),
        delay_threshold: Span::from_ns(threshold),
        decrease: decrease as f64 / (1u64 << REDUCTION_BITS) as f64,
        increase: increase as f64 / (1u64 << H_BITS) as f64,
        alpha_gain: Gain::new(shift as u32),
        dcn: marks,
        wan: delay,
        recount,
        ..Config::THESIS
    };
    let [marks, delay, recount] = [marks, delay, recount].map(u8::from);
    writeln!(
        text,
        "connection {kbps} {k} {threshold} {decrease} {increase} {shift} {marks} {delay} {recount} {initial}"
    )
    .unwrap();
    let start = Start {
        mss: Bytes::new(MSS),
        initial_window: Bytes::new(initial * MSS),
        initial_ssthresh: Bytes::MAX,
        link_rate: BitsPerSec::gbps(1),
        seed: 1,
    };
    Gemini::new(&config, &start)
}

/// Connections with arbitrary marks, delays and losses.
fn connections(text: &mut String, random: &mut Stream) {
    for _ in 0..12 {
        let mut gemini = controller(text, random);
        let base = spread(random, 50_000_000);
        let queue = spread(random, 40_000_000);
        let marked_of = 1 + random.below(6);
        let mut una = 0;
        for event in 0..100 {
            let next = una + gemini.window().get();
            if random.below(40) == 0 {
                gemini.on_loss(&loss(una, next));
                writeln!(text, "loss {next} {}", state(&gemini)).unwrap();
                continue;
            }
            let segments = 1 + random.below((gemini.window().get() / MSS).min(64));
            una += segments * MSS;
            let next = una + gemini.window().get();
            let is_marked = random.below(6) < marked_of && event % 20 < 10;
            let marked = if is_marked { 1 + random.below(segments) } else { 0 };
            let rtt = base + random.below(queue + 1);
            gemini.on_ack(&ack((una, next), (segments, marked), rtt));
            let now = state(&gemini);
            writeln!(text, "ack {una} {next} {segments} {marked} {rtt} {now}").unwrap();
        }
    }
}

fn ack((una, next): (u64, u64), (segments, marked): (u64, u64), rtt: u64) -> Ack {
    let (rtt, acked) = (Span::from_ns(rtt), Bytes::new(segments * MSS));
    Ack {
        now: Time::ZERO,
        acked_sacked: acked,
        losses: Bytes::ZERO,
        marked: Bytes::new(marked * MSS),
        delivered: Bytes::new(una),
        rtt: Some(rtt),
        srtt: rtt,
        min_rtt: rtt,
        rate_sample: None,
        prior_in_flight: acked,
        in_flight: acked,
        is_cwnd_limited: true,
        snd_una_advance: acked,
        round_start: false,
        in_cwnd_reduction: false,
        snd_una: una,
        snd_nxt: next,
    }
}

fn loss(una: u64, next: u64) -> Loss {
    let prior_in_flight = Bytes::new(next - una);
    Loss { now: Time::ZERO, prior_in_flight, in_cwr: false, snd_una: una, snd_nxt: next }
}

#[test]
fn the_vectors_are_what_the_controller_of_the_simulator_does() {
    let mut random = Seed::new(7).stream("gemini", 0);
    let mut text = String::new();
    formulas(&mut text, &mut random);
    connections(&mut text, &mut random);
    if std::env::var_os("UPDATE_VECTORS").is_some() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("modules/gemini.txt");
        std::fs::write(path, &text).unwrap();
        return;
    }
    for (number, (theirs, ours)) in VECTORS.lines().zip(text.lines()).enumerate() {
        assert_eq!(theirs, ours, "line {}", number + 1);
    }
    assert_eq!(VECTORS.lines().count(), text.lines().count());
}

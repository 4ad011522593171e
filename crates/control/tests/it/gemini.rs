//! Gemini: its formulas against exact arithmetic, and its response to marks, delay, losses and RTOs.

use crate::support::{FixedRtt, SEGMENT, number, start, table};
use shallop_control::binary::Gain;
use shallop_control::gemini::law::{self, Cwnd, H_BITS, REDUCTION_BITS, STEP_BITS};
use shallop_control::gemini::{Config, Gemini, PACKET};
use shallop_control::{Ack, Start, Window};
use shallop_core::{BitsPerSec, BufferSize, Bytes, Span, Time};

const THESIS: Config = Config::THESIS;
/// F, in 2^-20, at 1 Gb/s, 10 ms and a K of 50 frames: 0.2318.
const F_AT_10_MS: u64 = 243_079;

fn h_parameter() -> u64 {
    (THESIS.increase * (1u64 << H_BITS) as f64).round() as u64
}

#[test]
fn scale_factor_and_increase_step_match_the_formulas() {
    for row in table(include_str!("../../vectors/gemini.csv")) {
        let [capacity, rtt_base, k, f, h] = [0, 1, 2, 3, 4].map(|field| number(row[field]) as u64);
        let bdp = law::bdp(BitsPerSec::at_least_one(capacity), Span::from_ns(rtt_base));
        let factor = law::scale_factor(Bytes::new(k), bdp);
        let step = law::increase_step(h_parameter(), bdp);
        assert_eq!((factor, step), (f, h), "{row:?}");
        let near = |fixed: u64, bits: u32, real: f64, tolerance: f64| {
            let ratio = fixed as f64 / (1u64 << bits) as f64 / real;
            assert!((ratio - 1.0).abs() < tolerance, "{row:?}: {ratio}");
        };
        near(factor, REDUCTION_BITS, number(row[5]), 1.1e-3);
        near(step, STEP_BITS, number(row[6]), 6.3e-5);
    }
}

#[test]
fn reductions_and_growth_of_cwnd_match_the_formulas() {
    for row in table(include_str!("../../vectors/gemini_window.csv")) {
        let field = |field: usize| if row[field].is_empty() { 0 } else { number(row[field]) as u64 };
        let cwnd = Cwnd { segments: field(1), cwnd_cnt: field(2) };
        let new = match row[0] {
            "reduce" => {
                let f_dcn = law::f_dcn(field(3) as u32, field(4));
                law::reduce(cwnd, f_dcn.max(field(5)))
            }
            _ => law::grow(cwnd, field(6), field(7)),
        };
        assert_eq!(new, Cwnd { segments: field(8), cwnd_cnt: field(9) }, "{row:?}");
        let exact = new.segments as f64 + new.cwnd_cnt as f64 / (new.segments << STEP_BITS) as f64;
        // cwnd loses at most 2^-16 segments, and the product of F and alpha is rounded down.
        let error = (exact / number(row[10]) - 1.0).abs();
        assert!(error < 1e-4, "{row:?}: {exact}");
    }
}

#[test]
fn rtt_base_is_the_rtt_of_the_handshake_until_a_lower_rtt_is_measured() {
    let mut flow = gemini(&THESIS, 100);
    flow.on_handshake(Time::ZERO, Span::from_ms(10));
    assert_eq!(flow.rtt_base(), Some(Span::from_ms(10)));
    let bdp = law::bdp(BitsPerSec::gbps(1), Span::from_ms(10));
    let k = Bytes::new(50 * PACKET.get());
    assert_eq!(flow.scale_factor(), law::scale_factor(k, bdp));
    assert_eq!(flow.increase_step(), law::increase_step(h_parameter(), bdp));
    for (rtt, rtt_base) in [(14, 10), (9, 9)] {
        let path = FixedRtt::new(Span::from_ms(rtt));
        flow.on_ack(&ack(&path, &flow, 1, 101, false));
        assert_eq!(flow.rtt_base(), Some(Span::from_ms(rtt_base)), "after {rtt} ms");
    }
}

/// A flow in congestion avoidance with this cwnd.
fn gemini(config: &Config, segments: u64) -> Gemini {
    let cwnd = SEGMENT * segments;
    Gemini::new(config, &Start { initial_window: cwnd, initial_ssthresh: cwnd, ..start() })
}

/// An ACK of one segment, with or without ECN-Echo. `snd_una` and `snd_nxt` are in segments.
fn ack(path: &FixedRtt, gemini: &Gemini, snd_una: u64, snd_nxt: u64, marked: bool) -> Ack {
    Ack {
        snd_una: snd_una * SEGMENT.get(),
        snd_nxt: snd_nxt * SEGMENT.get(),
        marked: if marked { SEGMENT } else { Bytes::ZERO },
        ..path.ack(gemini, SEGMENT)
    }
}

fn segments(gemini: &Gemini) -> f64 {
    gemini.window().ratio(SEGMENT)
}

/// cwnd after each of `count` windows of ACKs with this RTT.
fn windows(gemini: &mut Gemini, path: &mut FixedRtt, rtt: Span, count: u64) -> Vec<f64> {
    path.rtt = rtt;
    let round = |_| {
        path.round(gemini);
        segments(gemini)
    };
    (0..count).map(round).collect()
}

#[test]
fn competitive_mode_follows_cubic_while_a_queue_stays_and_probes_after_losses() {
    let ms = Span::from_ms;
    let competing = |competitive, high| {
        let (mut path, mut flow) = (FixedRtt::new(ms(10)), gemini(&Config { competitive, ..THESIS }, 100));
        windows(&mut flow, &mut path, ms(10), 3);
        let before = segments(&flow);
        let after = windows(&mut flow, &mut path, high, 22);
        (path, flow, before, after)
    };
    // A delay of 20 ms is four times T: up to it, and with the option off, delay only reduces cwnd.
    for (competitive, high) in [(false, ms(40)), (true, ms(30))] {
        let (_, flow, _, after) = competing(competitive, high);
        assert!(!flow.is_competing() && after[21] < 10.0, "{high} {after:?}");
    }
    // After 16 windows of data cwnd is what it was, and grows by 5 % in a round trip, as CUBIC's before a loss.
    let (mut path, mut flow, before, after) = competing(true, ms(40));
    let known = [5, 105, 110, 115, 121, 127, 134];
    assert_eq!(after[15..].iter().map(|cwnd| *cwnd as u64).collect::<Vec<_>>(), known, "from {before}");
    assert!(flow.is_competing());
    let lose = |flow: &mut Gemini, path: &FixedRtt| {
        let cwnd = segments(flow);
        flow.on_loss(&path.loss(flow));
        flow.on_recovery_exit(path.now);
        segments(flow) / cwnd
    };
    // CUBIC's reduction is 0.7. Marks do not count. A probe begins with a loss after five seconds.
    assert!((lose(&mut flow, &path) - 0.7).abs() < 0.01 && flow.is_competing());
    flow.on_mark(&path.loss(&flow));
    windows(&mut flow, &mut path, ms(40), 130);
    assert!(flow.is_competing() && lose(&mut flow, &path) < 1.0 && !flow.is_competing(), "a probe");
    let reduced = segments(&flow);
    assert!(windows(&mut flow, &mut path, ms(40), 6)[5] < reduced * 0.5);
    windows(&mut flow, &mut path, ms(40), 6);
    assert!(flow.is_competing() && segments(&flow) >= reduced, "the queue has stayed");
    // In the next probe the queue is shorter than in competitive mode.
    windows(&mut flow, &mut path, ms(40), 130);
    lose(&mut flow, &path);
    windows(&mut flow, &mut path, ms(25), 20);
    assert!(!flow.is_competing(), "the queue has shrunk");
    // An empty queue ends competitive mode at once.
    let (mut path, mut flow, ..) = competing(true, ms(40));
    windows(&mut flow, &mut path, Span::from_us(10_300), 2);
    assert!(!flow.is_competing());
}

#[test]
fn competitive_mode_takes_a_marked_queue_of_more_than_twice_k_for_another_flows() {
    // K / C is 0.615 ms.
    let is_competing = |rtt: u64, marked: bool| {
        let mut flow = gemini(&Config { competitive: true, ..THESIS }, 100);
        flow.on_handshake(Time::ZERO, Span::from_ms(10));
        let path = FixedRtt::new(Span::from_us(rtt));
        for una in 1..2_001 {
            flow.on_ack(&ack(&path, &flow, una, una + flow.window().get() / SEGMENT.get(), marked));
        }
        flow.is_competing()
    };
    assert!(is_competing(11_300, true));
    assert!(!is_competing(11_200, true), "at most twice K");
    assert!(!is_competing(11_300, false), "without marks, four times T");
}

#[test]
fn one_low_rtt_sample_per_window_shows_that_the_queue_is_transient() {
    let mut path = FixedRtt::new(Span::from_ms(10));
    let mut gemini = gemini(&THESIS, 100);
    path.round(&mut gemini);
    for nth in 1..=1_000 {
        path.rtt = Span::from_ms(if nth % 60 == 0 { 12 } else { 40 });
        path.segment(&mut gemini);
    }
    assert!(segments(&gemini) > 110.0, "{}", segments(&gemini));
}

#[test]
fn with_marks_and_delay_the_larger_reduction_applies() {
    // F is 1/2 with a K of a seventh of the BDP, so marks reduce by up to 1/2, delay by 1/5.
    let seventh = BufferSize::Bytes(Bytes::new(1_250_000 / 7));
    let reduction = |k, gain_shift, beta| {
        let config = Config { k, alpha_gain: Gain::new(gain_shift), decrease: beta, ..THESIS };
        let (mut gemini, path) = (gemini(&config, 100), FixedRtt::new(Span::from_ms(10)));
        gemini.on_ack(&ack(&path, &gemini, 1, 101, false));
        let delayed = FixedRtt { rtt: Span::from_ms(30), ..path };
        for una in 2..=100 {
            gemini.on_ack(&ack(&delayed, &gemini, una, 100 + una, false));
        }
        let before = segments(&gemini);
        gemini.on_ack(&ack(&delayed, &gemini, 101, 201, true));
        (segments(&gemini) / before, f64::from(gemini.alpha()) / 1024.0)
    };
    let (ratio, alpha) = reduction(seventh, 4, 0.2);
    assert!((0.87..0.89).contains(&alpha), "{alpha}");
    assert!((ratio - (1.0 - alpha / 2.0)).abs() < 0.01, "{ratio}: marks reduce by more");
    let (ratio, _) = reduction(BufferSize::Packets(5), 4, 0.2);
    assert!((ratio - 0.8).abs() < 0.01, "{ratio}: delay reduces by more");
}

#[test]
fn rtt_noise_is_uniform_up_to_its_maximum_and_different_for_each_seed() {
    let rtt_base = |noise, seed| {
        let config = Config { rtt_noise: Span::from_us(noise), ..THESIS };
        let mut gemini = Gemini::new(&config, &Start { seed, ..start() });
        let mut path = FixedRtt::new(Span::from_ms(10));
        path.segment(&mut gemini);
        gemini.rtt_base().unwrap().as_ps() / 1_000
    };
    assert_eq!(rtt_base(0, 1), 10_000_000);
    let samples: Vec<u64> = (0..200).map(|seed| rtt_base(1_000, seed)).collect();
    assert!(samples.iter().all(|ns| (10_000_000..=11_000_000).contains(ns)));
    let mean = samples.iter().sum::<u64>() / 200;
    assert!((10_430_000..10_570_000).contains(&mean), "{mean}");
    assert_eq!(rtt_base(1_000, 3), rtt_base(1_000, 3));
}

#[test]
fn the_default_capacity_is_the_rate_of_the_senders_link() {
    let factors = |config: Config, gbps| {
        let link_rate = BitsPerSec::gbps(gbps);
        let mut gemini = Gemini::new(&config, &Start { link_rate, ..start() });
        FixedRtt::new(Span::from_ms(10)).segment(&mut gemini);
        (gemini.scale_factor(), gemini.increase_step())
    };
    let configured = Config { capacity: Some(BitsPerSec::gbps(1)), ..THESIS };
    assert_eq!(factors(configured, 10), factors(THESIS, 1));
    // K is proportional to C, so F does not change; h would be ten times 1.2, and is bounded.
    assert_eq!(factors(THESIS, 10), (F_AT_10_MS, 5 << STEP_BITS));
    let frames = Config { k: BufferSize::Packets(50), ..THESIS };
    assert_eq!(factors(frames, 1), factors(THESIS, 1));
}

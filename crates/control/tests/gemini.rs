//! Gemini: its formulas by known answers, and when it answers what.

mod support;

use shallop_control::ewma::Marked;
use shallop_control::gemini::law::{self, CUT_BITS, INCREASE_BITS, STEP_BITS, Segments};
use shallop_control::gemini::{Config, Gemini, PACKET};
use shallop_control::{Ack, Loss, Start, Window};
use shallop_core::{BitsPerSec, BufferSize, Bytes, Span, Time};
use support::{Course, SEGMENT, number, start, table};

const THESIS: Config = Config::THESIS;

#[test]
fn factors_and_steps_are_those_of_the_formulas() {
    let increase = (THESIS.increase * (1u64 << INCREASE_BITS) as f64).round() as u64;
    for row in table(include_str!("../vectors/gemini.csv")) {
        let [capacity, base, mark, f, h] = [0, 1, 2, 3, 4].map(|field| number(row[field]) as u64);
        let product = law::product(BitsPerSec::at_least_one(capacity), Span::from_ns(base));
        let (scale, step) = (law::scale(Bytes::new(mark), product), law::step(increase, product));
        assert_eq!((scale, step), (f, h), "{row:?}");
        let near = |fixed: u64, bits: u32, real: f64, within: f64| {
            let ratio = fixed as f64 / (1u64 << bits) as f64 / real;
            assert!((ratio - 1.0).abs() < within, "{row:?}: {ratio}");
        };
        near(scale, CUT_BITS, number(row[5]), 1.1e-3);
        near(step, STEP_BITS, number(row[6]), 6.3e-5);
    }
}

#[test]
fn windows_are_cut_and_grow_as_the_formulas_say() {
    for row in table(include_str!("../vectors/gemini_window.csv")) {
        let field =
            |field: usize| if row[field].is_empty() { 0 } else { number(row[field]) as u64 };
        let from = Segments { whole: field(1), grown: field(2) };
        let to = match row[0] {
            "cut" => {
                let marked = law::marked_cut(field(3) as u32, field(4));
                law::shrink(from, marked.max(field(5)))
            }
            _ => law::grow(from, field(6), field(7)),
        };
        assert_eq!(to, Segments { whole: field(8), grown: field(9) }, "{row:?}");
        let exact = to.whole as f64 + to.grown as f64 / (to.whole << STEP_BITS) as f64;
        // A part of 2^-16 is lost at most, and F's and alpha's product is rounded down.
        let error = (exact / number(row[10]) - 1.0).abs();
        assert!(error < 1e-4, "{row:?}: {exact}");
    }
}

#[test]
fn the_round_trip_of_the_handshake_is_the_shortest_until_a_shorter_one_comes() {
    let mut flow = gemini(&THESIS, 100);
    flow.on_handshake(Time::ZERO, Span::from_ms(10));
    assert_eq!(flow.base(), Some(Span::from_ms(10)));
    let product = law::product(BitsPerSec::gbps(1), Span::from_ms(10));
    let mark = Bytes::new(50 * PACKET.get());
    let increase = (THESIS.increase * (1u64 << INCREASE_BITS) as f64).round() as u64;
    assert_eq!(flow.factors(), (law::scale(mark, product), law::step(increase, product)));
    for (rtt, base) in [(14, 10), (9, 9)] {
        let course = Course::new(Span::from_ms(rtt));
        flow.on_ack(&ack(&course, &flow, (1, 101), false));
        assert_eq!(flow.base(), Some(Span::from_ms(base)), "after {rtt} ms");
    }
}

/// A flow in congestion avoidance whose window is this many segments.
fn gemini(config: &Config, segments: u64) -> Gemini {
    let window = SEGMENT * segments;
    Gemini::new(config, &Start { window, threshold: window, ..start() })
}

/// An acknowledgement of a segment; `una` and `next` in segments.
fn ack(course: &Course, gemini: &Gemini, (una, next): (u64, u64), marked: bool) -> Ack {
    Ack {
        una: una * SEGMENT.get(),
        next: next * SEGMENT.get(),
        marked: if marked { SEGMENT } else { Bytes::ZERO },
        ..course.facts(gemini, SEGMENT)
    }
}

fn segments(gemini: &Gemini) -> f64 {
    gemini.window().ratio(SEGMENT)
}

#[test]
fn marks_take_alpha_f_at_most_once_in_a_round_trip() {
    let course = Course::new(Span::from_ms(10));
    let mut gemini = gemini(&THESIS, 800);
    // The first acknowledgement ends a window of nothing: alpha is 960/1024 and, marked, 1.
    gemini.on_ack(&ack(&course, &gemini, (1, 801), true));
    let (scale, _) = gemini.factors();
    assert_eq!((gemini.alpha(), scale), (Marked::ONE, 243_079), "0.2318, as K is 50 frames");
    let cut = f64::floor(800.0 * (1.0 - 243_079.0 / 1_048_576.0));
    assert!((segments(&gemini) - cut).abs() < 1e-9);
    // All that was in flight may be marked: it is one congestion.
    for una in 2..=801 {
        gemini.on_ack(&ack(&course, &gemini, (una, 801 + una), true));
        assert!((segments(&gemini) - cut).abs() < 1e-9, "and the window does not grow");
    }
    gemini.on_ack(&ack(&course, &gemini, (802, 1603), true));
    assert!(segments(&gemini) < cut, "what was sent after the cut counts again");
    assert_eq!(gemini.slow_start_threshold(), gemini.window());
}

/// Windows of acknowledgements at this round-trip time, each of as many as the window has.
fn windows(gemini: &mut Gemini, course: &mut Course, rtt: Span, count: u64) -> Vec<f64> {
    course.rtt = rtt;
    let round = |_| {
        course.round(gemini);
        segments(gemini)
    };
    (0..count).map(round).collect()
}

#[test]
fn delay_takes_beta_when_the_shortest_of_a_window_is_above_base_and_t() {
    let mut course = Course::new(Span::from_ms(10));
    let mut gemini = gemini(&Config { recount: false, ..THESIS }, 100);
    windows(&mut gemini, &mut course, Span::from_ms(10), 3);
    let calm = windows(&mut gemini, &mut course, Span::from_ms(15), 6);
    assert!(calm.is_sorted() && calm[5] > 108.0, "5 ms are let pass: {calm:?}");
    assert_eq!(gemini.base(), Some(Span::from_ms(10)), "the base is kept");
    let seen = windows(&mut gemini, &mut course, Span::from_us(15_100), 8);
    let cuts: Vec<usize> = (1..8).filter(|&at| seen[at] < seen[at - 1] * 0.9).collect();
    // The window in which the delay rose has shorter samples in it. After a cut, what is acknowledged first was sent
    // before it; what follows makes the next window.
    assert_eq!(cuts.first(), Some(&1), "{seen:?}");
    assert!((seen[1] / seen[0] - 0.8).abs() < 0.02, "{seen:?}");
    assert!(
        cuts.windows(2).all(|two| two[1] - two[0] >= 2),
        "no cut for one delay twice: {seen:?}"
    );
}

#[test]
fn as_written_delay_cuts_again_in_the_window_that_was_sent_before_the_cut() {
    let cuts = |recount| {
        let mut course = Course::new(Span::from_ms(10));
        let mut gemini = gemini(&Config { recount, ..THESIS }, 100);
        windows(&mut gemini, &mut course, Span::from_ms(10), 3);
        // What is acknowledged in the first window was on its way when the delay rose.
        course.rtt = Span::from_ms(16);
        let mut cuts = vec![];
        for nth in 0..500 {
            let before = segments(&gemini);
            course.segment(&mut gemini);
            if segments(&gemini) < before {
                cuts.push(nth);
            }
        }
        cuts
    };
    // The first window with nothing shorter in it ends at 202; the next ones are of 105, 84 and 67 segments.
    assert_eq!(cuts(false), [202, 389]);
    assert_eq!(cuts(true), [202, 307, 391, 458]);
}

#[test]
fn one_short_sample_in_each_window_says_that_the_queue_comes_and_goes() {
    let mut course = Course::new(Span::from_ms(10));
    let mut gemini = gemini(&THESIS, 100);
    course.round(&mut gemini);
    for nth in 1..=1_000 {
        course.rtt = Span::from_ms(if nth % 60 == 0 { 12 } else { 40 });
        course.segment(&mut gemini);
    }
    assert!(segments(&gemini) > 110.0, "{}", segments(&gemini));
}

#[test]
fn of_two_signals_at_once_the_larger_counts() {
    // F is 1/2 at a seventh of C RTT, so marks take up to half, delay takes a fifth.
    let seventh = BufferSize::Bytes(Bytes::new(1_250_000 / 7));
    let shrunk = |mark, gain_shift, beta| {
        let config = Config { mark, gain_shift, decrease: beta, ..THESIS };
        let (mut gemini, course) = (gemini(&config, 100), Course::new(Span::from_ms(10)));
        gemini.on_ack(&ack(&course, &gemini, (1, 101), false));
        let late = Course { rtt: Span::from_ms(30), ..course };
        for una in 2..=100 {
            gemini.on_ack(&ack(&late, &gemini, (una, 100 + una), false));
        }
        let before = segments(&gemini);
        gemini.on_ack(&ack(&late, &gemini, (101, 201), true));
        (segments(&gemini) / before, f64::from(gemini.alpha()) / 1024.0)
    };
    let (kept, alpha) = shrunk(seventh, 4, 0.2);
    assert!((0.87..0.89).contains(&alpha), "{alpha}");
    assert!((kept - (1.0 - alpha / 2.0)).abs() < 0.01, "{kept}: marks take more");
    let (kept, _) = shrunk(BufferSize::Packets(5), 4, 0.2);
    assert!((kept - 0.8).abs() < 0.01, "{kept}: delay takes more");
}

#[test]
fn each_signal_can_be_left_out() {
    let course = Course::new(Span::from_ms(10));
    let mut deaf = gemini(&Config { dcn: false, ..THESIS }, 100);
    deaf.on_ack(&ack(&course, &deaf, (1, 101), true));
    deaf.on_mark(&course.loss(&deaf));
    assert!((segments(&deaf) - 100.0).abs() < 1e-9);
    let mut course = course;
    let mut patient = gemini(&Config { wan: false, ..THESIS }, 100);
    windows(&mut patient, &mut course, Span::from_ms(10), 2);
    assert!(windows(&mut patient, &mut course, Span::from_ms(90), 6).is_sorted());
}

#[test]
fn a_loss_halves_the_window_even_after_a_mark_and_a_timeout_begins_at_one() {
    let course = Course::new(Span::from_ms(10));
    let mut gemini = gemini(&THESIS, 100);
    gemini.on_ack(&ack(&course, &gemini, (1, 101), true));
    let marked = gemini.window();
    gemini.on_loss(&Loss { after_mark: true, ..course.loss(&gemini) });
    let half = SEGMENT * (marked.get() / SEGMENT.get() / 2);
    assert_eq!((gemini.window(), gemini.slow_start_threshold()), (half, half));
    gemini.on_rto(&course.loss(&gemini), true);
    let quarter = SEGMENT * (half.get() / SEGMENT.get() / 2);
    assert_eq!((gemini.window(), gemini.slow_start_threshold()), (SEGMENT, quarter));
    gemini.on_rto(&course.loss(&gemini), false);
    assert_eq!(gemini.slow_start_threshold(), quarter, "the same byte");
}

#[test]
fn a_round_trip_adds_h_whatever_the_acknowledgements_hold() {
    let grown = |acked: u64| {
        let (mut gemini, course) = (gemini(&THESIS, 200), Course::new(Span::from_ms(10)));
        for nth in 1..=2_000 / acked {
            let una = nth * acked;
            let facts = ack(&course, &gemini, (una, una + 200), false);
            gemini.on_ack(&Ack { acked: SEGMENT * acked, ..facts });
        }
        gemini.window().get() / SEGMENT.get()
    };
    // Ten windows at 1 Gb/s and 10 ms: h = 1.2.
    assert_eq!([1, 2, 4].map(grown), [211; 3]);
}

#[test]
fn noise_lengthens_round_trips_by_up_to_what_is_said_and_by_other_draws_for_each_flow() {
    let base = |noise, draw| {
        let config = Config { rtt_noise: Span::from_us(noise), ..THESIS };
        let mut gemini = Gemini::new(&config, &Start { draw, ..start() });
        let mut course = Course::new(Span::from_ms(10));
        course.segment(&mut gemini);
        gemini.base().unwrap().as_ps() / 1_000
    };
    assert_eq!(base(0, 1), 10_000_000);
    let samples: Vec<u64> = (0..200).map(|draw| base(1_000, draw)).collect();
    assert!(samples.iter().all(|ns| (10_000_000..=11_000_000).contains(ns)));
    let mean = samples.iter().sum::<u64>() / 200;
    assert!((10_430_000..10_570_000).contains(&mean), "{mean}");
    assert_eq!(base(1_000, 3), base(1_000, 3));
}

#[test]
fn capacity_is_that_of_the_link_unless_it_is_said() {
    let factors = |config: Config, gbps| {
        let link = BitsPerSec::gbps(gbps);
        let mut gemini = Gemini::new(&config, &Start { link, ..start() });
        Course::new(Span::from_ms(10)).segment(&mut gemini);
        gemini.factors()
    };
    let said = Config { capacity: Some(BitsPerSec::gbps(1)), ..THESIS };
    assert_eq!(factors(said, 10), factors(THESIS, 1));
    // K grows with C, so F does not; h is ten times 1.2, and bounded.
    assert_eq!(factors(THESIS, 10), (243_079, 5 << STEP_BITS));
    let frames = Config { mark: BufferSize::Packets(50), ..THESIS };
    assert_eq!(factors(frames, 1), factors(THESIS, 1));
}

#[test]
fn it_is_paced_at_twice_the_window_while_it_starts_slowly_and_at_a_fifth_more_than_it_later() {
    let mut gemini = Gemini::new(&THESIS, &start());
    assert_eq!(gemini.pacing(), None, "nothing is known before the first sample");
    let mut course = Course::new(Span::from_ms(10));
    let pace = |gemini: &Gemini, percent: u64| {
        let bits = gemini.window().get() * 8 * 100 * percent / 100;
        assert_eq!(gemini.pacing(), BitsPerSec::new(bits));
    };
    course.round(&mut gemini);
    pace(&gemini, 200);
    let loss = course.loss(&gemini);
    gemini.on_loss(&loss);
    course.round(&mut gemini);
    pace(&gemini, 120);
}

//! Gemini: its formulas against exact arithmetic, and the noise of its RTT samples.

use crate::support::{FixedRtt, number, start, table};
use shallop_control::Start;
use shallop_control::gemini::law::{self, Cwnd, H_BITS, REDUCTION_BITS, STEP_BITS};
use shallop_control::gemini::{Config, Gemini};
use shallop_core::{BitsPerSec, Bytes, Span};

const THESIS: Config = Config::THESIS;

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

//! BBR: pacing rate, cwnd and modes on a single bottleneck; losses, RTOs, idle periods and policers.

use crate::support::bottleneck::Bottleneck;
use crate::support::{FixedRtt, SEGMENT, number, start, table};
use shallop_control::bbr::{Bbr, Config, Mode};
use shallop_control::{Ack, RateSample, Start, Window};
use shallop_core::{BitsPerSec, Bytes, Span, Time};

/// A rate in Mb/s.
fn rate(mbps: f64) -> BitsPerSec {
    BitsPerSec::at_least_one((mbps * 1e6) as u64)
}

/// The pacing rate in Mb/s.
fn pacing_rate(bbr: &Bbr) -> f64 {
    bbr.pacing().expect("BBR always paces").get() as f64 / 1e6
}

/// A flow in the steady state, at the beginning of a cruising phase.
fn steady(config: &Config, rate: BitsPerSec, base_rtt: Span) -> (Bbr, Bottleneck) {
    let (mut bbr, mut path) = (Bbr::new(config, &start()), Bottleneck::new(rate, base_rtt));
    (0..60).for_each(|_| path.round(&mut bbr));
    while bbr.mode() != Mode::ProbeBw(3) {
        path.segment(&mut bbr);
    }
    (bbr, path)
}

#[test]
fn the_initial_pacing_rate_is_the_high_gain_times_the_initial_window_per_rtt() {
    for row in table(include_str!("../../vectors/bbr_pacing.csv")) {
        let [initial_window, mss, rtt, expected] = [0, 1, 2, 3].map(|field| number(row[field]));
        let mss = Bytes::new(mss as u64);
        let start = Start { mss, initial_window: mss * initial_window as u64, ..start() };
        let mut bbr = Bbr::new(&Config::LINUX_IDEAL, &start);
        if rtt > 0.0 {
            bbr.on_handshake(Time::ZERO, Span::from_us(rtt as u64));
        }
        let rate = pacing_rate(&bbr);
        assert!((rate / expected - 1.0).abs() < 1e-4, "{row:?}: {rate}");
    }
}

/// Runs one round, as one ACK, with a delivery rate of `mbps` Mb/s and a full pipe. Returns the total of delivered
/// bytes.
fn round(bbr: &mut Bbr, now: Time, delivered: Bytes, mbps: f64) -> Bytes {
    let path = FixedRtt::new(Span::from_ms(10));
    let acked = rate(mbps).bytes_in(path.rtt);
    let (prior_delivered, delivered) = (delivered, delivered + acked);
    let sample = RateSample { delivered: acked, interval: path.rtt, prior_delivered, is_app_limited: false };
    let (rate_sample, in_flight) = (Some(sample), acked * 3);
    bbr.on_ack(&Ack { now, delivered, rate_sample, in_flight, ..path.ack(bbr, acked) });
    delivered
}

#[test]
fn startup_ends_after_three_rounds_in_which_bw_grew_by_less_than_a_quarter() {
    let mut case = (String::new(), Bbr::new(&Config::LINUX_IDEAL, &start()), Time::ZERO, Bytes::ZERO);
    for row in table(include_str!("../../vectors/bbr_startup.csv")) {
        if case.0 != row[0] {
            let bbr = Bbr::new(&Config::LINUX_IDEAL, &start());
            case = (row[0].to_owned(), bbr, Time::ZERO, Bytes::ZERO);
        }
        let (_, bbr, now, delivered) = &mut case;
        let (is_first, before) = (*now == Time::ZERO, pacing_rate(bbr));
        *now += Span::from_ms(10);
        *delivered = round(bbr, *now, *delivered, number(row[1]));
        let expected = if row[2] == "1" { Mode::Drain } else { Mode::Startup };
        assert_eq!(bbr.mode(), expected, "{row:?}");
        let may_fall = is_first || expected == Mode::Drain;
        assert!(may_fall || pacing_rate(bbr) >= before, "{row:?}: {before}");
    }
}

#[test]
fn cwnd_is_twice_the_bdp_and_three_bursts() {
    for row in table(include_str!("../../vectors/bbr_window.csv")) {
        let [mbps, rtt, quantum, expected] = [0, 1, 2, 3].map(|field| number(row[field]));
        let config = Config { send_quantum: Bytes::new(quantum as u64), ..Config::LINUX_IDEAL };
        let (bbr, _) = steady(&config, rate(mbps), Span::from_us(rtt as u64));
        let cwnd = bbr.window().ratio(SEGMENT);
        assert!((cwnd - expected).abs() < 1e-9, "{row:?}: {cwnd}");
        let rate = pacing_rate(&bbr);
        assert!((rate / mbps - 0.99).abs() < 1e-3, "{row:?}: {rate}");
    }
}

#[test]
fn probe_bw_begins_at_a_uniformly_random_phase_but_never_the_draining_one() {
    let mut first_phases = [0; 8];
    for seed in 0..700 {
        let mut bbr = Bbr::new(&Config::LINUX_IDEAL, &Start { seed, ..start() });
        let mut path = Bottleneck::new(rate(10.0), Span::from_ms(10));
        loop {
            path.segment(&mut bbr);
            if let Mode::ProbeBw(phase) = bbr.mode() {
                first_phases[phase] += 1;
                break;
            }
        }
    }
    assert_eq!(first_phases[1], 0);
    let near_100 = |&(phase, count): &(usize, &i32)| phase == 1 || (70..=130).contains(count);
    assert!(first_phases.iter().enumerate().all(|each| near_100(&each)), "{first_phases:?}");
}

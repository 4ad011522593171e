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

/// A flow in the steady state at 100 Mb/s and 10 ms.
fn steady_at_100_mbps() -> (Bbr, Bottleneck) {
    steady(&Config::LINUX_IDEAL, rate(100.0), Span::from_ms(10))
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
        *now += Span::from_ms(10);
        *delivered = round(bbr, *now, *delivered, number(row[1]));
        let expected = if row[2] == "1" { Mode::Drain } else { Mode::Startup };
        assert_eq!(bbr.mode(), expected, "{row:?}");
    }
}

#[test]
fn the_pacing_rate_does_not_decrease_in_startup() {
    let mut bbr = Bbr::new(&Config::LINUX_IDEAL, &start());
    let (mut now, mut delivered, mut before) = (Time::ZERO, Bytes::ZERO, 0.0);
    for mbps in [10.0, 20.0, 5.0, 1.0] {
        now += Span::from_ms(10);
        delivered = round(&mut bbr, now, delivered, mbps);
        let rate = pacing_rate(&bbr);
        assert!(bbr.mode() == Mode::Startup && rate >= before, "{mbps}: {before}");
        before = rate;
    }
    assert!((before - 20.0 * 739.0 / 256.0 * 0.99).abs() < 0.01, "{before}");
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
fn a_gain_cycle_takes_eight_round_trips_and_its_mean_pacing_rate_is_0_99_of_the_bandwidth() {
    let (mut bbr, mut path) = steady_at_100_mbps();
    let (start, mut phase_start) = (path.now, path.now);
    let (mut phases, mut gains) = (vec![3], vec![]);
    while phases.len() < 33 {
        path.segment(&mut bbr);
        let Mode::ProbeBw(phase) = bbr.mode() else { panic!("{:?}", bbr.mode()) };
        if phases.last() != Some(&phase) {
            let round_trips = (path.now - phase_start).ratio(path.base_rtt);
            // The draining phase may be shorter, the probing phase longer.
            assert!((0.2..1.6).contains(&round_trips), "{phases:?}: {round_trips}");
            (phase_start, phases) = (path.now, [phases, vec![phase]].concat());
            gains.push(pacing_rate(&bbr) / 100.0);
        }
    }
    assert!(phases.windows(2).all(|pair| pair[1] == (pair[0] + 1) % 8), "{phases:?}");
    let (cycle, mean) = (&gains[..8], gains.iter().sum::<f64>() / gains.len() as f64);
    assert!((mean - 0.99).abs() < 1e-3, "{mean}: {cycle:?}");
    let round_trips = (path.now - start).ratio(path.base_rtt);
    assert!((round_trips / 4.0 - 8.0).abs() < 0.5, "{round_trips} in four cycles");
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

#[test]
fn probe_rtt_takes_two_per_cent_of_the_time_and_keeps_bw() {
    let (mut bbr, mut path) = steady(&Config::LINUX_IDEAL, rate(12.0), Span::from_ms(4));
    let (mut began, mut probes) = (None, vec![]);
    let mut before = bbr.window();
    while path.now < Time::after_start(Span::from_secs(45)) {
        path.segment(&mut bbr);
        let probing = bbr.mode() == Mode::ProbeRtt;
        match began {
            None if probing => began = Some(path.now),
            Some(at) if !probing => {
                assert!(bbr.window() >= before, "cwnd is restored");
                probes.push((at, path.now - at));
                began = None;
            }
            Some(_) => assert_eq!(bbr.window(), SEGMENT * 4),
            None => before = bbr.window(),
        }
        let bw = bbr.bw().map_or(0.0, |bw| bw.get() as f64 / 12e6);
        assert!((0.999..1.01).contains(&bw), "{bw} at {:?}", path.now);
    }
    assert!(probes.len() == 4, "{probes:?}");
    for pair in probes.windows(2) {
        let period = pair[1].0 - pair[0].0;
        assert!((10.2..10.22).contains(&period.as_secs_f64()), "{probes:?}");
        let fraction = pair[0].1.ratio(period);
        assert!((0.0196..0.0205).contains(&fraction), "{fraction}: {probes:?}");
    }
}

#[test]
fn app_limited_samples_count_only_if_they_are_above_bw() {
    let (mut bbr, mut path) = steady_at_100_mbps();
    path.is_cwnd_limited = false;
    path.rate = rate(50.0);
    (0..30).for_each(|_| path.round(&mut bbr));
    let bw = |bbr: &Bbr| bbr.bw().map_or(0, BitsPerSec::get) / 1_000_000;
    assert_eq!(bw(&bbr), 100);
    path.rate = rate(200.0);
    (0..30).for_each(|_| path.round(&mut bbr));
    assert!(bw(&bbr) > 105, "{}", bw(&bbr));
}

#[test]
fn recovery_conserves_packets_for_one_round_and_restores_cwnd_at_its_end() {
    let (mut bbr, mut path) = steady_at_100_mbps();
    let before = bbr.window();
    bbr.on_loss(&path.loss());
    assert_eq!(bbr.window(), before, "cwnd changes with the ACK that follows");
    path.lose(3);
    let flight = path.in_flight;
    path.segment(&mut bbr);
    assert_eq!(bbr.window(), flight, "packet conservation");
    while path.delivered.get() % (flight.get() / 2) > SEGMENT.get() {
        path.segment(&mut bbr);
        assert!(bbr.window() <= flight);
    }
    // After that round cwnd grows by the acknowledged bytes, up to its target.
    (0..3).for_each(|_| path.round(&mut bbr));
    assert!(bbr.window() > flight + SEGMENT * 20, "{}", bbr.window().ratio(SEGMENT));
    // A further loss reduces cwnd by the lost bytes. The end of recovery restores cwnd.
    path.losses = SEGMENT * 50;
    path.segment(&mut bbr);
    assert!(bbr.window() <= before - SEGMENT * 40);
    bbr.on_recovery_exit(path.now);
    path.segment(&mut bbr);
    assert!(bbr.window() + SEGMENT * 4 >= before, "{}", bbr.window().ratio(SEGMENT));
}

#[test]
fn after_an_rto_cwnd_is_one_segment_then_four_and_grows_by_the_acknowledged_segments() {
    let (mut bbr, mut path) = steady_at_100_mbps();
    let (cwnd_before, rate_before) = (bbr.window(), pacing_rate(&bbr));
    bbr.on_rto(&path.loss(), true);
    assert_eq!(bbr.window(), SEGMENT);
    path.in_flight = SEGMENT;
    path.losses = cwnd_before;
    path.segment(&mut bbr);
    assert_eq!(bbr.window(), SEGMENT * 4);
    let mut cwnds = vec![];
    for _ in 0..5 {
        path.segment(&mut bbr);
        cwnds.push(bbr.window().ratio(SEGMENT));
    }
    assert_eq!(cwnds, [5.0, 6.0, 7.0, 8.0, 9.0]);
    assert!((pacing_rate(&bbr) / rate_before - 1.0).abs() < 0.27, "the model is unchanged");
    bbr.on_recovery_exit(path.now);
    path.segment(&mut bbr);
    assert!(bbr.window() + SEGMENT * 4 >= cwnd_before);
}

#[test]
fn an_app_limited_flow_restarts_after_idle_at_bw_and_without_probe_rtt() {
    let (mut bbr, mut path) = steady_at_100_mbps();
    while bbr.mode() != Mode::ProbeBw(0) {
        path.segment(&mut bbr);
    }
    assert!((pacing_rate(&bbr) - 123.75).abs() < 0.1);
    bbr.on_restart(path.now, false);
    assert!((pacing_rate(&bbr) - 123.75).abs() < 0.1, "it was not app-limited");
    path.now += Span::from_secs(20);
    bbr.on_restart(path.now, true);
    assert!((pacing_rate(&bbr) - 99.0).abs() < 0.1, "{}", pacing_rate(&bbr));
    path.in_flight = SEGMENT * 10;
    path.segment(&mut bbr);
    assert!(matches!(bbr.mode(), Mode::ProbeBw(_)), "{:?}", bbr.mode());
}

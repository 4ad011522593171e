//! Checks whether a rehearsal is valid: lateness cannot have moved its goodput by much, only the network lost frames,
//! and hosts got the processor time that they needed. The effect of lateness on flows of UDP and QUIC is not known, so
//! that their runs have limits of lateness itself.

use shallop_core::Span;
use shallop_results::rehearsal_bound::{self, NetworkTimes};
use shallop_results::summary::RehearsalOfRun;

/// The limit of the 99th percentile of lateness, in seconds, or [`LATENESS_OF_RTT`] of the shortest round trip, if that
/// is longer.
const LATENESS: f64 = 100e-6;
const LATENESS_OF_RTT: f64 = 0.01;
/// The limit of the time between two polls of the hosts' links, in seconds.
const GAP: f64 = 3e-3;
/// The limit of the 99th percentile of response times, in seconds, or [`RESPONSE_OF_RTT`] of the shortest round trip,
/// if that is longer.
const RESPONSE: f64 = 250e-6;
const RESPONSE_OF_RTT: f64 = 0.05;
/// The limit of the delay of a flow's start or of a datagram, in seconds.
const START: f64 = 10e-3;
/// The limit of the fraction of time for which the threads of hosts waited for a processor.
const WAITED: f64 = 0.25;

/// The reasons why a run is invalid (void); empty for a valid run.
pub(crate) fn reasons(run: &RehearsalOfRun, network: NetworkTimes) -> Vec<String> {
    let mut why = match run.bounds {
        Some(bounds) => {
            let moved = bounds.goodput_moved();
            let most = rehearsal_bound::MOST;
            let text = || {
                format!(
                    "the machine was late, which may have moved the goodput by {:.0} %; the limit is {:.0} %",
                    moved * 100.0,
                    most * 100.0
                )
            };
            (moved > most).then(text).into_iter().collect()
        }
        None => late(run, network.rtt_s),
    };
    if run.lost_frames > 0 {
        why.push(format!("{} frames were lost between hosts and emulator", run.lost_frames));
    }
    if run.checksum_errors > 0 {
        why.push(format!("{} packets had a wrong checksum: a defect", run.checksum_errors));
    }
    why
}

/// The limits of lateness that a run with flows of UDP or QUIC exceeds, with a shortest round trip of `rtt` seconds.
fn late(run: &RehearsalOfRun, rtt: f64) -> Vec<String> {
    let mut why = Vec::new();
    let mut over = |what: &str, measured: f64, most: f64| {
        if measured > most {
            let (measured, most) = (measured * 1e6, most * 1e6);
            why.push(format!("{what} is {measured:.0} us; the limit is {most:.0} us"));
        }
    };
    let late = LATENESS.max(LATENESS_OF_RTT * rtt);
    over("the 99th percentile of packets' lateness", run.lateness_p99_s, late);
    over("the longest pause of the emulator", run.longest_gap_s, GAP);
    let answer = RESPONSE.max(RESPONSE_OF_RTT * rtt);
    over("the 99th percentile of hosts' response times", run.response_p99_s, answer);
    over("the longest delay of a flow's start or a datagram", run.starts_late_s, START);
    if run.hosts_waited > WAITED {
        let part = run.hosts_waited * 100.0;
        why.push(format!("the hosts' sockets waited for a processor {part:.0} % of the time"));
    }
    why
}

/// Warnings about a valid run. `shortest_drain` is the time in which the shallowest buffer drains. Hosts that answer
/// late and late datagrams cause bursts that this buffer may drop. Late datagrams do not make a run invalid, because
/// their loss depends on their share of the link.
pub(crate) fn warnings(run: &RehearsalOfRun, shortest_drain: Span) -> Vec<String> {
    let drain = shortest_drain.as_secs_f64();
    let datagrams = (run.datagrams_late_s > drain).then(|| {
        let (late, drain) = (run.datagrams_late_s * 1e6, drain * 1e6);
        format!(
            "datagrams were up to {late:.0} us late, and late datagrams leave in bursts: the shallowest buffer, which \
             drains in {drain:.0} us, may have dropped some that hosts on processors of their own would not lose"
        )
    });
    let answers = (run.response_p99_s > drain / 2.0).then(|| {
        let (answer, drain) = (run.response_p99_s * 1e6, drain * 1e6);
        format!(
            "the shallowest buffer drains in {drain:.0} us, and the 99th percentile of hosts' response times is \
             {answer:.0} us: hosts on processors of their own may lose less"
        )
    });
    let stretched = (run.stretch > 1).then(|| {
        format!(
            "time was stretched {} times, and TCP's bursts of a millisecond were not: behind a buffer of few bursts, \
             hosts lose less than unstretched ones",
            run.stretch
        )
    });
    answers.into_iter().chain(datagrams).chain(stretched).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use shallop_results::summary::LatenessBounds;

    #[test]
    fn responses_slower_than_half_a_buffer_give_a_warning() {
        let run = RehearsalOfRun { response_p99_s: 130e-6, ..RehearsalOfRun::default() };
        assert_eq!(warnings(&run, Span::from_us(261)), Vec::<String>::new());
        let told = warnings(&run, Span::from_us(160)).concat();
        assert!(told.contains("drains in 160 us") && told.contains("130 us"), "{told}");
        assert_eq!(warnings(&run, Span::MAX), Vec::<String>::new());
    }

    #[test]
    fn stretched_time_gives_a_warning() {
        let run = |stretch| RehearsalOfRun { stretch, ..RehearsalOfRun::default() };
        assert_eq!(warnings(&run(1), Span::MAX), Vec::<String>::new());
        let told = warnings(&run(4), Span::MAX).concat();
        assert!(told.contains("stretched 4 times"), "{told}");
    }

    #[test]
    fn datagrams_later_than_the_drain_of_a_buffer_give_a_warning() {
        let run = RehearsalOfRun { datagrams_late_s: 2e-3, ..RehearsalOfRun::default() };
        assert_eq!(warnings(&run, Span::from_ms(2)), Vec::<String>::new());
        let told = warnings(&run, Span::from_us(160));
        assert!(told[0].contains("up to 2000 us") && told[0].contains("160 us"), "{told:?}");
        assert_eq!(told.len(), 1);
    }

    #[test]
    fn a_run_without_bounds_is_valid_unless_something_was_late_or_lost() {
        let network = |rtt_s| NetworkTimes { rtt_s, ..NetworkTimes::default() };
        let good = RehearsalOfRun {
            lateness_p99_s: 150e-6,
            longest_gap_s: 1e-3,
            response_p99_s: 900e-6,
            hosts_waited: 0.01,
            ..RehearsalOfRun::default()
        };
        assert_eq!(reasons(&good, network(20e-3)), Vec::<String>::new());
        assert_eq!(reasons(&good, network(1e-3)).len(), 2, "of a shorter round trip");
        let bad = RehearsalOfRun {
            lateness_p99_s: 250e-6,
            longest_gap_s: 4e-3,
            response_p99_s: 2e-3,
            hosts_waited: 0.3,
            starts_late_s: 20e-3,
            lost_frames: 1,
            ..good
        };
        let why = reasons(&bad, network(20e-3));
        assert_eq!(why.len(), 6);
        assert!(why[0].contains("250 us; the limit is 200 us"), "{}", why[0]);
    }

    #[test]
    fn a_run_with_bounds_is_void_if_lateness_may_have_moved_its_goodput_by_more_than_a_tenth() {
        let run = |goodput| RehearsalOfRun {
            lateness_p99_s: 1.0,
            bounds: Some(LatenessBounds { goodput, loss: 1.0, queue: 1.0 }),
            ..RehearsalOfRun::default()
        };
        assert_eq!(reasons(&run(0.09), NetworkTimes::default()), Vec::<String>::new());
        let why = reasons(&run(0.2), NetworkTimes::default()).concat();
        assert!(why.contains("by 22 %; the limit is 10 %"), "{why}");
    }
}

//! Prague: the window under fixed marks, growth and reductions of short round trips, the classic response.

use crate::support::{FixedRtt, SEGMENT, start};
use shallop_control::prague::Config;
use shallop_control::{Ack, Prague, Start, Window};
use shallop_core::{Bytes, Seed, Span, Time};

/// Prague after slow start, independent of the round trip from the start on.
fn prague(cwnd: u64, config: Config) -> Prague {
    let (initial_window, initial_ssthresh) = (SEGMENT * cwnd, SEGMENT);
    Prague::new(&config, &Start { initial_window, initial_ssthresh, ..start() })
}

const AT_ONCE: Config = Config { rtt_transition: 0, ..Config::LINUX_IDEAL };

/// A sender that is acknowledged packet by packet; a mark is reported once for each window of data.
struct Path {
    path: FixedRtt,
    reduced_until: u64,
}

impl Path {
    fn new(rtt: Span) -> Self {
        Self { path: FixedRtt::new(rtt), reduced_until: 0 }
    }

    fn segment(&mut self, prague: &mut Prague, is_marked: bool) {
        let in_flight = prague.window().get();
        self.path.now += self.path.rtt.scale(SEGMENT.ratio(prague.window()));
        self.path.snd_una += SEGMENT.get();
        let marked = if is_marked { SEGMENT } else { Bytes::ZERO };
        let ack = self.path.ack(prague, SEGMENT);
        prague.on_ack(&Ack { marked, snd_nxt: self.path.snd_una + in_flight, ..ack });
        if is_marked && self.path.snd_una >= self.reduced_until {
            prague.on_mark(&self.path.loss(prague));
            self.reduced_until = self.path.snd_una + in_flight;
        }
    }

    /// The mean cwnd over time, in packets, of which `is_marked` says which are marked.
    fn mean(&mut self, prague: &mut Prague, packets: u64, mut is_marked: impl FnMut(u64) -> bool) -> f64 {
        (0..packets / 2).for_each(|nth| self.segment(prague, is_marked(nth)));
        let begin = self.path.now;
        (packets / 2..packets).for_each(|nth| self.segment(prague, is_marked(nth)));
        (packets / 2) as f64 * self.path.rtt.ratio(self.path.now - begin)
    }
}

/// Growth is a packet in a round trip, less the marked part p; the reduction is p / 2 of the window. Both are equal at
/// 2 (1 - p) / p packets if each round trip has a mark.
#[test]
fn evenly_spread_marks_hold_the_window_at_two_over_their_fraction() {
    for (every, two_over_p) in [(100, 200.0), (25, 50.0), (10, 20.0)] {
        let unmarked = 1.0 - 1.0 / every as f64;
        let mean = Path::new(Span::from_ms(30)).mean(&mut prague(40, AT_ONCE), 400_000, |nth| nth % every == 0);
        let error = mean / (two_over_p * unmarked) - 1.0;
        assert!(error.abs() < 0.06, "1 of {every}: {mean}");
        assert!((mean / two_over_p - 1.0).abs() < 0.12, "1 of {every}: {mean}");
    }
}

/// A share e^-Wp of the windows has no mark and no reduction: Wp (1 - e^-Wp) is about 2, which Wp = 2.3 solves.
#[test]
fn random_marks_hold_the_window_near_two_over_their_fraction() {
    for fraction in [0.01, 0.04, 0.1] {
        let mut marks = Seed::new(1).stream("marks", 0);
        let mut path = Path::new(Span::from_ms(30));
        let mean = path.mean(&mut prague(40, AT_ONCE), 400_000, |_| marks.chance(fraction)) * fraction;
        assert!((2.0..3.0).contains(&mean), "{fraction}: {mean} over the fraction");
    }
}

/// A round trip of 5 ms adds a 25th of a packet, so that 5 ms and 25 ms add as much to the rate in the same time.
#[test]
fn the_rate_of_a_short_round_trip_grows_as_that_of_the_virtual_one() {
    let growth = |rtt, config: Config| {
        let (mut prague, mut path) = (prague(100, config), Path::new(Span::from_ms(rtt)));
        while path.path.now < Time::ZERO + Span::from_secs(1) {
            path.segment(&mut prague, false);
        }
        (prague.window().ratio(SEGMENT) - 100.0) / (rtt as f64 / 1e3)
    };
    // 40 round trips of 25 ms: 40 packets in 25 ms.
    let [long, short] = [25, 5].map(|rtt| growth(rtt, AT_ONCE));
    assert!((long / 1_600.0 - 1.0).abs() < 0.02, "{long} packets/s");
    assert!((short / long - 1.0).abs() < 0.02, "{short} and {long} packets/s");
    // Without the virtual round trip 200 round trips of 5 ms add 200 packets; for 500 round trips that is the default.
    for config in [Config { virtual_rtt: Span::ZERO, ..AT_ONCE }, Config::LINUX_IDEAL] {
        let own = growth(5, config);
        assert!((own / (25.0 * long) - 1.0).abs() < 0.03, "{own} packets/s");
    }
}

#[test]
fn marks_give_flows_of_5_and_25_ms_the_same_rate() {
    let rate = |rtt, seed| {
        let (rtt, mut marks) = (Span::from_ms(rtt), Seed::new(seed).stream("marks", 0));
        Path::new(rtt).mean(&mut prague(40, AT_ONCE), 400_000, |_| marks.chance(0.01)) / rtt.as_secs_f64()
    };
    let (short, long) = (rate(5, 1), rate(25, 2));
    assert!((short / long - 1.0).abs() < 0.1, "{short} and {long} packets/s");
}

#[test]
fn marks_of_a_deep_and_varying_queue_are_answered_as_reno_does_if_that_is_asked_for() {
    // The round trip alternates between 40 and 80 ms; one packet of 100 is marked.
    let mean = |classic_fallback| {
        let (mut prague, mut path) = (prague(40, Config { classic_fallback, ..AT_ONCE }), Path::new(Span::from_ms(60)));
        path.path.min_rtt = Span::from_ms(40);
        let (mut sum, packets) = (0.0, 100_000);
        for nth in 0..packets {
            path.path.rtt = Span::from_ms(if nth % 2 == 0 { 40 } else { 80 });
            path.segment(&mut prague, nth % 100 == 0);
            sum += if nth >= packets / 2 { prague.window().ratio(SEGMENT) } else { 0.0 };
        }
        sum / f64::from(packets / 2)
    };
    let (off, on) = (mean(false), mean(true));
    assert!((180.0..220.0).contains(&off), "{off} packets");
    // 100 packets add 99 / W to the window W, of which a mark takes 0.625 / 2: about 17.8 packets at the mark.
    assert!((14.0..18.0).contains(&on), "{on} packets");
}

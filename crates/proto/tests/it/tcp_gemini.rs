//! Gemini in TCP: a marking queue that never empties, a deep queue that stays short, and pacing.

use crate::support::tcp::{SEGMENT, ms, pair, sender};
use crate::{support::Path, support::shared_bottleneck::SharedBottleneck};
use shallop_control::{Window, cubic, reno};
use shallop_control::{any, gemini::Config};
use shallop_core::{BitsPerSec, BufferSize, Bytes, Span, Time};
use shallop_proto::tcp::{self, EcnConfig, Stack};

const GBPS: BitsPerSec = BitsPerSec::gbps(1);

/// Linux with the ECN that Gemini requires, without a handshake.
fn linux() -> tcp::Config {
    tcp::Config { handshake: false, ecn: EcnConfig::EXACT, ..Stack::LINUX_IDEAL.tcp }
}

/// A flow over a link of 1 Gb/s, behind a host link of 10 Gb/s, that marks above `mark` frames.
fn flow(config: Config, mark: u32, rtt: Span) -> SharedBottleneck {
    let mut path = SharedBottleneck::new(GBPS, rtt / 2, Bytes::MAX);
    path.mark = mark;
    let config = Config { capacity: Some(GBPS), ..config };
    path.add(&linux(), &any::Config::Gemini(config), Time::ZERO, None);
    path
}

/// The part of the link that data took between two times, and the longest and the mean time from sending until it
/// has left the link.
fn used(path: &SharedBottleneck, from: Time, to: Time) -> (f64, Span, Span) {
    let (mut bytes, mut longest, mut sum, mut count) = (0, Span::ZERO, Span::ZERO, 0);
    for joined in path.enqueued.iter().filter(|joined| (from..to).contains(&joined.leaves)) {
        let wait = joined.leaves - joined.sent;
        bytes += u64::from(joined.size);
        (longest, sum, count) = (longest.max(wait), sum + wait, count + 1);
    }
    (Bytes::new(bytes).per(to - from) / path.rate.get() as f64, longest, sum / count)
}

/// The part of 1 Gb/s that a flow uses in its steady state, and the longest wait. Marks begin at 10 frames; Gemini
/// assumes `mark`.
fn settled(mark: BufferSize, rtt: Span) -> (f64, Span) {
    let mut path = flow(Config { k: mark, ..Config::THESIS }, 10, rtt);
    path.run(ms(9_000));
    let (part, longest, _) = used(&path, ms(6_000), ms(9_000));
    (part, longest)
}

#[test]
fn a_queue_that_marks_above_50_packets_never_runs_dry() {
    // Theorem 3.3.1 at its smallest N. The window is at K and C RTT when marks begin: 862 frames, and h = 1.2.
    let mut path = flow(Config::THESIS, 50, Span::from_ms(10));
    path.run(ms(2_000));
    let mut windows = vec![];
    for at in 2_000..6_000 {
        path.run(ms(at));
        windows.push(path.flows[0].sender().controller().window().get() / SEGMENT);
    }
    let (part, longest, mean) = used(&path, ms(2_000), ms(5_900));
    assert!(part > 0.9999, "{part} of the link");
    // Eq. 3.8: K + h, and the frame itself. A round trip passes before the reduction shows.
    let frame = Span::from_ns(12_304);
    assert!(longest < frame * 55, "{longest}");
    assert!(mean > frame * 40, "{mean}");
    // Eq. 3.7: the sawtooth's height is the root of h F (C RTT + K), 15.5 frames.
    let (least, most) = (windows.iter().min().unwrap(), windows.iter().max().unwrap());
    assert!((13..=18).contains(&(most - least)), "{least} to {most}");
}

#[test]
fn halving_empties_a_queue_that_the_factor_f_keeps_filled() {
    // Eq. 3.9 for one flow at 20 ms and K = 10, where h = 2.4: of 12.4 frames 9.8 are drained by F, and 44 by 1/2.
    let rtt = Span::from_ms(20);
    let (part, longest) = settled(BufferSize::Packets(10), rtt);
    assert!(part > 0.9999, "{part} of the link");
    assert!(longest < Span::from_ns(12_304) * 16, "{longest}");
    // F is 1/2 where K is a seventh of C RTT: DCTCP's reduction at this switch.
    let (part, _) = settled(BufferSize::Bytes(GBPS.bytes_in(rtt) / 7), rtt);
    assert!(part < 0.997, "{part} of the link");
}

/// The part of the link that is used without marks, and the longest wait.
fn unmarked(recount: bool) -> (f64, Span) {
    let config = Config { recount, ..Config::THESIS };
    let mut path = flow(config, u32::MAX, Span::from_ms(10));
    path.run(ms(8_000));
    let (part, longest, _) = used(&path, ms(4_000), ms(8_000));
    (part, longest)
}

#[test]
fn without_marks_the_round_trip_stays_within_t_and_the_link_is_full() {
    // A reduction by a fifth at 15 ms leaves 12 ms of the 10 ms that are needed (thesis, 3.3.3).
    let (part, longest) = unmarked(false);
    assert!(part > 0.9999, "{part} of the link");
    // A window of late packets, and a round trip until the response shows: h = 1.2 frames each, and queued frames.
    let most = Span::from_ms(5) + Span::from_ns(12_304) * 8;
    assert!(longest > Span::from_ms(5) && longest <= most, "{longest}");
    // Two successive reductions, as in Algorithm 1, leave 9.6 ms.
    let (part, longest) = unmarked(true);
    assert!((0.998..0.9999).contains(&part), "{part} of the link");
    assert!(longest > Span::from_ms(5) && longest <= most, "{longest}");
}

#[test]
fn packets_are_paced_and_not_sent_in_bursts() {
    for control in [
        any::Config::Reno(reno::Config { pacing: true, ..reno::Config::LINUX_IDEAL }),
        any::Config::Cubic(cubic::Config { pacing: true, ..cubic::Config::LINUX_IDEAL }),
        any::Config::Gemini(Config::THESIS),
    ] {
        let path = Path { rate: BitsPerSec::gbps(40), ..Path::clean() };
        let config = tcp::Config { initial_threshold: Bytes::new(200 * SEGMENT), ..linux() };
        let mut pair = pair(&config, &control, u64::MAX >> 16, path);
        let mut paces = vec![];
        for tick in 1..=4_000 {
            let before = sender(&pair).controller().pacing();
            pair.run(Time::after_start(Span::from_us(tick * 100)));
            paces.resize(pair.capture.len(), before.max(sender(&pair).controller().pacing()));
        }
        let data = pair.capture.iter().zip(paces).filter(|(packet, _)| packet.from == 0);
        // Packets before the first sample are not paced.
        let data: Vec<_> = data.skip(10).filter_map(|(packet, pace)| Some((packet, pace?))).collect();
        assert!(data.len() > 5_000);
        for few in data.windows(3).chain(data.windows(21)) {
            // One packet may make up for having waited for the window.
            let bytes = Bytes::new(SEGMENT * (few.len() as u64 - 2));
            let rate = bytes.per(few[few.len() - 1].0.sent - few[0].0.sent);
            let pace = few.iter().map(|(_, pace)| pace.get()).max().unwrap();
            assert!(rate <= pace as f64 * 1.001, "{rate} at {pace}");
        }
    }
}

//! Mean windows under regular loss, measured at the sender of a whole transfer.

use crate::support::Path;
use crate::support::tcp::{SEGMENT, pair, plain};
use shallop_control::{any, cubic, hystart, reno};
use shallop_core::{BitsPerSec, Span, Time};
use shallop_proto::tcp::{Config, Stack};

/// The mean window of a transfer that loses every `every`-th segment, without its beginning and end.
fn mean_window(config: &Config, control: &any::Config, every: u64, rtt: Span) -> f64 {
    const LOSSES: u64 = 30;
    let path = Path { rate: BitsPerSec::gbps(10), delay: rtt / 2, ..Path::clean() };
    let mut nth = 0;
    let mut pair = pair(config, control, every * LOSSES * SEGMENT, path).with_drops(move |packet| {
        nth += u64::from(packet.from == 0);
        packet.from == 0 && nth % every == 0
    });
    assert!(pair.run(Time::LAST));
    let data: Vec<_> = pair.capture.iter().filter(|packet| packet.from == 0).collect();
    let (first, last) = (8 * every as usize, (LOSSES as usize - 1) * every as usize);
    let elapsed = data[last].sent - data[first].sent;
    (last - first) as f64 * rtt.ratio(elapsed)
}

#[test]
fn renos_mean_window_is_the_root_of_three_halves_of_the_inverse_loss() {
    for config in [plain(), Config { handshake: false, ..Stack::LINUX_IDEAL.tcp }] {
        let control = any::Config::Reno(reno::Config::RFC);
        // The mean is slightly lower: recovery takes a round trip, and windows are sent in whole segments.
        let mean = mean_window(&config, &control, 5_000, Span::from_ms(10));
        let theory = (1.5 * 5_000.0f64).sqrt();
        assert!((0.95..1.02).contains(&(mean / theory)), "{mean} instead of {theory}");
    }
}

#[test]
fn cubics_mean_window_grows_with_the_round_trip_and_never_falls_behind_renos() {
    let slow_start = hystart::Config::STANDARD;
    let control = any::Config::Cubic(cubic::Config { slow_start, ..cubic::Config::RFC });
    // A long path, where the cubic curve is larger: 1.0538 (RTT/p)^0.75.
    let mean = mean_window(&plain(), &control, 5_000, Span::from_ms(100));
    let theory = 1.0538 * 500f64.sqrt() * 500f64.sqrt().sqrt();
    assert!((mean / theory - 1.0).abs() < 0.08, "{mean} instead of {theory}");
    // A short path, where Reno's window is larger.
    let mean = mean_window(&plain(), &control, 1_000, Span::from_us(100));
    let theory = (1.5 * 1_000.0f64).sqrt();
    assert!((mean / theory - 1.0).abs() < 0.08, "{mean} instead of {theory}");
}

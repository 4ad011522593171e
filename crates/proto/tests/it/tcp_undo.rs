//! Spurious recoveries and timeouts are undone; others are not.

use crate::support::Path;
use crate::support::tcp::{SEGMENT, ms, pair, sender};
use shallop_control::{any, cubic, reno};
use shallop_core::{BitsPerSec, Span, Time};
use shallop_proto::Endpoint;
use shallop_proto::tcp::{Config, Spurious, Stack};

fn linux(spurious: Spurious) -> Config {
    Config { handshake: false, spurious, ..Stack::LINUX_IDEAL.tcp }
}

const SIZE: u64 = 20_000 * SEGMENT;

/// A link that stalls once for longer than the RTO: an example of RFC 5682, 1.
#[test]
fn controllers_continue_as_before_after_a_path_stalled_for_longer_than_the_rto() {
    let controllers = [
        any::Config::Reno(reno::Config::LINUX_IDEAL),
        any::Config::Cubic(cubic::Config::LINUX_IDEAL),
        any::Config::Cubic(cubic::Config::RFC),
    ];
    let path = Path { rate: BitsPerSec::at_least_one(100_000_000), ..Path::clean() };
    let still = (ms(200), ms(700));
    for controller in controllers {
        let run = |spurious| {
            let config = linux(spurious);
            let mut pair = pair(&config, &controller, SIZE, path)
                .with_extra_delay(move |at: Time| if at >= still.0 { at.max(still.1) } else { at });
            let before = {
                pair.run(still.0);
                sender(&pair).cwnd()
            };
            pair.run(still.1 + Span::from_ms(12));
            let (after, report) = (sender(&pair).cwnd(), pair.ends[0].counters());
            assert!(pair.run(ms(20_000)));
            assert_eq!(pair.carried(), vec![(0, SIZE)]);
            (before, after, report.timeouts, report.undos)
        };
        let (before, after, timeouts, undone) = run(Spurious::LINUX);
        assert_eq!((timeouts, undone), (1, 1), "{controller:?}");
        assert!(after >= before, "{controller:?}: {before:?}, then {after:?}");
        let (before, after, timeouts, undone) = run(Spurious::OFF);
        assert_eq!((timeouts, undone), (1, 0), "{controller:?}");
        assert!(after < before, "{controller:?}: {before:?}, then {after:?}");
    }
}

#[test]
fn undo_keeps_the_rate_on_a_path_that_reorders() {
    // One packet of 200 is up to 9 ms late; the round trip is 10 ms.
    let path = Path { reorder: 0.005, late: Span::from_ms(9), ..Path::clean() };
    let run = |spurious| {
        let config = linux(spurious);
        let control = any::Config::Reno(reno::Config::LINUX_IDEAL);
        let pair = pair(&config, &control, 20_000 * SEGMENT, path).complete_by(ms(60_000));
        let report = pair.ends[0].counters();
        assert_eq!(report.retransmits.min(report.spurious_retransmits), report.spurious_retransmits);
        (pair.now.since_start(), report)
    };
    let ((with, report), (without, _)) = (run(Spurious::LINUX), run(Spurious::OFF));
    assert!(report.undos > 0 && report.spurious_retransmits > 0, "{report:?}");
    assert!(with * 2 < without, "{with:?} against {without:?}");
}

//! Copa on a path with a buffer.

mod support;

use shallop_control::any::{self, AnyWindow};
use shallop_control::{copa, cubic};
use shallop_core::{BitsPerSec, Bytes, Span, Time};
use support::narrow::Narrow;
use support::tcp::{SEGMENT, ms, plain};

const CONTROL: any::Config = any::Config::Copa(copa::Config::PAPER);

fn copa(bench: &Narrow, flow: usize) -> &copa::Copa {
    match bench.flows[flow].sender().controller() {
        AnyWindow::Copa(copa) => copa,
        other => panic!("{other:?}"),
    }
}

#[test]
fn explore() {
    for (mbps, delay) in [
        (20, 10),
        (50, 5),
        (50, 10),
        (100, 5),
        (100, 10),
        (100, 20),
        (200, 5),
        (200, 10),
        (500, 1),
        (50, 40),
    ] {
        let mut bench = Narrow::new(
            BitsPerSec::at_least_one(mbps * 1_000_000),
            Span::from_ms(delay),
            Bytes::new(20_000_000),
        );
        bench.add(&plain(), &CONTROL, Time::ZERO, None);
        let full = mbps as f64 * 1e6;
        let mut line = String::new();
        for step in 1..=16 {
            let before = bench.flows[0].received();
            bench.reset();
            bench.run(ms(step * 500), |_| ());
            let got =
                (bench.flows[0].received() - before) as f64 * 1538.0 * 8.0 / 1460.0 / 0.5 / full;
            line += &format!(" {got:.2}/{:.0}", bench.waited().0);
        }
        println!("{mbps} {delay} bdp {:.0}: {line}", bench.product());
    }
}

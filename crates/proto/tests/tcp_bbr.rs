//! BBR on a path with a buffer: what it fills, what it queues, and what it does of losses.

mod support;

use shallop_control::any::{self, AnyWindow};
use shallop_control::bbr::{self, Mode};
use shallop_core::{BitsPerSec, Bytes, Span, Time};
use support::narrow::Narrow;
use support::tcp::{SEGMENT, ms, plain};

const CONTROL: any::Config = any::Config::Bbr(bbr::Config::LINUX);

fn bbr(bench: &Narrow) -> &bbr::Bbr {
    match bench.flows[0].sender().controller() {
        AnyWindow::Bbr(bbr) => bbr,
        other => panic!("{other:?}"),
    }
}

#[test]
fn explore() {
    let mut bench =
        Narrow::new(BitsPerSec::at_least_one(100_000_000), Span::from_ms(5), Bytes::new(200_000));
    bench.add(&plain(), &CONTROL, Time::ZERO, None);
    println!("product {} base {:?}", bench.product(), bench.base_rtt());
    let mut last = None;
    for step in 1..=1300 {
        let before = bench.flows[0].received();
        bench.reset();
        let mut fly = 0;
        bench.run(ms(step * 10), |b| {
            fly = fly.max(b.flows[0].sender().scoreboard().flying() / SEGMENT)
        });
        let got = (bench.flows[0].received() - before) * 1538 * 8 / 1460 / 10;
        let mode = bbr(&bench).mode();
        let (mean, most) = bench.waited();
        if last != Some(mode) || step < 30 || (step > 100 && step < 140) {
            println!(
                "{} {:?} got {got} mean {mean:.2} most {most:.1} fly {fly} win {} pace {:?} bel {:?} short {:?} drops {}",
                step * 10,
                mode,
                bench.flows[0].sender().allowed().get() / SEGMENT,
                shallop_control::Window::pacing(bbr(&bench)).map(BitsPerSec::get),
                bbr(&bench).believed().map(BitsPerSec::get),
                bbr(&bench).shortest_rtt(),
                bench.drops
            );
        }
        last = Some(mode);
    }
}

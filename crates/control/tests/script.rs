//! Every controller through one script: losses, marks, a rising delay, a timeout, a silence. The windows are
//! snapshots, read and found right.

mod support;

use std::fmt::Write;

use shallop_control::any::{AnyWindow, Config};
use shallop_control::{Loss, Window, bbr, copa, cubic, dctcp, gemini, reno, vegas};
use shallop_core::{BitsPerSec, Bytes, Span};
use support::narrow::Narrow;
use support::{Course, SEGMENT, start};

/// A controller on its way through the script, and what it showed.
struct Play {
    window: AnyWindow,
    course: Course,
    shown: String,
}

impl Play {
    fn rounds(&mut self, count: usize) {
        for _ in 0..count {
            self.course.round(&mut self.window);
            self.show("");
        }
    }

    fn act(&mut self, name: &str, what: impl FnOnce(&mut AnyWindow, &Loss)) {
        let loss = self.course.loss(&self.window);
        what(&mut self.window, &loss);
        self.show(name);
    }

    fn show(&mut self, what: &str) {
        let segments = |bytes: Bytes| {
            if bytes == Bytes::MAX { "-".into() } else { format!("{:.2}", bytes.ratio(SEGMENT)) }
        };
        let window = segments(self.window.window());
        let threshold = segments(self.window.slow_start_threshold());
        let time = self.course.now.since_start().as_secs_f64();
        let line = format!("{time:8.3} {window:>8} {threshold:>8} {what}");
        writeln!(self.shown, "{}", line.trim_end()).expect("a string takes any text");
    }
}

fn script(config: &Config) -> String {
    let window = config.build(&start());
    let shown = format!("{:>8} {:>8} {:>8}\n", "seconds", "window", "slow to");
    let mut play = Play { window, course: Course::new(Span::from_ms(100)), shown };
    play.rounds(4);
    play.act("loss", AnyWindow::on_loss);
    play.rounds(12);
    play.act("mark", AnyWindow::on_mark);
    play.rounds(4);
    play.act("loss in the same window", |window, loss| {
        window.on_loss(&Loss { after_mark: true, ..*loss });
    });
    play.course.limited = false;
    play.show("held back by the application");
    play.rounds(3);
    play.course.limited = true;
    play.act("timeout", |window, loss| window.on_rto(loss, true));
    play.act("timeout for the same byte", |window, loss| window.on_rto(loss, false));
    play.rounds(4);
    play.course.rtt = Span::from_ms(140);
    play.show("delay up to 140 ms");
    play.rounds(6);
    play.act("silence of 3 s", |window, _| window.on_idle(Span::from_secs(3)));
    play.rounds(4);
    play.shown
}

#[test]
fn reno_by_the_rfc() {
    insta::assert_snapshot!(script(&Config::Reno(reno::Config::RFC)));
}

#[test]
fn reno_as_in_linux() {
    insta::assert_snapshot!(script(&Config::Reno(reno::Config::LINUX)));
}

#[test]
fn cubic_by_the_rfc() {
    insta::assert_snapshot!(script(&Config::Cubic(cubic::Config::RFC)));
}

#[test]
fn cubic_as_in_linux() {
    insta::assert_snapshot!(script(&Config::Cubic(cubic::Config::LINUX)));
}

#[test]
fn cubic_with_the_papers_beta() {
    let config = cubic::Config { decrease: 0.8, ..cubic::Config::RFC };
    insta::assert_snapshot!(script(&Config::Cubic(config)));
}

#[test]
fn vegas_as_in_linux() {
    insta::assert_snapshot!(script(&Config::Vegas(vegas::Config::LINUX)));
}

#[test]
fn dctcp_as_in_linux() {
    insta::assert_snapshot!(script(&Config::Dctcp(dctcp::Config::LINUX)));
}

/// The script for controllers that model the path: one of 20 Mb/s and 40 ms, which holds 68.5 segments. Shows what is
/// in flight and the pace, in Mb/s, besides the window.
fn modelled(config: &Config) -> String {
    let mut window = config.build(&start());
    let mut path = Narrow::new(BitsPerSec::at_least_one(20_000_000), Span::from_ms(40));
    let mut shown = format!("{:>8} {:>8} {:>8} {:>8}\n", "seconds", "window", "flight", "pace");
    let mut show = |window: &AnyWindow, path: &Narrow, what: &str| {
        let segments = |bytes: Bytes| bytes.ratio(SEGMENT);
        let pace = window.pacing().map_or(0.0, |pace| pace.get() as f64 / 1e6);
        let (flight, window) = (segments(path.in_flight), segments(window.window()));
        let time = path.now.since_start().as_secs_f64();
        let line = format!("{time:8.3} {window:8.2} {flight:8.2} {pace:8.2} {what}");
        writeln!(shown, "{}", line.trim_end()).expect("a string takes any text");
    };
    let mut rounds = |window: &mut AnyWindow, path: &mut Narrow, what: &str, count: u32| {
        show(window, path, what);
        for _ in 0..count {
            path.round(window);
            show(window, path, "");
        }
    };
    window.on_handshake(path.now, path.base);
    rounds(&mut window, &mut path, "handshake", 24);
    window.on_loss(&path.loss());
    path.lose(3);
    rounds(&mut window, &mut path, "loss of 3", 2);
    window.on_recovery_exit(path.now);
    rounds(&mut window, &mut path, "repaired", 3);
    window.on_mark(&path.loss());
    rounds(&mut window, &mut path, "mark", 2);
    path.limited = false;
    rounds(&mut window, &mut path, "held back by the application", 2);
    path.limited = true;
    let loss = path.loss();
    window.on_rto(&loss, true);
    window.on_rto(&loss, false);
    path.lose(path.in_flight.get() / SEGMENT.get());
    rounds(&mut window, &mut path, "timeout, and again for the same byte", 3);
    window.on_recovery_exit(path.now);
    rounds(&mut window, &mut path, "repaired", 3);
    path.base = Span::from_ms(60);
    rounds(&mut window, &mut path, "delay up to 60 ms", 4);
    path.fall_silent(Span::from_secs(3));
    window.on_idle(Span::from_secs(3));
    window.on_restart(path.now, true);
    rounds(&mut window, &mut path, "silence of 3 s", 4);
    shown
}

#[test]
fn bbr_as_in_linux() {
    insta::assert_snapshot!(modelled(&Config::Bbr(bbr::Config::LINUX)));
}

#[test]
fn copa_by_the_paper() {
    insta::assert_snapshot!(modelled(&Config::Copa(copa::Config::PAPER)));
}

#[test]
fn gemini_of_the_thesis() {
    insta::assert_snapshot!(script(&Config::Gemini(gemini::Config::THESIS)));
}

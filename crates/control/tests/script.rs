//! Every controller through one script: losses, marks, a rising delay, a timeout, a silence. The windows are
//! snapshots, read and found right.

mod support;

use std::fmt::Write;

use shallop_control::any::{AnyWindow, Config};
use shallop_control::{Loss, Window, cubic, gemini, reno};
use shallop_core::{Bytes, Span};
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
fn gemini_of_the_thesis() {
    insta::assert_snapshot!(script(&Config::Gemini(gemini::Config::THESIS)));
}

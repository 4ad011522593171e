//! Every controller through one script: losses, marks, a rising delay, a timeout, a silence. The windows are
//! snapshots, read and found right.

mod support;

use std::fmt::Write;

use shallop_control::any::{AnyWindow, Config};
use shallop_control::{Loss, Window, bbr, copa, cubic, dctcp, gemini, reno, vegas};
use shallop_core::{BitsPerSec, Bytes, Span, Time};
use support::narrow::Narrow;
use support::{Course, SEGMENT, start};

/// What a controller is played over, and what is shown of both besides the time.
trait Path {
    const COLUMNS: &[&str];
    fn now(&self) -> Time;
    fn round(&mut self, window: &mut AnyWindow);
    fn loss(&self, window: &AnyWindow) -> Loss;
    fn shows(&self, window: &AnyWindow) -> Vec<String>;
}

fn segments(bytes: Bytes) -> String {
    if bytes == Bytes::MAX { "-".into() } else { format!("{:.2}", bytes.ratio(SEGMENT)) }
}

/// The window, and where slow start ends.
impl Path for Course {
    const COLUMNS: &[&str] = &["window", "slow to"];
    fn now(&self) -> Time {
        self.now
    }
    fn round(&mut self, window: &mut AnyWindow) {
        self.round(window);
    }
    fn loss(&self, window: &AnyWindow) -> Loss {
        self.loss(window)
    }
    fn shows(&self, window: &AnyWindow) -> Vec<String> {
        [window.window(), window.slow_start_threshold()].map(segments).into()
    }
}

/// The window, what is in flight, and the pace in Mb/s.
impl Path for Narrow {
    const COLUMNS: &[&str] = &["window", "flight", "pace"];
    fn now(&self) -> Time {
        self.now
    }
    fn round(&mut self, window: &mut AnyWindow) {
        self.round(window);
    }
    fn loss(&self, _: &AnyWindow) -> Loss {
        self.loss()
    }
    fn shows(&self, window: &AnyWindow) -> Vec<String> {
        let pace = window.pacing().map_or(0.0, |pace| pace.get() as f64 / 1e6);
        vec![segments(window.window()), segments(self.in_flight), format!("{pace:.2}")]
    }
}

/// A controller on its way through a script, and what it showed.
struct Play<P> {
    window: AnyWindow,
    path: P,
    shown: String,
}

impl<P: Path> Play<P> {
    fn new(config: &Config, path: P) -> Self {
        let mut play = Self { window: config.build(&start()), path, shown: String::new() };
        play.line("seconds", P::COLUMNS.iter().map(ToString::to_string), "");
        play
    }

    fn rounds(&mut self, count: usize) {
        for _ in 0..count {
            self.path.round(&mut self.window);
            self.show("");
        }
    }

    fn act(&mut self, name: &str, what: impl FnOnce(&mut AnyWindow, &Loss)) {
        let loss = self.path.loss(&self.window);
        what(&mut self.window, &loss);
        self.show(name);
    }

    fn show(&mut self, what: &str) {
        let time = format!("{:.3}", self.path.now().since_start().as_secs_f64());
        self.line(&time, self.path.shows(&self.window).into_iter(), what);
    }

    fn line(&mut self, time: &str, columns: impl Iterator<Item = String>, what: &str) {
        let columns: Vec<_> = columns.map(|column| format!("{column:>8}")).collect();
        let line = format!("{time:>8} {} {what}", columns.join(" "));
        writeln!(self.shown, "{}", line.trim_end()).expect("a string takes any text");
    }
}

/// The script for controllers that answer losses, marks and delay: over a perfect path of 100 ms.
fn script(config: &Config) -> String {
    let mut play = Play::new(config, Course::new(Span::from_ms(100)));
    play.rounds(4);
    play.act("loss", AnyWindow::on_loss);
    play.rounds(12);
    play.act("mark", AnyWindow::on_mark);
    play.rounds(4);
    play.act("loss in the same window", |window, loss| {
        window.on_loss(&Loss { after_mark: true, ..*loss });
    });
    play.path.limited = false;
    play.show("held back by the application");
    play.rounds(3);
    play.path.limited = true;
    play.act("timeout", |window, loss| window.on_rto(loss, true));
    play.act("timeout for the same byte", |window, loss| window.on_rto(loss, false));
    play.rounds(4);
    play.path.rtt = Span::from_ms(140);
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

/// The script for controllers that model the path: one of 20 Mb/s and 40 ms, which holds 68.5 segments.
fn modelled(config: &Config) -> String {
    let path = Narrow::new(BitsPerSec::at_least_one(20_000_000), Span::from_ms(40));
    let mut play = Play::new(config, path);
    play.window.on_handshake(play.path.now, play.path.base);
    play.show("handshake");
    play.rounds(24);
    play.window.on_loss(&play.path.loss());
    play.path.lose(3);
    play.show("loss of 3");
    play.rounds(2);
    play.window.on_recovery_exit(play.path.now);
    play.show("repaired");
    play.rounds(3);
    play.act("mark", AnyWindow::on_mark);
    play.rounds(2);
    play.path.limited = false;
    play.show("held back by the application");
    play.rounds(2);
    play.path.limited = true;
    let loss = play.path.loss();
    play.window.on_rto(&loss, true);
    play.window.on_rto(&loss, false);
    play.path.lose(play.path.in_flight.get() / SEGMENT.get());
    play.show("timeout, and again for the same byte");
    play.rounds(3);
    play.window.on_recovery_exit(play.path.now);
    play.show("repaired");
    play.rounds(3);
    play.path.base = Span::from_ms(60);
    play.show("delay up to 60 ms");
    play.rounds(4);
    play.path.fall_silent(Span::from_secs(3));
    play.window.on_idle(Span::from_secs(3));
    play.window.on_restart(play.path.now, true);
    play.show("silence of 3 s");
    play.rounds(4);
    play.shown
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

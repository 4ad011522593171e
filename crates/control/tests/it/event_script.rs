//! Every controller under one script of events: losses, ECN-Echo, an RTT increase, an RTO, an idle period. The
//! snapshots of cwnd were read line by line before they were accepted.

use crate::support::bottleneck::Bottleneck;
use crate::support::{FixedRtt, SEGMENT, start};
use shallop_control::any::{AnyWindow, Config};
use shallop_control::{Loss, Window, bbr, copa, cubic, dctcp, gemini, prague, reno, vegas};
use shallop_core::{BitsPerSec, Bytes, Span, Time};
use std::fmt::Write;

type Script = fn(&Config) -> String;
const FIXED_RTT: Script = fixed_rtt;
const BOTTLENECK: Script = bottleneck;

/// A test path, and the values in each line of a snapshot.
trait Path {
    const COLUMNS: &[&str];
    fn now(&self) -> Time;
    fn round(&mut self, window: &mut AnyWindow);
    fn loss(&self, window: &AnyWindow) -> Loss;
    fn values(&self, window: &AnyWindow) -> Vec<String>;
}

fn segments(bytes: Bytes) -> String {
    if bytes == Bytes::MAX { "-".into() } else { format!("{:.2}", bytes.ratio(SEGMENT)) }
}

/// cwnd and ssthresh in segments.
impl Path for FixedRtt {
    const COLUMNS: &[&str] = &["cwnd", "ssthresh"];
    fn now(&self) -> Time {
        self.now
    }
    fn round(&mut self, window: &mut AnyWindow) {
        self.round(window);
    }
    fn loss(&self, window: &AnyWindow) -> Loss {
        self.loss(window)
    }
    fn values(&self, window: &AnyWindow) -> Vec<String> {
        [window.window(), window.slow_start_threshold()].map(segments).into()
    }
}

/// cwnd and bytes in flight in segments, and the pacing rate in Mb/s.
impl Path for Bottleneck {
    const COLUMNS: &[&str] = &["cwnd", "inflight", "pacing"];
    fn now(&self) -> Time {
        self.now
    }
    fn round(&mut self, window: &mut AnyWindow) {
        self.round(window);
    }
    fn loss(&self, _: &AnyWindow) -> Loss {
        self.loss()
    }
    fn values(&self, window: &AnyWindow) -> Vec<String> {
        let pacing = window.pacing().map_or(0.0, |rate| rate.get() as f64 / 1e6);
        vec![segments(window.window()), segments(self.in_flight), format!("{pacing:.2}")]
    }
}

/// A controller on a path, and the lines of its snapshot.
struct Run<P> {
    window: AnyWindow,
    path: P,
    snapshot: String,
}

impl<P: Path> Run<P> {
    fn new(config: &Config, path: P) -> Self {
        let mut run = Self { window: config.build(&start()), path, snapshot: String::new() };
        run.line("seconds", P::COLUMNS.iter().map(ToString::to_string), "");
        run
    }

    fn rounds(&mut self, count: usize) {
        for _ in 0..count {
            self.path.round(&mut self.window);
            self.record("");
        }
    }

    /// An event, and this many round trips after it.
    fn event(&mut self, name: &str, rounds: usize, call: impl FnOnce(&mut AnyWindow, &Loss)) {
        let loss = self.path.loss(&self.window);
        call(&mut self.window, &loss);
        self.record_and_run(name, rounds);
    }

    fn record_and_run(&mut self, event: &str, rounds: usize) {
        self.record(event);
        self.rounds(rounds);
    }

    fn record(&mut self, event: &str) {
        let time = format!("{:.3}", self.path.now().since_start().as_secs_f64());
        self.line(&time, self.path.values(&self.window).into_iter(), event);
    }

    fn line(&mut self, time: &str, columns: impl Iterator<Item = String>, event: &str) {
        let columns: Vec<_> = columns.map(|column| format!("{column:>8}")).collect();
        let line = format!("{time:>8} {} {event}", columns.join(" "));
        writeln!(self.snapshot, "{}", line.trim_end()).expect("a string takes any text");
    }
}

/// The script for controllers that respond to losses, marks or delay: a path without a queue, RTT 100 ms.
fn fixed_rtt(config: &Config) -> String {
    let mut run = Run::new(config, FixedRtt::new(Span::from_ms(100)));
    run.rounds(4);
    run.event("loss", 12, AnyWindow::on_loss);
    run.event("ECN-Echo", 4, AnyWindow::on_mark);
    run.event("loss in CWR", 0, |window, loss| {
        window.on_loss(&Loss { in_cwr: true, ..*loss });
    });
    run.path.is_cwnd_limited = false;
    run.record_and_run("application-limited", 3);
    run.path.is_cwnd_limited = true;
    run.event("RTO", 0, |window, loss| window.on_rto(loss, true));
    run.event("RTO for the same SND.UNA", 4, |window, loss| window.on_rto(loss, false));
    run.path.rtt = Span::from_ms(140);
    run.record_and_run("RTT increases to 140 ms", 6);
    run.event("idle for 3 s", 4, |window, _| window.on_idle(Span::from_secs(3)));
    run.snapshot
}

/// The script for controllers that model the path: 20 Mb/s, RTT 40 ms, a bandwidth-delay product of 68.5 segments.
fn bottleneck(config: &Config) -> String {
    let path = Bottleneck::new(BitsPerSec::at_least_one(20_000_000), Span::from_ms(40));
    let mut run = Run::new(config, path);
    run.window.on_handshake(run.path.now, run.path.base_rtt);
    run.record_and_run("handshake", 24);
    run.window.on_loss(&run.path.loss());
    run.path.lose(3);
    run.record_and_run("loss of 3 segments", 2);
    run.window.on_recovery_exit(run.path.now);
    run.record_and_run("recovery ends", 3);
    run.event("ECN-Echo", 2, AnyWindow::on_mark);
    run.path.is_cwnd_limited = false;
    run.record_and_run("application-limited", 2);
    run.path.is_cwnd_limited = true;
    let loss = run.path.loss();
    run.window.on_rto(&loss, true);
    run.window.on_rto(&loss, false);
    run.path.lose(run.path.in_flight.get() / SEGMENT.get());
    run.record_and_run("RTO, twice for the same SND.UNA", 3);
    run.window.on_recovery_exit(run.path.now);
    run.record_and_run("recovery ends", 3);
    run.path.base_rtt = Span::from_ms(60);
    run.record_and_run("RTT increases to 60 ms", 4);
    run.path.idle(Span::from_secs(3));
    run.window.on_idle(Span::from_secs(3));
    run.window.on_restart(run.path.now, true);
    run.record_and_run("idle for 3 s", 4);
    run.snapshot
}

#[test]
fn every_controller_answers_the_script_as_in_its_snapshot() {
    let beta_of_the_paper = cubic::Config { decrease: 0.2, ..cubic::Config::RFC };
    for (name, script, config) in [
        ("reno_by_the_rfc", FIXED_RTT, Config::Reno(reno::Config::RFC)),
        ("reno_as_in_linux", FIXED_RTT, Config::Reno(reno::Config::LINUX_IDEAL)),
        ("cubic_by_the_rfc", FIXED_RTT, Config::Cubic(cubic::Config::RFC)),
        ("cubic_as_in_linux", FIXED_RTT, Config::Cubic(cubic::Config::LINUX_IDEAL)),
        ("cubic_with_beta_of_the_paper", FIXED_RTT, Config::Cubic(beta_of_the_paper)),
        ("vegas_as_in_linux", FIXED_RTT, Config::Vegas(vegas::Config::LINUX_IDEAL)),
        ("dctcp_as_in_linux", FIXED_RTT, Config::Dctcp(dctcp::Config::LINUX_IDEAL)),
        ("prague_as_in_linux", FIXED_RTT, Config::Prague(prague::Config::LINUX_IDEAL)),
        ("gemini_by_the_thesis", FIXED_RTT, Config::Gemini(gemini::Config::THESIS)),
        ("bbr_as_in_linux", BOTTLENECK, Config::Bbr(bbr::Config::LINUX_IDEAL)),
        ("copa_by_the_paper", BOTTLENECK, Config::Copa(copa::Config::PAPER)),
    ] {
        insta::assert_snapshot!(name, script(&config));
    }
}

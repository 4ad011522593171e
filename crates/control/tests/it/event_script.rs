//! Controllers under scripts of events. The snapshots of cwnd were read line by line before they were accepted.
//!
//! A paragraph of `event_script.txt` is a script: its name and path, controllers that only this script has, each with
//! its stack and options, and lines of steps with `;` between them and `#` before the name of a line in the snapshot.
//! `rounds N` has a line for each round trip.

use crate::options::made;
use crate::support::bottleneck::Bottleneck;
use crate::support::{FixedRtt, SEGMENT, start};
use shallop_control::any::{AnyWindow, Config};
use shallop_control::{Ack, HostStack, Loss, Start, Window, bbr, copa, cubic, dctcp, gemini, prague, reno, vegas};
use shallop_core::{BitsPerSec, Bytes, Span};
use shallop_options::{RawValue, StringEnum as _};
use std::fmt::Write;

const SCRIPTS: &str = include_str!("event_script.txt");

fn segments(bytes: Bytes) -> String {
    if bytes == Bytes::MAX { "-".into() } else { format!("{:.2}", bytes.ratio(SEGMENT)) }
}

fn number(word: &str) -> u64 {
    word.parse().unwrap_or_else(|_| panic!("not a number: {word:?}"))
}

fn span(word: &str) -> Span {
    word.parse().unwrap_or_else(|_| panic!("not a time: {word:?}"))
}

/// A controller on a path with a fixed round trip, or behind a bottleneck, and the lines of its snapshot.
struct Run {
    window: AnyWindow,
    fixed: FixedRtt,
    bottleneck: Option<Bottleneck>,
    /// Whether acknowledgements have ECN-Echo.
    marked: bool,
    /// Whether acknowledgements arrive during a window reduction.
    reducing: bool,
    snapshot: String,
}

impl Run {
    /// `path` is the round trip of a path without a queue, or rate and round trip of a bottleneck.
    fn new(window: AnyWindow, path: &str) -> Self {
        let (rate, rtt) = path.split_once(' ').map_or((None, path), |(rate, rtt)| (Some(rate), rtt));
        let bottleneck = rate.map(|rate| Bottleneck::new(rate.parse::<BitsPerSec>().expect("a rate"), span(rtt)));
        let (marked, reducing) = (false, false);
        let mut run =
            Self { window, fixed: FixedRtt::new(span(rtt)), bottleneck, marked, reducing, snapshot: String::new() };
        let columns: &[&str] =
            if run.bottleneck.is_some() { &["cwnd", "inflight", "pacing"] } else { &["cwnd", "ssthresh"] };
        run.line("seconds", columns.iter().map(ToString::to_string).collect(), "");
        run
    }

    fn loss(&self) -> Loss {
        self.bottleneck.as_ref().map_or_else(|| self.fixed.loss(&self.window), Bottleneck::loss)
    }

    /// An acknowledgement of `count` segments.
    fn acknowledge(&mut self, count: u64) {
        let Self { window, fixed, bottleneck, .. } = self;
        if let Some(path) = bottleneck {
            return path.segment(window);
        }
        fixed.now += fixed.rtt.scale(SEGMENT.ratio(window.window()));
        fixed.snd_una += count * SEGMENT.get();
        let ack = fixed.ack(window, SEGMENT * count);
        let marked = if self.marked { SEGMENT * count } else { Bytes::ZERO };
        window.on_ack(&Ack { marked, in_cwnd_reduction: self.reducing, ..ack });
    }

    fn round(&mut self) {
        if let Some(path) = &mut self.bottleneck {
            return path.round(&mut self.window);
        }
        (0..self.window.window().get() / SEGMENT.get()).for_each(|_| self.acknowledge(1));
    }

    fn step(&mut self, step: &str) {
        let (loss, now) = (self.loss(), self.bottleneck.as_ref().map_or(self.fixed.now, |path| path.now));
        let (verb, word) = step.split_once(' ').unwrap_or((step, ""));
        match (verb, word) {
            ("rounds", count) => (0..number(count)).for_each(|_| {
                self.round();
                self.record("");
            }),
            ("acks", word) => {
                let (count, segments) = word.split_once(" of ").unwrap_or((word, "1"));
                (0..number(count)).for_each(|_| self.acknowledge(number(segments)));
            }
            ("loss", "") => self.window.on_loss(&loss),
            ("loss", "in CWR") => self.window.on_loss(&Loss { in_cwr: true, ..loss }),
            ("mark", "") => self.window.on_mark(&loss),
            ("rto", again) => self.window.on_rto(&loss, again.is_empty()),
            ("exit", "") => self.window.on_recovery_exit(now),
            ("restart", "") => self.window.on_restart(now, true),
            ("idle", time) => {
                self.bottleneck.iter_mut().for_each(|path| path.idle(span(time)));
                self.window.on_idle(span(time));
            }
            ("rtt", time) => {
                self.fixed.rtt = span(time);
                self.bottleneck.iter_mut().for_each(|path| path.base_rtt = span(time));
            }
            ("limited", word) => {
                self.fixed.is_cwnd_limited = word == "yes";
                self.bottleneck.iter_mut().for_each(|path| path.is_cwnd_limited = word == "yes");
            }
            ("marked", word) => self.marked = word == "yes",
            ("reducing", word) => self.reducing = word == "yes",
            ("handshake", time) => self.window.on_handshake(now, span(time)),
            ("lose", word) => self.bottleneck.iter_mut().for_each(|path| {
                path.lose(if word == "all" { path.in_flight.get() / SEGMENT.get() } else { number(word) });
            }),
            _ => panic!("not a step: {step:?}"),
        }
    }

    fn record(&mut self, event: &str) {
        let ends = |time: Span| format!("{:.3}", time.as_secs_f64());
        let Some(path) = &self.bottleneck else {
            let values = [self.window.window(), self.window.slow_start_threshold()].map(segments);
            return self.line(&ends(self.fixed.now.since_start()), values.into(), event);
        };
        let pacing = self.window.pacing().map_or(0.0, |rate| rate.get() as f64 / 1e6);
        let values = vec![segments(self.window.window()), segments(path.in_flight), format!("{pacing:.2}")];
        self.line(&ends(path.now.since_start()), values, event);
    }

    fn line(&mut self, time: &str, columns: Vec<String>, event: &str) {
        let columns: Vec<_> = columns.into_iter().map(|column| format!("{column:>8}")).collect();
        let line = format!("{time:>8} {} {event}", columns.join(" "));
        writeln!(self.snapshot, "{}", line.trim_end()).expect("a string takes any text");
    }

    fn run(mut self, lines: &[&str]) -> String {
        for line in lines {
            let (steps, event) = line.split_once('#').map_or((*line, None), |(steps, event)| (steps, Some(event)));
            steps.split(';').map(str::trim).filter(|step| !step.is_empty()).for_each(|step| self.step(step));
            if let Some(event) = event {
                self.record(event.trim());
            }
        }
        self.snapshot
    }
}

/// The controller of a line `NAME STACK KEY=VALUE ...`, whose window starts with `window` segments above slow start, or
/// with ten in slow start up to `ssthresh`.
fn controller(line: &str) -> AnyWindow {
    let mut words = line.split(' ');
    let (name, stack) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (mut begin, mut given) = (start(), Vec::new());
    for word in words {
        let (key, value) = word.split_once('=').expect("a key and a value");
        let integer = value.parse().map(RawValue::Integer);
        let other = || value.parse().map(RawValue::Float).or_else(|_| value.parse().map(RawValue::Boolean));
        match key {
            "window" => {
                let window = SEGMENT * number(value);
                begin = Start { initial_window: window, initial_ssthresh: window, ..begin };
            }
            "ssthresh" => begin.initial_ssthresh = SEGMENT * number(value),
            _ => given.push((key, integer.or_else(|_| other()).unwrap_or(RawValue::Text(value.to_owned())))),
        }
    }
    let host = HostStack::SIMULATED.into_iter().find(|host| host.word() == stack).expect("a stack");
    made(name, host, &given).unwrap_or_else(|why| panic!("{line}: {why}")).build(&begin)
}

/// The name of each script, its path, its own controllers, and its lines.
fn scripts() -> impl Iterator<Item = (&'static str, &'static str, Vec<&'static str>, Vec<&'static str>)> {
    SCRIPTS.split("\n\n").filter_map(|paragraph| {
        let mut lines = paragraph.lines().filter(|line| !line.starts_with('#'));
        let (name, path) = lines.next()?.strip_prefix("script ")?.split_once(", ")?;
        let (controllers, lines) = lines.partition(|line: &&str| line.starts_with("controller "));
        Some((name, path, controllers, lines))
    })
}

#[test]
fn every_controller_answers_the_script_as_in_its_snapshot() {
    let beta_of_the_paper = cubic::Config { decrease: 0.2, ..cubic::Config::RFC };
    for (name, script, config) in [
        ("reno_by_the_rfc", "responses", Config::Reno(reno::Config::RFC)),
        ("reno_as_in_linux", "responses", Config::Reno(reno::Config::LINUX_IDEAL)),
        ("cubic_by_the_rfc", "responses", Config::Cubic(cubic::Config::RFC)),
        ("cubic_as_in_linux", "responses", Config::Cubic(cubic::Config::LINUX_IDEAL)),
        ("cubic_with_beta_of_the_paper", "responses", Config::Cubic(beta_of_the_paper)),
        ("vegas_as_in_linux", "responses", Config::Vegas(vegas::Config::LINUX_IDEAL)),
        ("dctcp_as_in_linux", "responses", Config::Dctcp(dctcp::Config::LINUX_IDEAL)),
        ("prague_as_in_linux", "responses", Config::Prague(prague::Config::LINUX_IDEAL)),
        ("gemini_by_the_thesis", "responses", Config::Gemini(gemini::Config::THESIS)),
        ("bbr_as_in_linux", "bottleneck", Config::Bbr(bbr::Config::LINUX_IDEAL)),
        ("copa_by_the_paper", "bottleneck", Config::Copa(copa::Config::PAPER)),
    ] {
        let (_, path, _, lines) = scripts().find(|it| it.0 == script).expect("a script");
        insta::assert_snapshot!(name, Run::new(config.build(&start()), path).run(&lines));
    }
}

#[test]
fn controllers_answer_their_own_scripts_as_in_the_snapshot() {
    let mut told = String::new();
    for (name, path, controllers, lines) in scripts() {
        for controller in controllers.iter().map(|line| line.trim_start_matches("controller ")) {
            let run = Run::new(self::controller(controller), path).run(&lines);
            writeln!(told, "{name}: {controller}\n{run}").expect("a string takes any text");
        }
    }
    insta::assert_snapshot!("own_scripts", told);
}

//! Controllers under scripts of events. The snapshots of cwnd were read line by line before they were accepted.
//!
//! A paragraph of `event_script.txt` is a script: its name, its path, its controllers and its steps. Each controller
//! has its stack and options; `all` stands for the controllers of the first script. `;` separates steps, and the word
//! after `#` names their line in the snapshot. `rounds N` has a line for each round trip, `skip N` has none, and
//! `until TIME` has one for each change of the state.

use crate::options::made;
use crate::support::bottleneck::Bottleneck;
use crate::support::{FixedRtt, SEGMENT, start};
use shallop_control::any::AnyWindow;
use shallop_control::{Ack, HostStack, Loss, Start, Undo, Window};
use shallop_core::{BitsPerSec, Bytes, Span, Time};
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
    /// The state that a sender saved before a reduction.
    saved: Undo,
    snapshot: String,
}

impl Run {
    /// `path` is the round trip of a path without a queue, or rate and round trip of a bottleneck.
    fn new(window: AnyWindow, path: &str) -> Self {
        let (rate, rtt) = path.split_once(' ').map_or((None, path), |(rate, rtt)| (Some(rate), rtt));
        let bottleneck = rate.map(|rate| Bottleneck::new(rate.parse::<BitsPerSec>().expect("a rate"), span(rtt)));
        let (fixed, saved) = (FixedRtt::new(span(rtt)), Undo { prior_cwnd: Bytes::ZERO, prior_ssthresh: Bytes::ZERO });
        let (marked, reducing, snapshot) = (false, false, String::new());
        let mut run = Self { window, fixed, bottleneck, marked, reducing, saved, snapshot };
        let columns: &[&str] =
            if run.bottleneck.is_some() { &["cwnd", "inflight", "pacing"] } else { &["cwnd", "ssthresh"] };
        run.line("seconds", columns.iter().map(ToString::to_string).collect(), "");
        run
    }

    fn loss(&self) -> Loss {
        self.bottleneck.as_ref().map_or_else(|| self.fixed.loss(&self.window), Bottleneck::loss)
    }

    /// An acknowledgement of `count` segments.
    fn acknowledge(&mut self, count: u64, round_start: bool) {
        let Self { window, fixed, bottleneck, .. } = self;
        if let Some(path) = bottleneck {
            return path.segment(window);
        }
        fixed.now += fixed.rtt.scale(SEGMENT.ratio(window.window()));
        fixed.snd_una += count * SEGMENT.get();
        let ack = fixed.ack(window, SEGMENT * count);
        let marked = if self.marked { SEGMENT * count } else { Bytes::ZERO };
        window.on_ack(&Ack { marked, round_start, in_cwnd_reduction: self.reducing, ..ack });
    }

    fn round(&mut self) {
        if let Some(path) = &mut self.bottleneck {
            return path.round(&mut self.window);
        }
        (0..self.window.window().get() / SEGMENT.get()).for_each(|nth| self.acknowledge(1, nth == 0));
    }

    /// Acknowledges segments until the controller is in this state, or up to a time, with a line for each new state.
    fn until(&mut self, state: &str) {
        let end = state.parse().map_or(Time::LAST, |end: Span| Time::after_start(end));
        let name = |run: &Self| run.state().split([' ', ',']).next().unwrap_or_default().to_owned();
        let mut last = name(self);
        while self.now() < end && !self.state().starts_with(state) {
            self.acknowledge(1, false);
            if end < Time::LAST && name(self) != last {
                last = name(self);
                self.record("");
            }
        }
    }

    fn now(&self) -> Time {
        self.bottleneck.as_ref().map_or(self.fixed.now, |path| path.now)
    }

    /// What is known of the state of the controller, besides its window.
    fn state(&self) -> String {
        match &self.window {
            AnyWindow::Bbr(bbr) => {
                let bw = bbr.bw().map_or(0.0, |bw| bw.get() as f64 / 1e6);
                format!("{:?}, bw {bw:.2}", bbr.mode()).replace(['(', ')'], " ").replace(" ,", ",")
            }
            AnyWindow::Copa(copa) => {
                let competes = if copa.is_competitive() { ", competitive" } else { "" };
                let pacing = copa.pacing().map_or("-".to_owned(), |rate| rate.to_string());
                format!("1/delta {:.2}, velocity {}, pacing {pacing}{competes}", 1.0 / copa.delta(), copa.velocity)
            }
            AnyWindow::Gemini(gemini) => {
                let (base, competes) = (gemini.rtt_base().unwrap_or_default(), gemini.is_competing());
                let [f, h] = [(gemini.scale_factor(), 20), (gemini.increase_step(), 16)]
                    .map(|(value, bits)| value as f64 / f64::from(1 << bits));
                format!("{}base {base}, F {f:.4}, h {h:.3}", if competes { "competing, " } else { "" })
            }
            AnyWindow::Dctcp(dctcp) => format!("alpha {}", dctcp.alpha()),
            _ => String::new(),
        }
    }

    fn step(&mut self, step: &str) {
        let (loss, now) = (self.loss(), self.now());
        let (verb, word) = step.split_once(' ').unwrap_or((step, ""));
        match (verb, word) {
            ("rounds", count) => (0..number(count)).for_each(|_| {
                self.round();
                self.record("");
            }),
            ("skip", count) => (0..number(count)).for_each(|_| self.round()),
            ("acks", word) => {
                let (count, segments) = word.split_once(" of ").unwrap_or((word, "1"));
                (0..number(count)).for_each(|_| self.acknowledge(number(segments), false));
            }
            // A window is acknowledged selectively, above a gap.
            ("sacks", count) => (0..number(count)).for_each(|_| {
                self.fixed.now += self.fixed.rtt;
                let ack = self.fixed.ack(&self.window, self.window.window());
                self.window.on_ack(&Ack { snd_una_advance: Bytes::ZERO, snd_una: 0, ..ack });
            }),
            ("until", state) => self.until(state),
            ("save", "") => {
                let (cwnd, ssthresh) = (self.window.window(), self.window.slow_start_threshold());
                let prior_ssthresh = ssthresh.max(Bytes::new(cwnd.get() / 4 * 3));
                self.saved = Undo { prior_cwnd: cwnd, prior_ssthresh };
            }
            ("undo", "") => self.window.on_undo(&self.saved),
            ("loss", "") => self.window.on_loss(&loss),
            ("loss", "in CWR") => self.window.on_loss(&Loss { in_cwr: true, ..loss }),
            ("loss", word) => {
                let in_flight = SEGMENT * number(word.trim_start_matches("of "));
                self.window.on_loss(&Loss { prior_in_flight: in_flight, ..loss });
            }
            ("mark", "") => self.window.on_mark(&loss),
            ("rto", again) => self.window.on_rto(&loss, again.is_empty()),
            ("exit", "") => self.window.on_recovery_exit(now),
            ("restart", word) => self.window.on_restart(now, word.is_empty()),
            ("wait", time) => self.fixed.now += span(time),
            ("rate", rate) => {
                self.bottleneck.iter_mut().for_each(|path| path.rate = rate.parse().expect("a rate"));
            }
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
        let time = format!("{:.3}", self.now().since_start().as_secs_f64());
        let state = self.state();
        let event = if state.is_empty() { event.to_owned() } else { format!("[{state}] {event}") };
        let (cwnd, threshold) = (segments(self.window.window()), segments(self.window.slow_start_threshold()));
        let Some(path) = &self.bottleneck else { return self.line(&time, vec![cwnd, threshold], &event) };
        let pacing = self.window.pacing().map_or(0.0, |rate| rate.get() as f64 / 1e6);
        self.line(&time, vec![cwnd, segments(path.in_flight), format!("{pacing:.2}")], &event);
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
            "link" => begin.link_rate = value.parse().expect("a rate"),
            _ => given.push((key, integer.or_else(|_| other()).unwrap_or(RawValue::Text(value.to_owned())))),
        }
    }
    let host = HostStack::SIMULATED.into_iter().find(|host| host.word() == stack).expect("a stack");
    made(name, host, &given).unwrap_or_else(|why| panic!("{line}: {why}")).build(&begin)
}

/// The name of each script, its path, its controllers, and its lines.
fn scripts() -> impl Iterator<Item = (&'static str, &'static str, Vec<&'static str>, Vec<&'static str>)> {
    SCRIPTS.split("\n\n").filter_map(|paragraph| {
        let mut lines = paragraph.lines().filter(|line| !line.starts_with('#'));
        let (name, path) = lines.next()?.strip_prefix("script ")?.split_once(", ")?;
        let (controllers, lines) = lines.partition(|line: &&str| line.starts_with("controller "));
        Some((name, path, controllers, lines))
    })
}

#[test]
fn controllers_answer_scripts_as_in_the_snapshot() {
    let mut told = String::new();
    let (_, _, every, _) = scripts().next().expect("a script");
    for (name, path, controllers, lines) in scripts() {
        let all = controllers.into_iter().flat_map(|it| if it == "controller all" { every.clone() } else { vec![it] });
        for controller in all.map(|line| line.trim_start_matches("controller ")) {
            let run = Run::new(self::controller(controller), path).run(&lines);
            writeln!(told, "{name}: {controller}\n{run}").expect("a string takes any text");
        }
    }
    insta::assert_snapshot!("scripts", told);
}

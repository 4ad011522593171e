//! Progress of all runs in simulated time, on standard error: a bar on a terminal, messages for programs, otherwise a
//! line every half minute.

use crate::live::LiveScreen;
use crate::messages::{self, Message, MessagePace};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use shallop_core::Span;
use shallop_plan::Study;
use shallop_results::Job;
use shallop_workbench::printable::{printable, printable_lines};
use shallop_workbench::{LiveSnapshot, Progress};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Steps of the bar per simulated second.
const STEPS: f64 = 1e6;

const BETWEEN_LINES: Duration = Duration::from_secs(30);

/// Reports progress: by a bar, lines or messages.
pub struct ProgressReporter {
    line: ProgressBar,
    /// Prints progress as lines of text, if standard error is not a terminal.
    lines: Option<ProgressLines>,
    /// Sends progress as messages, if a program reads them.
    messages: Option<Messages>,
    /// The simulated duration of all runs, in picoseconds.
    whole: u64,
    /// The simulated time that has passed, in picoseconds.
    passed: AtomicU64,
    ended: AtomicUsize,
    all: usize,
    /// The screen of `--live`, which replaces the bar until something is printed.
    live: Mutex<Option<LiveScreen>>,
}

impl ProgressReporter {
    /// Makes a reporter that starts at zero. Each item of `work` is the sum of the simulated durations of some runs,
    /// and the number of these runs.
    pub fn new(work: impl Iterator<Item = (Span, usize)>) -> Self {
        let is_terminal = std::io::stderr().is_terminal() && !messages::is_json();
        let target = if is_terminal { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let (seconds, all) =
            work.fold((0.0, 0), |(seconds, all), (span, runs)| (seconds + span.as_secs_f64(), all + runs));
        let bar = ProgressBar::with_draw_target(Some((seconds * STEPS) as u64), target);
        let style =
            ProgressStyle::with_template("{bar:30} {percent:>3} %  {elapsed} passed, {eta} to go  {prefix}  {msg}");
        if let Ok(style) = style {
            bar.set_style(style);
        }
        bar.set_prefix(format!("0 of {all} runs"));
        let messages = messages::is_json().then(Messages::default);
        let lines = (!is_terminal && messages.is_none()).then(ProgressLines::start);
        let whole = (seconds * 1e12) as u64;
        let (passed, ended) = (AtomicU64::new(0), AtomicUsize::new(0));
        let bar = Self { line: bar, lines, messages, whole, passed, ended, all, live: Mutex::new(None) };
        bar.tell(true);
        bar
    }

    /// Sends a message about progress to a program: now, or only if one is due. Sends nothing if nothing has changed
    /// since the last message.
    pub fn tell(&self, at_once: bool) {
        let Some(messages) = &self.messages else { return };
        // If another thread holds the lock, it sends the message.
        let latest = if at_once {
            Ok(messages.latest.lock().unwrap_or_else(PoisonError::into_inner))
        } else {
            messages.latest.try_lock()
        };
        let Ok(mut latest) = latest else { return };
        let state = (self.passed.load(Ordering::Relaxed), self.ended.load(Ordering::Relaxed));
        if latest.sent == Some(state) || !(latest.pace.is_due() || at_once) {
            return;
        }
        latest.sent = Some(state);
        let (passed, ended) = state;
        let part = if self.whole == 0 { 1.0 } else { (passed as f64 / self.whole as f64).min(1.0) };
        messages::send(&Message::Progress { part, ended, runs: self.all, last: &latest.started });
    }

    /// Replaces the bar by the screen of `--live`.
    pub fn with_screen(mut self, live: Option<LiveScreen>) -> Self {
        if live.is_some() {
            self.line.set_draw_target(ProgressDrawTarget::hidden());
            self.lines = None;
        }
        self.live = Mutex::new(live);
        self
    }

    fn screen(&self) -> MutexGuard<'_, Option<LiveScreen>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `print` while the bar is hidden, and closes the screen.
    pub fn hidden_while<T>(&self, print: impl FnOnce() -> T) -> T {
        self.screen().take();
        self.line.suspend(print)
    }

    pub fn close(&self) {
        self.tell(true);
        self.screen().take();
        self.line.finish_and_clear();
    }
}

impl Progress for ProgressReporter {
    fn close(&self) {
        Self::close(self);
    }

    fn start(&self, study: &Study, job: Job) {
        let point = &study.points[job.point];
        let scheme = &point.plan.schemes[job.scheme].name;
        let words = [point.name.as_str(), scheme.as_str()].into_iter().filter(|word| !word.is_empty());
        let message = words.collect::<Vec<_>>().join(" ");
        if let Some(live) = &*self.screen() {
            live.begin(&format!("{}: {message}, seed {}", study.title, job.seed));
        }
        self.line.set_message(printable(&message).into_owned());
        if let Some(messages) = &self.messages {
            let mut latest = messages.latest.lock().unwrap_or_else(PoisonError::into_inner);
            (latest.started, latest.sent) = (message, None);
        }
        self.tell(false);
    }

    fn advance(&self, by: Span) {
        let passed = self.passed.fetch_add(by.as_ps(), Ordering::Relaxed) + by.as_ps();
        self.line.set_position((passed as f64 * 1e-12 * STEPS) as u64);
        self.tell(false);
        let Some(lines) = &self.lines else { return };
        let ended = self.ended.load(Ordering::Relaxed);
        if let Some(line) = lines.due(lines.started.elapsed(), passed, self.whole, ended, self.all) {
            crate::print::stderr(&line);
        }
    }

    fn end(&self) {
        let ended = self.ended.fetch_add(1, Ordering::Relaxed) + 1;
        self.line.set_prefix(format!("{ended} of {} runs", self.all));
        self.tell(false);
    }

    fn wants_snapshot(&self, at: Span) -> bool {
        self.screen().as_ref().is_some_and(|live| live.wants(at))
    }

    fn snapshot(&self, snapshot: LiveSnapshot) {
        if let Some(live) = &*self.screen() {
            live.tell(snapshot);
        }
    }

    fn note(&self, text: &str) {
        self.line.suspend(|| crate::print::stderr(&format!("{}\n", printable_lines(text))));
    }
}

#[derive(Default)]
struct Messages {
    latest: Mutex<Latest>,
}

#[derive(Default)]
struct Latest {
    pace: MessagePace,
    /// The point and scheme of the run that started last.
    started: String,
    /// The simulated picoseconds and the number of ended runs in the last message.
    sent: Option<(u64, usize)>,
}

/// Prints progress as lines for logs: none in the first half minute, then at most one per half minute.
struct ProgressLines {
    started: Instant,
    /// When the next line is due, as a time since the start.
    next: Mutex<Duration>,
}

impl ProgressLines {
    fn start() -> Self {
        Self { started: Instant::now(), next: Mutex::new(BETWEEN_LINES) }
    }

    /// Returns the line that is due at the time `after` since the start: which part of the simulated time has passed,
    /// and how many runs ended.
    fn due(&self, after: Duration, passed: u64, whole: u64, ended: usize, all: usize) -> Option<String> {
        // If another thread holds the lock, it prints the line.
        let mut next = self.next.try_lock().ok()?;
        if after < *next {
            return None;
        }
        *next = after + BETWEEN_LINES;
        let percent = (passed as f64 / whole.max(1) as f64 * 100.0).min(100.0);
        let seconds = after.as_secs();
        Some(format!(
            "{percent:.0} % of the simulated time, {ended} of {all} runs ended, {}:{:02} passed\n",
            seconds / 60,
            seconds % 60
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_each_half_minute_and_short_runs_have_none() {
        let lines = ProgressLines::start();
        let at = |seconds: u64| lines.due(Duration::from_secs(seconds), 5, 20, 1, 4);
        assert_eq!((at(0), at(29)), (None, None));
        let line = "25 % of the simulated time, 1 of 4 runs ended, 0:31 passed\n";
        assert_eq!(at(31).as_deref(), Some(line));
        assert_eq!((at(31), at(60)), (None, None));
        assert!(at(100).unwrap().contains(" 1:40 passed"));
    }
}

//! A progress bar of the simulated time of all runs, on standard error if that is a terminal.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use shallop_core::Span;
use shallop_plan::Study;
use shallop_results::Job;
use shallop_workbench::Progress;
use shallop_workbench::printable::{printable, printable_lines};

/// Steps of the bar in a simulated second.
const STEPS: f64 = 1e6;

/// The progress bar.
pub struct Bar {
    line: ProgressBar,
    /// Simulated picoseconds.
    passed: AtomicU64,
    /// Runs that ended, and the number of all runs.
    ended: AtomicUsize,
    all: usize,
}

impl Bar {
    /// A bar at zero. The work of each part is its simulated time and its number of runs.
    pub fn of(work: impl Iterator<Item = (Span, usize)>) -> Self {
        let target = if std::io::stderr().is_terminal() {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let (seconds, all) = work.fold((0.0, 0), |(seconds, all), (span, runs)| {
            (seconds + span.as_secs_f64(), all + runs)
        });
        let bar = ProgressBar::with_draw_target(Some((seconds * STEPS) as u64), target);
        let style = ProgressStyle::with_template(
            "{bar:30} {percent:>3} %  {elapsed} passed, {eta} to go  {prefix}  {msg}",
        );
        if let Ok(style) = style {
            bar.set_style(style);
        }
        bar.set_prefix(format!("0 of {all} runs"));
        Self { line: bar, passed: AtomicU64::new(0), ended: AtomicUsize::new(0), all }
    }

    /// Prints with the bar hidden.
    pub fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        self.line.suspend(print)
    }

    /// Removes the bar.
    pub fn close(&self) {
        self.line.finish_and_clear();
    }
}

impl Progress for Bar {
    fn start(&self, study: &Study, job: Job) {
        let point = &study.points[job.point];
        let scheme = &point.plan.schemes[job.scheme].name;
        let words =
            [point.name.as_str(), scheme.as_str()].into_iter().filter(|word| !word.is_empty());
        let message = words.collect::<Vec<_>>().join(" ");
        self.line.set_message(printable(&message).into_owned());
    }

    fn advance(&self, by: Span) {
        let passed = self.passed.fetch_add(by.as_ps(), Ordering::Relaxed) + by.as_ps();
        self.line.set_position((passed as f64 * 1e-12 * STEPS) as u64);
    }

    fn end(&self) {
        let ended = self.ended.fetch_add(1, Ordering::Relaxed) + 1;
        self.line.set_prefix(format!("{ended} of {} runs", self.all));
    }

    fn note(&self, text: &str) {
        // There is nobody to tell if this cannot be written.
        let _ = self.line.suspend(|| writeln!(std::io::stderr(), "{}", printable_lines(text)));
    }
}

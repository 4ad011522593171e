//! A bar over the simulated time of all runs, on standard error if that is a terminal.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicU64, Ordering};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use shallop_lab::host::{Progress, jobs};
use shallop_lab::study::{Job, Study};

/// Steps of the bar in a simulated second.
const STEPS: f64 = 1e6;

/// The bar.
pub struct Bar {
    bar: ProgressBar,
    /// Simulated picoseconds.
    passed: AtomicU64,
}

impl Bar {
    /// A bar for these studies, at nothing.
    pub fn of<'a>(studies: impl Iterator<Item = &'a Study>) -> Self {
        let target = if std::io::stderr().is_terminal() {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let all: f64 = studies.map(|study| jobs::work(study).as_secs_f64()).sum();
        let bar = ProgressBar::with_draw_target(Some((all * STEPS) as u64), target);
        let style = ProgressStyle::with_template(
            "{bar:30} {percent:>3} %  {elapsed} passed, {eta} to go  {msg}",
        );
        if let Ok(style) = style {
            bar.set_style(style);
        }
        Self { bar, passed: AtomicU64::new(0) }
    }

    /// Prints what is to be printed with the bar out of its way.
    pub fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }

    /// Removes the bar.
    pub fn end(&self) {
        self.bar.finish_and_clear();
    }
}

impl Progress for Bar {
    fn start(&self, study: &Study, job: Job) {
        let point = &study.points[job.point];
        let scheme = &point.plan.schemes[job.scheme].name;
        let words =
            [point.name.as_str(), scheme.as_str()].into_iter().filter(|word| !word.is_empty());
        self.bar.set_message(words.collect::<Vec<_>>().join(" "));
    }

    fn advance(&self, by: shallop_lab::Span) {
        let passed = self.passed.fetch_add(by.as_ps(), Ordering::Relaxed) + by.as_ps();
        self.bar.set_position((passed as f64 * 1e-12 * STEPS) as u64);
    }
}

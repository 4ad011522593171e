//! Flow completion times by size class. State: the time and the slowdown of each counted flow that is complete, in
//! sixteen bytes; percentiles are exact.

use shallop_plan::plan::Classes;

use crate::flow_records::FlowRecord;
use shallop_results::summary::{Completion, Fct};

/// The index of the class of a size.
fn class_of(classes: Classes, size: u64) -> usize {
    match size {
        size if size <= classes.small.get() => SMALL,
        size if size > classes.large.get() => LARGE,
        _ => MEDIUM,
    }
}

const SMALL: usize = 0;
const MEDIUM: usize = 1;
const LARGE: usize = 2;

/// Flows in a block of memory.
const BLOCK: usize = 1 << 14;

/// A flow that completed.
#[derive(Clone, Copy, Debug)]
struct CompletionTime {
    seconds: f64,
    slowdown: f32,
    class: u8,
    /// Whether it took at most one base round trip of its path.
    within_rtt: bool,
}

/// The completion times of a run.
#[derive(Clone, Debug, Default)]
pub struct CompletionTimes {
    classes: Option<Classes>,
    /// In blocks, so that growth copies nothing.
    times: Vec<Vec<CompletionTime>>,
    unfinished: [u64; 3],
}

impl CompletionTimes {
    /// No completion times yet.
    #[must_use]
    pub fn new(classes: Option<Classes>) -> Self {
        Self { classes, ..Self::default() }
    }

    /// The completion times of several sets of flows.
    #[must_use]
    pub fn together(parts: &[Self]) -> Self {
        let mut all = Self::new(parts.first().and_then(|part| part.classes));
        for part in parts {
            all.times.extend(part.times.iter().cloned());
            for (sum, unfinished) in all.unfinished.iter_mut().zip(part.unfinished) {
                *sum += unfinished;
            }
        }
        all
    }

    /// Adds a flow that retires, or is in progress when the run ends. Flows without end and uncounted flows are
    /// ignored.
    pub fn add(&mut self, flow: &FlowRecord) {
        let Some(size) = flow.facts.size.filter(|_| flow.facts.counted) else { return };
        let class = self.classes.map_or(MEDIUM, |classes| class_of(classes, size));
        let Some(time) = flow.completion_time() else {
            self.unfinished[class] += 1;
            return;
        };
        let slowdown = time.ratio(flow.facts.ideal) as f32;
        let within_rtt = time <= flow.facts.base_rtt;
        let (seconds, class) = (time.as_secs_f64(), class as u8);
        if self.times.last().is_none_or(|block| block.len() == BLOCK) {
            self.times.push(Vec::with_capacity(BLOCK));
        }
        if let Some(block) = self.times.last_mut() {
            block.push(CompletionTime { seconds, slowdown, class, within_rtt });
        }
    }

    /// Statistics of the completion times, of all flows and by class.
    #[must_use]
    pub fn fct(&self) -> Fct {
        let mut values = Vec::with_capacity(self.times.iter().map(Vec::len).sum());
        let all = self.completion(&mut values, |_| true);
        let mut of_class = |class: usize| {
            let completion = self.completion(&mut values, |of| of == class);
            completion.filter(|_| self.classes.is_some())
        };
        Fct { all, small: of_class(SMALL), medium: of_class(MEDIUM), large: of_class(LARGE) }
    }

    /// Statistics of the flows of the classes for which `counts` holds. `values` is scratch memory for sorting.
    fn completion(
        &self,
        values: &mut Vec<f64>,
        counts: impl Fn(usize) -> bool,
    ) -> Option<Completion> {
        let of_class = || {
            let times = self.times.iter().flatten();
            times.filter(|time| counts(usize::from(time.class)))
        };
        let unfinished = (0..3).filter(|&class| counts(class)).map(|class| self.unfinished[class]);
        let unfinished: u64 = unfinished.sum();
        values.clear();
        values.extend(of_class().map(|time| time.seconds));
        if values.is_empty() && unfinished == 0 {
            return None;
        }
        let soon = of_class().filter(|time| time.within_rtt).count();
        let completion = Completion::of(values, unfinished);
        let within_rtt = Some(soon as f64 / completion.count as f64);
        let completion = Completion { within_rtt, ..completion };
        values.clear();
        values.extend(of_class().map(|time| f64::from(time.slowdown)));
        Some(completion.with_slowdowns(values))
    }
}

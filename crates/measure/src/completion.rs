//! Flow completion times by size class. State: completion time and slowdown of each counted flow, sixteen bytes a flow.

use crate::flow_records::FlowRecord;
use shallop_core::Time;
use shallop_plan::plan::Classes;
use shallop_results::summary::{Completion, Fct, FlowTime};

/// Index of the size class (small, medium, large) of a flow with `size` payload bytes.
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

/// Number of flows in a block of memory.
const BLOCK: usize = 1 << 12;

/// Completion times of the flows of one size class.
#[derive(Clone, Debug, Default)]
struct ClassTimes {
    /// Times and slowdowns of completed flows, in blocks, so that growth copies nothing.
    complete: Vec<Vec<FlowTime>>,
    /// Ages at the end of the run of flows that did not complete.
    unfinished: Vec<FlowTime>,
}

/// Completion times of the flows of a run, by size class.
#[derive(Clone, Debug, Default)]
pub struct CompletionTimes {
    classes: Option<Classes>,
    times: [ClassTimes; 3],
}

impl CompletionTimes {
    /// Without `classes`, all flows are in one class.
    #[must_use]
    pub fn new(classes: Option<Classes>) -> Self {
        Self { classes, ..Self::default() }
    }

    /// Adds a flow that retires, or that is in progress when the run ends at `now`. Flows that never end and uncounted
    /// flows are ignored.
    pub fn add(&mut self, flow: &FlowRecord, now: Time) {
        let Some(size) = flow.facts.size.filter(|_| flow.facts.counted) else { return };
        let class = self.classes.map_or(MEDIUM, |classes| class_of(classes, size));
        let ClassTimes { complete, unfinished } = &mut self.times[class];
        let time = flow.completion_time().unwrap_or(now.saturating_since(flow.start));
        let time = FlowTime {
            seconds: time.as_secs_f64(),
            slowdown: time.ratio(flow.facts.ideal) as f32,
            within_rtt: time <= flow.facts.base_rtt,
        };
        if flow.complete.is_none() {
            return unfinished.push(time);
        }
        if complete.last().is_none_or(|block| block.len() == BLOCK) {
            complete.push(Vec::with_capacity(BLOCK));
        }
        if let Some(block) = complete.last_mut() {
            block.push(time);
        }
    }

    /// Statistics of completion times, over all flows and by size class.
    pub fn fct(&self) -> Fct {
        Self::fct_of_all(std::slice::from_ref(self))
    }

    /// Statistics of the completion times of several groups together.
    pub fn fct_of_all(parts: &[Self]) -> Fct {
        let of = |from: usize, to: usize| {
            let classes = || parts.iter().flat_map(move |part| &part.times[from..to]);
            let complete = classes().flat_map(|class| class.complete.iter().flatten());
            Completion::from_flows(&complete, &classes().flat_map(|class| &class.unfinished))
        };
        let classified = parts.iter().any(|part| part.classes.is_some());
        let of_class = |class: usize| of(class, class + 1).filter(|_| classified);
        Fct { all: of(0, LARGE + 1), small: of_class(SMALL), medium: of_class(MEDIUM), large: of_class(LARGE) }
    }
}

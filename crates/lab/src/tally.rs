//! Completion times by size of the flow. State: for each judged flow that is over its time and its slowdown, sixteen
//! bytes; percentiles are of the values themselves, not of bins.

use shallop_core::Bytes;

use crate::records::Record;
use crate::summary::{Completion, Fct};

/// Where sizes are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classes {
    /// Small flows have up to this much payload.
    pub small: Bytes,
    /// Large ones have more than this.
    pub large: Bytes,
}

impl Classes {
    fn of(self, size: u64) -> usize {
        match size {
            size if size <= self.small.get() => SMALL,
            size if size > self.large.get() => LARGE,
            _ => MEDIUM,
        }
    }
}

const SMALL: usize = 0;
const MEDIUM: usize = 1;
const LARGE: usize = 2;

/// Flows in a block of memory.
const BLOCK: usize = 1 << 14;

/// A flow that completed.
#[derive(Clone, Copy, Debug)]
struct Time {
    seconds: f64,
    slowdown: f32,
    class: u8,
    /// It took no longer than one base round trip of its path.
    within_rtt: bool,
}

/// The completion times.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    classes: Option<Classes>,
    /// In blocks, so that none of them is ever copied to a larger place.
    times: Vec<Vec<Time>>,
    unfinished: [u64; 3],
}

impl Tally {
    /// No flow yet.
    #[must_use]
    pub fn new(classes: Option<Classes>) -> Self {
        Self { classes, ..Self::default() }
    }

    /// A flow is over, or the run is. Flows without end and those that are not judged do not count.
    pub fn add(&mut self, flow: &Record) {
        let Some(size) = flow.facts.size.filter(|_| flow.facts.counted) else { return };
        let class = self.classes.map_or(MEDIUM, |classes| classes.of(size));
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
            block.push(Time { seconds, slowdown, class, within_rtt });
        }
    }

    /// What they come to.
    #[must_use]
    pub fn fct(&self) -> Fct {
        let mut values = Vec::with_capacity(self.times.iter().map(Vec::len).sum());
        let all = self.completion(&mut values, |_| true);
        let mut told = |class: usize| {
            let told = self.completion(&mut values, |of| of == class);
            told.filter(|_| self.classes.is_some())
        };
        Fct { all, small: told(SMALL), medium: told(MEDIUM), large: told(LARGE) }
    }

    /// What the flows of the classes that count come to. `values` is only a place to sort them in.
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

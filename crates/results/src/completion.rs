//! Flow completion times (FCT) and slowdowns of a set of flows.
//!
//! A flow that is not complete when the run ends is a right-censored observation: its completion time is at least its
//! age. Every statistic is computed with such flows at their age. It is exact if it is the same whatever their
//! completion times may be, and a lower bound otherwise.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Flow completion times by size class.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fct {
    /// All flows with an end; null if there are none.
    pub all: Option<Completion>,
    /// Small flows; null without size classes.
    pub small: Option<Completion>,
    /// Medium flows; null without size classes.
    pub medium: Option<Completion>,
    /// Large flows; null without size classes.
    pub large: Option<Completion>,
}

impl Fct {
    /// The four sets of flows, with the names of their fields.
    pub fn classes(&self) -> [(&'static str, &Option<Completion>); 4] {
        let Self { all, small, medium, large } = self;
        [("all", all), ("small", small), ("medium", medium), ("large", large)]
    }
}

/// Completion times of a set of flows, from the start to the arrival of the last byte. Flows in the warm-up and
/// cool-down of a group are not counted. A flow that is not complete counts with its age at the end of the run; figures
/// that its completion could change are in `lower_bounds`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Completion {
    /// Flows that have started, except those in the warm-up and cool-down.
    pub count: u64,
    /// Of the counted flows, those that are not complete at the end of the run.
    pub unfinished: u64,
    /// The mean completion time.
    pub mean_s: Option<f64>,
    /// The median completion time.
    pub p50_s: Option<f64>,
    /// The 95th percentile of the completion times.
    pub p95_s: Option<f64>,
    /// The 99th percentile of the completion times.
    pub p99_s: Option<f64>,
    /// The 99.9th percentile of the completion times.
    pub p999_s: Option<f64>,
    /// The mean slowdown, which is the completion time divided by the time in an empty network (docs/model.md,
    /// "slowdown").
    pub slowdown_mean: Option<f64>,
    /// The 99th percentile of the slowdowns.
    pub slowdown_p99: Option<f64>,
    /// The fraction of counted flows that completed within one base round trip of their paths.
    pub within_rtt: Option<f64>,
    /// The statistics that are lower bounds: the completion of unfinished flows could only make them larger.
    #[serde(default)]
    pub lower_bounds: Vec<Statistic>,
    /// The percentiles beyond which less than one counted flow is expected; the 99th is one if there are fewer than 100
    /// flows.
    #[serde(default)]
    pub few_samples: Vec<Statistic>,
}

/// A statistic of completion times: a field of [`Completion`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Statistic {
    /// The mean completion time.
    MeanS,
    /// The median completion time.
    P50S,
    /// The 95th percentile of the completion times.
    P95S,
    /// The 99th percentile of the completion times.
    P99S,
    /// The 99.9th percentile of the completion times.
    P999S,
    /// The mean slowdown.
    SlowdownMean,
    /// The 99th percentile of the slowdowns.
    SlowdownP99,
    /// The fraction of flows that completed within one base round trip.
    WithinRtt,
}

names! { Statistic::name {
    MeanS = "mean_s", P50S = "p50_s", P95S = "p95_s", P99S = "p99_s", P999S = "p999_s",
    SlowdownMean = "slowdown_mean", SlowdownP99 = "slowdown_p99", WithinRtt = "within_rtt",
} }

impl Statistic {
    /// The rank of a percentile in thousandths: 990 for the 99th. `None` if the statistic is no percentile.
    pub const fn permille(self) -> Option<u64> {
        match self {
            Self::P50S => Some(500),
            Self::P95S => Some(950),
            Self::P99S | Self::SlowdownP99 => Some(990),
            Self::P999S => Some(999),
            Self::MeanS | Self::SlowdownMean | Self::WithinRtt => None,
        }
    }
}

/// What the statistics need of one flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowTime {
    /// The completion time in seconds; for an unfinished flow its age at the end of the run.
    pub seconds: f64,
    /// `seconds` divided by the completion time in an empty network.
    pub slowdown: f32,
    /// Whether `seconds` is at most one base round trip of the flow's path.
    pub within_rtt: bool,
}

impl Completion {
    /// Computes the statistics of a set of flows; `None` without flows.
    pub fn from_flows<'a>(
        complete: &(impl Iterator<Item = &'a FlowTime> + Clone),
        unfinished: &(impl Iterator<Item = &'a FlowTime> + Clone),
    ) -> Option<Self> {
        let sample =
            |of: fn(&FlowTime) -> f64| Sample::new(complete.clone().map(of).collect(), unfinished.clone().map(of));
        let times = sample(|flow| flow.seconds);
        let slowdowns = sample(|flow| f64::from(flow.slowdown));
        let within = |flow: &&FlowTime| flow.within_rtt;
        let (soon, young) = (complete.clone().filter(within), unfinished.clone().filter(within));
        let (soon, young) = (soon.count() as f64, young.count() as f64);
        let count = times.len() as u64;
        let open = count - times.known.len() as u64;
        let mut found = Self { count, unfinished: open, ..Self::default() };
        for statistic in Statistic::ALL {
            let is_slowdown = matches!(statistic, Statistic::SlowdownMean | Statistic::SlowdownP99);
            let sample = if is_slowdown { &slowdowns } else { &times };
            let (least, most) = match (statistic, statistic.permille()) {
                (Statistic::WithinRtt, _) => (Some(soon / count as f64), Some((soon + young) / count as f64)),
                (_, None) => (sample.mean(), sample.mean().filter(|_| open == 0)),
                (_, Some(permille)) => {
                    if count * (1000 - permille) < 1000 {
                        found.few_samples.push(statistic);
                    }
                    sample.quantile(permille)
                }
            };
            *found.figure_mut(statistic) = least;
            if least != most {
                found.lower_bounds.push(statistic);
            }
        }
        (count > 0).then_some(found)
    }

    /// The value of a statistic; `None` if it does not apply.
    pub fn figure(&self, statistic: Statistic) -> Option<f64> {
        *self.clone().figure_mut(statistic)
    }

    fn figure_mut(&mut self, statistic: Statistic) -> &mut Option<f64> {
        match statistic {
            Statistic::MeanS => &mut self.mean_s,
            Statistic::P50S => &mut self.p50_s,
            Statistic::P95S => &mut self.p95_s,
            Statistic::P99S => &mut self.p99_s,
            Statistic::P999S => &mut self.p999_s,
            Statistic::SlowdownMean => &mut self.slowdown_mean,
            Statistic::SlowdownP99 => &mut self.slowdown_p99,
            Statistic::WithinRtt => &mut self.within_rtt,
        }
    }
}

/// One value of each flow, such as its completion time. For an unfinished flow it is a lower bound.
struct Sample {
    /// Values of complete flows, ascending.
    known: Vec<f64>,
    /// Values of all flows, ascending; empty if all flows are complete, since `known` then has them.
    all: Vec<f64>,
}

impl Sample {
    fn new(mut known: Vec<f64>, bounds: impl Iterator<Item = f64>) -> Self {
        known.sort_unstable_by(f64::total_cmp);
        let mut all: Vec<f64> = bounds.collect();
        if !all.is_empty() {
            all.extend(&known);
            all.sort_unstable_by(f64::total_cmp);
        }
        Self { known, all }
    }

    /// Values of all flows, ascending.
    fn all(&self) -> &[f64] {
        if self.all.is_empty() { &self.known } else { &self.all }
    }

    fn len(&self) -> usize {
        self.all().len()
    }

    fn mean(&self) -> Option<f64> {
        let all = self.all();
        (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
    }

    /// The lower and the upper limit of a quantile. Unfinished flows count with their bounds for the lower one, and as
    /// infinite for the upper one; `None` is an infinite limit.
    fn quantile(&self, permille: u64) -> (Option<f64>, Option<f64>) {
        let rank = (permille * self.len() as u64).div_ceil(1000).max(1) as usize;
        (self.all().get(rank - 1).copied(), self.known.get(rank - 1).copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(seconds: f64) -> FlowTime {
        FlowTime { seconds, slowdown: seconds as f32, within_rtt: false }
    }

    #[test]
    fn a_flow_that_may_still_complete_within_a_round_trip_is_told() {
        let young = FlowTime { within_rtt: true, ..flow(1.0) };
        let fct = Completion::from_flows(&[young, flow(2.0)].iter(), &[flow(1.0)].iter()).unwrap();
        assert_eq!(fct.within_rtt, Some(1.0 / 3.0));
        assert!(!fct.lower_bounds.contains(&Statistic::WithinRtt));
        let fct = Completion::from_flows(&[flow(2.0)].iter(), &[young].iter()).unwrap();
        assert!(fct.lower_bounds.contains(&Statistic::WithinRtt));
    }

    #[test]
    fn statistics_have_the_names_of_their_fields() {
        let fields = serde_json::to_value(Completion::default()).unwrap();
        for statistic in Statistic::ALL {
            assert_eq!(serde_json::to_value(statistic).unwrap(), statistic.name());
            assert!(fields.get(statistic.name()).is_some(), "{statistic:?}");
        }
    }
}

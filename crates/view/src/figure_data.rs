//! The data of figures, collected row by row from flows and time series. State: sixteen bytes for each completed flow,
//! and bins of the time series that are shown, so that a million flows and an hour of series fit into memory.

use crate::{binned_series::BinnedSeries, comparison::Comparison};
use shallop_results::summary::Queue;
use shallop_results::{Run, SizeClasses, Summary};
use std::collections::{BTreeMap, BTreeSet};

/// A row of `flows.parquet`: the columns of one flow that figures need.
#[derive(Clone, Copy, Debug)]
pub struct PlotFlow<'a> {
    pub point: &'a str,
    pub scheme: &'a str,
    pub seed: u64,
    /// Number of the flow in its run, from 0.
    pub flow: u64,
    /// Start of the flow, in seconds from the start of the run.
    pub start_s: f64,
    /// Payload of the flow in bytes; `None` for a flow without end.
    pub size_bytes: Option<u64>,
    /// Completion time of the flow in seconds; `None` if the flow was not complete when the run ended.
    pub fct_s: Option<f64>,
    /// Completion time divided by the ideal one; `None` if the flow has none.
    pub slowdown: Option<f64>,
    /// Whether results include the flow; false in the warm-up and the cool-down.
    pub counted: bool,
}

/// A row of `series.parquet`: one sample of a time series.
#[derive(Clone, Copy, Debug)]
pub struct PlotSample<'a> {
    pub point: &'a str,
    pub scheme: &'a str,
    pub seed: u64,
    /// Time of the sample, in seconds from the start of the run.
    pub time_s: f64,
    /// Quantity of the sample: `queue_bytes`, `queue_peak_bytes`, `rate_bps`, `cwnd_segments`, or another that is not
    /// drawn.
    pub what: &'a str,
    /// Name of the queue, the group or the flow to which the sample belongs.
    pub place: &'a str,
    pub value: f64,
}

/// The classes of flows by size. The first one contains all flows.
pub const CLASSES: [&str; 4] = ["all", "small", "medium", "large"];
/// The number of flows, from the first one on, that have time series of their rates.
const FLOWS_WITH_SERIES: usize = 100;
/// The congestion windows of flows with a smaller number are shown.
pub const FLOWS_WITH_WINDOWS: u64 = 8;

/// A flow that figures of completion times and slowdowns show: complete, and included in results.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CompletedFlow {
    pub fct_s: f32,
    /// Completion time divided by the ideal one; NaN if it is unknown.
    pub slowdown: f32,
    /// Payload of the flow in bytes.
    pub size_bytes: u64,
}

/// The flows of a scheme at a point, over all seeds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flows {
    pub completed: Vec<CompletedFlow>,
    /// By class of [`CLASSES`]: the number of flows that were not complete when the run ended.
    pub incomplete: [u64; 4],
}

/// The time series of the one run that figures show for a scheme at a point.
#[derive(Clone, Debug, PartialEq)]
pub struct RunSeries {
    pub seed: u64,
    /// Duration of the run, in seconds.
    pub length: f64,
    /// The longest data queue of the run, as `place class`; `None` if no queue ever had a packet.
    pub queue: Option<String>,
    /// Length of the longest data queue in bytes: at each sample, and the maximum since the previous sample.
    pub queue_bytes: (BinnedSeries, BinnedSeries),
    /// By group, in the order of the summary: its name and its rate over time.
    pub groups: Vec<(String, BinnedSeries)>,
    /// By number of the flow: its rate over time.
    pub flows: BTreeMap<u64, BinnedSeries>,
    /// Congestion windows by flow, in segments.
    pub windows: BTreeMap<u64, BinnedSeries>,
    /// By number of the flow: its start and end, in seconds from the start of the run.
    pub lifetimes: BTreeMap<u64, (f64, f64)>,
}

/// The data from which all figures of a page are made.
#[derive(Clone, Debug, PartialEq)]
pub struct FigureData {
    /// The schemes and points that figures compare.
    pub comparison: Comparison,
    /// The sizes that separate small, medium and large flows; `None` if the scenario sets none.
    pub classes: Option<SizeClasses>,
    /// By (point, scheme): the flows of all seeds.
    pub flows: BTreeMap<(usize, usize), Flows>,
    /// By (point, scheme): time series of one run, for the points that are shown over time.
    pub series: BTreeMap<(usize, usize), RunSeries>,
    /// The number of seeds.
    seeds: usize,
    /// Void runs, which figures leave out, as (point, scheme, seed).
    void: BTreeSet<(usize, usize, u64)>,
}

impl FigureData {
    /// Makes the data for figures of these results, with no flows and samples yet.
    #[must_use]
    pub fn new(summary: &Summary) -> Self {
        let comparison = Comparison::from_summary(summary);
        let shown = comparison.points_over_time();
        let (mut series, mut void) = (BTreeMap::new(), BTreeSet::new());
        for run in &summary.runs {
            let place = comparison.point(&run.point).zip(comparison.scheme(&run.scheme));
            let Some((point, scheme)) = place else { continue };
            if run.is_void() {
                void.insert((point, scheme, run.seed));
            } else if shown.contains(&point) {
                // The first run is that of the first seed that counts.
                series.entry((point, scheme)).or_insert_with(|| RunSeries::new(run));
            }
        }
        Self { comparison, classes: summary.classes, flows: BTreeMap::new(), series, seeds: summary.seeds.len(), void }
    }

    /// A part of a caption that results of several seeds need; empty for one seed.
    pub fn of_several_seeds(&self, part: &'static str) -> &'static str {
        if self.seeds > 1 { part } else { "" }
    }

    /// Adds a flow. All flows of the results must be added before the first sample.
    pub fn add_flow(&mut self, row: &PlotFlow<'_>) {
        let Some(place) = self.place(row.point, row.scheme) else { return };
        if self.void.contains(&(place.0, place.1, row.seed)) {
            return;
        }
        if let Some(series) = self.series.get_mut(&place).filter(|series| series.seed == row.seed) {
            series.add_lifetime(row);
        }
        let Some(size) = row.size_bytes.filter(|_| row.counted) else { return };
        let class = self.class(size);
        let flows = self.flows.entry(place).or_default();
        if let Some(fct) = row.fct_s {
            let slowdown = row.slowdown.map_or(f32::NAN, |slowdown| slowdown as f32);
            flows.completed.push(CompletedFlow { fct_s: fct as f32, slowdown, size_bytes: size });
            return;
        }
        flows.incomplete[0] += 1;
        if class > 0 {
            flows.incomplete[class] += 1;
        }
    }

    pub fn add_sample(&mut self, row: &PlotSample<'_>) {
        let Some(place) = self.place(row.point, row.scheme) else { return };
        if let Some(series) = self.series.get_mut(&place).filter(|series| series.seed == row.seed) {
            series.add(row);
        }
    }

    /// Class of a flow with `size` bytes of payload, as an index of [`CLASSES`]; zero if the scenario sets no classes.
    pub fn class(&self, size: u64) -> usize {
        match self.classes {
            None => 0,
            Some(classes) if size <= classes.small_bytes => 1,
            Some(classes) if size > classes.large_bytes => 3,
            Some(_) => 2,
        }
    }

    fn place(&self, point: &str, scheme: &str) -> Option<(usize, usize)> {
        self.comparison.point_named(point).zip(self.comparison.scheme(scheme))
    }
}

impl RunSeries {
    fn new(run: &Run) -> Self {
        // Queues of hosts may be longer, but have no time series.
        let is_longest = |queue: &&Queue| {
            let carries_data = !matches!(queue.class.as_str(), "credit" | "emulation");
            carries_data && queue.max_bytes == run.max_queue_bytes && queue.max_bytes > 0
        };
        let queue = run.queues.iter().find(is_longest);
        let none = || BinnedSeries::new(run.duration_s);
        Self {
            seed: run.seed,
            length: run.duration_s,
            queue: queue.map(|queue| format!("{} {}", queue.place, queue.class)),
            queue_bytes: (none(), none()),
            groups: run.groups.iter().map(|group| (group.name.clone(), none())).collect(),
            flows: BTreeMap::new(),
            windows: BTreeMap::new(),
            lifetimes: BTreeMap::new(),
        }
    }

    fn add_lifetime(&mut self, row: &PlotFlow<'_>) {
        if row.flow < FLOWS_WITH_SERIES as u64 {
            let end = row.fct_s.map_or(f64::INFINITY, |fct| row.start_s + fct);
            self.lifetimes.insert(row.flow, (row.start_s, end));
        }
    }

    fn add(&mut self, row: &PlotSample<'_>) {
        match row.what {
            "queue_bytes" if self.queue.as_deref() == Some(row.place) => {
                self.queue_bytes.0.add(row.time_s, row.value);
            }
            "queue_peak_bytes" if self.queue.as_deref() == Some(row.place) => {
                self.queue_bytes.1.add(row.time_s, row.value);
            }
            "rate_bps" => self.rate(row),
            "cwnd_segments" => self.window(row),
            _ => {}
        }
    }

    fn rate(&mut self, row: &PlotSample<'_>) {
        if let Some((_, group)) = self.groups.iter_mut().find(|(name, _)| name == row.place) {
            group.add(row.time_s, row.value);
            return;
        }
        let lifetime = flow_number(row.place).and_then(|number| Some((number, *self.lifetimes.get(&number)?)));
        // After its end, the rate of zero of a flow is not shown.
        if let Some((number, (start, end))) = lifetime
            && (start..=end).contains(&row.time_s)
        {
            let (time, value, length) = (row.time_s, row.value, self.length);
            self.flows.entry(number).or_insert_with(|| BinnedSeries::new(length)).add(time, value);
        }
    }

    fn window(&mut self, row: &PlotSample<'_>) {
        if let Some(number) = flow_number(row.place).filter(|&number| number < FLOWS_WITH_WINDOWS) {
            let windows = self.windows.entry(number);
            windows.or_insert_with(|| BinnedSeries::new(self.length)).add(row.time_s, row.value);
        }
    }
}

/// The number of a flow whose name is a place.
fn flow_number(place: &str) -> Option<u64> {
    place.strip_prefix("flow ")?.parse().ok()
}

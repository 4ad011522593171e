//! The data of figures, collected row by row from flows and time series. State: sixteen bytes per completed flow, and
//! bins of the time series that are shown, so that a million flows and an hour of series fit into memory.

use std::collections::{BTreeMap, BTreeSet};

use crate::binned_series::BinnedSeries;
use crate::comparison::Comparison;
use shallop_results::summary::Queue;
use shallop_results::{Run, SizeClasses, Summary};

/// The columns of `flows.parquet` that figures need, for one flow.
#[derive(Clone, Copy, Debug)]
pub struct PlotFlow<'a> {
    /// Name of the point.
    pub point: &'a str,
    /// Label of the scheme.
    pub scheme: &'a str,
    /// The run seed.
    pub seed: u64,
    /// The number of the flow in its run.
    pub flow: u64,
    /// The start time, in seconds.
    pub start_s: f64,
    /// Payload to send, in bytes; `None` without end.
    pub size_bytes: Option<u64>,
    /// The completion time, in seconds; `None` if the flow is not complete.
    pub fct_s: Option<f64>,
    /// The slowdown.
    pub slowdown: Option<f64>,
    /// False in the warm-up and the cool-down.
    pub counted: bool,
}

/// A row of `series.parquet`: one sample of a time series.
#[derive(Clone, Copy, Debug)]
pub struct PlotSample<'a> {
    /// Name of the point.
    pub point: &'a str,
    /// Label of the scheme.
    pub scheme: &'a str,
    /// The run seed.
    pub seed: u64,
    /// The time since the start, in seconds.
    pub time_s: f64,
    /// `queue_bytes`, `queue_peak_bytes`, `rate_bps`, or another that is not drawn.
    pub what: &'a str,
    /// The queue, the group or the flow.
    pub place: &'a str,
    /// The value.
    pub value: f64,
}

/// The size classes; the first stands for all flows.
pub const CLASSES: [&str; 4] = ["all", "small", "medium", "large"];
/// Flows with a smaller number have time series of their own.
const FLOWS_WITH_SERIES: usize = 100;

/// A counted flow that is complete.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CompletedFlow {
    /// Completion time, in seconds.
    pub fct_s: f32,
    /// The slowdown; NaN if it is unknown.
    pub slowdown: f32,
    /// Payload in bytes.
    pub size_bytes: u64,
}

/// The flows of a scheme at a point, for all seeds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flows {
    /// The complete flows.
    pub completed: Vec<CompletedFlow>,
    /// The number of incomplete flows in each of [`CLASSES`].
    pub incomplete: [u64; 4],
}

/// The time series of one run, which are shown for a scheme at a point.
#[derive(Clone, Debug, PartialEq)]
pub struct RunSeries {
    /// The run seed.
    pub seed: u64,
    /// The duration, in seconds.
    pub length: f64,
    /// The longest data queue, as `place class`; `None` if no queue ever had a packet.
    pub queue: Option<String>,
    /// The length of that queue: at each sample, and the most since the previous one.
    pub queue_bytes: (BinnedSeries, BinnedSeries),
    /// Rates by group, in the order of the summary.
    pub groups: Vec<(String, BinnedSeries)>,
    /// Rates by flow.
    pub flows: BTreeMap<u64, BinnedSeries>,
    /// The start and the end of flows, in seconds.
    pub lifetimes: BTreeMap<u64, (f64, f64)>,
}

/// The data of all figures.
#[derive(Clone, Debug, PartialEq)]
pub struct FigureData {
    /// The schemes and points.
    pub comparison: Comparison,
    /// The size classes, if there are any.
    pub classes: Option<SizeClasses>,
    /// By point and scheme.
    pub flows: BTreeMap<(usize, usize), Flows>,
    /// By point and scheme, for the points that are shown over time.
    pub series: BTreeMap<(usize, usize), RunSeries>,
    /// The seeds of void runs, which are not shown, by point and scheme.
    void: BTreeSet<(usize, usize, u64)>,
}

impl FigureData {
    /// No data yet, for these results.
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
        Self { comparison, classes: summary.classes, flows: BTreeMap::new(), series, void }
    }

    /// Adds a flow. All flows must be added before the first sample.
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

    /// Adds a sample of a time series.
    pub fn add_sample(&mut self, row: &PlotSample<'_>) {
        let Some(place) = self.place(row.point, row.scheme) else { return };
        if let Some(series) = self.series.get_mut(&place).filter(|series| series.seed == row.seed) {
            series.add(row);
        }
    }

    /// The class of a size, as an index of [`CLASSES`]; zero without size classes.
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
            _ => {}
        }
    }

    fn rate(&mut self, row: &PlotSample<'_>) {
        if let Some((_, group)) = self.groups.iter_mut().find(|(name, _)| name == row.place) {
            group.add(row.time_s, row.value);
            return;
        }
        let number = row.place.strip_prefix("flow ").and_then(|number| number.parse().ok());
        let lifetime = number.and_then(|number| Some((number, *self.lifetimes.get(&number)?)));
        // After its end, the rate of zero of a flow is not shown.
        if let Some((number, (start, end))) = lifetime
            && (start..=end).contains(&row.time_s)
        {
            let (time, value, length) = (row.time_s, row.value, self.length);
            self.flows.entry(number).or_insert_with(|| BinnedSeries::new(length)).add(time, value);
        }
    }
}

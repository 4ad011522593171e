//! Rows of flows and of series, as they come, put together for figures. State: sixteen bytes for each flow that
//! completed, and bins of the series that are shown; so a million flows and an hour of series fit.

use std::collections::BTreeMap;

use crate::cases::Cases;
use crate::series::Binned;
use crate::summary::{Classes, Queue, Run, Summary};

/// A row of `flows.parquet`, as far as figures need it.
#[derive(Clone, Copy, Debug)]
pub struct FlowRow<'a> {
    /// Name of the point.
    pub point: &'a str,
    /// Label of the scheme.
    pub scheme: &'a str,
    /// The run seed.
    pub seed: u64,
    /// Its number within the run.
    pub flow: u64,
    /// When it started, in seconds.
    pub start_s: f64,
    /// Payload to send, in bytes; `None` without end.
    pub size_bytes: Option<u64>,
    /// Completion time, in seconds; `None` if it is open.
    pub fct_s: Option<f64>,
    /// Ratio to the time on an empty network.
    pub slowdown: Option<f64>,
    /// False in the warm-up and the cool-down.
    pub counted: bool,
}

/// A row of `series.parquet`.
#[derive(Clone, Copy, Debug)]
pub struct SeriesRow<'a> {
    /// Name of the point.
    pub point: &'a str,
    /// Label of the scheme.
    pub scheme: &'a str,
    /// The run seed.
    pub seed: u64,
    /// Since the start, in seconds.
    pub time_s: f64,
    /// `queue_bytes`, `queue_peak_bytes` or `rate_bps`.
    pub what: &'a str,
    /// The queue, the group or the flow.
    pub place: &'a str,
    /// The value.
    pub value: f64,
}

/// How flows are told apart by size; the first is all of them.
pub const CLASSES: [&str; 4] = ["all", "small", "medium", "large"];
/// Flows that series follow one by one: those with a smaller number.
const FOLLOWED: usize = 100;

/// A flow that counts and completed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Done {
    /// Completion time, in seconds.
    pub fct_s: f32,
    /// Ratio to the time on an empty network; not a number where it is not known.
    pub slowdown: f32,
    /// Payload in bytes.
    pub size_bytes: u64,
}

/// The flows of a scheme at a point, of all seeds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flows {
    /// Those that completed.
    pub done: Vec<Done>,
    /// Those that did not, by class: the first number is of all.
    pub open: [u64; 4],
}

/// What is shown over time of a scheme at a point: of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Timed {
    /// Its seed.
    pub seed: u64,
    /// How long it lasted, in seconds.
    pub length: f64,
    /// The data queue that was the longest, as `place class`; `None` if nothing ever waited.
    pub queue: Option<String>,
    /// What waited there: as it was, and the most since the row before.
    pub waiting: (Binned, Binned),
    /// Rates by group, in the order of the summary.
    pub groups: Vec<(String, Binned)>,
    /// Rates by flow.
    pub flows: BTreeMap<u64, Binned>,
    /// From when to when flows were there, in seconds.
    pub lives: BTreeMap<u64, (f64, f64)>,
}

/// All that is gathered.
#[derive(Clone, Debug, PartialEq)]
pub struct Gather {
    /// What is compared.
    pub cases: Cases,
    /// Where sizes are told apart.
    pub classes: Option<Classes>,
    /// By point and scheme.
    pub flows: BTreeMap<(usize, usize), Flows>,
    /// By point and scheme: of the points that are shown over time.
    pub timed: BTreeMap<(usize, usize), Timed>,
}

impl Gather {
    /// Nothing yet of these results.
    #[must_use]
    pub fn new(summary: &Summary) -> Self {
        let cases = Cases::of(summary);
        let shown = cases.timed();
        let mut timed = BTreeMap::new();
        for run in &summary.runs {
            let place = cases.point(&run.point).zip(cases.scheme(&run.scheme));
            if let Some((point, scheme)) = place
                && shown.contains(&point)
            {
                // The first seed's run comes first.
                timed.entry((point, scheme)).or_insert_with(|| Timed::new(run));
            }
        }
        Self { cases, classes: summary.classes, flows: BTreeMap::new(), timed }
    }

    /// Adds a flow. All flows come before the first row of a series.
    pub fn flow(&mut self, row: &FlowRow<'_>) {
        let Some(place) = self.place(row.point, row.scheme) else { return };
        if let Some(timed) = self.timed.get_mut(&place).filter(|timed| timed.seed == row.seed) {
            timed.live(row);
        }
        let Some(size) = row.size_bytes.filter(|_| row.counted) else { return };
        let class = self.class(size);
        let flows = self.flows.entry(place).or_default();
        if let Some(fct) = row.fct_s {
            let slowdown = row.slowdown.map_or(f32::NAN, |slowdown| slowdown as f32);
            flows.done.push(Done { fct_s: fct as f32, slowdown, size_bytes: size });
            return;
        }
        flows.open[0] += 1;
        if class > 0 {
            flows.open[class] += 1;
        }
    }

    /// Adds a row of a series.
    pub fn series(&mut self, row: &SeriesRow<'_>) {
        let Some(place) = self.place(row.point, row.scheme) else { return };
        if let Some(timed) = self.timed.get_mut(&place).filter(|timed| timed.seed == row.seed) {
            timed.add(row);
        }
    }

    /// The class of a size, as a place in [`CLASSES`]; zero where sizes are not told apart.
    #[must_use]
    pub fn class(&self, size: u64) -> usize {
        match self.classes {
            None => 0,
            Some(classes) if size <= classes.small_bytes => 1,
            Some(classes) if size > classes.large_bytes => 3,
            Some(_) => 2,
        }
    }

    fn place(&self, point: &str, scheme: &str) -> Option<(usize, usize)> {
        self.cases.named(point).zip(self.cases.scheme(scheme))
    }
}

impl Timed {
    fn new(run: &Run) -> Self {
        // Hosts' queues may be longer, and have no series.
        let is_longest = |queue: &&Queue| {
            let carries_data = !matches!(queue.class.as_str(), "credit" | "emulation");
            carries_data && queue.max_bytes == run.max_queue_bytes && queue.max_bytes > 0
        };
        let queue = run.queues.iter().find(is_longest);
        let none = || Binned::new(run.duration_s);
        Self {
            seed: run.seed,
            length: run.duration_s,
            queue: queue.map(|queue| format!("{} {}", queue.place, queue.class)),
            waiting: (none(), none()),
            groups: run.groups.iter().map(|group| (group.name.clone(), none())).collect(),
            flows: BTreeMap::new(),
            lives: BTreeMap::new(),
        }
    }

    fn live(&mut self, row: &FlowRow<'_>) {
        if row.flow < FOLLOWED as u64 {
            let end = row.fct_s.map_or(f64::INFINITY, |fct| row.start_s + fct);
            self.lives.insert(row.flow, (row.start_s, end));
        }
    }

    fn add(&mut self, row: &SeriesRow<'_>) {
        match row.what {
            "queue_bytes" if self.queue.as_deref() == Some(row.place) => {
                self.waiting.0.add(row.time_s, row.value);
            }
            "queue_peak_bytes" if self.queue.as_deref() == Some(row.place) => {
                self.waiting.1.add(row.time_s, row.value);
            }
            "rate_bps" => self.rate(row),
            _ => {}
        }
    }

    fn rate(&mut self, row: &SeriesRow<'_>) {
        if let Some((_, group)) = self.groups.iter_mut().find(|(name, _)| name == row.place) {
            group.add(row.time_s, row.value);
            return;
        }
        let number = row.place.strip_prefix("flow ").and_then(|number| number.parse().ok());
        let life = number.and_then(|number| Some((number, *self.lives.get(&number)?)));
        // What a flow that is over does not send is no rate of it.
        if let Some((number, (start, end))) = life
            && (start..=end).contains(&row.time_s)
        {
            let (time, value, length) = (row.time_s, row.value, self.length);
            self.flows.entry(number).or_insert_with(|| Binned::new(length)).add(time, value);
        }
    }
}

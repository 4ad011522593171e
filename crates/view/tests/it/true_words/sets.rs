//! Random result sets whose true means and variances are known in closed form.
//!
//! A figure of a scheme under a seed is `exp(level + shared + own)` times a statistic of flows: `level` is the
//! scheme's, `shared` is drawn once a seed, `own` once a scheme and seed. Flows, where there are any, are exponential
//! or Pareto.

use libm::{exp, lgamma, log, sqrt};
use shallop_core::seed::{Seed, Stream};
use shallop_results::aggregate::aggregate;
use shallop_results::summary::{Completion, Fct, FlowTime, Group};
use shallop_results::{Aggregate, Job, Point, Run, Summary};
use std::collections::BTreeMap;

/// The distribution of a scheme's own noise, on the logarithm.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Noise {
    Normal(f64),
    /// A normal distribution of which one draw in seven has four times the deviation of the others.
    Mixed(f64),
    /// An exponential distribution less its mean, towards worse values: a Pareto tail of completion times.
    Tail(f64),
}

const WIDE: f64 = 1.0 / 7.0;

impl Noise {
    fn draw(self, less: bool, stream: &mut Stream) -> f64 {
        match self {
            Self::Normal(deviation) => deviation * normal(stream),
            Self::Mixed(deviation) => {
                let factor = if stream.chance(WIDE) { 4.0 } else { 1.0 };
                factor * deviation * normal(stream)
            }
            Self::Tail(deviation) => {
                let off = deviation * (exponential(stream) - 1.0);
                if less { off } else { -off }
            }
        }
    }

    fn variance(self) -> f64 {
        match self {
            Self::Normal(deviation) | Self::Tail(deviation) => deviation * deviation,
            Self::Mixed(deviation) => deviation * deviation * (1.0 + 15.0 * WIDE),
        }
    }

    /// The logarithm of the mean of the exponential of the noise.
    fn log_mean(self, less: bool) -> f64 {
        match self {
            Self::Normal(deviation) => deviation * deviation / 2.0,
            Self::Mixed(deviation) => {
                let part = |factor: f64| exp(factor * factor * deviation * deviation / 2.0);
                log((1.0 - WIDE) * part(1.0) + WIDE * part(4.0))
            }
            Self::Tail(deviation) if less => -deviation - log(1.0 - deviation),
            Self::Tail(deviation) => deviation - log(1.0 + deviation),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Goodput,
    /// The 99th percentile of this many Pareto flows; `is_shared` if a seed gives all schemes the same flows.
    Tail {
        flows: u64,
        is_shared: bool,
    },
    /// The mean of this many exponential flows.
    Mean {
        flows: u64,
    },
}

#[derive(Clone, Copy, Debug)]
struct Scheme {
    level: f64,
    noise: Noise,
    /// One over the exponent of the Pareto distribution of its flows.
    tail: f64,
}

/// A result set with the truth. A cell is a scheme at a point; cells are numbered by point, then scheme.
#[derive(Debug)]
pub struct ResultSet {
    pub summary: Summary,
    pub seeds: u64,
    pub schemes: usize,
    /// Whether smaller values are better.
    pub less: bool,
    /// The results of each group of the workload, with its name; of a set with one group none.
    pub groups: Vec<(&'static str, ResultSet)>,
    /// The loss and the fairness of cells; empty for sets that have neither.
    pub prices: Vec<Price>,
    kind: Kind,
    cells: Vec<Scheme>,
}

/// A draw of the normal distribution, by Box and Muller.
fn normal(stream: &mut Stream) -> f64 {
    sqrt(2.0 * exponential(stream)) * libm::cos(std::f64::consts::TAU * stream.unit())
}

fn exponential(stream: &mut Stream) -> f64 {
    -log(1.0 - stream.unit())
}

fn log_uniform(stream: &mut Stream, low: f64, high: f64) -> f64 {
    exp(stream.between(log(low), log(high)))
}

fn pick<T: Copy>(stream: &mut Stream, all: &[(T, u64)]) -> T {
    let mut at = stream.below(all.iter().map(|(_, weight)| weight).sum());
    for (value, weight) in all {
        if at < *weight {
            return *value;
        }
        at -= weight;
    }
    all[0].0
}

/// The sum of `1 / (n - i)^power` over the ranks up to `rank`.
fn spacings(n: u64, rank: u64, power: i32) -> f64 {
    (0..rank).map(|i| libm::pow(1.0 / (n - i) as f64, f64::from(power))).sum()
}

fn rank_of_p99(flows: u64) -> u64 {
    (990 * flows).div_ceil(1000)
}

pub fn name(scheme: usize) -> String {
    format!("s{scheme}")
}

impl ResultSet {
    /// The set with this number; `points` above one makes it a sweep of a key `x`.
    pub fn generate(number: u64, points: u64) -> Self {
        let name_of_stream = if points > 1 { "sweeps" } else { "result sets" };
        let mut stream = Seed::new(20_261_126).stream(name_of_stream, number);
        let seeds = seeds(&mut stream);
        Self::draw(&mut stream, number, points, (seeds, None))
    }

    /// A set whose workload has two groups, users and backups, and whose schemes lose packets and share unfairly.
    pub fn with_groups(number: u64, points: u64) -> Self {
        let stream = |name: &str| Seed::new(20_261_126).stream(name, number);
        let mut own = stream("workloads");
        let seeds = seeds(&mut own);
        let mut all = Self::draw(&mut own, number, points, (seeds, None));
        let group = |name| (name, Self::draw(&mut stream(name), number, points, (seeds, Some(all.schemes))));
        all.groups = ["users", "backups"].map(group).into();
        all.prices = (0..all.cells.len()).map(|_| Price::draw(&mut own)).collect();
        for (index, run) in all.summary.runs.iter_mut().enumerate() {
            let of_group = |(name, group): &(&str, Self)| {
                let run = &group.summary.runs[index];
                Group {
                    name: (*name).to_owned(),
                    goodput_bps: run.goodput_bps,
                    fct: run.fct.clone(),
                    ..Group::default()
                }
            };
            run.groups = all.groups.iter().map(of_group).collect();
            let price = &all.prices[index / seeds as usize];
            run.loss_rate = price.loss * exp(price.noise.draw(true, &mut own));
            run.jain = Some(price.jain * exp(price.jain_noise.draw(false, &mut own)));
        }
        all.summary.aggregates = aggregates(&all.summary.runs, (seeds, all.schemes));
        all
    }

    fn draw(of: &mut Stream, number: u64, points: u64, (seeds, schemes): (u64, Option<usize>)) -> Self {
        let kind = match pick(of, &[(0, 4), (1, 5), (2, 1)]) {
            0 => Kind::Goodput,
            1 => Kind::Tail { flows: log_uniform(of, 100.0, 1500.0) as u64, is_shared: of.chance(0.5) },
            _ => Kind::Mean { flows: 10 + of.below(90) },
        };
        let (schemes, cells) = cells(of, kind, (points, schemes));
        let spread = log_uniform(of, 0.01, 1.0);
        let horizon = of.chance(0.3).then(|| log_uniform(of, 20.0, 2000.0));
        let shared: Vec<f64> = (0..seeds).map(|_| spread * normal(of)).collect();
        let less = kind != Kind::Goodput;
        let mut runs = Vec::new();
        for (index, cell) in cells.iter().enumerate() {
            for (seed, shared) in (0..seeds).zip(&shared) {
                let scale = exp(cell.level + shared + cell.noise.draw(less, of));
                let scheme = name(index % schemes);
                let point = key(index / schemes, points);
                let mut run = Run { scheme, seed: seed + 1, point, ..Run::default() };
                if kind == Kind::Goodput {
                    run.goodput_bps = 1e8 * scale;
                } else {
                    let flows = Seed::new(number).stream("flows", seed);
                    run.fct = flow_times(kind, cell, scale * 1e-3, (flows, &mut *of), horizon);
                }
                runs.push(run);
            }
        }
        let labels: Vec<String> = (0..schemes).map(name).collect();
        let all = (0..points as usize).map(|at| Point {
            name: if points > 1 { format!("x={}", value(at)) } else { String::new() },
            set: key(at, points),
            schemes: labels.clone(),
        });
        let points = all.collect();
        let aggregates = aggregates(&runs, (seeds, schemes));
        let summary = Summary { runs, points, aggregates, ..Summary::default() };
        Self { summary, seeds, schemes, less, groups: Vec::new(), prices: Vec::new(), kind, cells }
    }

    /// The logarithm of the true mean of the figure of a cell, but for a part that all cells have.
    pub fn log_mean(&self, cell: usize) -> f64 {
        let Scheme { level, noise, tail } = self.cells[cell];
        let flows = match self.kind {
            // The mean of an order statistic of Pareto: a ratio of gamma functions.
            Kind::Tail { flows, .. } => {
                let rank = rank_of_p99(flows);
                let left = (flows - rank) as f64 + 1.0;
                let all = flows as f64 + 1.0;
                lgamma(all) - lgamma(left) + lgamma(left - tail) - lgamma(all - tail)
            }
            Kind::Goodput | Kind::Mean { .. } => 0.0,
        };
        level + noise.log_mean(self.less) + flows
    }

    /// The true mean and the true standard error of the paired difference of the logarithms.
    pub fn paired(&self, one: usize, other: usize) -> (f64, f64) {
        let (a, b) = (self.cells[one], self.cells[other]);
        let (mut difference, mut variance) = (b.level - a.level, a.noise.variance() + b.noise.variance());
        match self.kind {
            Kind::Goodput => {}
            Kind::Tail { flows, is_shared } => {
                let rank = rank_of_p99(flows);
                difference += (b.tail - a.tail) * spacings(flows, rank, 1);
                let tails =
                    if is_shared { (b.tail - a.tail) * (b.tail - a.tail) } else { a.tail * a.tail + b.tail * b.tail };
                variance += tails * spacings(flows, rank, 2);
            }
            // The logarithm of a gamma variable has the variance trigamma(n).
            Kind::Mean { flows } => {
                let n = flows as f64;
                variance += 2.0 * (1.0 / n + 1.0 / (2.0 * n * n) + 1.0 / (6.0 * n * n * n));
            }
        }
        (difference, sqrt(variance / self.seeds as f64))
    }
}

/// The value of the swept key at a point.
fn value(at: usize) -> usize {
    10 * (at + 1)
}

fn key(at: usize, points: u64) -> BTreeMap<String, serde_json::Value> {
    let all = (points > 1).then(|| ("x".to_owned(), value(at).into()));
    all.into_iter().collect()
}

fn seeds(of: &mut Stream) -> u64 {
    pick(of, &[(1, 2), (2, 2), (3, 7), (4, 1), (5, 4), (8, 1), (10, 3)])
}

/// The means over seeds of these runs, by point, then scheme.
fn aggregates(runs: &[Run], (seeds, schemes): (u64, usize)) -> Vec<Aggregate> {
    let jobs = runs.iter().enumerate().map(|(index, run)| {
        let cell = index / seeds as usize;
        (Job { point: cell / schemes, scheme: cell % schemes, seed: run.seed }, run)
    });
    aggregate(&jobs.collect::<Vec<_>>())
}

/// The loss rate and Jain's index of a cell.
#[derive(Clone, Copy, Debug)]
pub struct Price {
    loss: f64,
    noise: Noise,
    jain: f64,
    jain_noise: Noise,
}

impl Price {
    fn draw(of: &mut Stream) -> Self {
        let loss = if of.chance(0.25) { 0.0 } else { log_uniform(of, 1e-4, 0.6) };
        let deviation = log_uniform(of, 0.003, 0.1);
        let jain_noise = if of.chance(0.5) { Noise::Normal(deviation) } else { Noise::Tail(deviation) };
        Self { loss, noise: noise(of), jain: of.between(0.2, 1.0), jain_noise }
    }

    /// The true means of the loss rate and of Jain's index.
    pub fn means(&self) -> [f64; 2] {
        [self.loss * exp(self.noise.log_mean(true)), self.jain * exp(self.jain_noise.log_mean(false))]
    }

    /// Whether the true paired differences of the logarithms from another cell exceed four standard errors: of the loss
    /// rate, and of Jain's index.
    pub fn is_clear(&self, other: &Self, seeds: u64) -> [bool; 2] {
        let beyond = |difference: f64, one: Noise, other: Noise| {
            difference.abs() > 4.0 * sqrt((one.variance() + other.variance()) / seeds as f64)
        };
        let loss = |of: &Self| log(of.loss.max(1e-4));
        [
            beyond(loss(self) - loss(other), self.noise, other.noise),
            beyond(log(self.jain / other.jain), self.jain_noise, other.jain_noise),
        ]
    }
}

/// Two to six schemes: equal, near and far ones, with equal noise or noise of their own. A point of a sweep moves each
/// of them.
fn cells(of: &mut Stream, kind: Kind, (points, count): (u64, Option<usize>)) -> (usize, Vec<Scheme>) {
    let drawn = 2 + of.below(5) as usize;
    let count = count.unwrap_or(drawn);
    let effect = log_uniform(of, 0.01, 2.0);
    let (all_noise, all_tail) = (noise(of), of.between(0.2, 0.6));
    let (is_alike, has_tails) = (of.chance(0.5), of.chance(0.3));
    let scheme = |_| Scheme {
        level: effect * normal(of),
        noise: if is_alike { all_noise } else { noise(of) },
        tail: match kind {
            Kind::Tail { .. } if has_tails => of.between(0.2, 0.6),
            _ => all_tail,
        },
    };
    let first: Vec<Scheme> = (0..count).map(scheme).collect();
    let mut all = first.clone();
    let moves = if points > 1 { log_uniform(of, 0.01, 1.0) } else { 0.0 };
    for _ in 1..points {
        all.extend(first.iter().map(|it| Scheme { level: it.level + moves * normal(of), ..*it }));
    }
    (count, all)
}

fn noise(of: &mut Stream) -> Noise {
    let deviation = log_uniform(of, 0.003, 0.8);
    match of.below(3) {
        0 => Noise::Normal(deviation),
        1 => Noise::Mixed(deviation / 2.0),
        _ => Noise::Tail(deviation),
    }
}

/// The completion times of a run. With a horizon, flows that are older than a random age below it have not finished.
fn flow_times(
    kind: Kind, scheme: &Scheme, scale: f64, (mut same, own): (Stream, &mut Stream), horizon: Option<f64>,
) -> Fct {
    let flows = match kind {
        Kind::Tail { flows, .. } | Kind::Mean { flows } => flows,
        Kind::Goodput => 0,
    };
    let (mut complete, mut open) = (Vec::new(), Vec::new());
    for _ in 0..flows {
        let time = match kind {
            Kind::Tail { is_shared: true, .. } => exp(scheme.tail * exponential(&mut same)),
            Kind::Tail { .. } => exp(scheme.tail * exponential(own)),
            _ => exponential(own),
        };
        let age = horizon.map_or(f64::INFINITY, |horizon| 1e-3 * horizon * own.unit());
        let flow = |seconds| FlowTime { seconds, slowdown: 1.0, within_rtt: false };
        if time * scale <= age {
            complete.push(flow(time * scale));
        } else {
            open.push(flow(age));
        }
    }
    let all = Completion::from_flows(&complete.iter(), &open.iter());
    Fct { all, ..Fct::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shallop_results::metrics::all_flows;

    /// The truth in closed form against the mean of many draws.
    #[test]
    fn true_means_and_deviations_are_those_of_many_seeds() {
        let mut own = Seed::new(1).stream("check", 0);
        for (kind, noise, tail) in [
            (Kind::Goodput, Noise::Mixed(0.2), 0.4),
            (Kind::Goodput, Noise::Tail(0.3), 0.4),
            (Kind::Tail { flows: 120, is_shared: false }, Noise::Normal(0.3), 0.3),
            (Kind::Mean { flows: 20 }, Noise::Tail(0.2), 0.4),
        ] {
            let scheme = Scheme { level: 0.5, noise, tail };
            let base = Scheme { level: 0.0, noise: Noise::Normal(0.0), tail };
            let less = kind != Kind::Goodput;
            let draws: Vec<f64> = (0..20_000)
                .map(|number| {
                    let scale = exp(scheme.level + noise.draw(less, &mut own));
                    let same = Seed::new(2).stream("same", number);
                    let fct = flow_times(kind, &scheme, scale, (same, &mut own), None);
                    let run = Run { fct, ..Run::default() };
                    let metric = if matches!(kind, Kind::Tail { .. }) { all_flows::P99 } else { all_flows::MEAN };
                    metric.figure(&run).map_or(scale, |found| found.value)
                })
                .collect();
            let (cells, summary) = (vec![base, scheme], Summary::default());
            let (groups, prices) = (Vec::new(), Vec::new());
            let set = ResultSet { summary, seeds: 1, schemes: 2, less, groups, prices, kind, cells };
            let mean = draws.iter().sum::<f64>() / draws.len() as f64;
            let logs: Vec<f64> = draws.iter().map(|&draw| log(draw)).collect();
            let middle = logs.iter().sum::<f64>() / logs.len() as f64;
            let variance = logs.iter().map(|it| (it - middle) * (it - middle)).sum::<f64>() / logs.len() as f64;
            assert!((log(mean) - set.log_mean(1)).abs() < 0.02, "{kind:?}: {mean}");
            // The other scheme has the flows' part of the variance, too.
            let flows = set.paired(0, 0).1;
            let expected = set.paired(0, 1).1 * set.paired(0, 1).1 - flows * flows / 2.0;
            assert!((variance / expected - 1.0).abs() < 0.06, "{kind:?}: {variance} {expected}");
        }
    }
}

//! Compares rehearsals (kernels in real time) with simulations of the same networks.

use crate::aggregate::{Aggregate, Estimate};
use crate::metrics::{self, Metric};
use crate::summary::Summary;
use crate::table::{Grid, significant};
use crate::tolerance::REHEARSALS;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Results of one scheme at one point, rehearsed and simulated.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Agreement {
    /// The name of the point; empty if there is only one.
    pub point: String,
    pub scheme: String,
    /// The number of rehearsals averaged, without void ones.
    pub rehearsed: u64,
    /// Goodput in bit/s: rehearsed, then simulated.
    pub goodput_bps: [Option<Estimate>; 2],
    /// The fraction of data packets lost: rehearsed, then simulated.
    pub loss_rate: [Option<Estimate>; 2],
    /// Jain's index in the last second: rehearsed, then simulated.
    pub jain: [Option<Estimate>; 2],
    /// Whether both results agree within [`REHEARSALS`]: goodput within 15 %, loss within a factor of 1.5 or both below
    /// 0.05 %. Null if there is no rehearsal that is not void.
    pub agrees: Option<bool>,
}

/// Compares rehearsed with simulated results, for each scheme at each point.
pub fn agreement(rehearsed: &Summary, simulated: &Summary) -> Vec<Agreement> {
    let mut all = Vec::new();
    for point in &simulated.points {
        for scheme in &point.schemes {
            let find = |of: &Summary| -> Option<Aggregate> {
                let same = |it: &&Aggregate| it.point == point.set && it.scheme == *scheme;
                of.aggregates.iter().find(same).cloned()
            };
            all.push(of(&point.name, scheme, &[find(rehearsed), find(simulated)]));
        }
    }
    all
}

fn of(point: &str, scheme: &str, sides: &[Option<Aggregate>; 2]) -> Agreement {
    let metric = |metric: &Metric| sides.each_ref().map(|side| side.as_ref().and_then(|of| of.get(metric).copied()));
    let (goodput, loss) = (metric(&metrics::GOODPUT), metric(&metrics::LOSS));
    let means = |of: &[Option<Estimate>; 2]| Some([of[0].as_ref()?.mean, of[1].as_ref()?.mean]);
    let agrees =
        means(&goodput).zip(means(&loss)).map(|(goodput, loss)| REHEARSALS.difference(goodput, loss).is_none());
    Agreement {
        point: point.to_owned(),
        scheme: scheme.to_owned(),
        rehearsed: sides[0].as_ref().map_or(0, |of| of.n),
        jain: metric(&metrics::JAIN),
        goodput_bps: goodput,
        loss_rate: loss,
        agrees,
    }
}

/// The table of all comparisons, and a note on its columns.
pub fn table(all: &[Agreement]) -> (Grid, String) {
    let headings = ["point", "scheme", "runs", "Mb/s real", "ours", "loss % real", "ours", "Jain real", "ours", ""];
    let mut grid = Grid { header: headings.map(str::to_owned).to_vec(), rows: Vec::new(), words: 2 };
    for row in all {
        let cells = |pair: &[Option<Estimate>; 2], unit: f64| {
            pair.each_ref().map(|of| of.as_ref().map_or_else(|| "-".to_owned(), |of| shown(of, unit)))
        };
        let verdict = match row.agrees {
            Some(true) => "agrees",
            Some(false) => "DIFFERS",
            None => "no rehearsal counts",
        };
        let named = [row.point.clone(), row.scheme.clone(), row.rehearsed.to_string()].into_iter();
        let pairs = [cells(&row.goodput_bps, 1e6), cells(&row.loss_rate, 0.01), cells(&row.jain, 1.0)];
        grid.rows.push(named.chain(pairs.into_iter().flatten()).chain([verdict.to_owned()]).collect());
    }
    let note = format!("real: this machine's kernel in real time. It agrees if {}.", REHEARSALS.words());
    (grid, note)
}

/// Prints a mean in multiples of `unit`; with several runs also half the width of its 95 % interval.
fn shown(of: &Estimate, unit: f64) -> String {
    let mean = significant(of.mean / unit);
    of.ci95.map_or(mean.clone(), |ci95| format!("{mean} ±{}", significant(ci95 / unit)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_rehearsal_that_counts_there_is_no_verdict() {
        let row = of("", "cubic", &[None, Some(Aggregate::default())]);
        assert_eq!((row.agrees, row.rehearsed), (None, 0));
        assert_eq!(table(&[row]).0.rows[0][9], "no rehearsal counts");
    }
}

//! Whether two kinds of hosts agree: the same networks with real hosts and with simulated ones, side by side.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::aggregate::{Aggregate, Estimate};
use crate::summary::Summary;
use crate::table::{Grid, significant};

/// By how much the goodput may differ, as a part of that of real hosts.
pub const GOODPUT: f64 = 0.15;
/// By which factor loss may differ.
pub const LOSS: f64 = 1.5;
/// Loss that is as good as none.
pub const NO_LOSS: f64 = 5e-4;

/// A scheme at a point, rehearsed and simulated.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Agreement {
    /// The name of the point; empty if there is only one.
    pub point: String,
    /// The label of the scheme.
    pub scheme: String,
    /// Rehearsals that count.
    pub rehearsed: u64,
    /// Goodput: rehearsed, and simulated.
    pub goodput_bps: [Option<Estimate>; 2],
    /// Data packets lost.
    pub loss_rate: [Option<Estimate>; 2],
    /// Fairness in the last second.
    pub jain: [Option<Estimate>; 2],
    /// Whether goodput is within 15 % of that of real hosts and loss within a factor of 1.5, or both below 0.05 %. Null
    /// if no rehearsal counts.
    pub agrees: Option<bool>,
}

/// The agreement of each scheme at each point of two results, the first of which was rehearsed.
#[must_use]
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
    let metric = |name: &str| {
        sides.each_ref().map(|side| side.as_ref().and_then(|of| of.metrics.get(name).copied()))
    };
    let (goodput, loss) = (metric("goodput_bps"), metric("loss_rate"));
    let means = |of: &[Option<Estimate>; 2]| Some([of[0].as_ref()?.mean, of[1].as_ref()?.mean]);
    let agrees = means(&goodput).zip(means(&loss)).map(|(goodput, loss)| is_near(goodput, loss));
    Agreement {
        point: point.to_owned(),
        scheme: scheme.to_owned(),
        rehearsed: sides[0].as_ref().map_or(0, |of| of.n),
        jain: metric("jain"),
        goodput_bps: goodput,
        loss_rate: loss,
        agrees,
    }
}

fn is_near([real, ours]: [f64; 2], [real_loss, our_loss]: [f64; 2]) -> bool {
    let goodput = (ours - real).abs() <= GOODPUT * real;
    let (less, more) = (real_loss.min(our_loss), real_loss.max(our_loss));
    goodput && (more <= NO_LOSS || more <= LOSS * less)
}

/// The table of these, and what it means.
#[must_use]
pub fn table(all: &[Agreement]) -> (Grid, String) {
    let headings = [
        "point",
        "scheme",
        "runs",
        "Mb/s real",
        "ours",
        "loss % real",
        "ours",
        "Jain real",
        "ours",
        "",
    ];
    let mut grid =
        Grid { header: headings.map(str::to_owned).to_vec(), rows: Vec::new(), words: 2 };
    for row in all {
        let cells = |pair: &[Option<Estimate>; 2], unit: f64| {
            pair.each_ref()
                .map(|of| of.as_ref().map_or_else(|| "-".to_owned(), |of| shown(of, unit)))
        };
        let verdict = match row.agrees {
            Some(true) => "agrees",
            Some(false) => "DIFFERS",
            None => "no rehearsal counts",
        };
        let named = [row.point.clone(), row.scheme.clone(), row.rehearsed.to_string()].into_iter();
        let pairs =
            [cells(&row.goodput_bps, 1e6), cells(&row.loss_rate, 0.01), cells(&row.jain, 1.0)];
        grid.rows
            .push(named.chain(pairs.into_iter().flatten()).chain([verdict.to_owned()]).collect());
    }
    let note = "real: this machine's kernel in real time. It agrees if goodput is within 15 % and loss within a factor \
                of 1.5, or below 0.05 %.";
    (grid, note.to_owned())
}

/// A mean with its interval, if there are several runs.
fn shown(of: &Estimate, unit: f64) -> String {
    let mean = significant(of.mean / unit);
    of.ci95.map_or(mean.clone(), |ci95| format!("{mean} ±{}", significant(ci95 / unit)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goodput_and_loss_must_both_be_near() {
        assert!(is_near([100.0, 114.0], [0.01, 0.014]));
        assert!(!is_near([100.0, 116.0], [0.01, 0.01]));
        assert!(!is_near([100.0, 100.0], [0.01, 0.016]));
        assert!(is_near([100.0, 100.0], [0.0, 4e-4]), "none and next to none");
    }

    #[test]
    fn without_a_rehearsal_that_counts_there_is_no_verdict() {
        let row = of("", "cubic", &[None, Some(Aggregate::default())]);
        assert_eq!((row.agrees, row.rehearsed), (None, 0));
        assert_eq!(table(&[row]).0.rows[0][9], "no rehearsal counts");
    }
}

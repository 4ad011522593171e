//! The figures, one a file. Each takes the results and gives itself, or nothing if there is nothing to show.

mod bars;
mod claims;
mod completion;
mod curves;
mod groups;
mod metrics;
mod percentiles;
mod queue;
mod rates;
mod slowdown;

use crate::axis::Axis;
use crate::figure::Figure;
use crate::gather::Gather;
use crate::summary::Summary;

/// Every figure that has data, in the order of a page.
#[must_use]
pub fn all(summary: &Summary, gather: &Gather) -> Vec<Figure> {
    let curves = matches!(gather.cases.axis, Axis::Quantity { .. });
    let mut figures = Vec::new();
    figures.extend(claims::figure(summary));
    for metric in metrics::ALL.iter().filter(|metric| metric.is_shown(summary, curves)) {
        if curves {
            figures.extend(curves::figure(summary, gather, metric));
        } else {
            figures.extend(bars::figure(summary, gather, metric));
        }
    }
    let others = [
        percentiles::figure(summary, gather),
        completion::figure(gather),
        slowdown::figure(gather),
        queue::figure(gather),
        groups::figure(gather),
        rates::figure(gather),
    ];
    figures.extend(others.into_iter().flatten());
    figures
}

/// How many runs a mean is over and what its interval is, in a sentence.
fn means(most: u64) -> String {
    match most {
        0 | 1 => "One seed: there is no interval.".to_owned(),
        seeds => format!(
            "Means over {seeds} seeds; whiskers and bands are 95 % confidence intervals (Student's t), cut off at zero."
        ),
    }
}

//! The figures, one per file. Each function returns the figure, or `None` if it has no data.

mod bars;
mod claims;
mod completion;
mod curves;
mod groups;
mod links;
mod metrics;
mod percentiles;
mod queue;
mod rates;
mod slowdown;

use crate::axis::Axis;
use crate::figure::Figure;
use crate::figure_data::FigureData;
use shallop_results::Summary;

/// Every figure that has data, in the order of a page.
#[must_use]
pub fn all(summary: &Summary, input: &FigureData) -> Vec<Figure> {
    let curves = matches!(input.comparison.axis, Axis::Quantity { .. });
    let mut figures = Vec::new();
    figures.extend(claims::figure(summary));
    for metric in metrics::ALL.iter().filter(|metric| metric.is_shown(summary, curves)) {
        if curves {
            figures.extend(curves::figure(summary, input, metric));
        } else {
            figures.extend(bars::figure(summary, input, metric));
        }
    }
    let others = [
        percentiles::figure(summary, input),
        completion::figure(input),
        slowdown::figure(input),
        queue::figure(input),
        groups::figure(input),
        links::figure(summary, input),
        rates::figure(input),
    ];
    figures.extend(others.into_iter().flatten());
    figures
}

/// A sentence on the number of runs in a mean and on its interval.
fn means(most: u64) -> String {
    match most {
        0 | 1 => "One seed: there is no interval.".to_owned(),
        seeds => format!(
            "Means over {seeds} seeds; whiskers and bands are 95 % confidence intervals (Student's t), cut off at zero."
        ),
    }
}

//! The figures of a page, one file for each kind. A figure without data is `None` or has no rows.

mod bars;
mod claims;
mod completion;
mod curves;
mod links;
mod metrics;
mod over_time;
mod percentiles;
mod slowdown;
pub mod trade_off;

use crate::{axis::Axis, figure::Figure, figure_data::FigureData, spec_parts, text};
use shallop_results::Summary;

/// Makes every figure that has data, in the order in which a page shows them.
pub fn all(summary: &Summary, input: &FigureData) -> Vec<Figure> {
    let curves = matches!(input.comparison.axis, Axis::Quantity { .. });
    let mut figures = vec![claims::figure(summary, input)];
    for metric in metrics::ALL.iter().filter(|metric| metric.is_shown(summary, curves)) {
        if curves {
            figures.extend(curves::figure(summary, input, metric));
        } else {
            figures.push(bars::figure(summary, input, metric));
        }
    }
    figures.push(percentiles::figure(summary, input));
    figures.push(completion::figure(summary, input));
    figures.push(slowdown::figure(input));
    figures.push(over_time::queue(input));
    figures.push(over_time::throughput(input));
    figures.extend(links::figure(summary, input));
    figures.extend(over_time::rates(input));
    figures.push(over_time::windows(input));
    figures.retain(|figure| !figure.rows.is_empty());
    for figure in &mut figures {
        spec_parts::lift_selections(&mut figure.spec);
    }
    figures
}

/// The most schemes that a caption lists as having lower bounds.
const MAX_NAMED: usize = 4;

/// A sentence that lists the names whose values are only lower bounds; empty if there are none.
fn lower_bounds(named: &[String]) -> String {
    let more = named.len().saturating_sub(MAX_NAMED);
    let list = text::list(&named[..named.len() - more]);
    match (named.len(), more) {
        (0, _) => String::new(),
        (_, 0) => format!(" Lower bounds (≥), as flows did not finish: {list}."),
        (_, more) => {
            format!(" Lower bounds (≥), as flows did not finish: {list}; and {more} more.")
        }
    }
}

/// A sentence for captions: over how many seeds the means are taken, and what the intervals are. `most` is the number
/// of seeds.
fn means(most: u64) -> String {
    match most {
        0 | 1 => "One seed: there is no interval.".to_owned(),
        2 => "Means over two seeds, too few for an interval.".to_owned(),
        seeds => format!(
            "Means over {seeds} seeds; whiskers and bands are 95 % confidence intervals (Student's t), cut off at what \
             is possible. Equal values have none."
        ),
    }
}

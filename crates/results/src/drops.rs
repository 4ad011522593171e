//! The table of the causes of data packet drops.

use crate::table::{Grid, by_scheme};
use crate::{design::Point, summary::Run};
use std::collections::BTreeMap;

/// Classes of packets that carry payload, as named in [`crate::summary::DropCount`].
const PAYLOAD: [&str; 3] = ["data", "unscheduled", "legacy"];

/// The table of dropped data packets, with a row for each point, scheme and cause: the packets of all seeds, their
/// share of all drops of the scheme at the point, and the port that dropped most of them.
pub fn drops(points: &[Point], runs: &[(usize, &Run)]) -> Grid {
    let header = ["point", "scheme", "cause", "most at (packets there)", "packets", "share, %"];
    let mut rows = Vec::new();
    for (point, scheme, runs) in by_scheme(points, runs) {
        let words = [point.name.clone(), scheme.clone()];
        rows.extend(causes(&runs).into_iter().map(|cells| [&words[..], &cells].concat()));
    }
    Grid::by_point(points, header, 3, rows)
}

/// The cells of a row for each cause, the most frequent cause first.
fn causes(runs: &[&Run]) -> Vec<[String; 4]> {
    let mut by_cause: BTreeMap<&str, BTreeMap<&str, u64>> = BTreeMap::new();
    for drop in runs.iter().flat_map(|run| &run.drops_by_cause) {
        if PAYLOAD.contains(&drop.class.as_str()) {
            *by_cause.entry(&drop.cause).or_default().entry(&drop.place).or_default() += drop.packets;
        }
    }
    let sum = |places: &BTreeMap<&str, u64>| places.values().sum::<u64>();
    let all: u64 = by_cause.values().map(sum).sum();
    let mut causes: Vec<_> = by_cause.into_iter().collect();
    causes.sort_by_key(|(cause, places)| (std::cmp::Reverse(sum(places)), *cause));
    let cells = |(cause, places): (&str, BTreeMap<&str, u64>)| {
        let most = places.iter().max_by_key(|(place, packets)| (**packets, std::cmp::Reverse(**place)));
        let place = most.map_or_else(String::new, |(place, packets)| format!("{place} ({packets})"));
        let packets = sum(&places);
        let share = packets as f64 / all as f64 * 100.0;
        [cause.replace('_', " "), place, packets.to_string(), format!("{share:.1}")]
    };
    causes.into_iter().map(cells).collect()
}

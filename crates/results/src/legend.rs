//! The legend below the tables of runs: what each of their columns means.

use crate::{metrics, summary::Run, table::Grid};

/// The longest line of the legend, in characters.
const WIDTH: usize = 110;

/// One sentence for each column that the tables have, wrapped into lines.
pub fn legend<'a>(grids: impl IntoIterator<Item = &'a Grid>) -> String {
    let (mut headings, mut interval, mut seeds): (Vec<&str>, bool, bool) = (vec![], false, false);
    for grid in grids {
        headings.extend(grid.header.iter().map(String::as_str));
        interval |= grid.rows.iter().flatten().any(|cell| cell.contains('±'));
        seeds |= grid.rows.iter().flatten().any(|cell| cell.trim() == "least");
    }
    let mut parts = Vec::new();
    // Of metrics with the same heading the first is meant.
    let mut said: Vec<&str> = Vec::new();
    for metric in metrics::all().filter(|metric| !metric.sentence().is_empty()) {
        let heading = headings.iter().find(|heading| metric.has_heading(heading) && !said.contains(*heading));
        said.extend(heading);
        parts.extend(heading.map(|heading| format!("{heading}: {}", metric.definition())));
    }
    if interval {
        parts.push("±: half the width of the 95 % confidence interval of the mean (Student's t)".into());
    }
    if seeds {
        parts.push("Several seeds: mean, 95 % interval of the mean (Student's t), least, most".into());
    }
    wrapped(&parts)
}

fn wrapped(parts: &[String]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        match lines.last_mut() {
            Some(line) if line.chars().count() + part.chars().count() + 2 < WIDTH => {
                line.push_str(". ");
                line.push_str(part);
            }
            _ => {
                if let Some(line) = lines.last_mut() {
                    line.push('.');
                }
                lines.push(part.clone());
            }
        }
    }
    if let Some(line) = lines.last_mut() {
        line.push('.');
    }
    lines.join("\n")
}

/// Names the port of the longest data queue if it is the same for all schemes, and otherwise the port of each scheme,
/// from its run with the longest queue. Empty if no queue was measured.
pub fn longest_queues(runs: &[(usize, &Run)]) -> String {
    let mut longest: Vec<&Run> = Vec::new();
    for (_, run) in runs.iter().filter(|(_, run)| run.max_queue_place.is_some()) {
        match longest.iter_mut().find(|other| other.scheme == run.scheme) {
            Some(other) if other.max_queue_bytes < run.max_queue_bytes => *other = run,
            Some(_) => {}
            None => longest.push(run),
        }
    }
    let place = |run: &Run| run.max_queue_place.clone().unwrap_or_default();
    let Some(first) = longest.first() else { return String::new() };
    if longest.iter().all(|run| run.max_queue_place == first.max_queue_place) {
        return format!("Longest queue: at {}.", place(first));
    }
    let named = longest.iter().map(|run| format!("{} at {}", run.scheme, place(run)));
    format!("Longest queue: {}.", named.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_legend_names_the_columns_that_are_there_and_no_others() {
        let text = legend([&Grid::new("scheme, Mb/s, RTT p99, Jain", [], 1)]);
        let first = "Mb/s: IP bytes of data that arrived, with retransmissions. RTT p99: ";
        assert!(text.starts_with(first), "{text}");
        assert!(text.contains("Jain: fairness") && text.ends_with('.'), "{text}");
        assert!(!text.contains("goodput") && !text.contains("mean round") && !text.contains("FCT"));
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert_eq!(legend([&Grid::new("scheme, open", [], 1)]).matches("open: ").count(), 1);
    }
}

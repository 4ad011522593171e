//! The table of the groups of flows of a scenario: throughput, losses and completion times of each.

use crate::design::Point;
use crate::summary::{Group, Run};
use crate::table::{Grid, NOTHING, RATES, TIMES, unit};

/// The most rows of the table.
const MAX_ROWS: usize = 60;

/// The value of a column for a group; `None` if it does not apply.
type Value = Box<dyn Fn(&Group) -> Option<f64>>;

/// The table of groups, with a row for each group under each scheme at each point: means over seeds. No rows if there
/// is one group only, whose results are those of the run. A note says how many rows are left out.
#[must_use]
pub fn groups(points: &[Point], runs: &[(usize, &Run)]) -> (Grid, String) {
    let several = points.len() > 1;
    let all = || runs.iter().flat_map(|(_, run)| &run.groups);
    let mut columns = columns(&all().collect::<Vec<_>>());
    columns.retain(|(_, _, value)| all().any(|group| value(group).is_some()));
    let words = ["scheme", "group"].map(str::to_owned).into_iter();
    let point = several.then(|| "point".to_owned());
    let headings = columns.iter().map(|(heading, ..)| heading.clone());
    let header = point.into_iter().chain(words).chain(headings).collect();
    let mut grid = Grid { header, rows: Vec::new(), words: 2 + usize::from(several) };
    if runs.iter().all(|(_, run)| run.groups.len() < 2) {
        return (grid, String::new());
    }
    for (number, point) in points.iter().enumerate() {
        for scheme in &point.schemes {
            let same = runs.iter().filter(|(at, run)| *at == number && run.scheme == *scheme);
            let same: Vec<&Run> = same.map(|(_, run)| *run).collect();
            for (index, group) in
                same.first().into_iter().flat_map(|run| run.groups.iter().enumerate())
            {
                let seeds: Vec<&Group> =
                    same.iter().filter_map(|run| run.groups.get(index)).collect();
                let words = several.then(|| point.name.clone()).into_iter();
                let words = words.chain([scheme.clone(), group.name.clone()]);
                let cells = columns.iter().map(|(_, digits, value)| mean(&seeds, *digits, value));
                grid.rows.push(words.chain(cells).collect());
            }
        }
    }
    let left_out = grid.rows.len().saturating_sub(MAX_ROWS);
    grid.rows.truncate(MAX_ROWS);
    let note = format!("{left_out} rows more are in summary.json (`groups`).");
    (grid, if left_out > 0 { note } else { String::new() })
}

/// The mean over the seeds that have the value.
fn mean(seeds: &[&Group], digits: usize, value: &Value) -> String {
    let values: Vec<f64> = seeds.iter().filter_map(|group| value(group)).collect();
    if values.is_empty() {
        return NOTHING.to_owned();
    }
    format!("{:.digits$}", values.iter().sum::<f64>() / values.len() as f64)
}

/// Headings, digits and values.
fn columns(all: &[&Group]) -> Vec<(String, usize, Value)> {
    let (rate, bits) = unit(all.iter().map(|group| group.throughput_bps), RATES);
    let mean = |group: &Group| group.fct.all.and_then(|all| all.mean_s);
    let (lasted, seconds) = unit(all.iter().filter_map(|group| mean(group)), TIMES);
    let (span, round) = unit(all.iter().filter_map(|group| group.rtt.mean_s), TIMES);
    vec![
        ("flows".to_owned(), 0, Box::new(|group| Some(group.flows as f64))),
        (rate.to_owned(), 3, Box::new(move |group| Some(group.throughput_bps / bits))),
        ("loss %".to_owned(), 3, Box::new(|group| Some(group.loss_rate * 100.0))),
        ("resent".to_owned(), 0, Box::new(|group| Some(group.retransmits as f64))),
        ("RTOs".to_owned(), 0, Box::new(|group| Some(group.timeouts as f64))),
        (format!("RTT {span}"), 2, Box::new(move |group| Some(group.rtt.mean_s? / round))),
        (format!("FCT {lasted}"), 2, Box::new(move |group| Some(mean(group)? / seconds))),
        ("FCT p99".to_owned(), 2, Box::new(move |group| Some(group.fct.all?.p99_s? / seconds))),
        ("slowdown".to_owned(), 2, Box::new(|group| group.fct.all?.slowdown_mean)),
        ("slowdown p99".to_owned(), 2, Box::new(|group| group.fct.all?.slowdown_p99)),
        ("open".to_owned(), 0, Box::new(|group| Some(group.fct.all?.unfinished as f64))),
    ]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::summary::{Completion, Fct};

    fn group(name: &str, mean_s: Option<f64>, retransmits: u64) -> Group {
        let all = mean_s.map(|mean| Completion {
            count: 10,
            mean_s: Some(mean),
            p99_s: Some(2.0 * mean),
            slowdown_mean: Some(3.0),
            ..Completion::default()
        });
        let fct = Fct { all, ..Fct::default() };
        Group { name: name.to_owned(), flows: 10, fct, retransmits, ..Group::default() }
    }

    fn run(groups: Vec<Group>) -> Run {
        Run { scheme: "cubic".to_owned(), groups, ..Run::default() }
    }

    fn rows(runs: &[Run]) -> (Vec<String>, Vec<Vec<String>>) {
        let point =
            Point { name: String::new(), set: BTreeMap::new(), schemes: vec!["cubic".to_owned()] };
        let runs: Vec<(usize, &Run)> = runs.iter().map(|run| (0, run)).collect();
        let (grid, _) = groups(&[point], &runs);
        (grid.header, grid.rows)
    }

    #[test]
    fn each_group_has_its_completion_times_and_retransmissions_as_means_over_seeds() {
        let seed = |fct: f64| run(vec![group("web", Some(fct), 4), group("backup", None, 8)]);
        let (header, rows) = rows(&[seed(0.002), seed(0.004)]);
        let at = |heading: &str| header.iter().position(|other| other == heading).unwrap();
        assert_eq!(rows[0][..2], ["cubic", "web"].map(str::to_owned));
        assert_eq!(
            (rows[0][at("FCT ms")].as_str(), rows[0][at("FCT p99")].as_str()),
            ("3.00", "6.00")
        );
        assert_eq!((rows[1][at("FCT ms")].as_str(), rows[1][at("resent")].as_str()), ("-", "8"));
    }

    #[test]
    fn one_group_is_the_run() {
        assert!(rows(&[run(vec![group("web", Some(0.002), 4)])]).1.is_empty());
    }
}

//! Means of links over seeds, and the table of the most utilised ones.

use std::collections::BTreeMap;

use crate::design::Point;
use crate::summary::Run;
use crate::table::{Grid, NOTHING};

/// The most rows of the table of links in a page.
pub const MAX_ROWS: usize = 20;
/// The most rows that a command prints of it.
pub const MAX_PRINTED: usize = 8;

/// The means over the seeds of one link.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkMeans {
    /// The rate, in bits per second.
    pub rate_bps: u64,
    /// The mean of [`offered`](crate::Link::offered).
    pub offered: Option<f64>,
    /// The mean of [`utilization`](crate::Link::utilization).
    pub utilization: f64,
    /// The mean of [`loss_rate`](crate::Link::loss_rate).
    pub loss_rate: f64,
    /// The mean of [`marks`](crate::Link::marks).
    pub marks: f64,
    /// The longest queue of any seed.
    pub max_queue_bytes: Option<u64>,
}

/// The links of the runs of one scheme at one point, as means over seeds, the most utilised first.
#[must_use]
pub fn means<'a>(runs: impl Iterator<Item = &'a Run>) -> Vec<(&'a str, LinkMeans)> {
    let mut links: BTreeMap<&str, LinkMeans> = BTreeMap::new();
    let mut all = 0.0;
    for run in runs {
        all += 1.0;
        for link in &run.links {
            let sum = links.entry(&link.place).or_default();
            sum.rate_bps = link.rate_bps;
            sum.offered = link.offered;
            sum.utilization += link.utilization;
            sum.loss_rate += link.loss_rate;
            sum.marks += link.marks as f64;
            sum.max_queue_bytes = sum.max_queue_bytes.max(link.max_queue_bytes);
        }
    }
    let mean = |(name, sum): (&'a str, LinkMeans)| {
        let (utilization, loss_rate) = (sum.utilization / all, sum.loss_rate / all);
        (name, LinkMeans { utilization, loss_rate, marks: sum.marks / all, ..sum })
    };
    let mut links: Vec<_> = links.into_iter().map(mean).collect();
    links.sort_by(|(a, one), (b, other)| {
        other.utilization.total_cmp(&one.utilization).then(a.cmp(b))
    });
    links
}

/// The table of the most utilised links of each scheme at each point, in at most so many rows, and a note on what it
/// leaves out. No rows if no network has more than a few links.
#[must_use]
pub fn table(points: &[Point], runs: &[(usize, &Run)], rows: usize) -> (Grid, String) {
    let several = points.len() > 1;
    let mut header = vec!["scheme", "link", "Gb/s", "offered %", "used %", "loss %", "marks"];
    header.push("longest queue KB");
    if several {
        header.insert(0, "point");
    }
    let header = header.into_iter().map(str::to_owned).collect();
    let mut grid = Grid { header, rows: Vec::new(), words: 2 + usize::from(several) };
    let kinds = points.iter().enumerate().flat_map(|(number, point)| {
        point.schemes.iter().map(move |scheme| (number, point, scheme))
    });
    let each = (rows / kinds.clone().count().max(1)).max(1);
    let (mut left_out, mut all) = (0, 0);
    for (number, point, scheme) in kinds {
        let same = runs.iter().filter(|(at, run)| *at == number && run.scheme == *scheme);
        let links = means(same.clone().map(|(_, run)| *run));
        let unlisted = same.filter_map(|(_, run)| run.left_out.get("links")).max();
        let shown = each.min(links.len()).min(rows - grid.rows.len());
        all = all.max(links.len());
        left_out += links.len() - shown + unlisted.copied().unwrap_or(0) as usize;
        for (place, link) in links.iter().take(shown) {
            let words = several.then(|| point.name.clone()).into_iter();
            let words = words.chain([scheme.clone(), (*place).to_owned()]);
            grid.rows.push(words.chain(cells(link)).collect());
        }
    }
    if all <= FEW {
        grid.rows.clear();
        return (grid, String::new());
    }
    let note = match left_out {
        0 => String::new(),
        1 => "1 link more is not shown; `links` of summary.json has it.".to_owned(),
        more => format!("{more} links more are not shown; `links` of summary.json has them."),
    };
    (grid, note)
}

/// So many links, counted by direction, are in no need of a table: a dumbbell with one sender has six.
const FEW: usize = 6;

fn cells(link: &LinkMeans) -> [String; 6] {
    let percent = |part: f64, digits: usize| format!("{:.digits$}", part * 100.0);
    [
        format!("{}", link.rate_bps as f64 / 1e9),
        link.offered.map_or_else(|| NOTHING.to_owned(), |offered| percent(offered, 1)),
        percent(link.utilization, 1),
        percent(link.loss_rate, 3),
        format!("{:.0}", link.marks),
        link.max_queue_bytes
            .map_or_else(|| NOTHING.to_owned(), |bytes| format!("{:.1}", bytes as f64 / 1e3)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::Link;

    fn run(scheme: &str, links: &[(&str, f64, u64)]) -> Run {
        let link = |&(place, utilization, queue): &(&str, f64, u64)| Link {
            place: place.to_owned(),
            rate_bps: 10_000_000_000,
            utilization,
            max_queue_bytes: Some(queue),
            ..Link::default()
        };
        Run { scheme: scheme.to_owned(), links: links.iter().map(link).collect(), ..Run::default() }
    }

    fn point() -> Point {
        Point { name: String::new(), set: BTreeMap::new(), schemes: vec!["cubic".into()] }
    }

    #[test]
    fn links_are_means_over_seeds_the_most_used_first_and_the_rest_is_counted() {
        let names: Vec<String> = (0..9).map(|number| format!("a{number}>b")).collect();
        let links: Vec<(&str, f64, u64)> =
            names.iter().enumerate().map(|(n, name)| (&**name, 0.1 * n as f64, 1_000)).collect();
        let (one, mut two) = (run("cubic", &links), run("cubic", &[("a0>b", 1.0, 5_000)]));
        two.left_out.insert("links".to_owned(), 3);
        let (grid, note) = table(&[point()], &[(0, &one), (0, &two)], 2);
        let shown: Vec<&str> = grid.rows.iter().map(|row| row[1].as_str()).collect();
        assert_eq!(shown, ["a0>b", "a8>b"], "0.5 and 0.4 on average");
        assert_eq!(grid.rows[0][2..], ["10", "-", "50.0", "0.000", "0", "5.0"].map(str::to_owned));
        assert_eq!(note, "10 links more are not shown; `links` of summary.json has them.");
    }

    #[test]
    fn a_network_of_few_links_has_no_table() {
        let one = run("cubic", &[("a>b", 0.5, 0), ("b>a", 0.1, 0)]);
        let (grid, note) = table(&[point()], &[(0, &one)], 20);
        assert!(grid.rows.is_empty() && note.is_empty());
    }
}

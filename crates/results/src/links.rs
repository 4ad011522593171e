//! Means over seeds for each link, and the tables of those links that lost or marked packets, and of the busiest.

use crate::table::{Grid, by_scheme};
use crate::{columns::NOTHING, design::Point, summary::Run};
use std::collections::BTreeMap;

/// The most rows of the table of links on a page of results.
pub const MAX_ROWS: usize = 20;
/// The most rows of the table of links that a command prints.
pub const MAX_PRINTED: usize = 8;
/// The most rows of the table with the worst port of each scheme at each point.
pub const MAX_WORST: usize = 24;
/// The most bundles of parallel links in the note below a table.
const MAX_BUNDLES: usize = 4;
/// The most combinations of scheme and point for which the command prints a table of links. With more, it prints the
/// worst port of each.
pub const MAX_KINDS: usize = 4;

/// The means over seeds of the results of one link.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkMeans {
    /// The rate at the start of the run, in bits per second.
    pub rate_bps: u64,
    /// The mean of [`crate::Link::offered`].
    pub offered: Option<f64>,
    /// The mean of [`crate::Link::utilization`].
    pub utilization: f64,
    /// The mean of [`crate::Link::bundle_utilization`].
    pub bundle_utilization: Option<f64>,
    /// The mean of [`crate::Link::loss_rate`].
    pub loss_rate: f64,
    /// The mean of [`crate::Link::marks`].
    pub marks: f64,
    /// The longest data queue in a run with any seed, in bytes on the wire; `None` for a host's link.
    pub max_queue_bytes: Option<u64>,
}

/// The links of the runs of one scheme at one point by name, as means over seeds, the most utilised first.
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
            sum.bundle_utilization = link.bundle_utilization.map(|used| used + sum.bundle_utilization.unwrap_or(0.0));
            sum.loss_rate += link.loss_rate;
            sum.marks += link.marks as f64;
            sum.max_queue_bytes = sum.max_queue_bytes.max(link.max_queue_bytes);
        }
    }
    let mean = |(name, sum): (&'a str, LinkMeans)| {
        let (utilization, loss_rate) = (sum.utilization / all, sum.loss_rate / all);
        let bundle_utilization = sum.bundle_utilization.map(|used| used / all);
        (name, LinkMeans { utilization, bundle_utilization, loss_rate, marks: sum.marks / all, ..sum })
    };
    let mut links: Vec<_> = links.into_iter().map(mean).collect();
    links.sort_by(|(a, one), (b, other)| other.utilization.total_cmp(&one.utilization).then(a.cmp(b)));
    links
}

/// Chooses at most `most` links for a table, and returns their indices. At most half, but at least one, are links that
/// lost or marked data: those with the largest loss first, then those with the most marks. The rest are the busiest.
pub fn chosen(links: &[LinkMeans], most: usize) -> Vec<usize> {
    let by_use = |a: &usize, b: &usize| links[*b].utilization.total_cmp(&links[*a].utilization).then(a.cmp(b));
    let mut order: Vec<usize> = (0..links.len()).collect();
    order.sort_by(|a, b| {
        let (one, other) = (&links[*a], &links[*b]);
        let loss = other.loss_rate.total_cmp(&one.loss_rate);
        loss.then(other.marks.total_cmp(&one.marks)).then_with(|| by_use(a, b))
    });
    let troubled = |index: &usize| links[*index].loss_rate > 0.0 || links[*index].marks > 0.0;
    let count = order.iter().take(most.div_ceil(2)).take_while(|index| troubled(index)).count();
    order[count..].sort_by(by_use);
    order.truncate(most);
    order
}

/// The use of each bundle of parallel links with a link among these, in words. Links are listed by name.
fn bundles(links: &[(&str, LinkMeans)]) -> BTreeMap<String, String> {
    let bundle = |(place, link): &(&str, LinkMeans)| {
        let (ends, used) = (place.rsplit_once('#')?.0, link.bundle_utilization?);
        Some((ends.to_owned(), format!("The parallel links {ends} together are used {:.1} %.", used * 100.0)))
    };
    links.iter().filter_map(bundle).collect()
}

/// The table of the [`chosen`] links of each scheme at each point, in at most `rows` rows, and a note on bundles of
/// parallel links and on the number of links left out. Empty if no network has more than `FEW` links.
pub fn table(points: &[Point], runs: &[(usize, &Run)], rows: usize) -> (Grid, String) {
    let header = ["point", "scheme", "link", "Gb/s", "offered %", "used %", "loss %", "marks", "longest queue KB"];
    let mut shown_rows: Vec<Vec<String>> = Vec::new();
    let each = (rows / kinds(points).max(1)).max(1);
    let (mut left_out, mut all, mut notes) = (0, 0, BTreeMap::new());
    for (point, scheme, runs) in by_scheme(points, runs) {
        let links = means(runs.iter().copied());
        if kinds(points) == 1 {
            notes = bundles(&links);
        }
        let unlisted = runs.iter().filter_map(|run| run.left_out.get("links")).max();
        let shown = each.min(links.len()).min(rows - shown_rows.len());
        all = all.max(links.len());
        left_out += links.len() - shown + unlisted.copied().unwrap_or(0) as usize;
        let means: Vec<LinkMeans> = links.iter().map(|(_, link)| *link).collect();
        for (place, link) in chosen(&means, shown).into_iter().map(|index| &links[index]) {
            let words = [point.name.clone(), scheme.clone(), (*place).to_owned()];
            shown_rows.push([&words[..], &cells(link)].concat());
        }
    }
    let mut grid = Grid::by_point(points, header, 2, shown_rows);
    if all <= FEW {
        grid.rows.clear();
        return (grid, String::new());
    }
    let mut notes: Vec<String> = notes.into_values().take(MAX_BUNDLES).collect();
    match left_out {
        0 => {}
        1 => notes.push("1 row more is not shown; `links` of summary.json has it.".to_owned()),
        more => notes.push(format!("{more} rows more are not shown; `links` of summary.json has them.")),
    }
    (grid, notes.join(" "))
}

/// The number of combinations of a point and a scheme that runs there.
fn kinds(points: &[Point]) -> usize {
    points.iter().map(|point| point.schemes.len()).sum()
}

/// The table of links that a command prints, with its title and a note: the [`chosen`] links or, for sweeps and many
/// schemes, the worst port of each scheme at each point.
pub fn printed(points: &[Point], runs: &[(usize, &Run)], sweep: bool) -> (&'static str, (Grid, String)) {
    if sweep || kinds(points) > MAX_KINDS {
        let title = if points.len() > 1 { "The worst port at each point" } else { "The worst port of each scheme" };
        return (title, worst(points, runs));
    }
    ("The links with the largest loss, and the busiest", table(points, runs, MAX_PRINTED))
}

/// The worst port of each scheme at each point: the first one that [`chosen`] returns. If there are more than
/// [`MAX_WORST`] rows, the worst of them are kept and a note counts the others. Empty if no network has more than
/// `FEW` links.
fn worst(points: &[Point], runs: &[(usize, &Run)]) -> (Grid, String) {
    let mut all = 0;
    let mut found: Vec<([String; 3], LinkMeans)> = Vec::new();
    for (point, scheme, runs) in by_scheme(points, runs) {
        let links = means(runs.into_iter());
        all = all.max(links.len());
        let values: Vec<LinkMeans> = links.iter().map(|(_, link)| *link).collect();
        let first = chosen(&values, 1).into_iter().map(|index| links[index]);
        let words = |place: &str| [point.name.clone(), scheme.clone(), place.to_owned()];
        found.extend(first.map(|(place, link)| (words(place), link)));
    }
    let header = ["point", "scheme", "port", "used %", "loss %", "marks", "longest queue KB"];
    if all <= FEW {
        return (Grid::by_point(points, header, 2, Vec::new()), String::new());
    }
    let values: Vec<LinkMeans> = found.iter().map(|row| row.1).collect();
    let mut shown = chosen(&values, MAX_WORST);
    shown.sort_unstable();
    let row = |index: usize| {
        let (words, link) = &found[index];
        [&words[..], &cells(link)[2..]].concat()
    };
    let grid = Grid::by_point(points, header, 2, shown.into_iter().map(row).collect());
    let more = found.len() - grid.rows.len();
    let note = format!("… {more} more; `links` of summary.json has all ports.");
    (grid, if more > 0 { note } else { String::new() })
}

/// The most links, counted by direction, of a network that needs no table of links: a dumbbell with one sender has six.
const FEW: usize = 6;

fn cells(link: &LinkMeans) -> [String; 6] {
    let percent = |part: f64, digits: usize| format!("{:.digits$}", part * 100.0);
    [
        format!("{}", link.rate_bps as f64 / 1e9),
        link.offered.map_or_else(|| NOTHING.to_owned(), |offered| percent(offered, 1)),
        percent(link.utilization, 1),
        percent(link.loss_rate, 3),
        format!("{:.0}", link.marks),
        link.max_queue_bytes.map_or_else(|| NOTHING.to_owned(), |bytes| format!("{:.1}", bytes as f64 / 1e3)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Link;

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

    fn link(utilization: f64, loss_rate: f64, marks: f64) -> LinkMeans {
        LinkMeans { utilization, loss_rate, marks, ..LinkMeans::default() }
    }

    #[test]
    fn a_port_that_loses_is_shown_before_busier_ones() {
        let busy: Vec<LinkMeans> = (0..9).map(|n| link(0.9 - 0.01 * f64::from(n), 0.0, 0.0)).collect();
        let with = |more: &[LinkMeans]| [&busy, more].concat();
        assert_eq!(chosen(&busy, 3), [0, 1, 2]);
        assert_eq!(chosen(&with(&[link(0.19, 0.11, 0.0)]), 4), [9, 0, 1, 2]);
        assert_eq!(chosen(&with(&[link(0.1, 0.0, 5.0), link(0.1, 0.0, 7.0)]), 4), [10, 9, 0, 1]);
        // Not more than half: many small losses do not hide the busiest.
        let small: Vec<LinkMeans> = (0..9).map(|n| link(0.1, 1e-6 * f64::from(n + 1), 0.0)).collect();
        assert_eq!(chosen(&with(&small), 4), [17, 16, 0, 1]);
        assert_eq!(chosen(&with(&small), 1), [17]);
    }

    /// Runs at so many points over nine links, of which one loses a part that grows with the point.
    fn swept(count: usize) -> (Vec<Point>, Vec<Run>) {
        let names: Vec<String> = (0..9).map(|number| format!("a{number}>b")).collect();
        let links: Vec<(&str, f64, u64)> = names.iter().map(|name| (&**name, 0.9, 1_000)).collect();
        let points = (0..count).map(|at| Point { name: format!("load={at}"), ..point() }).collect();
        let runs = (0..count).map(|at| {
            let mut run = run("cubic", &links);
            run.links[3].loss_rate = 0.001 * at as f64;
            run.links[3].utilization = 0.2;
            run
        });
        (points, runs.collect())
    }

    #[test]
    fn many_points_show_the_worst_ports_and_count_the_rest() {
        let (points, runs) = swept(60);
        let placed: Vec<(usize, &Run)> = runs.iter().enumerate().collect();
        // Without a sweep as well: so many schemes and points have no room for more.
        let (_, (grid, note)) = printed(&points, &placed, false);
        assert_eq!(grid.rows.len(), MAX_WORST);
        assert_eq!(note, "… 36 more; `links` of summary.json has all ports.");
        assert!(grid.rows.iter().any(|row| row[0] == "load=59"));
        let (_, (grid, _)) = printed(&points[..1], &placed[..1], false);
        assert_eq!(grid.rows.len(), MAX_PRINTED, "one scheme at one point has the table of links");
    }
}

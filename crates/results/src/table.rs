//! Tables of results as rows of text, for `run`, `sweep` and `reproduce`. Columns and units depend on the values;
//! callers align and print the cells.

use crate::aggregate::{Estimate, MIN_VALUES};
use crate::claim::{Kind, Range};
use crate::columns::{self, Column, NOTHING, Row};
use crate::design::Point;
use crate::judged::{JudgedClaim, Verdict};
use crate::summary::{Run, Summary};
use crate::verdict::{count, words};

/// A table of text cells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grid {
    /// The heading of each column.
    pub header: Vec<String>,
    /// Each row has one cell for each column.
    pub rows: Vec<Vec<String>>,
    /// The number of columns, from the left, that have words; the others have numbers.
    pub words: usize,
}

impl Grid {
    /// A table whose first column, with the names of points, is left out if there is only one point. `words` counts the
    /// other columns with words.
    pub(crate) fn by_point(
        points: &[Point], header: impl IntoIterator<Item = impl Into<String>>, words: usize, rows: Vec<Vec<String>>,
    ) -> Self {
        let skip = usize::from(points.len() < 2);
        let header = header.into_iter().skip(skip).map(Into::into).collect();
        let rows = rows.into_iter().map(|row| row.into_iter().skip(skip).collect()).collect();
        Self { header, rows, words: words + 1 - skip }
    }

    /// Cuts the table to `most` rows. Returns a note on the number of rows cut off, which `list` of `summary.json` has;
    /// empty if there are none.
    pub(crate) fn cut(&mut self, most: usize, list: &str) -> String {
        let left_out = self.rows.len().saturating_sub(most);
        self.rows.truncate(most);
        if left_out == 0 {
            return String::new();
        }
        format!("{left_out} rows more are in summary.json (`{list}`).")
    }
}

/// Each point with each scheme that runs there, and the runs of both.
pub(crate) fn by_scheme<'a>(
    points: &'a [Point], runs: &'a [(usize, &'a Run)],
) -> impl Iterator<Item = (&'a Point, &'a String, Vec<&'a Run>)> {
    points.iter().enumerate().flat_map(move |(number, point)| {
        point.schemes.iter().map(move |scheme| {
            let same = runs.iter().filter(|(at, run)| *at == number && run.scheme == *scheme);
            (point, scheme, same.map(|(_, run)| *run).collect())
        })
    })
}

/// The runs of a summary, each with the index of its point.
pub fn placed(summary: &Summary) -> Vec<(usize, &Run)> {
    let place = |run: &Run| summary.points.iter().position(|point| point.set == run.point);
    summary.runs.iter().filter_map(|run| Some((place(run)?, run))).collect()
}

/// The runs that are not void.
pub fn counted<'a>(runs: &[(usize, &'a Run)]) -> Vec<(usize, &'a Run)> {
    runs.iter().copied().filter(|(_, run)| !run.is_void()).collect()
}

/// The rows of a table of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// A row for each scheme at each point, with all columns.
    Runs,
    /// A row for each scheme at each point, with the main metrics and the number of unfinished flows.
    Sweep,
    /// All columns, and for several seeds rows of the mean, of the ends of its 95 % interval, and of the least and the
    /// largest value.
    Details,
}

/// The table of runs, given with the indices of their points. Void runs are left out. If all runs of a row are void,
/// its first cell says so.
pub fn table(points: &[Point], runs: &[(usize, &Run)], form: Rows) -> Grid {
    if form == Rows::Sweep { sweep(points, runs) } else { by_run(points, runs, form == Rows::Details) }
}

/// The table with all columns. The runs of a scheme at a point are a row with the mean and its 95 % interval or, with
/// details, up to five rows.
fn by_run(points: &[Point], runs: &[(usize, &Run)], details: bool) -> Grid {
    let rows = rows(runs);
    let columns = shown(columns::all, runs, &rows);
    let mut grid = Grid { header: header(&["scheme"], &columns), rows: Vec::new(), words: 1 };
    for (number, point) in points.iter().enumerate() {
        let here: Vec<&Row> = rows.iter().filter(|row| row.point == number).collect();
        let indent = if points.len() > 1 && !here.is_empty() {
            grid.push(&point.name, columns.iter().map(|_| String::new()));
            "  "
        } else {
            ""
        };
        for row in here {
            if details && row.runs.len() > 1 {
                grid.group(indent, &columns, row);
            } else {
                let cells = columns.iter().map(|column| column.mean_and_interval(row));
                grid.push(&format!("{indent}{}", row.scheme), cells);
            }
        }
    }
    grid
}

/// Groups the runs into rows, one for each scheme at each point, in the order of the runs.
fn rows<'a>(runs: &[(usize, &'a Run)]) -> Vec<Row<'a>> {
    let groups = runs.chunk_by(|(a, one), (b, other)| a == b && one.scheme == other.scheme);
    let row = |same: &[(usize, &'a Run)]| {
        let (point, first) = same[0];
        Row::new(point, &first.scheme, same.iter().map(|(_, run)| *run))
    };
    groups.map(row).collect()
}

/// The columns for which some row has a value. If all runs are void, only the first column, so that its cells can say
/// so.
fn shown<'a>(
    columns: fn(std::vec::IntoIter<&'a Run>) -> Vec<Column>, runs: &[(usize, &'a Run)], rows: &[Row<'_>],
) -> Vec<Column> {
    if rows.iter().all(Row::is_void) {
        let all: Vec<&Run> = runs.iter().map(|(_, run)| *run).collect();
        let mut columns = columns(all.into_iter());
        columns.truncate(1);
        return columns;
    }
    let counted: Vec<&Run> = counted(runs).into_iter().map(|(_, run)| run).collect();
    let mut columns = columns(counted.into_iter());
    columns.retain(|column| rows.iter().any(|row| column.estimate(row).is_some()));
    columns
}

fn header(words: &[&str], columns: &[Column]) -> Vec<String> {
    let words = words.iter().map(|word| (*word).to_owned());
    words.chain(columns.iter().map(|column| column.heading.clone())).collect()
}

impl Grid {
    /// Creates a table. `header` has the headings, separated by a comma and a space.
    pub fn new(header: &str, rows: impl IntoIterator<Item = Vec<String>>, words: usize) -> Self {
        let header = header.split(", ").map(str::to_owned).collect();
        Self { header, rows: rows.into_iter().collect(), words }
    }

    fn push(&mut self, name: &str, cells: impl Iterator<Item = String>) {
        self.rows.push(std::iter::once(name.to_owned()).chain(cells).collect());
    }

    fn group(&mut self, indent: &str, columns: &[Column], row: &Row<'_>) {
        self.push(&format!("{indent}{}: mean", row.scheme), columns.iter().map(|column| column.mean(row)));
        let mut values = |name: &str, value: fn(&Estimate) -> Option<f64>| {
            let cells = columns.iter().map(|column| column.value(row, value));
            self.push(&format!("{indent}  {name}"), cells);
        };
        if row.runs.len() as u64 >= MIN_VALUES {
            values("95 % from", |of| of.low);
            values("95 % to", |of| of.high);
        }
        values("least", |of| Some(of.min));
        values("most", |of| Some(of.max));
    }

    /// Explanations of the marks in the cells, a line each.
    pub fn notes(&self) -> Vec<&'static str> {
        let cells = self.rows.iter().flat_map(|row| row.iter().skip(self.words));
        columns::notes(&cells.collect::<Vec<_>>())
    }
}

/// The table of a sweep, with a row for each scheme at each point: the main metrics, with several seeds as mean and 95
/// % interval, and the number of unfinished flows if there are any.
fn sweep(points: &[Point], runs: &[(usize, &Run)]) -> Grid {
    let rows = rows(runs);
    let columns = shown(columns::main, runs, &rows);
    let mut grid = Grid { header: header(&["point", "scheme"], &columns), rows: vec![], words: 2 };
    let has_open = rows.iter().any(|row| row.unfinished().is_some_and(|(open, _)| open > 0));
    grid.header.extend(has_open.then(|| "open".to_owned()));
    for row in &rows {
        let words = [points[row.point].name.clone(), row.scheme.to_owned()];
        let cells = columns.iter().map(|column| column.mean_and_interval(row));
        let open = row.unfinished().map_or_else(
            || NOTHING.to_owned(),
            |(open, all)| if open == 0 { "0".to_owned() } else { format!("{open} of {all}") },
        );
        let cells = words.into_iter().chain(cells).chain(has_open.then_some(open));
        grid.rows.push(cells.collect());
    }
    grid
}

/// The table of claims with their verdicts. Claims that do not hold have the reason in brackets.
pub fn claims(claims: &[JudgedClaim]) -> Grid {
    let figure = |value: Option<f64>, end: Option<f64>, unit: &str| match value.map(significant) {
        None => NOTHING.to_owned(),
        Some(value) => {
            let end = end.map_or_else(String::new, |end| format!(" to {}", significant(end)));
            format!("{value}{end} {unit}").trim_end().to_owned()
        }
    };
    let row = |claim: &JudgedClaim| {
        let accepted = words(Range { low: claim.low, high: claim.high });
        let mut label = claim.label();
        // A claim without a range needs no reason.
        if !claim.why.is_empty() && claim.verdict != Verdict::Reported {
            let run = claim.run.as_ref().map_or_else(String::new, |run| format!("; recorded in {run}"));
            label = format!("{label} ({}{run})", claim.why);
        }
        vec![
            label,
            figure(claim.paper, claim.paper_to, &claim.unit),
            accepted,
            match claim.bound {
                None => figure(claim.measured, None, &claim.unit),
                Some(bound) => format!("{} {}", bound.sign(), figure(claim.measured, None, &claim.unit)),
            },
            claim.verdict.word().to_owned(),
        ]
    };
    Grid::new("claim, paper, accepted, measured, verdict", claims.iter().map(row), 1)
}

/// A line with the number of claims for each verdict. Invariants are left out. If there are several kinds, the numbers
/// of each kind follow.
pub fn tally(claims: &[JudgedClaim]) -> String {
    let of = |name: &str, claims: &[JudgedClaim]| {
        let some = Verdict::ALL.into_iter().map(|verdict| (count(claims, verdict), verdict));
        let some = some.filter(|(count, _)| *count > 0);
        let parts: Vec<String> = some.map(|(count, verdict)| format!("{count} {}", verdict.word())).collect();
        format!("{} {name}: {}", claims.len(), parts.join(", "))
    };
    let only = |take: &dyn Fn(Kind) -> bool| claims.iter().filter(|one| take(one.kind)).cloned().collect::<Vec<_>>();
    let kinds = Kind::ALL.map(|kind| (kind.word(), only(&|other| other == kind)));
    let kinds: Vec<_> = kinds.into_iter().filter(|(_, claims)| !claims.is_empty()).collect();
    let evidence = only(&|kind| kind != Kind::Invariant || kinds.len() == 1);
    let all = of(if evidence.len() == 1 { "claim" } else { "claims" }, &evidence);
    match kinds.len() {
        0 | 1 => all,
        _ => format!("{all} ({})", kinds.iter().map(|(word, claims)| of(word, claims)).collect::<Vec<_>>().join("; ")),
    }
}

/// Prints a number with about four significant digits.
pub fn significant(value: f64) -> String {
    let size = value.abs();
    if !size.is_finite() || size == 0.0 {
        return format!("{value}");
    }
    let digits = [(1000.0, 0), (100.0, 1), (10.0, 2), (1.0, 3), (0.1, 4), (0.01, 5)];
    match digits.iter().find(|(least, _)| size >= *least) {
        // A whole number stays one.
        Some(_) if (1.0..1e15).contains(&size) && size.fract() == 0.0 => format!("{value}"),
        Some(&(_, digits)) => format!("{value:.digits$}"),
        None => format!("{value:.3e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_about_four_digits() {
        let cases = [
            (0.0, "0"),
            (9.0, "9"),
            (9.123_456, "9.123"),
            (0.123_456, "0.1235"),
            (123_456.7, "123457"),
            (0.000_123_4, "1.234e-4"),
            (-20.55, "-20.55"),
        ];
        for (value, text) in cases {
            assert_eq!(significant(value), text);
        }
    }
}

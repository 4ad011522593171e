//! Reports: pages and figures made from the files in a results folder alone. A page has the same bytes whenever it is
//! made.

use super::results::{FLOWS, SERIES, SUMMARY};
use shallop_results::legend::{legend, longest_queues};
use shallop_results::summary::{Run, Summary};
use shallop_results::table::{self, Grid, Rows};
use shallop_results::warning_lines;
use shallop_results::{Reuse, drops::drops};
use shallop_results::{group_table, links, program_table, rehearsal_table};
use shallop_store::{StoreError, Table, TableReader, Text, Values, read_bytes, read_text, write_file};
use shallop_view::{Figure, FigureData, IndexEntry, Page, PlotFlow, PlotSample, figures, page};
use std::fs;
use std::path::{Path, PathBuf};

pub const REPORT: &str = "report.html";
/// With more rows than this, the table has a row per point and scheme, with means over seeds.
const MAX_ROWS: usize = 80;

#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{}: not a summary of shallop: {why}; make the results again", path.display())]
    Summary { path: PathBuf, why: serde_json::Error },
    /// The page's file exists and was not made by this program.
    #[error("{}: was not made by shallop and is kept; move it, or choose another folder", path.display())]
    Foreign { path: PathBuf },
    #[error("{}: {what}; run, sweep and reproduce write results to a folder with --out", folder.display())]
    Nothing { folder: PathBuf, what: &'static str },
}

/// The results in a folder.
#[derive(Debug)]
pub struct Results {
    summary: Summary,
    tables: Vec<page::PageTable>,
    /// The figures that have data.
    pub figures: Vec<Figure>,
}

impl Results {
    /// Reads `summary.json`, `flows.parquet` and `series.parquet`. Memory holds 16 bytes per flow and one batch of
    /// rows.
    pub fn read(folder: &Path) -> Result<Self, ReportError> {
        let summary = read_summary(folder)?;
        let mut input = FigureData::new(&summary);
        for batch in TableReader::open(folder.join(FLOWS))? {
            add_flows(&batch?, &mut input).map_err(|column| lacks(folder, FLOWS, column))?;
        }
        for batch in TableReader::open(folder.join(SERIES))? {
            add_series(&batch?, &mut input).map_err(|column| lacks(folder, SERIES, column))?;
        }
        let figures = figures::all(&summary.counted(), &input);
        Ok(Self { tables: tables(&summary), summary, figures })
    }

    pub fn html(&self) -> String {
        Page { summary: &self.summary, tables: &self.tables, figures: &self.figures }.html()
    }

    /// Reads the results in a folder and writes their page to it.
    ///
    /// # Errors
    /// If a file cannot be read, or the page cannot be written; an existing page is unchanged then.
    pub fn publish(folder: &Path) -> Result<Self, ReportError> {
        let results = Self::read(folder)?;
        check_page(folder)?;
        write_file(folder.join(REPORT), results.html().as_bytes())?;
        Ok(results)
    }

    /// The title, the version and the figures, each a Vega-Lite spec with its data.
    pub fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "scenario": self.summary.scenario,
            "version": self.summary.version,
            "figures": self.figures.iter().map(Figure::json).collect::<Vec<_>>(),
        })
    }
}

pub fn read_summary(folder: &Path) -> Result<Summary, ReportError> {
    let path = folder.join(SUMMARY);
    let text = read_text(&path)?;
    serde_json::from_str(&text).map_err(|why| ReportError::Summary { path, why })
}

/// The folders with results in this folder, sorted by name.
pub fn result_folders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    folders.retain(|folder| has_results(folder));
    folders.sort();
    folders
}

pub fn has_results(folder: &Path) -> bool {
    folder.join(SUMMARY).is_file()
}

/// Writes an index page with links to the pages of all results folders in this folder.
pub fn write_index(folder: &Path) -> Result<PathBuf, ReportError> {
    let (mut entries, mut all) = (Vec::new(), Vec::new());
    for inside in result_folders(folder) {
        let path = inside.join(SUMMARY);
        let summary: Summary =
            serde_json::from_str(&read_text(&path)?).map_err(|why| ReportError::Summary { path, why })?;
        let claims = if summary.claims.is_empty() { String::new() } else { table::tally(&summary.claims) };
        entries.push(IndexEntry {
            folder: inside.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            title: if summary.about.is_empty() { summary.scenario } else { summary.about },
            quick: summary.quick,
            claims,
            worst: page::worst(&summary.claims),
        });
        all.extend(summary.claims);
    }
    if entries.is_empty() {
        let what = if folder.is_dir() {
            "holds no summary.json, nor does a folder in it"
        } else if folder.exists() {
            "is a file, not a folder of results"
        } else {
            "there is no such folder"
        };
        return Err(ReportError::Nothing { folder: folder.to_owned(), what });
    }
    check_page(folder)?;
    let path = folder.join(REPORT);
    let total = if all.is_empty() { String::new() } else { table::tally(&all) };
    write_file(&path, page::index(env!("CARGO_PKG_VERSION"), &total, &entries).as_bytes())?;
    Ok(path)
}

/// Checks that an existing page was made by this program and may be replaced.
///
/// # Errors
/// [`ReportError::Foreign`] if it was not.
pub fn check_page(folder: &Path) -> Result<(), ReportError> {
    let path = folder.join(REPORT);
    if !path.is_file() {
        return Ok(());
    }
    let bytes = read_bytes(&path)?;
    if page::is_page(&bytes) { Ok(()) } else { Err(ReportError::Foreign { path }) }
}

/// The tables of the page: those that the command prints, without computing times, which differ between repetitions of
/// a run.
fn tables(summary: &Summary) -> Vec<page::PageTable> {
    let runs = summary.runs.iter().map(|run| Run { wall_s: None, ..run.clone() }).collect();
    let summary = Summary { runs, ..summary.clone() };
    let all = table::placed(&summary);
    let runs = table::counted(&all);
    let points = &summary.points;
    let mut tables = Vec::new();
    if !all.is_empty() {
        let grid = table::table(points, &all, Rows::Runs);
        let many = grid.rows.len() > MAX_ROWS;
        let grid = if many { table::table(points, &all, Rows::Sweep) } else { grid };
        let mut lines = vec![legend([&grid]), longest_queues(&runs)];
        if grid.header.iter().any(|heading| heading == "KB") {
            lines.push("KB: the longest data queue in units of 1,000 bytes.".to_owned());
        }
        lines.extend(grid.notes().into_iter().map(str::to_owned));
        lines.retain(|line| !line.is_empty());
        let mut warnings = warning_lines::warnings(points, &all);
        warnings.extend(summary.reused.iter().map(Reuse::line));
        let results = page_table("Results", grid, &lines.join("\n"));
        tables.push(page::PageTable { warnings, ..results });
    }
    let mut add = |title: &str, grid: Grid, legend: &str, note: &str| {
        if !grid.rows.is_empty() {
            tables.push(page_table(title, grid, format!("{legend} {note}").trim()));
        }
    };
    let of_seeds = |several: &'static str| if summary.seeds.len() > 1 { several } else { "" };
    let about = format!(
        "Data packets{} at all ports together. most at: the port that dropped most of them.",
        of_seeds(" of all seeds,")
    );
    add("Why data packets were dropped", drops(points, &runs), &about, "");
    let (groups, note) = group_table::groups(points, &runs);
    let about = format!(
        "{}FCT: mean flow completion time. RTT: mean round-trip time. p99: the 99th percentile. resent: data packets \
         retransmitted. RTOs: retransmission timeouts. slowdown: completion time over the time that the flow takes \
         alone on an idle network. open: flows not complete at the end. {}",
        of_seeds("Means over seeds. "),
        groups.notes().join(" ")
    );
    add("Groups of flows", groups, about.trim(), &note);
    let (programs, note) = program_table::programs(points, &all);
    let about = "status: of its exit, or 128 and the signal that ended it.";
    add("Programs", programs, about, &note);
    let (rehearsals, note) = rehearsal_table::rehearsals(points, &all);
    add("Rehearsals", rehearsals, "", &note);
    let (links, note) = links::table(points, &runs, links::MAX_ROWS);
    let about = format!(
        "Each direction of a link: those that lost or marked packets first, by their loss (at most half of the rows), \
         and then the busiest.{} offered: payload of random arrivals. used: bits sent of what the link can carry. KB: \
         1,000 bytes.",
        of_seeds(" Means over seeds, and of the queue the longest.")
    );
    add("The links with the largest loss, and the busiest", links, &about, &note);
    if !summary.claims.is_empty() {
        let tally = format!("{}.", table::tally(&summary.claims));
        let about = of_seeds("Figures are the mean over seeds, or of all seeds the one that decides.");
        add("Claims of the paper", table::claims(&summary.claims), &tally, about);
    }
    tables
}

fn page_table(title: &str, grid: Grid, legend: &str) -> page::PageTable {
    let Grid { header, rows, words } = grid;
    let (title, legend) = (title.to_owned(), legend.to_owned());
    page::PageTable { title, header, rows, words, legend, warnings: Vec::new() }
}

fn lacks(folder: &Path, name: &str, column: &str) -> ReportError {
    let at = folder.join(name).display().to_string();
    let why = format!("column {column} is missing, or holds something else");
    ReportError::Store(StoreError::Unreadable { at, why })
}

/// Returns a text column of a table, or its name as the error if it is missing.
fn texts<'a>(table: &'a Table, name: &'static str) -> Result<&'a Text, &'static str> {
    match table.column(name).map(|column| &column.values) {
        Some(Values::Text(text)) => Ok(text),
        _ => Err(name),
    }
}

/// Returns a column of floats, or its name as the error if it is missing.
fn floats<'a>(table: &'a Table, name: &'static str) -> Result<&'a [Option<f64>], &'static str> {
    match table.column(name).map(|column| &column.values) {
        Some(Values::F64(values)) => Ok(values),
        _ => Err(name),
    }
}

/// Returns a column of integers, or its name as the error if it is missing.
fn counts<'a>(table: &'a Table, name: &'static str) -> Result<&'a [Option<u64>], &'static str> {
    match table.column(name).map(|column| &column.values) {
        Some(Values::U64(values)) => Ok(values),
        _ => Err(name),
    }
}

fn add_flows(table: &Table, input: &mut FigureData) -> Result<(), &'static str> {
    let (points, schemes) = (texts(table, "point")?, texts(table, "scheme")?);
    let (seeds, numbers) = (counts(table, "seed")?, counts(table, "flow")?);
    let (starts, times) = (floats(table, "start_s")?, floats(table, "fct_s")?);
    let (sizes, slowdowns) = (counts(table, "size_bytes")?, floats(table, "slowdown")?);
    let Some(Values::Bool(counted)) = table.column("counted").map(|column| &column.values) else {
        return Err("counted");
    };
    for row in 0..table.rows() {
        input.add_flow(&PlotFlow {
            point: points.row(row).unwrap_or_default(),
            scheme: schemes.row(row).unwrap_or_default(),
            seed: seeds[row].unwrap_or_default(),
            flow: numbers[row].unwrap_or_default(),
            start_s: starts[row].unwrap_or_default(),
            size_bytes: sizes[row],
            fct_s: times[row],
            slowdown: slowdowns[row],
            counted: counted[row].unwrap_or_default(),
        });
    }
    Ok(())
}

fn add_series(table: &Table, input: &mut FigureData) -> Result<(), &'static str> {
    let (points, schemes) = (texts(table, "point")?, texts(table, "scheme")?);
    let (seeds, times) = (counts(table, "seed")?, floats(table, "time_s")?);
    let (whats, places) = (texts(table, "what")?, texts(table, "place")?);
    let values = floats(table, "value")?;
    for row in 0..table.rows() {
        input.add_sample(&PlotSample {
            point: points.row(row).unwrap_or_default(),
            scheme: schemes.row(row).unwrap_or_default(),
            seed: seeds[row].unwrap_or_default(),
            time_s: times[row].unwrap_or_default(),
            what: whats.row(row).unwrap_or_default(),
            place: places.row(row).unwrap_or_default(),
            value: values[row].unwrap_or_default(),
        });
    }
    Ok(())
}

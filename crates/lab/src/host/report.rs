//! Reports: pages and figures made of what a folder of results holds, and of nothing else. So whoever makes the page of
//! a folder, right after the runs or a year later, gets the same bytes.

use std::fs;
use std::path::{Path, PathBuf};

use shallop_store::{StoreError, Table, TableReader, Text, Values, read_text, write_file};
use shallop_view::{Entry, Figure, FlowRow, Gather, Page, SeriesRow, figures, page};

use super::results::{FLOWS, SERIES, SUMMARY};
use crate::summary::{Run, Summary};
use crate::table::{self, Grid};

/// The name of a page.
pub const REPORT: &str = "report.html";
/// Tables of more rows than this have a line for each scheme at a point, not four.
const MOST_ROWS: usize = 80;

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// A file cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A summary is damaged.
    #[error("{}: not a summary of shallop: {why}; make the results again", path.display())]
    Summary {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: serde_json::Error,
    },
    /// The folder has no results.
    #[error(
        "{}: holds no summary.json, nor does a folder in it; run, sweep and reproduce write one with --out",
        folder.display()
    )]
    Nothing {
        /// The folder.
        folder: PathBuf,
    },
}

/// The results of a folder, read.
#[derive(Debug)]
pub struct Results {
    summary: shallop_view::Summary,
    tables: Vec<page::Table>,
    /// The figures that have data.
    pub figures: Vec<Figure>,
}

impl Results {
    /// Reads the results in a folder: `summary.json`, `flows.parquet` and `series.parquet`. Memory holds sixteen bytes
    /// of each flow and one batch of rows.
    ///
    /// # Errors
    /// If one of the files is missing or damaged.
    pub fn read(folder: &Path) -> Result<Self, ReportError> {
        let path = folder.join(SUMMARY);
        let text = read_text(&path)?;
        let broken = |why| ReportError::Summary { path: path.clone(), why };
        let ours: Summary = serde_json::from_str(&text).map_err(broken)?;
        let summary: shallop_view::Summary = serde_json::from_str(&text).map_err(broken)?;
        let mut gather = Gather::new(&summary);
        for batch in TableReader::open(folder.join(FLOWS))? {
            add_flows(&batch?, &mut gather).map_err(|column| lacks(folder, FLOWS, column))?;
        }
        for batch in TableReader::open(folder.join(SERIES))? {
            add_series(&batch?, &mut gather).map_err(|column| lacks(folder, SERIES, column))?;
        }
        let figures = figures::all(&summary, &gather);
        Ok(Self { tables: tables(&ours), summary, figures })
    }

    /// The page of these results.
    #[must_use]
    pub fn html(&self) -> String {
        Page { summary: &self.summary, tables: &self.tables, figures: &self.figures }.html()
    }

    /// Reads the results in a folder and writes their page beside them.
    ///
    /// # Errors
    /// If they cannot be read, or the page cannot be written; then what was there before still is.
    pub fn publish(folder: &Path) -> Result<Self, ReportError> {
        let results = Self::read(folder)?;
        write_file(folder.join(REPORT), results.html().as_bytes())?;
        Ok(results)
    }

    /// What the results are of, and their figures, each a Vega-Lite spec with its data.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "scenario": self.summary.scenario,
            "version": self.summary.version,
            "figures": self.figures.iter().map(Figure::json).collect::<Vec<_>>(),
        })
    }
}

/// The folders of results in this one, in the order of their names.
#[must_use]
pub fn inside(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    folders.retain(|folder| holds(folder));
    folders.sort();
    folders
}

/// True if there are results in this folder.
#[must_use]
pub fn holds(folder: &Path) -> bool {
    folder.join(SUMMARY).is_file()
}

/// Writes the page that leads to the pages of the results inside this folder.
///
/// # Errors
/// If there are none, a summary cannot be read, or the page cannot be written.
pub fn write_index(folder: &Path) -> Result<PathBuf, ReportError> {
    let mut entries = Vec::new();
    for inside in inside(folder) {
        let path = inside.join(SUMMARY);
        let summary: Summary = serde_json::from_str(&read_text(&path)?)
            .map_err(|why| ReportError::Summary { path, why })?;
        let claims =
            if summary.claims.is_empty() { String::new() } else { table::tally(&summary.claims) };
        entries.push(Entry {
            folder: inside.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            title: if summary.about.is_empty() { summary.scenario } else { summary.about },
            quick: summary.quick,
            claims,
        });
    }
    if entries.is_empty() {
        return Err(ReportError::Nothing { folder: folder.to_owned() });
    }
    let path = folder.join(REPORT);
    write_file(&path, page::index(env!("CARGO_PKG_VERSION"), &entries).as_bytes())?;
    Ok(path)
}

/// The tables as they are printed, but for the time that runs took: that differs from one time to the next.
fn tables(summary: &Summary) -> Vec<page::Table> {
    let runs = summary.runs.iter().map(|run| Run { wall_s: None, ..run.clone() }).collect();
    let summary = Summary { runs, ..summary.clone() };
    let runs = table::placed(&summary);
    let mut tables = Vec::new();
    if !runs.is_empty() {
        let grid = table::runs(&summary.points, &runs);
        let (grid, legend) = if grid.rows.len() > MOST_ROWS {
            (table::sweep(&summary.points, &runs), table::SWEEP_LEGEND)
        } else {
            (grid, table::LEGEND)
        };
        tables.push(of_grid("Results", grid, legend));
        let warnings = table::warnings(&summary.points, &runs);
        if let Some(table) = tables.last_mut().filter(|_| !warnings.is_empty()) {
            table.legend = format!("{}\n{}", table.legend, warnings.join("\n"));
        }
    }
    if !summary.claims.is_empty() {
        let legend = format!(
            "{}. Figures are the mean over seeds, or of all seeds the one that decides.",
            table::tally(&summary.claims)
        );
        tables.push(of_grid("Claims of the paper", table::claims(&summary.claims), &legend));
    }
    tables
}

fn of_grid(title: &str, grid: Grid, legend: &str) -> page::Table {
    let Grid { header, rows, words } = grid;
    page::Table { title: title.to_owned(), header, rows, words, legend: legend.to_owned() }
}

fn lacks(folder: &Path, name: &str, column: &str) -> ReportError {
    let at = folder.join(name).display().to_string();
    let why = format!("column {column} is missing, or holds something else");
    ReportError::Store(StoreError::Unreadable { at, why })
}

/// A column of texts, or its name if there is none.
fn texts<'a>(table: &'a Table, name: &'static str) -> Result<&'a Text, &'static str> {
    match table.column(name).map(|column| &column.values) {
        Some(Values::Text(text)) => Ok(text),
        _ => Err(name),
    }
}

/// The same of numbers.
fn floats<'a>(table: &'a Table, name: &'static str) -> Result<&'a [Option<f64>], &'static str> {
    match table.column(name).map(|column| &column.values) {
        Some(Values::F64(values)) => Ok(values),
        _ => Err(name),
    }
}

/// The same of whole numbers.
fn counts<'a>(table: &'a Table, name: &'static str) -> Result<&'a [Option<u64>], &'static str> {
    match table.column(name).map(|column| &column.values) {
        Some(Values::U64(values)) => Ok(values),
        _ => Err(name),
    }
}

fn add_flows(table: &Table, gather: &mut Gather) -> Result<(), &'static str> {
    let (points, schemes) = (texts(table, "point")?, texts(table, "scheme")?);
    let (seeds, numbers) = (counts(table, "seed")?, counts(table, "flow")?);
    let (starts, times) = (floats(table, "start_s")?, floats(table, "fct_s")?);
    let (sizes, slowdowns) = (counts(table, "size_bytes")?, floats(table, "slowdown")?);
    let Some(Values::Bool(counted)) = table.column("counted").map(|column| &column.values) else {
        return Err("counted");
    };
    for row in 0..table.rows() {
        gather.flow(&FlowRow {
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

fn add_series(table: &Table, gather: &mut Gather) -> Result<(), &'static str> {
    let (points, schemes) = (texts(table, "point")?, texts(table, "scheme")?);
    let (seeds, times) = (counts(table, "seed")?, floats(table, "time_s")?);
    let (whats, places) = (texts(table, "what")?, texts(table, "place")?);
    let values = floats(table, "value")?;
    for row in 0..table.rows() {
        gather.series(&SeriesRow {
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

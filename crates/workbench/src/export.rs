//! The tables of results as Parquet or CSV. Flows and series are copied from their files batch by batch, traces are
//! made of the series; the other tables are made from `summary.json`.

use super::aggregate_tables::{aggregate_table, with_point_columns};
use super::completion_table::completion_table;
use super::link_tables::{groups_table, links_table};
use super::printable::printable;
use super::report::{ReportError, read_summary};
use super::results::{FLOWS, SERIES};
use super::{tables::drops_table, trace_table::TraceRows};
use serde_json::{Value, json};
use shallop_results::{Summary, table, warning_lines};
use shallop_store::{Column, Draft, StoreError, Table, TableReader, TableWriter, Text, Values, publish};
use std::{io::Write, path::Path};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableName {
    /// A row for each flow of each run.
    Flows,
    /// Queue lengths and rates over time.
    Series,
    /// A row for each flow at each time, of runs that record flows.
    Traces,
    /// Means over seeds.
    Aggregates,
    /// Completion times by size class.
    Completion,
    /// Dropped packets by port, class and cause.
    DropsByCause,
    Links,
    Groups,
    /// Each warning once.
    Warnings,
}

impl TableName {
    pub const ALL: [(Self, &'static str); 9] = [
        (Self::Flows, "flows"),
        (Self::Series, "series"),
        (Self::Traces, "traces"),
        (Self::Aggregates, "aggregates"),
        (Self::Completion, "completion"),
        (Self::DropsByCause, "drops_by_cause"),
        (Self::Links, "links"),
        (Self::Groups, "groups"),
        (Self::Warnings, "warnings"),
    ];
}

enum Rows {
    File(Box<TableReader>, Box<Summary>),
    Traces(Box<TableReader>, Box<Summary>),
    Memory(Table),
}

/// A table of results to export. After the column `point` it has a column for each scenario key that differs between
/// points.
pub struct Export {
    /// Name, notes and columns, without rows.
    heading: Table,
    count: u64,
    rows: Rows,
}

impl Export {
    /// Opens a table of the results in a folder.
    pub fn open(folder: &Path, name: TableName) -> Result<Self, ReportError> {
        let summary = read_summary(folder)?;
        let table = match name {
            TableName::Flows => return Self::file(folder, FLOWS, summary),
            TableName::Series => return Self::file(folder, SERIES, summary),
            TableName::Traces => return Self::traces(folder, summary),
            TableName::Aggregates => aggregate_table(&summary),
            TableName::Completion => with_point_columns(&summary, completion_table(&summary)),
            TableName::DropsByCause => with_point_columns(&summary, drops_table(&summary)),
            TableName::Links => with_point_columns(&summary, links_table(&summary)),
            TableName::Groups => with_point_columns(&summary, groups_table(&summary)),
            TableName::Warnings => warnings_table(&summary),
        };
        Ok(Self { heading: table.heading(), count: table.rows() as u64, rows: Rows::Memory(table) })
    }

    fn file(folder: &Path, file: &str, summary: Summary) -> Result<Self, ReportError> {
        let reader = TableReader::open(folder.join(file))?;
        let heading = with_point_columns(&summary, reader.heading().clone());
        let count = reader.rows();
        Ok(Self { heading, count, rows: Rows::File(Box::new(reader), Box::new(summary)) })
    }

    fn traces(folder: &Path, summary: Summary) -> Result<Self, ReportError> {
        let (mut rows, mut count) = (TraceRows::default(), 0);
        for batch in TableReader::open(folder.join(SERIES))? {
            count += rows.push(&batch?).rows();
        }
        let last = rows.finish();
        let heading = with_point_columns(&summary, last.heading());
        let reader = TableReader::open(folder.join(SERIES))?;
        let rows = Rows::Traces(Box::new(reader), Box::new(summary));
        Ok(Self { heading, count: (count + last.rows()) as u64, rows })
    }

    /// Describes the table as JSON: the number of rows, and the name, type, unit (empty if none) and definition of each
    /// column.
    pub fn described(&self) -> Value {
        let column = |column: &Column| {
            json!({
                "name": column.name,
                "type": column.values.kind(),
                "unit": column.unit,
                "description": column.description,
            })
        };
        let columns: Vec<Value> = self.heading.columns.iter().map(column).collect();
        json!({ "rows": self.count, "columns": columns })
    }

    /// Writes a Parquet file atomically.
    pub fn to_parquet(self, path: &Path) -> Result<(), StoreError> {
        let mut writer = TableWriter::new(Draft::create(path)?, &self.heading)?;
        self.each(|batch| writer.push_batch(batch))?;
        publish([writer.finish()?])
    }

    /// Writes a CSV file atomically.
    pub fn to_csv_file(self, path: &Path) -> Result<(), StoreError> {
        let mut draft = Draft::create(path)?;
        self.to_csv(&mut draft)?;
        publish([draft])
    }

    /// Writes CSV, with the columns' names as the first line.
    pub fn to_csv(self, sink: impl Write) -> Result<(), StoreError> {
        let table = self.heading.name.clone();
        let failed = |why: csv::Error| StoreError::Unwritable { table: table.clone(), why: why.to_string() };
        let mut writer = csv::Writer::from_writer(sink);
        let names = self.heading.columns.iter().map(|column| printable(&column.name).into_owned());
        writer.write_record(names).map_err(failed)?;
        self.each(|batch| {
            (0..batch.rows()).try_for_each(|row| {
                let cells = batch.columns.iter().map(|column| cell(&column.values, row));
                writer.write_record(cells).map_err(failed)
            })
        })?;
        writer.flush().map_err(|why| failed(why.into()))
    }

    fn each(self, mut act: impl FnMut(&Table) -> Result<(), StoreError>) -> Result<(), StoreError> {
        match self.rows {
            Rows::Memory(table) => act(&table),
            Rows::File(reader, summary) => {
                for batch in *reader {
                    act(&with_point_columns(&summary, batch?))?;
                }
                Ok(())
            }
            Rows::Traces(reader, summary) => {
                let mut rows = TraceRows::default();
                for batch in *reader {
                    act(&with_point_columns(&summary, rows.push(&batch?)))?;
                }
                act(&with_point_columns(&summary, rows.finish()))
            }
        }
    }
}

fn cell(values: &Values, row: usize) -> String {
    fn number<T: ToString + Copy>(values: &[Option<T>], row: usize) -> String {
        values[row].map_or_else(String::new, |value| value.to_string())
    }
    match values {
        Values::F64(values) => number(values, row),
        Values::U64(values) => number(values, row),
        Values::I64(values) => number(values, row),
        Values::Bool(values) => number(values, row),
        Values::Text(text) => printable(text.row(row).unwrap_or_default()).into_owned(),
    }
}

fn warnings_table(summary: &Summary) -> Table {
    let runs = table::placed(summary);
    let found = warning_lines::warnings_and_places(&summary.points, &runs);
    let words: Text = found.iter().map(|(words, _)| Some(words.as_str())).collect();
    let places: Text = found.iter().map(|(_, place)| Some(place.as_str())).collect();
    let columns = vec![
        Column::new("warning", "", "What a reader should know before trusting the figures.", words),
        Column::new(
            "place",
            "",
            "The first run that has it and the number of such runs; empty if there is one run.",
            places,
        ),
    ];
    Table::new("warnings", columns)
}

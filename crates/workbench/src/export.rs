//! The tables of results, one by one, as Parquet or comma-separated values. Tables that are files of the results are
//! read and written batch by batch; the others are made of `summary.json`.

use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};
use shallop_results::{Summary, table, warning_lines};
use shallop_store::{
    Column, Draft, StoreError, Table, TableReader, TableWriter, Text, Values, publish,
};

use super::aggregate_tables::{aggregate_table, with_point_columns};
use super::completion_table::completion_table;
use super::link_tables::{groups_table, links_table};
use super::printable::printable;
use super::report::{ReportError, read_summary};
use super::results::{FLOWS, SERIES};
use super::tables::drops_table;

/// A table of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name {
    /// A row for each flow of each run.
    Flows,
    /// Queues and rates over time.
    Series,
    /// Means over seeds.
    Aggregates,
    /// Completion times by size.
    Completion,
    /// Causes of drops by port and class.
    DropsByCause,
    /// Links.
    Links,
    /// Groups of flows.
    Groups,
    /// Warnings, each once.
    Warnings,
}

impl Name {
    /// Every table, and its name.
    pub const ALL: [(Self, &'static str); 8] = [
        (Self::Flows, "flows"),
        (Self::Series, "series"),
        (Self::Aggregates, "aggregates"),
        (Self::Completion, "completion"),
        (Self::DropsByCause, "drops_by_cause"),
        (Self::Links, "links"),
        (Self::Groups, "groups"),
        (Self::Warnings, "warnings"),
    ];
}

/// The rows of a table.
enum Rows {
    /// In a file of the results.
    File(Box<TableReader>, Box<Summary>),
    /// In memory.
    Memory(Table),
}

/// A table to export: each key that differs between points has a column, after the column `point`.
pub struct Export {
    /// Name, notes and columns, without rows.
    heading: Table,
    count: u64,
    rows: Rows,
}

impl Export {
    /// A table of the results in a folder.
    ///
    /// # Errors
    /// If a file of the results is missing or damaged.
    pub fn open(folder: &Path, name: Name) -> Result<Self, ReportError> {
        let summary = read_summary(folder)?;
        let table = match name {
            Name::Flows => return Self::file(folder, FLOWS, summary),
            Name::Series => return Self::file(folder, SERIES, summary),
            Name::Aggregates => aggregate_table(&summary),
            Name::Completion => with_point_columns(&summary, completion_table(&summary)),
            Name::DropsByCause => with_point_columns(&summary, drops_table(&summary)),
            Name::Links => with_point_columns(&summary, links_table(&summary)),
            Name::Groups => with_point_columns(&summary, groups_table(&summary)),
            Name::Warnings => warnings_table(&summary),
        };
        Ok(Self { heading: table.heading(), count: table.rows() as u64, rows: Rows::Memory(table) })
    }

    fn file(folder: &Path, file: &str, summary: Summary) -> Result<Self, ReportError> {
        let reader = TableReader::open(folder.join(file))?;
        let heading = with_point_columns(&summary, reader.heading().clone());
        let count = reader.rows();
        Ok(Self { heading, count, rows: Rows::File(Box::new(reader), Box::new(summary)) })
    }

    /// The number of rows, and of each column the name, the type, the unit (empty without one) and the definition.
    #[must_use]
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

    /// Writes the table to a Parquet file, which appears whole or not at all.
    ///
    /// # Errors
    /// If a batch cannot be read, or the file cannot be written.
    pub fn to_parquet(self, path: &Path) -> Result<(), StoreError> {
        let mut writer = TableWriter::new(Draft::create(path)?, &self.heading)?;
        self.each(|batch| writer.push_batch(batch))?;
        publish([writer.finish()?])
    }

    /// Writes the table to a file of comma-separated values, which appears whole or not at all.
    ///
    /// # Errors
    /// As [`Export::to_csv`].
    pub fn to_csv_file(self, path: &Path) -> Result<(), StoreError> {
        let mut draft = Draft::create(path)?;
        self.to_csv(&mut draft)?;
        publish([draft])
    }

    /// Writes the table as comma-separated values, with a header of the columns' names.
    ///
    /// # Errors
    /// If a batch cannot be read, or `sink` fails.
    pub fn to_csv(self, sink: impl Write) -> Result<(), StoreError> {
        let table = self.heading.name.clone();
        let failed =
            |why: csv::Error| StoreError::Unwritable { table: table.clone(), why: why.to_string() };
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
        }
    }
}

/// A value as a cell: empty where it does not apply.
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

/// The warnings of all runs, each once.
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

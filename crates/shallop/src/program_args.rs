//! Command-line arguments for programs: message format, exports, schemas, completions.

use crate::messages::MessageFormat;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use clap_complete::Shell as ShellKind;
use shallop_workbench::export::TableName;
use std::path::PathBuf;

/// Options for programs that start the command (docs/messages.md).
#[derive(Debug, Args)]
pub struct ProgramOptions {
    /// The form of messages on standard error: text for people, JSON for programs (docs/messages.md)
    #[arg(long, value_name = "KIND", value_enum, default_value_t = MessageFormat::Text)]
    pub message_format: MessageFormat,
    /// End at once when standard input ends, for example because the program that started this command died; finished
    /// runs are kept
    #[arg(long)]
    pub end_with_stdin: bool,
}

#[derive(Debug, Args)]
pub struct Export {
    /// The folder that was given to --out
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// The table to write; without it, the tables are listed
    #[arg(long, value_name = "NAME", value_parser = table())]
    pub table: Option<TableName>,
    /// Write the table in this format
    #[arg(long, value_name = "KIND", value_enum, default_value_t = TableFormat::Csv)]
    pub format: TableFormat,
    /// The file to write; standard output unless given
    #[arg(long, value_name = "FILE", requires = "table", required_if_eq("format", "parquet"))]
    pub out: Option<PathBuf>,
    /// List the tables as JSON, with the unit and the definition of each column
    #[arg(long, conflicts_with_all = ["table", "format"])]
    pub json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TableFormat {
    /// CSV: comma-separated values
    Csv,
    /// Parquet, with the unit and the definition of each column in its metadata
    Parquet,
}

#[derive(Debug, Args)]
pub struct Schema {
    /// Print the JSON Schema of summary.json and of what --json prints, with the unit of every number
    #[arg(long, conflicts_with = "columns")]
    pub results: bool,
    /// Print the columns of flows.parquet and series.parquet, with their units, as JSON
    #[arg(long)]
    pub columns: bool,
    /// Print the JSON Schema of advise.json and of what advise --json prints
    #[arg(long, conflicts_with_all = ["results", "columns"])]
    pub advice: bool,
}

#[derive(Debug, Args)]
pub struct Completions {
    /// The shell to write the script for
    pub shell: ShellKind,
}

#[derive(Debug, Args)]
pub struct Man {
    /// The folder to write to, which must exist
    pub folder: PathBuf,
}

fn table() -> impl TypedValueParser<Value = TableName> {
    PossibleValuesParser::new(TableName::ALL.map(|(_, name)| name)).try_map(|word| {
        let found = TableName::ALL.into_iter().find(|(_, name)| *name == word);
        found.map(|(table, _)| table).ok_or("no such table")
    })
}

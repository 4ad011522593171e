//! `export`: writes a table of results, or lists the tables.

use crate::program_args::{self, TableFormat};
use crate::{args::PrintOptions, print};
use serde_json::{Map, Value};
use shallop_results::table::Grid;
use shallop_workbench::diagnostic::{Result, plain};
use shallop_workbench::export::{Export, TableName};
use std::io::{BufWriter, ErrorKind, StdoutLock, Write};

pub fn export(args: &program_args::Export) -> Result<()> {
    let Some(table) = args.table else { return list(args) };
    let table = Export::open(&args.folder, table).map_err(|why| plain(&why))?;
    match (&args.out, args.format) {
        (Some(path), TableFormat::Parquet) => table.to_parquet(path).map_err(|why| plain(&why)),
        (Some(path), TableFormat::Csv) => table.to_csv_file(path).map_err(|why| plain(&why)),
        (None, _) => table.to_csv(&mut Output::start()).map_err(|why| plain(&why)),
    }
}

/// Buffered standard output that ignores a closed pipe, as left by `head`.
struct Output {
    out: BufWriter<StdoutLock<'static>>,
    is_closed: bool,
}

impl Output {
    fn start() -> Self {
        Self { out: BufWriter::new(std::io::stdout().lock()), is_closed: false }
    }

    fn unless_closed<T>(&mut self, done: std::io::Result<T>, none: T) -> std::io::Result<T> {
        match done {
            Err(why) if why.kind() == ErrorKind::BrokenPipe => {
                self.is_closed = true;
                Ok(none)
            }
            other => other,
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.is_closed {
            return Ok(bytes.len());
        }
        let written = self.out.write(bytes);
        self.unless_closed(written, bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        if self.is_closed {
            return Ok(());
        }
        let flushed = self.out.flush();
        self.unless_closed(flushed, ())
    }
}

/// Prints the name, rows and columns of each table.
fn list(args: &program_args::Export) -> Result<()> {
    let mut all = Map::new();
    for (table, name) in TableName::ALL {
        let table = Export::open(&args.folder, table).map_err(|why| plain(&why))?;
        all.insert(name.to_owned(), table.described());
    }
    if args.json {
        return print::json(&Value::Object(all));
    }
    let mut rows = Vec::new();
    for (name, table) in &all {
        for column in table["columns"].as_array().into_iter().flatten() {
            let word = |key: &str| column[key].as_str().unwrap_or_default().to_owned();
            let (name, count) = (name.clone(), table["rows"].to_string());
            rows.push(vec![name, count, word("name"), word("unit"), word("description")]);
        }
    }
    print::grid(&Grid::new("table, rows, column, unit, definition", rows, 5), PrintOptions::default())
}

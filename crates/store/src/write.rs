//! Writes tables to Parquet files, in batches. Rows are gathered into row groups of one size, so that the bytes of a
//! file depend only on its rows and not on the batches. Memory holds one row group.

use crate::error::StoreError;
use crate::table::{Table, Values};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};
use parquet::{errors::ParquetError, file::metadata::KeyValue, file::properties::WriterProperties};
use serde_json::{Value, json};
use std::{io::Write, sync::Arc};

/// Name of the note in Parquet files that states the name of the table.
pub(crate) const NAME_NOTE: &str = "shallop_table";
/// Name of the note in Parquet files with the units and definitions of columns: a JSON object with a member for each
/// column, in their order: `{"fct_s":{"unit":"s","description":"Completion time."}}`. docs/results.md promises this
/// form to other programs.
pub(crate) const COLUMNS_NOTE: &str = "shallop_columns";
/// Names of notes that callers cannot use, because this crate writes them, or Arrow's libraries when they rewrite a
/// file.
pub(crate) const RESERVED_NOTES: [&str; 3] = [NAME_NOTE, COLUMNS_NOTE, "ARROW:schema"];
/// Key of a column's unit in [`COLUMNS_NOTE`]; its definition is under the next key.
pub(crate) const UNIT: &str = "unit";
pub(crate) const DESCRIPTION: &str = "description";

/// Compression of Parquet files: Snappy, because every Parquet library reads it and its encoder is pure Rust.
const COMPRESSION: Compression = Compression::SNAPPY;
/// The number of rows in each row group of a Parquet file but the last.
const ROW_GROUP: usize = 1 << 16;

/// Writes a Parquet file, batch by batch.
pub struct TableWriter<W: Write + Send> {
    /// Rows that were added and not written yet, less than a row group.
    gathered: Table,
    writer: SerializedFileWriter<W>,
}

impl<W: Write + Send> TableWriter<W> {
    /// Starts a file with the name, notes and columns of `heading`. Rows of `heading` are not written.
    ///
    /// # Errors
    /// [`StoreError::Twice`] if a name is repeated, [`StoreError::Unwritable`] if `sink` fails.
    pub fn new(sink: W, heading: &Table) -> Result<Self, StoreError> {
        let gathered = heading.heading();
        gathered.check()?;
        let writer = schema(&gathered)
            .and_then(|schema| SerializedFileWriter::new(sink, schema, properties(&gathered).into()))
            .map_err(|why| unwritable(&gathered, &why))?;
        Ok(Self { gathered, writer })
    }

    /// Adds the rows of `batch`, whose columns must be those of the file.
    ///
    /// # Errors
    /// [`StoreError::OtherColumns`], [`StoreError::Ragged`], and [`StoreError::Unwritable`] if the sink fails.
    pub fn push_batch(&mut self, batch: &Table) -> Result<(), StoreError> {
        batch.check()?;
        self.compare(batch)?;
        let (mut start, rows) = (0, batch.rows());
        while start < rows {
            let stop = rows.min(start + ROW_GROUP - self.gathered.rows());
            for (gathered, column) in self.gathered.columns.iter_mut().zip(&batch.columns) {
                gathered.values.extend(&column.values, start..stop);
            }
            start = stop;
            if self.gathered.rows() == ROW_GROUP {
                self.write_row_group()?;
            }
        }
        Ok(())
    }

    /// Writes the last row group, ends the file and returns the sink.
    ///
    /// # Errors
    /// [`StoreError::Unwritable`] if the sink fails.
    pub fn finish(mut self) -> Result<W, StoreError> {
        if self.gathered.rows() > 0 {
            self.write_row_group()?;
        }
        let Self { gathered, writer } = self;
        writer.into_inner().map_err(|why| unwritable(&gathered, &why))
    }

    fn write_row_group(&mut self) -> Result<(), StoreError> {
        encode(&mut self.writer, &self.gathered).map_err(|why| unwritable(&self.gathered, &why))?;
        self.gathered = self.gathered.heading();
        Ok(())
    }

    fn compare(&self, batch: &Table) -> Result<(), StoreError> {
        let (ours, theirs) = (&self.gathered.columns, &batch.columns);
        let differs = |&index: &usize| match (ours.get(index), theirs.get(index)) {
            (Some(ours), Some(theirs)) => !theirs.continues(ours),
            _ => true,
        };
        let Some(index) = (0..ours.len().max(theirs.len())).find(differs) else { return Ok(()) };
        let words = |table: &Table| match table.columns.get(index) {
            None => "no more columns".to_owned(),
            Some(column) => {
                let (name, unit, kind) = (&column.name, &column.unit, column.values.kind());
                format!("column {name} (unit \"{unit}\", {kind}, \"{}\")", column.description)
            }
        };
        Err(StoreError::OtherColumns {
            table: self.gathered.name.clone(),
            found: words(batch),
            expected: words(&self.gathered),
        })
    }
}

/// Encodes a table as a Parquet file. Equal tables give equal bytes.
///
/// # Errors
/// [`StoreError::Ragged`] or [`StoreError::Twice`] if the table is malformed.
pub fn to_parquet(table: &Table) -> Result<Vec<u8>, StoreError> {
    let mut writer = TableWriter::new(Vec::new(), table)?;
    writer.push_batch(table)?;
    writer.finish()
}

/// Writes the rows of a table as one row group.
fn encode<W: Write + Send>(writer: &mut SerializedFileWriter<W>, table: &Table) -> Result<(), ParquetError> {
    let mut group = writer.next_row_group()?;
    for column in &table.columns {
        let Some(mut writer) = group.next_column()? else { break };
        match &column.values {
            Values::F64(values) => write::<DoubleType>(&mut writer, values.iter().copied()),
            Values::U64(values) => {
                let signed = |value: &Option<u64>| value.map(u64::cast_signed);
                write::<Int64Type>(&mut writer, values.iter().map(signed))
            }
            Values::I64(values) => write::<Int64Type>(&mut writer, values.iter().copied()),
            Values::Bool(values) => write::<BoolType>(&mut writer, values.iter().copied()),
            Values::Text(text) => {
                let words: Vec<ByteArray> = text.words().map(ByteArray::from).collect();
                let word = |number: Option<usize>| number.map(|number| words[number].clone());
                write::<ByteArrayType>(&mut writer, text.numbers().map(word))
            }
        }?;
        writer.close()?;
    }
    group.close().map(drop)
}

/// Writes all rows of a column in the current row group.
fn write<T: DataType>(
    writer: &mut SerializedColumnWriter<'_>, rows: impl Iterator<Item = Option<T::T>>,
) -> Result<(), ParquetError> {
    // A definition level is 1 where there is a value, and 0 where there is none.
    let (mut levels, mut values) = (Vec::new(), Vec::new());
    for row in rows {
        levels.push(i16::from(row.is_some()));
        values.extend(row);
    }
    writer.typed::<T>().write_batch(&values, Some(&levels), None).map(drop)
}

fn schema(heading: &Table) -> Result<TypePtr, ParquetError> {
    let columns = heading.columns.iter().map(|column| {
        let (physical, logical) = match column.values {
            Values::F64(_) => (Physical::DOUBLE, None),
            Values::U64(_) => (Physical::INT64, Some(LogicalType::integer(64, false))),
            Values::I64(_) => (Physical::INT64, Some(LogicalType::integer(64, true))),
            Values::Bool(_) => (Physical::BOOLEAN, None),
            Values::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        Type::primitive_type_builder(&column.name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical)
            .build()
            .map(Arc::new)
    });
    let columns = columns.collect::<Result<_, _>>()?;
    Type::group_type_builder("schema").with_fields(columns).build().map(Arc::new)
}

fn properties(heading: &Table) -> WriterProperties {
    let name = KeyValue::new(NAME_NOTE.to_owned(), heading.name.clone());
    let meanings = heading.columns.iter().map(|column| {
        let meaning = json!({ UNIT: column.unit, DESCRIPTION: column.description });
        (column.name.clone(), meaning)
    });
    let meanings = Value::Object(meanings.collect()).to_string();
    let columns = KeyValue::new(COLUMNS_NOTE.to_owned(), meanings);
    let notes = heading.notes.iter().map(|(name, text)| KeyValue::new(name.clone(), text.clone()));
    WriterProperties::builder()
        .set_compression(COMPRESSION)
        .set_key_value_metadata(Some([name, columns].into_iter().chain(notes).collect()))
        .build()
}

fn unwritable(heading: &Table, why: &ParquetError) -> StoreError {
    StoreError::Unwritable { table: heading.name.clone(), why: why.to_string() }
}

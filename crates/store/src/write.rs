//! Writing tables to Parquet files in batches, with zstd compression. Rows are collected into chunks of one size, so
//! that the bytes of a file depend on its rows alone and not on the batches. Memory holds one chunk and the compressed
//! pages of one row group.

use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::builder::{
    BooleanBuilder, Float64Builder, Int64Builder, StringDictionaryBuilder, UInt64Builder,
};
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use serde_json::{Value, json};

use crate::error::StoreError;
use crate::table::{Table, Values};

/// The note with the name of the table.
pub(crate) const NAME_NOTE: &str = "shallop_table";
/// The note with the units and definitions of columns: a JSON object with a member for each column, in their order:
/// `{"fct_s":{"unit":"s","description":"Completion time."}}`. docs/results.md promises this form to other programs.
pub(crate) const COLUMNS_NOTE: &str = "shallop_columns";
/// Notes that the file itself needs. Arrow's is in files that other libraries rewrote.
pub(crate) const RESERVED_NOTES: [&str; 3] = [NAME_NOTE, COLUMNS_NOTE, "ARROW:schema"];
/// Keys of a column's unit and definition.
pub(crate) const UNIT: &str = "unit";
pub(crate) const DESCRIPTION: &str = "description";

/// Rows in a chunk, which is encoded at once. A row group is a whole number of chunks.
const CHUNK: usize = 1 << 16;
const ROW_GROUP: usize = 4 * CHUNK;

/// Writes one table, batch by batch.
pub struct TableWriter<W: Write + Send> {
    heading: Table,
    schema: SchemaRef,
    chunk: Vec<Builder>,
    gathered: usize,
    writer: ArrowWriter<W>,
}

impl<W: Write + Send> TableWriter<W> {
    /// Starts a file with the name, notes and columns of `heading`; its rows, if it has any, are not written.
    ///
    /// # Errors
    /// [`StoreError::Twice`] if a name is repeated, [`StoreError::Unwritable`] if `sink` fails.
    pub fn new(sink: W, heading: &Table) -> Result<Self, StoreError> {
        let heading = heading.heading();
        heading.check()?;
        let schema = schema(&heading);
        let writer = ArrowWriter::try_new(sink, Arc::clone(&schema), Some(properties(&heading)))
            .map_err(|why| unwritable(&heading, &why))?;
        let chunk = heading.columns.iter().map(|column| Builder::new(&column.values)).collect();
        Ok(Self { heading, schema, chunk, gathered: 0, writer })
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
            let stop = rows.min(start + CHUNK - self.gathered);
            for (builder, column) in self.chunk.iter_mut().zip(&batch.columns) {
                builder.append(&column.values, start..stop);
            }
            self.gathered += stop - start;
            start = stop;
            if self.gathered == CHUNK {
                self.encode()?;
            }
        }
        Ok(())
    }

    /// Ends the file and returns the sink.
    ///
    /// # Errors
    /// [`StoreError::Unwritable`] if the sink fails.
    pub fn finish(mut self) -> Result<W, StoreError> {
        if self.gathered > 0 {
            self.encode()?;
        }
        let Self { heading, writer, .. } = self;
        writer.into_inner().map_err(|why| unwritable(&heading, &why))
    }

    fn encode(&mut self) -> Result<(), StoreError> {
        let columns = self.chunk.iter_mut().map(Builder::finish).collect();
        self.gathered = 0;
        RecordBatch::try_new(Arc::clone(&self.schema), columns)
            .map_err(Into::into)
            .and_then(|chunk| self.writer.write(&chunk))
            .map_err(|why| unwritable(&self.heading, &why))
    }

    fn compare(&self, batch: &Table) -> Result<(), StoreError> {
        let (ours, theirs) = (&self.heading.columns, &batch.columns);
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
            table: self.heading.name.clone(),
            found: words(batch),
            expected: words(&self.heading),
        })
    }
}

/// The bytes of a table as Parquet. The same table gives the same bytes.
///
/// # Errors
/// [`StoreError::Ragged`] or [`StoreError::Twice`] if the table is malformed.
pub fn to_parquet(table: &Table) -> Result<Vec<u8>, StoreError> {
    let mut writer = TableWriter::new(Vec::new(), table)?;
    writer.push_batch(table)?;
    writer.finish()
}

/// The rows of a table as an Arrow batch.
pub(crate) fn to_batch(table: &Table) -> Result<RecordBatch, ArrowError> {
    let columns = table.columns.iter().map(|column| {
        let mut builder = Builder::new(&column.values);
        builder.append(&column.values, 0..column.values.len());
        builder.finish()
    });
    RecordBatch::try_new(schema(table), columns.collect())
}

/// The Arrow builder of a column, by type.
enum Builder {
    F64(Float64Builder),
    U64(UInt64Builder),
    I64(Int64Builder),
    Bool(BooleanBuilder),
    Text(StringDictionaryBuilder<Int32Type>),
}

impl Builder {
    fn new(kind: &Values) -> Self {
        match kind {
            Values::F64(_) => Self::F64(Float64Builder::new()),
            Values::U64(_) => Self::U64(UInt64Builder::new()),
            Values::I64(_) => Self::I64(Int64Builder::new()),
            Values::Bool(_) => Self::Bool(BooleanBuilder::new()),
            Values::Text(_) => Self::Text(StringDictionaryBuilder::new()),
        }
    }

    /// Adds these rows of `values`, which must be of the builder's kind.
    fn append(&mut self, values: &Values, rows: Range<usize>) {
        match (self, values) {
            (Self::F64(builder), Values::F64(values)) => {
                builder.extend(values[rows].iter().copied());
            }
            (Self::U64(builder), Values::U64(values)) => {
                builder.extend(values[rows].iter().copied());
            }
            (Self::I64(builder), Values::I64(values)) => {
                builder.extend(values[rows].iter().copied());
            }
            (Self::Bool(builder), Values::Bool(values)) => {
                builder.extend(values[rows].iter().copied());
            }
            (Self::Text(builder), Values::Text(text)) => {
                rows.for_each(|row| builder.append_option(text.row(row)));
            }
            _ => debug_assert!(false, "a batch is compared with the heading before it is added"),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::F64(builder) => Arc::new(builder.finish()),
            Self::U64(builder) => Arc::new(builder.finish()),
            Self::I64(builder) => Arc::new(builder.finish()),
            Self::Bool(builder) => Arc::new(builder.finish()),
            Self::Text(builder) => Arc::new(builder.finish()),
        }
    }
}

pub(crate) fn schema(heading: &Table) -> SchemaRef {
    let fields = heading.columns.iter().map(|column| {
        let kind = match column.values {
            Values::F64(_) => DataType::Float64,
            Values::U64(_) => DataType::UInt64,
            Values::I64(_) => DataType::Int64,
            Values::Bool(_) => DataType::Boolean,
            Values::Text(_) => {
                DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
            }
        };
        let meaning = [(UNIT, column.unit.as_str()), (DESCRIPTION, column.description.as_str())];
        Field::new(&column.name, kind, true).with_metadata(meaning)
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
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
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(ROW_GROUP))
        .set_key_value_metadata(Some([name, columns].into_iter().chain(notes).collect()))
        .build()
}

fn unwritable(heading: &Table, why: &parquet::errors::ParquetError) -> StoreError {
    StoreError::Unwritable { table: heading.name.clone(), why: why.to_string() }
}

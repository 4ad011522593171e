//! Reading tables from Parquet files that [`crate::write`] wrote.

use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, UInt64Type};
use arrow_array::{Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field};
use bytes::Bytes;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::file::reader::ChunkReader;

use crate::error::StoreError;
use crate::files;
use crate::table::{Column, Table, Text, Values};
use crate::write::{DESCRIPTION, NAME_NOTE, RESERVED_NOTES, UNIT};

/// A Parquet file that is read batch by batch. Each batch is a table, and memory is bounded by a batch.
pub struct TableReader {
    at: String,
    heading: Table,
    rows: u64,
    batches: ParquetRecordBatchReader,
}

/// Rows in a batch.
pub(crate) const BATCH: usize = 1 << 14;

impl TableReader {
    /// Opens a file.
    ///
    /// # Errors
    /// [`StoreError::File`] if it cannot be opened; else as [`from_parquet`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        Self::over(&path.display().to_string(), files::open(path)?)
    }

    /// Name, notes and columns of the table, without rows.
    #[must_use]
    pub fn heading(&self) -> &Table {
        &self.heading
    }

    /// The number of rows in all batches.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    fn over<T: ChunkReader + 'static>(at: &str, input: T) -> Result<Self, StoreError> {
        let builder =
            ParquetRecordBatchReaderBuilder::try_new(input).map_err(|why| unreadable(at, &why))?;
        let pairs = builder.metadata().file_metadata().key_value_metadata().cloned();
        let mut notes = pairs.unwrap_or_default().into_iter().map(|pair| {
            let text = pair.value.unwrap_or_default();
            (pair.key, text)
        });
        let (own, notes): (Vec<_>, Vec<_>) =
            notes.by_ref().partition(|note| RESERVED_NOTES.contains(&note.0.as_str()));
        let name = own.into_iter().find(|note| note.0 == NAME_NOTE).map(|note| note.1);
        let fields = builder.schema().fields().clone();
        let columns = fields.iter().map(|field| heading(at, field)).collect::<Result<_, _>>()?;
        let heading = Table { name: name.unwrap_or_default(), notes, columns };
        let rows = builder.metadata().file_metadata().num_rows().try_into().unwrap_or(0);
        let batches = builder.with_batch_size(BATCH).build().map_err(|why| unreadable(at, &why))?;
        Ok(Self { at: at.to_owned(), heading, rows, batches })
    }
}

impl Iterator for TableReader {
    type Item = Result<Table, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.batches.next()?;
        Some(batch.map_err(|why| unreadable(&self.at, &why)).map(|batch| {
            let mut table = self.heading.clone();
            append(&mut table, &batch);
            table
        }))
    }
}

/// The table in a Parquet file.
///
/// # Errors
/// [`StoreError::File`] if the file cannot be opened; else as [`from_parquet`].
pub fn read_table(path: impl AsRef<Path>) -> Result<Table, StoreError> {
    whole(TableReader::open(path)?)
}

/// The table in these bytes; `at` is their origin, for errors.
///
/// # Errors
/// [`StoreError::Unreadable`] if they are no Parquet, [`StoreError::UnknownKind`] if a column has a type that
/// shallop does not write.
pub fn from_parquet(at: &str, bytes: Vec<u8>) -> Result<Table, StoreError> {
    whole(TableReader::over(at, Bytes::from(bytes))?)
}

fn whole(reader: TableReader) -> Result<Table, StoreError> {
    let TableReader { at, heading: mut table, batches, .. } = reader;
    for batch in batches {
        append(&mut table, &batch.map_err(|why| unreadable(&at, &why))?);
    }
    Ok(table)
}

pub(crate) fn unreadable(at: &str, why: &dyn std::fmt::Display) -> StoreError {
    StoreError::Unreadable { at: at.to_owned(), why: why.to_string() }
}

/// An empty column for a field of the file.
fn heading(at: &str, field: &Field) -> Result<Column, StoreError> {
    let values = match field.data_type() {
        DataType::Float64 => Values::F64(Vec::new()),
        DataType::UInt64 => Values::U64(Vec::new()),
        DataType::Int64 => Values::I64(Vec::new()),
        DataType::Boolean => Values::Bool(Vec::new()),
        DataType::Dictionary(key, value)
            if (&**key, &**value) == (&DataType::Int32, &DataType::Utf8) =>
        {
            Values::Text(Text::default())
        }
        other => {
            let (at, column, kind) = (at.to_owned(), field.name().clone(), other.to_string());
            return Err(StoreError::UnknownKind { at, column, kind });
        }
    };
    let meaning = |key| field.metadata().get(key).map_or("", String::as_str);
    Ok(Column::new(field.name(), meaning(UNIT), meaning(DESCRIPTION), values))
}

fn append(table: &mut Table, batch: &RecordBatch) {
    for (column, array) in table.columns.iter_mut().zip(batch.columns()) {
        match &mut column.values {
            Values::F64(values) => values.extend(array.as_primitive::<Float64Type>()),
            Values::U64(values) => values.extend(array.as_primitive::<UInt64Type>()),
            Values::I64(values) => values.extend(array.as_primitive::<Int64Type>()),
            Values::Bool(values) => values.extend(array.as_boolean()),
            Values::Text(text) => {
                let array = array.as_dictionary::<Int32Type>();
                match array.downcast_dict::<StringArray>() {
                    Some(words) => text.extend(words),
                    None => debug_assert!(
                        false,
                        "the file's schema was checked: {:?}",
                        array.data_type()
                    ),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::Int32Array;
    use parquet::arrow::ArrowWriter;

    use super::*;

    #[test]
    fn a_column_of_another_kind_is_named_with_what_is_allowed() {
        let column = Arc::new(Int32Array::from(vec![1, 2])) as Arc<dyn Array>;
        let batch = RecordBatch::try_from_iter([("port", column)]).unwrap();
        let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        let error = from_parquet("theirs.parquet", writer.into_inner().unwrap()).unwrap_err();
        let text = error.to_string();
        assert!(
            text.starts_with("theirs.parquet: column port holds Int32; allowed are "),
            "{text}"
        );
    }
}

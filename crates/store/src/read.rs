//! Reads tables from Parquet files that [`crate::write`] wrote.

use crate::table::{Column, Table, Text, Values};
use crate::write::{COLUMNS_NOTE, DESCRIPTION, NAME_NOTE, RESERVED_NOTES, UNIT};
use crate::{error::StoreError, files};
use bytes::Bytes;
use parquet::basic::{CompressionCodec, LogicalType, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;
use parquet::{data_type::DataType, errors::ParquetError};
use serde_json::{Map, Value};
use std::path::Path;

/// A Parquet file that is read batch by batch. Each batch is a table, so that memory is bounded by one batch.
pub struct TableReader {
    at: String,
    heading: Table,
    rows: u64,
    file: Box<dyn FileReader>,
    /// Index of the row group that is read next.
    next_group: usize,
    /// Readers of the columns in the current row group.
    columns: Vec<ColumnReader>,
    /// Rows of the current row group that have not been read.
    left: usize,
}

/// The most rows in a batch that is read.
const BATCH: usize = 1 << 14;

impl TableReader {
    /// Opens a Parquet file and reads its heading.
    ///
    /// # Errors
    /// [`StoreError::File`] if it cannot be opened; else as [`from_parquet`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        Self::over(&path.display().to_string(), files::open(path)?)
    }

    /// A table with the name, notes and columns of the file, but no rows.
    pub fn heading(&self) -> &Table {
        &self.heading
    }

    pub fn rows(&self) -> u64 {
        self.rows
    }

    fn over<T: ChunkReader + 'static>(at: &str, input: T) -> Result<Self, StoreError> {
        let file = SerializedFileReader::new(input).map_err(|why| unreadable(at, &why))?;
        check_compression(at, file.metadata())?;
        let about = file.metadata().file_metadata();
        let mut heading = Table { name: String::new(), notes: Vec::new(), columns: Vec::new() };
        let mut meanings = Map::new();
        for pair in about.key_value_metadata().into_iter().flatten() {
            let text = pair.value.clone().unwrap_or_default();
            match pair.key.as_str() {
                NAME_NOTE => heading.name = text,
                COLUMNS_NOTE => {
                    meanings = serde_json::from_str(&text)
                        .map_err(|why| unreadable(at, &format!("its note {COLUMNS_NOTE}: {why}")))?;
                }
                key if RESERVED_NOTES.contains(&key) => {}
                key => heading.notes.push((key.to_owned(), text)),
            }
        }
        let columns = about.schema_descr().columns().iter();
        heading.columns = columns.map(|column| empty_column(at, column, &meanings)).collect::<Result<_, _>>()?;
        let rows = about.num_rows().try_into().unwrap_or(0);
        let (at, file) = (at.to_owned(), Box::new(file));
        Ok(Self { at, heading, rows, file, next_group: 0, columns: Vec::new(), left: 0 })
    }

    /// Adds the rows of the next batch to `table`. Returns their number, which is 0 after the last row.
    fn read(&mut self, table: &mut Table) -> Result<usize, ParquetError> {
        while self.left == 0 {
            if self.next_group == self.file.num_row_groups() {
                return Ok(0);
            }
            let group = self.file.get_row_group(self.next_group)?;
            self.next_group += 1;
            self.left = group.metadata().num_rows().try_into()?;
            let columns = (0..group.num_columns()).map(|column| group.get_column_reader(column));
            self.columns = columns.collect::<Result<_, _>>()?;
        }
        let rows = self.left.min(BATCH);
        for (column, reader) in table.columns.iter_mut().zip(&mut self.columns) {
            extend(&mut column.values, reader, rows)?;
        }
        self.left -= rows;
        Ok(rows)
    }
}

impl Iterator for TableReader {
    type Item = Result<Table, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut table = self.heading.clone();
        match self.read(&mut table) {
            Ok(0) => None,
            Ok(_) => Some(Ok(table)),
            Err(why) => {
                // Rows after the damage are not read.
                (self.left, self.next_group) = (0, self.file.num_row_groups());
                Some(Err(unreadable(&self.at, &why)))
            }
        }
    }
}

/// Reads all rows of a Parquet file.
///
/// # Errors
/// [`StoreError::File`] if the file cannot be opened; else as [`from_parquet`].
pub fn read_table(path: impl AsRef<Path>) -> Result<Table, StoreError> {
    whole(TableReader::open(path)?)
}

/// Decodes a table from the bytes of a Parquet file. `at` names their origin in errors.
///
/// # Errors
/// [`StoreError::Unreadable`] if they are no Parquet, [`StoreError::UnknownKind`] if a column has a type that
/// shallop does not write.
pub fn from_parquet(at: &str, bytes: Vec<u8>) -> Result<Table, StoreError> {
    whole(TableReader::over(at, Bytes::from(bytes))?)
}

fn whole(mut reader: TableReader) -> Result<Table, StoreError> {
    let mut table = reader.heading.clone();
    while reader.read(&mut table).map_err(|why| unreadable(&reader.at, &why))? > 0 {}
    Ok(table)
}

fn unreadable(at: &str, why: &dyn std::fmt::Display) -> StoreError {
    StoreError::Unreadable { at: at.to_owned(), why: why.to_string() }
}

fn check_compression(at: &str, file: &ParquetMetaData) -> Result<(), StoreError> {
    use CompressionCodec::{SNAPPY, UNCOMPRESSED};
    let chunks = file.row_groups().iter().flat_map(RowGroupMetaData::columns);
    let mut codecs = chunks.map(ColumnChunkMetaData::compression_codec);
    match codecs.find(|codec| !matches!(codec, SNAPPY | UNCOMPRESSED)) {
        None => Ok(()),
        Some(codec) => {
            let (at, codec) = (at.to_owned(), format!("{codec:?}").to_lowercase());
            Err(StoreError::OtherCompression { at, codec })
        }
    }
}

/// Makes a column as the file describes it, without rows. If the file lacks [`COLUMNS_NOTE`], its columns have no
/// units.
fn empty_column(at: &str, column: &ColumnDescriptor, meanings: &Map<String, Value>) -> Result<Column, StoreError> {
    let name = column.path().string();
    let (physical, logical) = (column.physical_type(), column.logical_type_ref());
    let alone = column.path().parts().len() == 1;
    let flat = alone && column.max_rep_level() == 0 && column.max_def_level() <= 1;
    let values = match (physical, logical) {
        (Physical::DOUBLE, None) if flat => Values::F64(Vec::new()),
        (Physical::INT64, Some(LogicalType::Integer(of))) if flat && !of.is_signed => Values::U64(Vec::new()),
        (Physical::INT64, None | Some(LogicalType::Integer(_))) if flat => Values::I64(Vec::new()),
        (Physical::BOOLEAN, None) if flat => Values::Bool(Vec::new()),
        (Physical::BYTE_ARRAY, Some(LogicalType::String)) if flat => Values::Text(Text::default()),
        _ => {
            let logical = logical.map_or(String::new(), |logical| format!(" as {logical:?}"));
            let (at, nested) = (at.to_owned(), if flat { "" } else { "groups or lists of " });
            let kind = format!("{nested}{physical}{logical}");
            return Err(StoreError::UnknownKind { at, column: name, kind });
        }
    };
    let meaning = |key: &str| meanings.get(&name).and_then(|of| of[key].as_str()).unwrap_or("");
    Ok(Column::new(&name, meaning(UNIT), meaning(DESCRIPTION), values))
}

/// Reads the next `rows` rows of a column and adds them to `all`.
fn extend(all: &mut Values, reader: &mut ColumnReader, rows: usize) -> Result<(), ParquetError> {
    match (all, reader) {
        (Values::F64(all), ColumnReader::DoubleColumnReader(reader)) => {
            all.extend(read(reader, rows)?);
        }
        (Values::U64(all), ColumnReader::Int64ColumnReader(reader)) => {
            all.extend(read(reader, rows)?.map(|value| value.map(i64::cast_unsigned)));
        }
        (Values::I64(all), ColumnReader::Int64ColumnReader(reader)) => {
            all.extend(read(reader, rows)?);
        }
        (Values::Bool(all), ColumnReader::BoolColumnReader(reader)) => {
            all.extend(read(reader, rows)?);
        }
        (Values::Text(all), ColumnReader::ByteArrayColumnReader(reader)) => {
            for word in read(reader, rows)? {
                all.push(word.as_ref().map(|word| word.as_utf8()).transpose()?);
            }
        }
        _ => return Err(ParquetError::General("a column has two types".to_owned())),
    }
    Ok(())
}

/// Reads the next `rows` rows of a column.
fn read<T: DataType>(
    reader: &mut ColumnReaderImpl<T>, rows: usize,
) -> Result<impl Iterator<Item = Option<T::T>> + use<T>, ParquetError> {
    let (mut levels, mut values) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
    let (found, ..) = reader.read_records(rows, Some(&mut levels), None, &mut values)?;
    if found != rows {
        return Err(ParquetError::EOF(format!("a column lacks {} rows", rows - found)));
    }
    // Columns that cannot have nulls have no definition levels.
    levels.resize(rows, 1);
    let mut values = values.into_iter();
    Ok(levels.into_iter().map(move |level| (level == 1).then(|| values.next()).flatten()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::basic::{Compression, ZstdLevel};
    use parquet::{file::writer::SerializedFileWriter, schema::parser::parse_message_type};
    use std::sync::Arc;

    /// Makes a Parquet file without rows; `columns` are given in Parquet's notation.
    fn file(columns: &str) -> Vec<u8> {
        let schema = parse_message_type(&format!("message schema {{ {columns} }}")).unwrap();
        let writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::default());
        writer.unwrap().into_inner().unwrap()
    }

    #[test]
    fn a_column_of_another_kind_is_named_with_what_is_allowed() {
        for (column, kind) in [
            ("optional int32 port;", "INT32"),
            ("optional binary port;", "BYTE_ARRAY"),
            ("repeated double port;", "groups or lists of DOUBLE"),
        ] {
            let error = from_parquet("theirs.parquet", file(column)).unwrap_err().to_string();
            let start = format!("theirs.parquet: column port holds {kind}; allowed are ");
            assert!(error.starts_with(&start), "{error}");
        }
    }
    #[test]
    fn a_file_that_an_earlier_version_compressed_is_named_with_what_to_do() {
        let bytes = Bytes::from(file("optional double fct_s;"));
        let file = SerializedFileReader::new(bytes).unwrap();
        let schema = file.metadata().file_metadata().schema_descr_ptr();
        let zstd = Compression::ZSTD(ZstdLevel::default());
        let column = ColumnChunkMetaData::builder(schema.column(0)).set_compression(zstd);
        let group = RowGroupMetaData::builder(schema).add_column_metadata(column.build().unwrap());
        let metadata = file.metadata().clone().into_builder();
        let metadata = metadata.add_row_group(group.build().unwrap()).build();
        let error = check_compression("flows.parquet", &metadata).unwrap_err().to_string();
        assert!(error.starts_with("flows.parquet: compressed with zstd; "), "{error}");
        assert!(check_compression("flows.parquet", file.metadata()).is_ok());
    }
}

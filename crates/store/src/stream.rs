//! Tables as Arrow C streams, for libraries of other languages in the same process.

use std::path::Path;
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use bytes::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::reader::ChunkReader;

use crate::error::StoreError;
use crate::files;
use crate::read::{BATCH, TableReader, unreadable};
use crate::table::Table;
use crate::write::{schema, to_batch, to_parquet};

/// The name of a Python capsule with a stream, by the Arrow `PyCapsule` interface.
pub const CAPSULE: &std::ffi::CStr = c"arrow_array_stream";

/// A stream of batches with the layout of the Arrow C stream interface. Its consumer calls `release`; a stream without
/// a consumer is released when it is dropped.
#[repr(transparent)]
pub struct Stream(FFI_ArrowArrayStream);

impl Stream {
    /// The rows of a Parquet file, read on demand. Names, units and definitions of columns are in the metadata of the
    /// fields.
    ///
    /// # Errors
    /// [`StoreError::File`] if it cannot be opened, [`StoreError::Unreadable`] if it is no Parquet.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        Self::over(&path.display().to_string(), files::open(path)?)
    }

    /// The rows of a table in memory, with the same metadata.
    ///
    /// # Errors
    /// As [`to_parquet`].
    pub fn of_table(table: &Table) -> Result<Self, StoreError> {
        Self::over(&table.name, Bytes::from(to_parquet(table)?))
    }

    /// The rows of a Parquet file, each batch changed by `map`, which gives all batches the same columns.
    ///
    /// # Errors
    /// As [`Stream::open`].
    pub fn mapped(
        path: impl AsRef<Path>,
        map: impl Fn(Table) -> Table + Send + 'static,
    ) -> Result<Self, StoreError> {
        let reader = TableReader::open(path)?;
        let schema = schema(&map(reader.heading().clone()));
        Ok(Self(FFI_ArrowArrayStream::new(Box::new(Mapped { reader, schema, map }))))
    }

    fn over<T: ChunkReader + 'static>(at: &str, input: T) -> Result<Self, StoreError> {
        let complain = |why: parquet::errors::ParquetError| unreadable(at, &why);
        let builder = ParquetRecordBatchReaderBuilder::try_new(input).map_err(complain)?;
        let reader = builder.with_batch_size(BATCH).build().map_err(complain)?;
        Ok(Self(FFI_ArrowArrayStream::new(Box::new(reader))))
    }
}

/// The batches of a file after a change.
struct Mapped<F> {
    reader: TableReader,
    schema: SchemaRef,
    map: F,
}

impl<F: Fn(Table) -> Table> Iterator for Mapped<F> {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.reader.next()?.map_err(|why| ArrowError::ExternalError(Box::new(why)));
        Some(batch.and_then(|batch| to_batch(&(self.map)(batch))))
    }
}

impl<F: Fn(Table) -> Table> RecordBatchReader for Mapped<F> {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

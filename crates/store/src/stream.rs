//! Tables for whoever takes Arrow's C streams: another language's library in this process.

use std::path::Path;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::error::StoreError;
use crate::files;
use crate::read::{BATCH, unreadable};

/// The name that Arrow gives a Python capsule with a stream in it.
pub const CAPSULE: &std::ffi::CStr = c"arrow_array_stream";

/// A stream of batches, laid out as Arrow's C stream interface says. Whoever takes it over calls its `release`; if
/// nobody does, it is released when it is dropped.
#[repr(transparent)]
pub struct Stream(FFI_ArrowArrayStream);

impl Stream {
    /// The rows of a Parquet file, read as they are asked for. Names, units and definitions of columns are in the
    /// fields' metadata.
    ///
    /// # Errors
    /// [`StoreError::File`] if it cannot be opened, [`StoreError::Unreadable`] if it is no Parquet.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        let complain =
            |why: parquet::errors::ParquetError| unreadable(&path.display().to_string(), &why);
        let builder =
            ParquetRecordBatchReaderBuilder::try_new(files::open(path)?).map_err(complain)?;
        let reader = builder.with_batch_size(BATCH).build().map_err(complain)?;
        Ok(Self(FFI_ArrowArrayStream::new(Box::new(reader))))
    }
}

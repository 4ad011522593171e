//! Tables as Arrow C streams.

use std::sync::Arc;

use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchReader, UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use shallop_store::{StoreError, Table, Values};

/// The name of a Python capsule with a stream, by the Arrow `PyCapsule` interface.
pub const CAPSULE: &std::ffi::CStr = c"arrow_array_stream";

/// A stream of batches with the layout of the Arrow C stream interface. Its consumer calls `release`; a stream without
/// a consumer is released when it is dropped.
#[repr(transparent)]
pub struct Stream(FFI_ArrowArrayStream);

impl Stream {
    /// The batches of a table with the columns of `heading`.
    pub fn new(
        heading: &Table,
        batches: impl Iterator<Item = Result<Table, StoreError>> + Send + 'static,
    ) -> Self {
        let batches = Batches { schema: schema(heading), batches };
        Self(FFI_ArrowArrayStream::new(Box::new(batches)))
    }
}

struct Batches<B> {
    schema: SchemaRef,
    batches: B,
}

impl<B: Iterator<Item = Result<Table, StoreError>>> Iterator for Batches<B> {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.batches.next()?.map_err(|why| ArrowError::ExternalError(Box::new(why)));
        Some(batch.and_then(|batch| {
            let columns = batch.columns.iter().map(|column| array(&column.values)).collect();
            RecordBatch::try_new(Arc::clone(&self.schema), columns)
        }))
    }
}

impl<B: Iterator<Item = Result<Table, StoreError>>> RecordBatchReader for Batches<B> {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

fn array(values: &Values) -> ArrayRef {
    match values {
        Values::F64(values) => Arc::new(Float64Array::from(values.clone())),
        Values::U64(values) => Arc::new(UInt64Array::from(values.clone())),
        Values::I64(values) => Arc::new(Int64Array::from(values.clone())),
        Values::Bool(values) => Arc::new(BooleanArray::from(values.clone())),
        Values::Text(text) => {
            let mut builder = StringDictionaryBuilder::<Int32Type>::new();
            text.iter().for_each(|word| builder.append_option(word));
            Arc::new(builder.finish())
        }
    }
}

fn schema(heading: &Table) -> SchemaRef {
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
        let meaning =
            [("unit", column.unit.as_str()), ("description", column.description.as_str())];
        Field::new(&column.name, kind, true).with_metadata(meaning)
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

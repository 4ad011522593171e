//! Types of values, with their bounds, that several sections use.

use shallop_core::Bytes;
use shallop_options::ValueType;

/// A size in bytes from 1 B to 1 TB.
pub(super) const SOME: ValueType = ValueType::Size(Bytes::new(1), Bytes::new(1_000_000_000_000));

/// The payload of a flow, in bytes.
pub(super) const FLOW_SIZE: ValueType = ValueType::Size(Bytes::new(1), Bytes::new(1_000_000_000_000_000));

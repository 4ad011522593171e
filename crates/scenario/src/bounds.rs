//! Bounds that keys of several sections have.

use shallop_core::Bytes;
use shallop_options::ValueType;

/// A number of bytes, at least 1.
pub(super) const SOME: ValueType = ValueType::Size(Bytes::new(1), Bytes::new(1_000_000_000_000));

/// The payload of a flow.
pub(super) const FLOW_SIZE: ValueType =
    ValueType::Size(Bytes::new(1), Bytes::new(1_000_000_000_000_000));

//! What results say about the set-up: values derived from the scenario, the schemes, and the size classes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A value that follows from the scenario, such as the base round-trip time or the load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DerivedValue {
    /// What the value is, in words.
    pub what: String,
    /// The value as text, with its unit.
    pub value: String,
    /// The formula or origin of the value, as text; may be empty.
    pub how: String,
}

/// The label and the transport of a scheme.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SchemeInfo {
    /// The label of the scheme in tables and figures.
    pub name: String,
    /// The transport and its options, as text.
    pub transport: String,
}

/// The bounds of the size classes of flows: small, medium and large.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SizeClasses {
    /// The largest payload of a small flow, in bytes.
    pub small_bytes: u64,
    /// The largest payload of a medium flow, in bytes.
    pub large_bytes: u64,
}

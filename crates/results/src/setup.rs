//! The description of the setup in the results: derived values of the network and its traffic, the schemes, and the
//! size classes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A derived value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DerivedValue {
    /// The name of the value.
    pub what: String,
    /// The value with its unit.
    pub value: String,
    /// The formula or origin of the value; may be empty.
    pub how: String,
}

/// A scheme that was run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SchemeInfo {
    /// The label.
    pub name: String,
    /// The transport, as text.
    pub transport: String,
}

/// The size classes of flows, by payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SizeClasses {
    /// The largest payload of a small flow.
    pub small_bytes: u64,
    /// The largest payload of a medium flow.
    pub large_bytes: u64,
}

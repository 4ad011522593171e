//! The results of one link in one run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One direction of a link: the port from which it is sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Link {
    /// The name of the sending port, `FROM>TO`: the two nodes that the link joins. Parallel links have a number each,
    /// `FROM>TO#2`.
    pub place: String,
    /// The rate of the link at the start of the run, in bits per second.
    pub rate_bps: u64,
    /// The mean payload offered to the link, as a fraction of its rate. It is the sum over random arrivals, while flows
    /// arrive, and over the rows of traces that start within the duration. Flows of other kinds are left out; null if
    /// there are no random arrivals and no traces, or too many pairs of hosts to sum.
    #[schemars(extend("unit" = "fraction"))]
    pub offered: Option<f64>,
    /// The bits sent over the link, as a fraction of what it could carry in the run.
    pub utilization: f64,
    /// The bits sent over all parallel links of these two nodes in this direction, as a fraction of what they could
    /// carry together in the run; null without a parallel link.
    #[schemars(extend("unit" = "fraction"))]
    #[serde(default)]
    pub bundle_utilization: Option<f64>,
    /// Data packets dropped at the port or lost on the wire, as a fraction of those offered to the port.
    pub loss_rate: f64,
    /// Packets that the port marked CE (congestion experienced).
    pub marks: u64,
    /// The maximum length of the port's data queue, in bytes on the wire; null for a host's link, as packets wait
    /// inside the host.
    pub max_queue_bytes: Option<u64>,
}

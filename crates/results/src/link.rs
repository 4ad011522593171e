//! A link in the results of a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One direction of a link: the port from which it is sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Link {
    /// The port, named by the nodes from and to which it leads.
    pub place: String,
    /// The rate, at the start of the run.
    pub rate_bps: u64,
    /// The payload offered to the link on average, as a fraction of its rate: by random arrivals while flows arrive,
    /// and by the rows of traces that start within the duration, over the duration. Other flows offer no amount over
    /// time and are left out; null if there are no others, or too many pairs of hosts to sum.
    #[schemars(extend("unit" = "fraction"))]
    pub offered: Option<f64>,
    /// The bits it sent, as a fraction of what it could carry in the run.
    pub utilization: f64,
    /// Data packets dropped at the port or lost on the wire, as a fraction of those offered to the port.
    pub loss_rate: f64,
    /// Packets that the port marked congestion-experienced.
    pub marks: u64,
    /// The maximum length of its data queue, in bytes on the wire; null for a host's link, whose packets wait in the
    /// host.
    pub max_queue_bytes: Option<u64>,
}

//! SONiC and Cumulus Linux. What their configurations have in common is in code; tables in `tables` list the path of
//! each setting, with the kind and the range of its value.
//!
//! | column | contents |
//! |---|---|
//! | section, field | name of the setting; or, in place of a section, why the setting gives nothing |
//! | kind, from, to | `integer`, `list` of numbers, `ports`, `text`, or the words that are allowed: off before on |
//! | path | keys that lead to the setting; the first path of a setting is the one that is written |

use crate::leaves::{conf, yaml};
use crate::model::Device;
use crate::text::{Imported, NotThis, Written};
use crate::{read, write};

/// Size on the wire of all packets of a queue that is shaped by packets: credits.
pub const CREDIT: u64 = 84;
/// The profile of interfaces that have no other.
pub const GLOBAL: &str = "default-global";

/// A form of configurations, with what it can express.
pub struct System {
    pub list: &'static str,
    /// Whether maps of DSCP hold without a setting that says so.
    pub trusted: bool,
    /// Whether a profile is of one queue, and not of all queues of a port.
    pub of_queues: bool,
    /// Exponents of the powers of two that alpha may be.
    pub alpha: [i32; 2],
    /// Steps of rates, in bit/s.
    pub step: u64,
    pub bursts: bool,
}

const SONIC: System = System {
    list: include_str!("tables/sonic.csv"),
    trusted: true,
    of_queues: true,
    alpha: [-7, 3],
    step: 8,
    bursts: true,
};
const NVUE: System = System {
    list: include_str!("tables/nvue.csv"),
    trusted: false,
    of_queues: false,
    alpha: [-7, 6],
    step: 1000,
    bursts: false,
};
const FILES: System = System { list: include_str!("tables/cumulus.csv"), ..NVUE };

/// config_db.json of SONiC. JSON has no comments: derivations are notes.
pub fn write_sonic(device: &Device) -> Written {
    let (tree, mut out) = write::tree(&SONIC, device);
    tree.json(&mut out);
    device.hosts.iter().for_each(|host| out.derived("hosts", host));
    out
}

/// YAML of NVUE, for Cumulus Linux 5.11 or later, whose name for pools it uses.
pub fn write_cumulus(device: &Device) -> Written {
    let (tree, mut out) = write::tree(&NVUE, device);
    device.hosts.iter().for_each(|host| out.line(format_args!("# hosts: {host}")));
    tree.yaml(&mut out);
    out
}

/// Reads config_db.json, or some of its tables.
///
/// # Errors
/// Text that is not JSON, and what the orchestration agent rejects: values of a wrong kind or out of range, fields
/// that it does not know, references to entries that do not exist, thresholds in the wrong order.
pub fn read_sonic(text: &str) -> Result<Imported, NotThis> {
    serde_json::from_str::<serde_json::Value>(text)
        .map_err(|error| NotThis { line: error.line().max(1), reason: format!("not JSON: {error}") })?;
    read::read(&SONIC, &yaml(text)?, &[])
}

/// Reads YAML of NVUE, or `qos_features.conf` (5.x) and `traffic.conf` (4.3): lines `KEY = VALUE`.
///
/// # Errors
/// Text of neither form, values of a wrong kind or out of range, profiles that do not exist.
pub fn read_cumulus(text: &str) -> Result<Imported, NotThis> {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#')).unwrap_or("");
    if first.find('=').is_some_and(|at| !first[..at].contains([':', '{'])) {
        return read::read(&FILES, &conf(text)?, &[]);
    }
    read::read(&NVUE, &yaml(text)?, &yaml(include_str!("tables/nvue-defaults.yaml"))?)
}

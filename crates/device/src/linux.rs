//! `SONiC` (`config_db.json`) and Cumulus Linux: YAML of NVUE (5.x), written and read, and the lines of
//! `qos_features.conf` (5.x) and `traffic.conf` (4.3), read. Texts are templates; `linux/*.csv` lists the path of each
//! setting that is read:
//!
//! | column | contents |
//! |---|---|
//! | section, field | name of the setting; or, in place of a section, why the setting gives nothing |
//! | kind, from, to | `integer`, two of them (`pair`), `list` of them, `ports`, `text`, or the words that are allowed |
//! | path | keys that lead to it. `*`: the name of a profile, `#N`: numbers up to N, `@`: interfaces |

mod leaves;
mod read;
mod write;

pub use read::read;
pub use write::write;

/// Size on the wire of all packets of a queue that is shaped by packets: credits.
const CREDIT: u64 = 84;

/// Memory that a packet of this size on the wire occupies: cells, without preamble and gap.
fn stored(packet: u64, cell: u64) -> u64 {
    packet.saturating_sub(20).max(1).next_multiple_of(cell.max(1))
}

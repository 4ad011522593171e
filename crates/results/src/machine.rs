//! What a machine can do, and how the simulator's switches treat the packets on a tape: results outside of
//! `summary.json`.

use crate::summary::Run;
use serde::Serialize;

/// The result of replaying a tape: whether the simulated network delivers the packets as the recorded rehearsal did.
#[derive(Clone, Debug, Serialize)]
pub struct Played {
    /// Frames from hosts on the tape.
    pub read: u64,
    /// Packets to hosts on the tape.
    pub written: u64,
    /// Packets to hosts in the replay.
    pub replayed: u64,
    /// The number of packets that were delivered otherwise: not at all, at another time, to another host or with
    /// another ECN mark. Counted on the tape and in the replay, of which the larger number counts.
    pub differing: u64,
    /// The first difference in words; `None` if there is none.
    pub first: Option<String>,
    /// The results of the replay.
    pub run: Run,
}

/// A feature of a machine that shallop needs for real hosts, and whether it is there.
#[derive(Clone, Debug, Serialize)]
pub struct Ability {
    pub what: String,
    pub can: bool,
    /// What was found on the machine, or what has to be installed or allowed.
    pub found: String,
    /// What shallop needs the feature for.
    pub used_for: String,
}

//! What is said of a machine and of its rehearsals outside of `summary.json`: what it can do, and what the simulator's
//! switches decided of a tape.

use serde::Serialize;

use crate::summary::Run;

/// The replay of a tape in the simulator: whether its network delivers the packets as the recorded rehearsal did.
#[derive(Clone, Debug, Serialize)]
pub struct Played {
    /// Frames of hosts on the tape.
    pub read: u64,
    /// Packets to hosts on the tape.
    pub written: u64,
    /// Packets to hosts in the replay.
    pub replayed: u64,
    /// Packets that the network delivered otherwise: not, at another time, to another host or with another mark. At
    /// most as many as are on the tape, or in the replay if that has more.
    pub differing: u64,
    /// The first of them, in words.
    pub first: Option<String>,
    /// The results of the network, as of any run.
    pub run: Run,
}

/// Something that a machine can or cannot do.
#[derive(Clone, Debug, Serialize)]
pub struct Ability {
    pub what: String,
    /// Whether this machine can.
    pub can: bool,
    /// What the machine has, or what would have to be installed or allowed.
    pub found: String,
    /// The features of shallop that need it.
    pub used_for: String,
}

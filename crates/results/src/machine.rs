//! What is said of a machine and of its rehearsals outside of `summary.json`: what it can do, and what the simulator's
//! switches decided of a tape.

use serde::Serialize;

use crate::summary::Run;

/// What the simulator's network did with the tape of a rehearsal.
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
    /// What it is.
    pub what: String,
    /// Whether this machine can.
    pub can: bool,
    /// What was found, or what would help.
    pub found: String,
    /// What it is needed for.
    pub used_for: String,
}

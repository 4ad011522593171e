//! Exit codes of the command, besides 0 for success and 1 for a negative result.

/// The input is bad, or there is no connection.
pub const BAD_INPUT: u8 = 2;
/// This machine lacks something that the command needs.
pub const MISSING: u8 = 3;
/// A rehearsal is void.
pub const VOID: u8 = 4;
/// Ctrl-C interrupted the command; finished runs are kept.
pub const INTERRUPTED: u8 = 130;

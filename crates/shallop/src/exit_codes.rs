//! Exit codes of the command, besides 0 for success and 1 for a negative result.

/// The exit code for bad input, or no connection.
pub const BAD_INPUT: u8 = 2;
/// The exit code if this machine lacks something that the command needs.
pub const MISSING: u8 = 3;
/// The exit code for a void rehearsal: it was too late to be trusted.
pub const VOID: u8 = 4;
/// The exit code after Ctrl-C; finished runs are kept.
pub const INTERRUPTED: u8 = 130;

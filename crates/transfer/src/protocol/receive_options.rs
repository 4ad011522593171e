//! The options of a receiver.

use crate::activity::STALL_TIMEOUT;
use std::time::Duration;

/// The default of [`ReceiveOptions::list_timeout`]: a million paths of 256 bytes take 205 s at 10 Mb/s.
const LIST_TIMEOUT: Duration = Duration::from_secs(300);

#[derive(Clone, Copy, Debug)]
pub struct ReceiveOptions {
    /// Whether existing files with other content are replaced, each after the new file is complete.
    pub overwrite: bool,
    /// Whether entries are accepted whose path has a name that begins with a dot. Programs read such files without
    /// being asked (`.ssh/authorized_keys`, `.bash_profile`), so a sender could make the receiver run any program.
    pub hidden: bool,
    /// The time that the sender has for its list of files, after which the link is closed.
    pub list_timeout: Duration,
    /// The time in which something has to come from the sender, before a transfer and during it. It is longer if the
    /// sender has to hash files.
    pub stall_timeout: Duration,
}

impl Default for ReceiveOptions {
    fn default() -> Self {
        Self { overwrite: false, hidden: false, list_timeout: LIST_TIMEOUT, stall_timeout: STALL_TIMEOUT }
    }
}

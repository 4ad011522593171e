//! What this machine can do for rehearsals.

use std::fs;

use shallop_core::BitsPerSec;

use crate::error::RehearsalError;
use crate::namespace::{self, Settings};
use crate::realtime;

/// Something that a machine can or cannot do.
#[derive(Clone, Debug)]
pub struct Ability {
    /// What it is.
    pub what: &'static str,
    /// Whether this machine can.
    pub can: bool,
    /// What was found, or what would help.
    pub found: String,
    /// What it is needed for.
    pub used_for: &'static str,
}

/// The congestion controllers that this kernel has, by its names.
#[must_use]
pub fn controllers() -> Vec<String> {
    let text = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    text.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

/// The release of this kernel.
#[must_use]
pub fn release() -> String {
    let text = fs::read_to_string("/proc/sys/kernel/osrelease");
    text.map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned())
}

/// What this machine can do, tried out where that leaves nothing behind.
#[must_use]
pub fn all() -> Vec<Ability> {
    let controllers = controllers();
    let host = |rate| namespace::hosts(&[rate], &Settings::default()).map(drop);
    let of = |what, result: Result<(), RehearsalError>, good: &str, used_for| Ability {
        what,
        can: result.is_ok(),
        found: result.err().map_or_else(|| good.to_owned(), |why| why.to_string()),
        used_for,
    };
    let realtime = realtime::emulate().is_realtime;
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let fast = host(BitsPerSec::gbps(100));
    let shaped = host(BitsPerSec::gbps(1));
    vec![
        Ability {
            what: "congestion controllers",
            can: !controllers.is_empty(),
            found: format!("Linux {}: {}", release(), controllers.join(", ")),
            used_for: "transports of a rehearsal",
        },
        of("hosts", fast, "network namespaces with virtual interfaces", "rehearse, agree, shell"),
        of("slow links of hosts", shaped, "queue discipline tbf", "hosts' links up to 4 Gb/s"),
        Ability {
            what: "priority of the emulator",
            can: realtime,
            found: if realtime {
                "SCHED_FIFO"
            } else {
                "none: run it as root, or raise 'ulimit -r'"
            }
            .to_owned(),
            used_for: "rehearsals above some 100 Mb/s that count",
        },
        Ability {
            what: "processors",
            can: processors > 1,
            found: processors.to_string(),
            used_for: "one for the emulator, the others for hosts",
        },
    ]
}

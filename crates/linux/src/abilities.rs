//! What this machine can do for rehearsals.

use std::fs;

use shallop_core::BitsPerSec;
use shallop_results::machine::Ability;

use crate::namespace::{self, Settings};
use crate::realtime;

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
    let ability = |what: &str, can, found, used_for: &str| Ability {
        what: what.to_owned(),
        can,
        found,
        used_for: used_for.to_owned(),
    };
    let host = |what, rate, good: &str, used_for| {
        let made = namespace::hosts(&[rate], &Settings::default()).map(drop);
        let can = made.is_ok();
        let found = made.err().map_or_else(|| good.to_owned(), |why| why.to_string());
        ability(what, can, found, used_for)
    };
    let is_realtime = realtime::emulate().is_realtime;
    let priority =
        if is_realtime { "SCHED_FIFO" } else { "none: run it as root, or raise 'ulimit -r'" };
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let kernel = format!("Linux {}: {}", release(), controllers.join(", "));
    let interfaces = "network namespaces with virtual interfaces";
    let (fast, slow) = (BitsPerSec::gbps(100), BitsPerSec::gbps(1));
    vec![
        ability(
            "congestion controllers",
            !controllers.is_empty(),
            kernel,
            "transports of a rehearsal",
        ),
        host("hosts", fast, interfaces, "rehearse, agree, shell"),
        host("slow links of hosts", slow, "queue discipline tbf", "hosts' links up to 4 Gb/s"),
        ability(
            "priority of the emulator",
            is_realtime,
            priority.to_owned(),
            "rehearsals above some 100 Mb/s that count",
        ),
        ability(
            "processors",
            processors > 1,
            processors.to_string(),
            "one for the emulator, the others for hosts",
        ),
    ]
}

//! Checks what this machine offers for rehearsals and for BPF programs (`shallop doctor`).

use crate::namespace::{self, HostSettings};
use crate::realtime;
use shallop_bpf::machine::{self, BPF_FILE_SYSTEM};
use shallop_bpf::{Controller, Law, Program, controller};
use shallop_core::BitsPerSec;
use shallop_results::machine::Ability;
use std::fs;

/// The kernel's names of its congestion controllers.
pub fn controllers() -> Vec<String> {
    let text = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    text.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

pub fn release() -> String {
    let text = fs::read_to_string("/proc/sys/kernel/osrelease");
    text.map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned())
}

/// Checks all abilities of this machine by trying them, unless that would leave something behind.
pub fn all() -> Vec<Ability> {
    let controllers = controllers();
    let host = |what, rate, good: &str, used_for| {
        let made = namespace::hosts(&[rate], &HostSettings::default()).map(drop);
        let can = made.is_ok();
        let found = made.err().map_or_else(|| good.to_owned(), |why| why.to_string());
        ability(what, can, found, used_for)
    };
    let is_realtime = realtime::emulate().is_realtime;
    let priority = if is_realtime { "SCHED_FIFO" } else { "none: run it as root, or raise 'ulimit -r'" };
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let kernel = format!("Linux {}: {}", release(), controllers.join(", "));
    let interfaces = "network namespaces with virtual interfaces";
    let (fast, slow) = (BitsPerSec::gbps(100), BitsPerSec::gbps(1));
    let of_rehearsals = vec![
        ability("congestion controllers", !controllers.is_empty(), kernel, "transports of a rehearsal"),
        host("hosts", fast, interfaces, "rehearse, agree, shell"),
        host("slow links of hosts", slow, "queue discipline tbf", "hosts' links up to 4 Gb/s"),
        ability(
            "priority of the emulator",
            is_realtime,
            priority.to_owned(),
            "rehearsals above some 100 Mb/s that count",
        ),
        ability("processors", processors > 1, processors.to_string(), "one for the emulator, the others for hosts"),
    ];
    of_rehearsals.into_iter().chain(of_programs()).collect()
}

fn ability(what: &str, can: bool, found: String, used_for: &str) -> Ability {
    Ability { what: what.to_owned(), can, found, used_for: used_for.to_owned() }
}

/// Checks the abilities for BPF programs. One program is loaded and removed.
fn of_programs() -> Vec<Ability> {
    let names = Program::ALL.map(Program::name).join(", ");
    let built = if controller::IS_BUILT {
        names.clone()
    } else {
        let clang = if machine::has_clang() { "clang is there" } else { "it installs clang" };
        format!("none: 'make linux' builds them ({clang})")
    };
    let lacking = machine::lacking_capabilities();
    let capabilities = if lacking.is_empty() {
        "all that are needed".to_owned()
    } else {
        format!("no {}: run it as root", lacking.join(", "))
    };
    let found = |is_there, good: &str, bad: &str| {
        if is_there { good.to_owned() } else { bad.to_owned() }
    };
    let (types, keeps) = (machine::has_btf(), machine::keeps_programs());
    let name = format!("doctor_{}", std::process::id());
    let loaded = machine::check().and_then(|()| Controller::load(&Law::Dctcp, &name).map(drop));
    let can_load = loaded.is_ok();
    let loads = loaded.err().map_or_else(|| "one was loaded and removed".to_owned(), |why| why.to_string());
    let types_found = found(types, "BTF", "none (CONFIG_DEBUG_INFO_BTF)");
    let mount = format!("none at {BPF_FILE_SYSTEM}: mount -t bpf bpf {BPF_FILE_SYSTEM}");
    let skips = machine::skips_programs();
    let always = found(!skips, "always", "not while process 1 has the processor: this kernel was changed to skip them");
    vec![
        ability("programs in this build", controller::IS_BUILT, built, "the next five lines"),
        ability("types of the kernel", types, types_found, "programs"),
        ability("capabilities", lacking.is_empty(), capabilities, "programs"),
        ability("controllers as programs", can_load, loads, &format!("host; {names} in a rehearsal")),
        ability(
            "controllers run",
            !skips,
            always,
            "host and rehearsals: with NO here, load no controller for real traffic",
        ),
        ability("BPF file system", keeps, found(keeps, BPF_FILE_SYSTEM, &mount), "host load: controllers that stay"),
    ]
}

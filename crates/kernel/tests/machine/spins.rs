//! A program in a kernel that computes without end, so that time cannot pass, ends the run with an error.

use crate::support::kernel;
use shallop_hosts::{FlowProtocol, HostFlow, HostFlows};
use shallop_kernel::{BOOTED, Installed, KernelError, Kernels, Mode, Settings, Start};
use shallop_testing::{Cause, Outcome, processes, programs, skip, soon};
use std::{path::Path, process::Command};

const SPINS: &str = "int main(void) { for (;;) __asm__ volatile(\"\"); }";

/// Memory by which the processes of one test are known.
const SPINNING_MB: u32 = 67;

/// The error of a kernel whose first process this is.
fn boot(kernel: &Installed, memory_mb: u32) -> KernelError {
    let settings = Settings {
        qdisc: "fq".to_owned(),
        gso_max_segs: None,
        modules: vec![],
        sysctls: vec![],
        socket_buffer: 1 << 20,
        record: None,
    };
    let flow = HostFlow {
        number: 0,
        start: BOOTED,
        size: None,
        from: 0,
        to: 1,
        source_port: 10_000,
        protocol: FlowProtocol::Tcp { controller: 0 },
    };
    let mut flows = HostFlows::default();
    flows.flows.push(flow);
    flows.controllers.push("cubic".to_owned());
    let start = Start {
        installed: kernel,
        settings: &settings,
        hosts: &[vec![0], vec![1]],
        flows: &flows,
        scenario: Path::new(""),
        stop: 2 * BOOTED,
        seed: 1,
        mode: Mode::Shared,
        memory_mb,
        spin_seconds: 1,
    };
    Kernels::boot(&start, shallop_core::Span::ZERO, false).unwrap_err()
}

pub fn a_program_that_spins_is_an_error_and_leaves_no_process() -> Outcome {
    programs(&["cc"])?;
    let kernel = kernel()?;
    let folder = tempfile::tempdir().unwrap();
    let (source, agent) = (folder.path().join("init.c"), folder.path().join("init"));
    std::fs::write(&source, SPINS).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-static", "-o"]).arg(&agent).arg(&source);
    if !compiler.status()?.success() {
        return Err(skip(Cause::Programs, "cc links no static programs: a static C library is missing"));
    }
    let kernel = Installed { agent, ..kernel };
    let error = boot(&kernel, SPINNING_MB);
    assert!(matches!(error, KernelError::Spins { kernel: 0, seconds: 1.. }), "{error}");
    let with_memory = |process: u32| {
        let arguments = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&arguments).contains(&format!("mem={SPINNING_MB}M"))
    };
    // Processes of programs end a moment after their kernel.
    let left = || processes::find(with_memory);
    assert!(soon(|| left().is_empty()), "{:?}", left());
    Ok(())
}

pub fn a_first_process_that_ends_is_an_error_with_its_log() -> Outcome {
    let kernel = kernel()?;
    let error = boot(&Installed { agent: "/bin/true".into(), ..kernel }, 64);
    assert!(matches!(&error, KernelError::Ended { log, .. } if log.contains("panic")), "{error}");
    Ok(())
}

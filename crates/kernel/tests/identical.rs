//! The same seed gives the same run, whatever else the machine does, wherever and as whom it runs.

#![allow(clippy::unwrap_used, reason = "a test that cannot make its input should fail there")]

mod support;

use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use shallop_core::{BitsPerSec, Bytes, Span};
use shallop_kernel::{Installed, Mode};
use support::{Run, child};

/// Losses, two sending kernels, and bursts.
fn small(mode: Mode) -> Run {
    Run {
        access: Some(BitsPerSec::gbps(10)),
        buffer: Bytes::new(30_000),
        flows: vec![None, None, Some(400_000)],
        duration: Span::from_ms(50),
        kernels: 2,
        mode,
        ..Run::default()
    }
}

fn transcript(kernel: &Installed, run: &Run) -> String {
    let outcome = run.run(kernel);
    format!("{:?} {:?} {:?}", outcome.transcript, outcome.counters, outcome.received)
}

const WORD: &str = "transcript:";
const CHILD: &str = "in_another_process";

/// What the other tests start.
#[test]
#[ignore = "part of other tests"]
#[expect(clippy::print_stdout, reason = "the test that started this process reads it")]
fn in_another_process() {
    let Some(kernel) = support::kernel().filter(|_| child::is_child()) else { return };
    println!("{WORD} {}", transcript(&kernel, &small(Mode::Shared)));
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let Some(kernel) = support::kernel() else { return };
    let run = small(Mode::Shared);
    let first = run.run(&kernel);
    assert!(first.transcript.drops > 0 && first.complete[2], "{first:?}");
    for _ in 0..2 {
        assert_eq!(first.transcript, run.run(&kernel).transcript);
    }
}

/// Of these controllers, only BBR draws random numbers: when each flow probes for bandwidth.
#[test]
fn another_seed_gives_another_run() {
    let Some(kernel) = support::kernel() else { return };
    let hash = |seed| {
        let run =
            Run { controller: "bbr", seed, duration: Span::from_ms(100), ..small(Mode::Shared) };
        run.run(&kernel).transcript.hash
    };
    assert_ne!(hash(1), hash(2));
}

#[test]
fn the_modes_of_time_agree() {
    let Some(kernel) = support::kernel() else { return };
    let shared = transcript(&kernel, &small(Mode::Shared));
    for mode in [Mode::FreeUntil, Mode::Plain] {
        assert_eq!(transcript(&kernel, &small(mode)), shared, "{mode:?}");
    }
}

#[test]
fn a_run_in_another_folder_beside_other_work_is_the_same() {
    let Some(kernel) = support::kernel() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut command = child::command(&[], CHILD, folder.path());
    command.current_dir(folder.path()).env("HOME", folder.path());
    let here = transcript(&kernel, &small(Mode::Shared));
    let done = AtomicBool::new(false);
    let there = std::thread::scope(|threads| {
        threads.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        let answer = child::answer(command.spawn().unwrap(), WORD);
        done.store(true, Ordering::Relaxed);
        answer
    });
    assert_eq!(there, here);
}

#[test]
fn a_run_whose_kernels_are_stopped_at_random_is_the_same() {
    let Some(kernel) = support::kernel() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut child = child::command(&[], CHILD, folder.path()).spawn().unwrap();
    let stopped = stop_kernels_of(&mut child);
    let answer = child::answer(child, WORD);
    assert!(stopped > 3, "{stopped} kernels were stopped");
    assert_eq!(answer, transcript(&kernel, &small(Mode::Shared)));
}

/// Stops and continues the kernels of a process until it ends, and returns how often.
fn stop_kernels_of(child: &mut Child) -> u32 {
    let (mut stopped, mut wait) = (0, 1);
    while child.try_wait().unwrap().is_none() {
        for kernel in child::kernels_of(child.id()) {
            let Some(process) = Pid::from_raw(kernel.cast_signed()) else { continue };
            // It may have ended meanwhile.
            let signal = |signal| kill_process(process, signal).is_ok();
            stopped += u32::from(signal(Signal::STOP));
            wait = wait * 5 % 37;
            std::thread::sleep(Duration::from_millis(wait));
            signal(Signal::CONT);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    stopped
}

#[test]
fn a_run_as_an_ordinary_user_is_the_same() {
    let Some(kernel) = support::kernel() else { return };
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::chown(folder.path(), Some(65_534), Some(65_534)).unwrap();
    let user = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"];
    let reaches = |program: &std::path::Path| {
        let mut command = Command::new(user[0]);
        command.args(&user[1..]).args(["test", "-x"]).arg(program);
        command.status().unwrap().success()
    };
    if !reaches(&std::env::current_exe().unwrap()) || !reaches(&kernel.program) {
        return;
    }
    let mut command = child::command(&user, CHILD, folder.path());
    command.current_dir("/").env("HOME", folder.path());
    command.env("SHALLOP_KERNELS", kernel.program.parent().unwrap().parent().unwrap());
    let answer = child::answer(command.spawn().unwrap(), WORD);
    assert_eq!(answer, transcript(&kernel, &small(Mode::Shared)));
}

//! A run depends on its seed alone: not on other work of the machine, its folder or its user.

use crate::support::{Run, child, kernel};
use rustix::process::{Pid, Signal, kill_process};
use shallop_core::{BitsPerSec, Bytes, Span};
use shallop_kernel::{Installed, Mode, installed};
use shallop_testing::{Outcome, programs, root};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A short run with losses, bursts and two sending kernels.
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
const CHILD: &str = "identical::prints_the_transcript_of_a_run";

#[expect(clippy::print_stdout, reason = "the test that started this process reads it")]
pub fn prints_the_transcript_of_a_run() -> Outcome {
    println!("{WORD} {}", transcript(&kernel()?, &small(Mode::Shared)));
    Ok(())
}

pub fn the_same_seed_gives_the_same_run() -> Outcome {
    let kernel = kernel()?;
    let run = small(Mode::Shared);
    let first = run.run(&kernel);
    assert!(first.transcript.drops > 0 && first.complete[2], "{first:?}");
    for _ in 0..2 {
        assert_eq!(first.transcript, run.run(&kernel).transcript);
    }
    Ok(())
}

/// Only BBR draws random numbers, for the time at which a flow probes for bandwidth.
pub fn another_seed_gives_another_run() -> Outcome {
    let kernel = kernel()?;
    let hash = |seed| {
        let run = Run { controller: "bbr", seed, duration: Span::from_ms(100), ..small(Mode::Shared) };
        run.run(&kernel).transcript.hash
    };
    assert_ne!(hash(1), hash(2));
    Ok(())
}

pub fn all_modes_of_time_give_the_same_run() -> Outcome {
    let kernel = kernel()?;
    let shared = transcript(&kernel, &small(Mode::Shared));
    for mode in [Mode::FreeUntil, Mode::Plain] {
        assert_eq!(transcript(&kernel, &small(mode)), shared, "{mode:?}");
    }
    Ok(())
}

pub fn a_run_in_another_folder_beside_other_work_is_the_same() -> Outcome {
    let kernel = kernel()?;
    let folder = tempfile::tempdir().unwrap();
    let mut command = child::command(CHILD, folder.path());
    // The default folder of kernels is in HOME.
    command.current_dir(folder.path()).env("HOME", folder.path());
    command.env("SHALLOP_KERNELS", installed::folder().unwrap());
    let here = transcript(&kernel, &small(Mode::Shared));
    let done = AtomicBool::new(false);
    let output = std::thread::scope(|threads| {
        threads.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        let output = command.output();
        done.store(true, Ordering::Relaxed);
        output
    });
    assert_eq!(child::answer(&output?, WORD), here);
    Ok(())
}

pub fn a_run_whose_kernels_are_stopped_at_random_is_the_same() -> Outcome {
    let kernel = kernel()?;
    let folder = tempfile::tempdir().unwrap();
    let mut child = child::command(CHILD, folder.path()).spawn().unwrap();
    let stopped = stop_kernels_of(&mut child);
    let answer = child::answer(&child.wait_with_output()?, WORD);
    assert!(stopped > 3, "{stopped} kernels were stopped");
    assert_eq!(answer, transcript(&kernel, &small(Mode::Shared)));
    Ok(())
}

/// Stops and continues the kernels of a process until it ends, and returns how often.
fn stop_kernels_of(child: &mut Child) -> u32 {
    let (mut stopped, mut wait) = (0, 1);
    while child.try_wait().unwrap().is_none() {
        for kernel in child::kernels_of(child.id()) {
            let Some(process) = Pid::from_raw(kernel.cast_signed()) else { continue };
            // The kernel may have ended meanwhile.
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

/// The kernel and the test are copied to a folder that the user may read.
pub fn a_run_as_an_ordinary_user_is_the_same() -> Outcome {
    let kernel = kernel()?;
    root()?;
    programs(&["setpriv", "cp"])?;
    let folder = tempfile::tempdir()?;
    let (kernels, program) = (folder.path().join("kernels"), folder.path().join("test"));
    let installed = kernel.program.parent().unwrap();
    std::fs::create_dir(&kernels)?;
    let mut copy = Command::new("cp");
    assert!(copy.arg("-r").arg(installed).arg(&kernels).status()?.success());
    std::fs::copy(shallop_testing::child::program(), &program)?;
    let mut own = Command::new("chown");
    assert!(own.args(["-R", "65534:65534"]).arg(folder.path()).status()?.success());
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(&program);
    let mut command = child::with_child(command, CHILD, folder.path());
    command.current_dir("/").env("HOME", folder.path()).env("SHALLOP_KERNELS", &kernels);
    let answer = child::answer(&command.output()?, WORD);
    assert_eq!(answer, transcript(&kernel, &small(Mode::Shared)));
    Ok(())
}

/// A sample is a system call, after which packets leave nanoseconds later: recorded runs are equal among themselves.
pub fn recorded_runs_are_equal_and_have_a_sample_of_each_connection_at_each_interval() -> Outcome {
    let kernel = kernel()?;
    let run = Run { record: Some(Span::from_us(500)), ..small(Mode::Shared) };
    let [first, second] = [run.run(&kernel), run.run(&kernel)];
    assert_eq!(first.transcript, second.transcript);
    let samples = |log: &String| log.lines().filter(|line| line.starts_with("tcp ")).count();
    let counts: Vec<usize> = first.logs.iter().map(samples).collect();
    // Two flows without end have a sample each 500 us of the run of 50 ms. The third kernel only receives.
    assert!(counts[0] >= 98 && counts[1] >= 98 && counts[2] == 0, "{counts:?}");
    let without = Run { record: None, ..run }.run(&kernel);
    assert!(without.logs.iter().all(|log| samples(log) == 0));
    Ok(())
}

//! The gate: one compile of the workspace under Clippy, every test executable with all cores busy, the quick
//! experiments and the tests of Python, and one table of what ran, failed and was skipped by cause.

mod build;
mod child;
mod experiments;
mod harness;
mod jobs;
mod junit;
mod machine;
mod pool;
mod steps;
mod tally;

use build::{Artifact, Selection};
pub use child::without_cargos_variables;
pub use experiments::all as experiments;
use jobs::Job;
use machine::Machine;
use pool::Pool;
use std::{io::Write as _, time::Instant};
pub use steps::full;
use tally::{Outcome, Tally};

/// Prints a line at once, also into a pipe. Errors are ignored: the gate goes on when its reader has gone.
pub fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// Compiles the workspace and runs all tests, fast ones first. A phase with a failure is the last one unless
/// `keep_going`.
pub fn test(keep_going: bool) -> Result<bool, String> {
    let machine = Machine::look();
    let mut gate =
        Gate { pool: Pool::new(machine.cores, &jobs::folder())?, tally: Tally::default(), phases: Vec::new() };
    if let Err(why) = &machine.bpf {
        say(&format!("The tests run without programs for the running kernel: {why}."));
    }
    let mut command = None;
    let phases: [(&str, Selection); 2] = [("unit", Selection::Unit), ("integration", Selection::Integration)];
    for (name, selection) in phases {
        gate.build(name, selection, &machine, &mut command)?;
        if gate.tally.has_failed() && !keep_going {
            return Ok(gate.close());
        }
    }
    let command = command.ok_or("cargo built no command")?;
    let mut last = vec![Job::docs(&machine), Job::python(&command, &jobs::folder())];
    last.extend(experiments::REST.iter().map(|id| Job::experiment(id, &command)));
    gate.phase("rest", |pool| {
        for job in last {
            pool.add(job);
        }
        Ok(())
    })?;
    Ok(gate.close())
}

struct Gate {
    pool: Pool,
    tally: Tally,
    /// The name and the seconds of each phase.
    phases: Vec<(String, f64)>,
}

impl Gate {
    /// Compiles test executables and runs each as soon as it is there. Those that measure wall-clock time or look at
    /// the whole machine wait, and run one at a time.
    fn build(
        &mut self, name: &str, selection: Selection, machine: &Machine, command: &mut Option<std::path::PathBuf>,
    ) -> Result<(), String> {
        let (mut alone, mut waiting) = (Vec::new(), Vec::new());
        let (begin, mut compiled) = (Instant::now(), 0.0);
        self.phase(name, |pool| {
            build::stream(selection, machine, &mut |artifact| match artifact {
                Artifact::Test(test) if test.is_alone() => alone.push(test),
                Artifact::Test(test) if test.needs_command() && command.is_none() => {
                    waiting.push(test);
                }
                Artifact::Test(test) => pool.add(Job::test(&test)),
                Artifact::Command(path) => {
                    pool.add(Job::experiment(experiments::FIRST, &path));
                    *command = Some(path);
                    waiting.drain(..).for_each(|test| pool.add(Job::test(&test)));
                }
            })?;
            waiting.drain(..).for_each(|test| pool.add(Job::test(&test)));
            compiled = begin.elapsed().as_secs_f64();
            Ok(())
        })?;
        self.phases.push((format!("{name}: of this, until all was compiled"), compiled));
        for test in alone {
            self.phase("alone", |pool| {
                pool.add(Job::test(&test));
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Adds jobs to the pool, and waits until all have ended.
    fn phase(&mut self, name: &str, fill: impl FnOnce(&Pool) -> Result<(), String>) -> Result<(), String> {
        let begin = Instant::now();
        let outcomes: Vec<Outcome> = self.pool.run(fill)?;
        for outcome in outcomes {
            self.tally.add(outcome);
        }
        let seconds = begin.elapsed().as_secs_f64();
        match self.phases.iter_mut().find(|phase| phase.0 == name) {
            Some(phase) => phase.1 += seconds,
            None => self.phases.push((name.to_owned(), seconds)),
        }
        Ok(())
    }

    /// Prints the tables. Returns true if nothing failed.
    fn close(self) -> bool {
        say("\nphase                                             seconds");
        for (name, seconds) in &self.phases {
            say(&format!("{name:<50}{seconds:>7.0}"));
        }
        say("");
        say(&self.tally.table());
        !self.tally.has_failed()
    }
}

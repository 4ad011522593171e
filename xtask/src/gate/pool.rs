//! Runs jobs: one per core, or a single one while cargo compiles. Jobs that took longest last time come first.

use super::tally::{Group, Outcome};
use super::{jobs::Job, say};
use shallop_testing::Required;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::{collections::BTreeMap, fmt::Write as _, fs};

/// The file with the seconds that each job took last time.
const TIMES: &str = "times";

pub struct Pool {
    cores: usize,
    folder: PathBuf,
    required: Required,
    /// The seconds that each job took last time.
    seconds: BTreeMap<String, f64>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: Vec<Job>,
    running: usize,
    /// The number of jobs that may run now.
    limit: usize,
    is_closed: bool,
    ended: Vec<Outcome>,
}

impl Pool {
    pub fn new(cores: usize, folder: &Path) -> Result<Self, String> {
        fs::create_dir_all(folder).map_err(|why| format!("{}: {why}", folder.display()))?;
        let text = fs::read_to_string(folder.join(TIMES)).unwrap_or_default();
        let row = |line: &str| {
            let (seconds, name) = line.split_once(' ')?;
            Some((name.to_owned(), seconds.parse().ok()?))
        };
        Ok(Self {
            cores,
            folder: folder.to_owned(),
            required: Required::from_environment()?,
            seconds: text.lines().filter_map(row).collect(),
            state: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    /// Adds a job; it starts when a core is free.
    pub fn add(&self, job: Job) {
        self.state().waiting.push(job);
        self.changed.notify_all();
    }

    /// Adds jobs by `fill`, and waits until all have ended, also if `fill` fails.
    pub fn run(&mut self, fill: impl FnOnce(&Self) -> Result<(), String>) -> Result<Vec<Outcome>, String> {
        *self.state() = State { limit: 1, ..State::default() };
        let filled = std::thread::scope(|scope| {
            for _ in 0..self.cores {
                scope.spawn(|| self.work());
            }
            let filled = fill(self);
            let mut state = self.state();
            (state.is_closed, state.limit) = (true, self.cores);
            if filled.is_err() {
                state.waiting.clear();
            }
            self.changed.notify_all();
            filled
        });
        let ended = std::mem::take(&mut self.state().ended);
        for outcome in &ended {
            self.seconds.insert(outcome.name.clone(), outcome.seconds);
        }
        let mut text = String::new();
        for (name, seconds) in &self.seconds {
            let _ = writeln!(text, "{seconds:.1} {name}");
        }
        let _ = fs::write(self.folder.join(TIMES), text);
        filled.map(|()| ended)
    }

    fn work(&self) {
        let mut state = self.state();
        loop {
            if state.running < state.limit && !state.waiting.is_empty() {
                let job = self.take(&mut state.waiting);
                state.running += 1;
                drop(state);
                let outcome = job.run(&self.required, &self.folder);
                report(&outcome);
                state = self.state();
                state.running -= 1;
                state.ended.push(outcome);
                self.changed.notify_all();
            } else if state.is_closed && state.waiting.is_empty() {
                return;
            } else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// The next job: experiments first, then the job that took longest last time. A job that never ran counts as 60 s.
    fn take(&self, waiting: &mut Vec<Job>) -> Job {
        let rank = |job: &Job| {
            let seconds = self.seconds.get(&job.name).copied().unwrap_or(60.0);
            if job.group == Group::Experiments { f64::INFINITY } else { seconds }
        };
        let longest = (0..waiting.len()).max_by(|one, other| rank(&waiting[*one]).total_cmp(&rank(&waiting[*other])));
        waiting.swap_remove(longest.unwrap_or_default())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn report(outcome: &Outcome) {
    let verdict = if outcome.failed() == 0 { "ok" } else { "FAILED" };
    let (counts, failed) = (&outcome.counts, outcome.failed());
    let skipped = counts.skipped.len();
    say(&format!(
        "{verdict:<7}{:>6.1} s  {}: {} passed, {failed} failed, {skipped} skipped",
        outcome.seconds, outcome.name, counts.passed
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_jobs_end_and_the_time_of_each_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let mut pool = Pool::new(2, folder.path()).unwrap();
        let outcomes = pool.run(|pool| {
            for id in ["a", "b", "c"] {
                pool.add(Job::experiment(id, Path::new("true")));
            }
            pool.add(Job::experiment("d", Path::new("false")));
            Ok(())
        });
        let mut ended: Vec<_> = outcomes.unwrap().iter().map(|one| (one.name.clone(), one.failed())).collect();
        ended.sort();
        assert_eq!(ended, [("a", 0), ("b", 0), ("c", 0), ("d", 1)].map(|(name, failed)| (name.to_owned(), failed)));
        assert_eq!(Pool::new(2, folder.path()).unwrap().seconds.len(), 4);
    }

    #[test]
    fn jobs_that_wait_are_dropped_when_the_compile_fails() {
        let folder = tempfile::tempdir().unwrap();
        let mut pool = Pool::new(1, folder.path()).unwrap();
        let why = pool.run(|_| Err("it does not compile".to_owned())).unwrap_err();
        assert_eq!(why, "it does not compile");
    }

    #[test]
    fn an_executable_whose_process_cannot_start_has_failed() {
        let folder = tempfile::tempdir().unwrap();
        let mut pool = Pool::new(1, folder.path()).unwrap();
        let outcomes = pool.run(|pool| {
            pool.add(Job::experiment("a", Path::new("/no/such/program")));
            Ok(())
        });
        assert_eq!(outcomes.unwrap()[0].failed(), 1);
    }
}

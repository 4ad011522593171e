//! `run`, `reproduce` and `sweep`: all scenarios are read and checked first, then run; results are written and printed.

use std::num::NonZeroUsize;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use shallop_plan::files::Files;
use shallop_results::Shard;
use shallop_results::Verdict;
use shallop_results::summary::{Reproduction, Summary};
use shallop_results::table;
use shallop_results::verdict::count;
use shallop_scenario::Options;
use shallop_workbench::diagnostic::{Result, plain};
use shallop_workbench::work::{chosen, read};
use shallop_workbench::{self as workbench, Progress, Task, jobs};

use crate::args;
use crate::progress::Bar;
use crate::{print, report};

/// The exit code of interrupted work.
const INTERRUPTED: u8 = 130;

/// Runs a scenario.
pub fn run(args: &args::Run, stop: &AtomicBool) -> Result<ExitCode> {
    let files = files(&args.scenario);
    let (set, quick, seed) = (args.set.clone(), args.quick, args.seed);
    let options = Options { set, quick, seed, files, ..Options::default() };
    let study = read(&args.scenario, &options)?;
    let task = Task { id: None, study, folder: args.work.out.clone() };
    Tasks::new(vec![task], &args.work, stop).resume(args.resume).carry_out()
}

/// Runs a scenario at every combination of some values.
pub fn sweep(args: &args::Sweep, stop: &AtomicBool) -> Result<ExitCode> {
    let options = Options {
        set: args.set.clone(),
        quick: args.quick,
        seed: args.seed,
        vary: args.vary.clone(),
        seeds: args.seeds,
        files: files(&args.scenario),
    };
    let study = read(&args.scenario, &options)?;
    let task = Task { id: None, study, folder: args.work.out.clone() };
    let shard = args.shard.unwrap_or(Shard::WHOLE);
    let tasks = Tasks::new(vec![task], &args.work, stop).resume(true);
    Tasks { shard, sweep: true, ..tasks }.carry_out()
}

/// Reproduces experiments, or lists them.
pub fn reproduce(args: &args::Reproduce, stop: &AtomicBool) -> Result<ExitCode> {
    let all = ["all".to_owned()];
    let chosen = chosen(if args.ids.is_empty() { &all } else { &args.ids })?;
    let options = Options { quick: args.quick, ..Options::default() };
    let out = args.work.out.as_deref();
    let tasks = chosen.into_iter().map(|shipped| Task::shipped(shipped, &options, out));
    let tasks = tasks.collect::<Result<Vec<Task>>>()?;
    if args.ids.is_empty() {
        return list(&tasks, args.work.json);
    }
    Tasks::new(tasks, &args.work, stop).resume(args.resume).carry_out()
}

/// The files beside a scenario.
pub fn files(scenario: &Path) -> Arc<dyn Files> {
    Arc::new(workbench::Folder::of(scenario))
}

fn list(tasks: &[Task], json: bool) -> Result<ExitCode> {
    if json {
        let experiments = tasks.iter().map(|Task { id, study, .. }| {
            print::object([
                ("id", id.clone().into()),
                ("title", study.title.clone().into()),
                ("about", study.about.clone().into()),
                ("takes", study.takes.0.clone().into()),
                ("takes_quick", study.takes.1.clone().into()),
            ])
        });
        let version = env!("CARGO_PKG_VERSION").into();
        let experiments = experiments.collect::<Vec<_>>().into();
        print::json(&print::object([("version", version), ("experiments", experiments)]))?;
        return Ok(ExitCode::SUCCESS);
    }
    let header = ["id", "shows", "takes", "--quick"].map(str::to_owned).to_vec();
    let rows = tasks.iter().map(|Task { id, study, .. }| {
        let about = if study.about.is_empty() { &study.title } else { &study.about };
        vec![
            id.clone().unwrap_or_default(),
            about.clone(),
            study.takes.0.clone(),
            study.takes.1.clone(),
        ]
    });
    print::grid(&table::Grid { header, rows: rows.collect(), words: 4 })?;
    print::line(
        "\nRun one with `shallop reproduce ID`, all of them with `shallop reproduce all`.",
    )?;
    Ok(ExitCode::SUCCESS)
}

/// All tasks of a command.
struct Tasks<'a> {
    all: Vec<Task>,
    work: &'a args::Work,
    stop: &'a AtomicBool,
    /// Whether archived runs are used.
    resume: bool,
    shard: Shard,
    /// Whether the table has one row per point.
    sweep: bool,
}

impl<'a> Tasks<'a> {
    fn new(all: Vec<Task>, work: &'a args::Work, stop: &'a AtomicBool) -> Self {
        Self { all, work, stop, resume: false, shard: Shard::WHOLE, sweep: false }
    }

    fn resume(self, resume: bool) -> Self {
        Self { resume, ..self }
    }

    fn carry_out(&self) -> Result<ExitCode> {
        self.all.iter().try_for_each(Task::check)?;
        let bar = Bar::of(self.all.iter().map(|task| jobs::total_work(&task.study, self.shard)));
        let summaries = self.all.iter().map(|task| self.one(task, &bar));
        let summaries = summaries.collect::<Result<Vec<Summary>>>();
        bar.close();
        let summaries = summaries?;
        self.index()?;
        let interrupted = summaries.iter().any(|summary| summary.interrupted);
        let failed = summaries.iter().any(|summary| count(&summary.claims, Verdict::Fails) > 0);
        if self.work.json {
            self.print_json(summaries, interrupted)?;
        } else {
            print::line(&workbench::work::legend(&summaries, self.sweep))?;
        }
        Ok(match (interrupted, failed) {
            (true, _) => ExitCode::from(INTERRUPTED),
            (false, true) => ExitCode::FAILURE,
            (false, false) => ExitCode::SUCCESS,
        })
    }

    /// Writes the index page of the experiments, if there are any.
    fn index(&self) -> Result<()> {
        let experiments = self.all.iter().any(|task| task.id.is_some());
        match self
            .work
            .out
            .as_deref()
            .filter(|out| experiments && !workbench::report::result_folders(out).is_empty())
        {
            Some(out) => workbench::report::write_index(out).map(drop).map_err(|why| plain(&why)),
            None => Ok(()),
        }
    }

    fn one(&self, task: &Task, bar: &Bar) -> Result<Summary> {
        let options = jobs::JobOptions {
            jobs: self.work.jobs.map_or(0, NonZeroUsize::get),
            // The task knows.
            archive: None,
            resume: self.resume,
            shard: self.shard,
            stop: self.stop,
        };
        if self.work.json {
            task.study.notes.iter().for_each(|note| bar.note(&format!("note: {note}")));
        }
        let (summary, results) = task.carry_out(options, bar)?;
        if let (Some(folder), Some(results), Some(picture)) =
            (&task.folder, &results, self.work.figures)
        {
            report::draw(folder, results, picture)?;
        }
        if !self.work.json {
            bar.aside(|| print::line(&task.text(&summary, self.shard, self.sweep)))?;
        }
        Ok(summary)
    }

    fn print_json(&self, summaries: Vec<Summary>, interrupted: bool) -> Result<()> {
        if self.all.iter().all(|task| task.id.is_none()) {
            return summaries.iter().try_for_each(print::json);
        }
        print::json(&Reproduction {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            interrupted,
            experiments: summaries.into_iter().map(Into::into).collect(),
        })
    }
}

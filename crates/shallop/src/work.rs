//! `run`, `reproduce` and `sweep`: all scenarios are read and checked first, then run; results are written and printed.

use std::num::NonZeroUsize;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use shallop_plan::Study;
use shallop_plan::files::Files;
use shallop_results::summary::{Reproduction, Run, Summary};
use shallop_results::table;
use shallop_results::verdict::count;
use shallop_results::void;
use shallop_results::{Job, Shard, Verdict};
use shallop_scenario::Options;
use shallop_workbench::diagnostic::{Result, plain, with_help};
use shallop_workbench::identity::Identity;
use shallop_workbench::task_text::warnings;
use shallop_workbench::work::{chosen, read};
use shallop_workbench::{self as workbench, TableForm, Task, jobs, kernels};

use crate::args::{self, Format, Printed};
use crate::input::Input;
use crate::live::Live;
use crate::messages::{self, Message};
use crate::progress::Bar;
use crate::{host_args, print};

/// The exit code of interrupted work.
pub const INTERRUPTED: u8 = 130;
/// The exit code of rehearsals of which one is void.
pub const VOID: u8 = 4;

/// Runs a scenario.
pub fn run(args: &args::Run, input: &Input, stop: &AtomicBool) -> Result<ExitCode> {
    let (set, quick, seed) = (args.set.clone(), args.quick, args.seed);
    let study = input.study(Options { set, quick, seed, ..Options::default() })?;
    let task = Task { id: None, study, folder: args.work.out.clone() };
    Tasks::new(vec![task], &args.work, stop).resume(args.resume).carry_out()
}

/// The settings of a scenario whose hosts are to be real kernels.
pub fn with_kernels(set: &[(String, String)]) -> Vec<(String, String)> {
    let stack = ("stack".to_owned(), "kernel".to_owned());
    std::iter::once(stack).chain(set.iter().cloned()).collect()
}

/// The study of a scenario with these keys set.
fn read_with(
    args: &host_args::Rehearse,
    set: Vec<(String, String)>,
    in_real_time: bool,
) -> Result<Study> {
    let args::Run { scenario, quick, seed, .. } = &args.run;
    let (quick, seed, seeds, files) = (*quick, *seed, args.seeds, files(scenario));
    let vary = Vec::new();
    read(scenario, &Options { set, quick, seed, vary, seeds, files, in_real_time })
}

/// The study of a scenario that is to be rehearsed.
pub fn read_real(args: &host_args::Rehearse) -> Result<Study> {
    read_with(args, with_kernels(&args.run.set), true)
}

/// The study of a scenario whose rehearsal is to be compared with it. Programs run in kernels in virtual time then, as
/// they cannot be simulated.
pub fn read_virtual(args: &host_args::Rehearse, has_programs: bool) -> Result<Study> {
    let set = &args.run.set;
    let set = if has_programs { with_kernels(set) } else { set.clone() };
    read_with(args, set, has_programs)
}

/// Rehearses a scenario with the kernel of this machine in its hosts.
pub fn rehearse(args: &host_args::Rehearse, stop: &AtomicBool) -> Result<ExitCode> {
    let run = &args.run;
    let mut study = read_real(args)?;
    workbench::rehearsal::prepare(&mut study, args.wanted())?;
    let task = Task { id: None, study, folder: run.work.out.clone() };
    let tasks = Tasks::new(vec![task], &run.work, stop).resume(run.resume);
    // Each has the machine for itself.
    Tasks { jobs: 1, live: args.live, ..tasks }.carry_out()
}

/// Runs a scenario at every combination of some values.
pub fn sweep(args: &args::Sweep, input: &Input, stop: &AtomicBool) -> Result<ExitCode> {
    let options = Options {
        set: args.set.clone(),
        quick: args.quick,
        seed: args.seed,
        vary: args.vary.clone(),
        seeds: args.seeds,
        ..Options::default()
    };
    let study = input.study(options)?;
    let shard = match &args.identity {
        Some(identity) => shard_of(&study, identity)?,
        None => args.shard.unwrap_or(Shard::WHOLE),
    };
    let task = Task { id: None, study, folder: args.work.out.clone() };
    let tasks = Tasks::new(vec![task], &args.work, stop).resume(true);
    Tasks { shard, sweep: true, ..tasks }.carry_out()
}

/// The shard of a sweep that is only the run with this identity.
fn shard_of(study: &Study, identity: &str) -> Result<Shard> {
    let jobs = study.jobs();
    let is_it = |job: &Job| {
        let plan = &study.points[job.point].plan;
        Identity::of(plan, job.scheme, job.seed).to_string() == identity
    };
    let Some(index) = jobs.iter().position(is_it) else {
        let what = format!("--identity: no run of this sweep has the identity {identity}");
        let help = "another version of shallop, another scenario or other files have other identities: whoever lists \
                    the runs and whoever makes them must have the same";
        return Err(with_help(&what, &help));
    };
    format!("{}/{}", index + 1, jobs.len()).parse().map_err(|why: String| plain(&why))
}

/// Reproduces experiments, or lists them.
pub fn reproduce(args: &args::Reproduce, stop: &AtomicBool) -> Result<ExitCode> {
    let all = ["all".to_owned()];
    let chosen = chosen(if args.ids.is_empty() { &all } else { &args.ids })?;
    let options = Options { quick: args.quick, ..Options::default() };
    let out = args.work.out.as_deref();
    let tasks = chosen.into_iter().map(|shipped| Task::shipped(shipped, &options, out));
    let mut tasks = tasks.collect::<Result<Vec<Task>>>()?;
    if args.ids.is_empty() {
        return list(&tasks, args.work.printed);
    }
    // What was named by itself is an error without a kernel.
    if args.ids.iter().any(|id| id == "all") {
        pass_over_impossible(&mut tasks, &args.ids);
    }
    Tasks::new(tasks, &args.work, stop).resume(args.resume).carry_out()
}

/// Passes over the experiments that this machine cannot run and that were not named by themselves, with a word on them.
fn pass_over_impossible(tasks: &mut Vec<Task>, named: &[String]) {
    let (mut ids, mut reason) = (Vec::new(), String::new());
    tasks.retain(|Task { id, study, .. }| {
        let id = id.clone().unwrap_or_default();
        let why = kernels::missing(study).filter(|_| !named.contains(&id));
        let keep = why.is_none();
        if let Some(why) = why {
            ids.push(id);
            reason = why;
        }
        keep
    });
    if !ids.is_empty() {
        print::notes(&[format!(
            "{} experiments are passed over ({}): {reason}",
            ids.len(),
            ids.join(", ")
        )]);
    }
}

/// The files beside a scenario.
pub fn files(scenario: &Path) -> Arc<dyn Files> {
    Arc::new(workbench::Folder::of(scenario))
}

fn list(tasks: &[Task], printed: Printed) -> Result<ExitCode> {
    if printed.format() == Format::Json {
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
    print::grid(&table::Grid { header, rows: rows.collect(), words: 4 }, printed)?;
    if printed.format() != Format::Csv {
        print::line(
            "\nRun one with `shallop reproduce ID`, all of them with `shallop reproduce all`.",
        )?;
    }
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
    /// Runs at a time; zero for one per core.
    jobs: usize,
    /// Whether the run in progress is on the screen.
    live: bool,
}

impl<'a> Tasks<'a> {
    fn new(all: Vec<Task>, work: &'a args::Work, stop: &'a AtomicBool) -> Self {
        Self {
            all,
            work,
            stop,
            resume: false,
            shard: Shard::WHOLE,
            sweep: false,
            jobs: work.jobs.map_or(0, NonZeroUsize::get),
            live: false,
        }
    }

    fn resume(self, resume: bool) -> Self {
        Self { resume, ..self }
    }

    fn carry_out(&self) -> Result<ExitCode> {
        let locks = self.all.iter().map(|task| task.prepare(self.shard));
        let _locks = locks.collect::<Result<Vec<_>>>()?;
        self.check_index()?;
        self.all.iter().for_each(|task| print::notes(&workbench::work::notes(&task.study)));
        let bar = Bar::of(self.all.iter().map(|task| jobs::total_work(&task.study, self.shard)));
        let bar = bar.with_screen(self.live.then(Live::start).transpose()?);
        let summaries = self.all.iter().map(|task| self.one(task, &bar));
        let summaries = summaries.collect::<Result<Vec<Summary>>>();
        bar.close();
        let summaries = summaries?;
        self.index()?;
        let interrupted = summaries.iter().any(|summary| summary.interrupted);
        let void = summaries.iter().any(|summary| summary.runs.iter().any(Run::is_void));
        let not_held = [Verdict::Fails, Verdict::Undecided];
        let failed = summaries
            .iter()
            .any(|summary| not_held.iter().any(|&verdict| count(&summary.claims, verdict) > 0));
        match self.work.printed.format() {
            Format::Json => self.print_json(summaries, interrupted)?,
            Format::Csv => print::grid(&Self::csv(&summaries), self.work.printed)?,
            _ => print::line(&workbench::task_text::legend(&summaries, self.sweep))?,
        }
        Ok(match (interrupted, void, failed) {
            (true, ..) => ExitCode::from(INTERRUPTED),
            (false, true, _) => ExitCode::from(VOID),
            (false, false, true) => ExitCode::FAILURE,
            (false, false, false) => ExitCode::SUCCESS,
        })
    }

    /// The folder of the index page, if there are experiments.
    fn index_folder(&self) -> Option<&Path> {
        self.work.out.as_deref().filter(|_| self.all.iter().any(|task| task.id.is_some()))
    }

    /// Checks that the index page may be written.
    fn check_index(&self) -> Result<()> {
        let folder = self.index_folder();
        folder.map_or(Ok(()), |out| workbench::report::check_page(out).map_err(|why| plain(&why)))
    }

    /// Writes the index page of the experiments, if there are any.
    fn index(&self) -> Result<()> {
        let there = |out: &&Path| !workbench::report::result_folders(out).is_empty();
        match self.index_folder().filter(there) {
            Some(out) => workbench::report::write_index(out).map(drop).map_err(|why| plain(&why)),
            None => Ok(()),
        }
    }

    /// The one table that CSV has: the means of a run or sweep, the claims of experiments.
    fn csv(summaries: &[Summary]) -> table::Grid {
        let mut all = table::Grid::default();
        for summary in summaries {
            let Some(id) = &summary.id else { return workbench::aggregate_grid(summary) };
            let claims = table::claims(&summary.claims);
            let row = |row: Vec<String>, first: &str| {
                std::iter::once(first.to_owned()).chain(row).collect::<Vec<_>>()
            };
            all.header = row(claims.header, "experiment");
            all.rows.extend(claims.rows.into_iter().map(|cells| row(cells, id)));
        }
        all
    }

    fn one(&self, task: &Task, bar: &Bar) -> Result<Summary> {
        let options = jobs::JobOptions {
            jobs: self.jobs,
            // The task knows.
            archive: None,
            resume: self.resume,
            shard: self.shard,
            stop: self.stop,
        };
        let (summary, _) = task.carry_out(options, bar)?;
        self.tell(task, &summary);
        match self.work.printed.format() {
            Format::Json => {
                if let Some(line) = void::line(&summary) {
                    bar.hidden_while(|| print::stderr(&format!("{line}\n")));
                }
            }
            Format::Csv => bar.hidden_while(|| {
                print::stderr(&warnings(&summary));
                print::stderr(&task.notes(&summary, self.shard));
            }),
            _ => {
                let form = print::form(self.work.printed);
                bar.hidden_while(|| {
                    print::line(&task.text(&summary, self.shard, self.sweep, form))
                })?;
            }
        }
        Ok(summary)
    }

    /// Tells a program that the results of a task are there.
    fn tell(&self, task: &Task, summary: &Summary) {
        if !messages::is_json() {
            return;
        }
        let form = TableForm::Text(None);
        let homeless = Task { folder: None, ..task.clone() };
        messages::send(&Message::Results {
            id: task.id.as_deref(),
            folder: task.folder.as_deref(),
            tables: &homeless.text(summary, self.shard, self.sweep, form),
            notes: &task.notes(summary, self.shard),
            legend: &workbench::task_text::legend([summary], self.sweep),
        });
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

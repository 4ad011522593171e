//! `run`, `sweep`, `reproduce` and `rehearse`: reads and checks all scenarios first, then runs them, and writes and
//! prints the results.

use crate::args::{self, Format, PrintOptions};
use crate::exit_codes::{INTERRUPTED, VOID};
use crate::messages::{self, Message};
use crate::progress::ProgressReporter;
use crate::{host_args, print};
use crate::{input::Input, live::LiveScreen};
use shallop_plan::{Study, files::Files};
use shallop_results::summary::{Reproduction, Run, Summary};
use shallop_results::table::{self, Rows};
use shallop_results::{Job, Shard, Verdict};
use shallop_results::{verdict::count, void};
use shallop_scenario::Options;
use shallop_scenario::experiments::Shipped;
use shallop_workbench::choice::choose;
use shallop_workbench::diagnostic::{Result, plain, with_help};
use shallop_workbench::identity::Identity;
use shallop_workbench::run_report::{self, warnings};
use shallop_workbench::run_study::{check_points, find_experiments, read_scenario};
use shallop_workbench::{self as workbench, StudyTask, TableForm, forecast, jobs, kernels};
use std::{num::NonZeroUsize, path::Path, process::ExitCode, sync::Arc, sync::atomic::AtomicBool};

pub fn run(args: &args::Run, input: &Input, stop: &AtomicBool) -> Result<ExitCode> {
    let options = Options { seeds: args.seeds, programs: args.programs.programs(), ..args.source.options() };
    let mut study = input.study(options.clone())?;
    choose(&mut study, &args.schemes)?;
    if let Some(os) = args.as_configured {
        let set = [options.set.clone(), crate::configure::as_configured(&study, os)?].concat();
        study = input.study(Options { set, ..options })?;
        choose(&mut study, &args.schemes)?;
    }
    if let Some(folder) = &args.common.out {
        check_points(folder, &study)?;
    }
    let task = StudyTask { id: None, study, folder: args.common.out.clone() };
    StudyTasks::new(vec![task], &args.common, stop).resume(args.resume).run()
}

/// Adds the setting `stack = "kernel"`, by which hosts are real kernels.
pub fn with_kernels(set: &[(String, String)]) -> Vec<(String, String)> {
    let stack = ("stack".to_owned(), "kernel".to_owned());
    std::iter::once(stack).chain(set.iter().cloned()).collect()
}

fn read_with(args: &host_args::Rehearse, set: Vec<(String, String)>, in_real_time: bool) -> Result<Study> {
    let scenario = &args.run.source.scenario;
    let (seeds, files) = (args.run.seeds, files(scenario));
    let programs = args.run.programs.programs();
    let options = Options { set, seeds, files, in_real_time, programs, ..args.run.source.options() };
    read_scenario(scenario, &options)
}

/// Reads the study for a rehearsal.
pub fn read_real(args: &host_args::Rehearse) -> Result<Study> {
    read_with(args, with_kernels(&args.run.source.changes()), true)
}

/// Reads the study to compare a rehearsal with. Programs cannot be simulated, so with programs its hosts are kernels in
/// virtual time.
pub fn read_virtual(args: &host_args::Rehearse, has_programs: bool) -> Result<Study> {
    let set = args.run.source.changes();
    let set = if has_programs { with_kernels(&set) } else { set };
    read_with(args, set, has_programs)
}

pub fn rehearse(args: &host_args::Rehearse, stop: &AtomicBool) -> Result<ExitCode> {
    let run = &args.run;
    let mut study = read_real(args)?;
    workbench::rehearsal::prepare(&mut study, args.rehearsal_options())?;
    let task = StudyTask { id: None, study, folder: run.common.out.clone() };
    let tasks = StudyTasks::new(vec![task], &run.common, stop).resume(run.resume);
    // A rehearsal needs the machine for itself.
    StudyTasks { jobs: 1, live: args.live, ..tasks }.run()
}

pub fn sweep(args: &args::Sweep, input: &Input, stop: &AtomicBool) -> Result<ExitCode> {
    let options = Options { programs: args.programs.programs(), ..args.source.options() };
    let mut study = input.study(args.points.options(options))?;
    choose(&mut study, &args.schemes)?;
    let shard = match &args.identity {
        Some(identity) => shard_of(&study, identity)?,
        None => args.shard.unwrap_or(Shard::WHOLE),
    };
    let task = StudyTask { id: None, study, folder: args.common.out.clone() };
    let tasks = StudyTasks::new(vec![task], &args.common, stop).resume(true);
    StudyTasks { shard, sweep: true, ..tasks }.run()
}

/// The shard of a sweep with only the run that has this identity.
fn shard_of(study: &Study, identity: &str) -> Result<Shard> {
    let jobs = study.jobs();
    let is_it = |job: &Job| {
        let plan = &study.points[job.point].plan;
        Identity::for_run(plan, job.scheme, job.seed).to_string() == identity
    };
    let Some(index) = jobs.iter().position(is_it) else {
        let what = format!("--identity: no run of this sweep has the identity {identity}");
        let help = "identities depend on the version of shallop, the scenario and its files: list and make runs with \
                    the same ones";
        return Err(with_help(&what, &help));
    };
    format!("{}/{}", index + 1, jobs.len()).parse().map_err(|why: String| plain(&why))
}

pub fn reproduce(args: &args::Reproduce, stop: &AtomicBool) -> Result<ExitCode> {
    let all = ["all".to_owned()];
    let chosen = find_experiments(if args.ids.is_empty() { &all } else { &args.ids })?;
    if args.ids.is_empty() {
        return list(&chosen, args.common.printed);
    }
    let options = Options { quick: args.quick, ..Options::default() };
    let out = args.common.out.as_deref();
    let tasks = chosen.into_iter().map(|shipped| StudyTask::shipped(shipped, &options, out));
    let mut tasks = tasks.collect::<Result<Vec<StudyTask>>>()?;
    // An experiment that was named by itself must run, or fail for lack of a kernel.
    if args.ids.iter().any(|id| id == "all") {
        skip_impossible(&mut tasks, &args.ids);
    }
    StudyTasks::new(tasks, &args.common, stop).resume(args.resume).run()
}

/// Removes experiments that this machine cannot run, except those that were named, and prints a note on them.
fn skip_impossible(tasks: &mut Vec<StudyTask>, named: &[String]) {
    let (mut ids, mut reason) = (Vec::new(), String::new());
    tasks.retain(|StudyTask { id, study, .. }| {
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
        print::notes(&[format!("{} experiments are skipped ({}): {reason}", ids.len(), ids.join(", "))]);
    }
}

/// The number of threads for `--jobs`, where 0 is one for each core.
pub fn threads(jobs: usize) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    if jobs == 0 { cores() } else { jobs }
}

/// Access to the files in the folder of a scenario.
pub fn files(scenario: &Path) -> Arc<dyn Files> {
    Arc::new(workbench::FolderFiles::beside(scenario))
}

/// The beginning of a note with many lines of a file, which `check` prints in full.
fn short(note: &str) -> String {
    const MOST: usize = 400;
    let cut = note.char_indices().nth(MOST).and_then(|(end, _)| note[..end].rfind(", "));
    cut.map_or_else(|| note.to_owned(), |cut| format!("{}, ... (shallop check has all)", &note[..cut]))
}

fn list(experiments: &[Shipped], printed: PrintOptions) -> Result<ExitCode> {
    let rows = experiments.iter().map(|shipped| (shipped.id, shipped.heading()));
    if printed.format() == Format::Json {
        let experiments = rows.map(|(id, heading)| {
            let fields = ["title", "about", "takes", "takes_quick"].into_iter().zip(heading.map(Into::into));
            print::object([("id", id.into())].into_iter().chain(fields))
        });
        let version = env!("CARGO_PKG_VERSION").into();
        let experiments = experiments.collect::<Vec<_>>().into();
        print::json(&print::object([("version", version), ("experiments", experiments)]))?;
        return Ok(ExitCode::SUCCESS);
    }
    let rows = rows.map(|(id, [title, about, takes, takes_quick])| {
        vec![id.to_owned(), if about.is_empty() { title } else { about }, takes, takes_quick]
    });
    print::grid(&table::Grid::new("id, shows, takes, --quick", rows, 4), printed)?;
    if printed.format() != Format::Csv {
        print::line("\nRun one with `shallop reproduce ID`, all of them with `shallop reproduce all`.")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The studies that a command runs one after another.
struct StudyTasks<'a> {
    all: Vec<StudyTask>,
    common: &'a args::CommonOptions,
    stop: &'a AtomicBool,
    /// Whether finished runs in the archive are reused instead of running them again.
    resume: bool,
    shard: Shard,
    /// Whether tables have a row per point, with means over seeds.
    sweep: bool,
    /// The number of runs at a time; 0 for one per core.
    jobs: usize,
    /// Whether to show the run in progress on the screen.
    live: bool,
}

impl<'a> StudyTasks<'a> {
    fn new(all: Vec<StudyTask>, common: &'a args::CommonOptions, stop: &'a AtomicBool) -> Self {
        Self {
            all,
            common,
            stop,
            resume: false,
            shard: Shard::WHOLE,
            sweep: false,
            jobs: common.jobs.map_or(0, NonZeroUsize::get),
            live: false,
        }
    }

    fn resume(self, resume: bool) -> Self {
        Self { resume, ..self }
    }

    fn run(&self) -> Result<ExitCode> {
        let locks = self.all.iter().map(|task| task.prepare(self.shard));
        let _locks = locks.collect::<Result<Vec<_>>>()?;
        self.check_index()?;
        let notes = self.all.iter().flat_map(|task| workbench::run_study::notes(&task.study));
        print::notes(&notes.map(|note| short(&note)).collect::<Vec<_>>());
        let cores = self.say_how_long();
        let bar = ProgressReporter::new(self.all.iter().map(|task| jobs::total_work(&task.study, self.shard)));
        let bar = bar.with_screen(self.live.then(LiveScreen::start).transpose()?);
        let summaries = self.all.iter().map(|task| self.one(task, cores, &bar));
        let summaries = summaries.collect::<Result<Vec<Summary>>>();
        bar.close();
        let summaries = summaries?;
        self.index()?;
        let interrupted = summaries.iter().any(|summary| summary.interrupted);
        let void = summaries.iter().any(|summary| summary.runs.iter().any(Run::is_void));
        let not_held = [Verdict::Fails, Verdict::Undecided];
        let failed =
            summaries.iter().any(|summary| not_held.iter().any(|&verdict| count(&summary.claims, verdict) > 0));
        match self.common.printed.format() {
            Format::Json => self.print_json(summaries, interrupted)?,
            Format::Csv => print::grid(&Self::csv(&summaries), self.common.printed)?,
            _ => print::line(&run_report::legend(&summaries, self.rows(), print::form(self.common.printed)))?,
        }
        Ok(match (interrupted, void, failed) {
            (true, ..) => ExitCode::from(INTERRUPTED),
            (false, true, _) => ExitCode::from(VOID),
            (false, false, true) => ExitCode::FAILURE,
            (false, false, false) => ExitCode::SUCCESS,
        })
    }

    /// Prints how long all runs will take, if that is more than a few seconds. Returns the number of cores for each
    /// run: a single run that takes long has as many as make it faster, unless `--cores` or `--jobs` is given.
    fn say_how_long(&self) -> usize {
        let (given, threads) = (self.common.cores.map_or(1, NonZeroUsize::get), threads(self.jobs));
        let all = self.all.iter();
        let studies: Vec<_> = all.map(|task| (&task.study, task.remaining(self.shard, self.resume))).collect();
        let forecast = forecast::forecast(&studies, threads);
        let Some(words) = forecast.words() else { return given };
        let mut runs = Vec::new();
        for (study, jobs) in &studies {
            runs.extend(jobs.iter().map(|job| (&study.points[job.point].plan, *job)));
        }
        let is_given = self.common.cores.is_some() || self.common.jobs.is_some();
        let divided = match runs[..] {
            [(plan, job)] if !is_given => forecast::cores(plan, job, threads),
            _ => Err(String::new()),
        };
        let (cores, notes) = match divided {
            Ok((cores, speed)) => {
                let words = forecast.faster(speed).words().unwrap_or(words);
                let note = format!("1 run, {words}, on {cores} cores: {speed:.1} times as fast as with --cores 1");
                (cores, vec![note])
            }
            Err(why) => {
                let plural = if runs.len() == 1 { "" } else { "s" };
                let note = format!("{} run{plural}, {words}", runs.len());
                (given, [note, why].into_iter().filter(|note| !note.is_empty()).collect())
            }
        };
        print::notes(&notes);
        cores
    }

    /// The folder of the index page; `None` without experiments.
    fn index_folder(&self) -> Option<&Path> {
        self.common.out.as_deref().filter(|_| self.all.iter().any(|task| task.id.is_some()))
    }

    /// Checks that an existing index page may be replaced.
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

    /// The only table that is printed as CSV: the means of a run or sweep, or the claims of experiments.
    fn csv(summaries: &[Summary]) -> table::Grid {
        let mut all = table::Grid::default();
        for summary in summaries {
            let Some(id) = &summary.id else { return workbench::aggregate_grid(summary) };
            let claims = table::claims(&summary.claims);
            let row = |row: Vec<String>, first: &str| std::iter::once(first.to_owned()).chain(row).collect::<Vec<_>>();
            all.header = row(claims.header, "experiment");
            all.rows.extend(claims.rows.into_iter().map(|cells| row(cells, id)));
        }
        all
    }

    fn one(&self, task: &StudyTask, cores: usize, bar: &ProgressReporter) -> Result<Summary> {
        let options = jobs::JobOptions {
            jobs: self.jobs,
            cores,
            // Set by the task.
            archive: None,
            resume: self.resume,
            shard: self.shard,
            stop: self.stop,
        };
        let (summary, _) = task.run(options, bar)?;
        // Programs get the end of the progress before the results.
        bar.tell(true);
        self.tell(task, &summary);
        match self.common.printed.format() {
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
                let (wide, rows) = (self.common.printed.wide, self.rows());
                let form = match print::form(self.common.printed) {
                    // With intervals, all columns are wider than a page.
                    TableForm::Text(None) if rows == Rows::Runs && summary.seeds.len() > 1 && !wide => {
                        TableForm::Text(Some(run_report::WIDTH))
                    }
                    form => form,
                };
                bar.hidden_while(|| print::line(&task.text(&summary, self.shard, rows, form)))?;
            }
        }
        Ok(summary)
    }

    fn rows(&self) -> Rows {
        match () {
            () if self.common.details => Rows::Details,
            () if self.sweep => Rows::Sweep,
            () => Rows::Runs,
        }
    }

    /// Sends the results of a study to a program.
    fn tell(&self, task: &StudyTask, summary: &Summary) {
        if !messages::is_json() {
            return;
        }
        let form = TableForm::Text(None);
        let homeless = StudyTask { folder: None, ..task.clone() };
        messages::send(&Message::Results {
            id: task.id.as_deref(),
            folder: task.folder.as_deref(),
            tables: &homeless.text(summary, self.shard, self.rows(), form),
            notes: &task.notes(summary, self.shard),
            legend: &run_report::legend([summary], self.rows(), form),
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

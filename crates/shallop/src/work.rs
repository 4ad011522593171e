//! `run`, `reproduce` and `sweep`: everything is read and checked first, then run, written and printed.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use shallop_lab::experiments::{self, Shipped};
use shallop_lab::files::Files;
use shallop_lab::host::{self, Kept, REPORT, jobs, report};
use shallop_lab::scenario::{self, Options};
use shallop_lab::study::Shard;
use shallop_lab::summary::{Reproduction, Summary};
use shallop_lab::verdict::{Verdict, count};
use shallop_lab::{Run, Study, table};

use crate::args;
use crate::fail::{Result, in_text, name, plain, with_help};
use crate::print;
use crate::progress::Bar;

/// The exit code of work that was interrupted.
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
    let chosen = chosen(&args.ids)?;
    let options = Options { quick: args.quick, ..Options::default() };
    let mut tasks = Vec::new();
    for shipped in chosen {
        let study = scenario::read(shipped.text, &options)
            .map_err(|problem| in_text(&format!("{}.toml", shipped.id), shipped.text, problem))?;
        let folder = args.work.out.as_ref().map(|out| out.join(shipped.id));
        tasks.push(Task { id: Some(shipped.id.to_owned()), study, folder });
    }
    if args.ids.is_empty() {
        return list(&tasks, args.work.json);
    }
    Tasks::new(tasks, &args.work, stop).resume(args.resume).carry_out()
}

/// The files beside a scenario.
pub fn files(scenario: &Path) -> Arc<dyn Files> {
    Arc::new(host::Folder::of(scenario))
}

/// Reads a scenario.
pub fn read(path: &Path, options: &Options) -> Result<Study> {
    let text = host::read_text(path).map_err(|why| plain(&why))?;
    if text.trim().is_empty() {
        let help =
            "a scenario is a TOML file: see `shallop schema` and the files under experiments";
        return Err(with_help(&format!("{}: the file is empty", name(path)), &help));
    }
    scenario::read(&text, options).map_err(|problem| in_text(&name(path), &text, problem))
}

/// Finds out whether all runs of a study can be made.
pub fn check(study: &Study) -> Result<()> {
    for job in study.jobs() {
        shallop_lab::run::check(&study.points[job.point].plan, job.scheme, job.seed)
            .map_err(|why| plain(&why))?;
    }
    Ok(())
}

/// The experiments that were asked for: each once, in the order they are listed.
fn chosen(ids: &[String]) -> Result<Vec<Shipped>> {
    let all: Vec<Shipped> = experiments::all().into_iter().collect();
    for id in ids {
        if id != "all" && experiments::find(id).is_none() {
            return Err(unknown(id, &all));
        }
    }
    let every = ids.is_empty() || ids.iter().any(|id| id == "all");
    Ok(all.into_iter().filter(|shipped| every || ids.iter().any(|id| id == shipped.id)).collect())
}

fn unknown(id: &str, all: &[Shipped]) -> miette::Report {
    let names: Vec<&str> = all.iter().map(|shipped| shipped.id).collect();
    let near = |name: &&&str| strsim::jaro_winkler(id, name) > 0.8;
    let nearest = names
        .iter()
        .filter(near)
        // Of several that are as near, the first.
        .min_by(|a, b| strsim::jaro_winkler(id, b).total_cmp(&strsim::jaro_winkler(id, a)));
    let guess = nearest.map_or_else(String::new, |name| format!("did you mean \"{name}\"? "));
    let help = format!("{guess}There are: {}, and all", names.join(", "));
    with_help(&format!("there is no experiment \"{id}\""), &help)
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

/// A study to be run.
struct Task {
    /// The experiment, if it is one.
    id: Option<String>,
    study: Study,
    /// Where its results go.
    folder: Option<PathBuf>,
}

/// Everything that is asked for.
struct Tasks<'a> {
    all: Vec<Task>,
    work: &'a args::Work,
    stop: &'a AtomicBool,
    /// Finished runs that were kept are taken as they are.
    resume: bool,
    shard: Shard,
    /// There may be many points: a row for each.
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
        for task in &self.all {
            check(&task.study)?;
            if let Some(folder) = &task.folder {
                host::check_folder(folder).map_err(|why| plain(&why))?;
            }
        }
        let bar = Bar::of(self.all.iter().map(|task| jobs::work(&task.study, self.shard)));
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
            print::line(if self.sweep { table::SWEEP_LEGEND } else { table::LEGEND })?;
        }
        Ok(match (interrupted, failed) {
            (true, _) => ExitCode::from(INTERRUPTED),
            (false, true) => ExitCode::FAILURE,
            (false, false) => ExitCode::SUCCESS,
        })
    }

    /// Writes the page that leads to those of the experiments, if there are any.
    fn index(&self) -> Result<()> {
        let experiments = self.all.iter().any(|task| task.id.is_some());
        match self.work.out.as_deref().filter(|out| experiments && !report::inside(out).is_empty())
        {
            Some(out) => report::write_index(out).map(drop).map_err(|why| plain(&why)),
            None => Ok(()),
        }
    }

    fn one(&self, task: &Task, bar: &Bar) -> Result<Summary> {
        let kept = task.folder.as_deref().map(Kept::of);
        let how = jobs::How {
            jobs: self.work.jobs.map_or(0, NonZeroUsize::get),
            kept: kept.as_ref(),
            resume: self.resume,
            shard: self.shard,
            stop: self.stop,
        };
        let mut done = Vec::new();
        if !self.stop.load(Ordering::Relaxed) {
            done = host::run_all(&task.study, how, bar).map_err(|why| plain(&why))?;
        }
        let summary = host::summarise(&task.study, task.id.as_deref(), &done, self.shard);
        // What nothing is known of leaves what an earlier run wrote as it is, and a part is not the whole.
        let whole = self.shard.is_whole() && !done.is_empty();
        if let Some(folder) = task.folder.as_ref().filter(|_| whole) {
            host::write(folder, &task.study, &summary, &done).map_err(|why| plain(&why))?;
            crate::report::write(folder, self.work.figures)?;
        }
        if !self.work.json {
            let points: Vec<(usize, &Run)> =
                done.iter().map(|done| (done.job.point, &done.run)).collect();
            bar.aside(|| self.tables(task, &points, &summary))?;
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

    /// Prints what came of a study.
    fn tables(&self, task: &Task, runs: &[(usize, &Run)], summary: &Summary) -> Result<()> {
        let (Task { id, study, folder }, points) = (task, &summary.points);
        let title = match id {
            Some(id) => format!("{id}: {}", study.title),
            None => study.title.clone(),
        };
        let quick = if study.quick { " (quick)" } else { "" };
        print::line(&format!("{title}{quick}"))?;
        print::line("")?;
        if !runs.is_empty() {
            let grid =
                if self.sweep { table::sweep(points, runs) } else { table::runs(points, runs) };
            print::grid(&grid)?;
            table::warnings(points, runs).iter().try_for_each(|text| print::line(text))?;
            print::line("")?;
        }
        if !summary.claims.is_empty() {
            print::grid(&table::claims(&summary.claims))?;
            print::line("")?;
            print::line(&table::tally(&summary.claims))?;
        }
        let all = self.shard.of(study.jobs()).len();
        if summary.interrupted {
            print::line(&format!("Interrupted: {} of {all} runs ended.", runs.len()))?;
        }
        match folder.as_ref() {
            Some(folder) if !self.shard.is_whole() => print::line(&format!(
                "Shard {}: {} of {all} runs are in {}. With those of all shards there,\n\
                 the same command without --shard puts them together.\n",
                self.shard,
                runs.len(),
                name(Kept::of(folder).folder())
            )),
            Some(folder) if !runs.is_empty() => {
                print::line(&format!("The report is {}.\n", name(&folder.join(REPORT))))
            }
            _ => print::line(""),
        }
    }
}

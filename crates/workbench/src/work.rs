//! From the text of a scenario to the results in a folder: the work of the command and of the Python module.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use shallop_store::read_text;

use super::diagnostic::{Result, in_text, name, plain, with_help};
use super::jobs::{JobOptions, Progress, run_all};
use super::results::{check_folder, summarise, write};
use super::text_table::render;
use super::{REPORT, Results, RunArchive};
use shallop_plan::wait;
use shallop_plan::{Setup, Study, warn};
use shallop_results::Shard;
use shallop_results::drops::drops;
use shallop_results::group_table::groups;
use shallop_results::legend::longest_queues;
use shallop_results::links;
use shallop_results::summary::{Run, Summary};
use shallop_results::table::{self, Grid};
use shallop_scenario::experiments::{self, Shipped};
use shallop_scenario::{self as scenario, Options};

/// Reads a scenario from its file.
///
/// # Errors
/// If the file cannot be read, or the scenario has an error.
pub fn read(path: &Path, options: &Options) -> Result<Study> {
    of_text(&name(path), &read_text(path).map_err(|why| plain(&why))?, options)
}

/// Reads a scenario from a text; `name` is the name of the text in messages.
///
/// # Errors
/// If the scenario has an error.
pub fn of_text(name: &str, text: &str, options: &Options) -> Result<Study> {
    if text.trim().is_empty() {
        let help =
            "a scenario is a TOML file: see `shallop schema` and the files under experiments";
        return Err(with_help(&format!("{name}: the file is empty"), &help));
    }
    scenario::read(text, options).map_err(|problem| in_text(name, text, problem))
}

/// The experiments with these names, each once, in the order of the list; `all` stands for every one.
///
/// # Errors
/// If there is no such experiment.
pub fn chosen<I: AsRef<str>>(ids: &[I]) -> Result<Vec<Shipped>> {
    let all = experiments::all();
    let asked = |id: &str| ids.iter().any(|asked| asked.as_ref() == id);
    for id in ids.iter().map(AsRef::as_ref) {
        if id != "all" && experiments::find(id).is_none() {
            return Err(unknown(id, &all));
        }
    }
    Ok(all.into_iter().filter(|shipped| asked("all") || asked(shipped.id)).collect())
}

fn unknown(id: &str, all: &[Shipped]) -> miette::Report {
    let names: Vec<&str> = all.iter().map(|shipped| shipped.id).collect();
    let near = |name: &&&str| strsim::jaro_winkler(id, name) > 0.8;
    let nearest = names
        .iter()
        .filter(near)
        // Of several equally near names, the first.
        .min_by(|a, b| strsim::jaro_winkler(id, b).total_cmp(&strsim::jaro_winkler(id, a)));
    let guess = nearest.map_or_else(String::new, |name| format!("did you mean \"{name}\"? "));
    let help = format!("{guess}There are: {}, and all", names.join(", "));
    with_help(&format!("there is no experiment \"{id}\""), &help)
}

/// A study that is to be run.
#[derive(Clone, Debug)]
pub struct Task {
    /// The name of the experiment, if it is one.
    pub id: Option<String>,
    /// The study.
    pub study: Study,
    /// The folder of its results.
    pub folder: Option<PathBuf>,
}

impl Task {
    /// Reads a shipped experiment; its results go to a folder with its name.
    ///
    /// # Errors
    /// If the options do not apply to it.
    pub fn shipped(shipped: Shipped, options: &Options, out: Option<&Path>) -> Result<Self> {
        let Shipped { id, text } = shipped;
        let study = of_text(&format!("{id}.toml"), text, options)?;
        Ok(Self { id: Some(id.to_owned()), study, folder: out.map(|out| out.join(id)) })
    }

    /// Checks whether all runs can be set up, and their results written.
    ///
    /// # Errors
    /// Why they cannot.
    pub fn check(&self) -> Result<()> {
        can_run(&self.study)?;
        self.folder.iter().try_for_each(|folder| check_folder(folder).map_err(|why| plain(&why)))
    }

    /// Makes the runs, and writes their results and the page of the results.
    ///
    /// # Errors
    /// If a run cannot be made, or results cannot be written.
    pub fn carry_out(
        &self,
        options: JobOptions<'_>,
        progress: &dyn Progress,
    ) -> Result<(Summary, Option<Results>)> {
        let archive = self.folder.as_deref().map(RunArchive::of);
        let options = JobOptions { archive: archive.as_ref(), ..options };
        let mut done = Vec::new();
        if !options.stop.load(Ordering::Relaxed) {
            done = run_all(&self.study, options, progress).map_err(|why| plain(&why))?;
        }
        let summary = summarise(&self.study, self.id.as_deref(), &done, options.shard);
        // What nothing is known of leaves what an earlier run wrote as it is, and a part is not the whole.
        let whole = options.shard.is_whole() && !done.is_empty();
        let Some(folder) = self.folder.as_ref().filter(|_| whole) else {
            return Ok((summary, None));
        };
        write(folder, &self.study, &summary, &done).map_err(|why| plain(&why))?;
        let results = Results::publish(folder).map_err(|why| plain(&why))?;
        Ok((summary, Some(results)))
    }

    /// The results as text: tables, and the folder of the files. A sweep has a row for each point.
    #[must_use]
    pub fn text(&self, summary: &Summary, shard: Shard, sweep: bool) -> String {
        let Self { id, study, folder } = self;
        let id = id.as_ref().map_or_else(String::new, |id| format!("{id}: "));
        let quick = if study.quick { " (quick)" } else { "" };
        let mut text = format!("{id}{}{quick}\n\n", study.title);
        for note in &study.notes {
            // Writing to a text does not fail.
            let _ = writeln!(text, "note: {note}\n");
        }
        text.push_str(&tables(summary, sweep));
        let all = shard.of(study.jobs()).len();
        if summary.interrupted {
            // Writing to a text does not fail.
            let _ = writeln!(text, "Interrupted: {} of {all} runs ended.", summary.runs.len());
        }
        let _ = match folder.as_ref() {
            Some(folder) if !shard.is_whole() => writeln!(
                text,
                "Shard {shard}: {} of {all} runs are in {}. With those of all shards there,\n\
                 the same command without --shard puts them together.",
                summary.runs.len(),
                name(RunArchive::of(folder).folder())
            ),
            Some(folder) if !summary.runs.is_empty() => {
                writeln!(text, "The report is {}.", name(&folder.join(REPORT)))
            }
            _ => Ok(()),
        };
        text
    }
}

/// Checks whether all runs of a study can be set up.
///
/// # Errors
/// Why one cannot.
pub fn can_run(study: &Study) -> Result<()> {
    for job in study.jobs() {
        wait::check(&study.points[job.point].plan, job.scheme, job.seed)
            .map_err(|why| plain(&why))?;
    }
    Ok(())
}

/// The warnings of all runs of a study that can be given before they are made: for each scheme of each point, with the
/// first seed. A warning of a scheme that differs between points only in numbers is given once, with the first point.
///
/// # Errors
/// If a run cannot be set up.
pub fn warnings(study: &Study) -> Result<Vec<String>> {
    let seed = study.seeds.first().copied().unwrap_or_default();
    let mut runs = Vec::new();
    for (number, point) in study.points.iter().enumerate() {
        for (index, scheme) in point.plan.schemes.iter().enumerate() {
            let setup = Setup::new(&point.plan, index, seed).map_err(|why| plain(&why))?;
            let warnings = warn::before(&setup);
            runs.push((
                number,
                Run { scheme: scheme.name.clone(), seed, warnings, ..Run::default() },
            ));
        }
    }
    let runs: Vec<(usize, &Run)> = runs.iter().map(|(point, run)| (*point, run)).collect();
    Ok(table::warnings(&study.design().points, &runs))
}

/// A table with its title and a note on what it leaves out; nothing without rows.
fn titled(title: &str, (grid, note): (Grid, String)) -> String {
    if grid.rows.is_empty() {
        return String::new();
    }
    let note = if note.is_empty() { note } else { format!("{note}\n") };
    format!("{title}\n{}\n{note}\n", render(&grid))
}

/// The legend of the tables of these summaries: what each of their columns means.
#[must_use]
pub fn legend<'a>(summaries: impl IntoIterator<Item = &'a Summary>, sweep: bool) -> String {
    let grids = summaries.into_iter().map(|summary| runs_table(summary, sweep));
    shallop_results::legend::legend(&grids.collect::<Vec<_>>())
}

fn runs_table(summary: &Summary, sweep: bool) -> Grid {
    let (points, runs) = (&summary.points, table::placed(summary));
    if sweep { table::sweep(points, &runs) } else { table::runs(points, &runs) }
}

/// The tables of runs and claims of a summary.
fn tables(summary: &Summary, sweep: bool) -> String {
    let mut text = String::new();
    let (points, runs) = (&summary.points, table::placed(summary));
    if !runs.is_empty() {
        text.push_str(&render(&runs_table(summary, sweep)));
        text.push('\n');
        let longest = longest_queues(&runs);
        if !longest.is_empty() {
            text.push_str(&longest);
            text.push('\n');
        }
        for warning in table::warnings(points, &runs) {
            text.push_str(&warning);
            text.push('\n');
        }
        text.push('\n');
        let drops = drops(points, &runs);
        if !sweep && summary.claims.is_empty() && !drops.rows.is_empty() {
            text.push_str(
                "Why data packets were dropped (most at: the port that dropped most of them)\n",
            );
            text.push_str(&render(&drops));
            text.push_str("\n\n");
        }
        if !sweep && summary.claims.is_empty() {
            let (groups, links) =
                (groups(points, &runs), links::table(points, &runs, links::MAX_PRINTED));
            text.push_str(&titled("Groups of flows", groups));
            text.push_str(&titled("The most utilised links", links));
        }
    }
    if !summary.claims.is_empty() {
        text.push_str(&render(&table::claims(&summary.claims)));
        text.push_str("\n\n");
        text.push_str(&table::tally(&summary.claims));
        text.push('\n');
    }
    text
}

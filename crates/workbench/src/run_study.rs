//! Runs a study: from the text of a scenario to the results in a folder.

use super::diagnostic::{Result, in_text, name, plain, study_error, with_help};
use super::jobs::{JobOptions, Progress, run_all};
use super::printable::printable;
use super::report::{check_page, read_summary};
use super::results::{check_folder, summarise, write};
use super::{Results, RunArchive};
use super::{fault::in_scenario, identity::Identity};
use indexmap::IndexSet;
use rustix::{fs::OFlags, process::geteuid};
use shallop_core::BufferSize;
use shallop_plan::chips;
use shallop_plan::plan::{GraphLink, Group, Starts, Switch, Topology};
use shallop_plan::wait;
use shallop_plan::{ResolvedNetwork, Study, warn};
use shallop_results::summary::{Run, Summary};
use shallop_results::warning_lines;
use shallop_results::{Job, Shard};
use shallop_scenario::experiments::{self, Shipped};
use shallop_scenario::{self as scenario, Options, Programs};
use shallop_store::{FolderLock, StoreError, read_text};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::{sync::atomic::Ordering, time::Duration};

/// Mode bits by which the group or others may write to a file.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// Reads and checks the scenario in a file; an error shows the line.
pub fn read_scenario(path: &Path, options: &Options) -> Result<Study> {
    let text = scenario_text(path)?;
    let programs = programs_of_file(path, &text, &options.programs);
    parse_scenario(&name(path), &text, &Options { programs, ..options.clone() })
}

pub fn scenario_text(path: &Path) -> Result<String> {
    read_text(path).map_err(|why| in_scenario(plain(&why)))
}

/// Decides whether the programs of a scenario may run, whose text was read from this file, if they may only in own
/// files.
pub fn programs_of_file(path: &Path, text: &str, asked: &Programs) -> Programs {
    if *asked != Programs::OfOwnFile {
        return asked.clone();
    }
    match refusal(path, text) {
        Ok(None) => Programs::Allowed,
        Ok(Some(why)) => Programs::Refused(format!("{why} {}", name(path))),
        Err(why) => Programs::Refused(format!("{}: {why}", name(path))),
    }
}

/// Why this text is not trusted; `None` if it is in a file that only this user may write to. The open file is examined,
/// and has to hold the text: between two looks at a path, another user may exchange the file.
fn refusal(path: &Path, text: &str) -> io::Result<Option<String>> {
    // A pipe at the path does not block.
    let mut file = File::options().read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path)?;
    let about = file.metadata()?;
    if !about.is_file() {
        return Ok(Some("it is not from a regular file:".to_owned()));
    }
    if about.uid() != geteuid().as_raw() {
        return Ok(Some(format!("user {} owns", about.uid())));
    }
    if about.mode() & WRITABLE_BY_OTHERS != 0 {
        return Ok(Some("other users may write to".to_owned()));
    }
    let mut there = String::new();
    file.read_to_string(&mut there)?;
    // Readers of text may change the ends of lines.
    Ok((!there.lines().eq(text.lines())).then(|| "another text is now in".to_owned()))
}

/// Reads a scenario from a text that messages call `name`.
pub fn parse_scenario(name: &str, text: &str, options: &Options) -> Result<Study> {
    if text.trim().is_empty() {
        let help = "a scenario is a TOML file: see `shallop schema` and the files under experiments";
        return Err(in_scenario(with_help(&format!("{name}: the file is empty"), &help)));
    }
    scenario::read(text, options).map_err(|problem| in_scenario(in_text(name, text, problem)))
}

/// The shipped experiments with these identifiers, each once; `all` stands for every one.
pub fn find_experiments<I: AsRef<str>>(ids: &[I]) -> Result<Vec<Shipped>> {
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
    let nearest =
        names.iter().filter(near).min_by(|a, b| strsim::jaro_winkler(id, b).total_cmp(&strsim::jaro_winkler(id, a)));
    let guess = nearest.map_or_else(String::new, |name| format!("did you mean \"{name}\"? "));
    let help = format!("{guess}There are: {}, and all", names.join(", "));
    in_scenario(with_help(&format!("there is no experiment \"{id}\""), &help))
}

/// A study to be run, and where its results go.
#[derive(Clone, Debug)]
pub struct StudyTask {
    /// The identifier of the experiment; `None` for a scenario of the user.
    pub id: Option<String>,
    pub study: Study,
    /// The folder of the results; `None` writes no files.
    pub folder: Option<PathBuf>,
}

impl StudyTask {
    /// Reads a shipped experiment. Its results go to a folder with its identifier, below `out`.
    pub fn shipped(shipped: Shipped, options: &Options, out: Option<&Path>) -> Result<Self> {
        let Shipped { id, text } = shipped;
        let study = parse_scenario(&format!("{id}.toml"), text, options)?;
        Ok(Self { id: Some(id.to_owned()), study, folder: out.map(|out| out.join(id)) })
    }

    /// Checks whether all runs can be set up and their results written, and locks the folder. While the lock is held,
    /// no other process writes to the folder, except one that runs another shard of the same study.
    pub fn prepare(&self, shard: Shard) -> Result<Option<FolderLock>> {
        check_setups(&self.study)?;
        let Some(folder) = &self.folder else { return Ok(None) };
        check_folder(folder).map_err(|why| plain(&why))?;
        check_page(folder).map_err(|why| plain(&why))?;
        locked(folder, shard).map(Some).map_err(|why| plain(&why))
    }

    /// The jobs of a shard that are to be simulated: each run once, without those that `resume` finds in the folder.
    pub fn remaining(&self, shard: Shard, resume: bool) -> Vec<Job> {
        let archive = self.folder.as_deref().map(RunArchive::in_results).filter(|_| resume);
        let mut seen = BTreeSet::new();
        let is_new = |job: &Job| {
            let plan = &self.study.points[job.point].plan;
            let identity = Identity::for_run(plan, job.scheme, job.seed);
            let is_done = archive.as_ref().is_some_and(|archive| archive.flows(&identity).is_file());
            seen.insert(identity) && !is_done
        };
        shard.select(self.study.jobs()).into_iter().filter(is_new).collect()
    }

    /// Runs the study, and writes its results and their page.
    pub fn run(&self, options: JobOptions<'_>, progress: &dyn Progress) -> Result<(Summary, Option<Results>)> {
        let archive = self.folder.as_deref().map(RunArchive::in_results);
        let options = JobOptions { archive: archive.as_ref(), ..options };
        let mut done = Vec::new();
        if !options.stop.load(Ordering::Relaxed) {
            done = run_all(&self.study, options, progress).map_err(|why| study_error(&why))?;
        }
        let summary = summarise(&self.study, self.id.as_deref(), &done, options.shard);
        // Without finished runs, files of an earlier run stay; a shard writes no summary.
        let whole = options.shard.is_whole() && !done.is_empty();
        let Some(folder) = self.folder.as_ref().filter(|_| whole) else {
            return Ok((summary, None));
        };
        write(folder, &self.study, &summary, &done).map_err(|why| plain(&why))?;
        let results = Results::publish(folder).map_err(|why| plain(&why))?;
        Ok((summary, Some(results)))
    }
}

/// Locks a results folder. Waits up to two seconds for a lock: a command whose parent was killed ends a moment after
/// it.
fn locked(folder: &Path, shard: Shard) -> std::result::Result<FolderLock, StoreError> {
    let lock = || {
        if shard.is_whole() { FolderLock::exclusive(folder) } else { FolderLock::shared(folder) }
    };
    for _ in 0..20 {
        match lock() {
            Err(StoreError::Locked { .. }) => std::thread::sleep(Duration::from_millis(100)),
            other => return other,
        }
    }
    lock()
}

/// Notes on a study before it runs, each once: notes of its scenario, and columns and attributes of network files that
/// are not read, and their numbers that were guessed.
pub fn notes(study: &Study) -> Vec<String> {
    const MOST: usize = 10;
    let mut notes: IndexSet<String> = study.notes.iter().cloned().collect();
    for point in &study.points {
        let Topology::File(imported, _) = point.plan.topology.unscaled() else { continue };
        let (file, names) = &imported.unread;
        let told = names.iter().take(MOST).map(String::as_str).collect::<Vec<_>>().join(", ");
        let more = names.len().saturating_sub(MOST);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let unread = (!names.is_empty()).then(|| format!("not read: {told}{more}"));
        for note in imported.notes.iter().cloned().chain(unread) {
            let file = name(Path::new(file));
            let warning = note.strip_prefix("warning: ").map(|warning| format!("warning: {file}: {warning}"));
            let note = warning.unwrap_or_else(|| format!("{file}: {note}"));
            notes.insert(note);
        }
    }
    if study.points.iter().any(|point| is_cut(point.plan.topology.unscaled())) {
        notes.insert(NOT_REROUTED.to_owned());
    }
    let switches = study.points.iter().flat_map(|point| &point.plan.switches);
    let groups = study.points.iter().flat_map(|point| &point.plan.groups);
    notes.extend(switches.filter_map(even_parts).chain(groups.filter_map(unsorted)));
    notes.into_iter().collect()
}

/// A note on the programs that the scenario runs.
pub fn programs(study: &Study) -> Vec<String> {
    let groups = study.points.iter().flat_map(|point| &point.plan.groups);
    let words = groups.filter_map(|group| group.command.as_ref()?.words.first());
    let words: IndexSet<Cow<'_, str>> = words.map(|word| printable(word)).collect();
    let words = words.into_iter().collect::<Vec<_>>().join(", ");
    let note = format!("warning: the scenario runs programs with all rights of its user: {words}");
    (!words.is_empty()).then_some(note).into_iter().collect()
}

const NOT_REROUTED: &str = "`down` reroutes nothing: flows over the link wait until it is back; the network after \
                            rerouting is one without the link";

/// Whether a link of the network is down for a time.
fn is_cut(topology: &Topology) -> bool {
    let is_down = |link: &GraphLink| link.ways.iter().any(|way| !way.down.is_empty());
    match topology {
        Topology::File(_, faults) => faults.iter().any(|(_, link)| is_down(link)),
        Topology::Graph { links, .. } => links.iter().any(is_down),
        _ => false,
    }
}

/// A note on a trace whose rows are not in the order of their starts.
fn unsorted(group: &Group) -> Option<String> {
    let Starts::Trace(trace) = &group.start else { return None };
    let why = "rows are not in the order of their starts, so each run sorts them in memory";
    (!trace.sorted).then(|| format!("{}: {why}", name(Path::new(&trace.name))))
}

/// A note on a switch whose ports have even parts of the memory of a chip, as nobody knows how the chip shares it.
fn even_parts(switch: &Switch) -> Option<String> {
    let chip = switch.chip.and_then(chips::find)?;
    let each = chip.buffer_per_gbps()?;
    let even = switch.shared.is_none() && switch.buffer == BufferSize::PerGbps(each);
    let port = each.get() as f64 * 1e-5;
    even.then(|| {
        format!(
            "{}: a port of 10 Gb/s gets {port:.1} MB, since its memory is divided by the {} that all ports of the chip \
             have, as it is not public how they share it; if fewer are in use, each has more: leave out the chip and \
             write `buffer`, such as \"12.5MB/Gbps\" for 100 ms",
            chip.id, chip.capacity
        )
    })
}

/// Checks that `run` would replace no sweep in a folder: no results at points that the study does not have.
///
/// # Errors
/// If the folder has such results.
pub fn check_points(folder: &Path, study: &Study) -> Result<()> {
    // Damaged results are reported when they are replaced or read.
    let Ok(summary) = read_summary(folder) else { return Ok(()) };
    let known = |name: &str| study.points.iter().any(|point| point.name == name);
    let Some(other) = summary.points.iter().find(|it| !it.set.is_empty() && !known(&it.name)) else {
        return Ok(());
    };
    let what = format!(
        "{}: holds the results of a sweep, with the point {}, which this run would replace",
        name(folder),
        other.name
    );
    Err(with_help(&what, &"name another folder with --out, or delete this one"))
}

/// Checks whether all runs of a study can be set up.
pub fn check_setups(study: &Study) -> Result<()> {
    wait::check_all(study, study.jobs()).map_err(|why| plain(&why))
}

/// The warnings that are known before runs are made, for each scheme of each point with the first seed. A warning that
/// differs between points in numbers only is given once, for the first point.
pub fn warnings(study: &Study) -> Result<Vec<String>> {
    let seed = study.seeds.first().copied().unwrap_or_default();
    let mut runs = Vec::new();
    for (number, point) in study.points.iter().enumerate() {
        let common = ResolvedNetwork::new(&point.plan, seed).map_err(|why| plain(&why))?;
        for (index, scheme) in point.plan.schemes.iter().enumerate() {
            let setup = common.scheme(index).map_err(|why| plain(&why))?;
            let warnings = warn::before(&setup);
            runs.push((number, Run { scheme: scheme.name.clone(), seed, warnings, ..Run::default() }));
        }
    }
    let runs: Vec<(usize, &Run)> = runs.iter().map(|(point, run)| (*point, run)).collect();
    Ok(warning_lines::warnings(&study.design().points, &runs))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_a_text_that_was_exchanged_after_it_was_read_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("scenario.toml");
        std::fs::write(&path, "title = \"own\"\r\n").unwrap();
        let of = |text: &str| programs_of_file(&path, text, &Programs::OfOwnFile);
        assert_eq!(of("title = \"own\"\n"), Programs::Allowed);
        let Programs::Refused(why) = of("title = \"of somebody else\"\n") else { panic!("it is trusted") };
        assert!(why.starts_with("another text is now in "), "{why}");
        let pipe = programs_of_file(Path::new("/dev/null"), "", &Programs::OfOwnFile);
        assert!(matches!(pipe, Programs::Refused(why) if why.starts_with("it is not from a regular file")));
    }
}

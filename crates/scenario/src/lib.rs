//! Scenarios as text: a TOML file becomes a [`Study`], or a [`Problem`] with its place in the text. The keys are fields
//! of structs with `#[derive(Options)]`, which read sections, describe the JSON Schema, and check the names in changes
//! of single keys.

#![forbid(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)]

mod advise;
pub mod as_configured;
mod bounds;
mod buffers;
mod check;
mod claims;
mod commands;
pub mod configure;
mod connectivity;
mod defaults;
mod expand;
pub mod experiments;
pub mod explain;
mod groups;
mod import;
mod ineffective;
mod inherit;
mod kernel;
mod metrics;
pub mod network_files;
mod network_options;
mod plans;
mod proxy;
pub mod reference_run;
mod root_options;
mod rows;
mod schema;
mod schemes;
mod set;
mod switches;
pub mod tables;
pub mod template;
mod topology;
mod traffic;
mod tree;
mod vary;

use std::sync::Arc;

pub use advise::Changes;
pub use schema::schema;
pub use vary::values;

use claims::Subjects;
use ineffective::Ineffective;
use root_options::{PointOptions, Scenario};
use rows::{rows, unique};
use set::Change;
pub use shallop_options::Problem;
use shallop_options::{At, Entry, Item, RawValue, Section};
use shallop_plan::files::{Files, NoFiles};
use shallop_plan::study::{Study, Variant};
use tree::on_a_line;

/// What a command line changes in a scenario, and how it reads files.
#[derive(Clone, Debug)]
pub struct Options {
    /// Keys with their new values, as in `--set topology.senders=200`. A value is TOML, or a text without its quotes.
    pub set: Vec<(String, String)>,
    /// Whether to make the changes under `[quick]`.
    pub quick: bool,
    /// Replaces the seeds of the scenario by this one.
    pub seed: Option<u64>,
    /// Keys to vary, each with its values, written as in `set`: every combination becomes a point.
    pub vary: Vec<(String, Vec<String>)>,
    /// Keys that move together with a key of `vary`: that key, the other key, and a value for each value of the first.
    pub with: Vec<(String, String, Vec<String>)>,
    /// Runs with this number of seeds, which are consecutive from the first seed of the scenario on.
    pub seeds: Option<u32>,
    /// Opens files that the scenario names: traces, networks, tables of sizes.
    pub files: Arc<dyn Files>,
    /// Whether the scenario is a rehearsal. Checks of what the hosts can do are then left to the rehearsal.
    pub in_real_time: bool,
    pub programs: Programs,
    /// Whether the combinations of the values in `[advise.space]` are points.
    pub candidates: bool,
}

/// Whether groups may have programs, which run with all rights of the user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Programs {
    #[default]
    Allowed,
    /// Only if the scenario is a file of the user that no other user may write to. Who reads the file decides.
    OfOwnFile,
    /// Refused for this reason.
    Refused(String),
}

impl Default for Options {
    fn default() -> Self {
        Self {
            set: Vec::new(),
            quick: false,
            seed: None,
            vary: Vec::new(),
            with: Vec::new(),
            seeds: None,
            files: Arc::new(NoFiles),
            in_real_time: false,
            programs: Programs::Allowed,
            candidates: false,
        }
    }
}

/// Reads a scenario, which must also be valid without the changes of points and of `[quick]`. Changes are made in the
/// order `[quick]`, the point, `vary`, `set`, `seed`, `seeds`. A scenario with `vary` has no claims.
///
/// # Errors
/// The first thing that is wrong, with its place.
pub fn read(text: &str, options: &Options) -> Result<Study, Problem> {
    let mut root = tree::parse(text)?;
    inherit::resolve(&mut root)?;
    // What every point changes would otherwise never be read as it was written.
    if options.set.is_empty() {
        plans::read(&root, options)?;
    }
    let study = study(&root, options)?;
    if !options.quick && root.at_key(Scenario::KEY.quick).is_some() {
        // A quick run that cannot be made is wrong before anybody asks for it.
        let (files, in_real_time) = (options.files.clone(), options.in_real_time);
        let quick = Options { quick: true, files, in_real_time, ..Options::default() };
        self::study(&root, &quick).map_err(|problem| problem.within("in a quick run"))?;
    }
    Ok(study)
}

/// Reads a struct of options from keys with values written as for `--set`. The last value of a key counts.
///
/// # Errors
/// If there is no such key, or its value is wrong.
pub fn read_options<T: shallop_options::Options>(
    values: &[(String, String)], context: T::Context,
) -> Result<T, Problem> {
    let entry = |(key, value): &(String, String)| {
        let item = tree::parse_value(value, &At::default());
        (key.clone(), Entry { key: At::default(), item })
    };
    let table = RawValue::Table(values.iter().map(entry).collect());
    let item = Item { value: table, at: At::default() };
    Section::open::<T>("the options", &item)?.read(context)
}

const MAX_POINTS: usize = 10_000;
/// Keys that all points share, so that `set` of a point cannot change them.
const ONE_FOR_ALL: [&str; 4] =
    [Scenario::KEY.seed.name, Scenario::KEY.seeds.name, Scenario::KEY.title.name, Scenario::KEY.advise.key.name];

fn study(root: &Item, options: &Options) -> Result<Study, Problem> {
    let top = Section::open::<Scenario>("the scenario", root)?;
    let scenario: Scenario = top.read(())?;
    let base = base(root, options)?;
    let asked = asked(&base, options)?;
    let advised = advise::changed(&base, &asked)?;
    let space = advise::axes(&advised, options)?;
    let mut points: Vec<Variant> = Vec::new();
    let (mut seeds, mut ineffective) = (Vec::new(), Vec::new());
    let variations = variations(&top)?;
    let names = variations.iter().map(|variation| (variation.name.clone(), variation.full_only));
    let names: Vec<(String, bool)> = names.collect();
    // A scenario that says nothing of quick runs has none: it is run in full, and called that.
    let has_quick = top.item(Scenario::KEY.quick).is_some() || names.iter().any(|(_, full)| *full);
    let quick = options.quick && has_quick;
    let made = |variation: &&Variation| !(quick && variation.full_only);
    let asked_for = if options.candidates { &space[..] } else { &[] };
    let varied = vary::cross(variations, asked_for, options)?;
    for variation in varied.iter().filter(made) {
        let (point, read) = point(&base, variation, &asked, options)?;
        points.push(point);
        seeds = read.0;
        ineffective.push(read.1);
    }
    if points.is_empty() {
        let problem = top.at.problem("every point is for full runs only".to_owned());
        return Err(problem.with_help("leave out full_only = true in at least one point"));
    }
    let with = options.with.iter().map(|(_, key, _)| key.as_str());
    let varied = options.vary.iter().map(|(key, _)| key.as_str()).chain(with);
    let in_space: Vec<String> = asked_for.iter().flat_map(|axis| &axis.paths).map(|path| path.join(".")).collect();
    let varied = varied.chain(in_space.iter().map(String::as_str));
    let mut notes = notes(options.quick && !has_quick);
    let places: Vec<&str> = points.iter().map(|point| point.name.as_str()).collect();
    notes.extend(ineffective::judge(&ineffective, &places, varied)?);
    let question = advise::question(&advised, &points)?;
    let claims = if options.vary.is_empty() && !options.candidates {
        let names = names.iter().map(|(name, full_only)| (name.as_str(), *full_only)).collect();
        claims::read(&top, (Scenario::KEY.claim, Scenario::KEY.defaults), &Subjects { names, points: &points, quick })?
    } else {
        Vec::new()
    };
    let takes = scenario.takes;
    let take = |index: usize| takes.get(index).cloned().unwrap_or_default();
    if takes.len() > 2 {
        let problem = top.reject(Scenario::KEY.takes, format!("{} estimates", takes.len()));
        return Err(problem.with_help("two: in full, and quick"));
    }
    let title = points.first().map(|point| point.plan.title.clone()).unwrap_or_default();
    Ok(Study {
        title,
        about: scenario.about.unwrap_or_default(),
        takes: (take(0), take(1)),
        quick,
        notes,
        points,
        seeds,
        claims,
        question,
    })
}

/// The scenario with the changes of `[quick]`, if they are asked for.
fn base(root: &Item, options: &Options) -> Result<Item, Problem> {
    let mut base = root.clone();
    if let Some(quick) = root.at_key(Scenario::KEY.quick).filter(|_| options.quick) {
        for change in set::changes("[quick]", quick)? {
            set::apply(&mut base, &change)?;
        }
    }
    Ok(base)
}

/// The changes to a scenario that make it shorter by a factor, that double its load, and that double its delays.
///
/// # Errors
/// As [`read`].
pub fn variants(text: &str, options: &Options, factor: u64) -> Result<[Changes; 3], Problem> {
    let mut root = tree::parse(text)?;
    inherit::resolve(&mut root)?;
    let mut base = base(&root, options)?;
    let asked = asked(&base, options)?;
    let space = advise::axes(&advise::changed(&base, &asked)?, options)?;
    for change in &asked {
        set::apply(&mut base, change)?;
    }
    let duration = plans::read(&base, options)?.0.duration;
    Ok(advise::variants(&base, (duration, factor), &[space, vary::axes(options)?].concat()))
}

/// A note for the user if `--quick` changes nothing.
fn notes(no_quick: bool) -> Vec<String> {
    let text = "the scenario has no [quick] section, so --quick changes nothing: this is the full run";
    no_quick.then(|| text.to_owned()).into_iter().collect()
}

/// The seeds of a point, and its keys without effect.
type SeedsAndKeys = (Vec<u64>, Vec<Ineffective>);

/// Reads a point: the plan with the changes of `variation` and then of the command line (`asked`), its seeds, and its
/// keys without effect.
fn point(
    base: &Item, variation: &Variation, asked: &[Change], options: &Options,
) -> Result<(Variant, SeedsAndKeys), Problem> {
    let Variation { name, changes, .. } = variation;
    let mut varied = base.clone();
    for change in changes.iter().chain(asked) {
        set::apply(&mut varied, change)?;
    }
    let (plan, seeds, ineffective) = plans::read(&varied, options).map_err(|problem| {
        // What a varied key makes wrong elsewhere would be looked for in the file.
        let via = changes.iter().filter_map(|change| change.key.via.as_deref());
        let via: Vec<&str> = via.collect();
        if via.is_empty() || problem.via.as_deref().is_some_and(|origin| via.contains(&origin)) {
            return problem;
        }
        problem.within(&format!("with {}", via.join(" ")))
    })?;
    let set = changes.iter().map(|change| (change.key(), tree::json(&change.item))).collect();
    Ok((Variant { name: name.clone(), set, plan }, (seeds, ineffective)))
}

/// The changes that the command line makes at all points: `--set`, `--seed` and `--seeds`.
fn asked(base: &Item, options: &Options) -> Result<Vec<Change>, Problem> {
    let asked = options.set.iter().map(|(key, value)| asked_one(key, value));
    let mut asked = asked.collect::<Result<Vec<_>, _>>()?;
    if let Some(seed) = options.seed {
        asked.push(asked_one(Scenario::KEY.seed.name, &seed.to_string())?);
    }
    if let Some(count) = options.seeds {
        asked.push(vary::seeds(base, &asked, count)?);
    }
    Ok(asked)
}

fn asked_one(key: &str, value: &str) -> Result<Change, Problem> {
    let via = on_a_line(&format!("--set {key}={value}"));
    let place = At::via(via.clone());
    let path = set::steps(key).ok_or_else(|| {
        let problem = place.problem(format!("`{}` is no key", on_a_line(key)));
        problem.with_help("write it like --set topology.senders=200")
    })?;
    Ok(Change { path, key: place, item: tree::parse_value(value, &At::via(via)) })
}

/// A point before it is read: its name, and its changes to the scenario.
#[derive(Clone, Default)]
struct Variation {
    name: String,
    changes: Vec<Change>,
    full_only: bool,
}

/// Reads every `[[point]]`. A scenario without points has one without changes.
fn variations(top: &Section<'_>) -> Result<Vec<Variation>, Problem> {
    let mut points: Vec<Variation> = Vec::new();
    for (name, item) in rows(top, Scenario::KEY.point)? {
        let keys = PointOptions::KEY;
        let section = Section::open::<PointOptions>(name, item)?;
        let PointOptions { name, full_only, .. } = section.read(())?;
        let taken = points.iter().map(|other| other.name.as_str());
        unique(taken, &name, (&section, keys.name))?;
        let Some(set) = section.item(keys.set) else { return Err(section.lacks(keys.set)) };
        let changes = set::changes(&format!("`set` in {}", section.name), set)?;
        for change in &changes {
            if change.path.first().is_some_and(|first| ONE_FOR_ALL.contains(&first.as_str())) {
                let problem = change.key.problem(format!("`{}` is one for all points", change.key()));
                return Err(problem.with_help("set it at the top of the scenario"));
            }
        }
        points.push(Variation { name, changes, full_only });
        if points.len() > MAX_POINTS {
            return Err(section.at.problem(format!("more than {MAX_POINTS} points")));
        }
    }
    if points.is_empty() {
        points.push(Variation::default());
    }
    Ok(points)
}

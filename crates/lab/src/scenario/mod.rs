//! Scenarios as text: a TOML file becomes a [`Study`], or a [`Problem`] that points at the line.
//!
//! What a scenario may say is data ([`form`], [`format`], [`options`]); sections are read by it, the schema is written
//! from it, and changes of single keys ([`set`]) are held against it.

mod check;
mod claims;
mod form;
mod format;
mod metrics;
mod options;
mod plans;
mod problem;
mod schema;
mod schemes;
mod section;
mod set;
mod start;
mod switches;
mod tcp;
mod topology;
mod traffic;
mod tree;

use std::collections::BTreeMap;

pub use problem::Problem;
pub use schema::schema;

use crate::study::{Point, Study};
use form::Keys;
use format::{POINT, SCENARIO};
use section::{Section, rows, unique};
use set::Change;
use tree::{At, Item};

/// What a command line adds to a scenario.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Keys with their values, as in `--set topology.senders=200`: TOML, or a text without its quotes.
    pub set: Vec<(String, String)>,
    /// Whether the changes under `[quick]` are made.
    pub quick: bool,
    /// The one seed to run with.
    pub seed: Option<u64>,
}

/// Reads a scenario, which must be a good one before any change as well. Changes are made in this order: `[quick]`,
/// then a point's, then `set`, then `seed`.
///
/// # Errors
/// The first thing that is wrong, with its place.
pub fn read(text: &str, options: &Options) -> Result<Study, Problem> {
    let root = tree::parse(text)?;
    // What every point changes would otherwise never be read as it was written.
    plans::read(&root)?;
    let study = study(&root, options)?;
    if !options.quick && root.get("quick").is_some() {
        // A quick run that cannot be made is wrong before anybody asks for it.
        let quick = Options { quick: true, ..Options::default() };
        self::study(&root, &quick).map_err(|problem| problem.within("in a quick run"))?;
    }
    Ok(study)
}

/// Points of a scenario at most.
const MOST_POINTS: usize = 10_000;

fn study(root: &Item, options: &Options) -> Result<Study, Problem> {
    let scenario: Keys = SCENARIO;
    let top = Section::open("the scenario", scenario, root)?;
    let mut base = root.clone();
    if let Some(quick) = top.item("quick").filter(|_| options.quick) {
        for change in set::changes("[quick]", quick)? {
            set::apply(&mut base, &change)?;
        }
    }
    let asked = options.set.iter().map(|(key, value)| asked(key, value));
    let mut asked = asked.collect::<Result<Vec<_>, _>>()?;
    if let Some(seed) = options.seed {
        asked.push(self::asked("seed", &seed.to_string())?);
    }
    let mut points: Vec<Point> = Vec::new();
    let mut seeds = Vec::new();
    let variations = variations(&top)?;
    let names: Vec<&str> = variations.iter().map(|variation| variation.name.as_str()).collect();
    let made = |variation: &&Variation| !(options.quick && variation.full_only);
    for Variation { name, changes, .. } in variations.iter().filter(made) {
        let mut varied = base.clone();
        for change in changes.iter().chain(&asked) {
            set::apply(&mut varied, change)?;
        }
        let (plan, of_point) = plans::read(&varied)?;
        let set = changes.iter().map(|change| (change.key(), change.item.json()));
        let set: BTreeMap<_, _> = set.collect();
        points.push(Point { name: name.clone(), set, plan });
        seeds = of_point;
    }
    if points.is_empty() {
        let problem = top.at.problem("every point is for full runs only".to_owned());
        return Err(problem.with_help("leave full_only = true away from at least one point"));
    }
    let claims = claims::read(&top, &names, &points, options.quick)?;
    let takes: Vec<String> = top.or("takes", Vec::new())?;
    let take = |index: usize| takes.get(index).cloned().unwrap_or_default();
    if takes.len() > 2 {
        let problem = top.reject("takes", format!("{} estimates", takes.len()));
        return Err(problem.with_help("two: in full, and quick"));
    }
    let title = points.first().map(|point| point.plan.title.clone()).unwrap_or_default();
    Ok(Study {
        title,
        about: top.or("about", String::new())?,
        takes: (take(0), take(1)),
        quick: options.quick,
        points,
        seeds,
        claims,
    })
}

/// A change that was asked for on a command line.
fn asked(key: &str, value: &str) -> Result<Change, Problem> {
    let via = format!("--set {key}={value}");
    let place = At { span: None, via: Some(via.clone()) };
    let path = set::steps(key).ok_or_else(|| {
        let problem = place.problem(format!("`{key}` is no key"));
        problem.with_help("write it like --set topology.senders=200")
    })?;
    Ok(Change { path, key: place, item: tree::parse_value(value, &via) })
}

/// A point as it is written.
#[derive(Default)]
struct Variation {
    name: String,
    changes: Vec<Change>,
    full_only: bool,
}

/// The points with what they change; one that changes nothing if there are none.
fn variations(top: &Section<'_>) -> Result<Vec<Variation>, Problem> {
    let mut points: Vec<Variation> = Vec::new();
    for (name, item) in rows(top, "point")? {
        let section = Section::open(name, POINT, item)?;
        let name: String = section.must("name")?;
        unique(points.iter().map(|other| other.name.as_str()), &name, &section)?;
        let Some(set) = section.item("set") else { return Err(section.lacks("set")) };
        let changes = set::changes(&format!("`set` in {}", section.name), set)?;
        let fixed = ["seed", "seeds", "title"];
        for change in &changes {
            if change.path.first().is_some_and(|first| fixed.contains(&first.as_str())) {
                let problem =
                    change.key.problem(format!("`{}` is one for all points", change.key()));
                return Err(problem.with_help("set it at the top of the scenario"));
            }
        }
        points.push(Variation { name, changes, full_only: section.or("full_only", false)? });
        if points.len() > MOST_POINTS {
            return Err(section.at.problem(format!("more than {MOST_POINTS} points")));
        }
    }
    if points.is_empty() {
        points.push(Variation::default());
    }
    Ok(points)
}

//! The section `[advise]`: the question of `shallop advise`, and the space of its candidates.

use super::groups::GroupOptions;
use super::root_options::{AdviseOptions, Scenario};
use super::set::{self, Change};
use super::vary::Axis;
use super::{Options as Given, metrics, tree};
use shallop_core::Span;
use shallop_options::suggest::{list, near};
use shallop_options::{Item, Problem, RawValue, Section};
use shallop_plan::study::Variant;
use shallop_results::question::{Bounded, Question, canonical};

/// The section, after the changes of the command line to it.
pub(super) fn changed(base: &Item, asked: &[Change]) -> Result<Item, Problem> {
    let mut root = base.clone();
    let (name, keys) = (Scenario::KEY.advise.key.name, AdviseOptions::KEY);
    // One key of a pair takes the place of the other.
    let pairs = [[keys.minimise.name, keys.maximise.name], [keys.budget_minutes.name, keys.budget_runs.name]];
    for change in asked.iter().filter(|change| change.path[0] == name) {
        if let (Some(written), RawValue::Table(root)) = (change.path.get(1), &mut root.value)
            && let Some(pair) = pairs.iter().find(|pair| pair.contains(&written.as_str()))
            && let Some(RawValue::Table(section)) = root.get_mut(name).map(|entry| &mut entry.item.value)
        {
            section.retain(|key, _| !pair.contains(&key.as_str()));
        }
        set::apply(&mut root, change)?;
    }
    Ok(root)
}

/// The varied keys of the space, without those that `--vary` gives other values. Keys with " + " between them move
/// together. Errors point at the file.
pub(super) fn axes(root: &Item, given: &Given) -> Result<Vec<Axis>, Problem> {
    let key = AdviseOptions::KEY.space;
    let space = root.at_key(Scenario::KEY.advise).and_then(|section| section.at_key(key));
    if let Some(space) = space.filter(|space| space.table().is_none()) {
        set::changes("`space` in [advise]", space)?;
    }
    let mut axes = Vec::new();
    for (key, entry) in space.and_then(Item::table).into_iter().flatten() {
        let of = |part: &str| {
            let table = RawValue::Table([(part.trim().to_owned(), entry.clone())].into());
            set::changes("`space` in [advise]", &Item { value: table, at: entry.key.clone() })
        };
        let changes = key.split(" + ").map(of).collect::<Result<Vec<_>, _>>()?.concat();
        let together = if key.contains(" + ") { changes.len() } else { 1 };
        for changes in changes.chunks(together.max(1)) {
            axes.extend(axis(changes, given)?);
        }
    }
    // What no command would read before `advise` does.
    for change in axes.iter().flat_map(|axis| &axis.steps).flat_map(|(_, changes)| changes) {
        set::apply(&mut root.clone(), change)?;
    }
    Ok(axes)
}

/// The axis of keys that move together and have one list of values; `None` if `--vary` has one of them.
fn axis(changes: &[Change], given: &Given) -> Result<Option<Axis>, Problem> {
    let first = &changes[0];
    for change in changes {
        let named = |other: &str| set::steps(other).as_ref() == Some(&change.path);
        let varied = given.vary.iter().map(|(key, _)| key).chain(given.with.iter().map(|(_, key, _)| key));
        if varied.into_iter().any(|key| named(key)) {
            return Ok(None);
        }
        if given.candidates && given.set.iter().any(|(key, _)| named(key)) {
            let problem = change.key.problem(format!("`{}` is in the space, and set with --set", change.key()));
            return Err(problem.with_help("--vary gives it other values; with one value it is no choice"));
        }
        if super::ONE_FOR_ALL.contains(&change.path[0].as_str()) || change.item.items().is_empty() {
            let problem = change.item.problem(format!("`{}` needs a list of values in the space", change.key()));
            return Err(problem.with_help("write it like \"switch.default.mark.above\" = [\"20KB\", \"50KB\"]"));
        }
    }
    let step = |item: &Item| {
        let value = item.text().map_or_else(|| tree::json(item).to_string(), str::to_owned);
        let moved = changes.iter().map(|change| Change { item: item.clone(), ..change.clone() });
        (format!("{}={value}", first.key()), moved.collect())
    };
    let paths = changes.iter().map(|change| change.path.clone()).collect();
    Ok(Some(Axis { paths, steps: first.item.items().iter().map(step).collect() }))
}

/// Reads the question; `None` without the section.
pub(super) fn question(root: &Item, points: &[Variant]) -> Result<Option<Question>, Problem> {
    let Some(item) = root.at_key(Scenario::KEY.advise) else { return Ok(None) };
    let (section, keys) = (Section::open::<AdviseOptions>("[advise]", item)?, AdviseOptions::KEY);
    let options: AdviseOptions = section.read(())?;
    let (key, metric, maximise) = match (&options.minimise, &options.maximise) {
        (Some(metric), None) => (keys.minimise, metric, false),
        (None, Some(metric)) => (keys.maximise, metric, true),
        (None, None) => {
            let problem = section.lacks(keys.minimise);
            let reason = "the scenario asks no question: [advise] has no `minimise` and no `maximise`".into();
            return Err(Problem { reason, ..problem }.with_help("--minimise METRIC or --maximise METRIC asks one"));
        }
        (Some(_), Some(_)) => {
            let problem = section.reject(keys.maximise, "`minimise` is there too");
            return Err(problem.with_help("one objective; the others are bounds: `subject_to`"));
        }
    };
    let about: Vec<&Variant> = points.iter().collect();
    let check = |metric: &str| {
        let all = metrics::known(metric, false, &about);
        if all.iter().any(|known| known == metric) {
            return Ok(());
        }
        let near = near(metric, all.iter().map(String::as_str));
        let guess = if near.is_empty() {
            "names are in docs/results.md".into()
        } else {
            format!("did you mean {}?", list(near))
        };
        Err(section.reject(key, format!("there is no metric \"{metric}\"")).with_help(guess))
    };
    let metric = canonical(metric);
    check(&metric)?;
    let written = section.item(keys.subject_to).map(Item::items).unwrap_or_default();
    let bounds = options.subject_to.iter().zip(written).map(|(text, item)| {
        let help = "write it like \"loss_rate <= 1e-5\"; metrics are named as in docs/results.md";
        let bound = Bounded::parse(text).map_err(|why| item.problem(why).with_help(help))?;
        check(&bound.metric).map_err(|problem| item.problem(problem.reason).with_help(problem.help))?;
        Ok(bound)
    });
    let bounds = bounds.collect::<Result<_, Problem>>()?;
    Ok(Some(Question { metric, maximise, bounds, minutes: options.budget_minutes, runs: options.budget_runs }))
}

/// Keys with new values, as in `Options::set`.
pub type Changes = Vec<(String, String)>;

/// The changes that make a scenario shorter by a factor, those that double its load, and those that double its delays.
/// Only keys that are written are doubled, and none that candidates differ in.
pub(super) fn variants(root: &Item, (duration, factor): (Span, u64), axes: &[Axis]) -> [Changes; 3] {
    let mut short = vec![(Scenario::KEY.duration.name.to_owned(), (duration / factor).to_string())];
    let (mut loads, mut longer) = (Vec::new(), Vec::new());
    let keys = GroupOptions::KEY;
    for group in root.at_key(Scenario::KEY.group).map(Item::items).unwrap_or_default() {
        let (Some(name), Some(arrivals)) = (group.get("name").and_then(Item::text), group.at_key(keys.arrivals)) else {
            continue;
        };
        let key = |step: &str| format!("group.{}.{step}", serde_json::Value::from(name));
        for count in [keys.flows.name, keys.warm_up.name, keys.cool_down.name] {
            // A run whose flows all end is shorter with fewer flows.
            if let Some(RawValue::Integer(number)) = group.get(count).map(|item| &item.value) {
                short.push((key(count), (number.unsigned_abs() / factor).to_string()));
            }
        }
        if let Some(RawValue::Float(load)) = arrivals.get("load").map(|item| &item.value) {
            loads.push((key("arrivals.load"), (2.0 * load).to_string()));
        }
    }
    delays(root.at_key(Scenario::KEY.topology), "topology", &mut longer);
    let is_free = |(key, _): &(String, String)| {
        !axes.iter().any(|axis| set::steps(key).is_some_and(|path| axis.paths.contains(&path)))
    };
    [short, loads, longer].map(|changes| changes.into_iter().filter(is_free).collect())
}

fn delays(item: Option<&Item>, path: &str, found: &mut Changes) {
    for (key, entry) in item.and_then(Item::table).into_iter().flatten() {
        let path = format!("{path}.{key}");
        let is_delay = key == "delay" || key.ends_with("_delay") && key != "reordering_delay";
        match &entry.item.value {
            RawValue::Text(text) if is_delay => found.extend(twice(text).map(|text| (path, text))),
            RawValue::List(items) if is_delay => {
                let all: Option<Vec<String>> = items.iter().map(|item| twice(item.text()?)).collect();
                found.extend(all.map(|all| (path, format!("{all:?}"))));
            }
            RawValue::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    delays(Some(item), &format!("{path}.{index}"), found);
                }
            }
            _ => {}
        }
    }
}

/// Twice a time or a range of times, as text: "2ms..10ms" of "1ms..5ms".
fn twice(text: &str) -> Option<String> {
    let one = |time: &str| {
        let unit = time.find(|c: char| c.is_ascii_alphabetic())?;
        let number: f64 = time[..unit].trim().parse().ok()?;
        Some(format!("{}{}", 2.0 * number, &time[unit..]))
    };
    let all: Option<Vec<String>> = text.split("..").map(|time| one(time.trim())).collect();
    all.map(|all| all.join(".."))
}

//! Verdicts that can fail: every claim of every experiment is judged by runs with invented figures. One that lies in
//! the accepted range holds, one in the band of a known difference differs, one outside both fails.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use schemars::schema_for;
use serde_json::{Value, json};
use shallop_plan::Study;
use shallop_results::Verdict;
use shallop_results::summary::{DropCount, Group, GroupWindow, Pool, Queue, Run, Window};
use shallop_results::verdict::judge;
use shallop_results::{Claim, Job, Range, Seeds};
use shallop_scenario::experiments;
use shallop_scenario::{Options, read};

/// A value that fits a schema: every field is there, every list and map is empty.
fn fill(root: &Value, schema: &Value) -> Value {
    if let Some(path) = schema["$ref"].as_str() {
        return fill(root, root.pointer(path.strip_prefix('#').unwrap()).unwrap());
    }
    let null = |schema: &&Value| schema["type"] == "null";
    if let Some(either) = ["anyOf", "oneOf"].iter().find_map(|key| schema[*key].as_array()) {
        return fill(root, either.iter().find(|schema| !null(schema)).unwrap());
    }
    if let Some(word) = schema.get("const").or_else(|| schema["enum"].get(0)) {
        return word.clone();
    }
    let kinds = schema["type"].as_array().cloned().unwrap_or_else(|| vec![schema["type"].clone()]);
    let kind = kinds.iter().find(|kind| *kind != "null").and_then(Value::as_str).unwrap();
    match kind {
        "object" => {
            let properties = schema["properties"].as_object();
            let field = |(name, schema): (&String, &Value)| (name.clone(), fill(root, schema));
            Value::Object(properties.into_iter().flatten().map(field).collect())
        }
        "array" => json!([]),
        "string" => json!(""),
        "boolean" => json!(false),
        "integer" => json!(1),
        _ => json!(0.5),
    }
}

macro_rules! filled {
    ($kind:ty) => {{
        let schema = schema_for!($kind).to_value();
        fill(&schema, &schema)
    }};
}

/// Sets a field of a run, or of a window in it, and says what figure is there now: whole numbers are rounded.
fn plant(run: &mut Value, metric: &str, window: Option<(f64, f64)>, figure: f64) -> f64 {
    let Some((from, to)) = window else { return plant_in(run, metric, figure, false) };
    let windows = run["windows"].as_array_mut().unwrap();
    if windows.is_empty() {
        let mut window = filled!(Window);
        (window["from_s"], window["to_s"]) = (from.into(), to.into());
        windows.push(window);
    }
    plant_in(&mut windows[0], metric, figure, true)
}

fn plant_in(place: &mut Value, metric: &str, figure: f64, window: bool) -> f64 {
    let (list, rest) = metric.split_once('.').unwrap_or((metric, ""));
    let entry = match list {
        "groups" if window => ("name", filled!(GroupWindow)),
        "groups" => ("name", filled!(Group)),
        "queues" => ("place", filled!(Queue)),
        "pools" => ("place", filled!(Pool)),
        // Maps by the names of ports or of sets of links, with fractions in them.
        "loss_by_place" | "loss_by_set" | "utilization_by_place" => {
            place[list][rest] = figure.into();
            return figure;
        }
        "drops_by_place" => {
            let mut drops = filled!(DropCount);
            (drops["place"], drops["class"]) = (rest.into(), "data".into());
            drops["packets"] = (figure.round() as u64).into();
            place["drops_by_cause"] = vec![drops].into();
            place["utilization_by_place"][rest] = 0.5.into();
            return figure.round();
        }
        _ => return set(place, metric, figure),
    };
    let (key, entry) = entry;
    let is_field = |path: &str| path.starts_with("above.") || pointed(&entry, path).is_some();
    let dots = rest.match_indices('.').map(|(at, _)| at);
    let dot = dots.into_iter().find(|&at| is_field(&rest[at + 1..]));
    let (name, path) = (&rest[..dot.unwrap()], &rest[dot.unwrap() + 1..]);
    if name == "*" {
        // The mean over all ports, of which there is one.
        place["utilization_by_place"][name] = 0.5.into();
    }
    let entries = place[list].as_array_mut().unwrap();
    let there = entries.iter().position(|entry| entry[key] == name);
    let there = there.unwrap_or_else(|| {
        let mut entry = entry.clone();
        entry[key] = name.into();
        if list == "queues" {
            entry["class"] = "data".into();
        }
        entries.push(entry);
        entries.len() - 1
    });
    match path.strip_prefix("above.") {
        Some(level) => {
            entries[there]["above"][level] = figure.into();
            figure
        }
        None => set(&mut entries[there], path, figure),
    }
}

fn pointed<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    value.pointer(&format!("/{}", path.replace('.', "/")))
}

fn set(value: &mut Value, path: &str, figure: f64) -> f64 {
    let field = value.pointer_mut(&format!("/{}", path.replace('.', "/")));
    let field = field.unwrap_or_else(|| panic!("{path} is no field"));
    if field.is_u64() {
        *field = (figure.round() as u64).into();
        return figure.round();
    }
    *field = figure.into();
    figure
}

/// The field of a run, and the one it is set against, that make this figure.
fn fields(claim: &Claim, figure: f64) -> (f64, f64) {
    let field = figure * claim.scale;
    match (claim.is_relative(), claim.difference) {
        (false, _) => (field, 0.0),
        // So large that a ratio of whole numbers is as fine as the bounds.
        (true, false) => (figure * 1e9, 1e9),
        (true, true) => {
            let base = 1.0 + (2.0 * field.abs()).ceil();
            (base + field, base)
        }
    }
}

/// Whether a run can have this figure: no field is negative, no part of something is more than all of it, and whole
/// numbers are whole.
fn is_possible(claim: &Claim, template: &Value, figure: f64) -> bool {
    const PARTS: [&str; 4] = ["jain", "_rate", "within_rtt", "waste_volume"];
    const LISTS: [&str; 2] = ["loss_by_", "utilization"];
    let metric = claim.metric.as_str();
    let (field, _) = fields(claim, figure);
    let planted = plant(&mut template.clone(), metric, claim.window, field);
    let is_exact = (planted - field).abs() <= 1e-9 * field;
    if claim.is_relative() {
        return if claim.difference { is_exact } else { figure >= 0.0 };
    }
    let is_part = PARTS.iter().any(|end| metric.ends_with(end))
        || LISTS.iter().any(|list| metric.starts_with(list))
        || metric.contains(".above.");
    let most = if is_part { 1.0 } else { f64::INFINITY };
    (0.0..=most).contains(&field) && is_exact
}

/// Figures near the bounds of a claim, between them and far from them; the bounds themselves come last, where rounding
/// decides.
fn candidates(claim: &Claim) -> Vec<f64> {
    let ranges = [Some(claim.range), claim.differs.as_ref().map(|differs| differs.range)];
    let bounds = ranges.into_iter().flatten().flat_map(|range| [range.low, range.high]);
    let bounds: Vec<f64> = bounds.flatten().collect();
    let mut all = Vec::new();
    for &bound in &bounds {
        all.extend(bounds.iter().map(|other| f64::midpoint(bound, *other)).filter(|f| f.total_cmp(&bound).is_ne()));
        let steps = [0.001, 0.01, 0.1, 0.9].map(|part| part * bound.abs());
        for step in steps.into_iter().chain([1.0, 10.0]).filter(|step| *step > 0.0) {
            all.extend([bound - step, bound + step, (bound - step).ceil(), (bound + step).floor()]);
        }
    }
    all.extend([&bounds[..], &[0.0, 1.0]].concat());
    all
}

fn expected(claim: &Claim, figure: f64) -> Verdict {
    let within =
        |range: &Range| range.low.is_none_or(|low| figure >= low) && range.high.is_none_or(|high| figure <= high);
    match &claim.differs {
        _ if claim.range == Range::default() => Verdict::Reported,
        _ if within(&claim.range) => Verdict::Holds,
        Some(differs) if within(&differs.range) => Verdict::Differs,
        _ => Verdict::Fails,
    }
}

/// The runs that a claim is about, each with the runs it is set against: of a rank all but its own.
fn jobs(study: &Study, claim: &Claim) -> Vec<(Job, Vec<Job>)> {
    let name = |job: Job| study.points[job.point].plan.schemes[job.scheme].name.as_str();
    let point = |job: Job| study.points[job.point].name.as_str();
    let all = study.jobs();
    let base = |job: Job| -> Vec<Job> {
        let scheme = claim.relative_to.as_deref().unwrap_or(&claim.scheme);
        let at = claim.relative_point.as_deref().unwrap_or(point(job));
        let same = all.iter().filter(|other| other.seed == job.seed && point(**other) == at);
        let is_base = |other: &&Job| (name(**other) == scheme) != claim.relative_rank.is_some();
        same.filter(|other| claim.is_relative() && is_base(other)).copied().collect()
    };
    let about = |job: &&Job| {
        let at = claim.point.as_deref().unwrap_or(point(**job));
        name(**job) == claim.scheme && point(**job) == at
    };
    all.iter().filter(about).map(|&job| (job, base(job))).collect()
}

/// The verdict on the one claim of this study by runs whose last one has the first figure, and all others the second.
fn verdict(study: &Study, template: &Value, last: f64, others: f64) -> Verdict {
    let claim = &study.claims[0];
    let jobs = jobs(study, claim);
    let mut runs: Vec<(Job, Value)> = Vec::new();
    let mut put = |job: Job, metric: &str, field: f64| {
        let there = runs.iter().position(|(other, _)| *other == job).unwrap_or(runs.len());
        if there == runs.len() {
            runs.push((job, template.clone()));
        }
        plant(&mut runs[there].1, metric, claim.window, field);
    };
    for (number, (job, bases)) in jobs.iter().enumerate() {
        let figure = if number + 1 == jobs.len() { last } else { others };
        let (field, against) = fields(claim, figure);
        put(*job, &claim.metric, field);
        for &base in bases {
            put(base, claim.relative_metric.as_ref().unwrap_or(&claim.metric), against);
        }
    }
    let read = |(job, run): (Job, Value)| (job, serde_json::from_value(run).unwrap());
    let runs: Vec<(Job, Run)> = runs.into_iter().map(read).collect();
    let runs: Vec<(Job, &Run)> = runs.iter().map(|(job, run)| (*job, run)).collect();
    let judged = judge(&study.design(), &runs).remove(0);
    assert!(judged.measured.is_some(), "{}: {}", judged.label(), judged.why);
    judged.verdict
}

/// Plants figures for each verdict that a claim can have, and says which of them it was judged by.
fn check(study: &Study, template: &Value, at: &str) -> Vec<Verdict> {
    let claim = &study.claims[0];
    let find = |verdict: Verdict| {
        let all = candidates(claim).into_iter().filter(|&it| is_possible(claim, template, it));
        let found = all.into_iter().find(|&figure| expected(claim, figure) == verdict);
        found.unwrap_or_else(|| panic!("{at}: no figure that a run can have {}", verdict.word()))
    };
    let mut verdicts = vec![Verdict::Holds, Verdict::Fails];
    if claim.range == Range::default() {
        verdicts = vec![Verdict::Reported];
    } else if claim.differs.is_some() {
        verdicts.push(Verdict::Differs);
    }
    for &wanted in &verdicts {
        let figure = find(wanted);
        // One run that is wrong is enough, unless their mean counts.
        let others = match claim.seeds {
            Seeds::Each if wanted != Verdict::Reported => find(Verdict::Holds),
            _ => figure,
        };
        let found = verdict(study, template, figure, others);
        assert_eq!(found, wanted, "{at}: {figure} with {others} in all runs but one");
    }
    verdicts
}

#[test]
fn every_claim_of_every_experiment_holds_differs_and_fails_by_its_figures() {
    let template = filled!(Run);
    let mut seen = Vec::new();
    for shipped in experiments::all() {
        let mut study = read(shipped.text, &Options::default()).unwrap();
        for claim in std::mem::take(&mut study.claims) {
            let at = format!("{}, {}: {}", shipped.id, claim.subject(), claim.what);
            study.claims = vec![claim];
            seen.extend(check(&study, &template, &at));
        }
    }
    let count = |verdict| seen.iter().filter(|seen| **seen == verdict).count();
    // As many as there are: fewer would be claims that this test has not reached.
    assert!(count(Verdict::Reported) + count(Verdict::Holds) >= 800);
    assert!(count(Verdict::Differs) >= 100);
}

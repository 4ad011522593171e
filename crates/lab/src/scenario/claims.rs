//! What a scenario claims of its results.

use super::format::{CLAIM, DIFFERS};
use super::metrics;
use super::problem::{Problem, advice};
use super::section::{Section, rows};
use crate::study::{Claim, Differs, Point, Range, Seeds};
use crate::verdict;

/// Reads every `[[claim]]` about these points.
pub(super) fn read(
    top: &Section<'_>,
    names: &[&str],
    points: &[Point],
    quick: bool,
) -> Result<Vec<Claim>, Problem> {
    let rows = rows(top, "claim")?;
    let rows = rows.into_iter().enumerate();
    rows.map(|(index, (_, item))| {
        let section = Section::open(format!("[[claim]] number {}", index + 1), CLAIM, item)?;
        claim(&section, names, points, quick)
    })
    .collect()
}

fn claim(
    section: &Section<'_>,
    names: &[&str],
    points: &[Point],
    quick: bool,
) -> Result<Claim, Problem> {
    let point: Option<String> = section.get("point")?;
    if let Some(name) = &point {
        known(section, "point", name, names.iter().copied())?;
    }
    let about = |other: &&Point| point.as_ref().is_none_or(|name| *name == other.name);
    let about: Vec<&Point> = points.iter().filter(about).collect();
    let scheme: String = section.must("scheme")?;
    let relative_to: Option<String> = section.get("relative_to")?;
    for at in &about {
        let names = || at.plan.schemes.iter().map(|scheme| scheme.name.as_str());
        known(section, "scheme", &scheme, names())?;
        if let Some(other) = &relative_to {
            known(section, "relative_to", other, names())?;
        }
    }
    let relative_point = relative_point(section, names)?;
    let relative_metric: Option<String> = section.get("relative_metric")?;
    let relative = relative_to.is_some() || relative_point.is_some() || relative_metric.is_some();
    let difference = difference(section, relative)?;
    let full_only = section.or("full_only", false)?;
    let metric: String = section.must("metric")?;
    let window = window(section, &about, quick && full_only)?;
    for (key, metric) in [("metric", Some(&metric)), ("relative_metric", relative_metric.as_ref())]
    {
        let Some(metric) = metric else { continue };
        let fields = fields(metric, window.is_some(), &about);
        known(section, key, metric, fields.iter().map(String::as_str))?;
    }
    let (unit, scale) = unit(section, &metric, relative && !difference)?;
    let differs = match section.item("differs") {
        None => None,
        Some(item) => {
            let section = Section::open(format!("`differs` in {}", section.name), DIFFERS, item)?;
            Some(Differs { range: range(&section)?, why: section.must("why")? })
        }
    };
    Ok(Claim {
        what: section.must("what")?,
        scheme,
        point,
        metric,
        window,
        relative_to,
        relative_point,
        relative_metric,
        difference,
        scale,
        unit,
        seeds: match section.or("seeds", "each")? {
            "mean" => Seeds::Mean,
            _ => Seeds::Each,
        },
        paper: section.get("paper")?,
        source: section.must("source")?,
        range: range(section)?,
        differs,
        full_only,
    })
}

/// The point whose figure this one is set against.
fn relative_point(section: &Section<'_>, names: &[&str]) -> Result<Option<String>, Problem> {
    let point: Option<String> = section.get("relative_point")?;
    if let Some(name) = &point {
        known(section, "relative_point", name, names.iter().copied())?;
    }
    Ok(point)
}

/// Whether what counts is a difference: only to something else.
fn difference(section: &Section<'_>, relative: bool) -> Result<bool, Problem> {
    let difference = section.or("difference", false)?;
    if difference && !relative {
        let problem = section.reject("difference", "there is nothing to subtract".to_owned());
        return Err(
            problem.with_help("say what with `relative_to`, `relative_point` or `relative_metric`")
        );
    }
    Ok(difference)
}

/// The fields of runs or windows that a claim may be about; of those by group or place if it is about one of them.
fn fields(metric: &str, window: bool, about: &[&Point]) -> Vec<String> {
    // The point is for full runs only, which are read then.
    if about.is_empty() {
        return vec![metric.to_owned()];
    }
    if verdict::group(metric).is_some() {
        let plans: Vec<_> = about.iter().map(|point| &point.plan).collect();
        return metrics::of_groups(window, &plans);
    }
    if let Some(fields) = metrics::of_places(metric, about).filter(|_| !window) {
        return fields;
    }
    // Places have their names from the network, and those without loss are not in the list.
    if !window && metrics::is_by_place(metric) {
        return vec![metric.to_owned()];
    }
    let fields = if window { metrics::of_windows() } else { metrics::of_runs() };
    fields.into_iter().collect()
}

/// That a name is one of those there are.
fn known<'a>(
    section: &Section<'_>,
    key: &str,
    name: &str,
    names: impl Iterator<Item = &'a str> + Clone,
) -> Result<(), Problem> {
    if names.clone().any(|other| other == name) {
        return Ok(());
    }
    let names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
    let problem = section.reject(key, format!("there is no {key} \"{name}\""));
    Err(problem.with_help(advice(name, names)))
}

/// The window a claim is about, which must be one that is reported. One that only full runs have may be missing from a
/// quick one.
fn window(
    section: &Section<'_>,
    about: &[&Point],
    lenient: bool,
) -> Result<Option<(f64, f64)>, Problem> {
    let Some(text) = section.get::<String>("window")? else { return Ok(None) };
    let parsed = text.split_once("..").map(|(a, b)| (a.trim().parse(), b.trim().parse()));
    let Some((Ok(from), Ok(to))) = parsed else {
        let problem = section.reject("window", format!("\"{text}\" is not two times"));
        return Err(problem.with_help("write it like \"1s..5s\""));
    };
    let (from, to): (shallop_core::Span, shallop_core::Span) = (from, to);
    for point in about {
        if !lenient && !point.plan.windows.contains(&(from, to)) {
            let windows = point.plan.windows.iter().map(|(from, to)| format!("{from}..{to}"));
            let windows: Vec<String> = windows.take(20).collect();
            let problem = section.reject("window", format!("\"{text}\" is not reported"));
            let help = format!(
                "`windows` are {}; a claim for full runs only has full_only = true",
                windows.join(", ")
            );
            return Err(problem.with_help(help));
        }
    }
    Ok(Some((from.as_secs_f64(), to.as_secs_f64())))
}

fn unit(section: &Section<'_>, metric: &str, ratio: bool) -> Result<(String, f64), Problem> {
    let unit: &str = section.or("unit", "")?;
    // A ratio has no unit left; "x" is none of the summary's fields, so only bare numbers and parts of 100 fit it.
    let scale = metrics::scale(if ratio { "x" } else { metric }, unit);
    let Some(scale) = scale else {
        let what = if ratio { "a ratio".to_owned() } else { format!("`{metric}`") };
        let problem = section.reject("unit", format!("\"{unit}\" is no unit of {what}"));
        let help = "rates are in Gb/s or Mb/s, sizes in packets, MB, KB or B, times in s, ms or us, the rest in %, \
                    packets or nothing";
        return Err(problem.with_help(help));
    };
    Ok((unit.to_owned(), scale))
}

fn range(section: &Section<'_>) -> Result<Range, Problem> {
    let range = Range { low: section.get("low")?, high: section.get("high")? };
    if let (Some(low), Some(high)) = (range.low, range.high)
        && low > high
    {
        let message = format!("no number is from {low} to {high}");
        return Err(section.reject("low", message).with_help("`low` is not above `high`"));
    }
    Ok(range)
}

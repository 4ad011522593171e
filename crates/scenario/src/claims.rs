//! The keys of `[[claim]]` and `[defaults.claim]`, and how claims are read.

use shallop_options::suggest::advice;
use shallop_options::{Key, Options, Problem, Section, Subsection, Table, Unread, ValueType};

use super::{expand::expand, metrics, rows::rows};
use shallop_plan::study::Variant;
use shallop_results::{Claim, Differs, Kind, Range, Seeds};
use shallop_results::{claim_fields, units::Quantity};

const KINDS: [&str; 5] = ["paper", "order", "kernel", "own", "invariant"];
const NUMBER: ValueType = ValueType::Number(f64::MIN, f64::MAX);

/// The keys of a `[[claim]]`, which may be about several schemes and points.
#[derive(Clone, Debug, Options)]
pub(super) struct ClaimOptions {
    /// The claim in words, without its scheme and its point.
    pub what: String,
    /// What the claim is evidence of (docs/reproduction.md, kinds of claims).
    #[key(OneOf(&KINDS), shown = "paper with `paper`; kernel of real kernels; else own")]
    pub kind: Option<&'static str>,
    /// The name of the scheme that the claim is about.
    pub scheme: Option<String>,
    /// The names of several schemes, in place of `scheme`. Each has a claim of its own.
    pub schemes: Option<Vec<String>>,
    /// The name of the point that the claim is about.
    #[key(shown = "all points together")]
    pub point: Option<String>,
    /// The names of several points, in place of `point`. Each has a claim of its own.
    pub points: Option<Vec<String>>,
    #[part]
    pub common: ClaimDefaults,
    /// One of `windows`, if `metric` is measured in a window.
    pub window: Option<String>,
    /// The name of a scheme. The claim is about the ratio to the figure of that scheme. A list of names makes a claim
    /// for each.
    #[key(AnyOf(&[Text, List(&Text)]))]
    pub relative_to: Option<Unread>,
    /// The name of a point. The claim is about the ratio to the figure at that point.
    pub relative_point: Option<String>,
    /// A field of a run. The claim is about the ratio to this field in the same run.
    pub relative_metric: Option<String>,
    /// Compares with the scheme of this rank, where 1 has the smallest figure. All schemes are ranked, also the claim's
    /// own. `relative_rank = 2` with `high = 1` says: the best or the second best, if less is better.
    #[key(Integer(1, 1000))]
    pub relative_rank: Option<usize>,
    /// Whether the claim is about the difference instead of the ratio.
    #[key(default = false)]
    pub difference: bool,
    /// The figure in the paper, or the smallest figure of a range.
    #[key(NUMBER)]
    pub paper: Option<f64>,
    /// The largest figure of a range in the paper, which is accepted if there is no `low` and no `high`.
    #[key(NUMBER)]
    pub paper_to: Option<f64>,
    /// The least accepted figure, in `unit`.
    #[key(NUMBER, shown = "no bound")]
    pub low: Option<f64>,
    /// The largest accepted figure, in `unit`.
    #[key(NUMBER, shown = "no bound")]
    pub high: Option<f64>,
    /// The range in which the figure lies instead, and the known reason.
    #[section]
    pub differs: Subsection<DiffersOptions>,
}

/// Keys of a claim that may also be written in `[defaults.claim]`, for all claims that lack them.
#[derive(Clone, Debug, Options)]
pub(super) struct ClaimDefaults {
    /// The field of a run in `summary.json`, such as `"drops.data"`, or `drops_by_place.PORT`, the data packets that a
    /// port dropped. Required in the claim or in `[defaults.claim]`.
    pub metric: Option<String>,
    /// The unit of `paper`, `low` and `high`.
    #[key(OneOf(&["", "%", "Gb/s", "Mb/s", "packets", "MB", "KB", "B", "s", "ms", "us"]), default = "")]
    pub unit: &'static str,
    /// Whether the figure of each seed has to be in the range, or the mean of the seeds.
    #[key(OneOf(&["each", "mean"]), default = "each")]
    pub seeds: &'static str,
    /// Where the paper has the figure. Required in the claim or in `[defaults.claim]`.
    pub source: Option<String>,
    /// Whether only full runs judge the claim.
    #[key(default = false, shown = "false; true if a quick run leaves the point out")]
    pub full_only: bool,
}

/// The keys of `differs` of a claim: the range in which the figure is known to lie, and why.
#[derive(Clone, Debug, Options)]
pub(super) struct DiffersOptions {
    /// The least figure that is expected.
    #[key(NUMBER, shown = "no bound")]
    pub low: Option<f64>,
    /// The largest figure that is expected.
    #[key(NUMBER, shown = "no bound")]
    pub high: Option<f64>,
    /// The reason for the difference, in a line.
    pub why: String,
    /// The shipped experiment whose recorded runs show the reason.
    pub run: Option<String>,
}

/// The keys of `[defaults]`.
#[derive(Clone, Copy, Debug, Options)]
pub(super) struct DefaultsOptions {
    /// Keys of claims, for claims that do not have them.
    #[section]
    pub claim: Subsection<ClaimDefaults>,
}

/// What claims may refer to: the points of the scenario.
pub(super) struct Subjects<'a> {
    /// The name of each point of the full scenario, and whether a quick run leaves the point out.
    pub names: Vec<(&'a str, bool)>,
    /// The points that this run has.
    pub points: &'a [Variant],
    pub quick: bool,
}

/// Reads every `[[claim]]`, given the keys of the list of claims and of `[defaults]` in the scenario.
pub(super) fn read(
    top: &Section<'_>, (claim_key, defaults_key): (impl Into<&'static Key>, impl Into<&'static Key>),
    subjects: &Subjects<'_>,
) -> Result<Vec<Claim>, Problem> {
    let defaults = defaults(top, defaults_key)?;
    let plans = subjects.points.iter().map(|point| &point.plan);
    let schemes = plans.take(1).flat_map(|plan| &plan.schemes).map(|scheme| scheme.name.as_str());
    let schemes: Vec<&str> = schemes.collect();
    let points = subjects.names.iter().map(|(name, _)| *name).filter(|name| !name.is_empty());
    let points: Vec<&str> = points.collect();
    let mut claims = Vec::new();
    for (index, (_, item)) in rows(top, claim_key)?.into_iter().enumerate() {
        let name = format!("[[claim]] number {}", index + 1);
        // An unknown key is reported before tables by names are taken apart.
        Section::open::<ClaimOptions>(&name, item)?;
        for item in expand(&name, item, [&schemes, &points], defaults)? {
            claims.push(claim(&Section::open::<ClaimOptions>(&name, &item)?, subjects)?);
        }
    }
    Ok(claims)
}

/// The table `[defaults.claim]`, if the scenario has one.
fn defaults<'a>(top: &Section<'a>, key: impl Into<&'static Key>) -> Result<Option<&'a Table>, Problem> {
    let Some(item) = top.item(key) else { return Ok(None) };
    let section = Section::open::<DefaultsOptions>("[defaults]", item)?;
    let Some(item) = section.item(DefaultsOptions::KEY.claim) else { return Ok(None) };
    Section::open::<ClaimDefaults>("[defaults.claim]", item)?;
    Ok(item.table())
}

/// Reads a claim about one scheme and at most one point, after lists and tables by name are expanded.
fn claim(section: &Section<'_>, subjects: &Subjects<'_>) -> Result<Claim, Problem> {
    let keys = ClaimOptions::KEY;
    let common = ClaimDefaults::KEY;
    let options: ClaimOptions = section.read(())?;
    let relative_to: Option<String> = section.value(keys.relative_to)?;
    let ClaimDefaults { metric, source, unit, seeds, full_only } = options.common.clone();
    let scheme = options.scheme.clone().ok_or_else(|| section.lacks(keys.scheme))?;
    let metric = metric.ok_or_else(|| section.lacks(common.metric))?;
    let about = about(section, &options, subjects)?;
    for at in &about {
        let names = || at.plan.schemes.iter().map(|scheme| scheme.name.as_str());
        known(section, keys.scheme, &scheme, names())?;
        if let Some(other) = &relative_to {
            known(section, keys.relative_to, other, names())?;
        }
    }
    let relative = is_relative(section, &options, relative_to.as_ref())?;
    let point = options.point.as_deref();
    let full_only = full_only || subjects.names.iter().any(|(name, full)| *full && point == Some(*name));
    let window = match &options.window {
        None => None,
        Some(text) => Some(window(section, text, &about, subjects.quick && full_only)?),
    };
    let metrics = [(common.metric, Some(&metric)), (keys.relative_metric, options.relative_metric.as_ref())];
    for (key, metric) in metrics {
        let Some(metric) = metric else { continue };
        let all = metrics::known(metric, window.is_some(), &about);
        known(section, key, metric, all.iter().map(String::as_str))?;
    }
    let scale = scale(section, unit, (!relative || options.difference).then_some(&metric))?;
    let (low, high) = match (options.low, options.high, options.paper_to) {
        (None, None, Some(most)) => (options.paper, Some(most)),
        (low, high, _) => (low, high),
    };
    let range = range(section, keys.low, (low, high))?;
    Ok(Claim {
        kind: kind(&options, subjects, [Some(&scheme), relative_to.as_ref()]),
        what: options.what,
        scheme,
        point: options.point,
        metric,
        window,
        relative_to,
        relative_point: options.relative_point,
        relative_metric: options.relative_metric,
        relative_rank: options.relative_rank,
        difference: options.difference,
        scale,
        unit: unit.to_owned(),
        seeds: if seeds == "mean" { Seeds::Mean } else { Seeds::Each },
        paper: options.paper,
        paper_to: options.paper_to,
        source: source.ok_or_else(|| section.lacks(common.source))?,
        range,
        differs: differs(section, range)?,
        full_only,
    })
}

/// Whether a claim compares a figure with another.
///
/// # Errors
/// If a claim has both a rank and a scheme to compare with, or a difference and nothing to subtract.
fn is_relative(section: &Section<'_>, options: &ClaimOptions, to: Option<&String>) -> Result<bool, Problem> {
    let keys = ClaimOptions::KEY;
    if options.relative_rank.is_some() && to.is_some() {
        let problem = section.reject(keys.relative_rank, "there is a `relative_to` as well");
        return Err(problem.with_help("write one of the two"));
    }
    let others = [to, options.relative_point.as_ref(), options.relative_metric.as_ref()];
    let relative = options.relative_rank.is_some() || others.iter().any(Option::is_some);
    if options.difference && !relative {
        let problem = section.reject(keys.difference, "there is nothing to subtract");
        let help = "say what with `relative_to`, `relative_point`, `relative_metric` or `relative_rank`";
        return Err(problem.with_help(help));
    }
    Ok(relative)
}

/// The kind that the file says or, if it says none, what follows from the value of the paper and from the schemes.
fn kind(options: &ClaimOptions, subjects: &Subjects<'_>, schemes: [Option<&String>; 2]) -> Kind {
    let on_kernels = |at: &Variant| {
        let all = at.plan.schemes.iter().enumerate().filter(|(_, scheme)| schemes.contains(&Some(&scheme.name)));
        all.map(|(scheme, _)| scheme).any(|scheme| at.plan.has_kernels(scheme))
    };
    let on_own_law = |at: &Variant| {
        let mut all = at.plan.schemes.iter().filter(|scheme| schemes[0] == Some(&scheme.name));
        all.any(|scheme| !scheme.transport.is_as_in_paper())
    };
    match Kind::ALL.into_iter().find(|kind| options.kind == Some(kind.word())) {
        Some(kind) => kind,
        None if options.paper.is_some() && subjects.points.iter().any(on_own_law) => Kind::Own,
        None if options.paper.is_some() => Kind::Paper,
        None if subjects.points.iter().any(on_kernels) => Kind::Kernel,
        None => Kind::Own,
    }
}

/// The points of this run that a claim is about: the named point, or all points.
fn about<'a>(
    section: &Section<'_>, options: &ClaimOptions, subjects: &Subjects<'a>,
) -> Result<Vec<&'a Variant>, Problem> {
    let keys = ClaimOptions::KEY;
    let named = [(keys.point, &options.point), (keys.relative_point, &options.relative_point)];
    for (key, name) in named {
        if let Some(name) = name {
            known(section, key, name, subjects.names.iter().map(|(name, _)| *name))?;
        }
    }
    let about = |other: &&Variant| options.point.as_ref().is_none_or(|name| *name == other.name);
    Ok(subjects.points.iter().filter(about).collect())
}

/// Checks that `name`, the value of `key`, is one of `names`.
fn known<'a>(
    section: &Section<'_>, key: &'static Key, name: &str, names: impl Iterator<Item = &'a str> + Clone,
) -> Result<(), Problem> {
    if names.clone().any(|other| other == name) {
        return Ok(());
    }
    let names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
    let problem = section.reject(key, format!("there is no {} \"{name}\"", key.name));
    Err(problem.with_help(advice(name, names)))
}

/// Reads `window` of a claim, in seconds. If `lenient`, the points need not report it, as a quick run may have fewer
/// windows.
fn window(section: &Section<'_>, text: &str, about: &[&Variant], lenient: bool) -> Result<(f64, f64), Problem> {
    let key = ClaimOptions::KEY.window;
    let parsed = text.split_once("..").map(|(a, b)| (a.trim().parse(), b.trim().parse()));
    let Some((Ok(from), Ok(to))) = parsed else {
        return Err(section.reject(key, format!("\"{text}\" is not two times")).with_help("write it like \"1s..5s\""));
    };
    let (from, to): (shallop_core::Span, shallop_core::Span) = (from, to);
    for point in about {
        if !lenient && !point.plan.windows.contains(&(from, to)) {
            let windows = point.plan.windows.iter().map(|(from, to)| format!("{from}..{to}"));
            let windows: Vec<String> = windows.take(20).collect();
            let problem = section.reject(key, format!("\"{text}\" is not reported"));
            let help = format!("`windows` are {}; a claim for full runs only has full_only = true", windows.join(", "));
            return Err(problem.with_help(help));
        }
    }
    Ok((from.as_secs_f64(), to.as_secs_f64()))
}

/// The factor from `unit` to the unit of `metric` in `summary.json`: 1e9 for Gb/s. `None` as the metric stands for a
/// ratio.
fn scale(section: &Section<'_>, unit: &str, metric: Option<&String>) -> Result<f64, Problem> {
    // A ratio has no unit: it is a bare number or in percent.
    let quantity = metric.map_or(Quantity::Ratio, |metric| claim_fields::quantity(metric));
    quantity.factor(unit).ok_or_else(|| {
        let what = metric.map_or_else(|| "a ratio".to_owned(), |metric| format!("`{metric}`"));
        let message = format!("\"{unit}\" is no unit of {what}");
        let help = "rates are in Gb/s or Mb/s, sizes in packets, MB, KB or B, times in s, ms or us, the rest in %, \
                    packets or nothing";
        section.reject(ClaimDefaults::KEY.unit, message).with_help(help)
    })
}

/// Reads `differs` of a claim. Both it and the claim need a bound: a range without bounds accepts every figure.
fn differs(section: &Section<'_>, accepted: Range) -> Result<Option<Differs>, Problem> {
    let key = ClaimOptions::KEY.differs;
    let Some(inner) = section.nested(key)? else { return Ok(None) };
    let DiffersOptions { low, high, why, run } = inner.read(())?;
    let differs = Differs { range: range(&inner, DiffersOptions::KEY.low, (low, high))?, why, run };
    for (name, range) in [(&section.name, accepted), (&inner.name, differs.range)] {
        if range == Range::default() {
            let problem = section.place(key).problem(format!("{name} has no `low` and no `high`"));
            return Err(problem.with_help("without a bound it takes every figure"));
        }
    }
    Ok(Some(differs))
}

fn range(
    section: &Section<'_>, of_low: &'static Key, (low, high): (Option<f64>, Option<f64>),
) -> Result<Range, Problem> {
    if let (Some(low), Some(high)) = (low, high)
        && low > high
    {
        let message = format!("{low} is above `high`, {high}");
        return Err(section
            .reject(of_low, message)
            .with_help("`low` is the least value that is right, `high` the largest"));
    }
    Ok(Range { low, high })
}

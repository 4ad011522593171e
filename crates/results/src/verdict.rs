//! Judges claims: finds the measured figures of each claim and compares them with its accepted range.

use crate::claim::{Claim, Range, Seeds};
use crate::claim_fields;
use crate::design::{Design, Job};
use crate::judged::{Bound, JudgedClaim, Verdict};
use crate::{measured::Measured, recorded::RecordedFigures, summary::Run};

/// Judges a claim by figures of a recorded run, with the accepted range of today.
pub fn judge_recorded(claim: &Claim, recorded: RecordedFigures) -> JudgedClaim {
    let RecordedFigures { measured, bound, min, max } = recorded;
    let each = claim.seeds == Seeds::Each && claim.range != Range::default();
    // With a new range, the minimum or the maximum may decide instead of the figure that decided before.
    let values = if each { vec![min, max, measured] } else { vec![measured] };
    let figures: Vec<Measured> = values.iter().map(|&value| Measured::new(value, bound)).collect();
    judged(claim, &figures, min, max)
}

/// Judges all claims of a design by its finished runs.
pub fn judge(design: &Design, runs: &[(Job, &Run)]) -> Vec<JudgedClaim> {
    design.claims.iter().map(|claim| judge_one(design, claim, runs)).collect()
}

pub fn count(claims: &[JudgedClaim], verdict: Verdict) -> usize {
    claims.iter().filter(|claim| claim.verdict == verdict).count()
}

fn judge_one(design: &Design, claim: &Claim, runs: &[(Job, &Run)]) -> JudgedClaim {
    if claim.full_only && design.quick {
        return JudgedClaim::without_figure(claim, Verdict::NotRun, "judged in the full run only".to_owned());
    }
    let figures = match figures(design, claim, runs) {
        Ok(figures) => figures,
        Err((verdict, why)) => return JudgedClaim::without_figure(claim, verdict, why),
    };
    let values = || figures.iter().map(|figure| figure.value);
    let smallest = values().fold(f64::INFINITY, f64::min);
    let largest = values().fold(f64::NEG_INFINITY, f64::max);
    judged(claim, &figures, smallest, largest)
}

/// Judges a claim by figures, one for each seed and point, of which `min` and `max` are the extremes.
fn judged(claim: &Claim, figures: &[Measured], min: f64, max: f64) -> JudgedClaim {
    let (measured, verdict) = decide(claim, figures);
    let why = why(claim, verdict, measured.bound());
    JudgedClaim {
        measured: Some(measured.value),
        bound: measured.bound(),
        measured_min: Some(min),
        measured_max: Some(max),
        ..JudgedClaim::without_figure(claim, verdict, why)
    }
}

/// The figure that decides (the mean, or the one nearest to or farthest beyond an end of the range), and its verdict.
fn decide(claim: &Claim, figures: &[Measured]) -> (Measured, Verdict) {
    let mean = Measured::mean(figures);
    let unbounded = claim.range == Range::default();
    if claim.seeds == Seeds::Mean || unbounded {
        return (mean, verdict(claim, mean));
    }
    let worst = figures.iter().map(|&figure| verdict(claim, figure)).max();
    let worst = worst.unwrap_or(Verdict::NotRun);
    let deciding = figures.iter().copied().filter(|&figure| verdict(claim, figure) == worst);
    let slack = |figure: &Measured| slack(claim.range, figure.value);
    let shown = deciding.min_by(|a, b| slack(a).total_cmp(&slack(b)));
    (shown.unwrap_or(mean), worst)
}

fn verdict(claim: &Claim, figure: Measured) -> Verdict {
    if claim.range == Range::default() {
        return Verdict::Reported;
    }
    if figure.is_within(claim.range) {
        return Verdict::Holds;
    }
    match claim.differs.as_ref().map(|differs| differs.range) {
        _ if !figure.is_outside(claim.range) => Verdict::Undecided,
        Some(known) if figure.is_within(known) => Verdict::Differs,
        Some(known) if !figure.is_outside(known) => Verdict::Undecided,
        _ => Verdict::Fails,
    }
}

/// The distance of a figure from the nearest end of the range; negative outside of the range.
fn slack(range: Range, figure: f64) -> f64 {
    let above = range.low.map_or(f64::INFINITY, |low| figure - low);
    let below = range.high.map_or(f64::INFINITY, |high| high - figure);
    above.min(below)
}

fn why(claim: &Claim, verdict: Verdict, bound: Option<Bound>) -> String {
    let known = claim.differs.as_ref();
    match verdict {
        Verdict::Differs => known.map_or_else(String::new, |differs| differs.why.clone()),
        Verdict::Fails => match known {
            Some(differs) => {
                format!("outside the accepted range and outside {}, where it was known to lie", words(differs.range))
            }
            None => "outside the accepted range".to_owned(),
        },
        Verdict::Undecided => match bound {
            Some(Bound::AtMost) => "flows of what it is compared with did not finish: it may be less",
            Some(Bound::Open) => "flows of both did not finish: it may be more or less",
            _ => "flows did not finish: it may be more",
        }
        .to_owned(),
        Verdict::Reported => match claim.paper {
            None => "no paper value".to_owned(),
            Some(_) => "no accepted range".to_owned(),
        },
        Verdict::Holds if known.is_some() => "in the accepted range, though it was known to differ".to_owned(),
        Verdict::Holds | Verdict::NotRun => String::new(),
    }
}

/// The range in words: "0.9 to 1.1", "at least 2".
pub fn words(range: Range) -> String {
    match (range.low, range.high) {
        (None, None) => "none".to_owned(),
        (Some(low), None) => format!("at least {low}"),
        (None, Some(high)) => format!("at most {high}"),
        (Some(low), Some(high)) if low.total_cmp(&high).is_eq() => format!("{low}"),
        (Some(low), Some(high)) => format!("{low} to {high}"),
    }
}

/// The figures that a claim is judged by, one for each seed and point; if there are none, a verdict and the reason.
fn figures(design: &Design, claim: &Claim, runs: &[(Job, &Run)]) -> Result<Vec<Measured>, (Verdict, String)> {
    let label = |job: Job| design.label(job);
    let meant = |job: &Job| {
        let at = &design.points[job.point].name;
        label(*job) == claim.scheme && claim.point.as_ref().is_none_or(|point| point == at)
    };
    let jobs: Vec<Job> = design.jobs().into_iter().filter(meant).collect();
    if jobs.is_empty() {
        return Err((Verdict::NotRun, "no such run was asked for".to_owned()));
    }
    let ended = |label_of: &str, point: usize, seed: u64| {
        let found = runs.iter().find(|(job, _)| (job.point, job.seed) == (point, seed) && label(*job) == label_of);
        found.map(|(_, run)| *run)
    };
    let missing = || (Verdict::NotRun, "not all of its runs ended".to_owned());
    let figure_of = |label_of: &str, point: usize, seed: u64, metric: &str| {
        let run = ended(label_of, point, seed).ok_or_else(missing)?;
        let figure = claim_fields::figure(run, metric, claim.window);
        let figure = figure.map_err(|why| (Verdict::Fails, why))?;
        Ok(Measured::new(figure.value, figure.at_least.then_some(Bound::AtLeast)))
    };
    let other = claim.relative_metric.as_deref();
    let mut figures = Vec::new();
    for job in jobs {
        let figure = figure_of(&claim.scheme, job.point, job.seed, &claim.metric)?;
        let (scheme, at) = (claim.relative_to.as_deref(), claim.relative_point.as_ref());
        if !claim.is_relative() {
            figures.push(figure.in_unit(claim.scale));
            continue;
        }
        let at = match at {
            None => job.point,
            Some(name) => {
                let place = design.points.iter().position(|point| point.name == *name);
                place.ok_or_else(missing)?
            }
        };
        let (scheme, metric) = (scheme.unwrap_or(&claim.scheme), other.unwrap_or(&claim.metric));
        let base = match claim.relative_rank {
            None => figure_of(scheme, at, job.seed, metric)?,
            Some(rank) => {
                let all = design.points[at].schemes.iter();
                let all: Result<Vec<Measured>, _> = all.map(|one| figure_of(one, at, job.seed, metric)).collect();
                Measured::ranked(&all?, rank)
            }
        };
        figures.push(if claim.difference { figure.minus(base).in_unit(claim.scale) } else { figure.over(base) });
    }
    if figures.iter().all(|figure| figure.value.is_finite()) {
        Ok(figures)
    } else {
        Err((Verdict::Fails, format!("{} cannot be divided by zero", claim.metric)))
    }
}

#[cfg(test)]
mod tests;

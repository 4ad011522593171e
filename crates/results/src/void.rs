//! Void runs: rehearsals that were too late to be trusted. Counts them by scheme, with the reason.

use crate::design::Point;
use crate::summary::{Run, Summary};

/// A scheme with void runs, and how many there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VoidScheme<'a> {
    pub scheme: &'a str,
    /// The number of void runs and of all runs of the scheme.
    pub runs: (usize, usize),
    /// The number of points at which all runs of the scheme are void, and of points at which it has runs.
    pub points: (usize, usize),
    /// The first reason why the first void run of the scheme is void.
    pub why: &'a str,
}

/// The schemes with void runs, in the order of the runs.
pub fn schemes(summary: &Summary) -> Vec<VoidScheme<'_>> {
    let mut found: Vec<VoidScheme<'_>> = Vec::new();
    for run in summary.runs.iter().filter(|run| run.is_void()) {
        if found.iter().any(|of| of.scheme == run.scheme) {
            continue;
        }
        let of_scheme: Vec<&Run> = summary.runs.iter().filter(|other| other.scheme == run.scheme).collect();
        let at =
            |point: &Point| -> Vec<&Run> { of_scheme.iter().copied().filter(|run| run.point == point.set).collect() };
        let points: Vec<Vec<&Run>> = summary.points.iter().map(at).filter(|runs| !runs.is_empty()).collect();
        let void = points.iter().filter(|runs| runs.iter().all(|run| run.is_void())).count();
        found.push(VoidScheme {
            scheme: &run.scheme,
            runs: (of_scheme.iter().filter(|run| run.is_void()).count(), of_scheme.len()),
            points: (void, points.len()),
            why: why(run),
        });
    }
    found
}

/// The first of the reasons why a run is void.
fn why(run: &Run) -> &str {
    let first = run.rehearsal.as_ref().and_then(|of| of.void.first());
    first.map_or("", String::as_str)
}

/// A warning that says which runs are void and why; `None` if all runs count.
pub fn line(summary: &Summary) -> Option<String> {
    let void: Vec<&Run> = summary.runs.iter().filter(|run| run.is_void()).collect();
    let each = void.iter().map(|run| {
        let reasons = run.rehearsal.as_ref().map(|of| of.void.join("; ")).unwrap_or_default();
        format!("{}, seed {} ({reasons})", run.scheme, run.seed)
    });
    let (count, all) = (void.len(), summary.runs.len());
    let each: Vec<String> = each.collect();
    (count > 0).then(|| format!("warning: {count} of {all} runs are void and count nowhere: {}", each.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::RehearsalOfRun;

    #[test]
    fn schemes_with_void_runs_are_named_with_their_number_and_a_reason() {
        let run = |scheme: &str, seed, void: &[&str]| {
            let void = void.iter().map(|why| (*why).to_owned()).collect();
            let rehearsal = Some(RehearsalOfRun { void, ..RehearsalOfRun::default() });
            Run { scheme: scheme.to_owned(), seed, rehearsal, ..Run::default() }
        };
        let runs = vec![
            run("cubic", 1, &[]),
            run("cubic", 2, &["late"]),
            run("bbr", 1, &["slow", "late"]),
            run("vegas", 1, &[]),
        ];
        let mut summary = Summary { runs, points: vec![Point::default()], ..Summary::default() };
        let of = |scheme, runs, points, why| VoidScheme { scheme, runs, points, why };
        let expected = [of("cubic", (1, 2), (0, 1), "late"), of("bbr", (1, 1), (1, 1), "slow")];
        assert_eq!(schemes(&summary), expected);
        let told = "warning: 2 of 4 runs are void and count nowhere: cubic, seed 2 (late), bbr, seed 1 (slow; late)";
        assert_eq!(line(&summary).as_deref(), Some(told));
        summary = summary.counted();
        assert_eq!((schemes(&summary), line(&summary), summary.runs.len()), (vec![], None, 2));
    }
}

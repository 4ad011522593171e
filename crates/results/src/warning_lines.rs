//! The warnings of all runs, without repetition: a warning that several schemes and runs have is one line.

use crate::design::Point;
use crate::summary::Run;

/// The most schemes that the line of a warning names.
const MAX_NAMED: usize = 6;

/// A warning that runs of some schemes have. Warnings that differ only in numbers are one.
struct Shared<'a> {
    /// The text without its digits, by which equal warnings are found.
    kind: String,
    schemes: Vec<&'a str>,
    point: usize,
    run: &'a Run,
    text: &'a str,
    /// The number of runs that have the warning.
    warned: usize,
}

/// The lines of all warnings: each names the schemes that have it; a second line names the first run, and counts the
/// runs.
pub fn warnings(points: &[Point], runs: &[(usize, &Run)]) -> Vec<String> {
    let each = warnings_and_places(points, runs).into_iter();
    let lines = each.flat_map(|(line, place)| {
        let place = (!place.is_empty()).then(|| format!("  ({place})"));
        std::iter::once(format!("warning: {line}")).chain(place)
    });
    lines.chain(unfinished(runs)).collect()
}

/// A warning if counted flows were not complete at the end of the runs; it names the schemes and the numbers of flows.
fn unfinished(runs: &[(usize, &Run)]) -> Option<String> {
    let mut schemes: Vec<(&str, u64, u64)> = Vec::new();
    for (_, run) in runs.iter().filter(|(_, run)| !run.is_void()) {
        let Some(all) = &run.fct.all else { continue };
        let number = schemes.iter().position(|(name, ..)| *name == run.scheme);
        let number = number.unwrap_or_else(|| {
            schemes.push((&run.scheme, 0, 0));
            schemes.len() - 1
        });
        schemes[number].1 += all.unfinished;
        schemes[number].2 += all.count;
    }
    let open = schemes.iter().filter(|(_, open, _)| *open > 0);
    let open: Vec<String> = open.map(|(name, open, all)| format!("{name}: {open} of {all}")).collect();
    (!open.is_empty()).then(|| {
        format!(
            "warning: flows that were not complete at the end, {}: a longer `duration` gives them time",
            open.join(", ")
        )
    })
}

/// The warnings as pairs: the line with the schemes, and the place, which is the first run that has the warning with
/// the number of such runs. The place is empty if there is one run only.
pub fn warnings_and_places(points: &[Point], runs: &[(usize, &Run)]) -> Vec<(String, String)> {
    shared(runs).iter().map(|one| (one.line(), one.place(points, runs))).collect()
}

fn shared<'a>(runs: &[(usize, &'a Run)]) -> Vec<Shared<'a>> {
    let kind = |text: &str| -> String { text.chars().filter(|c| !c.is_ascii_digit()).collect() };
    let mut found: Vec<Shared<'a>> = Vec::new();
    for &(point, run) in runs {
        let mut own: Vec<String> = Vec::new();
        for text in &run.warnings {
            let kind = kind(text);
            if own.contains(&kind) {
                continue;
            }
            let index = found.iter().position(|other| other.kind == kind).unwrap_or_else(|| {
                let (kind, schemes) = (kind.clone(), Vec::new());
                found.push(Shared { kind, schemes, point, run, text, warned: 0 });
                found.len() - 1
            });
            let shared = &mut found[index];
            shared.warned += 1;
            if !shared.schemes.contains(&run.scheme.as_str()) {
                shared.schemes.push(&run.scheme);
            }
            own.push(kind);
        }
    }
    found
}

impl Shared<'_> {
    fn line(&self) -> String {
        if let [one] = self.schemes[..]
            && self.text.strip_prefix(one).is_some_and(|rest| rest.starts_with(' '))
        {
            return self.text.to_owned();
        }
        let more = self.schemes.len().saturating_sub(MAX_NAMED);
        let names = self.schemes.iter().take(MAX_NAMED).copied().collect::<Vec<_>>().join(", ");
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{names}{more}: {}", self.text)
    }

    fn place(&self, points: &[Point], runs: &[(usize, &Run)]) -> String {
        let same = runs.iter().filter(|(_, run)| self.schemes.contains(&run.scheme.as_str()));
        let all = same.count();
        if all < 2 {
            return String::new();
        }
        let point = points.get(self.point).map_or("", |point| point.name.as_str());
        let point = if point.is_empty() { String::new() } else { format!("{point}, ") };
        let seed = self.run.seed;
        let (whose, first) = match self.schemes[..] {
            [one] => (one.to_owned(), String::new()),
            _ => ("these".to_owned(), format!("{}, ", self.run.scheme)),
        };
        let runs = match self.warned {
            1 => "only there".to_owned(),
            warned => format!("in {warned} of {all} runs"),
        };
        format!("{first}{point}seed {seed}; {runs} of {whose}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::Completion;

    fn run(scheme: &str, seed: u64, warnings: &[&str]) -> Run {
        let warnings = warnings.iter().map(|text| (*text).to_owned()).collect();
        Run { scheme: scheme.to_owned(), seed, warnings, ..Run::default() }
    }

    fn lines(runs: &[Run]) -> Vec<String> {
        warnings(&[Point::default()], &runs.iter().map(|run| (0, run)).collect::<Vec<_>>())
    }

    #[test]
    fn a_warning_of_several_schemes_is_told_once_with_their_names() {
        let late = ["3 flows start after the end", "4 flows start after the end"];
        let runs = [
            run("cubic", 1, &late[..1]),
            run("cubic", 2, &late[1..]),
            run("dctcp", 1, &late[..1]),
            run("dctcp", 2, &[]),
            run("bbr", 1, &["something else"]),
            run("bbr", 2, &[]),
        ];
        assert_eq!(
            lines(&runs),
            [
                "warning: cubic, dctcp: 3 flows start after the end",
                "  (cubic, seed 1; in 3 of 4 runs of these)",
                "warning: bbr: something else",
                "  (seed 1; only there of bbr)",
            ]
        );
        assert_eq!(lines(&runs[4..5]), ["warning: bbr: something else"], "one run has no place");
    }

    #[test]
    fn many_schemes_are_counted() {
        let runs: Vec<Run> = (0..9).map(|number| run(&format!("s{number}"), 1, &["late"])).collect();
        let found = lines(&runs);
        assert_eq!(found[0], "warning: s0, s1, s2, s3, s4, s5 and 3 more: late");
        assert_eq!(found[1], "  (s0, seed 1; in 9 of 9 runs of these)");
    }

    #[test]
    fn one_seed_of_three_in_which_a_flow_starves_is_told() {
        let unfair = "one flow has 97 % (Jain's index 0.053)";
        let runs = [run("cubic", 1, &[]), run("cubic", 2, &[unfair]), run("cubic", 3, &[])];
        let told = [format!("warning: cubic: {unfair}"), "  (seed 2; only there of cubic)".into()];
        assert_eq!(lines(&runs), told);
    }

    #[test]
    fn flows_that_were_not_complete_ask_for_a_longer_duration() {
        let mut all = [run("cubic", 1, &[]), run("cubic", 2, &[])];
        assert!(lines(&all).is_empty());
        for (run, unfinished) in all.iter_mut().zip([0, 3]) {
            run.fct.all = Some(Completion { count: 40, unfinished, ..Completion::default() });
        }
        let said = lines(&all);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].contains("cubic: 3 of 80: a longer `duration`"), "{said:?}");
        assert!(lines(&all[..1]).is_empty(), "all were complete");
    }
}

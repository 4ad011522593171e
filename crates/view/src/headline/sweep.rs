//! The sentences of results with several points: where which scheme leads, and where the difference is largest.

use super::standings::{Entry, Ranking, Standings, apart, rank};
use crate::axis::Axis;
use crate::text::list;

/// The most stretches of a sweep in a sentence; more are counted.
const MAX_STRETCHES: usize = 3;

/// Who leads at a point: a scheme, or `None` if it cannot be told.
type Lead<'a> = (usize, Option<&'a str>);

pub(super) fn sentences(standings: &Standings<'_>) -> Vec<String> {
    let order = order(standings);
    let rankings: Vec<(usize, Ranking<'_>)> = order
        .into_iter()
        .map(|point| (point, standings.at(point)))
        .filter(|(_, entries)| entries.len() > 1)
        .map(|(point, entries)| (point, rank(&entries, standings.topic.is_less_better())))
        .collect();
    if rankings.is_empty() {
        return vec![span(standings)];
    }
    let leads: Vec<Lead<'_>> = rankings
        .iter()
        .map(|(point, ranking)| match ranking.best.as_slice() {
            [one] => (*point, Some(one.scheme)),
            _ => (*point, None),
        })
        .collect();
    let mut sentences = vec![who_leads(standings, &leads)];
    sentences.extend(widest(standings, &rankings));
    sentences
}

/// The points in the order of the quantity by which they differ, or of the results.
fn order(standings: &Standings<'_>) -> Vec<usize> {
    let mut points: Vec<usize> = (0..standings.comparison.points.len()).collect();
    if let Axis::Quantity { values, .. } = &standings.comparison.axis {
        points.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    }
    points
}

/// Whether the points are on one line, so that "from" and "to" mean something.
fn on_a_line(standings: &Standings<'_>) -> bool {
    matches!(&standings.comparison.axis, Axis::Quantity { panels, .. } if panels.iter().all(String::is_empty))
}

fn who_leads(standings: &Standings<'_>, leads: &[Lead<'_>]) -> String {
    let stretches: Vec<&[Lead<'_>]> = leads.chunk_by(|a, b| a.1 == b.1).collect();
    let best = standings.verb(true, standings.comparison.schemes.len() == 2);
    match stretches.as_slice() {
        [all] => match all[0].1 {
            Some(scheme) => format!("{scheme} {best} at each of the {} points.", all.len()),
            None => {
                format!(
                    "No scheme leads at any of the {} points: {}.",
                    all.len(),
                    together(standings)
                )
            }
        },
        few if few.len() <= MAX_STRETCHES && on_a_line(standings) => {
            let parts: Vec<String> =
                few.iter().map(|stretch| part(standings, best, stretch)).collect();
            format!("{}.", parts.join("; "))
        }
        _ => counted(leads, best, together(standings)),
    }
}

/// The reason why no scheme leads.
fn together(standings: &Standings<'_>) -> &'static str {
    if standings.few_seeds().is_empty() {
        "the seeds cannot tell the best apart"
    } else {
        "the best are within 1 % of each other"
    }
}

/// Who leads on a stretch of points.
fn part(standings: &Standings<'_>, best: &str, stretch: &[Lead<'_>]) -> String {
    let label = |lead: &Lead<'_>| standings.comparison.labels[lead.0].as_str();
    let place = match stretch {
        [one] => format!("at {}", label(one)),
        [first, .., last] => format!("from {} to {}", label(first), label(last)),
        [] => String::new(),
    };
    match stretch.first().and_then(|lead| lead.1) {
        Some(scheme) => format!("{scheme} {best} {place}"),
        None => format!("{place} {}", together(standings)),
    }
}

/// At how many points each scheme leads.
fn counted(leads: &[Lead<'_>], best: &str, nobody: &str) -> String {
    let mut wins: Vec<(&str, usize)> = Vec::new();
    for scheme in leads.iter().filter_map(|lead| lead.1) {
        match wins.iter_mut().find(|(name, _)| *name == scheme) {
            Some((_, count)) => *count += 1,
            None => wins.push((scheme, 1)),
        }
    }
    wins.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let open = leads.iter().filter(|lead| lead.1.is_none()).count();
    let mut parts: Vec<String> = Vec::new();
    for (place, (scheme, count)) in wins.iter().enumerate() {
        parts.push(match place {
            0 => format!("{scheme} {best} at {count} of {} points", leads.len()),
            _ => format!("{scheme} at {count}"),
        });
    }
    let mut text = list(&parts);
    if open > 0 {
        text = format!("{text}; at {open} {nobody}");
    }
    format!("{text}.")
}

/// The point at which the best differs most from the worst.
fn widest(standings: &Standings<'_>, rankings: &[(usize, Ranking<'_>)]) -> Option<String> {
    let pairs = rankings.iter().filter_map(|(point, ranking)| {
        let (best, worst) = (ranking.best.first()?, ranking.worst.last()?);
        let (high, low) =
            (best.value.mean.max(worst.value.mean), best.value.mean.min(worst.value.mean));
        Some((*point, *best, *worst, if low > 0.0 { high / low } else { f64::INFINITY }))
    });
    let (point, best, worst, _) = pairs.max_by(|a, b| a.3.total_cmp(&b.3))?;
    let place = &standings.comparison.labels[point];
    let (values, names) =
        ([best, worst].map(|entry| standings.value(&[entry])), [best.scheme, worst.scheme]);
    let what = if standings.topic.is_less_better() {
        let (before, after) = standings.topic.words;
        format!(
            "{before}{}{after} under {}, and {} under {}",
            values[0], names[0], values[1], names[1]
        )
    } else {
        let [gained, lost] = [best, worst].map(|entry| Standings::loss(&[entry]));
        format!(
            "{} carried {} and lost {gained}, {} carried {} and lost {lost}",
            names[0], values[0], names[1], values[1]
        )
    };
    Some(format!("Where the difference is largest, at {place}, {what}."))
}

/// The range of points that have one scheme each.
fn span(standings: &Standings<'_>) -> String {
    let by_value = |a: &&Entry<'_>, b: &&Entry<'_>| a.value.mean.total_cmp(&b.value.mean);
    let (Some(least), Some(most)) =
        (standings.entries.iter().min_by(by_value), standings.entries.iter().max_by(by_value))
    else {
        return String::new();
    };
    let at = |entry: &Entry<'_>| {
        let label = &standings.comparison.labels[entry.point];
        let who =
            if least.scheme == most.scheme { String::new() } else { format!("{}, ", entry.scheme) };
        format!("{} ({who}{label})", standings.value(&[*entry]))
    };
    let (before, after) =
        if standings.topic.is_less_better() { standings.topic.words } else { ("goodput was ", "") };
    let who =
        if least.scheme == most.scheme { format!("{}: ", least.scheme) } else { String::new() };
    if !apart(least.value, most.value) {
        let all: Vec<Entry<'_>> = vec![*least, *most];
        return format!(
            "{who}{before}{}{after} at all points, {}.",
            standings.value(&all),
            standings.tie()
        );
    }
    format!("{who}{before}{}{after} at the least and {} at the most.", at(least), at(most))
}

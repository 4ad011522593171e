//! The sentences of results with several points: where which scheme leads, and where the difference is largest.

use super::one_point::{alike, seeds_that_would_do};
use super::price::Prices;
use super::ranking::{Ranking, is_worse, sorted};
use super::standings::{Entry, Standings};
use super::turn;
use super::wording::{capitalized, listed, names, quoted, seeds};
use crate::axis::{Axis, moved_together};
use crate::text::list;
use indexmap::IndexSet;
use shallop_results::contrast::Level;

/// The most stretches of a sweep in a sentence; more are counted.
const MAX_STRETCHES: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lead<'a> {
    One(&'a str),
    /// The best are equal within the practical bound.
    Alike,
    /// The seeds do not tell.
    Open,
}

type Ranked<'e, 'a> = (usize, Ranking<'e, 'a>);

/// The sentences on these standings: who leads where, what the leads cost, which value of the swept key is the best,
/// and where loss begins.
pub(super) fn sentences(standings: &Standings<'_>) -> Vec<String> {
    let rankings = rankings(standings);
    let turns = turn::sentences(standings);
    let mut sentences: Vec<String> = who_leads(standings, &rankings).into_iter().collect();
    // With groups there are many sentences, and this one is the first that can be missed.
    let has_room = turns.is_empty() || !standings.has_groups;
    sentences.extend(widest(standings, &rankings).filter(|_| has_room));
    sentences.extend(Prices::new(standings).of_points(rankings.iter().map(|(_, ranking)| ranking.best[0])));
    sentences.extend(turns);
    sentences.extend(turn::losses(standings));
    if sentences.is_empty() { vec![span(standings)] } else { sentences }
}

/// The sentences on a group: who leads where, and which value is the best for the first scheme of which that is
/// decided, or where the difference is largest.
pub(super) fn of_group(standings: &Standings<'_>) -> Vec<String> {
    let rankings = rankings(standings);
    let mut sentences: Vec<String> = who_leads(standings, &rankings).into_iter().collect();
    let turns = turn::sentences(standings);
    let decided = turns.iter().find(|turn| !turn.starts_with(turn::NOT_DECIDED));
    let turn = decided.or_else(|| turns.first()).cloned();
    sentences.extend(turn.or_else(|| widest(standings, &rankings)));
    if sentences.is_empty() { vec![span(standings)] } else { sentences }
}

/// The rankings at the points that have several schemes.
fn rankings<'e, 'a>(standings: &'e Standings<'a>) -> Vec<Ranked<'e, 'a>> {
    let points = order(standings).into_iter().map(|point| (point, standings.at(point)));
    let points = points.filter(|(_, entries)| entries.len() > 1);
    points.map(|(point, entries)| (point, standings.rank(&entries))).collect()
}

fn lead<'a>(standings: &Standings<'_>, ranking: &Ranking<'_, 'a>) -> Lead<'a> {
    if standings.is_undecided() {
        let first = ranking.best[0];
        let is_near = |other: &&Entry<'_>| first.contrast(other).is_some_and(|contrast| contrast.is_near());
        return if ranking.undecided.iter().any(is_near) { Lead::Alike } else { Lead::One(first.scheme) };
    }
    match (ranking.best.as_slice(), ranking.undecided.is_empty()) {
        (_, false) => Lead::Open,
        ([one], true) => Lead::One(one.scheme),
        (_, true) => Lead::Alike,
    }
}

/// The points in the order of the quantity by which they differ, or of the results.
pub(super) fn order(standings: &Standings<'_>) -> Vec<usize> {
    let mut points: Vec<usize> = (0..standings.comparison.points.len()).collect();
    if let Some(values) = values(standings) {
        points.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    }
    points
}

/// The quantity by which the points differ, by point.
fn values(standings: &Standings<'_>) -> Option<Vec<f64>> {
    match &standings.comparison.axis {
        Axis::Quantity { values, .. } => Some(values.clone()),
        _ => moved_together(&standings.comparison.points),
    }
}

/// Whether the points are on one line, so that "from" and "to" mean something.
pub(super) fn on_a_line(standings: &Standings<'_>) -> bool {
    match &standings.comparison.axis {
        Axis::Quantity { panels, .. } => panels.iter().all(String::is_empty),
        _ => moved_together(&standings.comparison.points).is_some(),
    }
}

/// Who leads at which points; `None` if no point has several schemes.
fn who_leads(standings: &Standings<'_>, rankings: &[Ranked<'_, '_>]) -> Option<String> {
    let leads: Vec<(usize, Lead<'_>)> =
        rankings.iter().map(|(point, ranking)| (*point, lead(standings, ranking))).collect();
    let stretches: Vec<&[(usize, Lead<'_>)]> = leads.chunk_by(|a, b| a.1 == b.1).collect();
    let of_two = standings.comparison.schemes.len() == 2;
    let best = standings.verb(true, of_two);
    let by = if standings.is_undecided() { standings.by_estimate() } else { "" };
    let label = |point: usize| standings.comparison.labels[point].clone();
    let at = |each: &str| match leads.as_slice() {
        [one] => format!("at {}", label(one.0)),
        all if all.len() < standings.comparison.points.len() => format!("at {each} of the {} ranked points", all.len()),
        all => format!("at {each} of the {} points", all.len()),
    };
    let is_scheme = |of: &(usize, Lead<'_>)| matches!(of.1, Lead::One(_));
    let (text, has_name_first) = match stretches.as_slice() {
        [] => return None,
        [all] => match all[0].1 {
            Lead::One(scheme) => (format!("{} {best} {}", quoted(scheme), at("each")), true),
            other => (format!("no scheme leads {}: {}", at("any"), nobody(standings, other, rankings)), false),
        },
        few if few.len() <= MAX_STRETCHES && on_a_line(standings) => {
            let parts: Vec<String> = few.iter().map(|stretch| part(standings, best, stretch, rankings)).collect();
            (parts.join("; "), is_scheme(&leads[0]))
        }
        _ => (counted(standings, &leads, best, rankings), leads.iter().any(is_scheme)),
    };
    let text = if by.is_empty() && !has_name_first { capitalized(&text) } else { format!("{by}{text}") };
    let open: Vec<String> = order(standings).into_iter().filter(|it| is_unranked(standings, *it)).map(label).collect();
    let unranked = if open.is_empty() {
        String::new()
    } else {
        format!(" At {} flows did not finish, and nothing is ranked.", listed(&open))
    };
    let text = format!("{text}.{unranked}");
    let open = rankings.iter().filter(|(_, ranking)| !ranking.undecided.is_empty());
    let needed: Option<Vec<u64>> = open.map(|(_, ranking)| ranking.seeds_needed).collect();
    Some(match needed {
        Some(all) if all.is_empty() => text,
        _ if standings.is_undecided() => text,
        needed => {
            let needed = needed.and_then(|all| all.into_iter().max());
            format!("{text} Where nothing is decided, {}.", seeds_that_would_do(needed))
        }
    })
}

/// Whether a point has schemes left out, as their flows did not finish, and fewer than two others.
fn is_unranked(standings: &Standings<'_>, point: usize) -> bool {
    standings.at(point).len() < 2 && standings.has_left_out(point)
}

/// The reason why no scheme leads at these points, with the schemes that may be the best.
fn nobody(standings: &Standings<'_>, lead: Lead<'_>, points: &[Ranked<'_, '_>]) -> String {
    if lead == Lead::Alike {
        return format!("the best are {}", alike());
    }
    let rankings = points.iter().map(|(_, ranking)| ranking).filter(|ranking| !ranking.undecided.is_empty());
    let contenders = rankings.flat_map(|ranking| ranking.best.iter().chain(&ranking.undecided));
    let contenders: IndexSet<&str> = contenders.map(|entry| entry.scheme).collect();
    let seeds = seeds(standings.seeds());
    format!("the {seeds} do not tell which of {} is the best", names(&contenders.into_iter().collect::<Vec<_>>()))
}

fn part(standings: &Standings<'_>, best: &str, stretch: &[(usize, Lead<'_>)], rankings: &[Ranked<'_, '_>]) -> String {
    let label = |lead: &(usize, Lead<'_>)| standings.comparison.labels[lead.0].as_str();
    let place = match stretch {
        [one] => format!("at {}", label(one)),
        [first, .., last] => format!("from {} to {}", label(first), label(last)),
        [] => String::new(),
    };
    match stretch.first().map(|lead| lead.1) {
        Some(Lead::One(scheme)) => format!("{} {best} {place}", quoted(scheme)),
        Some(other) => {
            let is_here = |of: &&Ranked<'_, '_>| stretch.iter().any(|lead| lead.0 == of.0);
            let here: Vec<Ranked<'_, '_>> = rankings.iter().filter(is_here).cloned().collect();
            format!("{place} {}", nobody(standings, other, &here))
        }
        None => String::new(),
    }
}

/// At how many points each scheme leads.
fn counted(standings: &Standings<'_>, leads: &[(usize, Lead<'_>)], best: &str, rankings: &[Ranked<'_, '_>]) -> String {
    let mut wins: Vec<(&str, usize)> = Vec::new();
    for (_, lead) in leads {
        let Lead::One(scheme) = lead else { continue };
        match wins.iter_mut().find(|(name, _)| name == scheme) {
            Some((_, count)) => *count += 1,
            None => wins.push((scheme, 1)),
        }
    }
    wins.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let mut parts: Vec<String> = Vec::new();
    for (place, (scheme, count)) in wins.iter().enumerate() {
        let scheme = quoted(scheme);
        parts.push(match place {
            0 => format!("{scheme} {best} at {count} of {} points", leads.len()),
            _ => format!("{scheme} at {count}"),
        });
    }
    let mut text = vec![list(&parts)];
    for kind in [Lead::Alike, Lead::Open] {
        let count = leads.iter().filter(|(_, lead)| *lead == kind).count();
        if count > 0 {
            let of =
                if parts.is_empty() && text.len() == 1 { format!(" of {} points", leads.len()) } else { String::new() };
            text.push(format!("{} at {count}{of}", nobody(standings, kind, rankings)));
        }
    }
    text.retain(|part| !part.is_empty());
    text.join("; ")
}

/// The point at which the best differs most from a scheme that is shown to be worse, or by their estimates.
fn widest(standings: &Standings<'_>, rankings: &[Ranked<'_, '_>]) -> Option<String> {
    let less = standings.topic.is_less_better();
    let pairs = rankings.iter().filter_map(|(point, ranking)| {
        let best = *ranking.best.first()?;
        let others = if standings.is_undecided() {
            ranking.undecided.clone()
        } else {
            let rest = ranking.rest.iter().copied();
            rest.filter(|entry| is_worse(entry, best, less, Level::FIRM)).collect()
        };
        let worst = *sorted(&others, less).last()?;
        let (high, low) = (best.value.mean.max(worst.value.mean), best.value.mean.min(worst.value.mean));
        Some((*point, best, worst, if low > 0.0 { high / low } else { f64::INFINITY }))
    });
    let (point, best, worst, _) = pairs.max_by(|a, b| a.3.total_cmp(&b.3))?;
    let place = &standings.comparison.labels[point];
    let values = [best, worst].map(|entry| standings.value(&[entry]));
    let names = [best, worst].map(|entry| quoted(entry.scheme));
    let what = if less {
        let (before, after) = standings.topic.words;
        format!("{before}{}{after} under {}, and {} under {}", values[0], names[0], values[1], names[1])
    } else {
        let [gained, lost] = [best, worst].map(|entry| Standings::loss(&[entry]));
        format!(
            "{} carried {} and lost {gained}, {} carried {} and lost {lost}",
            names[0], values[0], names[1], values[1]
        )
    };
    let largest = if standings.is_undecided() { "largest by these estimates" } else { "largest" };
    Some(format!("Where the difference is {largest}, at {place}, {what}."))
}

/// The range of points that have one scheme each.
fn span(standings: &Standings<'_>) -> String {
    let by_value = |a: &&Entry<'_>, b: &&Entry<'_>| a.value.mean.total_cmp(&b.value.mean);
    let (Some(least), Some(most)) =
        (standings.entries.iter().min_by(by_value), standings.entries.iter().max_by(by_value))
    else {
        return String::new();
    };
    let is_one = least.scheme == most.scheme;
    let at = |entry: &Entry<'_>| {
        let label = &standings.comparison.labels[entry.point];
        let who = if is_one { String::new() } else { format!("{}, ", quoted(entry.scheme)) };
        format!("{} ({who}{label})", standings.value(&[entry]))
    };
    let (before, after) = if standings.topic.is_less_better() { standings.topic.words } else { ("goodput was ", "") };
    let who = if is_one { format!("{}: ", quoted(least.scheme)) } else { String::new() };
    if least.contrast(most).is_some_and(|contrast| contrast.is_near()) {
        return format!("{who}{before}{}{after} at all points, {}.", standings.value(&[least, most]), alike());
    }
    format!("{who}{before}{}{after} at the least and {} at the most.", at(least), at(most))
}

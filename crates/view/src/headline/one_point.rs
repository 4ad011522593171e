//! The sentences of results with one point.

use super::price::Prices;
use super::ranking::{Ranking, sorted};
use super::standings::{Entry, Standings};
use super::wording::{listed, names, quoted, seeds};
use shallop_results::contrast::{BOUND, MAX_SEEDS};
use shallop_results::metrics;
use shallop_results::units::{self, Unit};

/// The sentences on these standings: the order of the schemes, what a lead costs, and who lost the least.
pub(super) fn sentences(standings: &Standings<'_>) -> Vec<String> {
    let mut sentences = order(standings);
    let entries: Vec<&Entry<'_>> = standings.entries.iter().collect();
    if entries.len() < 2 || carried_nothing(standings) {
        return sentences;
    }
    let less = standings.topic.is_less_better();
    let prices = Prices::new(standings);
    if standings.is_undecided() {
        sentences.extend(prices.sentences(&sorted(&entries, less)[..1]));
        return sentences;
    }
    let ranking = standings.rank(&entries);
    sentences.extend(prices.sentences(&ranking.best));
    if !less {
        // Of schemes that carried the same, loss is what tells them apart.
        let leaders = ranking.best.iter().filter(|_| !ranking.rest.is_empty());
        let told: Vec<&str> = leaders.chain(&ranking.worst).map(|entry| entry.scheme).collect();
        sentences.extend(prices.least_loss(&told));
    }
    sentences
}

fn carried_nothing(standings: &Standings<'_>) -> bool {
    let is_nothing = |entry: &Entry<'_>| entry.value.mean <= 0.0;
    !standings.topic.is_less_better() && standings.entries.iter().all(is_nothing)
}

/// The sentences on the order of the schemes alone.
pub(super) fn order(standings: &Standings<'_>) -> Vec<String> {
    let entries: Vec<&Entry<'_>> = standings.entries.iter().collect();
    if carried_nothing(standings) {
        return vec![format!("{} carried nothing.", schemes(&entries))];
    }
    if let [only] = entries.as_slice() {
        let sentences = [alone(standings, only), beside(standings, only)];
        return sentences.into_iter().filter(|text| !text.is_empty()).collect();
    }
    if standings.is_undecided() {
        return vec![estimates(standings, &entries)];
    }
    let ranking = standings.rank(&entries);
    let mut sentences = ranked(standings, &ranking);
    if !ranking.undecided.is_empty() {
        sentences.push(undecided(standings, &ranking));
    }
    sentences
}

fn schemes(entries: &[&Entry<'_>]) -> String {
    names(&entries.iter().map(|entry| entry.scheme).collect::<Vec<_>>())
}

/// "within 5 % of each other"
pub(super) fn alike() -> String {
    format!("within {:.0} % of each other", BOUND * 100.0)
}

/// The result of a single scheme.
fn alone(standings: &Standings<'_>, only: &Entry<'_>) -> String {
    let (who, detail) = (quoted(only.scheme), standings.detail(&[only]));
    if standings.topic.is_less_better() {
        format!("{who}: {detail}.")
    } else {
        format!("{who} carried {detail}{}.", busy(only))
    }
}

/// A second sentence on a single scheme: goodput and loss beside completion times, otherwise the longest queue.
fn beside(standings: &Standings<'_>, only: &Entry<'_>) -> String {
    if let (true, Some(goodput)) = (standings.topic.is_less_better(), only.of.get(&metrics::GOODPUT)) {
        let unit = Unit::for_largest([goodput.mean], units::RATES);
        let loss = Standings::loss(&[only]);
        return format!("It carried {:.2} {} of new data and lost {loss}.", goodput.mean / unit.size, unit.name);
    }
    // Results of a group have no queue.
    let Some(queue) = only.of.get(&metrics::MAX_QUEUE).map(|queue| queue.mean) else { return String::new() };
    if queue <= 0.0 {
        return "No data packet waited at a switch.".to_owned();
    }
    let unit = Unit::for_largest([queue], units::SIZES);
    format!("The longest data queue of a switch was {:.1} {}.", queue / unit.size, unit.name)
}

/// How much of the busiest link was used.
fn busy(entry: &Entry<'_>) -> String {
    let used = entry.mean(&metrics::UTILIZATION) * 100.0;
    if used > 0.0 { format!("; its busiest link was {used:.0} % used") } else { String::new() }
}

/// What one or two seeds say, which decides nothing: the estimates that are best and worst.
fn estimates(standings: &Standings<'_>, entries: &[&Entry<'_>]) -> String {
    let sorted = sorted(entries, standings.topic.is_less_better());
    let (first, last) = (sorted[0], sorted[sorted.len() - 1]);
    let by = standings.by_estimate();
    if first.contrast(last).is_some_and(|contrast| contrast.is_near()) {
        let (who, detail) = (schemes(&sorted), standings.detail(&sorted));
        return format!("{by}{who} are {}: {detail}.", alike());
    }
    let of_two = entries.len() == 2;
    let part = |entry: &Entry<'_>, best: bool| {
        let verb = standings.verb(best, of_two);
        format!("{} {verb}: {}", quoted(entry.scheme), standings.detail(&[entry]))
    };
    format!("{by}{}; {}.", part(first, true), part(last, false))
}

/// Which schemes are shown to be the best and the worst.
fn ranked(standings: &Standings<'_>, ranking: &Ranking<'_, '_>) -> Vec<String> {
    let Ranking { best, rest, worst, undecided, .. } = ranking;
    if rest.is_empty() {
        let verb = if standings.topic.is_less_better() { "did equally well" } else { "carried the same" };
        let detail = standings.detail(best);
        let all = format!("{} {verb}, {}: {detail}.", schemes(best), alike());
        return if best.len() > 1 { vec![all] } else { Vec::new() };
    }
    let apart = if undecided.is_empty() {
        String::new()
    } else {
        format!("Of the schemes that {} tell apart, ", seeds(standings.seeds()))
    };
    let of_two = best.len() + rest.len() == 2;
    let sentence = |some: &[&Entry<'_>], is_best: bool| {
        let (who, detail) = (schemes(some), standings.detail(some));
        let verb = standings.verb(is_best, of_two);
        let alike = if some.len() > 1 { format!(", {}", alike()) } else { String::new() };
        let busy = match some {
            [one] if is_best && !standings.topic.is_less_better() => busy(one),
            _ => String::new(),
        };
        format!("{who} {verb}{alike}: {detail}{busy}")
    };
    let mut sentences = vec![format!("{apart}{}.", sentence(best, true))];
    if worst.is_empty() {
        let each: Vec<String> = rest.iter().map(|entry| estimate(standings, entry)).collect();
        sentences.push(format!("Worse, in an order that the seeds do not tell: {}.", listed(&each)));
    } else if undecided.is_empty() {
        sentences.push(format!("{}.", sentence(worst, false)));
    } else {
        let both = [sentence(best, true), sentence(worst, false)];
        sentences = vec![format!("{apart}{}.", both.join("; "))];
    }
    sentences
}

/// The name of a scheme with its mean.
fn estimate(standings: &Standings<'_>, entry: &Entry<'_>) -> String {
    format!("{} {}", quoted(entry.scheme), standings.value(&[entry]))
}

/// The schemes whose place is not decided, with the values of their seeds, and how many seeds would do.
fn undecided(standings: &Standings<'_>, ranking: &Ranking<'_, '_>) -> String {
    let alone = ranking.rest.is_empty() && ranking.best.len() == 1;
    let first = ranking.best.iter().filter(|_| alone);
    let each = first.chain(&ranking.undecided).map(|entry| {
        let values: Vec<f64> = entry.by_seed.values().copied().collect();
        format!("{} {}", quoted(entry.scheme), standings.values(&values))
    });
    let each: Vec<String> = each.collect();
    let over = seeds(standings.seeds());
    let advice = seeds_that_would_do(ranking.seeds_needed);
    format!("Not decided: {} over {over}; {advice}.", listed(&each))
}

pub(super) fn seeds_that_would_do(needed: Option<u64>) -> String {
    needed.map_or_else(
        || format!("no number of seeds up to {MAX_SEEDS} is likely to do"),
        |needed| format!("about {needed} seeds would do"),
    )
}

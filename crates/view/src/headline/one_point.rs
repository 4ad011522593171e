//! The sentences of results with one point.

use super::standings::{Entry, Standings, names, rank};
use shallop_results::metrics;
use shallop_results::units::{self, Unit};

pub(super) fn sentences(standings: &Standings<'_>) -> Vec<String> {
    let entries = &standings.entries;
    if !standings.topic.is_less_better() && entries.iter().all(|entry| entry.value.mean <= 0.0) {
        return vec![format!("{} carried nothing.", names(entries, entries.len()))];
    }
    if let [only] = entries.as_slice() {
        return vec![alone(standings, only), beside(standings, only)];
    }
    let ranking = rank(entries, standings.topic.is_less_better());
    let of_two = entries.len() == 2;
    let mut sentences =
        vec![sentence(standings, &ranking.best, true, of_two, ranking.worst.is_empty())];
    if !ranking.worst.is_empty() {
        sentences.push(sentence(standings, &ranking.worst, false, of_two, false));
    }
    if !standings.topic.is_less_better() {
        // Of schemes that carried the same, loss is what tells them apart.
        let told: Vec<&str> = match ranking.worst.as_slice() {
            [] => Vec::new(),
            worst => ranking.best.iter().chain(worst).map(|entry| entry.scheme).collect(),
        };
        sentences.extend(least_loss(standings, &told));
    }
    sentences
}

/// The result of a single scheme.
fn alone(standings: &Standings<'_>, only: &Entry<'_>) -> String {
    let detail = standings.detail(&[*only]);
    if standings.topic.is_less_better() {
        format!("{}: {detail}.", only.scheme)
    } else {
        format!("{} carried {detail}{}.", only.scheme, busy(only))
    }
}

/// A second sentence on a single scheme: goodput and loss beside completion times, otherwise the longest queue.
fn beside(standings: &Standings<'_>, only: &Entry<'_>) -> String {
    if let (true, Some(goodput)) =
        (standings.topic.is_less_better(), only.of.get(&metrics::GOODPUT))
    {
        let unit = Unit::for_largest([goodput.mean], units::RATES);
        let loss = Standings::loss(&[*only]);
        return format!(
            "It carried {:.2} {} of new data and lost {loss}.",
            goodput.mean / unit.size,
            unit.name
        );
    }
    let queue = only.of.get(&metrics::MAX_QUEUE).map_or(0.0, |queue| queue.mean);
    if queue <= 0.0 {
        return "No data packet waited at a switch.".to_owned();
    }
    let unit = Unit::for_largest([queue], units::SIZES);
    format!("The longest data queue of a switch was {:.1} {}.", queue / unit.size, unit.name)
}

/// How much of the busiest link was used.
fn busy(entry: &Entry<'_>) -> String {
    let used = entry.of.get(&metrics::UTILIZATION).map_or(0.0, |used| used.mean * 100.0);
    if used > 0.0 { format!("; its busiest link was {used:.0} % used") } else { String::new() }
}

/// The result of the best or the worst schemes. `all` if there are no others.
fn sentence(
    standings: &Standings<'_>,
    some: &[Entry<'_>],
    best: bool,
    of_two: bool,
    all: bool,
) -> String {
    let (who, detail) = (names(some, standings.entries.len()), standings.detail(some));
    let verb = match (all, standings.topic.is_less_better()) {
        (true, true) => "did equally well",
        (true, false) => "carried the same",
        (false, _) => standings.verb(best, of_two),
    };
    match some {
        [one] => format!(
            "{who} {verb}: {detail}{}.",
            if best && !standings.topic.is_less_better() { busy(one) } else { String::new() }
        ),
        _ => format!("{who} {verb}, {}: {detail}.", standings.tie()),
    }
}

/// Which schemes lost the least, unless their loss is told already.
fn least_loss<'a>(standings: &Standings<'a>, told: &[&str]) -> Option<String> {
    let losses: Vec<Entry<'a>> = standings
        .entries
        .iter()
        .filter_map(|entry| Some(Entry { value: *entry.of.get(&metrics::LOSS)?, ..*entry }))
        .collect();
    let ranking = rank(&losses, true);
    let news = ranking.best.iter().all(|entry| !told.contains(&entry.scheme));
    (!ranking.worst.is_empty() && news).then(|| {
        let who = names(&ranking.best, standings.entries.len());
        format!("{who} lost the least: {}.", Standings::loss(&ranking.best))
    })
}

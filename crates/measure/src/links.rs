//! Results of each link, and lists of ports that stay short in networks of any size.

use crate::fractions::{data, ratio};
use crate::probe::Measurements;
use shallop_core::Span;
use shallop_plan::ResolvedRun;
use shallop_results::Link;
use shallop_switch::PortCounters;
use std::collections::BTreeMap;

/// Largest number of entries in a list or map of ports, links or queues. The largest entries are kept, the others
/// counted.
pub(crate) const MAX_PLACES: usize = 1_000;

/// Results of all links that carried or were offered traffic, each direction separately, the most utilised first.
/// `offered` is the payload offered to each port, in bit/s, if known.
pub(crate) fn links(
    setup: &ResolvedRun<'_>, measure: &Measurements, ports: &[PortCounters], offered: Option<&[f64]>, end: Span,
) -> Vec<Link> {
    let network = &setup.network;
    let longest = longest_queues(setup, measure);
    let link = |(port, counts): (u32, &PortCounters)| {
        let (rate, index) = (network.graph.link_of(port).rate, port as usize);
        let offered = offered.map(|offered| offered[index] / rate.get() as f64);
        let dropped = data(&counts.dropped);
        let used = counts.bytes > 0 || dropped > 0 || offered.is_some_and(|load| load > 0.0);
        used.then(|| Link {
            place: network.port_name(port),
            rate_bps: rate.get(),
            offered,
            utilization: used_part(setup, port, counts, end),
            bundle_utilization: network.bundle(port).map(|all| bundle_use(setup, all, ports, end)),
            loss_rate: ratio(dropped + data(&counts.lost), dropped + data(&counts.sent)),
            marks: measure.marks_at[index],
            max_queue_bytes: longest.get(&port).copied(),
        })
    };
    let mut links: Vec<Link> = (0..).zip(ports).filter_map(link).collect();
    // Ports that are equally busy stay in the order of their numbers.
    links.sort_by(|one, other| other.utilization.total_cmp(&one.utilization));
    links
}

/// Bits that a port has sent until `end`, as a fraction of what its link can carry. A frame counts when it begins to be
/// sent: the last one, of which the run may have seen a part only, adds nothing beyond the capacity.
pub(crate) fn used_part(setup: &ResolvedRun<'_>, port: u32, counts: &PortCounters, end: Span) -> f64 {
    let capacity = setup.network.capacity(port, end).get();
    ratio(counts.bytes.min(capacity), capacity)
}

/// Bits that parallel links have sent until `end`, as a fraction of what they can carry together.
fn bundle_use(setup: &ResolvedRun<'_>, bundle: &[u32], ports: &[PortCounters], end: Span) -> f64 {
    let capacity = |port: &u32| setup.network.capacity(*port, end).get();
    let sent = bundle.iter().map(|port| ports[*port as usize].bytes.min(capacity(port))).sum();
    ratio(sent, bundle.iter().map(capacity).sum())
}

/// Rank of a link if not all are kept: links that lost data, by their loss, before links without loss, by utilisation.
pub(crate) fn weight(link: &Link) -> f64 {
    if link.loss_rate > 0.0 { 1.0 + link.loss_rate } else { link.utilization.min(1.0) }
}

/// Maximum length in bytes of the data queue of each measured port, by port number.
fn longest_queues(setup: &ResolvedRun<'_>, measure: &Measurements) -> BTreeMap<u32, u64> {
    let data = setup.layout.data;
    let queues = measure.queues.iter().filter(|(at, _)| usize::from(at.queue) == data);
    queues.map(|(at, queue)| (at.port, queue.max().get())).collect()
}

/// Keeps the [`MAX_PLACES`] largest entries of a list, in their order, and counts the others under the name of the
/// list.
pub(crate) fn bounded<T>(
    list: Vec<T>, size: impl Fn(&T) -> f64, name: &str, left_out: &mut BTreeMap<String, u64>,
) -> Vec<T> {
    let more = list.len().saturating_sub(MAX_PLACES);
    if more == 0 {
        return list;
    }
    left_out.insert(name.to_owned(), more as u64);
    let mut order: Vec<usize> = (0..list.len()).collect();
    order.sort_by(|&a, &b| size(&list[b]).total_cmp(&size(&list[a])).then(a.cmp(&b)));
    let mut kept = vec![false; list.len()];
    order.into_iter().take(MAX_PLACES).for_each(|index| kept[index] = true);
    let entries = list.into_iter().zip(kept);
    entries.filter_map(|(entry, kept)| kept.then_some(entry)).collect()
}

/// Keeps the [`MAX_PLACES`] largest values of a map, and counts the others under the name of the map.
pub(crate) fn bounded_map(
    map: BTreeMap<String, f64>, name: &str, left_out: &mut BTreeMap<String, u64>,
) -> BTreeMap<String, f64> {
    let list: Vec<(String, f64)> = map.into_iter().collect();
    bounded(list, |(_, value)| *value, name, left_out).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_keeps_its_largest_entries_in_their_order_and_counts_the_rest() {
        let mut left_out = BTreeMap::new();
        let list: Vec<u32> = (0..MAX_PLACES as u32 + 3).collect();
        let kept = bounded(list, |&value| f64::from(value), "links", &mut left_out);
        assert_eq!((kept.len(), kept[0], kept[MAX_PLACES - 1]), (MAX_PLACES, 3, 1_002));
        assert_eq!(left_out, BTreeMap::from([("links".to_owned(), 3)]));
        let mut links = vec![Link { utilization: 0.9, ..Link::default() }; MAX_PLACES];
        links.push(Link { utilization: 0.19, loss_rate: 0.11, ..Link::default() });
        let kept = bounded(links, weight, "busy", &mut BTreeMap::new());
        assert!(kept.iter().any(|link| link.loss_rate > 0.0), "a link that loses is kept");
        let short = bounded(vec![1, 2], |_| 0.0, "queues", &mut left_out);
        assert!(short == [1, 2] && !left_out.contains_key("queues"));
    }
}

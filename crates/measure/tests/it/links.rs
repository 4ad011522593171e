//! The results of each link and of each group agree with those of the whole run.

use crate::support::outcome_of;
use shallop_results::summary::{Group, Run};

/// Two leaves with four hosts each: one group with random arrivals, one that sends from two hosts to two.
fn outcome() -> Run {
    let text = include_str!("scenarios/links.toml");
    outcome_of(text).run
}

#[test]
fn links_add_up_to_the_run() {
    let run = outcome();
    assert_eq!(run.links.len(), 2 * (8 + 4), "8 hosts and 4 links between leaves and spines");
    assert!(run.links.windows(2).all(|pair| pair[0].utilization >= pair[1].utilization));
    assert!(run.marks > 0 && run.links.iter().map(|link| link.marks).sum::<u64>() == run.marks);
    for link in &run.links {
        let from_host = link.place.split('>').next().unwrap().contains('h');
        assert_eq!(link.max_queue_bytes.is_none(), from_host, "{}", link.place);
        if !from_host {
            assert_eq!(Some(&link.utilization), run.utilization_by_place.get(&link.place));
            let loss = run.loss_by_place.get(&link.place).copied();
            assert!((link.loss_rate - loss.unwrap_or(0.0)).abs() < 1e-12, "{}", link.place);
        }
    }
    let longest = run.links.iter().max_by_key(|link| link.max_queue_bytes).unwrap();
    assert_eq!(longest.max_queue_bytes, Some(run.max_queue_bytes));
    let place = run.max_queue_place.unwrap();
    let named = run.links.iter().find(|link| link.place == place).unwrap();
    assert_eq!(named.max_queue_bytes, Some(run.max_queue_bytes), "{place}");
    assert!(run.left_out.is_empty());
}

#[test]
fn the_load_offered_to_a_link_follows_from_the_traffic_matrix() {
    let run = outcome();
    let offered = |place: &str| run.links.iter().find(|link| link.place == place).unwrap().offered.unwrap();
    // Every host sends and receives 0.5. Of what the four of a leaf send, 4/7 leaves it, by two spines alike.
    for (place, load) in [
        ("leaf0h3>leaf0", 0.5),
        ("leaf1>leaf1h2", 0.5),
        ("leaf0>spine0", 4.0 * 0.5 * 4.0 / 7.0 / 2.0),
        ("spine1>leaf1", 4.0 * 0.5 * 4.0 / 7.0 / 2.0),
    ] {
        assert!((offered(place) - load).abs() < 1e-9, "{place}: {}", offered(place));
    }
}

#[test]
fn groups_add_up_to_the_run() {
    let run = outcome();
    let sum = |of: &dyn Fn(&Group) -> u64| run.groups.iter().map(of).sum::<u64>();
    assert!(run.retransmits > 0 && sum(&|group| group.retransmits) == run.retransmits);
    assert_eq!(sum(&|group| group.timeouts), run.timeouts);
    let all = run.fct.all.clone().unwrap();
    let of_group = |group: &Group| group.fct.all.clone().unwrap();
    assert_eq!(sum(&|group| of_group(group).count), all.count);
    assert_eq!(sum(&|group| of_group(group).unfinished), all.unfinished);
    let [web, replication] = [0, 1].map(|index| of_group(&run.groups[index]));
    assert_eq!(replication.count, 10);
    let total = |of: &shallop_results::summary::Completion| of.mean_s.unwrap() * of.count as f64;
    assert!((total(&web) + total(&replication) - total(&all)).abs() < 1e-9);
    assert!(replication.mean_s > web.mean_s, "1 MB takes longer than 50 KB");
    assert!(web.slowdown_p99.unwrap() >= web.slowdown_mean.unwrap());
}

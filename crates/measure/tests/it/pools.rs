//! What pools report beside their queues, and the causes of drops.

use crate::support::{run_of, study};
use shallop_results::Run;

const POOLS: &str = include_str!("claims/pools_hold_mark_and_drop_what_their_rules_say.toml");
const QUEUES: &str = include_str!("claims/queues_mark_and_drop_what_their_rules_say.toml");

fn run(text: &str, point: &str, scheme: &str) -> Run {
    run_of(&study(text).points.iter().find(|at| at.name == point).unwrap().plan, scheme)
}

/// The longest queue towards a host.
fn longest(run: &Run, to: &str) -> u64 {
    let place = format!("x>{to}");
    run.queues.iter().find(|queue| queue.place == place).unwrap().max_bytes
}

#[test]
fn drops_have_the_cause_of_their_rule() {
    let policer = include_str!("claims/a_policer_passes_its_burst_and_then_its_rate_and_drops_the_rest.toml");
    let marks = include_str!("claims/marks_keep_queues_near_the_threshold_and_spare_drops.toml");
    for (text, point, scheme, cause, class) in [
        (policer, "", "above", "policer", "data"),
        (POOLS, "static 100 KB", "flood", "queue_full", "legacy"),
        (POOLS, "static 999.7 KB", "flood", "queue_full", "legacy"),
        (marks, "codel", "cubic", "aqm", "data"),
    ] {
        let run = run(text, point, scheme);
        let all = &run.drops_by_cause;
        assert!(all.iter().all(|drop| (drop.cause.as_str(), drop.class.as_str()) == (cause, class)), "{all:?}");
        assert!(!all.is_empty() && run.marks == 0, "{cause}: {} marks", run.marks);
    }
}

#[test]
fn a_pool_says_what_its_queues_held() {
    let run = run(POOLS, "shared", "tcp");
    let [pool] = &run.pools[..] else { panic!("{:?}", run.pools) };
    assert_eq!((pool.place.as_str(), pool.ports, pool.size_bytes), ("x", 6, 600_000));
    assert_eq!(run.max_pool_bytes, Some(pool.max_bytes));
    // Nothing is private, so means add up; the longest times of two queues need not be the same.
    let mean: f64 = run.queues.iter().map(|queue| queue.mean_bytes).sum();
    assert!((pool.mean_bytes - mean).abs() < 1e-3, "{} {mean}", pool.mean_bytes);
    let [hog, tcp] = ["f", "c"].map(|to| longest(&run, to));
    assert!((hog + 1..=hog + tcp + 5 * 1538).contains(&pool.max_bytes), "{}", pool.max_bytes);
    assert!(self::run(QUEUES, "100 packets", "tcp").max_pool_bytes.is_none());
}

#[test]
fn a_pool_of_one_port_is_as_that_ports_queue() {
    let run = run(POOLS, "apart", "tcp");
    // The ports of the others share what is not listed, and the first of them comes first.
    for (to, place) in [("c", "x/1"), ("f", "x/2")] {
        let pool = run.pools.iter().find(|pool| pool.place == place).unwrap();
        let queue = run.queues.iter().find(|queue| queue.place == format!("x>{to}")).unwrap();
        assert_eq!(pool.max_bytes, queue.max_bytes);
        assert!((pool.mean_bytes - queue.mean_bytes).abs() < 1e-3);
        let quantiles = [pool.p50_bytes, pool.p99_bytes, pool.p9999_bytes];
        assert_eq!(quantiles, [queue.p50_bytes, queue.p99_bytes, queue.p9999_bytes], "{to}");
        assert_eq!(pool.above, queue.above);
        let above = pool.above["200KB"];
        assert!(if to == "f" { above > 0.5 } else { above <= 0.0 }, "{to}: {above}");
    }
}

//! The figures of a run: every number in it by its name, with dots, and what limits what it says.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::summary::Run;

/// A measured figure.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figure {
    /// The value, in the unit that its name ends in.
    pub value: f64,
    /// Whether it is a lower bound, because flows are not complete.
    pub at_least: bool,
    /// Whether it is a percentile beyond which less than one flow is expected.
    pub few_samples: bool,
}

/// Fields that are no measurements, or have a value by port.
const EXCLUDED: [&str; 4] = ["seed", "point", "loss_by_place", "left_out"];

/// Every number of a run by its name: `throughput_bps`, `fct.all.p99_s`; without lists and nulls.
#[must_use]
pub fn figures(run: &Run) -> BTreeMap<String, Figure> {
    let mut found = BTreeMap::new();
    if let Ok(Value::Object(mut fields)) = serde_json::to_value(run) {
        fields.retain(|name, _| !EXCLUDED.contains(&name.as_str()));
        collect("", &fields, &mut found);
    }
    found
}

fn collect(prefix: &str, fields: &Map<String, Value>, found: &mut BTreeMap<String, Figure>) {
    for (name, value) in fields {
        match value {
            Value::Object(inner) => collect(&format!("{prefix}{name}."), inner, found),
            Value::Number(number) => {
                let value = number.as_f64().unwrap_or_default();
                let (at_least, few_samples) =
                    (is_lower_bound(fields, name), lists(fields, "few_samples", name));
                found.insert(format!("{prefix}{name}"), Figure { value, at_least, few_samples });
            }
            _ => {}
        }
    }
}

/// Whether a field of this object is a lower bound.
#[must_use]
pub fn is_lower_bound(fields: &Map<String, Value>, name: &str) -> bool {
    lists(fields, "lower_bounds", name)
}

/// Whether a list of names in this object has this name.
fn lists(fields: &Map<String, Value>, list: &str, name: &str) -> bool {
    let names = fields.get(list).and_then(Value::as_array).into_iter().flatten();
    names.into_iter().any(|other| other == name)
}

/// The values that a metric of these runs can have, ends included: nothing is negative, no fraction is above one, no
/// queue is longer than the memory that it may use. The metric is a name of [`figures`].
#[must_use]
pub fn possible(name: &str, runs: &[&Run]) -> (f64, f64) {
    let largest = |of: &dyn Fn(&Run) -> Option<u64>| {
        let all: Option<Vec<u64>> = runs.iter().map(|run| of(run)).collect();
        all.and_then(|all| all.into_iter().max()).map_or(f64::INFINITY, |most| most as f64)
    };
    let pool = |run: &Run| run.pools.iter().map(|pool| pool.size_bytes).max();
    match name {
        "jain" => {
            let flows = runs.iter().map(|run| run.flows).max().unwrap_or(1).max(1);
            (1.0 / flows as f64, 1.0)
        }
        "max_queue_bytes" | "mean_queue_bytes" => (0.0, largest(&|run| run.queue_limit_bytes)),
        "max_pool_bytes" => (0.0, largest(&pool)),
        "utilization" | "offered.small" | "offered.medium" | "offered.large" => (0.0, 1.0),
        name => (0.0, if is_fraction(name) { 1.0 } else { f64::INFINITY }),
    }
}

/// Whether a metric is a fraction of packets, time or flows.
fn is_fraction(name: &str) -> bool {
    let ends = ["_rate", ".within_rtt"].iter().any(|end| name.ends_with(end));
    let begins = ["loss_by_set.", "utilization_by_place."];
    ends || begins.iter().any(|start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::completion::{Completion, Fct, Statistic};
    use crate::summary::Pool;

    #[test]
    fn names_have_dots_and_nulls_and_lists_are_left_out() {
        let completion = Completion {
            count: 60,
            p99_s: Some(2.5),
            lower_bounds: vec![Statistic::P99S],
            few_samples: vec![Statistic::P99S],
            ..Completion::default()
        };
        let fct = Fct { all: Some(completion), ..Fct::default() };
        let run = Run { fct, seed: 7, loss_rate: 0.5, ..Run::default() };
        let found = figures(&run);
        let p99 = Figure { value: 2.5, at_least: true, few_samples: true };
        assert_eq!(found.get("fct.all.p99_s"), Some(&p99));
        let count = Figure { value: 60.0, ..Figure::default() };
        assert_eq!(found.get("fct.all.count"), Some(&count));
        assert_eq!(found["loss_rate"].value.to_string(), "0.5");
        for absent in ["seed", "jain", "fct.all.p50_s", "fct.small", "windows", "wall_s"] {
            assert!(!found.contains_key(absent), "{absent}");
        }
    }

    #[test]
    fn nothing_is_beyond_what_is_possible() {
        let run = |limit| Run { flows: 4, queue_limit_bytes: limit, ..Run::default() };
        let (one, other) = (run(Some(20_000)), run(Some(40_000)));
        let at = |name| possible(name, &[&one, &other]);
        assert_eq!(at("jain"), (0.25, 1.0));
        assert_eq!(at("max_queue_bytes"), (0.0, 40_000.0));
        for fraction in ["loss_rate", "credit.waste_rate", "fct.small.within_rtt", "utilization"] {
            assert_eq!(at(fraction), (0.0, 1.0), "{fraction}");
        }
        for unlimited in ["throughput_bps", "credit.waste_volume", "fct.all.p99_s"] {
            assert_eq!(at(unlimited), (0.0, f64::INFINITY), "{unlimited}");
        }
        assert_eq!(possible("max_queue_bytes", &[&one, &run(None)]), (0.0, f64::INFINITY));
        let pool: Pool = serde_json::from_value(serde_json::json!({
            "place": "leaf0", "ports": 4, "size_bytes": 9, "max_bytes": 7, "mean_bytes": 1.0,
            "p50_bytes": 1, "p99_bytes": 1, "p9999_bytes": 1,
        }))
        .unwrap();
        let pooled = Run { pools: vec![pool], ..Run::default() };
        assert_eq!(possible("max_pool_bytes", &[&pooled]), (0.0, 9.0));
    }
}

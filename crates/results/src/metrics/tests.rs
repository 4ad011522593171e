//! The rows against the types of `summary.json`.

use super::*;
use crate::summary::{Credit, KernelOfRun, Pool, ProxyOfRun, RehearsalOfRun};
use serde_json::Value;
use std::collections::BTreeMap;

fn full() -> Run {
    let all = Some(Completion::default());
    let mut run = Run {
        credit: Some(Credit::default()),
        kernel: Some(KernelOfRun::default()),
        rehearsal: Some(RehearsalOfRun { proxy: Some(ProxyOfRun::default()), ..RehearsalOfRun::default() }),
        fct: Fct { all: all.clone(), small: all.clone(), medium: all.clone(), large: all },
        ..Run::default()
    };
    let schema = schemars::schema_for!(Run).to_value();
    let mut json = serde_json::to_value(&run).unwrap();
    fill(&schema, &schema, &mut json, &mut 0);
    run = serde_json::from_value(json).unwrap();
    run
}

fn fill(root: &Value, schema: &Value, value: &mut Value, next: &mut u64) {
    if let Some(to) = schema["$ref"].as_str() {
        return fill(root, root.pointer(&to[1..]).unwrap(), value, next);
    }
    for either in schema["anyOf"].as_array().into_iter().flatten() {
        fill(root, either, value, next);
    }
    let kinds = schema["type"].as_array().cloned().unwrap_or_else(|| vec![schema["type"].clone()]);
    if kinds.iter().any(|kind| kind == "number" || kind == "integer") {
        *next += 1;
        *value = (*next).into();
    }
    for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
        if let Some(inner) = value.get_mut(name) {
            fill(root, schema, inner, next);
        }
    }
}

/// The numbers of a value by path, without those below a list.
fn numbers(prefix: &str, value: &Value, found: &mut BTreeMap<String, f64>) {
    for (name, inner) in value.as_object().into_iter().flatten() {
        match inner.as_f64() {
            Some(number) => drop(found.insert(format!("{prefix}{name}"), number)),
            None => numbers(&format!("{prefix}{name}."), inner, found),
        }
    }
}

#[test]
fn every_number_of_a_run_has_a_row_that_reads_it() {
    let run = full();
    let mut stored = BTreeMap::new();
    numbers("", &serde_json::to_value(&run).unwrap(), &mut stored);
    stored.remove("seed");
    let rows = all().map(|row| (row.path.to_owned(), row.figure(&run).map(|found| found.value)));
    let rows: BTreeMap<String, Option<f64>> = rows.collect();
    let stored = stored.into_iter().map(|(path, value)| (path, Some(value))).collect();
    assert_eq!(rows, stored);
    assert_eq!(rows.len(), all().count(), "two rows have one path");
}

#[test]
fn limits_of_percentiles_are_read_and_missing_numbers_are_left_out() {
    let completion = Completion {
        count: 60,
        p99_s: Some(2.5),
        lower_bounds: vec![Statistic::P99S],
        few_samples: vec![Statistic::P99S],
        ..Completion::default()
    };
    let fct = Fct { all: Some(completion), ..Fct::default() };
    let run = Run { fct, loss_rate: 0.5, jain: Some(f64::NAN), ..Run::default() };
    let p99 = Figure { value: 2.5, at_least: true, few_samples: true };
    assert_eq!(all_flows::P99.figure(&run), Some(p99));
    assert_eq!(all_flows::COUNT.figure(&run), Figure::exact(60.0));
    assert_eq!(LOSS.figure(&run), Figure::exact(0.5));
    for absent in [JAIN, WALL, small_flows::COUNT, CREDIT_LOSS] {
        assert_eq!(absent.figure(&run), None, "{}", absent.path);
    }
}

#[test]
fn nothing_is_beyond_what_is_possible() {
    let run = |limit| Run { flows: 4, queue_limit_bytes: limit, ..Run::default() };
    let (one, other) = (run(Some(20_000)), run(Some(40_000)));
    let at = |metric: Metric| metric.quantity.possible(&[&one, &other]);
    assert_eq!(at(JAIN), (0.25, 1.0));
    assert_eq!(at(MAX_QUEUE), (0.0, 40_000.0));
    for fraction in ["loss_rate", "credit.waste_rate", "fct.small.within_rtt", "utilization"] {
        assert_eq!(at(*find(fraction).unwrap()), (0.0, 1.0), "{fraction}");
    }
    for unlimited in ["throughput_bps", "credit.waste_volume", "fct.all.p99_s"] {
        assert_eq!(at(*find(unlimited).unwrap()), (0.0, f64::INFINITY), "{unlimited}");
    }
    assert_eq!(MAX_QUEUE.quantity.possible(&[&one, &run(None)]), (0.0, f64::INFINITY));
    let pool = Pool { size_bytes: 9, max_bytes: 7, ..Pool::default() };
    let pooled = Run { pools: vec![pool], ..Run::default() };
    assert_eq!(find("max_pool_bytes").unwrap().quantity.possible(&[&pooled]), (0.0, 9.0));
}

#[test]
fn headings_are_told_apart_by_their_units() {
    for (heading, metric) in [
        ("Mb/s", THROUGHPUT),
        ("loss %", LOSS),
        ("credit loss %", CREDIT_LOSS),
        ("RTT us", MEAN_RTT),
        ("RTT p99", P99_RTT),
        ("FCT ms", all_flows::MEAN),
    ] {
        let found: Vec<&str> = all().filter(|row| row.has_heading(heading)).map(|row| row.path).collect();
        assert_eq!(found, [metric.path], "{heading}");
    }
    assert_eq!(THROUGHPUT.definition(), "IP bytes of data that arrived, with retransmissions");
    assert_eq!(GOODPUT.definition(), "payload that arrived, each byte counted once");
    assert_eq!(JAIN.title(), "Jain's index");
}

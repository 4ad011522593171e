//! Parses arbitrary text as a table of flow sizes and as a trace of flows. A table is a valid distribution. A trace
//! gives flows between existing hosts, up to the first wrong line, and tells whether they are in order of time.

#![no_main]

use libfuzzer_sys::fuzz_target;
use shallop_core::{Node, Seed, Span};
use shallop_workload::{Sizes, SizesError, TraceReader};
use std::collections::BTreeMap;

const HOSTS: [&str; 3] = ["s0", "s1", "r0"];

fn table(text: &str) {
    let sizes = match Sizes::parse("table", text) {
        Ok(sizes) => sizes,
        Err(error) => return assert!(lies_within(&error, text), "{error}"),
    };
    let points = sizes.points();
    // No flow is larger than the first point whose cumulative share is 1.
    let all = points.partition_point(|point| point.share < 1.0);
    let (first, last) = (points[0].size.max(1), points[all].size.max(1));
    assert!(points.is_sorted_by(|a, b| a.size <= b.size && a.share <= b.share));
    let mut stream = Seed::new(1).stream("sizes", 0);
    for _ in 0..8 {
        let drawn = sizes.draw(&mut stream);
        assert!((first..=last).contains(&drawn), "{drawn} of {first} to {last}");
    }
    let near = |a: f64, b: f64| a <= b + b.abs() * 1e-9;
    assert!(near(first as f64, sizes.mean()) && near(sizes.mean(), last as f64));
    let shares = [0.0, 0.1, 0.5, 0.9, 0.999, 1.0];
    let quantiles = shares.map(|share| sizes.quantile(share));
    assert!(quantiles.is_sorted() && quantiles[0] >= 1 && quantiles[5] == last, "{quantiles:?}");
    for size in quantiles.into_iter().chain([0, u64::MAX]) {
        let parts = [sizes.fraction_up_to(size), sizes.bytes_fraction_up_to(size)];
        assert!(parts.iter().all(|part| (-1e-9..=1.0 + 1e-9).contains(part)), "{parts:?} at {size}");
    }
    assert!((sizes.fraction_up_to(last) - 1.0).abs() < 1e-9);
}

/// Whether the line number of an error exists in the text.
fn lies_within(error: &SizesError, text: &str) -> bool {
    let line = match error {
        SizesError::Empty => return true,
        SizesError::Range { .. } => return false,
        SizesError::Columns { line, .. }
        | SizesError::NotANumber { line, .. }
        | SizesError::Size { line, .. }
        | SizesError::Packets { line, .. }
        | SizesError::Share { line, .. }
        | SizesError::SizeDecreases { line, .. }
        | SizesError::ShareDecreases { line, .. }
        | SizesError::End { line, .. } => *line,
    };
    (1..=text.lines().count()).contains(&line)
}

fn trace(bytes: &[u8]) {
    let single = HOSTS.into_iter().zip((0..).map(|host| vec![Node(host)]));
    let sets = [("left", vec![Node(0), Node(1)]), ("none", Vec::new())];
    let hosts: BTreeMap<String, Vec<Node>> = single.chain(sets).map(|(name, set)| (name.to_owned(), set)).collect();
    let mut reader = TraceReader::new("trace", bytes, &hosts);
    let (mut last, mut sorted) = (Span::ZERO, true);
    while let Some(row) = reader.next() {
        match row {
            Ok(row) => {
                assert!(row.bytes > 0 && row.from != row.to);
                sorted &= row.start >= last;
                assert_eq!(reader.in_order(), sorted);
                last = row.start;
            }
            Err(error) => {
                let lines = bytes.split(|&byte| byte == b'\n').count() as u64;
                assert!((1..=lines).contains(&error.line), "{error} of {lines}");
            }
        }
    }
    assert!(reader.next().is_none(), "nothing follows the end");
}

fuzz_target!(|bytes: &[u8]| {
    if let Ok(text) = std::str::from_utf8(bytes) {
        table(text);
    }
    trace(bytes);
});

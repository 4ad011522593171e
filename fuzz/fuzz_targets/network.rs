//! Parses arbitrary text as a network in `GraphML`, GML or CSV. The result is a network within the given bounds, or an
//! error at a line of the text.

#![no_main]

use std::collections::BTreeSet;

use libfuzzer_sys::fuzz_target;
use shallop_core::{BitsPerSec, Span};
use shallop_scenario::network_files::{Defaults, Format, Parts, Wrong, read};

/// Reads a text twice: without any defaults, and with defaults for all values that it may leave out.
fn run(format: Format, text: &str) {
    for assumed in [false, true] {
        let defaults = Defaults {
            rate: assumed.then_some(BitsPerSec::gbps(1)),
            delay: assumed.then_some(Span::from_ms(1)),
            path_factor: 1.5,
            rates: BitsPerSec::at_least_one(100_000)..=BitsPerSec::gbps(10_000),
            longest: Span::from_secs(10),
        };
        match read(format, text, &defaults) {
            Ok(parts) => within(&parts, &defaults),
            Err(wrong) => inside(&wrong, text),
        }
    }
}

fn within(parts: &Parts, defaults: &Defaults) {
    let names: BTreeSet<&str> = parts.nodes.iter().map(|part| part.name.as_str()).collect();
    assert_eq!(names.len(), parts.nodes.len(), "two nodes of one name");
    for &(a, b, rate, delay) in &parts.links {
        assert!(a < parts.nodes.len() && b < parts.nodes.len() && a != b);
        assert!(defaults.rates.contains(&rate) && delay <= defaults.longest);
    }
    let origin = &parts.origin;
    assert_eq!(origin.rates + origin.default_rates.len(), parts.links.len());
    let measured = origin.delays + origin.lengths + origin.distances.len();
    assert_eq!(measured + origin.default_delays.len(), parts.links.len());
}

fn inside(wrong: &Wrong, text: &str) {
    assert!(!wrong.message.is_empty(), "nothing is said: {wrong:?}");
    let lines = text.split('\n').count();
    assert!(wrong.line.is_none_or(|line| (1..=lines).contains(&line)), "{wrong:?} of {lines}");
}

fuzz_target!(|text: &str| {
    for format in [Format::GraphMl, Format::Gml, Format::Csv] {
        run(format, text);
    }
});

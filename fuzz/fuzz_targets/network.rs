//! Parses arbitrary text as a network in each format. The result is a network within the given bounds, or an
//! error at a line of the text.

#![no_main]

use libfuzzer_sys::fuzz_target;
use shallop_core::{BitsPerSec, Span};
use shallop_scenario::network_files::{Defaults, Format, Parts, Wrong, demands, read};
use std::collections::BTreeSet;

/// Reads a text twice: without any defaults, and with defaults for all values that it may leave out.
fn run(format: Format, text: &str) {
    for assumed in [false, true] {
        let defaults = Defaults {
            rate: assumed.then_some(BitsPerSec::gbps(1)),
            delay: assumed.then_some(Span::from_ms(1)),
            path_factor: 1.5,
            rates: BitsPerSec::at_least_one(1_000)..=BitsPerSec::gbps(10_000),
            longest: Span::from_secs(10),
            unit: assumed.then_some(1e6),
            largest: assumed,
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
    for link in &parts.links {
        let (a, b) = link.between;
        assert!(a < parts.nodes.len() && b < parts.nodes.len() && a != b);
        for way in link.ways {
            assert!(defaults.rates.contains(&way.rate) && way.delay <= defaults.longest);
            assert!((0.0..=1.0).contains(&way.loss) && way.jitter <= defaults.longest);
        }
    }
    // Two rows may be the directions of one link.
    let origin = &parts.origin;
    let rows = origin.rates + origin.default_rates.len();
    assert!((parts.links.len()..=2 * parts.links.len()).contains(&rows));
    let measured = origin.delays + origin.lengths + origin.distances.len();
    assert_eq!(measured + origin.default_delays.len(), rows);
}

fn inside(wrong: &Wrong, text: &str) {
    assert!(!wrong.message.is_empty(), "nothing is said: {wrong:?}");
    let lines = text.split('\n').count();
    assert!(wrong.line.is_none_or(|line| (1..=lines).contains(&line)), "{wrong:?} of {lines}");
}

fuzz_target!(|text: &str| {
    use Format::{Csv, Gml, GraphMl, Hpcc, Repetita, Rocketfuel, SndlibNative, SndlibXml};
    for format in [GraphMl, Gml, Csv, SndlibNative, SndlibXml, Repetita, Hpcc, Rocketfuel(true)] {
        run(format, text);
    }
    for name in ["demands.csv", "demands"] {
        if let Err(wrong) = demands(name, text) {
            inside(&wrong, text);
        }
    }
});

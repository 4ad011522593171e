//! Configurations of EOS: samples with what is read from them, damaged samples, and what is written and read again.

#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests read samples, and fail where they cannot")]

use proptest::prelude::*;
use shallop_core::{BitsPerSec, Bytes};
use shallop_device::{Bucket, Device, Imported, Known, Note, Os, Pool, Port, Queue, Ramp, Role, Schedule, toml};
use std::fs;

fn samples() -> Vec<(String, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/eos");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    files.retain(|it| it.extension().is_some_and(|it| it == "cfg"));
    files.sort();
    files.iter().map(|it| (it.file_stem().unwrap().display().to_string(), fs::read_to_string(it).unwrap())).collect()
}

/// A Tomahawk's memory, for the sample that has thresholds of it.
fn known(sample: &str) -> Device {
    let pool =
        || Pool { size: Known::new(Bytes::new(3_145_728), "chip"), ports: Some(8), cell: Bytes::new(208), mark: None };
    let chip = (sample == "shared").then(|| "tomahawk".to_owned());
    Device { pool: chip.as_ref().map(|_| pool()), chip, ..Device::default() }
}

#[test]
fn samples_give_sections_that_name_the_line_of_each_value() {
    let read = |(name, text): &(String, String)| {
        let imported = Os::Eos.read(text, &known(name)).unwrap();
        is_complete(text, &imported, true);
        format!("# {name}.cfg\n{}", toml::section(&imported))
    };
    insta::assert_snapshot!(samples().iter().map(read).collect::<Vec<_>>().join("\n"));
}

/// Every line is a comment, opens a block, has a value, or is listed. In a damaged text a later line may replace a
/// value.
fn is_complete(text: &str, imported: &Imported, is_whole: bool) {
    const STRUCTURE: &str = "hostname|qos profile|interface|tx-queue|uc-tx-queue|service-profile|qos trust|speed|exit|\
        end|\
        description|platform trident mmu queue profile|qos random-detect ecn allow non-ect|qos map traffic-class";
    const VALUES: &str = "priority|no priority|bandwidth|shape rate|random-detect|egress unicast|qos";
    let origins = imported.device.origins();
    for (line, text) in (1..).zip(text.lines()) {
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let has = |list: &str| list.split('|').any(|it| words.starts_with(it));
        let is_value = || origins.iter().any(|it| it.contains(&format!("line {line}: ")));
        let is_listed = || imported.not_understood.iter().any(|it| it.line == line);
        let is_known = words.is_empty() || words.starts_with('!') || has(STRUCTURE) || (!is_whole && has(VALUES));
        assert!(is_known || is_value() || is_listed(), "line {line}: {text}");
    }
}

/// A sample with bytes removed, lines swapped and numbers enlarged.
fn damaged(text: &str, steps: &[(u8, u32, u32)]) -> String {
    let mut text = text.to_owned();
    for &(kind, a, b) in steps {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let [a, b] = [a, b].map(|it| it as usize % lines.len().max(1));
        match (kind % 3, lines.len()) {
            (_, 0) => {}
            (0, _) => lines.swap(a, b),
            (1, _) => lines[a] = lines[a].replacen(|it: char| it.is_ascii_digit(), "99999999999999999999", 1),
            _ => lines[a] = lines[a].chars().enumerate().filter(|it| it.0 != b).map(|it| it.1).collect(),
        }
        text = lines.join("\n");
    }
    text
}

fn ramp() -> impl Strategy<Value = Ramp> {
    let wide = (1u64..3_000_000, 0u64..3_000_000, 1u32..1000, 0u32..16, any::<bool>());
    wide.prop_map(|(min, more, probability, weight, not_ect_dropped)| {
        let [min, max] = [min, min + more / 2 * 2].map(Bytes::new);
        let probability = if min == max { 1.0 } else { f64::from(probability) / 1000.0 };
        Ramp { min, max, probability, weight, not_ect_dropped }
    })
}

/// Devices as a plan makes them: memory of ports or a pool, marks, drops, perhaps credits, perhaps beside TCP.
fn device() -> impl Strategy<Value = Device> {
    let memory = (any::<bool>(), 1_000u64..5_000_000, 0u64..300_000, 0.002f64..20.0, any::<bool>());
    let rules = (proptest::option::of(ramp()), proptest::option::of(ramp()), proptest::option::of(ramp()));
    let credits = proptest::option::of((
        1_000u64..1_000_000_000_000,
        1u64..64,
        proptest::option::of((1u32..9).prop_map(|own| (own, own + 1))),
    ));
    (memory, rules, credits).prop_map(|((pooled, size, private, alpha, fixed), (mark, drop, pool_mark), credits)| {
        let known = |it| Known::new(it, "as given");
        let ramp = |it: Option<Ramp>| it.map(|it| Known::new(it, "as given"));
        let mut data = Queue::new(1, Role::Data, Known::new(Schedule::Weight(1), "as given"));
        data.drop = ramp(drop.map(|it| Ramp { not_ect_dropped: false, ..it }));
        data.mark = ramp(mark.map(|it| Ramp { not_ect_dropped: it.not_ect_dropped && drop.is_none(), ..it }));
        data.limit = (!pooled || fixed).then(|| known(Bytes::new(size)));
        data.alpha = (pooled && !fixed).then(|| Known::new(alpha, "as given"));
        data.reserved = pooled.then(|| known(Bytes::new(private)));
        let mut queues = vec![data];
        let mut dscp = vec![(0, 1)];
        if let Some((rate, depth, weights)) = credits {
            let [packet, limit] = [84, 84 * depth].map(Bytes::new);
            if let Some((own, other)) = weights {
                queues[0].schedule.value = Schedule::Weight(own);
                let schedule = Known::new(Schedule::Weight(other), "as given");
                queues.push(Queue { number: 2, role: Role::Legacy, schedule, ..queues[0].clone() });
                dscp[0] = (0, 2);
            }
            let mut queue = Queue::new(5, Role::Metered, Known::new(Schedule::Strict, "as given"));
            let rate = BitsPerSec::at_least_one(rate);
            let bucket = Bucket { rate, burst: Some(Bytes::new(168)), packet: Some(packet) };
            (queue.shaper, queue.limit) = (Some(Known::new(bucket, "as given")), Some(known(limit)));
            queues.push(queue);
            dscp.extend([(10, 1), (24, 5)]);
        }
        let size = Known::new(Bytes::new(size * 2), "as given");
        let pool = Pool { size, ports: None, cell: Bytes::new(208), mark: ramp(pool_mark) };
        let port = Port { label: "10Gbps".into(), queues, ..Port::default() };
        let dscp = dscp.into_iter().map(|it| Known::new(it, "as given")).collect();
        Device { name: "leaf0".into(), pool: pooled.then_some(pool), ports: vec![port], dscp, ..Device::default() }
    })
}

/// The settings of a device that is written and read `times` times, and the notes on the first.
fn again(device: &Device, os: Os, times: usize) -> (Vec<(&'static str, String)>, Vec<Note>) {
    let (mut device, mut notes) = (device.clone(), Vec::new());
    for time in 0..times {
        let written = os.write(&device);
        let pool = device.pool.clone().map(|pool| Pool { mark: None, ..pool });
        let known = Device { name: device.name.clone(), chip: device.chip.clone(), pool, ..Device::default() };
        device = os.read(&written.text, &known).unwrap().device;
        if time == 0 {
            notes = written.notes;
        }
    }
    (toml::settings(&device, &device.ports[0]).into_iter().map(|it| (it.key, it.value)).collect(), notes)
}

/// For some keys: a word of the notes on their rounding.
const WORDS: [(&str, &str); 12] = [
    ("shared.private", "private memory"),
    ("shared.alpha", "alpha"),
    ("shared.static", "fixed limit"),
    ("shared.legacy_alpha", "alpha"),
    ("shared.mark", "ECN"),
    ("buffer", "buffer"),
    ("mark", "probability of ecn|not ECN-capable"),
    ("drop", "probability of drop"),
    ("unscheduled_above", "not ECN-capable|probability"),
    ("data_weight", "part of the rate"),
    ("legacy_weight", "part of the rate"),
    ("credit_burst", "burst"),
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn damaged_samples_are_read_or_refused(
        sample in 0usize..7, steps in proptest::collection::vec(any::<(u8, u32, u32)>(), 1..12),
    ) {
        let (name, text) = &samples()[sample];
        let text = damaged(text, &steps);
        if let Ok(imported) = Os::Eos.read(&text, &known(name)) {
            is_complete(&text, &imported, false);
            toml::section(&imported);
        }
    }

    #[test]
    fn what_is_written_is_read(device in device()) {
        let (first, notes) = again(&device, Os::Eos, 1);
        prop_assert_eq!(&first, &again(&device, Os::Eos, 2).0);
        let text = notes.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        for setting in toml::settings(&device, &device.ports[0]) {
            let is_kept = first.contains(&(setting.key, setting.value.clone()));
            let words = WORDS.iter().find(|it| it.0 == setting.key).map_or("nothing", |it| it.1);
            let is_noted = words.split('|').any(|it| text.contains(it));
            prop_assert!(is_kept || is_noted, "{setting:?} {first:?}\n{text}");
        }
    }
}

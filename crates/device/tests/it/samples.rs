//! Configurations in the form that operators have: odd spacing, comments, defaults left out, references of old releases.

use proptest::prelude::*;
use proptest::test_runner::Config;
use shallop_device::{Bucket, Device, Imported, NotThis, Os, Queue, Ramp, cumulus, sonic};
use std::{fmt::Write, fs, path::PathBuf};

pub fn read(os: Os, text: &str) -> Result<Imported, NotThis> {
    if os == Os::Sonic { sonic::read(text) } else { cumulus::read(text) }
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/samples")
}

/// Names and texts of the samples of a system, in the order of names.
fn samples(os: Os) -> Vec<(String, String)> {
    let files = fs::read_dir(folder().join(os.name())).unwrap().map(|file| file.unwrap());
    let mut samples: Vec<_> = files.map(|file| (file.file_name().into_string().unwrap(), fs::read_to_string(file.path()).unwrap())).collect();
    samples.sort();
    samples
}

/// A device on a few lines, without derivations.
fn describe(device: &Device) -> String {
    let mut text = format!("{} pool {:?}\n", device.name, device.pool.as_ref().map(|pool| pool.size.value));
    writeln!(text, "dscp {:?}", device.dscp.iter().map(|entry| entry.value).collect::<Vec<_>>()).unwrap();
    for port in &device.ports {
        let names: Vec<_> = port.interfaces.iter().map(|it| format!("{} {}", it.name, it.far)).collect();
        writeln!(text, "{}: {:?}: {}", port.label, port.rate, names.join(", ").replace(" ,", ",")).unwrap();
        port.queues.iter().for_each(|queue| writeln!(text, "    {}", describe_queue(queue)).unwrap());
    }
    text
}

fn describe_queue(queue: &Queue) -> String {
    let Queue { number, role, schedule, shaper, limit, alpha, reserved, mark, drop, .. } = queue;
    let mut text = format!("{number} {}: {:?}", role.name(), schedule.value);
    if let Some(Bucket { rate, burst, packet }) = shaper.as_deref() {
        write!(text, ", shaped {rate} burst {burst:?} packet {packet:?}").unwrap();
    }
    for (name, ramp) in [("marks", mark), ("drops", drop)] {
        if let Some(Ramp { min, max, probability, not_ect_dropped, .. }) = ramp.as_deref() {
            write!(text, ", {name} {min}..{max} {probability} not-ect dropped {not_ect_dropped}").unwrap();
        }
    }
    for (name, bytes) in [("limit", limit), ("reserved", reserved)] {
        bytes.iter().for_each(|bytes| write!(text, ", {name} {} ({})", bytes.value, bytes.why).unwrap());
    }
    alpha.iter().for_each(|alpha| write!(text, ", alpha {}", alpha.value).unwrap());
    text
}

#[test]
fn samples_give_these_devices_and_list_what_they_do_not() {
    for os in [Os::Sonic, Os::Cumulus] {
        assert!(samples(os).len() >= 6);
        for (name, text) in samples(os) {
            let read = read(os, &text).unwrap_or_else(|error| panic!("{name}: {error}"));
            let mut shown = describe(&read.device);
            read.not_understood.iter().for_each(|it| writeln!(shown, "line {}: {} ({})", it.line, it.text, it.reason).unwrap());
            insta::assert_snapshot!(format!("{}-{name}", os.name()), shown);
        }
    }
}

/// Cases stand in wrong.txt: `=== SYSTEM: ERROR`, then the text.
#[test]
fn wrong_configurations_get_these_errors() {
    let cases = fs::read_to_string(folder().join("wrong.txt")).unwrap();
    for case in cases.split("=== ").skip(1) {
        let (head, text) = case.split_once('\n').unwrap();
        let (system, error) = head.split_once(": ").unwrap();
        let os = if system == "sonic" { Os::Sonic } else { Os::Cumulus };
        assert_eq!(read(os, text).map(|read| describe(&read.device)).map_err(|error| error.to_string()), Err(error.into()), "{text}");
    }
}

/// Places of keys in a text: where each one ends.
fn ends_of_keys(name: &str, text: &str) -> Vec<usize> {
    let mark = if name.ends_with(".conf") { "=" } else { ":" };
    let is_key = |&(at, _): &(usize, &str)| {
        let line = &text[text[..at].rfind('\n').map_or(0, |start| start + 1)..at];
        let quoted = text[..at].trim_end().ends_with('"');
        !line.contains('#') && (mark == "=" || if name.ends_with(".json") { quoted } else { text[at + 1..].starts_with([' ', '\n']) })
    };
    text.match_indices(mark).filter(is_key).map(|(at, _)| text[..at].trim_end().trim_end_matches(['"', '\'']).len()).collect()
}

proptest! {
    #![proptest_config(Config { cases: 500, ..Config::default() })]

    #[test]
    fn damaged_configurations_give_errors_and_never_a_panic(
        sonic: bool, sample: prop::sample::Index, at: prop::sample::Index, length in 0usize..20, put in "[0-9\\[\\]{}\",:=| a-z\\-]{0,6}",
    ) {
        let os = if sonic { Os::Sonic } else { Os::Cumulus };
        let samples = samples(os);
        let mut text = sample.get(&samples).1.clone();
        let start = at.index(text.len());
        text.replace_range(start..(start + length).min(text.len()), &put);
        if let Err(error) = read(os, &text) {
            prop_assert!((1..=text.lines().count() + 1).contains(&error.line) && !error.reason.is_empty(), "{error}");
        }
    }

    #[test]
    fn a_key_with_another_name_is_never_dropped_in_silence(sonic: bool, sample: prop::sample::Index, at: prop::sample::Index) {
        let os = if sonic { Os::Sonic } else { Os::Cumulus };
        let samples = samples(os);
        let (name, text) = sample.get(&samples);
        let mut renamed = text.clone();
        renamed.insert_str(*at.get(&ends_of_keys(name, text)), "x9");
        prop_assert_ne!(read(os, &renamed), read(os, text), "{}", renamed);
    }
}

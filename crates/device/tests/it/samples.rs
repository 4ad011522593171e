//! Configurations in the form that operators have: odd spacing, comments, defaults left out, references of old releases.

use proptest::prelude::*;
use shallop_device::{Imported, NotThis, Os, read_cumulus, read_sonic};
use std::{fs, path::PathBuf};

pub const SYSTEMS: [(Os, fn(&str) -> Result<Imported, NotThis>); 2] =
    [(Os::Sonic, read_sonic), (Os::Cumulus, read_cumulus)];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/samples")
}

/// Names and texts of the samples of a system, in the order of names.
fn samples(os: Os) -> Vec<(String, String)> {
    let files = fs::read_dir(folder().join(os.name())).unwrap().map(|file| file.unwrap().path());
    let sample =
        |file: PathBuf| (file.file_name().unwrap().to_str().unwrap().into(), fs::read_to_string(file).unwrap());
    let mut samples: Vec<(String, String)> = files.map(sample).collect();
    samples.sort();
    samples
}

#[test]
fn samples_give_these_devices_and_list_what_they_do_not() {
    for (os, read) in SYSTEMS {
        assert!(samples(os).len() >= 6);
        for (name, text) in samples(os) {
            insta::assert_debug_snapshot!(format!("{}-{name}", os.name()), read(&text).map_err(|it| it.to_string()));
        }
    }
}

/// Cases stand in wrong.txt: `=== SYSTEM: ERROR`, then the text.
#[test]
fn wrong_configurations_get_these_errors() {
    for case in fs::read_to_string(folder().join("wrong.txt")).unwrap().split("=== ").skip(1) {
        let (head, text) = case.split_once('\n').unwrap();
        let (system, error) = head.split_once(": ").unwrap();
        let (_, read) = SYSTEMS.into_iter().find(|(os, _)| os.name() == system).unwrap();
        assert_eq!(read(text).map_err(|it| it.to_string()), Err(error.to_string()), "{text}");
    }
}

/// Where keys end in a text.
fn keys(name: &str, text: &str) -> Vec<usize> {
    let is_key = |at: &usize| {
        let line = &text[text[..*at].rfind('\n').map_or(0, |start| start + 1)..*at];
        let in_json = !name.ends_with(".json") || line.trim_end().ends_with('"');
        !line.contains('#') && in_json && (name.ends_with(".conf") || text[at + 1..].starts_with([' ', '\n', '{', '"']))
    };
    let ends = text.match_indices(if name.ends_with(".conf") { '=' } else { ':' }).map(|(at, _)| at);
    ends.filter(is_key).map(|at| text[..at].trim_end().trim_end_matches(['"', '\'']).len()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn damaged_configurations_give_errors_and_never_a_panic(
        sample: prop::sample::Index, at: prop::sample::Index, length in 0usize..20,
        put in "[0-9\\[\\]{}\",:=| a-z\\-]{0,6}",
    ) {
        for (os, read) in SYSTEMS {
            let mut text = sample.get(&samples(os)).1.clone();
            let start = at.index(text.len());
            text.replace_range(start..(start + length).min(text.len()), &put);
            if let Err(error) = read(&text) {
                prop_assert!((1..=text.lines().count() + 1).contains(&error.line) && !error.reason.is_empty(), "{error}");
            }
        }
    }

    #[test]
    fn a_key_with_another_name_is_never_dropped_in_silence(sample: prop::sample::Index, at: prop::sample::Index) {
        for (os, read) in SYSTEMS {
            let samples = samples(os);
            let (name, text) = sample.get(&samples);
            let mut renamed = text.clone();
            renamed.insert_str(*at.get(&keys(name, text)), "x9");
            prop_assert_ne!(read(&renamed), read(text), "{}", renamed);
        }
    }
}

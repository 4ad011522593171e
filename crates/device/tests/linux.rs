//! Configurations of `SONiC` and Cumulus Linux: samples as operators have them (odd spacing, comments, defaults left
//! out, references of old releases), damaged ones, and devices that are written and read back.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::case_sensitive_file_extension_comparisons,
    clippy::unwrap_used,
    reason = "tests read samples, and fail where they cannot"
)]

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::{option::of, sample::Index};
use shallop_core::{BitsPerSec, Bytes};
use shallop_device::{
    Bucket, Device, Imported, Interface, Known, NotThis, Note, Os, Pool, Port, Queue, Ramp, Role, Schedule,
};
use std::{collections::BTreeMap, fs, ops::Range, path::PathBuf};

const SYSTEMS: [Os; 2] = [Os::Sonic, Os::Cumulus];

fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/linux").join(name)
}

fn read(os: Os, text: &str) -> Result<Imported, NotThis> {
    os.read(text, &Device::default())
}

/// Names and texts of the samples of a system, in the order of names.
fn samples(os: Os) -> Vec<(String, String)> {
    let files = fs::read_dir(folder(os.name())).unwrap().map(|file| file.unwrap().path());
    let sample =
        |file: PathBuf| (file.file_name().unwrap().to_str().unwrap().into(), fs::read_to_string(file).unwrap());
    let mut samples: Vec<(String, String)> = files.map(sample).collect();
    samples.sort();
    samples
}

#[test]
fn samples_give_these_devices_and_list_what_they_do_not() {
    for os in SYSTEMS {
        assert!(samples(os).len() >= 6);
        for (name, text) in samples(os) {
            insta::assert_debug_snapshot!(format!("{}-{name}", os.name()), read(os, &text).unwrap());
        }
    }
}

/// Cases stand in wrong.txt: `=== SYSTEM: ERROR`, then the text.
#[test]
fn wrong_configurations_get_these_errors() {
    for case in fs::read_to_string(folder("wrong.txt")).unwrap().split("=== ").skip(1) {
        let (head, text) = case.split_once('\n').unwrap();
        let (system, error) = head.split_once(": ").unwrap();
        let os = Os::ALL.into_iter().find(|os| os.name() == system).unwrap();
        assert_eq!(read(os, text).map_err(|it| it.to_string()), Err(error.to_string()), "{text}");
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

fn known<T>(value: T) -> Known<T> {
    Known::new(value, "asked for")
}

fn bytes(range: Range<u64>) -> impl Strategy<Value = Option<Known<Bytes>>> {
    of(range.prop_map(|bytes| known(Bytes::new(bytes))))
}

prop_compose! {
    fn queue()(
        weight in of(1u32..150), rate in of(10_000u64..10_000_000_000), burst in of(1u64..200_000), credits: bool,
        limit in bytes(84..1_000_000), alpha in of(0.004f64..20.0), reserved in bytes(1..20_000),
        (min, more, probability) in (1u64..5_000_000, 0u64..5_000_000, 0.001f64..1.0), curve in 0..4,
    ) -> Queue {
        let mut queue = Queue::new(0, Role::Other, known(weight.map_or(Schedule::Strict, Schedule::Weight)));
        let packet = credits.then_some(Bytes::new(84));
        let bucket = |rate| known(Bucket { rate, burst: burst.map(Bytes::new), packet });
        queue.shaper = rate.and_then(BitsPerSec::new).map(bucket);
        (queue.limit, queue.alpha, queue.reserved) = (limit, alpha.map(known), reserved);
        let (min, max) = (Bytes::new(min), Bytes::new(min + more));
        let ramp = Ramp { min, max, probability, weight: 0, not_ect_dropped: curve == 1 };
        *(if curve == 0 { &mut queue.drop } else { &mut queue.mark }) = Some(known(ramp)).filter(|_| curve < 3);
        queue
    }
}

prop_compose! {
    /// The interfaces have no names yet.
    fn device()(
        ports in vec((btree_map(0u8..8, queue(), 1..5), 1usize..4), 1..4), dscp in btree_map(0u8..64, 0u8..8, 0..5),
        pool in bytes(1..100_000_000), cell in 1u64..300, name in "[a-z][a-z0-9-]{0,8}",
    ) -> Device {
        let pool = pool.map(|size| Pool { size, ports: None, cell: Bytes::new(cell), mark: None });
        let port = |(at, (queues, count)): (usize, (BTreeMap<u8, Queue>, usize))| {
            // Rates differ, so that no two ports have equal settings.
            let rate = BitsPerSec::new([1, 10, 100][at] * 1_000_000_000);
            let queues = queues.into_iter().map(|(number, queue)| Queue { number, ..queue }).collect();
            Port { label: format!("p-{at}"), interfaces: vec![Interface::default(); count], rate, queues }
        };
        let ports = ports.into_iter().enumerate().map(port).collect();
        Device { name, pool, ports, dscp: dscp.into_iter().map(known).collect(), ..Device::default() }
    }
}

fn with_names(os: Os, device: &Device) -> Device {
    let (mut device, mut numbers) = (device.clone(), 0..);
    let interfaces = device.ports.iter_mut().flat_map(|port| &mut port.interfaces);
    interfaces.for_each(|it| it.name = os.interface(numbers.next().unwrap()));
    device
}

/// Gives a value of a queue that a note names a value of its own.
fn forget(queue: &mut Queue, what: &str) {
    let bucket = |queue: &mut Queue, set: fn(&mut Bucket)| queue.shaper.iter_mut().for_each(|it| set(&mut it.value));
    match what.split_once(": ").unwrap().1 {
        "weight" => queue.schedule = known(Schedule::Strict),
        "limit" => queue.limit = None,
        "probability" => {
            [&mut queue.mark, &mut queue.drop].into_iter().flatten().for_each(|it| it.value.probability = 1.0);
        }
        "rate" => bucket(queue, |it| it.rate = BitsPerSec::gbps(1)),
        what if what.starts_with("shaper by") => {}
        "memory unlike other ports" => (queue.limit, queue.alpha, queue.reserved) = Default::default(),
        what if what.starts_with("burst") => bucket(queue, |it| it.burst = None),
        _ => queue.alpha = None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_configurations_give_errors_and_never_a_panic(
        sample: Index, at: Index, length in 0usize..20, put in "[0-9\\[\\]{}\",:=| a-z\\-]{0,6}",
    ) {
        for os in SYSTEMS {
            let mut text = sample.get(&samples(os)).1.clone();
            let start = at.index(text.len());
            text.replace_range(start..(start + length).min(text.len()), &put);
            match read(os, &text) {
                Err(error) => prop_assert!((1..=text.lines().count() + 1).contains(&error.line), "{error}"),
                Ok(imported) => _ = shallop_device::toml::section(&imported),
            }
        }
    }

    #[test]
    fn a_key_with_another_name_is_never_dropped_in_silence(sample: Index, at: Index) {
        for os in SYSTEMS {
            let samples = samples(os);
            let (name, text) = sample.get(&samples);
            let mut renamed = text.clone();
            renamed.insert_str(*at.get(&keys(name, text)), "x9");
            prop_assert_ne!(read(os, &renamed), read(os, text), "{}", renamed);
        }
    }

    /// What is read goes through the lists of fields with their kinds and ranges, and nothing may be left.
    #[test]
    fn a_device_is_read_back_but_for_what_notes_say(device in device()) {
        for os in SYSTEMS {
            let mut asked = with_names(os, &device);
            let written = os.write(&asked);
            let Imported { device: mut once, not_understood, .. } = read(os, &written.text).unwrap();
            prop_assert_eq!(&not_understood, &[], "{}", written.text);
            let again = os.write(&once);
            let bare = |line: &str| line.split("  #").next().unwrap().to_owned();
            let lines = |text: &str| text.lines().map(bare).collect::<Vec<String>>();
            prop_assert_eq!(lines(&again.text), lines(&written.text));
            // NVUE has shares.
            for port in asked.ports.iter_mut().filter(|_| os == Os::Cumulus) {
                let sum: u32 = port.queues.iter().filter_map(Queue::weight).sum();
                let share =
                    |queue: &Queue| queue.weight().map_or(Schedule::Strict, |it| Schedule::Weight(it * 100 / sum));
                port.queues.iter_mut().for_each(|queue| queue.schedule.value = share(queue));
            }
            for port in asked.ports.iter_mut().chain(&mut once.ports) {
                for queue in &mut port.queues {
                    queue.role = Role::Other;
                    // NVUE shapes credits by bytes.
                    if let Some(shaper) = queue.shaper.as_mut().filter(|_| os == Os::Cumulus) {
                        shaper.value.packet = None;
                    }
                    let name = format!("{}_q{}:", port.label, queue.number);
                    for note in &written.notes {
                        let (Note::Rounded { what, .. } | Note::Refused { what, .. }) = note else { continue };
                        what.starts_with(&name).then(|| forget(queue, what));
                    }
                }
            }
            prop_assert_eq!((asked.ports, asked.name, asked.dscp), (once.ports, once.name, once.dscp));
        }
    }
}

/// A test in Python loads the configuration of `SONiC` into Redis.
#[test]
fn credits_and_data_of_two_ports_are_written_as_this() {
    let (name, text) = &samples(Os::Sonic)[1];
    assert_eq!(name, "credit-queue.json");
    let mut device = read(Os::Sonic, text).unwrap().device;
    device.pool.as_mut().unwrap().mark = Some(known(Ramp::step(Bytes::new(4 << 20))));
    (device.name, device.ports[0].label) = ("tor".into(), "10Gbps".into());
    for os in SYSTEMS {
        let written = os.write(&with_names(os, &device));
        let notes: Vec<String> = written.notes.iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(format!("{}-notes", os.name()), notes.join("\n"));
        let file = folder("written").join(os.name());
        if std::env::var_os("UPDATE_DOCS").is_some() {
            fs::write(&file, &written.text).unwrap();
        }
        assert_eq!(written.text, fs::read_to_string(&file).unwrap(), "UPDATE_DOCS=1 writes {}", file.display());
    }
}

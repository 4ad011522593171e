//! Devices written and read back.

use crate::samples::read;
use proptest::prelude::*;
use shallop_core::{BitsPerSec, Bytes};
use shallop_device::{Bucket, Device, Interface, Known, Note, Os, Pool, Port, Queue, Ramp, Role, Schedule};
use std::{collections::BTreeSet, fs, path::Path};

fn known<T>(value: T) -> Known<T> {
    Known::new(value, "asked for")
}

prop_compose! {
    fn queue()(
        number in 0u8..8, weight in prop::option::of(1u32..150), rate in prop::option::of(10_000u64..10_000_000_000),
        burst in prop::option::of(1u64..200_000), packet in prop::option::of(prop_oneof![Just(84u64), 30u64..2000]),
        limit in prop::option::of(84u64..1_000_000), alpha in prop::option::of(0.004f64..20.0),
        reserved in prop::option::of(1u64..20_000), ramp in (1u64..5_000_000, 0u64..5_000_000, 0.001f64..1.0),
        curve in 0..4,
    ) -> Queue {
        let schedule = weight.map_or(Schedule::Strict, Schedule::Weight);
        let mut queue = Queue::new(number, Role::Other, known(schedule));
        let bytes = |bytes: Option<u64>| bytes.map(Bytes::new);
        queue.shaper = rate.and_then(BitsPerSec::new).map(|rate| known(Bucket { rate, burst: bytes(burst), packet: bytes(packet) }));
        queue.limit = bytes(limit).map(known);
        queue.alpha = alpha.map(known).filter(|_| limit.is_none());
        queue.reserved = bytes(reserved).map(known).filter(|_| limit.or(queue.alpha.as_ref().map(|_| 0)).is_some());
        let ramp = Ramp { min: Bytes::new(ramp.0), max: Bytes::new(ramp.0 + ramp.1), probability: ramp.2, weight: 0, not_ect_dropped: curve == 1 };
        *(if curve == 0 { &mut queue.drop } else { &mut queue.mark }) = Some(known(ramp)).filter(|_| curve < 3);
        queue
    }
}

prop_compose! {
    fn device()(
        ports in prop::collection::vec((prop::collection::btree_map(0u8..8, queue(), 1..5), 1usize..4), 1..4),
        dscp in prop::collection::btree_map(0u8..64, 0u8..8, 0..5), pool in prop::option::of(1u64..100_000_000), cell in 1u64..300,
        name in "[a-z][a-z0-9-]{0,8}", sonic: bool,
    ) -> (Os, Device) {
        let os = if sonic { Os::Sonic } else { Os::Cumulus };
        let mut device = Device { name, dscp: dscp.into_iter().map(known).collect(), ..Device::default() };
        device.pool = pool.map(|size| Pool { size: known(Bytes::new(size)), ports: None, cell: Bytes::new(cell), mark: None });
        let mut numbers = 0..;
        for (at, (queues, count)) in ports.into_iter().enumerate() {
            let interfaces = numbers.by_ref().take(count).map(|number| Interface { name: os.interface(number), far: String::new() }).collect();
            // Rates differ, so that no two ports have equal settings.
            let rate = BitsPerSec::new([1, 10, 100][at] * 1_000_000_000);
            let queues = queues.into_iter().map(|(number, queue)| Queue { number, ..queue }).collect();
            device.ports.push(Port { label: format!("p-{at}"), interfaces, rate, queues });
        }
        (os, device)
    }
}

/// What a system expresses of a device, by its own reading of what was written.
fn expressed(os: Os, device: &Device) -> Device {
    let text = os.write(device).text;
    let read = read(os, &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let left: Vec<_> = read.not_understood.iter().filter(|it| !it.text.contains("memory-percent") && !it.text.starts_with("TC_TO")).collect();
    assert!(left.is_empty(), "{left:?}\n{text}");
    read.device
}

proptest! {
    #[test]
    fn what_was_read_is_written_and_read_as_it_is((os, device) in device()) {
        let once = expressed(os, &device);
        prop_assert_eq!(expressed(os, &once), once.clone());
        let texts = [&device, &once].map(|device| os.write(device).text);
        let values = |text: &str| text.lines().map(|line| line.split("  #").next().unwrap().to_string()).filter(|line| !line.contains("memory-percent")).collect::<Vec<_>>();
        if device.pool.is_none() || os == Os::Sonic {
            prop_assert_eq!(values(&texts[0]), values(&texts[1]));
        }
    }

    #[test]
    fn a_device_is_read_back_but_for_what_notes_say((os, device) in device()) {
        let notes = os.write(&device).notes;
        let noted = |label: &str, number: u8, word: &str| notes.iter().any(|note| {
            let (Note::Rounded { what, .. } | Note::Refused { what, .. }) = note else { return false };
            [format!("{label}_q{number}"), format!("{label}: queue {number}:")].iter().any(|queue| what.starts_with(queue)) && what.contains(word)
                || word == "weight" && what.starts_with(&format!("{label}: share of queue {number}"))
        });
        let back = expressed(os, &device);
        prop_assert_eq!((&back.name, &back.dscp, back.ports.len()), (&device.name, &device.dscp, device.ports.len()));
        for (port, found) in device.ports.iter().zip(&back.ports) {
            prop_assert_eq!((&port.label, &port.interfaces, port.rate), (&found.label, &found.interfaces, found.rate));
            for asked in &port.queues {
                let queue = found.queues.iter().find(|queue| queue.number == asked.number).unwrap();
                let same = |word: &str, same: bool| same || noted(&port.label, asked.number, word);
                let rate = |queue: &Queue| queue.shaper.as_ref().map(|shaper| shaper.rate);
                let curve = |ramp: &Option<Known<Ramp>>| ramp.as_ref().map(|ramp| (ramp.min, ramp.max, ramp.not_ect_dropped));
                prop_assert!(same("weight", queue.schedule == asked.schedule));
                prop_assert!(same(if os == Os::Sonic { "pir" } else { "max-rate" }, rate(queue) == rate(asked)));
                prop_assert!(same("alpha", queue.alpha == asked.alpha) && same("limit", queue.limit == asked.limit));
                prop_assert!(same("reserved", queue.reserved == asked.reserved));
                prop_assert_eq!((curve(&queue.mark), curve(&queue.drop)), (curve(&asked.mark), curve(&asked.drop)));
            }
        }
    }

    /// Tables, fields, types and ranges of what is written, against the list of what SONiC takes.
    #[test]
    fn all_that_is_written_for_sonic_is_as_the_rules_say((_, device) in device()) {
        let text = Os::Sonic.write(&device).text;
        let tables: serde_json::Value = serde_json::from_str(&text).unwrap();
        let rules = include_str!("../../src/sonic/rules.csv");
        for (table, entries) in tables.as_object().unwrap() {
            for (field, value) in entries.as_object().unwrap().values().flat_map(|fields| fields.as_object().unwrap()) {
                let is = |line: &&str| line.starts_with(&format!("{table},{field},")) || line.starts_with(&format!("{table},*,"));
                let rule: Vec<&str> = rules.lines().find(is).unwrap_or_else(|| panic!("{table}|{field}")).splitn(6, ',').collect();
                let value = value.as_str().unwrap();
                let number = |text: &str| text.parse::<i128>().ok();
                let fits = match rule[2] {
                    "integer" => number(value).is_some_and(|it| (number(rule[3]).unwrap()..=number(rule[4]).unwrap()).contains(&it)),
                    "text" => !value.is_empty(),
                    other => tables.get(other).is_some_and(|entries| entries.get(value).is_some()) || other.split(' ').any(|word| word == value),
                };
                prop_assert!(fits && rule[5] == "read", "{table}|{field}: {value}");
            }
        }
    }
}

/// The file is what a test in Python loads into Redis.
#[test]
fn credits_and_data_of_two_ports_are_written_as_this() {
    let mut credits = Queue::new(5, Role::Metered, known(Schedule::Strict));
    let rate = BitsPerSec::new(517_879_160).unwrap();
    credits.shaper = Some(known(Bucket { rate, burst: Some(Bytes::new(168)), packet: Some(Bytes::new(84)) }));
    credits.limit = Some(known(Bytes::new(672)));
    let mut data = Queue::new(0, Role::Data, known(Schedule::Weight(50)));
    (data.mark, data.alpha) = (Some(known(Ramp::step(Bytes::new(97_500)))), Some(known(1.0)));
    let mut device = Device { name: "tor".into(), dscp: vec![known((0, 0)), known((46, 5))], ..Device::default() };
    device.pool = Some(Pool { size: known(Bytes::new(8 << 20)), ports: None, cell: Bytes::new(208), mark: Some(known(Ramp::step(Bytes::new(4 << 20)))) });
    let interfaces = |os: Os| [0, 1].map(|at| Interface { name: os.interface(at), far: "host".into() }).to_vec();
    for os in [Os::Sonic, Os::Cumulus] {
        let queues = vec![data.clone(), credits.clone()];
        device.ports = vec![Port { label: "10Gbps".into(), interfaces: interfaces(os), rate: BitsPerSec::new(10_000_000_000), queues }];
        let written = os.write(&device);
        let notes: BTreeSet<String> = written.notes.iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(format!("{}-notes", os.name()), Vec::from_iter(notes).join("\n"));
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/written").join(os.name());
        if std::env::var_os("UPDATE_DOCS").is_some() {
            fs::write(&file, &written.text).unwrap();
        }
        assert_eq!(written.text, fs::read_to_string(&file).unwrap(), "UPDATE_DOCS=1 writes {}", file.display());
    }
}

//! Devices written and read back.

use crate::samples::SYSTEMS;
use proptest::prelude::*;
use shallop_core::{BitsPerSec, Bytes};
use shallop_device::{Bucket, Device, Interface, Known, Note, Os, Pool, Port, Queue, Ramp, Role, Schedule};
use std::{fs, path::Path};

fn known<T>(value: T) -> Known<T> {
    Known::new(value, "asked for")
}

fn bytes(range: std::ops::Range<u64>) -> impl Strategy<Value = Option<Known<Bytes>>> {
    prop::option::of(range.prop_map(|bytes| known(Bytes::new(bytes))))
}

prop_compose! {
    fn queue()(
        weight in prop::option::of(1u32..150), rate in prop::option::of(10_000u64..10_000_000_000),
        burst in prop::option::of(1u64..200_000), credits: bool, limit in bytes(84..1_000_000), alpha in 0.004f64..20.0,
        reserved in bytes(1..20_000), min in 1u64..5_000_000, more in 0u64..5_000_000, probability in 0.001f64..1.0,
        curve in 0..4,
    ) -> Queue {
        let mut queue = Queue::new(0, Role::Other, known(weight.map_or(Schedule::Strict, Schedule::Weight)));
        let packet = credits.then_some(Bytes::new(84));
        let bucket = |rate| known(Bucket { rate, burst: burst.map(Bytes::new), packet });
        queue.shaper = rate.and_then(BitsPerSec::new).map(bucket);
        queue.alpha = Some(known(alpha)).filter(|_| limit.is_none());
        (queue.limit, queue.reserved) = (limit, reserved);
        let (min, max) = (Bytes::new(min), Bytes::new(min + more));
        let ramp = Ramp { min, max, probability, weight: 0, not_ect_dropped: curve == 1 };
        *(if curve == 0 { &mut queue.drop } else { &mut queue.mark }) = Some(known(ramp)).filter(|_| curve < 3);
        queue
    }
}

prop_compose! {
    fn device()(
        ports in prop::collection::vec((prop::collection::btree_map(0u8..8, queue(), 1..5), 1usize..4), 1..4),
        dscp in prop::collection::btree_map(0u8..64, 0u8..8, 0..5), pool in bytes(1..100_000_000), cell in 1u64..300,
        name in "[a-z][a-z0-9-]{0,8}",
    ) -> Device {
        let pool = pool.map(|size| Pool { size, ports: None, cell: Bytes::new(cell), mark: None });
        // Rates differ, so that no two ports have equal settings.
        let rates = [1, 10, 100].map(|gbps| BitsPerSec::new(gbps * 1_000_000_000));
        let port = |(rate, (queues, count)): (_, (std::collections::BTreeMap<u8, Queue>, usize))| {
            let interfaces = vec![Interface::default(); count];
            let queues = queues.into_iter().map(|(number, queue)| Queue { number, ..queue }).collect();
            Port { label: format!("p-{count}"), interfaces, rate, queues }
        };
        let mut device = Device { name, pool, dscp: dscp.into_iter().map(known).collect(), ..Device::default() };
        device.ports = rates.into_iter().zip(ports).map(port).collect();
        device
    }
}

/// The device with interfaces of a system, and labels that differ.
fn named(os: Os, device: &Device) -> Device {
    let (mut device, mut numbers) = (device.clone(), 0..);
    for (at, port) in device.ports.iter_mut().enumerate() {
        port.label = format!("p-{at}");
        port.interfaces.iter_mut().for_each(|it| it.name = os.interface(numbers.next().unwrap()));
    }
    device
}

proptest! {
    #[test]
    fn a_device_is_read_back_but_for_what_notes_say(device in device()) {
        for (os, read) in SYSTEMS {
            let device = named(os, &device);
            let written = os.write(&device);
            let mut once = read(&written.text).unwrap();
            prop_assert_eq!(&once.not_understood, &[], "{}", written.text);
            let again = os.write(&once.device);
            prop_assert_eq!(&read(&again.text).unwrap().device, &once.device);
            let lines = |text: &str| text.lines().map(|it| it.split("  #").next().unwrap().into()).collect::<Vec<String>>();
            prop_assert_eq!(lines(&again.text), lines(&written.text));
            // Without the values that a note names, the two are equal.
            let mut asked = device;
            for port in asked.ports.iter_mut().filter(|_| os == Os::Cumulus) {
                let sum: u32 = port.queues.iter().filter_map(Queue::weight).sum();
                let share = |queue: &Queue| queue.weight().map_or(Schedule::Strict, |it| Schedule::Weight(it * 100 / sum));
                port.queues.iter_mut().for_each(|queue| queue.schedule.value = share(queue));
            }
            for note in &written.notes {
                let (Note::Rounded { what, .. } | Note::Refused { what, .. }) = note else { continue };
                let names = |port: &Port, queue: &Queue| what.starts_with(&format!("{}_q{}:", port.label, queue.number));
                for port in asked.ports.iter_mut().chain(&mut once.device.ports) {
                    let label = Port { label: port.label.clone(), ..Port::default() };
                    port.queues.iter_mut().filter(|queue| names(&label, queue)).for_each(|queue| forget(queue, what));
                }
            }
            for port in asked.ports.iter_mut().chain(&mut once.device.ports) {
                port.queues.iter_mut().for_each(|queue| queue.role = Role::Other);
            }
            prop_assert_eq!(asked.ports, once.device.ports);
            prop_assert_eq!((asked.name, asked.dscp), (once.device.name, once.device.dscp));
        }
    }

    /// Tables, fields, types and ranges of what is written, against a list of what SONiC takes.
    #[test]
    fn all_that_is_written_for_sonic_is_as_the_rules_say(device in device()) {
        let tables: serde_json::Value = serde_json::from_str(&Os::Sonic.write(&named(Os::Sonic, &device)).text).unwrap();
        let rules = include_str!("samples/sonic-rules.csv");
        for (table, entries) in tables.as_object().unwrap() {
            for (field, value) in entries.as_object().unwrap().values().flat_map(|it| it.as_object().unwrap()) {
                let of = |line: &&str| [field, "*"].iter().any(|it| line.starts_with(&format!("{table},{it},")));
                let rule: Vec<&str> = rules.lines().find(of).unwrap_or_else(|| panic!("{table} {field}")).split(',').collect();
                let (value, number) = (value.as_str().unwrap(), |text: &str| text.parse::<u64>().ok());
                let fits = match rule[2] {
                    "integer" => number(value) >= number(rule[3]) && number(value) <= number(rule[4]),
                    "signed" => value.parse::<i8>().unwrap().abs() <= 8,
                    "text" => !value.is_empty(),
                    other => tables[other].get(value).is_some() || other.split(' ').any(|word| word == value),
                };
                prop_assert!(fits, "{table} {field} {value}");
            }
        }
    }
}

/// Gives a value of a queue that a note names a value of its own.
fn forget(queue: &mut Queue, what: &str) {
    match what.split_once(": ").unwrap().1 {
        "weight" => queue.schedule = known(Schedule::Strict),
        "limit" => queue.limit = None,
        "alpha" => queue.alpha = None,
        "private memory without a share of the pool" => queue.alpha = None,
        "memory unlike other ports" => (queue.limit, queue.alpha, queue.reserved) = Default::default(),
        "probability" => {
            [&mut queue.mark, &mut queue.drop].into_iter().flatten().for_each(|it| it.value.probability = 1.0)
        }
        "rate" => queue.shaper.iter_mut().for_each(|it| it.value.rate = BitsPerSec::gbps(1)),
        "shaper by packets of 84B" => queue.shaper.iter_mut().for_each(|it| it.value.packet = None),
        _ => queue.shaper.iter_mut().for_each(|it| it.value.burst = None),
    }
}

/// A test in Python loads the configuration of SONiC into Redis.
#[test]
fn credits_and_data_of_two_ports_are_written_as_this() {
    let mut credits = Queue::new(5, Role::Metered, known(Schedule::Strict));
    let (rate, packet) = (BitsPerSec::new(517_879_160).unwrap(), Some(Bytes::new(84)));
    credits.shaper = Some(known(Bucket { rate, burst: Some(Bytes::new(168)), packet }));
    credits.limit = Some(known(Bytes::new(672)));
    let mut data = Queue::new(0, Role::Data, known(Schedule::Weight(50)));
    (data.mark, data.alpha) = (Some(known(Ramp::step(Bytes::new(97_500)))), Some(known(1.0)));
    let mark = Some(known(Ramp::step(Bytes::new(4 << 20))));
    let pool = Some(Pool { size: known(Bytes::new(8 << 20)), ports: None, cell: Bytes::new(208), mark });
    let port = Port { rate: BitsPerSec::new(10_000_000_000), queues: vec![data, credits], ..Port::default() };
    let ports = vec![Port { interfaces: vec![Interface::default(); 2], ..port }];
    let device =
        Device { name: "tor".into(), dscp: vec![known((0, 0)), known((46, 5))], pool, ports, ..Device::default() };
    for (os, _) in SYSTEMS {
        let written = os.write(&named(os, &device));
        let notes: Vec<String> = written.notes.iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(format!("{}-notes", os.name()), notes.join("\n"));
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/written").join(os.name());
        if std::env::var_os("UPDATE_DOCS").is_some() {
            fs::write(&file, &written.text).unwrap();
        }
        assert_eq!(written.text, fs::read_to_string(&file).unwrap(), "UPDATE_DOCS=1 writes {}", file.display());
    }
}

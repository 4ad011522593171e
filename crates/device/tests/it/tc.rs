//! Scripts for Linux, as files in `tests/data/tc`: `UPDATE_SCRIPTS=1 cargo test -p shallop-device tc` writes them. The
//! tests of `shallop` run them.

use shallop_core::{BitsPerSec, Bytes};
use shallop_device::{Aqm, Bucket, Device, Interface, Known, Os, Pool, Port, Queue, Ramp, Role, Schedule};
use std::{fs, path::Path, process::Command};

fn kb(size: u64) -> Bytes {
    Bytes::new(size * 1000)
}

fn known<T>(value: T, why: &str) -> Option<Known<T>> {
    Some(Known::new(value, why))
}

fn queue(number: u8, role: Role, schedule: Schedule) -> Queue {
    Queue::new(number, role, Known::new(schedule, ""))
}

fn bucket(rate: u64, burst: Option<Bytes>, packet: Option<u64>) -> Bucket {
    Bucket { rate: BitsPerSec::new(rate).unwrap(), burst, packet: packet.map(Bytes::new) }
}

fn port(label: &str, rate: u64, queues: Vec<Queue>) -> Port {
    let interfaces = vec![Interface { name: "eth0".into(), far: "r0".into() }];
    Port { label: label.into(), interfaces, rate: Some(BitsPerSec::new(rate).unwrap()), queues }
}

/// One queue, whose buffer is all that it has.
fn drop_tail() -> Device {
    let data = Queue { limit: known(kb(40), "buffer = 40KB"), ..queue(1, Role::Data, Schedule::Weight(1)) };
    Device { name: "left".into(), ports: vec![port("200Mbps", 200_000_000, vec![data])], ..Device::default() }
}

/// Emulation packets, returned credits, data with a step, and legacy traffic.
fn marked() -> Device {
    let metered = Queue {
        shaper: known(bucket(10_000_000, None, Some(84)), "rate × 84 / 1622"),
        limit: known(Bytes::new(8 * 84), "8 emulation packets"),
        ..queue(7, Role::Metered, Schedule::Strict)
    };
    let returned = Queue { limit: known(kb(20), "as data"), ..queue(6, Role::Returned, Schedule::Strict) };
    let data = Queue {
        limit: known(kb(200), "buffer = 200KB"),
        mark: known(Ramp::step(kb(40)), "above = 40KB"),
        ..queue(2, Role::Data, Schedule::Weight(3))
    };
    let legacy = Queue { number: 1, role: Role::Legacy, ..data.clone() };
    let legacy = Queue { schedule: Known::new(Schedule::Weight(2), "legacy_weight = 2"), ..legacy };
    let dscp = [(0, 1), (10, 2), (46, 7), (32, 6)].map(|it| Known::new(it, "as hosts mark")).to_vec();
    let ports = vec![port("200Mbps", 200_000_000, vec![legacy, data, returned, metered])];
    Device { name: "left".into(), ports, dscp, hosts: vec!["sysctl -w net.ipv4.tcp_ecn=1".into()], ..Device::default() }
}

/// Ports of two kinds that share memory: WRED with an average, a policer, a shaper, and a discipline of its own.
fn shared() -> Device {
    let ramp = Ramp { min: kb(30), max: kb(90), probability: 0.1, weight: 3, not_ect_dropped: true };
    let wred = Queue {
        alpha: known(1.0, "alpha = 1"),
        mark: known(ramp, "min = 30KB, max = 90KB"),
        ..queue(1, Role::Data, Schedule::Weight(1))
    };
    let options = [("target", "1ms"), ("interval", "20ms"), ("ecn", "false"), ("memory", "1")];
    let options = options.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
    let codel = Queue {
        limit: known(kb(100), "buffer = 100KB"),
        shaper: known(bucket(50_000_000, Some(kb(32)), None), "shaper"),
        policer: known(bucket(100_000_000, Some(kb(250)), None), "policer"),
        aqm: known(Aqm { name: "codel".into(), options }, "aqm = codel"),
        ..queue(1, Role::Data, Schedule::Weight(1))
    };
    let pool = Pool { size: Known::new(kb(400), "size"), ports: None, cell: Bytes::new(1), mark: None };
    let mut ports = vec![port("200Mbps", 200_000_000, vec![wred]), port("1 Gb/s; `id`", 1_000_000_000, vec![codel])];
    ports[1].interfaces[0].name = "eth$(id)".into();
    Device { name: "$(id)\nid".into(), pool: Some(pool), ports, ..Device::default() }
}

#[test]
fn scripts_are_those_of_the_files_and_a_shell_can_read_them() {
    for (name, device) in [("drop-tail", drop_tail()), ("marked", marked()), ("shared", shared())] {
        let written = Os::Tc.write(&device);
        let notes: String = written.notes.iter().map(|note| format!("# note: {note}\n")).collect();
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/tc/{name}.sh"));
        let script = written.text + &notes;
        if std::env::var_os("UPDATE_SCRIPTS").is_some() {
            fs::write(&path, &script).unwrap();
        }
        assert_eq!(script, fs::read_to_string(&path).unwrap(), "{name}: UPDATE_SCRIPTS=1 writes it");
        assert!(Command::new("sh").arg("-n").arg(&path).status().unwrap().success(), "{name}");
    }
}

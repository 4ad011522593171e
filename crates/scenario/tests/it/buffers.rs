//! Switches with the memory of chips, from the text of a scenario to what is stored and marked; BCC's thresholds.

#![allow(clippy::unwrap_used, reason = "a test that cannot make its run should fail there")]

use crate::malformed::check;
use shallop_core::{BitsPerSec, Bytes, Class, Span};
use shallop_plan::plan::{Bcc, Shared, Switch};
use shallop_plan::{ResolvedRun, Study, chips, pools};
use shallop_plan::{bcc::Thresholds, network::Network};
use shallop_scenario::explain;
use shallop_scenario::{Options, read};
use shallop_switch::{Aqm, Discipline, MarkAt, PortConfig, QueueConfig, Spacing};
use std::fmt::Write as _;

/// Ten hosts at 100 Gb/s at one switch.
fn text(switch: &str) -> String {
    let node = |n| format!("[[topology.node]]\nname = \"h{n}\"\nkind = \"host\"\n");
    let nodes: String = (0..10).map(node).collect();
    let speed = "rate = \"100Gbps\"\ndelay = \"5us\"\n";
    let link = |n| format!("[[topology.link]]\nbetween = [\"h{n}\", \"x\"]\n{speed}");
    let links: String = (0..10).map(link).collect();
    format!(
        "title = \"buffers\"\nduration = \"1ms\"\nstack = \"ns2\"\n[topology]\nkind = \"graph\"\n\
         {nodes}[[topology.node]]\nname = \"x\"\nkind = \"switch\"\n{links}\n\
         [switch.default]\n{switch}\n[[scheme]]\ntransport = \"dctcp\"\n\
         [[group]]\nname = \"all\"\nfrom = [\"h0\", \"h1\"]\nto = \"h2\"\n"
    )
}

fn study(switch: &str) -> Study {
    let text = text(switch);
    read(&text, &Options::default()).unwrap_or_else(|why| panic!("{why:?} in {text}"))
}

fn switch(text: &str) -> Switch {
    study(text).points[0].plan.switches[0].clone()
}

#[test]
fn queues_share_a_fixed_limit_evenly() {
    let fixed = switch("legacy_weight = 1\nshared = { size = \"16MB\", static = \"4MB\", legacy_alpha = 2 }");
    let shared = fixed.shared.unwrap();
    assert_eq!([1, 8].map(|queues| shared.share_of_queue(queues).get()), [4_000_000, 2_000_000]);
}

#[test]
fn chips_have_the_memory_that_the_papers_say() {
    // BCC, II.C and V.B: four parts of 4 MB; of each about 1 MB is reserved and 3 MB are shared by eight ports.
    let tomahawk = chips::find("tomahawk").unwrap();
    assert_eq!((tomahawk.ports_per_mmu(), tomahawk.pool()), (Some(8), Some(Bytes::new(3 << 20))));
    for chip in chips::all() {
        let Some(memory) = &chip.memory else { continue };
        assert_eq!(chip.ports % memory.count, 0, "{}", chip.id);
        let private = memory.private * u64::from(chip.ports);
        let whole = chip.pool().unwrap() * u64::from(memory.count) + private;
        assert!(chip.buffer.unwrap().get().abs_diff(whole.get()) < u64::from(chip.ports), "{}", chip.id);
        assert!(memory.note.contains("assumed"), "{}", chip.id);
    }
    assert!(chips::find("arista-7504r").unwrap().memory.is_none());
}

fn places(switch: &str) -> Vec<Vec<String>> {
    let study = study(switch);
    let plan = &study.points[0].plan;
    let network = Network::build(plan, shallop_core::Seed::new(1));
    let name = |port: &u32| network.port_name(*port).replace("x>", "");
    let pools = pools::pools(&plan.switches, &network);
    pools.iter().map(|pool| pool.ports.iter().map(name).collect()).collect()
}

#[test]
fn ports_draw_on_pools_in_their_order_or_as_they_are_told() {
    let all = |names: &str| names.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let ten = "h0 h1 h2 h3 h4 h5 h6 h7 h8 h9";
    assert_eq!(places("shared = { size = \"4MB\" }"), [all(ten)]);
    let chip = places("chip = \"tomahawk\"\nshared = {}");
    assert_eq!(chip, [all("h0 h1 h2 h3 h4 h5 h6 h7"), all("h8 h9")]);
    let told = places("shared = { size = \"4MB\", ports = 4, pools = [[\"h4\"], [\"h5\", \"h0-x\"]] }");
    assert_eq!(told, [all("h0 h5"), all("h1 h2 h3 h6"), all("h4"), all("h7 h8 h9")]);
    assert_eq!(places("buffer = \"1MB\""), Vec::<Vec<String>>::new());
}

/// The papers' numbers: the case, C in Gb/s, RTT in us, lambda, alpha, N, size and private in KB; then `B_R`, Kmax and
/// Kmin in KB.
const KNOWN: &str = include_str!("../vectors/bcc.csv");

#[test]
fn thresholds_are_those_of_the_paper() {
    let mut rows = 0;
    for line in KNOWN.lines().filter(|line| !line.starts_with('#')).skip(1) {
        let (case, numbers) = line.split_once(',').unwrap();
        let numbers: Vec<f64> = numbers.split(',').map(|cell| cell.parse().unwrap()).collect();
        let [gbps, rtt, lambda, h, alpha, ports, size, private, required, max, min] = numbers[..] else {
            panic!("{line}")
        };
        let kb = |size: f64| Bytes::new((size * 1e3).round() as u64);
        let us = |time: f64| Span::from_ns((time * 1e3) as u64);
        let none = None;
        let (rtt, h, max_probability) = (us(rtt), us(h), 0.1);
        let at = MarkAt::Enqueue;
        let spacing = Spacing::Independent;
        let bcc = Bcc { rtt, lambda, h, max_probability, at, spacing, required: none, min: none, max: none };
        let shared = Shared { alpha, private: kb(private), ..Shared::new(kb(size)) };
        let found = Thresholds::new(&bcc, &shared, BitsPerSec::gbps(gbps as u64), ports as u32);
        for (what, found, expected) in
            [("B_R", found.required, required), ("Kmax", found.max, max), ("Kmin", found.min, min)]
        {
            assert!((found / 1e3 - expected).abs() < 0.002, "{case}: {what} = {found}");
        }
        rows += 1;
    }
    assert!(rows >= 6, "{rows}");
}

/// Keys of a switch, and what follows from them: the lines of its plan that differ from a switch without keys, its
/// marks at 100 Gb/s, and the lines of an explanation that name it.
#[test]
fn switches_have_what_is_written_and_the_defaults_of_chips_and_rfcs() {
    let plain = format!("{:#?}", switch(""));
    let mut told = String::new();
    for keys in include_str!("../scenarios/switches.txt").lines().filter(|line| !line.starts_with('#')) {
        let study = study(&keys.replace("\\n", "\n"));
        let switch = &study.points[0].plan.switches[0];
        writeln!(told, "\n{keys}").unwrap();
        for line in format!("{switch:#?}").lines().filter(|line| !plain.lines().any(|other| other == *line)) {
            writeln!(told, "{line}").unwrap();
        }
        writeln!(told, "    marks: {:?}", switch.marking(BitsPerSec::gbps(100))).unwrap();
        let sections = explain::explain(&study).unwrap();
        for line in sections.iter().flat_map(|section| &section.lines).filter(|it| it.what.contains("\"default\"")) {
            writeln!(told, "    {}: {}: {}", line.what, line.value, line.how).unwrap();
        }
    }
    insta::assert_snapshot!(told);
}

#[test]
fn data_queues_of_switches_have_the_discipline_and_no_other_queue() {
    let text = text("aqm = \"fq-codel\"").replace("\"dctcp\"", "\"flashpass\"");
    let study = read(&text, &Options::default()).unwrap();
    let setup = ResolvedRun::new(&study.points[0].plan, 0, 1).unwrap();
    let managed = |queue: &QueueConfig| match &queue.discipline {
        Discipline::Aqm(Aqm::FqCoDel(_), port) => Some(port.mtu),
        _ => None,
    };
    for (number, port) in (0..).zip(&setup.layout.ports) {
        let found: Vec<_> = port.queues.iter().map(managed).collect();
        let data = setup.network.is_switch_port(number).then_some(Bytes::new(1538));
        assert_eq!(found, [None, None, data], "port {}", setup.network.port_name(number));
    }
}

#[test]
fn what_cannot_be_is_told_at_its_place() {
    check(&text("SWITCH"), "switches");
}

#[test]
fn thresholds_by_hand_take_the_place_of_those_that_are_refused() {
    for alpha in ["4", "0.5"] {
        switch(&format!(
            "shared = {{ size = \"3MB\", private = \"128KB\", alpha = {alpha}, ports = 10 }}\n\
             bcc = {{ rtt = \"80us\", lambda = 0.72, h = \"21us\", min = \"1MB\", max = \"2MB\" }}"
        ));
    }
}

#[test]
fn unscheduled_data_may_have_a_queue_of_the_lowest_priority() {
    let layout = |key: &str, transport: &str| {
        let text = text(key).replace("dctcp", transport);
        let study = read(&text, &Options::default()).unwrap_or_else(|why| panic!("{why:?} in {text}"));
        ResolvedRun::new(&study.points[0].plan, 0, 1).map(|setup| setup.layout)
    };
    let key = "unscheduled_drop = \"low-priority\"";
    for (transport, names) in [
        ("expresspass-aeolus", &["credit", "data", "unscheduled"][..]),
        ("flashpass-aeolus", &["emulation", "credit", "data", "unscheduled"]),
        ("expresspass", &["credit", "data"]),
    ] {
        let layout = layout(key, transport).unwrap();
        assert_eq!(layout.queues, names, "{transport}");
        let of = |port: &PortConfig| usize::from(port.queue_of[Class::Unscheduled.index()]);
        let low = layout.ports.iter().filter(|port| of(port) > layout.data);
        let selects = |port: &PortConfig| port.queues[layout.data..].iter().any(|queue| queue.select.is_some());
        assert!(low.clone().all(|port| !selects(port)), "{transport}: nothing is dropped for its length");
        let priority = |port: &PortConfig, queue: usize| port.queues[queue].priority;
        assert!(low.clone().all(|port| priority(port, of(port)) > priority(port, layout.data)));
        assert_eq!(
            low.count(),
            if names.contains(&"unscheduled") { 10 } else { 0 },
            "{transport}: at each switch port"
        );
    }
}

#[test]
fn unscheduled_data_is_dropped_as_the_transport_or_the_switch_says() {
    for (transport, key, reached, burst) in [
        ("expresspass-aeolus", "", false, None),
        ("expresspass-aeolus", "unscheduled_drop = \"reached\"", true, None),
        ("aeolus-paper", "", true, Some(Bytes::MAX)),
        ("aeolus-paper", "unscheduled_drop = \"above\"", false, Some(Bytes::MAX)),
        ("flashpass-aeolus", "", false, None),
    ] {
        let text = text(key).replace("dctcp", transport);
        let study = read(&text, &Options::default()).unwrap_or_else(|why| panic!("{why:?} in {text}"));
        let setup = ResolvedRun::new(&study.points[0].plan, 0, 1).unwrap();
        let queues = setup.layout.ports.iter().flat_map(|port| &port.queues);
        let of_data: Vec<_> = queues.filter(|queue| queue.meter.is_none() && queue.select.is_some()).collect();
        assert_eq!(of_data.len(), 10, "{transport}: one at each port of the switch");
        assert!(of_data.iter().all(|queue| queue.select_reached == reached), "{transport} {key}");
        assert_eq!(study.points[0].plan.schemes[0].transport.aeolus().and_then(|it| it.burst), burst, "{transport}");
    }
}

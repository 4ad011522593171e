//! Switches with the memory of chips, from the text of a scenario to what is stored and marked; BCC's thresholds.

#![allow(clippy::unwrap_used, reason = "a test that cannot make its run should fail there")]

use shallop_core::{BitsPerSec, BufferSize, Bytes, Class, Span};
use shallop_plan::plan::{Bcc, QueueMarking, Shared, Switch};
use shallop_plan::{ResolvedRun, Study, chips, pools};
use shallop_plan::{bcc::Thresholds, network::Network};
use shallop_scenario::explain;
use shallop_scenario::{Options, Problem, read};
use shallop_switch::{Aqm, Discipline, MarkAt, PortConfig, QueueConfig, Signals, Spacing};
use shallop_switch::{discipline::codel::CoDelConfig, discipline::dualpi2::DualPi2Config};
use shallop_switch::{discipline::fq_codel::FqCoDelConfig, discipline::pie::PieConfig};

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

fn problem(switch: &str) -> (Problem, String) {
    let text = text(switch);
    let problem = read(&text, &Options::default()).expect_err(&text);
    let line = text[problem.span.clone().unwrap().start..].lines().next().unwrap().to_owned();
    (problem, line)
}

#[test]
fn a_chip_says_how_its_memory_is_shared_and_may_be_overruled() {
    let tomahawk = switch("chip = \"tomahawk\"\nshared = {}").shared.unwrap();
    let expected = Shared {
        ports: Some(8),
        private: Bytes::new(128 << 10),
        alpha: 8.0,
        legacy_alpha: 8.0,
        ..Shared::new(Bytes::new(3 << 20))
    };
    assert_eq!(tomahawk, expected);
    let by_hand = switch(
        "chip = \"tomahawk\"\nlegacy_weight = 1\nshared = { size = \"3MB\", private = \"128KB\", \
         alpha = 4, legacy_alpha = 0.5, cell = \"chip\", ports = 4 }",
    );
    let expected = Shared {
        size: Bytes::new(3_000_000),
        ports: Some(4),
        alpha: 4.0,
        legacy_alpha: 0.5,
        limits: [None; 2],
        private: Bytes::new(128_000),
        cell: Bytes::new(208),
        mark: None,
    };
    assert_eq!(by_hand.shared, Some(expected));
    assert_eq!(switch("chip = \"tomahawk\"").shared, Some(tomahawk), "as it is shipped");
    let alpha = switch("chip = \"tomahawk\"\nshared = { alpha = 1 }").shared.unwrap();
    assert_eq!(alpha, Shared { alpha: 1.0, legacy_alpha: 1.0, ..tomahawk });
    let buffer = switch("chip = \"tomahawk\"\nbuffer = \"1MB\"");
    assert_eq!((buffer.shared, buffer.buffer), (None, BufferSize::Bytes(Bytes::new(1_000_000))));
    let fixed = switch("legacy_weight = 1\nshared = { size = \"16MB\", static = \"4MB\", legacy_alpha = 2 }");
    let expected = Shared {
        limits: [Some(Bytes::new(4_000_000)), None],
        legacy_alpha: 2.0,
        ..Shared::new(Bytes::new(16_000_000))
    };
    assert_eq!(fixed.shared, Some(expected), "a fixed limit for data beside a dynamic one");
    assert_eq!([1, 8].map(|queues| expected.share_of_queue(queues).get()), [4_000_000, 2_000_000]);
    let even = switch("chip = \"jericho2\"");
    assert_eq!(even.shared, None, "nobody knows how this chip shares its memory");
    assert_eq!(even.buffer, BufferSize::PerGbps(Bytes::new(1_666_666)));
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

/// The paper's own case.
const PAPER: &str = "chip = \"tomahawk\"\n\
     shared = { size = \"3MB\", private = \"128KB\", alpha = 4 }\n\
     bcc = { rtt = \"80us\", lambda = 0.72 }";

#[test]
fn every_threshold_is_explained() {
    let study = study(PAPER);
    let sections = explain::explain(&study).unwrap();
    let lines: Vec<_> = sections.iter().flat_map(|section| &section.lines).collect();
    let says = |what: &str, value: &str, how: &str| {
        let line = lines.iter().find(|line| line.what == what).unwrap_or_else(|| panic!("{what}"));
        assert_eq!((line.value.as_str(), line.how.as_str()), (value, how), "{what}");
    };
    let at = "of \"default\" with 8 ports up to 100Gbps";
    let how = "Dynamic Thresholds, alpha = 4; 128.000 KB private for each queue";
    says(&format!("shared memory {at}"), "3.000 MB", how);
    let how = "100Gbps × 80us × (1 + 0.72) - 128KB private";
    says(&format!("B_R {at}"), "1.592 MB", how);
    says(&format!("Kmax {at}"), "2.602 MB", "3MB - 1.592 MB / 4: B - B_R / alpha");
    let how = "2.602 MB - 100Gbps × 8 ports × 8us: Kmax - C N h";
    says(&format!("Kmin {at}"), "1.802 MB", how);
    says(&format!("Pmax {at}"), "10 %", "of marking at Kmax; all above");
    let how = "100Gbps × 80us × 0.72: C RTT lambda";
    says("ECN threshold of \"default\" at 100Gbps", "720.000 KB", how);
}

#[test]
fn a_queue_marks_above_what_keeps_its_link_busy_unless_it_is_told_otherwise() {
    let rate = BitsPerSec::gbps(100);
    let marking = |text: &str| switch(text).marking(rate);
    let bytes = |bytes| BufferSize::Bytes(Bytes::new(bytes));
    assert_eq!(marking(PAPER), Some(QueueMarking::step(bytes(720_000), MarkAt::Enqueue)));
    let by_hand = marking(&format!("{PAPER}\nmark = {{ above = \"200KB\", at = \"dequeue\" }}"));
    assert_eq!(by_hand, Some(QueueMarking::step(bytes(200_000), MarkAt::Dequeue)));
    let ramp = "mark = { min = \"50KB\", max = \"150KB\", probability = 0.1, weight = 9, \
                not_ect = \"drop\", spacing = \"count\" }";
    let (min, max, at, spacing) = (bytes(50_000), bytes(150_000), MarkAt::Enqueue, Spacing::Count);
    let expected = QueueMarking {
        max_probability: 0.1,
        weight: 9,
        signals: Signals::MarkOrDrop,
        spacing,
        ..QueueMarking::step(max, at)
    };
    assert_eq!(marking(ramp), Some(QueueMarking { min, ..expected }));
}

#[test]
fn marks_and_drops_have_thresholds_of_their_own() {
    let mark = "buffer = \"1MB\"\nmark = { min = \"50KB\", max = \"150KB\", probability = 0.1 }\n";
    let drop = "drop = { min = \"300KB\", max = \"600KB\", probability = 0.05 }";
    let [min, max] = [300_000, 600_000].map(|bytes| BufferSize::Bytes(Bytes::new(bytes)));
    let at = MarkAt::Enqueue;
    let alone = QueueMarking { min, max_probability: 0.05, signals: Signals::DropAll, ..QueueMarking::step(max, at) };
    assert_eq!(switch(drop).drop, Some(alone));
    let both = format!("{mark}{drop}");
    assert_eq!(switch(&both).drop, Some(QueueMarking { signals: Signals::DropNotEct, ..alone }));
    let sections = explain::explain(&study(&both)).unwrap();
    let lines = || sections.iter().flat_map(|section| &section.lines);
    for (what, value, how) in [
        ("lower ECN threshold", "50.000 KB", "50KB"),
        ("drops from", "300.000 KB", "up to 0.05 at 600.000 KB, above it all: packets not ECN-capable"),
    ] {
        let what = format!("{what} of \"default\" at 100Gbps");
        let line = lines().find(|line| line.what == what).unwrap_or_else(|| panic!("{what}"));
        assert_eq!((line.value.as_str(), line.how.as_str()), (value, how));
    }
}

/// What is written, the line that is wrong, and what is said.
const WRONG: &[(&str, &str, &[&str])] = &[
    ("shared = {}", "{}", &["`shared`", "lacks the key `size`", "`chip`"]),
    ("chip = \"arista-7504r\"\nshared = {}", "\"arista", &["not known", "leave out `chip`"]),
    (
        "shared = { size = \"1MB\" }\nbuffer = \"1MB\"",
        "\"1MB\"",
        &["either `buffer` or `shared`", "`static = \"1MB\"`"],
    ),
    ("shared = { size = \"4MB\", alpha = 8, static = \"1MB\" }", "8,", &["`static`", "one of the two"]),
    (
        "shared = { size = \"4MB\", static = \"1MB\" }\nbcc = { rtt = \"80us\", lambda = 1 }",
        "{ rtt",
        &["`alpha`", "`shared` has `static`"],
    ),
    ("shared = { size = \"1MB\", cell = \"chip\" }", "\"chip\"", &["known cells", "\"208B\""]),
    ("shared = { size = \"1MB\", legacy_alpha = 2 }", "2 }", &["`legacy_weight`"]),
    (
        "shared = { size = \"1MB\", pools = [[\"h3\"], [\"h33\"]] }",
        "\"h33\"]",
        &["leads to \"h33\"", "did you mean \"h3\"", "h0-x"],
    ),
    ("mark = {}", "{}", &["lacks the key `above`", "`min` and `max`"]),
    ("mark = { min = \"1KB\" }", "{ min", &["lacks the key `max`"]),
    ("mark = { max = \"1KB\" }", "{ max", &["lacks the key `min`"]),
    ("mark = { min = \"2KB\", max = \"1KB\" }", "\"2KB\"", &["2KB is above `max`, which is 1KB"]),
    ("mark = { min = \"2pkt\", max = \"9KB\" }", "\"9KB\"", &["not of one kind"]),
    ("mark = { above = \"2KB\", max = \"9KB\" }", "\"2KB\"", &["either `above` or the two"]),
    ("mark = { above = \"2KB\", probability = 0.1 }", "0.1", &["`min` and `max`"]),
    ("mark = { min = \"2KB\", max = \"9KB\", probability = 2 }", "2 }", &["above 0, up to 1"]),
    ("mark = { above = \"2KB\", at = \"dequeue\", not_ect = \"drop\" }", "\"drop\"", &["only what arrives is dropped"]),
    ("policer = { rate = \"1Gbps\" }", "{ rate", &["`policer` in [switch.default] lacks the key `burst`"]),
    ("shaper = { rate = \"1Gbps\", burst = \"2pkt\" }", "\"2pkt\"", &["`burst`", "size with its unit"]),
    ("aqm = \"pie\"\npie = { mark_ecnth = 2 }", "2 }", &["from 0 to 1"]),
    ("drop = {}", "{}", &["`drop` in [switch.default] lacks the key `above`"]),
    (
        "mark = { above = \"9KB\", not_ect = \"drop\" }\ndrop = { above = \"20KB\" }",
        "{ above = \"20KB\"",
        &["`not_ect`", "leave out"],
    ),
    ("aqm = \"codel\"\ndrop = { above = \"9KB\" }", "{ above", &["codel decides", "`drop` or `aqm`"]),
    ("shared = { size = \"1MB\", mark = { above = \"9pkt\" } }", "\"9pkt\"", &["a size with its unit"]),
    ("bcc = { rtt = \"80us\", lambda = 1 }", "{ rtt", &["share no memory", "`shared`"]),
    (
        "shared = { size = \"9MB\", mark = { above = \"1MB\" } }\nbcc = { rtt = \"80us\", lambda = 1 }",
        "{ rtt",
        &["`mark` as well"],
    ),
    ("shared = { size = \"9MB\" }\nbcc = { rtt = \"80us\" }", "{ rtt", &["lacks the key `lambda`"]),
    ("aqm = \"fq_codel\"", "\"fq_codel\"", &["\"fifo\", \"codel\", \"fq-codel\", \"dualpi2\", \"pie\""]),
    ("aqm = \"codel\"\nmark = { above = \"9KB\" }", "{ above", &["codel decides", "`mark` or `aqm`"]),
    (
        "aqm = \"dualpi2\"\nshared = { size = \"9MB\" }\nbcc = { rtt = \"80us\", lambda = 1 }",
        "{ rtt",
        &["dualpi2 decides", "`bcc` or `aqm`"],
    ),
    ("codel = { target = \"1ms\" }", "{ target", &["`aqm` is \"fifo\"", "write aqm = \"codel\""]),
    (
        "aqm = \"codel\"\nfq_codel = {}",
        "{}",
        &["`aqm` is \"codel\"", "write aqm = \"fq-codel\"", "leave out `fq_codel`"],
    ),
    ("aqm = \"codel\"\ncodel = { flows = 9 }", "flows", &["unknown key `flows` in `codel`"]),
    ("aqm = \"dualpi2\"\ndualpi2 = { ecn = false }", "ecn", &["unknown key `ecn` in `dualpi2`"]),
    (
        "aqm = \"codel\"\ncodel = { interval = \"1ms\" }",
        "\"1ms\"",
        &["the target, 5ms, is above the interval, 1ms", "5 to 10 %"],
    ),
    (
        "aqm = \"fq-codel\"\nfq_codel = { target = \"2ms\", interval = \"1ms\" }",
        "\"2ms\"",
        &["`target` in `fq_codel` in [switch.default]", "above the interval"],
    ),
    ("aqm = \"fq-codel\"\nfq_codel = { flows = 0 }", "0 }", &["from 1 to 65536"]),
    ("aqm = \"fq-codel\"\nfq_codel = { quantum = \"2pkt\" }", "\"2pkt\"", &["size with its unit"]),
    (
        "aqm = \"dualpi2\"\ndualpi2 = { l4s_weight = 9, time_shift = \"50ms\" }",
        "9,",
        &["a time-shifted FIFO has no weights"],
    ),
    ("aqm = \"dualpi2\"\ndualpi2 = { coupling_factor = 0 }", "0 }", &["above 0, up to 1000"]),
];

#[test]
fn a_discipline_has_the_defaults_of_its_rfc_and_what_is_written() {
    let codel = CoDelConfig::defaults(());
    let (ms, us) = (Span::from_ms, Span::from_us);
    let rfc = CoDelConfig { target: ms(5), interval: ms(100), ecn: true, ce_threshold: None };
    assert_eq!(codel, rfc);
    assert_eq!((switch("").aqm, switch("aqm = \"fifo\"").aqm), (None, None));
    assert_eq!(switch("aqm = \"codel\"").aqm, Some(Aqm::CoDel(codel)));
    let text = "aqm = \"fq-codel\"\nfq_codel = { target = \"1ms\", ecn = false, ce_threshold = \"80us\", \
                quantum = \"3KB\", limit = 9 }";
    let expected = FqCoDelConfig {
        codel: CoDelConfig { target: ms(1), ecn: false, ce_threshold: Some(us(80)), ..codel },
        flows: 1_024,
        quantum: Some(Bytes::new(3_000)),
        limit: 9,
        drop_batch: 64,
    };
    assert_eq!(switch(text).aqm, Some(Aqm::FqCoDel(expected)));
    let dualpi2 = DualPi2Config::defaults(());
    assert_eq!((dualpi2.target, dualpi2.tupdate), (ms(15), ms(16)));
    assert_eq!((dualpi2.alpha, dualpi2.beta, dualpi2.coupling_factor), (0.16, 3.2, 2.0));
    assert_eq!(switch("aqm = \"dualpi2\"").aqm, Some(Aqm::DualPi2(dualpi2)));
    let pie = PieConfig {
        target: ms(15),
        tupdate: ms(15),
        max_burst: ms(150),
        alpha: 0.125,
        beta: 1.25,
        ecn: true,
        mark_ecnth: 0.1,
    };
    assert_eq!((switch("aqm = \"pie\"").aqm, PieConfig::defaults(())), (Some(Aqm::Pie(pie)), pie));
}

#[test]
fn gains_of_dualpi2_follow_from_the_largest_round_trip() {
    // RFC 9332, Figure 2: Tupdate = min(3, 40 / 3) ms; alpha = 0.1 x 3 ms / (40 ms)^2; beta = 0.3 / 40 ms.
    let text = "aqm = \"dualpi2\"\ndualpi2 = { target = \"3ms\", max_rtt = \"40ms\" }";
    let Some(Aqm::DualPi2(found)) = switch(text).aqm else { panic!("{text}") };
    assert_eq!(found.tupdate, Span::from_ms(3));
    assert!((found.alpha - 0.1875).abs() < 1e-12 && (found.beta - 7.5).abs() < 1e-12, "{found:?}");
    let written = text.replace(" }", ", tupdate = \"1ms\", beta = 5 }");
    let Some(Aqm::DualPi2(found)) = switch(&written).aqm else { panic!("{written}") };
    assert_eq!((found.tupdate, found.beta), (Span::from_ms(1), 5.0));
    assert!((found.alpha - 0.0625).abs() < 1e-12, "{found:?}");
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
fn explanations_have_the_discipline_with_its_options() {
    let study = study("buffer = \"1MB\"\naqm = \"codel\"\ncodel = { target = \"50us\", interval = \"1ms\" }");
    let sections = explain::explain(&study).unwrap();
    let mut lines = sections.iter().flat_map(|section| &section.lines);
    let mut find = |what: &str| lines.find(|line| line.what.starts_with(what)).unwrap();
    let line = find("discipline of \"default\" at 100Gbps");
    let how = "target = \"50us\", interval = \"1ms\", ecn = true, ce_threshold = none";
    assert_eq!((line.value.as_str(), line.how.as_str()), ("codel", how));
    assert_eq!(find("time to drain a full buffer of \"default\"").value, "80.000 us", "1 MB at 100 Gb/s");
}

#[test]
fn what_cannot_be_is_told_at_its_place() {
    for (switch, place, words) in WRONG {
        let (problem, line) = problem(switch);
        assert!(line.starts_with(place), "{switch}: {line} {problem:?}");
        let said = format!("{} {}", problem.message(), problem.help);
        assert!(words.iter().all(|word| said.contains(word)), "{switch}: {said}");
    }
}

#[test]
fn a_lower_threshold_at_or_below_zero_is_refused_with_what_to_change() {
    let cases: &[(&str, &[&str])] = &[
        // Kmax = 3 MB - 1592 KB / 4 = 2602 KB, which ten ports at 100 Gb/s take 20.816 us.
        ("alpha = 4, ports = 10 }", &["Kmin", "is not above zero", "20.816 us", "fewer `ports`"]),
        ("alpha = 0.5, ports = 10 }", &["Kmin", "B - B_R / alpha is not above zero", "0.531"]),
    ];
    for (shared, words) in cases {
        let shared = format!("shared = {{ size = \"3MB\", private = \"128KB\", {shared}");
        let bcc = "bcc = { rtt = \"80us\", lambda = 0.72, h = \"21us\" }";
        let (problem, line) = problem(&format!("{shared}\n{bcc}"));
        assert!(line.starts_with("{ rtt"), "{line}");
        let said = format!("{} {}", problem.message(), problem.help);
        assert!(words.iter().all(|word| said.contains(word)), "{said}");
        let by_hand = bcc.replace(" }", ", min = \"1MB\", max = \"2MB\" }");
        switch(&format!("{shared}\n{by_hand}"));
    }
    let over = "shared = { size = \"3MB\" }\nbcc = { rtt = \"80us\", lambda = 1, MIN }";
    for (given, word) in [("min = \"2MB\", max = \"1MB\"", "above Kmax"), ("max = \"4MB\"", "than the pool")] {
        let (problem, _) = problem(&over.replace("MIN", given));
        assert!(problem.message().contains(word), "{problem:?}");
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

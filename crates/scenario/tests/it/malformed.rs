//! Scenarios that are wrong: each is refused before anything runs, at the line that is wrong, with what is allowed.

use proptest::prelude::*;
use shallop_scenario::{Options, Problem, read};

/// A good scenario. Tests change one place of it.
const GOOD: &str = include_str!("../scenarios/good.toml");

/// A network drawn by hand.
const GRAPH: &str = include_str!("../scenarios/graph.toml");

fn problem(text: &str) -> Problem {
    match read(text, &Options::default()) {
        Ok(study) => panic!("this was read:\n{text}\n{study:?}"),
        Err(problem) => problem,
    }
}

/// What is replaced, by what, what stands on the line that is wrong then, and the words that are said.
type Case = (&'static str, &'static str, &'static str, &'static [&'static str]);

/// Line of a byte, counted from one.
fn line(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// Each case replaces `from` by `to` in `good`; the problem must be at the line where `at` then stands and must say
/// each of the words.
fn check(good: &str, cases: &[Case]) {
    for (from, to, at, words) in cases {
        assert_eq!(good.matches(from).count(), 1, "{from} must stand at one place");
        let text = good.replacen(from, to, 1);
        let problem = problem(&text);
        let span = problem.span.clone().unwrap_or_else(|| panic!("{to}: no place: {problem:?}"));
        let expected = line(&text, text.find(at).unwrap_or_else(|| panic!("{at} is not there")));
        assert_eq!(line(&text, span.start), expected, "{to}: {problem:?}");
        assert!(span.end <= text.len() && span.start < span.end, "{to}: {problem:?}");
        let said = format!("{} {}", problem.message(), problem.help);
        for word in *words {
            assert!(said.contains(word), "{to}: \"{word}\" is not said in: {said}");
        }
        assert!(said.len() < 1_200, "{to}: too long: {said}");
    }
}

#[test]
fn the_scenarios_that_are_changed_are_good() {
    for text in [GOOD, GRAPH] {
        read(text, &Options::default()).unwrap_or_else(|problem| panic!("{problem:?}"));
    }
}

const KEYS: &[Case] = &[
    (
        "duration = \"1s\"\nwin",
        "durations = \"1s\"\nwin",
        "durations",
        &["unknown key", "did you mean \"duration\""],
    ),
    ("senders = 4", "sendrs = 4", "sendrs", &["[topology]", "did you mean \"senders\""]),
    ("senders = 4", "senders = 4\nhops = 3", "hops", &["`hops` belongs to parking-lot"]),
    ("buffer = \"20", "bufer = \"20", "bufer", &["[switch.default]", "\"buffer\"", "credit_queue"]),
    (
        "hystart = \"off\"",
        "alpha = 0.5",
        "alpha",
        &["\"cubic\"", "expresspass, expresspass-paper", "initial_window"],
    ),
    ("hystart = \"off\"", "wait = \"1s\"", "wait = \"1s\"", &["belongs to flashpass"]),
    ("hystart = \"off\"", "delta = 0.5", "delta", &["belongs to copa"]),
    (
        "transport = \"cubic\"\n",
        "transport = \"bbr\"\n",
        "hystart",
        &["belongs to newreno, ecn-star, cubic", "window_gain"],
    ),
    (
        "transport = \"cubic\"\nhystart = \"off\"",
        "transport = \"copa\"\nmode = \"off\"",
        "\"off\"",
        &["\"competitive\""],
    ),
    (
        "transport = \"cubic\"\nhystart = \"off\"",
        "transport = \"copa\"\ndelta = 0.00",
        "0.00",
        &["above 0"],
    ),
    ("jitter = 0.4", "jiter = 0.4", "jiter", &["did you mean \"jitter\""]),
    (
        "jitter = 0.4",
        "min_target_loss = 0.02",
        "min_target",
        &["belongs to feedback = \"mimd\"", "increase"],
    ),
    ("size = \"1MB\"", "sizes = \"1MB\"", "sizes", &["[[group]] \"all\"", "size"]),
    ("above = \"15KB\"", "above = \"15KB\", on = 1", "on = 1", &["`on`", "above, min, max"]),
    ("name = \"many\"", "name = \"many\"\nseed = 3", "seed = 3", &["unknown key", "set"]),
    (
        "\"topology.senders\" = 6",
        "\"topology.sender\" = 6",
        "topology.sender\"",
        &["topology.senders"],
    ),
    (
        "\"topology.senders\" = 6",
        "\"scheme.cubik.hystart\" = \"off\"",
        "cubik",
        &["scheme.cubic.hystart"],
    ),
    (
        "\"topology.senders\" = 6",
        "\"scheme.cubic\" = \"off\"",
        "scheme.cubic",
        &["section", "initial_window"],
    ),
    ("\"topology.senders\" = 6", "\"claim.0.high\" = 3", "claim.0", &["cannot be changed"]),
    ("\"topology.senders\" = 6", "seeds = [4]", "seeds = [4]", &["one for all points"]),
    ("[quick]\nduration", "[quick]\nduratoin", "duratoin", &["duration"]),
];

#[test]
fn keys_that_do_not_belong_are_pointed_at_and_the_nearest_is_named() {
    check(GOOD, KEYS);
}

const KINDS: &[Case] = &[
    ("delay = \"1ms\"", "delay = \"10Gbps\"", "10Gbps", &["`delay`", "unit", "us, µs, ms"]),
    ("delay = \"1ms\"", "delay = \"-1ms\"", "-1ms", &["negative"]),
    ("delay = \"1ms\"", "delay = \"10\"", "\"10\"", &["needs a unit", "ms"]),
    ("delay = \"1ms\"", "delay = 10", "delay = 10", &["a time with its unit", "found 10"]),
    ("rate = \"1Gbps\"", "rate = \"0Gbps\"", "0Gbps", &["zero"]),
    ("rate = \"1Gbps\"", "rate = \"10ms\"", "10ms", &["bps, Kbps, Mbps, Gbps"]),
    ("rate = \"1Gbps\"", "rate = \"1GB\"", "1GB", &["Gbps"]),
    ("20KB/Gbps", "20KB/ms", "20KB/ms", &["KB/Gbps"]),
    ("20KB/Gbps", "lots", "lots", &["number", "200KB"]),
    ("senders = 4", "senders = \"4\"", "senders", &["whole number", "found \"4\""]),
    ("senders = 4", "senders = 4.5", "senders", &["whole number", "4.5"]),
    ("hystart = \"off\"", "hystart = \"on\"", "hystart", &["\"off\", \"classic\", \"plus-plus\""]),
    ("hystart = \"off\"", "handshake = \"yes\"", "handshake", &["true or false"]),
    ("kind = \"dumbbell\"", "kind = \"dumbell\"", "dumbell", &["did you mean \"dumbbell\""]),
    (
        "transport = \"cubic\"",
        "transport = \"cubik\"",
        "cubik",
        &["did you mean \"cubic\"", "newreno"],
    ),
    ("name = \"all\"", "name = 3", "name = 3", &["text"]),
    ("name = \"all\"", "name = \"\"", "name = \"\"", &["empty"]),
    ("\"0s..200ms\"", "\"200ms..0s\"", "200ms..0s", &["ends before it begins"]),
    ("\"0s..200ms\"", "\"0s..200\"", "0s..200", &["unit"]),
    ("size = \"1MB\"", "size = \"1Mbps\"", "1Mbps", &["KB"]),
    ("seeds = [1, 2]", "seeds = [1, -2]", "-2", &["out of range"]),
    ("seeds = [1, 2]", "seeds = []", "seeds", &["empty"]),
    ("seeds = [1, 2]", "seeds = [1, 1]", "seeds", &["twice"]),
    ("seeds = [1, 2]", "seed = 1\nseeds = [2]", "seeds", &["one of the two"]),
    ("title = \"good\"", "title = 1979-05-27", "title", &["date"]),
    ("title = \"good\"", "title = \"good", "title", &["not TOML"]),
    ("senders = 4", "senders = 4\nsenders = 5", "senders = 5", &["duplicate"]),
    ("[topology]", "[topology", "[topology", &["not TOML"]),
    ("high = 0", "high = \"0\"", "high", &["number"]),
];

#[test]
fn values_of_the_wrong_kind_or_unit_are_told_what_would_do() {
    check(GOOD, KINDS);
}

const BOUNDS: &[Case] = &[
    ("senders = 4", "senders = 0", "senders", &["out of range", "from 1 to"]),
    ("senders = 4", "senders = 99999999", "senders", &["out of range", "200000"]),
    ("senders = 4", "senders = 200000", "[topology]", &["200002 nodes"]),
    ("senders = 4", "senders = -4", "senders", &["from 1 to"]),
    ("senders = 4", "senders = 99999999999999999999", "senders", &["whole number"]),
    ("flows = 8", "flows = 0", "flows", &["from 1 to 1000000"]),
    ("flows = 8", "flows = 10_000_000_000", "flows", &["1000000"]),
    ("duration = \"1s\"\nwin", "duration = \"0s\"\nwin", "duration", &["out of range"]),
    ("duration = \"1s\"\nwin", "duration = \"9000min\"\nwin", "duration", &["out of range"]),
    ("duration = \"1s\"\nwin", "duration = \"99999999999s\"\nwin", "duration", &["too large"]),
    (
        "duration = \"1s\"\nwin",
        "duration = \"1s\"\nsample = \"1ns\"\nwin",
        "sample",
        &["too short"],
    ),
    (
        "duration = \"1s\"\nwin",
        "duration = \"1s\"\nsample = \"0s\"\nwin",
        "sample",
        &["out of range"],
    ),
    ("rate = \"1Gbps\"", "rate = \"11Tbps\"", "11Tbps", &["10Tbps"]),
    ("rate = \"1Gbps\"", "rate = \"1bps\"", "1bps", &["100Kbps"]),
    ("delay = \"1ms\"", "delay = \"1min\"", "1min", &["10s"]),
    ("0ms..2ms", "0ms..2min", "2min", &["10s"]),
    ("mtu = \"1500B\"", "mtu = \"40B\"", "40B", &["576B"]),
    ("mtu = \"1500B\"", "mtu = \"64KB\"", "64KB", &["9.216KB"]),
    ("jitter = 0.4", "jitter = 0.5", "jitter", &["below 0.5"]),
    ("jitter = 0.4", "jitter = nan", "jitter", &["nan"]),
    ("jitter = 0.4", "batch = 7", "batch", &["from 1 to 6"]),
    ("jitter = 0.4", "increase = 0", "increase", &["above 0"]),
    ("jitter = 0.4", "expected_loss = 1.0", "expected_loss", &["below 1"]),
    ("hystart = \"off\"", "decrease = 1", "decrease", &["0.99"]),
    (
        "transport = \"cubic\"\nhystart = \"off\"",
        "transport = \"gemini\"\nalpha_gain = 0.3",
        "alpha_gain",
        &["no power of a half", "0.0625"],
    ),
    (
        "transport = \"cubic\"\nhystart = \"off\"",
        "transport = \"gemini\"\ndecrease = 0.6",
        "decrease",
        &["0.6 is more than half", "half of its window"],
    ),
    ("hystart = \"off\"", "rtt_noise = \"1ms\"", "rtt_noise", &["belongs to gemini"]),
    ("hystart = \"off\"", "rto_min = \"30min\"", "rto_min", &["above the largest"]),
    ("size = \"1MB\"", "size = \"0B\"", "size", &["1B"]),
    ("\"cubic\"", "\"vegas\"\nalpha = 5", "alpha = 5", &["below 5", "above 4", "above beta"]),
    ("\"cubic\"", "\"vegas\"\nbeta = 1", "beta = 1", &["below 2", "above 1"]),
    ("\"cubic\"", "\"dctcp\"\ngain = 0.1", "gain", &["0.1 is not a power of two", "0.0625"]),
    ("\"cubic\"", "\"dctcp\"\ngain = 0.00048828125", "gain", &["1/1024"]),
    ("\"cubic\"", "\"dctcp\"\nalpha_initial = 2", "alpha_initial", &["from 0 to 1"]),
    ("\"cubic\"", "\"ecn-star\"\ngain = 0.5", "gain", &["gain"]),
];

#[test]
fn numbers_out_of_bounds_are_told_the_bounds() {
    check(GOOD, BOUNDS);
}

const PARTS: &[Case] = &[
    ("20KB/Gbps", "1537B", "1537B", &["1.538KB", "holds no packet", "left>r0"]),
    ("20KB/Gbps", "1KB/Gbps", "1KB/Gbps", &["1000 B at 1Gbps", "1.538KB"]),
    ("20KB/Gbps", "0pkt", "0pkt", &["holds no packet"]),
    ("buffer = \"20KB/Gbps\"", "chip = \"bcm99\"", "bcm99", &["no chip", "trident2"]),
    ("rate = \"1Gbps\"", "rate = \"1Mbps\"", "20KB/Gbps", &["20 B at 1Mbps"]),
    ("8pkt", "83B", "83B", &["84B"]),
    ("8pkt", "0pkt", "0pkt", &["84B"]),
    ("wait = \"20ms\"", "wait = \"2ms\"", "wait", &["largest base round trip", "force_wait"]),
    ("\"0s..200ms\"", "\"0s..2s\"", "0s..2s", &["before `duration`, which is 1s"]),
    ("\"0s..200ms\"", "{ every = \"1s\" }", "every", &["7s"]),
    ("\"0s..200ms\"", "\"1s\"", "start = \"1s\"", &["duration"]),
    ("\"0s..1s\"", "\"0s..2s\"", "0s..2s", &["ends after the run"]),
    ("\"0s..1s\"", "\"1s..1s\"", "1s..1s", &["empty"]),
    ("0ms..2ms\"", "0ms..2ms\"\nreceivers = 199998", "[topology]", &["nodes"]),
    ("\"0ms..2ms\"", "[\"1ms\", \"2ms\"]", "sender_delay", &["2 delays for 4 senders"]),
    ("flows = 8", "flows = 8\nto = \"s0\"", "to = ", &["itself"]),
    ("flows = 8", "from = \"lefty\"", "from", &["did you mean \"left\""]),
    ("flows = 8", "to = \"left\"\nfrom = \"right\"\nsizes = 3", "sizes", &["a text in quotes"]),
    (
        "hystart = \"off\"",
        "hystart = \"off\"\n[[scheme]]\ntransport = \"expresspass\"\nburst = \"1MB\"",
        "burst",
        &["aeolus = true"],
    ),
    (
        "hystart = \"off\"",
        "hystart = \"off\"\n[[scheme]]\ntransport = \"expresspass\"\ndemand = \"buffer\"",
        "demand",
        &["send_buffer"],
    ),
    (
        "hystart = \"off\"",
        "hystart = \"off\"\n[[scheme]]\ntransport = \"flashpass-aeolus\"\nsend_buffer = \"1MB\"",
        "send_buffer",
        &["demand = \"buffer\""],
    ),
    (
        "hystart = \"off\"",
        "hystart = \"off\"\n[[scheme]]\ntransport = \"flashpass-aeolus\"\naeolus = true",
        "aeolus = true",
        &["unknown key"],
    ),
    (
        "[[scheme]]\ntransport = \"cubic\"\nhystart = \"off\"",
        "[[scheme]]\ntransport = \"flashpass\"",
        "[[scheme]]\ntransport = \"flashpass\"\nwait",
        &["taken", "`name` of its own"],
    ),
    (
        "[[claim]]",
        "[[group]]\nname = \"all\"\n[[claim]]",
        "name = \"all\"\n[[claim]]",
        &["\"all\" is taken"],
    ),
    (
        "[[claim]]",
        "[[point]]\nname = \"many\"\nset = {}\n[[claim]]",
        "name = \"many\"\nset = {}",
        &["taken"],
    ),
    ("6 }", "0 }", "0 }", &["out of range"]),
    ("[quick]\nduration = \"1s\"", "[quick]\nduration = \"0.1s\"", "windows", &["in a quick run"]),
];

#[test]
fn parts_that_do_not_fit_together_are_told_why() {
    check(GOOD, PARTS);
}

const CLAIMS: &[Case] = &[
    (
        "scheme = \"flashpass\"",
        "scheme = \"flashpas\"",
        "flashpas\"",
        &["did you mean \"flashpass\""],
    ),
    ("high = 0", "point = \"few\"", "few", &["no point", "many"]),
    ("drops.data", "drops.dat", "drops.dat", &["drops.data"]),
    ("high = 0", "window = \"0s..1s\"", "metric", &["metered_loss"]),
    ("high = 0", "window = \"1s..2s\"", "window = ", &["0ps..1s", "full_only"]),
    ("high = 0", "unit = \"Gb/s\"", "unit", &["no unit of `drops.data`"]),
    ("high = 0", "unit = \"furlongs\"", "unit", &["Gb/s"]),
    ("high = 0", "low = 2\nhigh = 1", "low = 2", &["2 is above `high`, 1"]),
    ("high = 0", "relative_to = \"reno\"", "relative_to", &["cubic, flashpass"]),
    ("high = 0", "relative_point = \"few\"", "relative_point", &["no relative_point", "many"]),
    ("high = 0", "difference = true", "difference", &["nothing to subtract", "relative_to"]),
    ("high = 0", "differs = { low = 1 }", "differs", &["lacks the key `why`"]),
    ("source = \"us\"", "", "[[claim]]", &["lacks the key `source`"]),
];

#[test]
fn claims_are_held_against_what_there_is() {
    check(GOOD, CLAIMS);
}

const NETWORKS: &[Case] = &[
    ("between = [\"x\", \"b\"]", "between = [\"x\", \"c\"]", "\"c\"", &["no node \"c\""]),
    ("between = [\"x\", \"b\"]", "between = [\"a\", \"x\"]", "name = \"b\"", &["no link leads"]),
    ("between = [\"x\", \"b\"]", "between = [\"b\", \"b\"]", "\"b\", \"b\"", &["itself"]),
    ("between = [\"x\", \"b\"]", "between = [\"b\"]", "[\"b\"]", &["two nodes"]),
    ("kind = \"switch\"", "kind = \"host\"", "to = \"b\"", &["no path", "hosts pass nothing on"]),
    (
        "kind = \"switch\"",
        "kind = \"switch\"\nswitch = \"deep\"",
        "deep",
        &["no [switch.deep]", "default"],
    ),
    (
        "name = \"a\"\n",
        "name = \"a\"\nswitch = \"default\"\n",
        "switch = \"default\"",
        &["no switch"],
    ),
    ("kind = \"switch\"", "kind = \"router\"", "router", &["\"host\", \"switch\""]),
    (
        "name = \"b\"",
        "name = \"a\"",
        "name = \"a\"\nkind = \"host\"\n[[topology.node]]\nname = \"x\"",
        &["taken"],
    ),
    ("to = \"b\"", "to = \"x\"", "to = \"x\"", &["is a switch"]),
    ("to = \"b\"", "to = \"a\"", "to = \"a\"", &["itself"]),
    ("to = \"b\"", "to = \"z\"", "to = \"z\"", &["no host and no set of hosts"]),
    ("to = \"b\"", "", "[[group]]", &["lacks the key `to`"]),
    ("loss = 0.1", "loss = 1.1", "loss", &["from 0 to 1"]),
    ("loss = 0.1", "mtu = \"20KB\"", "20KB", &["9.216KB"]),
    ("loss = 0.1", "reordering = -0.1", "reordering", &["from 0 to 1"]),
    ("loss = 0.1", "down = [{ at = \"1s\" }]", "{ at = \"1s\" }", &["lacks the key `lasts`"]),
    (
        "loss = 0.1",
        "down = [{ at = \"1s\", lasts = \"2s\", every = \"2s\" }]",
        "every",
        &["not longer than it lasts"],
    ),
    ("{ at = \"1s\", rate = \"2Gbps\" }", "{ at = \"1s\" }", "{ at", &["changes nothing"]),
    (
        "{ at = \"1s\", rate = \"2Gbps\" }",
        "{ rate = \"2Gbps\" }",
        "{ rate",
        &["lacks the key `at`"],
    ),
    (
        "[[scheme]]\ntransport = \"newreno\"",
        "[[scheme]]",
        "[[scheme]]",
        &["lacks the key `transport`"],
    ),
    ("title = \"graph\"", "title = \"graph\"\nseed = 1.5", "seed", &["whole number"]),
];

#[test]
fn networks_that_cannot_carry_the_traffic_are_refused() {
    check(GRAPH, NETWORKS);
}

#[test]
fn what_is_missing_as_a_whole_is_named() {
    for (part, words) in [
        ("title = \"graph\"\n", "`title`"),
        ("duration = \"1s\"\n", "`duration`"),
        ("[[scheme]]\ntransport = \"newreno\"\n", "`scheme`"),
        ("[[group]]\nname = \"all\"\nfrom = \"a\"\nto = \"b\"\n", "`group`"),
    ] {
        let problem = problem(&GRAPH.replacen(part, "", 1));
        assert!(problem.message().contains(words) && problem.span.is_some(), "{problem:?}");
    }
    for empty in ["", "\n\n", "# nothing\n"] {
        let problem = problem(empty);
        assert!(problem.message().contains("empty") && problem.span.is_none(), "{problem:?}");
    }
}

#[test]
fn a_change_from_the_command_line_is_named_and_the_nearest_key_guessed() {
    let asked = |key: &str, value: &str| {
        let set = vec![(key.to_owned(), value.to_owned())];
        let problem = read(GOOD, &Options { set, ..Options::default() }).unwrap_err();
        assert_eq!(problem.span, None, "{problem:?}");
        format!("{} {}", problem.message(), problem.help)
    };
    for (key, value, words) in [
        ("topology.sender", "3", "topology.senders"),
        ("scheme.flashpas.increase", "3", "scheme.flashpass.increase"),
        ("topology.senders", "0", "--set topology.senders=0"),
        ("topology.delay", "10Gbps", "an unknown unit, \"Gbps\""),
        ("topology", "3", "section"),
        ("group.all", "3", "section"),
        ("group.none.size", "3", "group.all.size"),
        ("group", "3", "row of sections"),
        ("a..b", "3", "no key"),
        ("point.many.name", "x", "cannot be changed"),
        ("duration.x", "1s", "no section"),
        ("switch.deep.buffer", "1MB", "switch.default.buffer"),
    ] {
        let said = asked(key, value);
        assert!(said.contains(words), "{key}={value}: {said}");
    }
}

/// Whether a text is a scenario, or has a problem with a reason whose place lies in the text.
fn is_read_or_refused_at_a_place(text: &str) -> bool {
    match read(text, &Options::default()) {
        Ok(_) => true,
        Err(Problem { span: Some(span), .. }) if text.get(span.clone()).is_none() => false,
        Err(problem) => !problem.reason.is_empty(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn an_edited_scenario_is_read_or_refused_at_a_place_of_the_text(
        graph in any::<bool>(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..6usize, "[ -~\n]{0,3}"), 1..4),
    ) {
        let mut text = (if graph { GRAPH } else { GOOD }).to_owned();
        for (at, length, with) in edits {
            let start = at.index(text.len());
            let end = (start + length).min(text.len());
            text.replace_range(start..end, &with);
        }
        prop_assert!(is_read_or_refused_at_a_place(&text));
    }

    #[test]
    fn lines_in_any_order_are_read_or_refused_at_a_place_of_the_text(
        lines in prop::collection::vec(any::<prop::sample::Index>(), 1..60),
    ) {
        let good: Vec<&str> = GOOD.lines().chain(GRAPH.lines()).collect();
        let text: Vec<&str> = lines.iter().map(|line| good[line.index(good.len())]).collect();
        prop_assert!(is_read_or_refused_at_a_place(&text.join("\n")));
    }
}

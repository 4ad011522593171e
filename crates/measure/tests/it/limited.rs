//! Limits besides links and windows: pacing rates, applications, sizes of datagrams, token buckets, bursts of losses.

#![allow(clippy::unwrap_used, reason = "a test that cannot make its run should fail there")]

use shallop_measure::run;
use shallop_results::summary::Run;
use shallop_scenario::{Options, explain, read};

/// Senders at 10 Gb/s with a round trip of 10 ms over 1 Gb/s.
fn text(top: &str, scheme: &str, group: &str) -> String {
    format!(
        "title = \"limited\"\nduration = \"2s\"\nwindows = [\"1s..2s\"]\n{top}\n[topology]\nkind = \"dumbbell\"\n\
         senders = 4\nrate = \"1Gbps\"\ndelay = \"5ms\"\naccess_rate = \"10Gbps\"\n[switch.default]\n\
         buffer = \"500KB\"\n[[scheme]]\n{scheme}\n[[group]]\nname = \"g\"\n{group}\n"
    )
}

fn outcome(top: &str, scheme: &str, group: &str) -> Run {
    run_of(&text(top, scheme, group))
}

fn run_of(text: &str) -> Run {
    let study = read(text, &Options::default()).unwrap_or_else(|why| panic!("{why:?}\n{text}"));
    run(&study.points[0].plan, 0, 1, &mut |_| true).unwrap().run
}

/// Payload that arrived in the second second, in Mb/s, of segments with this payload in IP packets of 1500 B.
fn megabits(run: &Run, segment: f64) -> f64 {
    run.windows[0].throughput_bps / 1e6 * segment / 1500.0
}

#[test]
fn payload_leaves_at_the_highest_pacing_rate_on_every_stack_and_fills_no_queue() {
    for (stack, segment) in
        [("linux", 1448.0), ("linux-pfifo", 1448.0), ("linux-ideal", 1460.0), ("ns3", 1460.0), ("ns2", 1460.0)]
    {
        for transport in ["cubic", "newreno", "bbr"] {
            let scheme = format!("transport = \"{transport}\"\nmax_pacing_rate = \"60Mbps\"");
            let run = outcome(&format!("stack = \"{stack}\""), &scheme, "");
            let found = megabits(&run, segment);
            assert!((found / 240.0 - 1.0).abs() < 0.01, "{transport} on {stack}: {found} Mb/s of four flows");
            assert!(run.drops.data == 0 && run.max_queue_bytes < 300_000, "{stack}: {} B", run.max_queue_bytes);
        }
    }
    let free = outcome("", "transport = \"cubic\"\nmax_pacing_rate = \"2Gbps\"", "");
    assert!(megabits(&free, 1448.0) > 900.0, "a limit above what the link carries is none");
}

#[test]
fn an_application_sends_its_rate_whatever_it_writes_at_once() {
    for (stack, segment) in [("linux", 1448.0), ("ns3", 1460.0)] {
        for (rate, write) in [(8.0, ""), (8.0, "write = \"131072B\""), (100.0, "write = \"131072B\""), (100.0, "")] {
            let group = format!("rate = \"{rate}Mbps\"\nflows = 1\n{write}");
            let run = outcome(&format!("stack = \"{stack}\""), "transport = \"cubic\"", &group);
            // A window of a second has a write more or less.
            let one = if write.is_empty() { segment } else { 131_072.0 } * 8.0 / 1e6;
            let found = megabits(&run, segment);
            assert!((found - rate).abs() <= one + 0.01, "{stack} {rate} {write}: {found} Mb/s");
            assert_eq!((run.drops.data, run.retransmits, run.timeouts), (0, 0, 0), "{stack} {rate} {write}");
        }
    }
    let whole = outcome("", "transport = \"cubic\"", "rate = \"8Mbps\"\nflows = 1\nsize = \"1MB\"");
    // The last of 691 writes of 1,448 B comes after 690 gaps of 1.448 ms; a handshake and half a round trip are hidden
    // but for the half.
    let fct = whole.fct.all.unwrap().mean_s.unwrap();
    assert!((fct - (690.0 * 0.001_448 + 0.005)).abs() < 0.001, "{fct} s");
    let slow = outcome("", "transport = \"cubic\"", "rate = \"500Mbps\"");
    assert!(megabits(&slow, 1448.0) > 900.0, "four that offer 2 Gb/s fill the link");
}

#[test]
fn a_flow_that_lasts_offers_data_for_that_long_and_tcp_delivers_all_of_it() {
    for stack in ["linux", "linux-pfifo", "linux-ideal", "ns3", "ns2"] {
        let top = format!("stack = \"{stack}\"");
        let run = outcome(&top, "transport = \"cubic\"", "lasts = \"500ms\"\nstart = \"200ms\"");
        assert!(run.windows[0].throughput_bps <= 0.0, "{stack}: nothing after 700 ms and a queue of 4 ms");
        assert!(run.goodput_bps > 150e6, "{stack}: {} b/s in 2 s", run.goodput_bps);
        assert!(run.retransmits >= run.drops.data, "{stack}: every lost packet was sent again");
    }
    let run = outcome("", "transport = \"cubic\"", "flows = 1\nlasts = \"1500ms\"\nrate = \"8Mbps\"");
    // 1.5 s of writes of 1,448 B each 1.448 ms, the first at the start.
    let (expected, found) = (1_036 * 1_448, (run.goodput_bps * 2.0 / 8.0).round() as u64);
    assert_eq!(found, expected);
}

#[test]
fn datagrams_have_the_size_on_the_wire_that_ethernet_gives_them() {
    // 28 B of headers in the IP packet and 38 B around it; at least 84 B.
    for (datagram, frame) in [(1, 84), (18, 84), (19, 85), (100, 166), (1472, 1538)] {
        let scheme = format!("transport = \"udp\"\nrate = \"90Mbps\"\ndatagram = \"{datagram}B\"");
        let run = outcome("", &scheme, "flows = 1");
        let expected = 90e6 / (8.0 * f64::from(frame)) * (2.0 - 0.005);
        let found = run.delivered_data_packets as f64;
        assert!((found / expected - 1.0).abs() < 1e-3, "{datagram} B: {found}, expected {expected}");
        let goodput = found * f64::from(datagram) * 8.0 / 2.0;
        assert!((run.goodput_bps / goodput - 1.0).abs() < 1e-9, "{datagram} B: {} b/s", run.goodput_bps);
    }
    let scheme = "transport = \"udp\"\nrate = \"90Mbps\"\ndatagram = \"100B\"";
    let study = read(&text("", scheme, ""), &Options::default()).unwrap();
    let sections = explain::explain(&study).unwrap();
    let mut lines = sections.iter().flat_map(|section| &section.lines);
    let line = lines.find(|line| line.what == "datagrams per second of a flow").unwrap();
    assert_eq!((line.value.as_str(), line.how.as_str()), ("67771.1", "90Mbps / (8 × 166 B)"));
}

/// A run of the network of [`text`] with a token bucket of this kind (shaper or policer) at each port of its switches.
fn with_bucket(kind: &str, scheme: &str, group: &str) -> Run {
    let bucket = format!("buffer = \"2MB\"\n{kind} = {{ rate = \"100Mbps\", burst = \"100KB\" }}");
    run_of(&text("", scheme, group).replace("buffer = \"500KB\"", &bucket))
}

#[test]
fn a_policer_passes_its_burst_and_then_its_rate_and_drops_the_rest() {
    let flood = "transport = \"udp\"\nrate = \"500Mbps\"";
    let run = with_bucket("policer", flood, "flows = 1");
    // Packets pass the policer from the start to 2 s less 5 ms.
    let expected = (100_000.0 + 100e6 / 8.0 * (2.0 - 0.005)) / 1_538.0;
    let found = run.delivered_data_packets as f64;
    assert!((found - expected).abs() < 3.0, "{found} packets, expected {expected}");
    assert!(run.max_queue_bytes < 2 * 1_538, "nothing waits: {} B", run.max_queue_bytes);
    assert!(run.drops_by_cause.iter().all(|drop| drop.cause == "policer"), "{:?}", run.drops_by_cause);
    let below = with_bucket("policer", "transport = \"udp\"\nrate = \"99Mbps\"", "flows = 1");
    assert_eq!(below.drops.data, 0);
}

#[test]
fn a_shaper_passes_its_burst_and_then_its_rate_and_drops_nothing_that_fits_the_buffer() {
    let flood = "transport = \"udp\"\nrate = \"1Gbps\"";
    let run = with_bucket("shaper", flood, "flows = 1\nsize = \"1MB\"");
    // 685 frames, of which the last has 1,360 B of payload; all but 100 KB wait for tokens.
    let wire = 684.0 * 1_538.0 + 1_438.0;
    let expected = (wire - 100_000.0) * 8.0 / 100e6 + 0.005;
    let fct = run.fct.all.as_ref().unwrap().mean_s.unwrap();
    assert!((fct - expected).abs() < 0.000_3, "{fct} s, expected {expected}");
    assert_eq!(run.drops.data, 0);
    let tcp = with_bucket("shaper", "transport = \"cubic\"", "");
    let found = megabits(&tcp, 1448.0);
    assert!((found / (100.0 * 1448.0 / 1538.0) - 1.0).abs() < 0.01, "{found} Mb/s");
}

/// Two hosts and a link with faults, over which UDP sends.
fn faulty(fault: &str) -> String {
    let node = |name| format!("[[topology.node]]\nname = \"{name}\"\nkind = \"host\"\n");
    format!(
        "title = \"faulty\"\nduration = \"2s\"\n[topology]\nkind = \"graph\"\n{}{}[[topology.link]]\n\
         between = [\"a\", \"b\"]\nrate = \"1Gbps\"\ndelay = \"1ms\"\n{fault}\n[[scheme]]\ntransport = \"udp\"\n\
         [[group]]\nname = \"g\"\nfrom = \"a\"\nto = \"b\"\n",
        node("a"),
        node("b")
    )
}

#[test]
fn losses_in_bursts_are_as_many_as_asked_for_in_the_direction_that_has_them() {
    // 162,000 packets: the standard deviation of the fraction is 0.0009 (impairment.rs).
    let run = run_of(&faulty("loss = [0.02, 0.0]\nloss_burst = 4"));
    assert!((run.loss_rate - 0.02).abs() < 0.004, "{}", run.loss_rate);
    assert_eq!(run_of(&faulty("loss = [0.0, 0.02]\nloss_burst = [4, 2]")).drops.data, 0);
    let text = faulty("loss = 0.02\nloss_burst = 4");
    let sections = explain::explain(&read(&text, &Options::default()).unwrap()).unwrap();
    let mut lines = sections.iter().flat_map(|section| &section.lines);
    let line = lines.find(|line| line.what == "bursts of losses of a>b").unwrap();
    let how = "begin before 0.5102 % of packets that pass, end before 25.0000 %";
    assert_eq!((line.value.as_str(), line.how.as_str()), ("4 packets, 2 % of all", how));
}

#[test]
fn pie_keeps_the_delay_of_many_flows_at_its_target() {
    let top = "stack = \"ns3\"";
    for (flows, target) in [(20, 15.0), (50, 15.0), (20, 30.0)] {
        let aqm = format!("buffer = \"20MB\"\naqm = \"pie\"\npie = {{ target = \"{target}ms\" }}");
        let text = text(top, "transport = \"newreno\"", &format!("flows = {flows}"));
        let text = text.replace("buffer = \"500KB\"", &aqm).replace("rate = \"1Gbps\"", "rate = \"100Mbps\"");
        let run = run_of(&text.replace("duration = \"2s\"", "duration = \"20s\""));
        // At 100 Mb/s a millisecond of delay is 12.5 KB. The median leaves out the first slow start.
        let delay = run.queues.iter().map(|queue| queue.p50_bytes).max().unwrap() as f64 / 12_500.0;
        assert!((delay / target - 1.0).abs() < 0.2, "{flows} flows: {delay} ms, target {target} ms");
        assert!(megabits(&run, 1500.0) > 95.0, "{flows} flows: {} Mb/s", megabits(&run, 1500.0));
    }
}

#[test]
fn a_flow_that_lasts_a_second_is_complete_when_its_last_byte_is_acknowledged() {
    for stack in ["linux", "linux-ideal", "ns3", "ns2"] {
        let text = text(&format!("stack = \"{stack}\""), "transport = \"cubic\"", "lasts = \"1s\"");
        let study = read(&text, &Options::default()).unwrap();
        let outcome = run(&study.points[0].plan, 0, 1, &mut |_| true).unwrap();
        let ends: Vec<f64> = outcome.flows.iter().map(|flow| flow.fct_s.expect(stack)).collect();
        // Up to 500 KB wait at 1 Gb/s (4 ms), a way takes 5 ms, and a loss at the end costs a few round trips.
        assert!(ends.len() == 4 && ends.iter().all(|end| (1.005..1.3).contains(end)), "{stack}: {ends:?}");
        assert!(outcome.run.windows[0].throughput_bps < 1e8, "{stack}: {:?}", outcome.run.windows);
    }
}

#[test]
fn geminis_parameters_are_explained_by_the_rules_of_its_thesis() {
    // The longest base round trip is 10 ms; C = 10 Gb/s is the hosts' rate unless `capacity` is written.
    let said = |scheme: &str| {
        let scheme = format!("transport = \"gemini\"\ncapacity = \"1Gbps\"\n{scheme}");
        let study = read(&text("", &scheme, ""), &Options::default()).unwrap();
        let sections = explain::explain(&study).unwrap();
        let lines = sections.iter().filter(|section| section.title == "scheme gemini").flat_map(|it| &it.lines);
        let lines = lines.filter(|line| line.what.starts_with("Gemini's"));
        lines.map(|line| format!("{} {}: {}", line.what, line.value, line.how)).collect::<Vec<_>>().join("\n")
    };
    let all = said("");
    for expected in
        ["K 50 frames per Gb/s: advice: 50; as advised", "F 0.23", "T 5.000 ms", "= 0.33", "increase 1.20 segments"]
    {
        assert!(all.contains(expected), "{expected}: {all}");
    }
    assert!(said("delay_threshold = \"1ms\"").contains("too short"));
    assert!(said("decrease = 0.4").contains("too large"));
}

//! Pools that mark, in a network: a port that is flooded by packets at a constant rate beside one of TCP.

use crate::support::outcome_of;
use shallop_results::summary::Run;

const FRAME: u64 = 1538;
/// Nothing but packets at a constant rate, half as much again as the port carries.
const HOG: &str = "transport = \"udp\"\nrate = \"7.5Gbps\"";

/// Hosts a and b send to c by the scheme, as d and e send to f by packets that nothing stops, over 10 Gb/s.
fn outcome(scheme: &str, switch: &str, hog: &str) -> Run {
    let node = |name: &str, kind| format!("[[topology.node]]\nname = \"{name}\"\nkind = \"{kind}\"\n");
    let names = ["a", "b", "c", "d", "e", "f"];
    let nodes: String = names.iter().map(|name| node(name, "host")).collect();
    let speed = "rate = \"10Gbps\"\ndelay = \"5us\"\n";
    let link = |name| format!("[[topology.link]]\nbetween = [\"{name}\", \"x\"]\n{speed}");
    let links: String = names.iter().map(link).collect();
    let text = format!(
        "title = \"pools\"\nduration = \"6ms\"\nwindows = [\"2ms..6ms\"]\nsample = \"1ms\"\nlevels = [\"200KB\"]\n\
         [topology]\nkind = \"graph\"\n{nodes}{}{links}\n[switch.default]\n{switch}\n\
         [[scheme]]\n{scheme}\n\
         [[group]]\nname = \"scheme\"\nfrom = [\"a\", \"b\"]\nto = \"c\"\nflows = 4\n\
         [[group]]\nname = \"hog\"\nfrom = [\"d\", \"e\"]\nto = \"f\"\nflows = 2\n{hog}",
        node("x", "switch"),
    );
    outcome_of(&text).run
}

fn beside(hog: &str) -> String {
    format!("transport = {{ {} }}\n", hog.replace('\n', ", "))
}

/// The longest queue towards a host.
fn longest(run: &Run, to: &str) -> u64 {
    let place = format!("x>{to}");
    run.queues.iter().find(|queue| queue.place == place).unwrap().max_bytes
}

fn rate(run: &Run, group: &str) -> f64 {
    run.windows[0].groups.iter().find(|it| it.name == group).unwrap().throughput_bps / 1e9
}

const TCP: &str = "transport = \"ecn-star\"\nstack = \"linux-ideal\"\nack_every = 1";
/// Marks of the queue keep it shorter than what the hog leaves of the pool.
const SHARED: &str = "mark = { above = \"50KB\" }\nshared = { size = \"600KB\", MORE }";

fn shared(more: &str) -> String {
    SHARED.replace("MORE", more)
}

#[test]
fn a_constant_rate_arrives_as_it_was_sent_and_what_is_too_much_is_dropped() {
    let run = outcome(HOG, "buffer = \"100pkt\"", "");
    // Four flows of 7.5 Gb/s through links of 10 Gb/s by twos: all that these carry, at IP.
    let all = 10.0 * 1500.0 / 1538.0;
    assert!((rate(&run, "scheme") - all).abs() < 0.02, "{}", rate(&run, "scheme"));
    assert!(run.drops.data > 0 && run.marks == 0);
    let slow = outcome("transport = \"udp\"\nrate = \"1Gbps\"", "buffer = \"100pkt\"", "");
    let expected = 4.0 * 1500.0 / 1538.0;
    assert!((rate(&slow, "scheme") - expected).abs() < 0.02, "{}", rate(&slow, "scheme"));
    assert_eq!(slow.drops.data, 0);
}

#[test]
fn a_flooded_port_holds_half_of_the_pool_and_spares_the_other() {
    let run = outcome(TCP, &shared("alpha = 1"), &beside(HOG));
    let longest = [longest(&run, "f"), longest(&run, "c")];
    // What TCP has of the pool is free to neither.
    assert!((280_000..=300_000 + FRAME).contains(&longest[0]), "{longest:?}");
    assert!(longest[1] < 150_000, "{longest:?}");
    assert!(rate(&run, "scheme") > 9.5, "{}", rate(&run, "scheme"));
    assert!(run.groups[0].loss_rate <= 0.0, "{}", run.groups[0].loss_rate);
}

#[test]
fn a_full_queue_holds_exactly_its_static_limit() {
    for (limit, frames) in [("100KB", 65), ("999700B", 650)] {
        let run = outcome(HOG, &format!("shared = {{ size = \"16MB\", static = \"{limit}\" }}"), &beside(HOG));
        assert_eq!(longest(&run, "f"), frames * FRAME, "{limit}");
        assert!(run.drops_by_cause.iter().all(|drop| drop.cause == "queue_full"), "{:?}", run.drops_by_cause);
    }
}

#[test]
fn a_pool_marks_all_its_ports_and_no_others() {
    let marks = "alpha = 1, mark = { above = \"200KB\", at = \"AT\" }";
    for at in ["enqueue", "dequeue"] {
        let marks = marks.replace("AT", at);
        let one = outcome(TCP, &shared(&marks), &beside(HOG));
        // The hog does not answer, so everything is marked and windows are a packet each.
        assert!(rate(&one, "scheme") < 4.0, "{at}: {}", rate(&one, "scheme"));
        assert!(longest(&one, "f") > 290_000, "{at}");
        let apart = format!("{marks}, pools = [[\"c\"], [\"f\"]]");
        let two = outcome(TCP, &shared(&apart), &beside(HOG));
        assert!(rate(&two, "scheme") > 9.5, "{at}: {}", rate(&two, "scheme"));
    }
}

#[test]
fn bcc_marks_as_a_pool_with_its_thresholds_does() {
    let ramp = "min = \"150KB\", max = \"450KB\", probability = 0.1";
    let mut marks = Vec::new();
    for (by_pool, by_bcc) in [
        ("at = \"enqueue\"", "at = \"enqueue\""),
        ("at = \"dequeue\"", "at = \"dequeue\""),
        ("at = \"dequeue\", spacing = \"count\"", "preset = \"bcc-ns2\""),
        ("at = \"dequeue\", spacing = \"none\"", "preset = \"bcc-ns2\", spacing = \"none\""),
    ] {
        let pool = shared(&format!("alpha = 1, mark = {{ {ramp}, {by_pool} }}"));
        let bcc = format!("{}\nbcc = {{ rtt = \"20us\", lambda = 1, {ramp}, {by_bcc} }}", shared("alpha = 1"));
        let runs = [pool, bcc].map(|switch| outcome(TCP, &switch, &beside(HOG)));
        assert!(runs[0].marks > 100, "{by_bcc}: {}", runs[0].marks);
        assert_eq!(runs[0], runs[1], "{by_bcc}");
        marks.push(runs[0].marks);
    }
    assert!(marks[2] != marks[1] && marks[3] == marks[1], "{marks:?}");
}

#[test]
fn the_mean_over_ports_counts_each_port_once_and_packets_of_every_class() {
    let run = outcome(TCP, &shared("alpha = 1"), &beside(HOG));
    // Of 15 Gb/s to f 10 pass; c has data, a and b have acknowledgements, all of which pass; to d and e nothing goes.
    let third = run.loss_by_place["x>f"];
    assert!((third - 1.0 / 3.0).abs() < 0.02, "{third}");
    assert!((run.mean_port_drop_rate - third / 4.0).abs() < 1e-12, "{}", run.mean_port_drop_rate);
}

#[test]
fn who_is_not_capable_is_kept_or_dropped_as_the_switch_is_told() {
    let marks = "alpha = 1, mark = { above = \"200KB\", not_ect = \"drop\" }";
    let dropped = outcome(TCP, &shared(marks), &beside(HOG));
    assert!(longest(&dropped, "f") <= 200_000 + FRAME, "{}", longest(&dropped, "f"));
    let capable = outcome(TCP, &shared(marks), &beside(&format!("{HOG}\nect = true")));
    assert!(longest(&capable, "f") > 290_000, "marked, not dropped: {}", longest(&capable, "f"));
    assert!(capable.marks > 4_000, "{}", capable.marks);
    let queue = "buffer = \"400KB\"\nmark = { above = \"60KB\", not_ect = \"drop\" }";
    let queued = outcome(TCP, queue, &beside(HOG));
    assert!(longest(&queued, "f") <= 60_000, "{}", longest(&queued, "f"));
}

#[test]
fn ecn_capable_packets_are_marked_by_one_rule_and_others_dropped_by_another() {
    let (mark, drop) = ("mark = { above = \"50KB\" }", "drop = { above = \"300KB\" }");
    let ect = format!("{HOG}\nect = true");
    let (above, full) = (300_000 - FRAME..=300_000, 400_000 - FRAME..=400_000);
    for (rules, hog, expected, marked) in [
        (format!("{mark}\n{drop}"), HOG, above.clone(), false),
        (format!("{mark}\n{drop}"), &ect, full, true),
        (drop.to_owned(), &ect, above, false),
    ] {
        let run = outcome("transport = \"newreno\"", &format!("buffer = \"400KB\"\n{rules}"), &beside(hog));
        let longest = longest(&run, "f");
        assert!(expected.contains(&longest) && (run.marks > 4_000) == marked, "{rules}: {longest}, {}", run.marks);
    }
}

#[test]
fn marks_at_random_are_as_many_as_the_ramp_says() {
    // The hog's queue is full, 400 KB, in the middle of a ramp to 20 %: one packet in ten of the link's.
    let ramp = "buffer = \"400KB\"\nmark = { min = \"200KB\", max = \"600KB\", probability = 0.2 }";
    let hog = format!("{HOG}\nect = true");
    let run = outcome(&hog, ramp, "");
    let part = run.marks as f64 / run.delivered_data_packets as f64;
    assert!((0.085..0.115).contains(&part), "{part}");
    let again = outcome(&hog, ramp, "");
    assert_eq!((run.marks, run.drops.data), (again.marks, again.drops.data), "drawn by the seed");
}

#[test]
fn an_average_lets_a_burst_pass_that_a_length_at_the_moment_marks() {
    // Two senders send ten packets each at once. While the fourth two arrive one leaves, and the second of them is the
    // fourth that waits, beyond 5 KB: it and the six times two that follow are marked.
    let marks = |weight: u32| {
        let mark = format!("buffer = \"400KB\"\nmark = {{ above = \"5KB\", weight = {weight} }}");
        let few = "transport = { transport = \"dctcp\" }\nsize = \"14600B\"";
        outcome("transport = \"udp\"\nrate = \"1Gbps\"", &mark, few).marks
    };
    assert_eq!((marks(0), marks(9)), (13, 0));
}

#[test]
fn a_pool_says_what_its_queues_held() {
    let run = outcome(TCP, &shared("alpha = 1"), &beside(HOG));
    let [pool] = &run.pools[..] else { panic!("{:?}", run.pools) };
    assert_eq!((pool.place.as_str(), pool.ports, pool.size_bytes), ("x", 6, 600_000));
    assert_eq!(run.max_pool_bytes, Some(pool.max_bytes));
    // Nothing is private, so means add up; the longest times of two queues need not be the same.
    let mean: f64 = run.queues.iter().map(|queue| queue.mean_bytes).sum();
    assert!((pool.mean_bytes - mean).abs() < 1e-3, "{} {mean}", pool.mean_bytes);
    let [hog, tcp] = ["f", "c"].map(|to| longest(&run, to));
    assert!((hog + 1..=hog + tcp + 5 * FRAME).contains(&pool.max_bytes), "{}", pool.max_bytes);
    assert!(outcome(TCP, "buffer = \"100pkt\"", "").max_pool_bytes.is_none());
}

#[test]
fn a_pool_of_one_port_is_as_that_ports_queue() {
    let run = outcome(TCP, &shared("alpha = 1, pools = [[\"c\"], [\"f\"]]"), &beside(HOG));
    // The ports of the others share what is not listed, and the first of them comes first.
    for (to, place) in [("c", "x/1"), ("f", "x/2")] {
        let pool = run.pools.iter().find(|pool| pool.place == place).unwrap();
        let queue = run.queues.iter().find(|queue| queue.place == format!("x>{to}")).unwrap();
        assert_eq!(pool.max_bytes, queue.max_bytes);
        assert!((pool.mean_bytes - queue.mean_bytes).abs() < 1e-3);
        let quantiles = [pool.p50_bytes, pool.p99_bytes, pool.p9999_bytes];
        assert_eq!(quantiles, [queue.p50_bytes, queue.p99_bytes, queue.p9999_bytes], "{to}");
        assert_eq!(pool.above, queue.above);
        let above = pool.above["200KB"];
        assert!(if to == "f" { above > 0.5 } else { above <= 0.0 }, "{to}: {above}");
    }
}

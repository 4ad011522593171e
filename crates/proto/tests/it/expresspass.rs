//! Both ends of `ExpressPass`, packet by packet.

use crate::support::{CapturedPacket, DELAY, DropRule, GAP, PAYLOAD, Pair, Path, lose, us};
use shallop_control::expresspass::{CodeConfig, Rule};
use shallop_core::{BitsPerSec, Bytes, Class, Ecn, Seed, Span, Time};
use shallop_proto::expresspass::StopPolicy::{Demand, Early, LastData};
use shallop_proto::expresspass::{Config, Head, Peer, Receiver, Sender, StopPolicy};
use shallop_proto::{Endpoint, Out, aeolus};
use std::fmt::Write as _;

/// Without jitter, so that times are known.
fn config(stop: StopPolicy) -> Config {
    Config { stop, min_jitter: 0.0, max_jitter: 0.0, ..Config::new(BitsPerSec::gbps(10)) }
}

fn code(alpha: f64) -> CodeConfig {
    CodeConfig { alpha, ..CodeConfig::default() }
}

fn pair(config: &Config, rule: CodeConfig, size: u64) -> Pair<Peer<Rule>> {
    pair_on(Path::fast(), config, rule, size)
}

fn pair_on(path: Path, config: &Config, rule: CodeConfig, size: u64) -> Pair<Peer<Rule>> {
    let chance = Seed::new(1).stream("credits", 0);
    let receiver = Receiver::new(config, Rule::code(rule), chance);
    let sender = Sender::new(config, Some(size));
    Pair::new(Peer::sender(sender), Peer::receiver(receiver), path, 1)
}

type Packet = CapturedPacket<Head>;

/// Drops packets of one kind by their numbers, which count packets of this kind from 0.
fn losing(kind: &str, numbers: &[&str]) -> DropRule<Head> {
    let number = |word: &str| word.parse::<usize>().expect("a number");
    let range = |word: &&str| {
        let (first, last) = word.split_once('-').unwrap_or((word, word));
        number(first)..=number(last)
    };
    let ranges: Vec<_> = numbers.iter().map(range).collect();
    let which: Box<dyn Fn(&Packet) -> bool> = match kind.split_once('-').unwrap_or((kind, "")) {
        ("credits", _) => Box::new(is_credit),
        ("data", _) => Box::new(is_data),
        ("unscheduled", _) => Box::new(|packet| packet.class == Class::Unscheduled),
        ("requests", _) => Box::new(|packet| matches!(packet.head, Head::Request { .. })),
        ("nacks", _) => Box::new(|packet| matches!(packet.head, Head::Nack { .. })),
        ("completes", _) => Box::new(|packet| matches!(packet.head, Head::Complete { .. })),
        ("frame", frame) => {
            let frame = number(frame) as u64;
            Box::new(move |packet| !packet.body.is_empty() && packet.frame() == frame)
        }
        _ => panic!("not a kind: {kind:?}"),
    };
    Box::new(lose(which, move |number| ranges.iter().any(|range| range.contains(&number))))
}

fn is_data(packet: &Packet) -> bool {
    packet.class == Class::Data
}
fn is_credit(packet: &Packet) -> bool {
    packet.class == Class::Credit
}

/// The flow of a paragraph of `expresspass.txt`, after its end.
fn flow<'a>(flow: &str, lines: impl Iterator<Item = &'a str>) -> Pair<Peer<Rule>> {
    let words: Vec<&str> = flow.split([' ', ',']).filter(|word| !word.is_empty()).collect();
    let [frames, "frames", stop, "alpha", alpha] = words[..] else { panic!("not a flow: {flow:?}") };
    let stop = match stop {
        "last-data" => LastData,
        "early" => Early,
        "demand" => Demand,
        _ => panic!("not a rule: {stop:?}"),
    };
    let mut size = frames.parse::<u64>().expect("a number") * PAYLOAD;
    let (mut config, mut path, mut drops) = (config(stop), Path::fast(), Vec::new());
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["timeout", time] => config.retransmit_timeout = time.parse().expect("a time"),
            ["less", bytes] => size -= bytes.parse::<u64>().expect("a number"),
            ["reorder", part] => (path.reorder, path.late) = (part.parse().expect("a part"), GAP * 2),
            ["burst"] => {
                let max_burst = config.link.bytes_in(DELAY * 2);
                config.unscheduled = Some(aeolus::Config { link: config.link, max_burst, renew_after: Span::ZERO });
            }
            ["buffer", frames] => {
                config.send_buffer = Some(Bytes::new(frames.parse::<u64>().expect("a number") * PAYLOAD));
            }
            ["lose", kind, ..] => drops.push(losing(kind, &words[2..])),
            _ => panic!("not a line: {line:?}"),
        }
    }
    let lost = move |packet: &Packet| drops.iter_mut().fold(false, |lost, drop| drop(packet) | lost);
    let pair = pair_on(path, &config, code(alpha.parse().expect("alpha")), size).with_drops(lost).finished();
    assert_eq!(pair.carried(), (size > 0).then_some((0, size)).into_iter().collect::<Vec<_>>(), "{flow}");
    pair
}

/// A paragraph of `expresspass.txt`: its name, what was sent, and what both ends counted.
fn told(paragraph: &str) -> String {
    let mut lines = paragraph.lines();
    let (name, words) = (lines.next().expect("a name"), lines.next().expect("a flow"));
    let (pair, mut told) = (flow(words, lines), format!("{name}: {words}\n"));
    let is_of_ends = |packet: &&Packet| matches!(packet.class, Class::Control | Class::Ack);
    let is_of_a_frame = |packet: &&Packet| matches!(packet.head, Head::UnscheduledAck { length: 1.., .. });
    for packet in pair.capture.iter().filter(is_of_ends).filter(|packet| !is_of_a_frame(packet)) {
        let lost = if packet.lost { ", lost" } else { "" };
        writeln!(told, "{:>12} {:?}{lost}", packet.sent.since_start().to_string(), packet.head).expect("a string");
    }
    let generation = pair.capture.iter().map(|packet| match packet.head {
        Head::Data { generation, .. } => generation,
        _ => 0,
    });
    let [sender, receiver] = pair.ends.each_ref().map(Endpoint::counters);
    let (credits, times) = (sender.credits, times(&pair, is_credit));
    let ends = times.first().zip(times.last()).map_or_else(String::new, |(first, last)| format!(", {first} to {last}"));
    let (metered, used, wasted) = (receiver.metered, credits.used, credits.wasted);
    let (sent, again, back) = (sender.sent, sender.retransmits, generation.max().unwrap_or(0));
    let (duplicates, timeouts) = (receiver.duplicates, sender.timeouts);
    writeln!(told, "credits: {metered} sent{ends}, {used} used, {wasted} wasted").expect("a string");
    writeln!(told, "data: {sent} sent, {again} again, {back} times back; {duplicates} duplicates; {timeouts} timeouts")
        .expect("a string");
    if sender.unscheduled > 0 {
        let on_credits = runs(&pair.frames(Class::Data));
        let burst = pair.frames(Class::Unscheduled).len();
        writeln!(told, "burst: {burst} frames; on credits: {on_credits}").expect("a string");
    }
    told + "\n"
}

/// Numbers of frames in their order: `3-5` for 3, 4 and 5, and `5-3` for 5, 4 and 3.
fn runs(frames: &[u64]) -> String {
    let mut runs = Vec::new();
    let mut rest = frames;
    while let [first, ..] = rest {
        let up = rest.windows(2).take_while(|two| two[0] + 1 == two[1]).count();
        let down = rest.windows(2).take_while(|two| two[0] == two[1] + 1).count();
        let length = up.max(down);
        runs.push(if length == 0 { first.to_string() } else { format!("{first}-{}", rest[length]) });
        rest = &rest[length + 1..];
    }
    runs.join(" ")
}

#[test]
fn flows_are_as_in_the_snapshot() {
    let paragraphs = include_str!("expresspass.txt")
        .split("\n\n")
        .map(|paragraph| paragraph.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n"));
    let all: String = paragraphs.filter(|paragraph| !paragraph.is_empty()).map(|paragraph| told(&paragraph)).collect();
    insta::assert_snapshot!(all);
}

fn times(pair: &Pair<Peer<Rule>>, which: fn(&Packet) -> bool) -> Vec<Span> {
    pair.capture.iter().filter(|packet| which(packet)).map(|packet| packet.sent.since_start()).collect()
}

fn near(span: Span, expected: Span, tolerance: Span) -> bool {
    span.saturating_sub(expected).max(expected.saturating_sub(span)) <= tolerance
}

#[test]
fn the_first_byte_leaves_after_a_round_trip_and_others_at_the_credit_rate() {
    let pair = pair(&config(LastData), code(0.5), 20 * PAYLOAD).finished();
    let data = times(&pair, is_data);
    let small = Span::from_us(1);
    assert!(near(data[0], DELAY * 2, small), "first data at {}", data[0]);
    for pair in data.windows(2) {
        assert!(near(pair[1] - pair[0], GAP * 2, Span::from_ns(1)), "{pair:?}");
    }
    let sizes: Vec<u16> = pair.of_class(Class::Data).map(|packet| packet.size).collect();
    assert_eq!(sizes, [1538; 20]);
    let others = pair.capture.iter().filter(|packet| !is_data(packet));
    assert!(others.into_iter().all(|packet| packet.size == 84 && packet.body.is_empty()));
}

#[test]
fn the_first_byte_lands_after_one_and_a_half_round_trips() {
    let mut pair = pair(&config(LastData), code(0.5), PAYLOAD);
    while pair.ends[1].counters().received == 0 {
        let next = pair.now + Span::from_ns(100);
        pair.run(next);
    }
    assert!(near(pair.now.since_start(), DELAY * 3, Span::from_us(2)), "{}", pair.now);
}

#[test]
fn a_constant_wait_delays_data_until_it_arrives_that_long_after_its_credit_left() {
    // A wait below the round trip of two delays has no effect.
    for (wait, turn_around) in [(None, DELAY), (Some(DELAY), DELAY), (Some(DELAY * 5), DELAY * 4)] {
        let pair = pair(&Config { wait, ..config(Demand) }, code(0.5), 20 * PAYLOAD).finished();
        let mut count = 0;
        for packet in &pair.capture {
            if let Head::Data { credit_sent, .. } = packet.head {
                assert!(near(packet.sent - credit_sent, turn_around, Span::from_us(2)), "{wait:?}: {packet:?}");
                count += 1;
            }
        }
        assert_eq!((count, pair.ends[0].counters().retransmits), (20, 0));
    }
}

#[test]
fn a_small_flow_starts_in_proportion_and_its_first_update_is_a_round_trip_later() {
    let rule = CodeConfig { w_init: 0.0625, full_start: Some(40), ..code(0.5) };
    let jitter = Config::new(BitsPerSec::gbps(10));
    let short = Path { delay: Span::from_us(25), ..Path::fast() };
    let pair = pair_on(short, &jitter, rule, 10 * PAYLOAD).finished();
    let credits = times(&pair, is_credit);
    // The round trip of a credit and its data: two delays, 84 and 1538 bytes.
    let round_trip = Span::from_us(50) + Span::from_ps(67_200 + 1_230_400);
    for pair in credits.windows(2) {
        let trips = (pair[0] - credits[0]).ratio(round_trip);
        let rate = if trips < 1.0 { 0.125 } else { 0.1797 };
        let deviation = (pair[1] - pair[0]).ratio(GAP) * rate - 1.0;
        assert!(trips >= 2.0 || deviation.abs() <= 0.101, "{deviation} after {trips} round trips");
    }
    assert!(credits[10] - credits[0] > round_trip, "{credits:?}");
}

#[test]
fn missing_data_is_not_reported_while_data_still_arrives() {
    let chance = Seed::new(1).stream("credits", 0);
    let rule = Rule::code(code(1.0));
    let mut receiver = Receiver::new(&config(LastData), rule, chance);
    let mut receive = |at: u64, head: Head| {
        let now = us(at);
        receiver.on_packet(now, &head, Ecn::Ect);
        receiver.poll_metered(now);
        receiver.poll(now).map(|out| out.head)
    };
    let end = 10 * PAYLOAD;
    receive(0, Head::Request { demand: 10, end: Some(end), sent: Time::ZERO });
    let data = Head::Data { offset: 0, length: 1460, generation: 0, credit: 0, credit_sent: Time::ZERO };
    assert_eq!(receive(100, data), None);
    let stop = |reply_requested| Head::Stop { end, generation: 0, reply_requested };
    assert_eq!(receive(110, stop(false)), None);
    assert_eq!(receive(150, stop(true)), None, "a round trip takes 100 us and data came 50 us ago");
    assert_eq!(receive(210, stop(true)), Some(Head::Nack { expected: PAYLOAD, generation: 0 }));
}

#[test]
fn credits_after_the_end_are_wasted_and_late_credits_get_a_stop() {
    let mut pair = pair(&config(Demand), code(1.0), PAYLOAD).finished();
    let [sender, _] = &mut pair.ends;
    let credit = |sent| Head::Credit { sequence: 9, sent, request_sent: Time::ZERO, remaining: 0 };
    let mut send_credit = |now: Time| {
        sender.on_packet(now, &credit(now), Ecn::Ect);
        assert_eq!(sender.wakeup(), None, "a sender that is done has no timer");
        sender.poll(now).map(|Out { head, .. }| matches!(head, Head::Stop { reply_requested: true, .. }))
    };
    let answers = [3_100, 8_000, 8_100, 12_000].map(|at| send_credit(us(at)));
    assert_eq!(answers, [None, Some(true), None, Some(true)]);
    let credits = sender.counters().credits;
    assert_eq!((credits.granted, credits.used, credits.wasted), (5, 1, 4));
}

#[test]
fn credit_sizes_are_drawn_from_their_range() {
    let config = Config { max_credit: 92, ..config(LastData) };
    let pair = pair(&config, code(1.0), 3000 * PAYLOAD).finished();
    let mut counts = [0u32; 9];
    for packet in pair.of_class(Class::Credit) {
        counts[usize::from(packet.size) - 84] += 1;
    }
    assert!(counts.iter().all(|&count| count > 300), "{counts:?}");
}

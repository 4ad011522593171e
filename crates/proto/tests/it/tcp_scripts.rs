//! Scripts for a sender of TCP: acknowledgements, and what the sender does. Each file in the folder `scripts` is a
//! test.
//!
//! A script is a paragraph: `test NAME`, the sender, and steps. With several lines `sender`, each of these senders runs
//! the script; `|` separates what is expected of each, if it differs. Times are in ms, numbers are of segments.
//!
//! | step | meaning |
//! |---|---|
//! | `-> 0-3 5` | what is sent now; `...` at the end: and more; `*`: anything; `5/cwr`: with CWR |
//! | `10 ack 4 sack 6-8` | at 10 ms segments below 4 are acknowledged, and 6 to 8 selectively |
//! | `until 400 -> 3@205` | runs all timers before 400 ms, which send 3 at 205 ms |
//! | `is window 5, losses 1` | the names of values are in [`value`] |
//! | `next 3 at 21` | the next flow on the connection, of three segments, starts at 21 ms |
//! | `NAME` | the steps of the paragraph `prelude NAME` |
//!
//! Behind an acknowledgement may stand `ece`, `echo TIME` for the timestamp of a segment that was sent then, `window
//! BYTES`, and `-> LIST`.

use crate::support::tcp::{SEGMENT, SenderHarness, Spy, us};
use shallop_core::{BitsPerSec, Time};
use shallop_proto::Endpoint;
use shallop_proto::tcp::segment::{Segment, SegmentState};
use shallop_proto::tcp::{Config, Detection, EcnConfig, Flags, Head, IdleRestart, Sender, Spurious, Stack, Timestamp};
use std::collections::BTreeMap;

pub fn number(word: &str) -> u64 {
    word.parse().unwrap_or_else(|_| panic!("not a number: {word:?}"))
}

pub fn time(word: &str) -> Time {
    us((word.parse::<f64>().expect("a time in ms") * 1e3).round() as u64)
}

/// The sender that a line describes: its stack, and words that change it and its controller.
fn sender(line: &str) -> SenderHarness {
    let mut words = line.split(' ');
    let mut config = match words.next() {
        Some("ns2") => Stack::NS2.tcp,
        Some("ns3") => Stack::NS3.tcp,
        Some("linux") => Stack::LINUX.tcp,
        Some("linux-ideal") => Stack::LINUX_IDEAL.tcp,
        other => panic!("not a stack: {other:?}"),
    };
    let (mut spy, mut size) = (Spy::new(10), None);
    for word in words {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        match key {
            "window" => spy = Spy { pace: spy.pace, ..Spy::new(number(value)) },
            "owns" => spy.owns = true,
            "autotuning" => config.receive_autotuning = true,
            "idle" => {
                config.slow_start_after_idle = match value {
                    "never" => IdleRestart::Never,
                    "estimate" => IdleRestart::Estimate,
                    _ => IdleRestart::Timeout,
                };
            }
            "after" => spy.after = Spy::new(number(value)).window,
            "Mbps" => spy.pace = BitsPerSec::new((value.parse::<f64>().expect("a rate") * 1e6) as u64),
            "size" => size = Some(number(value)),
            "gso" => config.gso_max_segs = value.parse().unwrap_or(u16::MAX),
            "detection" => {
                config.detection = if value == "sack" { Detection::Sack } else { Detection::Rack };
            }
            "ecn" => {
                config.ecn = EcnConfig { ecn_gradual: value == "gradual", ..EcnConfig::CLASSIC };
            }
            "undo" => {
                let of = |name: &str| value == name || value == "linux";
                config.spurious = Spurious { dsack: of("dsack"), timestamps: of("timestamps"), frto: of("frto") };
            }
            _ => panic!("{word:?} is no word of a sender"),
        }
    }
    SenderHarness::sized(&config, spy, size)
}

/// The numbers of a list such as `0-3 5`, in words. Words with a colon stay.
pub fn list(text: &str) -> Vec<String> {
    let each = |word: &str| match word.split_once('-').filter(|_| !word.contains(':')) {
        Some((from, to)) => (number(from)..=number(to)).map(|number| number.to_string()).collect(),
        None => vec![word.to_owned()],
    };
    text.split_whitespace().flat_map(each).collect()
}

/// Gives the sender the acknowledgement that a step describes.
fn acknowledge(hand: &mut SenderHarness, step: &str) {
    let mut words = step.split(' ');
    let mut next = || words.next().unwrap_or_default();
    let (at, verb, cumulative) = (time(next()), next(), number(next()));
    assert_eq!(verb, "ack", "{step}");
    let mut head = Head { flags: Flags::ACK, timestamp: Timestamp::at(at), ..Head::default() };
    let mut blocks = Vec::new();
    let mut key = "";
    for word in words {
        match (key, word) {
            (_, "ece") => head.flags |= Flags::ECE,
            (_, "sack" | "echo" | "window") => key = word,
            ("sack", range) => {
                let (from, to) = range.split_once('-').unwrap_or((range, range));
                blocks.push((number(from), number(to) + 1));
            }
            ("echo", word) => head.timestamp = Timestamp::at(time(word)),
            ("window", word) => (head.window, head.scale) = ((number(word) >> 10) as u16, 10),
            _ => panic!("{word:?} in {step}"),
        }
    }
    hand.respond(at, cumulative, &blocks, head);
}

/// A next flow on the connection, from a line such as `3 at 21`: segments and milliseconds.
fn next(hand: &mut SenderHarness, line: &str) {
    let (segments, at) = line.split_once(" at ").expect("segments and a time");
    let config = Config { handshake: false, ..hand.config };
    let mut sender = Sender::new(&config, Spy::new(1), Some(number(segments) * SEGMENT));
    sender.continue_connection(&hand.sender);
    sender.on_timer(time(at));
    *hand = SenderHarness { sender, now: time(at), before: vec![], config };
}

/// What is known of the sender and of what its controller was told, as words.
fn value(hand: &SenderHarness, key: &str) -> String {
    let (spy, board, counters) = (hand.spy(), &hand.sender.scoreboard, hand.sender.counters());
    let words = |all: &mut dyn Iterator<Item = u64>| all.map(|it| it.to_string()).collect::<Vec<_>>().join(" ");
    let segments = |is: &dyn Fn(&Segment) -> bool| words(&mut (0..64).filter(|&n| board.segment(n).is_some_and(is)));
    let state = hand.sender.flow_state().unwrap_or_default();
    let count = match key {
        "window" => spy.window.get() / SEGMENT,
        "losses" => spy.losses.len() as u64,
        "marks" => spy.marks.len() as u64,
        "timeouts" => spy.timeouts.len() as u64,
        "exits" => spy.exits.len() as u64,
        "undos" => spy.undos.len() as u64,
        "undone" => counters.undos,
        "spurious" => counters.spurious_retransmits,
        "retransmits" => counters.retransmits,
        "pipe" => board.pipe() / SEGMENT,
        "lost" => board.lost / SEGMENT,
        "delivered" => state.delivered.unwrap_or_default(),
        "sent" => counters.sent,
        "complete" => u64::from(hand.sender.is_complete()),
        "srtt" => hand.sender.rtt().srtt.as_ps() / 1_000_000_000,
        // Of the connection, as the controller knows them.
        "una" => spy.acks.last().map_or(0, |ack| ack.snd_una / SEGMENT),
        "nxt" => spy.acks.last().map_or(0, |ack| ack.snd_nxt / SEGMENT),
        "in_all" => spy.acks.last().map_or(0, |ack| ack.delivered.get() / SEGMENT),
        "repeated" => return words(&mut spy.timeouts.iter().map(|(loss, _)| loss.snd_una / SEGMENT)),
        "in_flight" => return words(&mut spy.losses.iter().map(|loss| loss.prior_in_flight.get() / SEGMENT)),
        "idles" => return words(&mut spy.idles.iter().map(|idle| idle.as_ps() / 1_000_000_000)),
        // Whether each timeout was the first for its byte, each loss followed a mark, the window was the limit.
        "first" => return words(&mut spy.timeouts.iter().map(|(_, first)| u64::from(*first))),
        "in_cwr" => return words(&mut spy.losses.iter().map(|loss| u64::from(loss.in_cwr))),
        "limited" => return words(&mut spy.acks.iter().map(|ack| u64::from(ack.is_cwnd_limited))),
        // Of each acknowledgement.
        "acked" => return words(&mut spy.acks.iter().map(|ack| ack.acked_sacked.get() / SEGMENT)),
        "advances" => return words(&mut spy.acks.iter().map(|ack| ack.snd_una_advance.get() / SEGMENT)),
        // Windows before reductions that were undone.
        "prior" => return words(&mut spy.undos.iter().map(|undo| undo.prior_cwnd.get() / SEGMENT)),
        // Segments in these states.
        "marked_lost" => return segments(&|it| it.state == SegmentState::Lost),
        "in_flight_once" => return segments(&|it| it.state == SegmentState::InFlight && !it.retransmitted),
        "state" => return state.ca_state.map(|state| format!("{state:?}").to_lowercase()).unwrap_or_default(),
        _ => panic!("unknown value {key:?}"),
    };
    count.to_string()
}

/// What is expected of the end with this number.
fn own(text: &str, end: usize) -> String {
    text.split('|').nth(end).or(text.split('|').next()).unwrap_or_default().trim().to_owned()
}

/// The event of a step, and what is expected of the end with this number.
pub fn parts(step: &str, end: usize) -> (&str, Option<String>) {
    step.split_once("->").map_or((step, None), |(event, sent)| (event.trim(), Some(own(sent, end))))
}

/// What is wrong with these values, such as `window 5, losses 1`.
pub fn wrong_values(values: &str, end: usize, value: impl Fn(&str) -> String) -> Option<String> {
    values.split(", ").find_map(|check| {
        let (key, expected) = check.split_once(' ').unwrap_or((check, ""));
        let (found, expected) = (value(key), own(expected, end));
        (found != expected).then(|| format!("{key} is {found}, not {expected}"))
    })
}

/// Runs a step for the sender with this number. Returns what is wrong.
fn wrong(hand: &mut SenderHarness, step: &str, sender: usize) -> Option<String> {
    let (event, sent) = parts(step, sender);
    if let Some(values) = event.strip_prefix("is ") {
        return wrong_values(values, sender, |key| value(hand, key));
    }
    let mut left: Vec<String> = Vec::new();
    match event.strip_prefix("until ") {
        Some(until) => {
            let timed = hand.advance(time(until)).into_iter();
            left.extend(timed.map(|(at, segment)| format!("{segment}@{}", at.since_start().as_secs_f64() * 1e3)));
        }
        None if event.is_empty() => {}
        None if event.starts_with("next ") => next(hand, &event[5..]),
        None => acknowledge(hand, event),
    }
    let sent = sent?;
    // CWR is part of the script if it is expected somewhere.
    let shows_cwr = sent.contains("/cwr");
    for out in hand.take() {
        let end = if shows_cwr && out.head.flags.has(Flags::CWR) { "/cwr" } else { "" };
        left.push(format!("{}{end}", out.body.start / SEGMENT));
    }
    let (expected, more) = sent.strip_suffix("...").map_or((&*sent, false), |begun| (begun, true));
    let expected = list(expected);
    let is_right = sent == "*" || left == expected || more && left.starts_with(&expected);
    (!is_right).then(|| format!("it sends {}, not {sent}", left.join(" ")))
}

/// Runs all scripts of a file, which are for ends of this kind.
pub fn hold<E>(text: &str, kind: &str, end: fn(&str) -> E, wrong: fn(&mut E, &str, usize) -> Option<String>) {
    let (mut preludes, mut all) = (BTreeMap::new(), Vec::new());
    for paragraph in text.split("\n\n") {
        let lines = paragraph.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
        let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
        let Some((title, lines)) = lines.split_first() else { continue };
        if let Some(name) = title.strip_prefix("prelude ") {
            preludes.insert(name, lines.to_vec());
            continue;
        }
        let (ends, steps): (Vec<&str>, Vec<&str>) = lines.iter().partition(|line| line.starts_with(kind));
        let steps = steps.into_iter().flat_map(|step| preludes.get(step).cloned().unwrap_or_else(|| vec![step]));
        let steps: Vec<&str> = steps.collect();
        for (nth, line) in ends.into_iter().enumerate() {
            let mut hand = end(&line[kind.len() + 1..]);
            let found = steps
                .iter()
                .find_map(|step| Some(format!("{title}, {line}: {step}: {}", wrong(&mut hand, step, nth)?)));
            all.extend(found);
        }
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}

macro_rules! scripts {
    ($($name:ident)+) => {
        $(
            #[test]
            fn $name() {
                hold(include_str!(concat!("scripts/", stringify!($name), ".txt")), "sender", sender, wrong);
            }
        )+
    };
}

scripts! { bursts kept marks recovery states undo }

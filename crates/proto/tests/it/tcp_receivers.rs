//! Scripts for a receiver of TCP: what arrives, and how it is acknowledged. `scripts/receivers.txt` has them, in the
//! form of the scripts for senders (`tcp_scripts.rs`).
//!
//! | step | meaning |
//! |---|---|
//! | `1 data 3-5 ce -> 3:5-6` | at 1 ms a marked segment from 3 to 5 arrives; the ACK of 3 has the SACK range 5 to 6 |
//! | `1 each 0-9` | ten segments arrive one by one, and acknowledgements wait for the link |
//! | `1 poll 5 -> 1-5` | the first five leave |
//! | `42 timer ->` | the timer expires |
//! | `is edge 10` | the names of values are in [`value`] |

use crate::support::tcp::SEGMENT;
use crate::tcp_scripts::{hold, list, number, parts, time, wrong_values};
use shallop_core::{Bytes, Ecn, Time};
use shallop_proto::tcp::{Config, DelayedAcks, EcnConfig, Flags, Head, Receiver, Spurious, Stack};
use shallop_proto::{Endpoint, Out};

/// A receiver, and the bytes of a number in its script.
struct ReceiverHarness {
    receiver: Receiver,
    unit: u64,
    last: Option<Out<Head>>,
}

/// The receiver that a line describes: its stack, and words that change it.
fn receiver(line: &str) -> ReceiverHarness {
    let mut words = line.split(' ');
    let stack = match words.next() {
        Some("ns2") => Stack::NS2,
        Some("linux") => Stack::LINUX,
        Some("linux-ideal") => Stack::LINUX_IDEAL,
        other => panic!("not a stack: {other:?}"),
    };
    let mut config = Config { handshake: false, acks: DelayedAcks::OFF, receive_autotuning: false, ..stack.tcp };
    let (mut size, mut unit) = (None, SEGMENT);
    for word in words {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        match key {
            "unit" => unit = number(value),
            "size" => size = Some(number(value) * SEGMENT),
            "buffer" => config.receive_buffer = Bytes::new(number(value) * SEGMENT),
            "acks" => config.acks = stack.tcp.acks,
            "every" => config.acks.ack_every = number(value) as u32,
            "delay" => config.acks.ack_delay = value.parse().expect("a time"),
            "quick" => config.acks.ack_quick = number(value) as u32,
            "bytes" => config.acks.ack_size = Some(Bytes::new(number(value))),
            "ecn" => config.ecn = EcnConfig::EXACT,
            "dsack" => config.spurious = Spurious { dsack: true, ..Spurious::OFF },
            "linux" => config.spurious = Spurious::LINUX,
            "kernel" => config.kernel_habits = value == "yes",
            "fq" => config.fq_flow_limit = number(value) as u16,
            _ => panic!("unknown option {word:?} of a receiver"),
        }
    }
    ReceiverHarness { receiver: Receiver::new(&config, size), unit, last: None }
}

/// What is known of the receiver and of its last acknowledgement.
fn value(hand: &ReceiverHarness, key: &str) -> String {
    let (counters, last) = (hand.receiver.counters(), hand.last.as_ref());
    match key {
        "edge" => last.map(|out| (out.head.right_edge() / hand.unit).to_string()),
        "bytes" => last.map(|out| out.size.to_string()),
        "class" => last.map(|out| out.class.name().to_owned()),
        "received" => Some((counters.received / hand.unit).to_string()),
        "duplicates" => Some(counters.duplicates.to_string()),
        "complete" => Some(u64::from(hand.receiver.is_complete()).to_string()),
        "wakeup" => hand.receiver.wakeup().map(|due| (due.since_start().as_secs_f64() * 1e3).to_string()),
        _ => panic!("unknown value {key:?}"),
    }
    .unwrap_or_default()
}

fn arrive(hand: &mut ReceiverHarness, now: Time, (from, to): (u64, u64), mark: &str) {
    let (seq, len) = (from * hand.unit, ((to - from) * hand.unit) as u16);
    let ecn = if mark == "ce" { Ecn::Ce } else { Ecn::Ect };
    hand.receiver.on_packet(now, &Head { seq, len, ..Head::default() }, ecn);
}

/// Runs a step. Returns what is wrong.
fn wrong(hand: &mut ReceiverHarness, step: &str, end: usize) -> Option<String> {
    let (event, expected) = parts(step, end);
    if let Some(values) = event.strip_prefix("is ") {
        return wrong_values(values, end, |key| value(hand, key));
    }
    let mut words = event.split(' ');
    let mut next = || words.next().unwrap_or_default();
    let (now, verb, range, mark) = (time(next()), next(), next(), next());
    let (from, to) = range.split_once('-').map_or((range, None), |(from, to)| (from, Some(number(to))));
    let mut most = usize::MAX;
    match verb {
        "data" => arrive(hand, now, (number(from), to.unwrap_or_else(|| number(from) + 1)), mark),
        "each" => (number(from)..=to.unwrap_or_default()).for_each(|at| arrive(hand, now, (at, at + 1), mark)),
        "poll" => most = number(from) as usize,
        "timer" => hand.receiver.on_timer(now),
        _ => panic!("{verb:?} in {step}"),
    }
    let expected = expected?;
    let mut said = Vec::new();
    for out in std::iter::from_fn(|| hand.receiver.poll(now)).take(most) {
        let blocks = out.head.blocks.iter().map(|block| block.range(out.head.ack)).filter(|range| !range.is_empty());
        let blocks = blocks.map(|range| format!("{}-{}", range.start / hand.unit, range.end / hand.unit));
        let (ack, blocks) = (out.head.ack / hand.unit, blocks.collect::<Vec<_>>().join(","));
        let colon = if blocks.is_empty() { "" } else { ":" };
        let echo = if out.head.flags.has(Flags::ECE) { "/ece" } else { "" };
        said.push(format!("{ack}{colon}{blocks}{echo}"));
        hand.last = Some(out);
    }
    (said != list(&expected)).then(|| format!("it says {}, not {expected}", said.join(" ")))
}

#[test]
fn receivers_acknowledge_as_their_scripts_say() {
    hold(include_str!("scripts/receivers.txt"), "receiver", receiver, wrong);
}

//! Congestion marks: which packets are ECN-capable, how receivers echo marks, and how senders respond.

use crate::support::tcp::{SEGMENT, SenderHarness, Spy, ms, pair_with, plain, sender, us};
use crate::support::{Pair, Path};
use shallop_control::Marking;
use shallop_core::{Class, Ecn, Span};
use shallop_proto::Endpoint;
use shallop_proto::tcp::{Config, DelayedAcks, EcnConfig, Flags, Head, Receiver, Tcp};
use std::collections::BTreeSet;

fn classic() -> Config {
    Config { ecn: EcnConfig::CLASSIC, ..plain() }
}

/// Acknowledgements of a receiver to which segments with and without marks arrive: (segments acknowledged, ECE).
fn echoes(config: &Config, marks: &[bool]) -> Vec<(u64, bool)> {
    let mut receiver = Receiver::new(config, None);
    let mut said = vec![];
    for (number, &marked) in (0..).zip(marks) {
        let head = Head { seq: number * SEGMENT, len: SEGMENT as u16, ..Head::default() };
        receiver.on_packet(us(number), &head, if marked { Ecn::Ce } else { Ecn::Ect });
        while let Some(out) = receiver.poll(us(number)) {
            said.push((out.head.ack / SEGMENT, out.head.flags.has(Flags::ECE)));
        }
    }
    said
}

#[test]
fn a_change_of_marks_is_acknowledged_at_once_with_the_old_ece() {
    let acks = DelayedAcks { ack_every: 2, ack_delay: Span::from_ms(40), ack_quick: 0, ack_size: None };
    let config = Config { ecn: EcnConfig::EXACT, acks, ..plain() };
    let marks = [false, false, false, true, true, true, false, false];
    let said = echoes(&config, &marks);
    assert_eq!(said, [(2, false), (3, false), (5, true), (6, true), (8, false)]);
    // With an acknowledgement for every segment the echo is the mark of that segment.
    let each = echoes(&Config { acks: DelayedAcks::OFF, ..config }, &marks);
    assert!(each.iter().map(|&(_, echo)| echo).eq(marks));
}

/// The configuration of DCTCP with an acknowledgement for every `ack_every` segments, and a path that marks them.
fn exact(ack_every: u32) -> (Config, Path) {
    let acks = DelayedAcks { ack_every, ack_delay: Span::from_ms(5), ack_quick: 0, ack_size: None };
    let config = Config { ecn: EcnConfig::EXACT, acks, ..plain() };
    (config, Path { mark: 0.3, ..Path::clean() })
}

/// Segments that the sender's controller was told are marked.
fn told_marks(pair: &Pair<Tcp<Spy>>) -> u64 {
    sender(pair).controller().acks.iter().map(|ack| ack.marked.get() / SEGMENT).sum()
}

#[test]
fn marked_bytes_are_exact_with_delayed_acknowledgements() {
    for every in [1, 2, 4] {
        let (config, path) = exact(every);
        let pair = pair_with(&config, Spy::new(20), 1_000 * SEGMENT, path).complete_by(ms(60_000));
        let marked = pair.capture.iter().filter(|s| s.from == 0 && s.ecn == Ecn::Ce).count();
        assert!(marked > 250);
        assert_eq!(told_marks(&pair), marked as u64);
    }
}

#[test]
fn marked_bytes_stay_exact_when_data_is_lost_and_sent_again() {
    for every in [1, 2, 4] {
        let (config, path) = exact(every);
        let mut data = 0;
        let mut pair = pair_with(&config, Spy::new(20), 1_000 * SEGMENT, path).with_drops(move |packet| {
            data += u64::from(packet.from == 0);
            packet.from == 0 && data % 37 == 0
        });
        assert!(pair.run(ms(60_000)));
        // A duplicate counts with the mark of its first arrival.
        let mut new = BTreeSet::new();
        let arrived = pair.capture.iter().filter(|packet| packet.from == 0 && !packet.lost);
        let came = arrived.filter(|packet| new.insert(packet.body.start) && packet.ecn == Ecn::Ce).count();
        assert!(came > 250 && pair.ends[0].counters().retransmits > 20);
        assert_eq!(told_marks(&pair), came as u64, "every {every}");
    }
}

#[test]
fn marks_of_one_window_reduce_cwnd_once_and_set_cwr_once() {
    // Given twenty segments in flight,
    let mut hand = SenderHarness::new(&classic(), Spy::new(20));
    let first = hand.take();
    assert!(first.iter().all(|out| out.ecn == Ecn::Ect));
    // when marks are echoed for all of them,
    let echo = Flags::ACK | Flags::ECE;
    let mut told = vec![];
    for number in 1..=20 {
        hand.answer(us(10_000 + number), number, &[], echo);
        told.extend(hand.take().iter().map(|out| out.head.flags.has(Flags::CWR)));
    }
    // then the controller is told once, and the next new segment has CWR set.
    assert_eq!(hand.spy().marks.len(), 1);
    assert_eq!(told.iter().position(|&cwr| cwr), Some(0));
    assert_eq!(told.iter().filter(|&&cwr| cwr).count(), 1);
    // A mark echoed in the next window counts again.
    hand.answer(us(30_000), 21, &[], echo);
    assert_eq!(hand.spy().marks.len(), 2);
}

#[test]
fn a_gradual_reduction_keeps_sending() {
    let leaving = |gradual| {
        let marks = EcnConfig { ecn_gradual: gradual, ..EcnConfig::CLASSIC };
        let mut hand = SenderHarness::new(&Config { ecn: marks, ..plain() }, Spy::shrinking(20, 10)).started();
        let mut left = vec![];
        for number in 1..=20 {
            let flags = Flags::ACK | Flags::ECE.when(number == 1);
            hand.answer(us(10_000 + number), number, &[], flags);
            left.push(hand.leaving().len());
        }
        assert_eq!(hand.sender.scoreboard.pipe(), 10 * SEGMENT);
        left
    };
    assert_eq!(leaving(false)[..12], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1], "no marks for half a window");
    assert_eq!(leaving(true)[..6], [1, 0, 1, 0, 1, 0]);
}

#[test]
fn retransmissions_and_acknowledgements_are_ecn_capable_only_with_exact_marking() {
    for (ecn, l4s, expected) in [
        (Marking::Off, false, [false, false, false]),
        (Marking::Classic, false, [true, false, false]),
        (Marking::Exact, false, [true, true, true]),
        (Marking::Exact, true, [true, true, true]),
    ] {
        let marks = EcnConfig { ecn, l4s, ..EcnConfig::CLASSIC };
        let config = Config { ecn: marks, ..plain() };
        let mut hand = SenderHarness::new(&config, Spy::new(10));
        let new = hand.take()[0].ecn;
        hand.ack(ms(10), 0, &[(1, 6)]);
        let again = hand.take().into_iter().find(|out| out.body.start == 0).map(|out| out.ecn);
        let mut receiver = Receiver::new(&config, None);
        receiver.on_packet(ms(1), &Head { len: 1, ..Head::default() }, new);
        let ack = receiver.poll(ms(1)).map(|out| (out.class, out.ecn));
        let ect = if l4s { Ecn::Ect1 } else { Ecn::Ect };
        let ecn = |capable| if capable { ect } else { Ecn::NotEct };
        let [first, second, third] = expected.map(ecn);
        assert_eq!((new, again, ack), (first, Some(second), Some((Class::Ack, third))));
    }
}

#[test]
fn ece_ends_when_cwr_arrives() {
    let path = Path { mark: 0.002, ..Path::clean() };
    let pair = pair_with(&classic(), Spy::new(50), 5_000 * SEGMENT, path).complete_by(ms(60_000));
    let echoed = pair.capture.iter().filter(|s| s.from == 1 && s.head.flags.has(Flags::ECE)).count();
    let marks = sender(&pair).controller().marks.len();
    assert!((5..=20).contains(&marks), "{marks}");
    // From a mark until CWR arrives, a round trip passes: about a window of acknowledgements.
    assert!((40 * marks..=60 * marks).contains(&echoed), "{echoed} echoes of {marks} reductions");
}

//! Congestion marks: which packets are ECN-capable, how receivers echo marks, and how senders respond.

use crate::support::tcp::{SEGMENT, SenderHarness, Spy, ms, pair_with, plain, sender};
use crate::support::{Pair, Path};
use shallop_control::Marking;
use shallop_core::{Class, Ecn, Span};
use shallop_proto::Endpoint;
use shallop_proto::tcp::{Config, DelayedAcks, EcnConfig, Flags, Head, Receiver, Tcp};
use std::collections::BTreeSet;

fn classic() -> Config {
    Config { ecn: EcnConfig::CLASSIC, ..plain() }
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

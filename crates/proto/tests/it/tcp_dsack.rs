//! DSACK (RFC 2883): the first block of an acknowledgement reports what arrived twice.

use shallop_core::{Ecn, Time};
use shallop_proto::Endpoint;
use shallop_proto::tcp::{Config, DelayedAcks, Head, Receiver, Spurious, Stack};
use std::ops::Range;

fn receiver(spurious: Spurious) -> Receiver {
    let config = Config { acks: DelayedAcks::OFF, spurious, handshake: false, ..Stack::NS2.tcp };
    Receiver::new(&config, None)
}

fn arrive(receiver: &mut Receiver, body: &Range<u64>) -> (u64, Vec<(u64, u64)>, Option<Range<u64>>) {
    let len = (body.end - body.start) as u16;
    let head = Head { seq: body.start, len, ..Head::default() };
    receiver.on_packet(Time::ZERO, &head, Ecn::NotEct);
    let said = receiver.poll(Time::ZERO).expect("an acknowledgement").head;
    let blocks = said.blocks.iter().map(|block| block.range(said.ack));
    let told = blocks.filter(|range| !range.is_empty()).map(|range| (range.start, range.end));
    (said.ack, told.collect(), said.dsack())
}

/// Reads ranges such as `500-1000` and numbers.
fn ranges(line: &str) -> Vec<(u64, u64)> {
    let number = |word: &str| word.parse().expect("a number");
    line.split(' ')
        .map(|word| word.split_once('-').map_or_else(|| (number(word), 0), |(a, b)| (number(a), number(b))))
        .collect()
}

#[test]
fn receivers_report_duplicates_as_in_the_examples_of_rfc_2883() {
    for example in include_str!("../tables/rfc2883.txt").split("\n\n").skip(1) {
        let mut receiver = receiver(Spurious { dsack: true, ..Spurious::OFF });
        for (number, line) in example.lines().skip(1).enumerate() {
            let words = ranges(line);
            if number == 0 {
                arrive(&mut receiver, &(0..words[0].0));
            }
            let (said, told, _) = arrive(&mut receiver, &(words[0].0..words[0].1));
            assert_eq!((said, told.as_slice()), (words[1].0, &words[2..]), "{example}, {line}");
        }
    }
}

#[test]
fn a_receiver_without_dsack_sends_plain_sack_blocks_only() {
    let mut receiver = receiver(Spurious::OFF);
    arrive(&mut receiver, &(0..4_000));
    arrive(&mut receiver, &(4_500..5_000));
    let said = arrive(&mut receiver, &(3_000..3_500));
    assert_eq!(said, (4_000, vec![(4_500, 5_000)], None));
}

#[test]
fn duplicates_are_all_reported_after_a_wait_for_the_link() {
    let mut receiver = receiver(Spurious { dsack: true, ..Spurious::OFF });
    for body in [0..500, 500..1_000, 0..500, 500..1_000] {
        let head = Head { seq: body.start, len: 500, ..Head::default() };
        receiver.on_packet(Time::ZERO, &head, Ecn::NotEct);
    }
    let reports = std::iter::from_fn(|| receiver.poll(Time::ZERO)).map(|out| out.head.dsack());
    assert_eq!(reports.collect::<Vec<_>>(), [Some(0..500), Some(500..1_000)]);
}

/// Kernel: `tcp_sack_new_ofo_skb`. Six segments of ten arrive with gaps between them. Linux then knows the ranges of
/// the last four, so a segment between the first two starts a new range. The acknowledgement that SACK compression
/// delays leaves at once, and the segment has none of its own. A segment next to one of the two latest ranges does not
/// end the delay.
#[test]
fn linux_reports_what_waits_when_a_gap_is_filled_between_old_ranges() {
    let filled = [true, false].map(|kernel_habits| {
        let acks = DelayedAcks::OFF;
        let config = Config { acks, spurious: Spurious::LINUX, handshake: false, kernel_habits, ..Stack::NS2.tcp };
        let mut receiver = Receiver::new(&config, None);
        let mut arrives = |number: u64| {
            let head = Head { seq: number * 500, len: 500, ..Head::default() };
            receiver.on_packet(Time::ZERO, &head, Ecn::NotEct);
            let said = receiver.poll(Time::ZERO)?.head;
            let block = said.blocks[0].range(said.ack);
            Some((block.start / 500, block.end / 500))
        };
        assert_eq!([0, 2, 4, 6].map(|number| arrives(number).is_some()), [true; 4]);
        ([8, 10, 12].map(|number| arrives(number).is_some()), arrives(3), arrives(13))
    });
    let waits = ([false, true, false], Some((12, 13)), None);
    assert_eq!(filled, [waits, ([true; 3], Some((2, 5)), Some((12, 14)))]);
}

/// As captured in a kernel that receives from one CUBIC flow over 10 Gb/s, 10 ms and 200 KB: what its card delivers
/// after the first loss, in segments, and the SACK ranges of the acknowledgement that each arrival causes, if any.
#[test]
fn linux_acknowledges_ranges_after_a_loss_as_captured_in_a_kernel() {
    let config = Config { acks: DelayedAcks::OFF, handshake: false, receive_autotuning: false, ..Stack::LINUX.tcp };
    let mut receiver = Receiver::new(&config, None);
    arrive(&mut receiver, &(0..500));
    for line in include_str!("../tables/sack_ranges.txt").lines().skip(1) {
        let words = ranges(line);
        let (seq, len) = (words[0].0 * 500, ((words[0].1 - words[0].0) * 500) as u16);
        receiver.on_packet(Time::ZERO, &Head { seq, len, ..Head::default() }, Ecn::NotEct);
        let said = receiver.poll(Time::ZERO).into_iter();
        let blocks = said.flat_map(|out| out.head.blocks.map(|it| it.range(out.head.ack))).filter(|it| !it.is_empty());
        assert_eq!(blocks.map(|it| (it.start / 500, it.end / 500)).collect::<Vec<_>>(), words[1..], "{line}");
    }
}

/// Kernel: an acknowledgement that waits for the link keeps the SACK ranges of the time at which it was made.
#[test]
fn acknowledgements_of_linux_that_wait_for_the_link_keep_their_ranges() {
    let said = [true, false].map(|kernel_habits| {
        let config = Config { handshake: false, kernel_habits, ..Stack::LINUX_IDEAL.tcp };
        let mut receiver = Receiver::new(&config, None);
        for number in [2, 4, 6] {
            let head = Head { seq: number * 500, len: 500, ..Head::default() };
            receiver.on_packet(Time::ZERO, &head, Ecn::NotEct);
        }
        let ranges = |head: Head| head.blocks.iter().filter(|block| !block.range(head.ack).is_empty()).count();
        std::iter::from_fn(|| receiver.poll(Time::ZERO)).map(|out| ranges(out.head)).collect::<Vec<_>>()
    });
    assert_eq!(said, [vec![1, 2, 3], vec![3]]);
}

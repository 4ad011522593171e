//! The examples of RFC 2883: what arrives twice is reported in the first block.

use std::ops::Range;

use shallop_core::{Ecn, Time};
use shallop_proto::Endpoint;
use shallop_proto::tcp::{Config, DelayedAcks, Head, Receiver, Spurious, Stack};

/// A segment that arrives, the cumulative acknowledgement it causes, and the blocks of that.
type Step = (Range<u64>, u64, &'static [(u64, u64)]);

fn receiver(spurious: Spurious) -> Receiver {
    let config = Config { acks: DelayedAcks::OFF, spurious, handshake: false, ..Stack::NS2.tcp };
    Receiver::new(&config, None)
}

fn arrive(
    receiver: &mut Receiver,
    body: &Range<u64>,
) -> (u64, Vec<(u64, u64)>, Option<Range<u64>>) {
    let len = (body.end - body.start) as u16;
    let head = Head { seq: body.start, len, ..Head::default() };
    receiver.on_packet(Time::ZERO, &head, Ecn::NotEct);
    let said = receiver.poll(Time::ZERO).expect("an acknowledgement").head;
    let blocks = said.blocks.iter().map(|block| block.range(said.ack));
    let told = blocks.filter(|range| !range.is_empty()).map(|range| (range.start, range.end));
    (said.ack, told.collect(), said.dsack())
}

/// Acknowledgements that the RFC has dropped were sent, too.
fn check(example: &str, steps: &[Step]) {
    let mut receiver = receiver(Spurious { dsack: true, ..Spurious::OFF });
    let first = steps[0].0.start;
    arrive(&mut receiver, &(0..first));
    for (body, ack, blocks) in steps {
        let (said, told, _) = arrive(&mut receiver, body);
        assert_eq!((said, told.as_slice()), (*ack, *blocks), "{example}, {body:?}");
    }
}

#[test]
fn a_duplicate_segment_4_1_1() {
    let steps: [Step; 3] = [
        (3_000..3_500, 3_500, &[]),
        (3_500..4_000, 4_000, &[]),
        (3_000..3_500, 4_000, &[(3_000, 3_500)]),
    ];
    check("4.1.1", &steps);
}

#[test]
fn an_out_of_order_segment_and_a_duplicate_segment_4_1_2() {
    let steps: [Step; 4] = [
        (3_000..3_500, 3_500, &[]),
        (3_500..4_000, 4_000, &[]),
        (4_500..5_000, 4_000, &[(4_500, 5_000)]),
        (3_000..3_500, 4_000, &[(3_000, 3_500), (4_500, 5_000)]),
    ];
    check("4.1.2", &steps);
}

#[test]
fn a_duplicate_of_an_out_of_order_segment_4_1_3() {
    let steps: [Step; 4] = [
        (3_500..4_000, 4_000, &[]),
        (4_500..5_000, 4_000, &[(4_500, 5_000)]),
        (5_000..5_500, 4_000, &[(4_500, 5_500)]),
        (5_000..5_500, 4_000, &[(5_000, 5_500), (4_500, 5_500)]),
    ];
    check("4.1.3", &steps);
}

#[test]
fn a_duplicate_part_of_a_segment_4_2_1() {
    let steps: [Step; 4] = [
        (500..1_000, 1_000, &[]),
        (2_000..2_500, 1_000, &[(2_000, 2_500)]),
        (1_000..2_000, 2_500, &[]),
        (1_000..1_500, 2_500, &[(1_000, 1_500)]),
    ];
    check("4.2.1", &steps);
}

#[test]
fn a_segment_that_the_network_replicated_5_1() {
    let steps: [Step; 3] = [
        (500..1_000, 1_000, &[]),
        (1_000..1_500, 1_500, &[]),
        (1_000..1_500, 1_500, &[(1_000, 1_500)]),
    ];
    check("5.1", &steps);
}

#[test]
fn a_false_retransmission_due_to_reordering_5_2() {
    let steps: [Step; 6] = [
        (500..1_000, 1_000, &[]),
        (1_500..2_000, 1_000, &[(1_500, 2_000)]),
        (2_000..2_500, 1_000, &[(1_500, 2_500)]),
        (2_500..3_000, 1_000, &[(1_500, 3_000)]),
        (1_000..1_500, 3_000, &[]),
        (1_000..1_500, 3_000, &[(1_000, 1_500)]),
    ];
    check("5.2", &steps);
}

#[test]
fn a_segment_that_begins_below_the_acknowledgement_is_a_duplicate_up_to_there() {
    let steps: [Step; 2] = [(500..1_000, 1_000, &[]), (500..1_500, 1_500, &[(500, 1_000)])];
    check("a segment that was made longer", &steps);
}

#[test]
fn a_receiver_that_does_not_report_duplicates_gives_ordinary_blocks_only() {
    let mut receiver = receiver(Spurious::OFF);
    arrive(&mut receiver, &(0..4_000));
    arrive(&mut receiver, &(4_500..5_000));
    let said = arrive(&mut receiver, &(3_000..3_500));
    assert_eq!(said, (4_000, vec![(4_500, 5_000)], None));
}

#[test]
fn duplicates_that_wait_for_the_link_are_all_reported() {
    let mut receiver = receiver(Spurious { dsack: true, ..Spurious::OFF });
    for body in [0..500, 500..1_000, 0..500, 500..1_000] {
        let head = Head { seq: body.start, len: 500, ..Head::default() };
        receiver.on_packet(Time::ZERO, &head, Ecn::NotEct);
    }
    let reports = std::iter::from_fn(|| receiver.poll(Time::ZERO)).map(|out| out.head.dsack());
    assert_eq!(reports.collect::<Vec<_>>(), [Some(0..500), Some(500..1_000)]);
}

//! Both ends of `ExpressPass`, packet by packet.

use crate::support::{CapturedPacket, DELAY, GAP, PAYLOAD, Pair, Path, lose, us};
use shallop_control::expresspass::{CodeConfig, Rule};
use shallop_core::{BitsPerSec, Class, Ecn, Seed, Span, Time};
use shallop_proto::expresspass::StopPolicy::{Demand, Early, LastData};
use shallop_proto::expresspass::{Config, Head, Peer, Receiver, Sender, StopPolicy};
use shallop_proto::{Endpoint, Out};

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
fn losing(which: fn(&Packet) -> bool, numbers: &'static [usize]) -> impl FnMut(&Packet) -> bool + 'static {
    lose(which, move |number| numbers.contains(&number))
}

fn is_data(packet: &Packet) -> bool {
    packet.class == Class::Data
}
fn is_credit(packet: &Packet) -> bool {
    packet.class == Class::Credit
}
fn is_request(packet: &Packet) -> bool {
    matches!(packet.head, Head::Request { .. })
}
fn is_nack(packet: &Packet) -> bool {
    matches!(packet.head, Head::Nack { .. })
}
fn is_stop(packet: &Packet) -> bool {
    matches!(packet.head, Head::Stop { .. })
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
fn stopping_at_the_last_data_wastes_a_round_trip_of_credits() {
    let pair = pair(&config(LastData), code(1.0), 2000 * PAYLOAD).finished();
    let credits = pair.ends[0].counters().credits;
    let round_trip = (DELAY * 2).ratio(GAP);
    assert_eq!(credits.used, 2000);
    assert!((credits.wasted as f64 - round_trip).abs() < 10.0, "{credits:?} of {round_trip}");
}

#[test]
fn an_early_stop_wastes_less() {
    let pair = pair(&config(Early), code(1.0), 2000 * PAYLOAD).finished();
    let report = pair.ends[0].counters();
    assert_eq!((report.credits.used, report.timeouts), (2000, 0));
    // At the end of the second round trip, 770 credits have arrived in each, and 460 frames remain.
    assert!((250..350).contains(&report.credits.wasted), "{report:?}");
}

#[test]
fn an_early_stop_that_was_too_early_is_taken_back() {
    let mut pair = pair(&config(Early), code(1.0), 2000 * PAYLOAD).with_drops(|packet| {
        is_credit(packet) && (Span::from_us(2_600)..Span::from_us(3_200)).contains(&packet.sent.since_start())
    });
    pair.finish();
    assert_eq!(pair.carried(), [(0, 2000 * PAYLOAD)]);
    assert_eq!(times(&pair, is_request).len(), 2);
    assert_eq!(pair.ends[0].counters().retransmits, 0);
}

#[test]
fn a_demand_is_covered_exactly() {
    let pair = pair(&config(Demand), code(1.0), 2000 * PAYLOAD - 7).finished();
    let (sender, receiver) = (pair.ends[0].counters(), pair.ends[1].counters());
    assert_eq!((receiver.metered, sender.credits.used, sender.credits.wasted), (2000, 2000, 0));
    assert_eq!((times(&pair, is_request).len(), sender.timeouts), (1, 0));
}

#[test]
fn exactly_the_dropped_credits_are_requested_again() {
    let pair = pair(&config(Demand), code(1.0), 100 * PAYLOAD).with_drops(losing(is_credit, &[3, 50, 70])).finished();
    let demands = pair.capture.iter().filter_map(|packet| match packet.head {
        Head::Request { demand, .. } => Some(demand),
        _ => None,
    });
    assert_eq!(demands.collect::<Vec<_>>(), [100, 3]);
    let sender = pair.ends[0].counters();
    assert_eq!((sender.credits.used, sender.credits.wasted, sender.timeouts), (100, 0, 0));
}

#[test]
fn dropped_last_credits_are_requested_after_two_round_trips() {
    let pair = pair(&config(Demand), code(1.0), 10 * PAYLOAD).with_drops(losing(is_credit, &[8, 9])).finished();
    let (requests, credits) = (times(&pair, is_request), times(&pair, is_credit));
    let heard = credits[7] + DELAY;
    assert!(near(requests[1] - heard, DELAY * 4, Span::from_us(10)), "{requests:?}");
    assert_eq!(pair.ends[0].counters().timeouts, 1);
}

#[test]
fn a_lost_request_is_repeated_and_does_not_spoil_the_round_trip_time() {
    let pair = pair(&config(LastData), code(1.0), PAYLOAD).with_drops(losing(is_request, &[0, 1])).finished();
    let requests = times(&pair, is_request);
    assert!(near(requests[2], Span::from_ms(200), Span::from_us(1)), "{requests:?}");
    assert_eq!(pair.ends[0].counters().timeouts, 2);
    assert_eq!(times(&pair, is_stop).len(), 1, "a round trip of 1 ms leaves no need to repeat it");
}

#[test]
fn a_stop_without_an_answer_is_repeated_after_two_round_trips() {
    let is_done = |packet: &Packet| matches!(packet.head, Head::Complete { .. });
    let pair = pair(&config(Demand), code(1.0), PAYLOAD).with_drops(losing(is_done, &[0])).finished();
    let stops = times(&pair, is_stop);
    assert_eq!(stops.len(), 2);
    assert!(near(stops[1] - stops[0], DELAY * 4, Span::from_us(10)), "{stops:?}");
}

#[test]
fn lost_data_makes_the_sender_go_back_once() {
    let pair =
        pair(&config(LastData), code(0.5), 1000 * PAYLOAD).with_drops(losing(is_data, &[100, 103, 200])).finished();
    assert_eq!(pair.carried(), [(0, 1000 * PAYLOAD)]);
    assert_eq!(times(&pair, is_nack).len(), 1);
    let (sender, receiver) = (pair.ends[0].counters(), pair.ends[1].counters());
    assert!(sender.retransmits > 100, "all that followed in a round trip is sent again: {sender:?}");
    assert_eq!(receiver.duplicates, sender.retransmits - 3);
}

#[test]
fn a_lost_retransmission_makes_the_sender_go_back_again() {
    let pair = pair(&config(LastData), code(0.5), 1000 * PAYLOAD)
        .with_drops(|packet| matches!(packet.head, Head::Data { offset: 146_000, generation: 0..2, .. }))
        .finished();
    assert_eq!(pair.carried(), [(0, 1000 * PAYLOAD)]);
    assert_eq!(times(&pair, is_nack).len(), 2);
    assert_eq!(pair.ends[0].counters().timeouts, 0);
}

#[test]
fn a_lost_nack_is_repeated() {
    let config = Config { retransmit_timeout: Span::from_ms(3), ..config(LastData) };
    let (mut chosen, mut reports) = (losing(is_data, &[100]), losing(is_nack, &[0]));
    let pair =
        pair(&config, code(0.5), 8000 * PAYLOAD).with_drops(move |packet| chosen(packet) | reports(packet)).finished();
    assert_eq!(pair.carried(), [(0, 8000 * PAYLOAD)]);
    let (nacks, stops) = (times(&pair, is_nack), times(&pair, is_stop));
    assert_eq!((nacks.len(), nacks[1] - nacks[0]), (2, Span::from_ms(3)));
    assert!(nacks[1] < stops[0], "the sender need not be request_sent to ask");
}

/// A configuration that repeats requests and NACKs before an answer can have arrived.
fn impatient(stop: StopPolicy) -> Config {
    Config { retransmit_timeout: Span::from_us(700), ..config(stop) }
}

#[test]
fn a_nack_repeated_too_early_does_not_make_the_sender_go_back_twice() {
    let pair = pair(&impatient(LastData), code(0.5), 4000 * PAYLOAD).with_drops(losing(is_data, &[100])).finished();
    assert!(times(&pair, is_nack).len() >= 2);
    let pass = |packet: &Packet| match packet.head {
        Head::Data { generation, .. } => generation,
        _ => 0,
    };
    assert_eq!(pair.capture.iter().map(pass).max(), Some(1));
}

#[test]
fn a_request_repeated_too_early_gets_no_credits_twice() {
    let pair = pair(&impatient(Demand), code(1.0), 2000 * PAYLOAD).finished();
    assert_eq!((times(&pair, is_request).len(), pair.ends[1].counters().metered), (2, 2000));
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
fn a_lost_tail_is_found_by_the_stop() {
    let pair = pair(&config(Demand), code(1.0), 10 * PAYLOAD).with_drops(losing(is_data, &[8, 9])).finished();
    assert_eq!(pair.carried(), [(0, 10 * PAYLOAD)]);
    let sender = pair.ends[0].counters();
    assert_eq!((sender.retransmits, sender.timeouts, times(&pair, is_nack).len()), (2, 1, 1));
}

#[test]
fn reordered_data_is_not_sent_again() {
    let late = Path { reorder: 0.2, late: GAP * 2, ..Path::fast() };
    let pair = pair_on(late, &config(LastData), code(1.0), 1000 * PAYLOAD).finished();
    assert_eq!(times(&pair, is_nack).len(), 0);
    assert_eq!((pair.ends[0].counters().retransmits, pair.ends[1].counters().duplicates), (0, 0));
}

#[test]
fn an_empty_flow_takes_a_request_and_its_answer() {
    let pair = pair(&config(LastData), code(1.0), 0).finished();
    assert_eq!(pair.capture.len(), 2, "a request and its answer");
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

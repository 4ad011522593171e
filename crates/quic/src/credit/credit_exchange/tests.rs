//! Both sides of an exchange, without a network.

use super::*;
use crate::credit::emulation_bucket::BURST;
use crate::credit::packet::Parsed;
use shallop_core::BitsPerSec;

fn pair() -> [CreditExchange; 2] {
    let wait = std::time::Duration::from_millis(20);
    let config = Config { wait, ..Config::new(BitsPerSec::gbps(1)) };
    let key = |byte: u8| MacKey::new([byte; 16]);
    let settings = CreditSettings { tag: 7, batch: 1, wait: Span::from_ms(20), credit_delay: Span::ZERO };
    let first = CreditExchange::new(&config, key(1), key(2), settings);
    [first, CreditExchange::new(&config, key(2), key(1), settings)]
}

/// Lets the first side ask for `packets` credits, from these times of both clocks on, and returns how many
/// departures follow.
fn exchange([sender, receiver]: &mut [CreditExchange; 2], at: [Time; 2], packets: u64) -> u64 {
    let end = Span::from_ms(200);
    let (mut passed, mut left) = (Span::ZERO, 0);
    sender.set_demand(at[0], packets);
    while passed < end {
        let [here, there] = at.map(|at| at.saturating_add(passed));
        while let Some((_, packet)) = sender.emulate(here) {
            receiver.on_packet(there, &Parsed::parse(&packet).unwrap());
            while let Some((_, credit)) = receiver.grant(there) {
                sender.on_packet(here, &Parsed::parse(&credit).unwrap());
            }
        }
        while let Some(departure) = sender.depart(here) {
            left += u64::from(departure == Departure::Data);
        }
        passed += Span::from_us(50);
    }
    left
}

#[test]
fn sides_whose_clocks_differ_exchange_credits_after_any_pause() {
    let hours = |count: u64| Time::after_start(Span::from_secs(3_600 * count));
    let mut ends = pair();
    let ahead = Span::from_secs(60);
    for pause in [0, 2, 3, 100] {
        let times = [hours(pause), hours(pause).saturating_add(ahead)];
        assert_eq!(exchange(&mut ends, times, 50), 50);
    }
    assert_eq!(ends[0].stats().dropped.total() + ends[1].stats().dropped.total(), 0);
    assert_eq!(ends[0].stats().granted, ends[1].stats().credits_sent);
}

/// The send times of `count` emulation packets, if the sender runs `late` after each is due.
fn emulation_times(sender: &mut CreditExchange, late: Span, count: usize) -> Vec<Time> {
    let (mut now, mut sent) = (Time::ZERO, Vec::new());
    while sent.len() < count {
        now = now.max(sender.emulation_due().unwrap().saturating_add(late));
        while sender.emulate(now).is_some() {
            sent.push(now);
        }
    }
    sent
}

#[test]
fn a_slightly_late_sender_keeps_its_rate() {
    for part in [0, 1, 3] {
        let [mut sender, _] = pair();
        sender.set_demand(Time::ZERO, 10_000);
        let gap = sender.engine.gap();
        let sent = emulation_times(&mut sender, gap * part / 2, 500);
        let last = sent[499].saturating_since(sent[0]).ratio(gap);
        assert!((490.0..=505.0).contains(&last), "{part}: {last}");
    }
}

#[test]
fn after_a_pause_the_burst_is_bounded() {
    let [mut sender, _] = pair();
    sender.set_demand(Time::ZERO, 10_000);
    let gap = sender.engine.gap();
    emulation_times(&mut sender, Span::ZERO, 10);
    let pause = Time::after_start(Span::from_us(900));
    let mut sent = 0;
    while sender.emulate(pause).is_some() {
        sent += 1;
    }
    assert_eq!(sent, BURST);
    let after = emulation_times(&mut sender, Span::ZERO, 50);
    assert!(after.windows(2).all(|two| two[1].saturating_since(two[0]) > gap / 100));
    assert!(after[0].saturating_since(pause) >= gap / 2 - Span::from_ns(10));
}

#[test]
fn a_data_packet_leaves_a_waiting_time_after_its_late_emulation_packet() {
    let [mut sender, mut receiver] = pair();
    sender.set_demand(Time::ZERO, 1);
    let late = floor(Time::after_start(Span::from_us(40)));
    let (_, packet) = sender.emulate(late).unwrap();
    receiver.on_packet(late, &Parsed::parse(&packet).unwrap());
    let (_, credit) = receiver.grant(late).unwrap();
    sender.on_packet(late, &Parsed::parse(&credit).unwrap());
    assert_eq!(sender.engine.next_departure(), Some(late.saturating_add(Span::from_ms(20))));
}

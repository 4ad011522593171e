//! The state of a flow for traces: the quantities of Linux's `TCP_INFO`.

use crate::support::tcp::{SEGMENT, SenderHarness, Spy, ms, pair, plain, sender, us};
use crate::support::{Pair, Path};
use shallop_control::{any, reno};
use shallop_core::{BitsPerSec, Bytes, Time};
use shallop_proto::tcp::{Config, EcnConfig, Flags, Tcp};
use shallop_proto::{CaState, Endpoint, FlowState, udp};

fn state(hand: &SenderHarness) -> FlowState {
    hand.sender.flow_state().unwrap_or_default()
}

#[test]
fn the_state_is_open_then_disorder_recovery_and_after_a_timeout_loss() {
    let mut hand = SenderHarness::new(&plain(), Spy::new(20));
    assert_eq!(hand.leaving().len(), 20);
    let first =
        FlowState { cwnd: Some(20.0), delivered: Some(0), ca_state: Some(CaState::Open), ..FlowState::default() };
    assert_eq!(state(&hand), first, "without a round trip, a reduction or a pacing rate");
    let told = |hand: &SenderHarness| (state(hand).ca_state, state(hand).delivered);
    hand.sends_after_ack(ms(10), 0, &[(1, 2)]);
    assert_eq!(told(&hand), (Some(CaState::Disorder), Some(1)));
    hand.sends_after_ack(us(10_100), 0, &[(1, 4)]);
    assert_eq!(told(&hand), (Some(CaState::Recovery), Some(3)));
    let sent = hand.sender.scoreboard.snd_nxt / SEGMENT;
    hand.sends_after_ack(ms(30), sent, &[]);
    assert_eq!(told(&hand), (Some(CaState::Open), Some(sent)));
    assert!(state(&hand).srtt.is_some_and(|srtt| ms(0) + srtt >= ms(10)));
    hand.advance(ms(5_000));
    assert_eq!(told(&hand), (Some(CaState::Loss), Some(sent)));
}

#[test]
fn after_a_mark_the_state_is_cwr_until_all_data_in_flight_then_is_acknowledged() {
    let config = Config { ecn: EcnConfig::CLASSIC, ..plain() };
    let mut hand = SenderHarness::new(&config, Spy::shrinking(20, 10));
    assert_eq!(hand.leaving().len(), 20);
    hand.answer(ms(10), 4, &[], Flags::ACK | Flags::ECE);
    assert_eq!((state(&hand).ca_state, state(&hand).cwnd), (Some(CaState::Cwr), Some(10.0)));
    hand.sends_after_ack(ms(20), 20, &[]);
    assert_eq!(state(&hand).ca_state, Some(CaState::Open));
}

#[test]
fn the_threshold_is_there_after_the_first_reduction_and_a_complete_flow_has_no_state() {
    let control = any::Config::Reno(reno::Config::RFC);
    let states = |pair: &mut Pair<Tcp<any::AnyWindow>>, until: Time| {
        assert!(!pair.run(until), "the flow is not complete");
        sender(pair).flow_state().unwrap_or_default()
    };
    let config = Config { initial_window: 64, ..plain() };
    let lost = 70 * SEGMENT;
    let mut pair = pair(&config, &control, 4_000 * SEGMENT + 1, Path::clean())
        .with_drops(move |packet| packet.from == 0 && packet.body.start == lost && packet.sent < ms(15));
    assert_eq!(states(&mut pair, ms(5)).ssthresh, None);
    let after = states(&mut pair, ms(60));
    let ssthresh = after.ssthresh.unwrap_or(f64::NAN);
    assert!((20.0..128.0).contains(&ssthresh), "{after:?}");
    assert!(after.cwnd >= Some(ssthresh), "{after:?}");
    assert!(pair.run(ms(60_000)));
    assert_eq!(sender(&pair).flow_state(), None);
    assert_eq!(pair.ends[1].flow_state(), None, "a receiver of TCP sets no rate");
}

#[test]
fn a_udp_flow_has_the_rate_of_its_payload() {
    let config = udp::Config {
        rate: BitsPerSec::gbps(1),
        ect: false,
        payload: Bytes::new(SEGMENT),
        headers: shallop_proto::wire::HEADERS,
    };
    let mut end = udp::Sender::new(&config, Some(2 * SEGMENT));
    assert_eq!(end.flow_state(), None, "it has not started");
    end.on_timer(ms(0));
    let pacing = Some(BitsPerSec::at_least_one(949_284_785));
    assert_eq!(end.flow_state(), Some(FlowState { pacing, ..FlowState::default() }));
}

//! The state of a flow for traces: the quantities of Linux's `TCP_INFO`.

use crate::support::tcp::{SEGMENT, ms, pair, plain, sender};
use crate::support::{Pair, Path};
use shallop_control::{any, reno};
use shallop_core::{BitsPerSec, Bytes, Time};
use shallop_proto::tcp::{Config, Tcp};
use shallop_proto::{Endpoint, FlowState, udp};

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

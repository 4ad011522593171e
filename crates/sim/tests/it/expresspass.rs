//! `ExpressPass` in a network that meters credits on every link, hosts' links included.

use crate::support::{credit_network, dumbbell, flow};
use shallop_core::{BitsPerSec, NoProbe, Span, Time};
use shallop_proto::Endpoint;
use shallop_proto::expresspass::rule::{CodeConfig, Rule};
use shallop_proto::expresspass::{Config, Peer};
use shallop_sim::{Flow, Simulator};
use shallop_topology::SenderDelay;

const LINK: BitsPerSec = BitsPerSec::gbps(10);
const PAYLOAD: u64 = 1460;

fn at(ms: u64) -> Time {
    Time::after_start(Span::from_ms(ms))
}

/// A hundred flows of 1 to 50 full frames from one host each to one receiver, of which at most ten overlap.
fn start() -> Simulator<'static, Peer<Rule>, NoProbe> {
    let delays = (0..100).map(|number| Span::from_us(number % 30)).collect();
    let net = dumbbell([LINK, LINK], Span::from_us(5), (100, 1), SenderDelay::Each(delays));
    let one = |number: u64| {
        let (start, size) = (Time::after_start(Span::from_us(900 * number)), (1 + number * 7 % 50) * PAYLOAD);
        let (hosts, rule) = ([net.sites[0][number as usize], net.sites[1][0]], Rule::code(CodeConfig::default()));
        flow(hosts, start, Some(size), &Config::new(LINK), rule, (7, number))
    };
    let flows: Vec<Flow<Peer<Rule>>> = (0..100).map(one).collect();
    Simulator::new(credit_network(net.graph, "200KB"), Box::new(flows.into_iter()), NoProbe)
}

#[test]
fn retirement_bounds_the_number_of_endpoints_and_changes_no_counter() {
    let mut kept = start();
    kept.run_until(at(100));
    let mut retiring = start();
    retiring.enable_retirement();
    let mut reports = Vec::new();
    for ms in 1..=100 {
        retiring.run_until(at(ms));
        assert!(retiring.ends().count() <= 20, "at most ten flows are in progress");
        let over = retiring.take_retired().into_iter();
        reports.extend(over.map(|flow| (flow.flow, [flow.sender, flow.receiver])));
    }
    assert_eq!((retiring.ends().count(), retiring.started(), retiring.in_network()), (0, 100, 0));
    assert!(retiring.is_exhausted() && retiring.is_idle());
    reports.sort_by_key(|(flow, _)| *flow);
    let of_kept: Vec<_> = kept.ends().map(Endpoint::counters).collect();
    assert_eq!(reports.iter().flat_map(|(_, ends)| *ends).collect::<Vec<_>>(), of_kept);
}

//! Metered packets that hosts send ahead of time change nothing: each queue, drop and delivery has its time and order.

use crate::conservation::{plans, sim_with};
use crate::support::{dumbbell, group, plan};
use proptest::prelude::*;
use shallop_core::{BitsPerSec, BufferSize, Bytes, DropCause, End, Envelope, Probe, QueueId, Span, Time};
use shallop_measure::ends::{self, EndpointFactory};
use shallop_plan::{ResolvedRun, plan::Plan};
use shallop_proto::Endpoint;

/// What a run reports, in order.
#[derive(Default)]
struct Log {
    ahead: bool,
    events: Vec<String>,
    /// Number of packets reported as sent; a packet that was taken back counts again.
    sent: u64,
}

impl Probe for Log {
    fn allows_sending_ahead(&self) -> bool {
        self.ahead
    }
    fn on_send(&mut self, _: Time, _: u32, _: &Envelope) {
        self.sent += 1;
    }
    fn on_queue(&mut self, now: Time, at: QueueId, held: Bytes) {
        self.events.push(format!("{now:?} {at:?} {held:?}"));
    }
    fn on_drop(&mut self, now: Time, at: QueueId, packet: &Envelope, cause: DropCause) {
        self.events.push(format!("{now:?} {at:?} {packet:?} {cause:?}"));
    }
    fn on_deliver(&mut self, now: Time, packet: &Envelope) {
        self.events.push(format!("{now:?} {packet:?}"));
    }
    fn on_complete(&mut self, now: Time, end: End) {
        self.events.push(format!("{now:?} {end:?}"));
    }
}

/// Runs a plan, and adds the state of ports and endpoints to the log at each of these times.
struct Run<'a> {
    setup: &'a ResolvedRun<'a>,
    looks: &'a [Span],
    ahead: bool,
}

impl ends::EndpointVisitor for Run<'_> {
    type Result = Log;

    fn visit<E: EndpointFactory>(self, ends: E) -> Log {
        let mut sim = sim_with(self.setup, &ends, Log { ahead: self.ahead, ..Log::default() });
        sim.enable_retirement();
        for look in self.looks {
            sim.run_until(Time::after_start(*look));
            let ports: Vec<_> = sim.ports().map(|port| (port.counters(), port.free_at(), port.queued())).collect();
            let ends: Vec<_> = sim.ends().map(|it| (it.counters(), it.wakeup(), it.flow_state())).collect();
            let all = format!("{} {ports:?} {ends:?} {:?}", sim.in_network(), sim.take_retired());
            sim.probe.events.push(all);
        }
        sim.probe
    }
}

/// Runs one scheme both ways. Returns how often packets were taken back and sent again.
fn compare(plan: &Plan, scheme: usize, steps: &[u64]) -> u64 {
    let setup = ResolvedRun::new(plan, scheme, 1).unwrap();
    let looks = steps.iter().scan(0, |at, step| (*at += step, Some(Span::from_ns(*at))).1).collect::<Vec<_>>();
    let [one_by_one, ahead] =
        [false, true].map(|ahead| ends::with(&setup, Run { setup: &setup, looks: &looks, ahead }).unwrap());
    for (left, right) in one_by_one.events.iter().zip(&ahead.events) {
        assert_eq!(left, right, "{}", plan.schemes[scheme].name);
    }
    assert_eq!(one_by_one.events.len(), ahead.events.len());
    ahead.sent - one_by_one.sent
}

#[test]
fn flows_without_end_send_ahead_and_take_back() {
    let topology = dumbbell(BitsPerSec::gbps(1), Span::from_ms(2), 4);
    let groups = (0..4).map(|host| group(&format!("g{host}"), (host + 1, 5), 1, None)).collect();
    let mut plan = plan(topology.into(), BufferSize::Bytes(Bytes::new(20_000)), groups);
    plan.nic_jitter = Some(Span::from_us(1));
    let scheme = |name: &str| plan.schemes.iter().position(|scheme| scheme.name == name).unwrap();
    let taken_back = |name: &str| compare(&plan, scheme(name), &[40_000_000; 3]);
    assert_eq!(taken_back("cubic"), 0);
    assert!(["expresspass", "flashpass", "flashpass-mimd"].into_iter().all(|name| taken_back(name) > 0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn nothing_depends_on_whether_packets_are_sent_ahead(
        mut plan in plans(), endless in any::<u8>(), steps in prop::collection::vec(1u64..60_000_000, 1..6),
    ) {
        for (number, group) in plan.groups.iter_mut().enumerate() {
            group.sizes = group.sizes.take().filter(|_| endless >> (number % 8) & 1 == 0);
        }
        let credits = |name: &str| name.starts_with("expresspass") || name.starts_with("flashpass");
        for scheme in (0..plan.schemes.len()).filter(|&scheme| credits(&plan.schemes[scheme].name)) {
            if ResolvedRun::new(&plan, scheme, 1).is_ok() {
                compare(&plan, scheme, &steps);
            }
        }
    }
}

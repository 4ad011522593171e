//! Metered packets that are computed late and in bulk change nothing: each queue and each delivery has its time and
//! order, and at any time the counts of drops, ports and endpoints are equal.

use crate::conservation::{plans, sim_with};
use crate::support::{dumbbell, group, plan};
use proptest::prelude::*;
use shallop_core::{BitsPerSec, BufferSize, Bytes, Class, DropCause, End, Envelope, Probe, QueueId, Span, Time};
use shallop_measure::ends::{self, EndpointFactory};
use shallop_plan::{ResolvedRun, plan::Plan};
use shallop_proto::Endpoint;
use std::collections::BTreeMap;

/// How metered packets are sent.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    OneByOne,
    /// In bulk up to the queue of the host.
    ToHost,
    /// In bulk up to the first queue that other packets share.
    ToSwitch,
}

/// What a run reports, in order.
struct Log {
    way: Way,
    of_host: Vec<bool>,
    /// The lengths of each queue.
    queues: BTreeMap<QueueId, Vec<(Time, Bytes)>>,
    /// Deliveries, completions and, now and then, the state of everything.
    events: Vec<String>,
    drops: BTreeMap<(QueueId, Class, DropCause), u64>,
    /// Number of drops that were reported in bulk, and number of packets reported as sent.
    bulk: u64,
    sent: u64,
}

impl Probe for Log {
    fn allows_bulk(&self) -> bool {
        self.way != Way::OneByOne
    }
    fn watches(&self, _: u32) -> bool {
        self.way != Way::ToSwitch
    }
    fn on_send(&mut self, _: Time, _: u32, _: &Envelope) {
        self.sent += 1;
    }
    fn on_queue(&mut self, now: Time, at: QueueId, held: Bytes) {
        self.queues.entry(at).or_default().push((now, held));
    }
    fn on_drop(&mut self, _: Time, at: QueueId, packet: &Envelope, cause: DropCause) {
        *self.drops.entry((at, packet.class, cause)).or_default() += 1;
    }
    fn on_drops(&mut self, at: QueueId, class: Class, cause: DropCause, count: u64) {
        *self.drops.entry((at, class, cause)).or_default() += count;
        self.bulk += count;
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
    way: Way,
}

impl ends::EndpointVisitor for Run<'_> {
    type Result = Log;

    fn visit<E: EndpointFactory>(self, ends: E) -> Log {
        let ports = self.setup.layout.ports.len() as u32;
        let of_host = (0..ports).map(|port| !self.setup.network.is_switch_port(port)).collect();
        let (queues, events, drops, way) = (BTreeMap::new(), vec![], BTreeMap::new(), self.way);
        let log = Log { way, of_host, queues, events, drops, bulk: 0, sent: 0 };
        let mut sim = sim_with(self.setup, &ends, log);
        sim.enable_retirement();
        for look in self.looks {
            sim.run_until(Time::after_start(*look));
            let ports: Vec<_> = sim.ports().map(|port| (port.counters(), port.free_at(), port.queued())).collect();
            let ends: Vec<_> = sim.ends().map(|it| (it.counters(), it.wakeup(), it.flow_state())).collect();
            let all = format!("{} {ports:?} {ends:?} {:?} {:?}", sim.in_network(), sim.take_retired(), sim.probe.drops);
            sim.probe.events.push(all);
        }
        sim.probe
    }
}

/// Runs one scheme in all ways. Returns how many drops were reported in bulk, and how many packets were not reported
/// as sent.
fn compare(plan: &Plan, scheme: usize, steps: &[u64]) -> (u64, u64) {
    let setup = ResolvedRun::new(plan, scheme, 1).unwrap();
    let looks = steps.iter().scan(0, |at, step| (*at += step, Some(Span::from_ns(*at))).1).collect::<Vec<_>>();
    let run = |way| ends::with(&setup, Run { setup: &setup, looks: &looks, way }).unwrap();
    let one_by_one = run(Way::OneByOne);
    let (mut bulk, mut unseen) = (0, 0);
    for log in [run(Way::ToHost), run(Way::ToSwitch)] {
        for (left, right) in one_by_one.events.iter().zip(&log.events) {
            assert_eq!(left, right, "{} {:?}", plan.schemes[scheme].name, log.way);
        }
        assert_eq!(one_by_one.events.len(), log.events.len());
        for (at, queue) in &one_by_one.queues {
            let other = log.queues.get(at).map_or(&[][..], Vec::as_slice);
            let first = queue.iter().zip(other).position(|(left, right)| left != right);
            let equal = first.is_none() && queue.len() == other.len();
            let unseen = log.way == Way::ToSwitch && log.of_host[at.port as usize];
            let first = first.unwrap_or(queue.len().min(other.len()));
            let differ = (
                &queue[first.saturating_sub(4)..(first + 3).min(queue.len())],
                &other[first.saturating_sub(4)..(first + 3).min(other.len())],
            );
            assert!(equal || unseen, "{} {:?} {at:?} {differ:?}", plan.schemes[scheme].name, log.way);
        }
        (bulk, unseen) = (bulk + log.bulk, unseen + one_by_one.sent - log.sent);
    }
    (bulk, unseen)
}

#[test]
fn flows_without_end_send_and_drop_in_bulk() {
    let topology = dumbbell(BitsPerSec::gbps(1), Span::from_ms(2), 4);
    let groups = (0..4).map(|host| group(&format!("g{host}"), (host + 1, 5), 1, None)).collect();
    let mut plan = plan(topology.into(), BufferSize::Bytes(Bytes::new(20_000)), groups);
    plan.nic_jitter = Some(Span::from_us(1));
    let scheme = |name: &str| plan.schemes.iter().position(|scheme| scheme.name == name).unwrap();
    let bulk = |name: &str| compare(&plan, scheme(name), &[40_000_000; 3]);
    assert_eq!(bulk("cubic"), (0, 0));
    assert!(bulk("expresspass").0 > 0);
    for name in ["flashpass", "flashpass-mimd"] {
        let (drops, unseen) = bulk(name);
        assert!(drops > 0 && unseen > 0, "{name} {drops} {unseen}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn nothing_depends_on_whether_packets_are_computed_in_bulk(
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

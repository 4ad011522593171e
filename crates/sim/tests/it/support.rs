//! Networks, and the flows of `ExpressPass`.

use shallop_core::{BitsPerSec, BufferSize, Bytes, Facts, Node, Seed, Share, Span, Time};
use shallop_proto::Endpoint;
use shallop_proto::expresspass::rule::Rule;
use shallop_proto::expresspass::{Config, Peer, Receiver, Sender};
use shallop_sim::{Flow, Network};
use shallop_switch::{Limit, Meter, PortBuffer, PortConfig, QueueConfig};
use shallop_topology::builder::NetworkBuilder;
use shallop_topology::{Dumbbell, Fabric, Graph, Largest, NicMode, Paths, SenderDelay, SwitchNames};

const FRAME: u64 = 1538;
const CREDIT: u64 = 84;

/// A dumbbell with these rates of the bottleneck and of the links to hosts, and numbers of senders and of receivers.
pub fn dumbbell(
    [rate, access_rate]: [BitsPerSec; 2], delay: Span, (senders, receivers): (usize, usize), sender_delay: SenderDelay,
) -> NetworkBuilder {
    let largest = Largest { mtu: Bytes::new(1500) };
    let dumbbell = Dumbbell { rate, access_rate, delay, senders, sender_delay, receivers, largest };
    dumbbell.build(Seed::new(0), &SwitchNames::default())
}

/// A network whose ports meter credits in a queue of eight, and have one further queue.
pub fn credit_network(graph: Graph, buffer: &str) -> Network {
    let share = Share::of(Bytes::new(CREDIT), Bytes::new(FRAME)).unwrap();
    let port = |number| {
        let link = graph.link_of(number);
        let meter = Meter::new(link.rate.share(share), Bytes::new(2 * CREDIT));
        let metered = QueueConfig { meter: Some(meter), ..QueueConfig::default() };
        let rest = QueueConfig { priority: 1, ..QueueConfig::default() };
        let config = PortConfig::new(link.rate, link.delay, vec![metered, rest]);
        PortConfig { queue_of: [1, 1, 1, 1, 0, 1, 1, 1], ..config }
    };
    let ports: Vec<_> = (0..graph.ports() as u32).map(port).collect();
    let buffer: BufferSize = buffer.parse().unwrap();
    let own = vec![Some(Limit { packets: 8, ..Limit::NONE }), None];
    let room = |port: &PortConfig| PortBuffer::new(Limit::for_buffer(buffer, port.rate), own.clone());
    let buffers = ports.iter().map(room).collect();
    let routes = Paths::new(&graph).routes(true, 0);
    Network { graph, ports, buffers, pools: vec![], routes, nic: NicMode::Fair }
}

/// A flow between two hosts.
pub fn flow_between<E: Endpoint>([from, to]: [Node; 2], start: Time, [sender, receiver]: [E; 2]) -> Flow<E> {
    Flow { facts: Facts::between(from, to), start, from, to, sender, receiver, connections: None }
}

/// A flow of `size` bytes, or without end. `seed` draws the jitter of its credits.
pub fn flow(
    hosts: [Node; 2], start: Time, size: Option<u64>, config: &Config, rule: Rule, seed: (u64, u64),
) -> Flow<Peer<Rule>> {
    let chance = Seed::new(seed.0).stream("credits", seed.1);
    let ends = [Peer::sender(Sender::new(config, size)), Peer::receiver(Receiver::new(config, rule, chance))];
    flow_between(hosts, start, ends)
}

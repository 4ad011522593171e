//! The flows of a run between real hosts, their ports, and the programs in hosts.

use crate::host_flow::{FlowProtocol, HostFlow, UdpOptions};
use crate::programs::Program;
use crate::{addresses, flow_monitor::FlowMonitor, host_endpoint::HostEndpoint};
use shallop_core::Node;
use shallop_measure::ends::{self, EndpointFactory};
use shallop_plan::{ResolvedRun, flows::Flow, plan::Plan};
use shallop_proto::AnyEnd;
use std::collections::BTreeMap;

/// Whether packets of real hosts get the traffic classes of transports without credits, because a group with a
/// transport of its own may use credits in the same network.
pub fn uses_legacy_classes(plan: &Plan) -> bool {
    plan.groups.iter().any(|group| group.transport.is_some())
}

/// A flow in a run: one that hosts send by themselves, or the packets of programs.
#[derive(Clone, Copy, Debug)]
enum FlowKind {
    /// A flow that hosts send, as an index into [`HostFlows::flows`].
    Sent(usize),
    /// Packets between programs, by the numbers of the sending and the receiving host.
    Programs(u32, u32),
}

/// The flows between real hosts of a run, and the names and numbers of these hosts.
#[derive(Clone, Debug, Default)]
pub struct HostFlows {
    /// The flows that hosts send, in order of their start.
    pub flows: Vec<HostFlow>,
    /// The kernel's names of the congestion controllers.
    pub controllers: Vec<String>,
    /// The names of hosts, by number.
    pub names: Vec<String>,
    pub programs: Vec<Program>,
    /// The path of this process's executable, for commands that call it.
    pub executable: Option<String>,
    /// The default congestion controller of programs, by the number of the host.
    pub program_controllers: BTreeMap<u32, String>,
    /// Flows whose ends are in real hosts, by the number of the flow.
    kinds: BTreeMap<u32, FlowKind>,
    hosts: BTreeMap<Node, u32>,
    /// The number of flows that each host sends.
    used_ports: BTreeMap<u32, u16>,
}

impl HostFlows {
    /// The number of a host among the real hosts. The first call for a host gives it the next number.
    pub fn host(&mut self, setup: &ResolvedRun<'_>, node: Node) -> u32 {
        let next = self.hosts.len() as u32;
        let number = *self.hosts.entry(node).or_insert(next);
        if number == next {
            let name = setup.network.names.get(node.0 as usize).map_or("", String::as_str);
            let fits = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
            let name = name.chars().map(|c| if fits(c) { c } else { '-' });
            self.names.push(name.collect());
        }
        number
    }

    /// The real hosts, each with its number.
    pub fn hosts(&self) -> impl ExactSizeIterator<Item = (Node, u32)> {
        self.hosts.iter().map(|(&node, &number)| (node, number))
    }

    /// The TCP flows, each with the index of its controller.
    pub fn tcp(&self) -> impl Iterator<Item = (&HostFlow, u16)> {
        self.flows.iter().filter_map(|flow| match flow.protocol {
            FlowProtocol::Tcp { controller } => Some((flow, controller)),
            _ => None,
        })
    }

    pub fn udp(&self) -> impl Iterator<Item = (&HostFlow, UdpOptions)> {
        self.flows.iter().filter_map(|flow| match flow.protocol {
            FlowProtocol::Udp(options) => Some((flow, options)),
            _ => None,
        })
    }

    pub fn quic(&self) -> impl Iterator<Item = &HostFlow> {
        self.flows.iter().filter(|flow| flow.protocol == FlowProtocol::Quic)
    }

    /// The index of a controller, which is added if it is new.
    pub fn controller(&mut self, name: &str) -> u16 {
        let known = self.controllers.iter().position(|known| known == name);
        known.unwrap_or_else(|| {
            self.controllers.push(name.to_owned());
            self.controllers.len() - 1
        }) as u16
    }

    /// Sets the default congestion controller of programs in two hosts. Fails if a host has another one.
    fn set_program_controller(&mut self, hosts: [u32; 2], name: &str) -> Result<(), String> {
        for host in hosts {
            let known = self.program_controllers.entry(host).or_insert_with(|| name.to_owned());
            if known != name {
                let host = &self.names[host as usize];
                return Err(format!(
                    "programs in host \"{host}\" would have both {known} and {name}: give their groups one transport"
                ));
            }
        }
        Ok(())
    }

    /// Makes a flow the one of all packets from programs in host `from` to programs in host `to`.
    pub fn set_of_programs(&mut self, flow: &Flow, from: u32, to: u32) {
        self.kinds.insert(flow.number, FlowKind::Programs(from, to));
    }

    /// Assigns a flow to programs, and adds the program of its group in host `from`, unless an earlier flow has added
    /// it. `start` is in nanoseconds of the hosts' clock; `controller` becomes the default of programs in both hosts.
    ///
    /// # Errors
    /// If the programs of a host have another controller already.
    pub fn add_program(
        &mut self, setup: &ResolvedRun<'_>, flow: &Flow, from: u32, to: u32, start: u64, controller: Option<&str>,
    ) -> Result<(), String> {
        if let Some(controller) = controller {
            self.set_program_controller([from, to], controller)?;
        }
        self.set_of_programs(flow, from, to);
        let group = &setup.plan.groups[flow.group];
        let is_known = |known: &Program| (known.host, known.group) == (from, flow.group);
        let command = group.command.as_ref().filter(|_| !self.programs.iter().any(is_known));
        self.programs.extend(command.map(|command| Program {
            group: flow.group,
            group_name: group.name.clone(),
            host: from,
            start,
            words: command.words_for(&self.names[to as usize], self.executable.as_deref()),
            is_shell: command.is_shell,
        }));
        Ok(())
    }

    /// Adds a flow from host `from` to host `to`. `start` is in nanoseconds of the hosts' clock.
    ///
    /// # Errors
    /// If the host has no source port left.
    pub fn add(&mut self, flow: &Flow, from: u32, to: u32, start: u64, protocol: FlowProtocol) -> Result<(), String> {
        let used = self.used_ports.entry(from).or_insert(0);
        if usize::from(*used) >= addresses::MAX_FLOWS_PER_HOST {
            return Err(format!("a host sends at most {} flows in a run", addresses::MAX_FLOWS_PER_HOST));
        }
        let source_port = addresses::FIRST_SOURCE_PORT + *used;
        *used += 1;
        self.kinds.insert(flow.number, FlowKind::Sent(self.flows.len()));
        let (number, size) = (flow.number, flow.size);
        self.flows.push(HostFlow { number, start, size, from, to, source_port, protocol });
        Ok(())
    }
}

/// Creates the endpoints of simulated flows and the monitors of flows between real hosts.
pub struct HostEndpoints<'a, S> {
    pub setup: &'a ResolvedRun<'a>,
    pub simulated: S,
    pub flows: &'a HostFlows,
}

impl<S: EndpointFactory<End = AnyEnd>> EndpointFactory for HostEndpoints<'_, S> {
    type End = HostEndpoint<AnyEnd>;

    fn flow(&self, flow: &Flow) -> shallop_sim::Flow<Self::End> {
        let monitors = match self.flows.kinds.get(&flow.number) {
            None => {
                let shallop_sim::Flow { start, from, to, sender, receiver, facts, connections } =
                    self.simulated.flow(flow);
                let [sender, receiver] = [sender, receiver].map(HostEndpoint::Simulated);
                return shallop_sim::Flow { start, from, to, sender, receiver, facts, connections };
            }
            Some(&FlowKind::Sent(index)) => FlowMonitor::for_flow(&self.flows.flows[index]),
            Some(&FlowKind::Programs(from, to)) => FlowMonitor::for_programs(from, to),
        };
        let monitors = monitors.map(|monitor| HostEndpoint::Monitored(Box::new(monitor)));
        // A real host opens a connection for each flow.
        shallop_sim::Flow { connections: None, ..ends::flow(self.setup, flow, monitors) }
    }
}

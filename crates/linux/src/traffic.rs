//! The flows between real hosts and the programs of a rehearsal.

use crate::{controllers::Controllers, error::RehearsalError, quic_flows};
use shallop_core::{BitsPerSec, Node, Span, Time};
use shallop_hosts::{FlowProtocol, HostFlow, HostFlows, UdpOptions};
use shallop_plan::ResolvedRun;
use shallop_plan::flows::{Flow, FlowGenerator};
use shallop_plan::kernel::CONTROLLERS;
use shallop_plan::plan::{Attachment, Driver, Plan};
use shallop_plan::transport::{FlashPass, Transport, Udp};
use shallop_results::summary::Run;
use std::{cmp::Reverse, collections::BTreeMap};

const MAX_HOSTS: usize = 250;

/// The flows between real hosts and the programs of a rehearsal.
#[derive(Default)]
pub(crate) struct Traffic {
    pub(crate) flows: HostFlows,
    /// The settings of each QUIC flow.
    pub(crate) quic: Vec<shallop_quic::Config>,
    /// The rate of each host's link, by host.
    pub(crate) rates: Vec<BitsPerSec>,
    /// The shortest round-trip time of a flow in an empty network.
    pub(crate) shortest_rtt: Span,
    /// Interfaces of this machine that replace hosts, by the number of the host.
    pub(crate) attached: BTreeMap<u32, String>,
    /// The bottleneck ports of all flows, with their rates.
    bottlenecks: BTreeMap<u32, BitsPerSec>,
}

/// The interfaces of this machine that replace hosts, as the plan says.
fn attachments<'a>(setup: &ResolvedRun<'a>) -> &'a [Attachment] {
    match &setup.plan.driver {
        Driver::Rehearsal { attached, .. } => attached,
        Driver::Simulator => &[],
    }
}

/// The transport of a flow between real hosts.
enum HostTransport<'a> {
    /// TCP with this congestion controller of the kernel.
    Tcp(&'a str),
    Udp(&'a Udp),
    Quic(&'a FlashPass),
}

impl<'a> HostTransport<'a> {
    /// The transport of a group under a scheme; `None` if the group's hosts are simulated. Without `controllers` all
    /// controllers of Linux are available.
    fn for_group(plan: &'a Plan, scheme: usize, group: usize, controllers: Option<&'a Controllers>) -> Option<Self> {
        let is_program = plan.groups[group].command.is_some();
        match &plan.transport(scheme, group).transport {
            Transport::Udp(udp) => return Some(Self::Udp(udp)),
            Transport::FlashPass(config) if !is_program => return Some(Self::Quic(config)),
            _ => {}
        }
        let name = plan.kernel(scheme, group)?;
        let known = CONTROLLERS.iter().find(|(ours, _)| *ours == name);
        let kernels = known.map_or(name, |(_, kernels)| kernels);
        Some(Self::Tcp(controllers.and_then(|of| of.kernels(name)).unwrap_or(kernels)))
    }
}

impl Traffic {
    /// The flows and programs of a setup. Without `controllers` all controllers of Linux are available.
    pub(crate) fn from_setup(
        setup: &ResolvedRun<'_>, controllers: Option<&Controllers>,
    ) -> Result<Self, RehearsalError> {
        let plan = setup.plan;
        let mut all = Self { shortest_rtt: Span::MAX, ..Self::default() };
        let own = std::env::current_exe().ok();
        all.flows.executable = own.map(|path| path.to_string_lossy().into_owned());
        let (end, mut paths) = (Time::after_start(plan.duration), Vec::new());
        for flow in FlowGenerator::new(setup).take_while(|flow| flow.start <= end) {
            let group = &plan.groups[flow.group];
            let scheme = plan.transport(setup.scheme, flow.group);
            let transport = HostTransport::for_group(plan, setup.scheme, flow.group, controllers);
            let is_tcp = matches!(transport, Some(HostTransport::Tcp(_)));
            if group.command.is_some() && !is_tcp {
                let (group, name) = (&group.name, &scheme.name);
                return Err(RehearsalError::Refused(format!(
                    "group \"{group}\" runs a program, and \"{name}\" is no congestion controller of a kernel: give \
                     the group a `transport` such as \"cubic\""
                )));
            }
            let Some(transport) = transport else { continue };
            let (from, to) = flow.path.nics;
            let (from, to) = (all.host(setup, flow.from, from), all.host(setup, flow.to, to));
            all.shortest_rtt = all.shortest_rtt.min(flow.path.base_rtt);
            paths.push(flow.path.there.clone());
            all.add(setup, &flow, from, to, &transport)?;
        }
        all.find_bottlenecks(setup, &paths);
        let slack = quic_flows::slack(all.shortest_drain(setup));
        all.quic.iter_mut().for_each(|config| config.slack = slack);
        all.check()?;
        for of in attachments(setup) {
            if !all.attached.values().any(|interface| *interface == of.interface) {
                let (host, known) = (&of.host, all.flows.names.join(", "));
                return Err(RehearsalError::Refused(format!(
                    "there is no host \"{host}\" for interface {}; hosts: {known}",
                    of.interface
                )));
            }
        }
        Ok(all)
    }

    fn add(
        &mut self, setup: &ResolvedRun<'_>, flow: &Flow, from: u32, to: u32, transport: &HostTransport<'_>,
    ) -> Result<(), RehearsalError> {
        let is_attached = [from, to].iter().any(|host| self.attached.contains_key(host));
        let is_of_programs = setup.plan.groups[flow.group].command.is_some();
        if is_attached || is_of_programs {
            self.flows.set_of_programs(flow, from, to);
        }
        let protocol = match *transport {
            HostTransport::Tcp(controller) if is_of_programs => {
                return self.add_program(setup, flow, from, to, controller);
            }
            // The machine behind the interface decides what it sends.
            _ if is_attached => return Ok(()),
            HostTransport::Tcp(controller) => FlowProtocol::Tcp { controller: self.flows.controller(controller) },
            HostTransport::Quic(options) => {
                self.quic.push(quic_flows::config(setup, flow, options)?);
                FlowProtocol::Quic
            }
            HostTransport::Udp(udp) => FlowProtocol::Udp(UdpOptions {
                rate: udp.rate.unwrap_or(self.rates[from as usize]),
                payload: udp.datagram(flow.path.payload).0 as u16,
                ect: udp.ect,
            }),
        };
        let added = self.flows.add(flow, from, to, start(flow), protocol);
        added.map_err(RehearsalError::Refused)
    }

    /// Whether hosts receive nothing but QUIC.
    pub(crate) fn is_quic_alone(&self) -> bool {
        let is_quic = |flow: &HostFlow| flow.protocol == FlowProtocol::Quic;
        let HostFlows { flows, programs, .. } = &self.flows;
        let others = programs.len() + self.attached.len();
        !flows.is_empty() && flows.iter().all(is_quic) && others == 0
    }

    /// The lowest utilization of a bottleneck in a run, 0 to 1.
    pub(crate) fn least_utilization(&self, setup: &ResolvedRun<'_>, run: &Run) -> f64 {
        let of = |&port: &u32| run.utilization_by_place.get(&setup.network.port_name(port)).copied();
        self.bottlenecks.keys().map(|port| of(port).unwrap_or(0.0)).fold(1.0, f64::min)
    }

    /// Whether hosts have TCP flows of the scenario, and nothing else.
    pub(crate) fn is_tcp_alone(&self) -> bool {
        let HostFlows { flows, programs, .. } = &self.flows;
        let others = programs.len() + self.attached.len();
        let is_tcp = |flow: &HostFlow| matches!(flow.protocol, FlowProtocol::Tcp { .. });
        !flows.is_empty() && flows.iter().all(is_tcp) && others == 0
    }

    /// Finds the bottleneck of each path: its slowest port and, of equally slow ones, the port on most paths.
    fn find_bottlenecks(&mut self, setup: &ResolvedRun<'_>, paths: &[Vec<u32>]) {
        let mut shared: BTreeMap<u32, usize> = BTreeMap::new();
        for &port in paths.iter().flatten() {
            *shared.entry(port).or_default() += 1;
        }
        let rate = |port: u32| setup.network.graph.link_of(port).rate;
        for path in paths {
            let slowness = |port: &u32| (rate(*port), Reverse(shared.get(port).copied()));
            if let Some(port) = path.iter().copied().min_by_key(slowness) {
                self.bottlenecks.insert(port, rate(port));
            }
        }
    }

    /// The sum of the rates of all bottlenecks, in bits per second: the highest load of the network.
    pub(crate) fn demand(&self) -> f64 {
        self.bottlenecks.values().map(|rate| rate.get() as f64).sum()
    }

    /// The shortest time in which the full buffer of a bottleneck drains.
    pub(crate) fn shortest_drain(&self, setup: &ResolvedRun<'_>) -> Span {
        self.bottlenecks.keys().filter_map(|&port| setup.drain(port)).min().unwrap_or(Span::MAX)
    }

    /// The number of a host among the real hosts. The host's link starts at this port.
    fn host(&mut self, setup: &ResolvedRun<'_>, node: Node, port: u32) -> u32 {
        let host = self.flows.host(setup, node);
        if host as usize == self.rates.len() {
            self.rates.push(setup.network.graph.link_of(port).rate);
            let name = &self.flows.names[host as usize];
            let interface = attachments(setup).iter().find(|of| of.host == *name);
            self.attached.extend(interface.map(|of| (host, of.interface.clone())));
        }
        host
    }

    /// Adds the program of a flow between these hosts.
    fn add_program(
        &mut self, setup: &ResolvedRun<'_>, flow: &Flow, from: u32, to: u32, controller: &str,
    ) -> Result<(), RehearsalError> {
        let Some(command) = &setup.plan.groups[flow.group].command else { return Ok(()) };
        // Commands without words are shells of further terminals, which start later (`session`).
        if command.words.is_empty() {
            return Ok(());
        }
        if let Some(interface) = self.attached.get(&from) {
            let name = &self.flows.names[from as usize];
            return Err(RehearsalError::Refused(format!(
                "host \"{name}\" has programs, so interface {interface} cannot replace it"
            )));
        }
        // In a shell the user chooses the controller.
        let controller = Some(controller).filter(|_| !command.is_shell);
        let added = self.flows.add_program(setup, flow, from, to, start(flow), controller);
        added.map_err(RehearsalError::Refused)
    }

    fn check(&self) -> Result<(), RehearsalError> {
        let hosts = self.rates.len();
        if hosts == 0 {
            return Err(RehearsalError::NoHosts);
        }
        if hosts > MAX_HOSTS {
            return Err(RehearsalError::Refused(format!(
                "a rehearsal has at most {MAX_HOSTS} real hosts; this one has {hosts}"
            )));
        }
        Ok(())
    }
}

/// The start time of a flow, in nanoseconds since the start of the run.
fn start(flow: &Flow) -> u64 {
    flow.start.since_start().as_ps() / 1_000
}

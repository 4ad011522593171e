//! What is rehearsed of a setup: its flows between real hosts, and the programs in them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use shallop_core::{BitsPerSec, Node, Span, Time};
use shallop_hosts::flows::{HostFlows, Owner};
use shallop_plan::ResolvedRun;
use shallop_plan::flows::{Flow, FlowGenerator};
use shallop_plan::kernel::CONTROLLERS;
use shallop_plan::plan::{Attachment, Driver, Plan};
use shallop_plan::transport::{FlashPass, Transport, Udp};

use crate::controllers::Controllers;
use crate::error::RehearsalError;
use crate::programs::Program;
use crate::quic_flows;

/// The most hosts of a rehearsal.
const MOST_HOSTS: usize = 250;

/// What is rehearsed of a setup.
#[derive(Default)]
pub(crate) struct Traffic {
    pub(crate) flows: HostFlows,
    /// The settings of each flow by QUIC, by its place among their orders.
    pub(crate) quic: Vec<shallop_quic::Config>,
    /// The rate of each host's link, by the number of the host.
    pub(crate) rates: Vec<BitsPerSec>,
    /// The shortest round trip without queues.
    pub(crate) shortest_rtt: Span,
    /// The programs in hosts.
    pub(crate) programs: Vec<Program>,
    /// The interfaces of this machine in the place of hosts, by the number of the host.
    pub(crate) attached: BTreeMap<u32, String>,
    /// The slowest port on the path of each flow, once, with its rate.
    tightest: BTreeMap<u32, BitsPerSec>,
}

/// The interfaces in the place of hosts that a plan asks for.
fn attachments<'a>(setup: &ResolvedRun<'a>) -> &'a [Attachment] {
    match &setup.plan.driver {
        Driver::Rehearsal { attached, .. } => attached,
        Driver::Simulator => &[],
    }
}

/// How real hosts send a flow.
enum Sends<'a> {
    /// By TCP with this controller of the kernel.
    Stream(&'a str),
    /// By datagrams at a rate.
    Datagrams(&'a Udp),
    /// By QUIC on credits.
    Credits(&'a FlashPass),
}

impl<'a> Sends<'a> {
    /// That of a group under a scheme; `None` if its hosts are simulated.
    fn of(
        plan: &'a Plan,
        (scheme, group): (usize, usize),
        controllers: Option<&'a Controllers>,
    ) -> Option<Self> {
        let is_program = plan.groups[group].command.is_some();
        match &plan.transport(scheme, group).transport {
            Transport::Udp(udp) => return Some(Self::Datagrams(udp)),
            Transport::FlashPass(config) if !is_program => return Some(Self::Credits(config)),
            _ => {}
        }
        let name = plan.kernel(scheme, group)?;
        let known = CONTROLLERS.iter().find(|(ours, _)| *ours == name);
        let kernels = known.map_or(name, |(_, kernels)| kernels);
        Some(Self::Stream(controllers.and_then(|of| of.kernels(name)).unwrap_or(kernels)))
    }
}

impl Traffic {
    /// The flows and programs between real hosts of a setup, with these controllers or, without any, those that kernels
    /// may have.
    pub(crate) fn of(
        setup: &ResolvedRun<'_>,
        controllers: Option<&Controllers>,
    ) -> Result<Self, RehearsalError> {
        let plan = setup.plan;
        let mut all = Self { shortest_rtt: Span::MAX, ..Self::default() };
        let (end, mut paths) = (Time::after_start(plan.duration), Vec::new());
        for flow in FlowGenerator::new(setup).take_while(|flow| flow.start <= end) {
            let group = &plan.groups[flow.group];
            let scheme = plan.transport(setup.scheme, flow.group);
            let sends = Sends::of(plan, (setup.scheme, flow.group), controllers);
            let is_stream = matches!(sends, Some(Sends::Stream(_)));
            if group.command.is_some() && !is_stream {
                let (group, name) = (&group.name, &scheme.name);
                return Err(RehearsalError::Refused(format!(
                    "group \"{group}\" runs a program, and \"{name}\" is no congestion controller of a kernel: give \
                     the group a `transport` such as \"cubic\""
                )));
            }
            let Some(sends) = sends else { continue };
            let (from, to) = flow.path.nics;
            let hosts = (all.host(setup, (flow.from, from)), all.host(setup, (flow.to, to)));
            all.shortest_rtt = all.shortest_rtt.min(flow.path.base_rtt);
            paths.push(flow.path.there.clone());
            all.add(setup, &flow, hosts, &sends)?;
        }
        all.find_tightest(setup, &paths);
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

    /// Adds a flow between these hosts.
    fn add(
        &mut self,
        setup: &ResolvedRun<'_>,
        flow: &Flow,
        hosts: (u32, u32),
        sends: &Sends<'_>,
    ) -> Result<(), RehearsalError> {
        let start = flow.start.since_start().as_ps() / 1_000;
        let is_attached = [hosts.0, hosts.1].iter().any(|host| self.attached.contains_key(host));
        let is_of_programs = setup.plan.groups[flow.group].command.is_some();
        if is_attached || is_of_programs {
            self.flows.owners.insert(flow.number, Owner::Programs(hosts.0, hosts.1));
        }
        let added = match *sends {
            Sends::Stream(controller) if is_of_programs => {
                return self.add_program(setup, flow, hosts, controller);
            }
            // What is behind the interface sends what it likes.
            _ if is_attached => return Ok(()),
            Sends::Stream(controller) => self.flows.add(flow, hosts, controller, start),
            Sends::Credits(config) => {
                self.quic.push(quic_flows::config(setup, flow, config)?);
                self.flows.add_quic(flow, hosts, start)
            }
            Sends::Datagrams(udp) => {
                let rate = udp.rate.unwrap_or(self.rates[hosts.0 as usize]);
                self.flows.add_datagrams(flow, hosts, (rate, udp.ect), start)
            }
        };
        added.map_err(|most| {
            RehearsalError::Refused(format!("a host sends at most {most} flows in a run"))
        })
    }

    /// Whether QUIC is all that hosts receive.
    pub(crate) fn is_quic_alone(&self) -> bool {
        let HostFlows { orders, datagrams, quic, .. } = &self.flows;
        let others = orders.len() + datagrams.len() + self.programs.len() + self.attached.len();
        !quic.is_empty() && others == 0
    }

    /// Finds the slowest port on each of these paths; of several as slow, that on most paths.
    fn find_tightest(&mut self, setup: &ResolvedRun<'_>, paths: &[Vec<u32>]) {
        let mut shared: BTreeMap<u32, usize> = BTreeMap::new();
        for &port in paths.iter().flatten() {
            *shared.entry(port).or_default() += 1;
        }
        let rate = |port: u32| setup.network.graph.link_of(port).rate;
        for path in paths {
            let slowness = |port: &u32| (rate(*port), Reverse(shared.get(port).copied()));
            if let Some(port) = path.iter().copied().min_by_key(slowness) {
                self.tightest.insert(port, rate(port));
            }
        }
    }

    /// The most that the network carries at a time between real hosts, in bits per second: what the slowest links on
    /// the paths of all flows carry together.
    pub(crate) fn demand(&self) -> f64 {
        self.tightest.values().map(|rate| rate.get() as f64).sum()
    }

    /// The shortest time in which the full buffer before one of these links drains.
    pub(crate) fn shortest_drain(&self, setup: &ResolvedRun<'_>) -> Span {
        self.tightest.keys().filter_map(|&port| setup.drain(port)).min().unwrap_or(Span::MAX)
    }

    /// The number of a host, whose link begins at this port.
    fn host(&mut self, setup: &ResolvedRun<'_>, (node, port): (Node, u32)) -> u32 {
        let host = self.flows.host(setup, node);
        if host as usize == self.rates.len() {
            self.rates.push(setup.network.graph.link_of(port).rate);
            let name = &self.flows.names[host as usize];
            let interface = attachments(setup).iter().find(|of| of.host == *name);
            self.attached.extend(interface.map(|of| (host, of.interface.clone())));
        }
        host
    }

    /// The program of which this flow is, unless an earlier flow was of it.
    fn add_program(
        &mut self,
        setup: &ResolvedRun<'_>,
        flow: &Flow,
        (from, to): (u32, u32),
        controller: &str,
    ) -> Result<(), RehearsalError> {
        let group = &setup.plan.groups[flow.group];
        // Whoever is at a terminal chooses the controller.
        let is_typed = group
            .command
            .as_ref()
            .is_some_and(|command| command.is_shell || command.words.is_empty());
        if !is_typed {
            let added = self.flows.add_program_controller([from, to], controller);
            added.map_err(RehearsalError::Refused)?;
        }
        let known = |of: &Program| (of.host, of.group) == (from, flow.group);
        let is_new = !self.programs.iter().any(known);
        // Without words terminals that join start the programs (`Session`).
        if let Some(command) = group.command.as_ref().filter(|of| is_new && !of.words.is_empty()) {
            if let Some(interface) = self.attached.get(&from) {
                let name = &self.flows.names[from as usize];
                return Err(RehearsalError::Refused(format!(
                    "programs are to run in host \"{name}\", in whose place interface {interface} is"
                )));
            }
            let own = std::env::current_exe().ok();
            let own = own.map(|path| path.to_string_lossy().into_owned());
            self.programs.push(Program {
                group: flow.group,
                host: from,
                start: flow.start.since_start().as_ps() / 1_000,
                folder: format!("{}.{}", group.name, self.flows.names[from as usize]),
                words: command.words_for(&self.flows.names[to as usize], own.as_deref()),
                is_shell: command.is_shell,
            });
        }
        Ok(())
    }

    fn check(&self) -> Result<(), RehearsalError> {
        let hosts = self.rates.len();
        if hosts == 0 {
            return Err(RehearsalError::NoHosts);
        }
        if hosts > MOST_HOSTS {
            return Err(RehearsalError::Refused(format!(
                "{hosts} hosts are real ones, and a rehearsal has at most {MOST_HOSTS}"
            )));
        }
        Ok(())
    }
}

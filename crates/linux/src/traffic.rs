//! What is rehearsed of a setup: its flows between real hosts, and the programs in them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use shallop_core::{BitsPerSec, Node, Span, Time};
use shallop_hosts::flows::{HostFlows, Owner};
use shallop_plan::Setup;
use shallop_plan::flows::{Flow, FlowGenerator};
use shallop_plan::kernel::CONTROLLERS;

use crate::error::RehearsalError;
use crate::programs::Program;

/// The most hosts of a rehearsal.
const MOST_HOSTS: usize = 250;

/// What is rehearsed of a setup.
#[derive(Default)]
pub(crate) struct Traffic {
    pub(crate) flows: HostFlows,
    /// The rate of each host's link, by the number of the host.
    pub(crate) rates: Vec<BitsPerSec>,
    /// The shortest round trip without queues.
    pub(crate) shortest_rtt: Span,
    /// The programs in hosts.
    pub(crate) programs: Vec<Program>,
    /// The slowest port on the path of each flow, once, with its rate.
    tightest: BTreeMap<u32, BitsPerSec>,
}

impl Traffic {
    /// That of a setup. The kernel must have the controllers, if it is said which it has.
    pub(crate) fn of(
        setup: &Setup<'_>,
        available: Option<&[String]>,
    ) -> Result<Self, RehearsalError> {
        let plan = setup.plan;
        let mut all = Self { shortest_rtt: Span::MAX, ..Self::default() };
        let (end, mut paths) = (Time::after_start(plan.duration), Vec::new());
        for flow in FlowGenerator::new(setup).take_while(|flow| flow.start <= end) {
            let transport = &plan.transport(setup.scheme, flow.group).transport;
            let Some(name) = transport.kernel() else { continue };
            let known = CONTROLLERS.iter().find(|(ours, _)| *ours == name);
            let kernels = known.map_or(name, |(_, kernels)| kernels);
            if let Some(has) = available.filter(|has| !has.iter().any(|of| of == kernels)) {
                let has = has.join(", ");
                return Err(RehearsalError::Refused(format!(
                    "the kernel of this machine has no congestion controller \"{kernels}\"; it has {has}"
                )));
            }
            let (sends, receives) = flow.path.nics;
            let hosts = (all.host(setup, (flow.from, sends)), all.host(setup, (flow.to, receives)));
            all.shortest_rtt = all.shortest_rtt.min(flow.path.base_rtt);
            paths.push(flow.path.there.clone());
            let start = flow.start.since_start().as_ps() / 1_000;
            if plan.groups[flow.group].command.is_some() {
                all.add_program(setup, &flow, hosts, kernels)?;
                all.flows.owners.insert(flow.number, Owner::Programs(hosts.0, hosts.1));
                continue;
            }
            all.flows.add(&flow, hosts, kernels, start).map_err(|most| {
                RehearsalError::Refused(format!("a host sends at most {most} flows in a run"))
            })?;
        }
        all.find_tightest(setup, &paths);
        all.check()?;
        Ok(all)
    }

    /// Finds the slowest port on each of these paths; of several as slow, that on most paths.
    fn find_tightest(&mut self, setup: &Setup<'_>, paths: &[Vec<u32>]) {
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
    pub(crate) fn shortest_drain(&self, setup: &Setup<'_>) -> Span {
        self.tightest.keys().filter_map(|&port| setup.drain(port)).min().unwrap_or(Span::MAX)
    }

    /// The number of a host, whose link begins at this port.
    fn host(&mut self, setup: &Setup<'_>, (node, port): (Node, u32)) -> u32 {
        let host = self.flows.host(setup, node);
        if host as usize == self.rates.len() {
            self.rates.push(setup.network.graph.link_of(port).rate);
        }
        host
    }

    /// The program of which this flow is, unless an earlier flow was of it.
    fn add_program(
        &mut self,
        setup: &Setup<'_>,
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
            self.programs.push(Program {
                group: flow.group,
                host: from,
                start: flow.start.since_start().as_ps() / 1_000,
                folder: format!("{}.{}", group.name, self.flows.names[from as usize]),
                words: command.words.clone(),
                is_shell: command.is_shell,
            });
        }
        Ok(())
    }

    fn check(&self) -> Result<(), RehearsalError> {
        let hosts = self.rates.len();
        if hosts == 0 {
            return Err(RehearsalError::Refused(
                "no flow is between real hosts: write stack = \"kernel\"".to_owned(),
            ));
        }
        if hosts > MOST_HOSTS {
            return Err(RehearsalError::Refused(format!(
                "{hosts} hosts are real ones, and a rehearsal has at most {MOST_HOSTS}"
            )));
        }
        Ok(())
    }
}

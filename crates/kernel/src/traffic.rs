//! What kernels are asked to do in a run: the flows between them, their programs, and the hosts that these are in.

use std::collections::BTreeMap;

use shallop_control::any as window;
use shallop_core::{Node, Time};
use shallop_plan::Setup;
use shallop_plan::flows::{Flow, FlowGenerator};
use shallop_plan::kernel::{CONTROLLERS, controllers};
use shallop_plan::plan::Transport;

use crate::launch::BOOTED;
use crate::modules::{self, Module};
use crate::orders::{self, FlowOrder};
use crate::programs::{Program, Programs};
use crate::run::KernelRunError;

/// The most hosts that one kernel carries: a card and a network namespace each.
const MAX_HOSTS_OF_KERNEL: usize = 200;
/// As many hosts share a kernel before there is another, up to this many kernels.
const HOSTS_OF_KERNEL: usize = 16;
const KERNELS: usize = 16;
/// The most kernels of a run.
const MAX_KERNELS: usize = 64;

/// Whose a flow is that has kernels at its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// Our agent's, by the number of the order.
    Agent(u32),
    /// Programs' in these two hosts.
    Programs(u32, u32),
}

/// What kernels are asked to do.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    pub(crate) orders: Vec<FlowOrder>,
    /// Flows with kernels at their ends, by the flow's number.
    pub(crate) owners: BTreeMap<u32, Owner>,
    pub(crate) controllers: Vec<String>,
    /// The controllers that are loaded.
    pub(crate) modules: Vec<Module>,
    pub(crate) programs: Programs,
    /// The group of each program.
    pub(crate) groups: Vec<usize>,
    /// The number of each host among those of kernels.
    hosts: BTreeMap<Node, u32>,
    /// The flows of our agent that each host has sent so far.
    local: BTreeMap<u32, u16>,
}

impl Traffic {
    pub(crate) fn of(setup: &Setup<'_>) -> Result<Self, KernelRunError> {
        let mut all = Self::default();
        let end = Time::after_start(setup.plan.duration);
        let options = &setup.plan.kernel;
        if let Some(name) = &options.module {
            let parameters = options.parameters.join(" ");
            all.modules.push(Module { name: name.clone(), parameters });
        }
        for flow in FlowGenerator::new(setup).take_while(|flow| flow.start <= end) {
            let transport = &setup.plan.transport(setup.scheme, flow.group).transport;
            let Some(name) = transport.kernel() else { continue };
            let known = CONTROLLERS.iter().find(|(ours, _)| *ours == name);
            let controller = known.ok_or_else(|| unknown(name))?.1;
            let controller = options.controller().unwrap_or(controller);
            if options.module.is_none() {
                all.add_gemini(setup, &flow, transport)?;
            }
            let hosts = (all.host(setup, flow.from), all.host(setup, flow.to));
            let owner = if setup.plan.groups[flow.group].command.is_some() {
                all.add_program(setup, &flow, hosts, controller)?;
                Owner::Programs(hosts.0, hosts.1)
            } else {
                Owner::Agent(all.add_order(&flow, hosts, controller)?)
            };
            all.owners.insert(flow.number, owner);
        }
        Ok(all)
    }

    /// Adds the module of Gemini for a flow that uses it. A kernel has it once, with one set of parameters.
    fn add_gemini(
        &mut self,
        setup: &Setup<'_>,
        flow: &Flow,
        transport: &Transport,
    ) -> Result<(), KernelRunError> {
        let Transport::Tcp(tcp) = transport else { return Ok(()) };
        let window::Config::Gemini(config) = &tcp.controller else { return Ok(()) };
        let link = setup.network.graph.link_of(flow.path.nics.0).rate;
        let wanted = modules::gemini(config, link);
        match self.modules.first() {
            None => self.modules.push(wanted),
            Some(known) if *known == wanted => {}
            Some(_) => {
                return Err(KernelRunError::Refused(
                    "all flows with Gemini in kernels have one set of options: write one \
                     `capacity` if links of senders differ"
                        .to_owned(),
                ));
            }
        }
        Ok(())
    }

    /// The number of a host, which is new if it is seen for the first time.
    fn host(&mut self, setup: &Setup<'_>, node: Node) -> u32 {
        let next = self.hosts.len() as u32;
        let number = *self.hosts.entry(node).or_insert(next);
        if number == next {
            let name = setup.network.names.get(node.0 as usize).map_or("", String::as_str);
            let fits = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
            let name = name.chars().map(|c| if fits(c) { c } else { '-' });
            self.programs.names.push(name.collect());
        }
        number
    }

    fn add_order(
        &mut self,
        flow: &Flow,
        (from, to): (u32, u32),
        controller: &str,
    ) -> Result<u32, KernelRunError> {
        let used = self.local.entry(from).or_insert(0);
        if usize::from(*used) >= orders::MAX_FLOWS_OF_HOST {
            let most = orders::MAX_FLOWS_OF_HOST;
            return Err(KernelRunError::Refused(format!(
                "a kernel's host sends at most {most} flows in a run"
            )));
        }
        let local = orders::FIRST_LOCAL_PORT + *used;
        *used += 1;
        let (number, controller) = (self.orders.len() as u32, self.controller(controller));
        let (start, size) = (guest(flow.start), flow.size);
        self.orders.push(FlowOrder { number, start, size, from, to, local, controller });
        Ok(number)
    }

    /// The program of which this flow is, unless an earlier flow was of it.
    fn add_program(
        &mut self,
        setup: &Setup<'_>,
        flow: &Flow,
        (from, to): (u32, u32),
        controller: &str,
    ) -> Result<(), KernelRunError> {
        self.controller(controller);
        for host in [from, to] {
            match self.programs.congestion.iter().find(|(of, _)| *of == host) {
                Some((_, other)) if other != controller => {
                    let name = &self.programs.names[host as usize];
                    return Err(KernelRunError::Refused(format!(
                        "programs in host \"{name}\" would have both {other} and {controller}: \
                         give their groups one transport"
                    )));
                }
                Some(_) => {}
                None => self.programs.congestion.push((host, controller.to_owned())),
            }
        }
        let mut known = self.programs.all.iter().zip(&self.groups);
        if known.any(|(program, &group)| program.host == from && group == flow.group) {
            return Ok(());
        }
        let group = &setup.plan.groups[flow.group];
        let Some(command) = &group.command else { return Ok(()) };
        let missing = || KernelRunError::Refused("programs need a scenario in a folder".to_owned());
        self.programs.scenario = command.files.folder().ok_or_else(missing)?.into();
        if command.is_shell {
            self.programs.shell = Some(self.programs.all.len() as u32);
        }
        self.groups.push(flow.group);
        self.programs.all.push(Program {
            number: self.programs.all.len() as u32,
            host: from,
            start: guest(flow.start),
            folder: group.name.clone(),
            command: command.words.clone(),
        });
        Ok(())
    }

    /// The index of a controller, which is added if it is new.
    fn controller(&mut self, name: &str) -> u16 {
        let known = self.controllers.iter().position(|known| known == name);
        known.unwrap_or_else(|| {
            self.controllers.push(name.to_owned());
            self.controllers.len() - 1
        }) as u16
    }

    /// The sysctls that the controllers need.
    pub(crate) fn ecn(&self) -> Vec<(String, String)> {
        let marked = |name: &String| ["dctcp", "gemini"].contains(&name.as_str());
        let needed = self.controllers.iter().any(marked);
        let ecn = ("net.ipv4.tcp_ecn".to_owned(), "1".to_owned());
        needed.then_some(ecn).into_iter().collect()
    }

    /// The hosts of each kernel, in turn.
    pub(crate) fn kernels(&self) -> Result<Vec<Vec<u32>>, KernelRunError> {
        let kernels = self.hosts.len().div_ceil(HOSTS_OF_KERNEL).clamp(1, KERNELS);
        let kernels = kernels.max(self.hosts.len().div_ceil(MAX_HOSTS_OF_KERNEL));
        if kernels > MAX_KERNELS {
            let most = MAX_KERNELS * MAX_HOSTS_OF_KERNEL;
            return Err(KernelRunError::Refused(format!(
                "{} hosts are kernels, and at most {most} can be",
                self.hosts.len()
            )));
        }
        let of = |kernel: usize| {
            (0..self.hosts.len() as u32).filter(move |&host| host as usize % kernels == kernel)
        };
        Ok((0..kernels).map(|kernel| of(kernel).collect()).collect())
    }
}

fn unknown(name: &str) -> KernelRunError {
    let known = controllers();
    KernelRunError::Refused(format!("the kernel has no \"{name}\"; it has {known}"))
}

/// The guest time of a time of the run.
fn guest(time: Time) -> u64 {
    BOOTED + time.since_start().as_ps().div_ceil(1_000)
}

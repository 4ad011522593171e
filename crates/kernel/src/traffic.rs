//! What kernels are asked to do in a run: the flows between them, their programs, and the hosts that these are in.

use shallop_control::any as window;
use shallop_core::Time;
use shallop_plan::ResolvedRun;
use shallop_plan::flows::{Flow, FlowGenerator};
use shallop_plan::kernel::{CONTROLLERS, NOT_IN_VIRTUAL_TIME};
use shallop_plan::plan::Transport;

use crate::launch::BOOTED;
use crate::modules::{self, Module};
use crate::programs::{Program, Programs};
use crate::run::KernelRunError;
use shallop_hosts::flows::{HostFlows, Owner};

/// The most hosts that one kernel carries: a card and a network namespace each.
const MAX_HOSTS_OF_KERNEL: usize = 200;
/// As many hosts share a kernel before there is another, up to this many kernels.
const HOSTS_OF_KERNEL: usize = 16;
const KERNELS: usize = 16;
/// The most kernels of a run.
const MAX_KERNELS: usize = 64;

/// What kernels are asked to do.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    pub(crate) flows: HostFlows,
    /// The controllers that are loaded.
    pub(crate) modules: Vec<Module>,
    pub(crate) programs: Programs,
    /// The group of each program.
    pub(crate) groups: Vec<usize>,
}

impl Traffic {
    pub(crate) fn of(setup: &ResolvedRun<'_>) -> Result<Self, KernelRunError> {
        let mut all = Self::default();
        let end = Time::after_start(setup.plan.duration);
        let options = &setup.plan.kernel;
        if let Some(name) = &options.module {
            let parameters = options.parameters.join(" ");
            all.modules.push(Module { name: name.clone(), parameters });
        }
        for flow in FlowGenerator::new(setup).take_while(|flow| flow.start <= end) {
            let transport = &setup.plan.transport(setup.scheme, flow.group).transport;
            let Some(name) = setup.plan.kernel(setup.scheme, flow.group) else { continue };
            let known = controllers().find(|(ours, _)| *ours == name);
            let controller = known.ok_or_else(|| unknown(name))?.1;
            let controller = options.controller().unwrap_or(controller);
            if options.module.is_none() {
                all.add_gemini(setup, &flow, transport)?;
            }
            let hosts = (all.flows.host(setup, flow.from), all.flows.host(setup, flow.to));
            if setup.plan.groups[flow.group].command.is_some() {
                all.add_program(setup, &flow, hosts, controller)?;
                all.flows.owners.insert(flow.number, Owner::Programs(hosts.0, hosts.1));
            } else {
                all.flows.add(&flow, hosts, controller, guest(flow.start)).map_err(|most| {
                    KernelRunError::Refused(format!(
                        "a kernel's host sends at most {most} flows in a run"
                    ))
                })?;
            }
        }
        all.programs.names.clone_from(&all.flows.names);
        all.programs.congestion.clone_from(&all.flows.of_programs);
        Ok(all)
    }

    /// Adds the module of Gemini for a flow that uses it. A kernel has it once, with one set of parameters.
    fn add_gemini(
        &mut self,
        setup: &ResolvedRun<'_>,
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

    /// The program of which this flow is, unless an earlier flow was of it.
    fn add_program(
        &mut self,
        setup: &ResolvedRun<'_>,
        flow: &Flow,
        (from, to): (u32, u32),
        controller: &str,
    ) -> Result<(), KernelRunError> {
        self.flows.controller(controller);
        let added = self.flows.add_program_controller([from, to], controller);
        added.map_err(KernelRunError::Refused)?;
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
        let own = std::env::current_exe().ok();
        let own = own.map(|path| path.to_string_lossy().into_owned());
        self.groups.push(flow.group);
        self.programs.all.push(Program {
            number: self.programs.all.len() as u32,
            host: from,
            start: guest(flow.start),
            folder: group.name.clone(),
            command: command.words_for(&self.flows.names[to as usize], own.as_deref()),
        });
        Ok(())
    }

    /// The sysctls that the controllers need.
    pub(crate) fn ecn(&self) -> Vec<(String, String)> {
        let marked = |name: &String| ["dctcp", "gemini"].contains(&name.as_str());
        let needed = self.flows.controllers.iter().any(marked);
        let ecn = ("net.ipv4.tcp_ecn".to_owned(), "1".to_owned());
        needed.then_some(ecn).into_iter().collect()
    }

    /// The hosts of each kernel, in turn.
    pub(crate) fn kernels(&self) -> Result<Vec<Vec<u32>>, KernelRunError> {
        let kernels = self.flows.hosts().len().div_ceil(HOSTS_OF_KERNEL).clamp(1, KERNELS);
        let kernels = kernels.max(self.flows.hosts().len().div_ceil(MAX_HOSTS_OF_KERNEL));
        if kernels > MAX_KERNELS {
            let most = MAX_KERNELS * MAX_HOSTS_OF_KERNEL;
            return Err(KernelRunError::Refused(format!(
                "{} hosts are kernels, and at most {most} can be",
                self.flows.hosts().len()
            )));
        }
        let of = |kernel: usize| {
            (0..self.flows.hosts().len() as u32)
                .filter(move |&host| host as usize % kernels == kernel)
        };
        Ok((0..kernels).map(|kernel| of(kernel).collect()).collect())
    }
}

/// The controllers of kernels in virtual time.
fn controllers() -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    CONTROLLERS.iter().filter(|(name, _)| !NOT_IN_VIRTUAL_TIME.contains(name))
}

fn unknown(name: &str) -> KernelRunError {
    let known = controllers().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    KernelRunError::Refused(format!("the kernel has no \"{name}\"; it has {known}"))
}

/// The guest time of a time of the run.
fn guest(time: Time) -> u64 {
    BOOTED + time.since_start().as_ps().div_ceil(1_000)
}

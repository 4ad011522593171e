//! The flows, programs and modules of a run with kernels, and which kernel has which hosts.

use crate::modules::{self, Module};
use crate::{clock::guest_time, error::KernelRunError};
use shallop_control::any as window;
use shallop_core::Time;
use shallop_hosts::{FlowProtocol, HostFlows};
use shallop_plan::ResolvedRun;
use shallop_plan::flows::{Flow, FlowGenerator};
use shallop_plan::kernel::{CONTROLLERS, NOT_IN_VIRTUAL_TIME};
use shallop_plan::plan::Transport;
use std::path::PathBuf;

/// The most hosts in one kernel; each has a card and a network namespace.
const MAX_HOSTS_PER_KERNEL: usize = 200;
/// The most hosts of a kernel, as long as there are fewer than [`KERNELS`] kernels.
const HOSTS_PER_KERNEL: usize = 16;
/// The number of kernels from which on further hosts share the kernels, up to [`MAX_HOSTS_PER_KERNEL`] each.
const KERNELS: usize = 16;
const MAX_KERNELS: usize = 64;

/// The flows, programs and modules of a run with kernels.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    pub(crate) flows: HostFlows,
    pub(crate) modules: Vec<Module>,
    /// The folder that programs see as `/scenario`; empty without programs.
    pub(crate) scenario: PathBuf,
}

impl Traffic {
    pub(crate) fn from_setup(setup: &ResolvedRun<'_>) -> Result<Self, KernelRunError> {
        let mut all = Self::default();
        let own = std::env::current_exe().ok();
        all.flows.executable = own.map(|path| path.to_string_lossy().into_owned());
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
            let (from, to) = (all.flows.host(setup, flow.from), all.flows.host(setup, flow.to));
            let (number, start) = (all.flows.controller(controller), guest_time(flow.start));
            let added = if let Some(command) = &setup.plan.groups[flow.group].command {
                let missing = || "programs need a scenario in a folder".to_owned();
                let folder = command.files.folder().ok_or_else(missing);
                all.scenario = folder.map_err(KernelRunError::Refused)?.into();
                all.flows.add_program(setup, &flow, from, to, start, Some(controller))
            } else {
                all.flows.add(&flow, from, to, start, FlowProtocol::Tcp { controller: number })
            };
            added.map_err(KernelRunError::Refused)?;
        }
        Ok(all)
    }

    /// Adds the module of Gemini for a flow that uses Gemini. All kernels have one module with one set of parameters.
    fn add_gemini(
        &mut self, setup: &ResolvedRun<'_>, flow: &Flow, transport: &Transport,
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

    /// The sysctls by which hosts negotiate ECN, if a controller needs it.
    pub(crate) fn ecn(&self) -> Vec<(String, String)> {
        let marked = |name: &String| ["dctcp", "gemini"].contains(&name.as_str());
        let needed = self.flows.controllers.iter().any(marked);
        let ecn = ("net.ipv4.tcp_ecn".to_owned(), "1".to_owned());
        needed.then_some(ecn).into_iter().collect()
    }

    /// Distributes the hosts among kernels: the numbers of the hosts in each kernel.
    pub(crate) fn kernels(&self) -> Result<Vec<Vec<u32>>, KernelRunError> {
        let kernels = self.flows.hosts().len().div_ceil(HOSTS_PER_KERNEL).clamp(1, KERNELS);
        let kernels = kernels.max(self.flows.hosts().len().div_ceil(MAX_HOSTS_PER_KERNEL));
        if kernels > MAX_KERNELS {
            let most = MAX_KERNELS * MAX_HOSTS_PER_KERNEL;
            return Err(KernelRunError::Refused(format!(
                "{} hosts are kernels, and at most {most} can be",
                self.flows.hosts().len()
            )));
        }
        let of =
            |kernel: usize| (0..self.flows.hosts().len() as u32).filter(move |&host| host as usize % kernels == kernel);
        Ok((0..kernels).map(|kernel| of(kernel).collect()).collect())
    }
}

/// The controllers that kernels in virtual time have.
fn controllers() -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    CONTROLLERS.iter().filter(|(name, _)| !NOT_IN_VIRTUAL_TIME.contains(name))
}

fn unknown(name: &str) -> KernelRunError {
    let known = controllers().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    KernelRunError::Refused(format!("the kernel has no \"{name}\"; it has {known}"))
}

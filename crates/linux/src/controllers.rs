//! The congestion controllers of a rehearsal: controllers of the machine's kernel, and BPF programs that are loaded for
//! the time of the run under names of their own. Controllers that use ECN marks negotiate ECN themselves
//! (`TCP_CONG_NEEDS_ECN`), so no sysctl is needed and other controllers stay without ECN.

use crate::{abilities, error::RehearsalError};
use shallop_bpf::{BpfError, Controller, Law};
use shallop_control::any::Config;
use shallop_core::BitsPerSec;
use shallop_plan::{ResolvedRun, flows::FlowGenerator, kernel::CONTROLLERS, transport::Transport};
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(crate) struct Controllers {
    /// The kernel's name of each controller, by its name in scenarios.
    names: BTreeMap<&'static str, String>,
    /// The controllers that were loaded as BPF programs, with their settings.
    pub(crate) loaded: Vec<(Law, Controller)>,
}

impl Controllers {
    /// Finds the controllers of a setup in the kernel, and loads the others.
    pub(crate) fn for_setup(setup: &ResolvedRun<'_>) -> Result<Self, RehearsalError> {
        let mut all = Self::default();
        let has = abilities::controllers();
        for group in 0..setup.plan.groups.len() {
            let scheme = setup.plan.transport(setup.scheme, group);
            let transport = &scheme.transport;
            let Some(name) = setup.plan.kernel(setup.scheme, group) else { continue };
            let refused = |kernels: &str| {
                let (has, scheme) = (has.join(", "), &scheme.name);
                RehearsalError::Refused(format!(
                    "\"{scheme}\": the kernel of this machine has no congestion controller \"{kernels}\"; it has {has}"
                ))
            };
            let Some(&(name, kernels)) = CONTROLLERS.iter().find(|(ours, _)| *ours == name) else {
                return Err(refused(name));
            };
            let law = law(setup, transport, group);
            // A Gemini in the kernel would have other settings than the scenario's.
            let is_there = has.iter().any(|of| of == kernels) && !matches!(law, Some(Law::Gemini(_)));
            match law.filter(|_| !is_there) {
                Some(law) => all.load(name, law)?,
                None if has.iter().any(|of| of == kernels) => {
                    all.names.insert(name, kernels.to_owned());
                }
                None => return Err(refused(kernels)),
            }
        }
        Ok(all)
    }

    fn load(&mut self, name: &'static str, law: Law) -> Result<(), RehearsalError> {
        if let Some((before, _)) = self.loaded.iter().find(|(of, _)| of.program() == law.program()) {
            return if *before == law {
                Ok(())
            } else {
                let what = law.program().name();
                Err(RehearsalError::Refused(format!("all groups of a rehearsal with {what} must have equal options")))
            };
        }
        // Names have at most 15 letters, and a process number has at most 7 digits.
        let named = format!("{:.7}_{}", law.program().default_name(), std::process::id());
        let controller = Controller::load(&law, &named).map_err(|why| match why {
            BpfError::NotBuilt | BpfError::NotAllowed => RehearsalError::Missing(format!(
                "the kernel of this machine has no congestion controller \"{name}\", and {why}; it has {}",
                abilities::controllers().join(", ")
            )),
            why => RehearsalError::Missing(format!("controller \"{name}\" cannot be loaded: {why}")),
        })?;
        self.names.insert(name, named);
        self.loaded.push((law, controller));
        Ok(())
    }

    /// Looks up the kernel's name of a controller by its name in scenarios.
    pub(crate) fn kernels(&self, name: &str) -> Option<&str> {
        self.names.get(name).map(String::as_str)
    }
}

/// The settings of the BPF program that implements a group's transport; `None` if no program does.
fn law(setup: &ResolvedRun<'_>, transport: &Transport, group: usize) -> Option<Law> {
    let Transport::Tcp(tcp) = transport else { return None };
    match (&tcp.controller, tcp.kernel) {
        (Config::Gemini(config), _) => {
            let link = link_of(setup, group);
            Some(Law::Gemini(config.integers(link)))
        }
        (_, Some("dctcp")) => Some(Law::Dctcp),
        (_, Some("ecn-star")) => Some(Law::EcnStar),
        (_, Some("vegas")) => Some(Law::Vegas),
        _ => None,
    }
}

/// The rate of the link of the first sender of a group.
fn link_of(setup: &ResolvedRun<'_>, group: usize) -> BitsPerSec {
    let first = FlowGenerator::new(setup).find(|flow| flow.group == group);
    let link = first.map(|flow| setup.network.graph.link_of(flow.path.nics.0).rate);
    link.unwrap_or(BitsPerSec::gbps(1))
}

//! Reads the section `[kernel]`, and checks that real kernels can run the groups and schemes that need them.

use super::root_options::Scenario;
use shallop_core::Bytes;
use shallop_options::{Item, Problem, Section};
use shallop_plan::kernel::{CONTROLLERS, KernelOptions, controllers};
use shallop_plan::{network::Network, plan::Plan};

const MTU: u64 = 1_500;

/// Reads `[kernel]`; its defaults if the scenario has none.
pub(super) fn read(top: &Section<'_>) -> Result<KernelOptions, Problem> {
    let Some(item) = top.item(Scenario::KEY.kernel) else { return Ok(KernelOptions::default()) };
    let section = Section::open::<KernelOptions>("[kernel]", item)?;
    let options: KernelOptions = section.read(())?;
    let is_sysctl = |text: &String| {
        let letter = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        text.split_once('=').is_some_and(|(name, value)| {
            name.starts_with("net.")
                && name.chars().all(letter)
                && !value.trim().is_empty()
                && !value.contains(char::is_control)
        })
    };
    if let Some(wrong) = options.sysctls.iter().find(|text| !is_sysctl(text)) {
        let problem = section.reject(KernelOptions::KEY.sysctls, format!("\"{wrong}\" is no sysctl of a host"));
        return Err(problem.with_help("write \"net.ipv4.tcp_timestamps=0\""));
    }
    check_module(&section, &options)?;
    Ok(options)
}

/// Checks the names of the kernel module and of its controller and parameters; the latter two require a module.
fn check_module(section: &Section<'_>, options: &KernelOptions) -> Result<(), Problem> {
    let keys = &KernelOptions::KEY;
    let is_word = |text: &str| {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
        // TCP_CA_NAME_MAX, with the zero at the end.
        !text.is_empty() && text.len() < 16 && text.bytes().all(fits)
    };
    let names = [(keys.module, &options.module), (keys.controller, &options.controller)];
    for (key, name) in names {
        if let Some(name) = name.as_deref().filter(|name| !is_word(name)) {
            let problem = section.reject(key, format!("\"{name}\" is no name of a controller"));
            return Err(problem.with_help("at most 15 letters, digits, \"_\" and \"-\""));
        }
    }
    let fits = |c: char| c.is_ascii_alphanumeric() || "._,-".contains(c);
    let is_parameter = |text: &&String| {
        text.split_once('=').is_some_and(|(name, value)| is_word(name) && !value.is_empty() && value.chars().all(fits))
    };
    if let Some(wrong) = options.parameters.iter().find(|text| !is_parameter(text)) {
        let problem = section.reject(keys.parameters, format!("\"{wrong}\" is no parameter of a module"));
        return Err(problem.with_help("write \"window=20\""));
    }
    if options.module.is_some() {
        return Ok(());
    }
    let written = [(keys.controller, options.controller.is_some()), (keys.parameters, !options.parameters.is_empty())];
    match written.into_iter().find(|&(_, is_written)| is_written) {
        None => Ok(()),
        Some((key, _)) => {
            let problem = section.reject(key, format!("`{}` is of a module", key.name));
            Err(problem.with_help("name the module: module = \"NAME\""))
        }
    }
}

/// Refuses CLEAN proxies for kernels in virtual time: the simulated proxy cannot parse the packets of kernels.
fn check_proxies(top: &Section<'_>, plan: &Plan) -> Result<(), Problem> {
    let is_kernel = |scheme: usize| {
        let mut groups = 0..plan.groups.len();
        groups.any(|group| plan.kernel(scheme, group).is_some())
    };
    let mut schemes = plan.schemes.iter().enumerate();
    let Some((_, of)) = schemes.find(|&(at, of)| of.clean.is_some() && is_kernel(at)) else {
        return Ok(());
    };
    let message = format!("\"{}\" has a CLEAN proxy, which reads no packets of kernels", of.name);
    let help = "leave out one of the two, or rehearse it: there the proxy is of this machine's kernel";
    Err(top.reject(Scenario::KEY.scheme, message).with_help(help))
}

/// Checks that every group with real kernels asks for what kernels have: controllers, the usual MTU, programs. A
/// rehearsal itself checks which hosts run programs, and which controllers this machine has.
pub(super) fn check(top: &Section<'_>, (plan, network): (&Plan, &Network), in_real_time: bool) -> Result<(), Problem> {
    if !in_real_time {
        check_proxies(top, plan)?;
    }
    let mtus = (0..network.graph.ports() as u32).map(|port| network.graph.link_of(port).mtu);
    let other = mtus.map(Bytes::get).find(|&mtu| mtu != MTU);
    let mut found = false;
    for scheme in 0..plan.schemes.len() {
        for group in 0..plan.groups.len() {
            let of = plan.transport(scheme, group);
            let is_kernel = plan.kernel(scheme, group).is_some();
            if plan.groups[group].command.is_some() && !is_kernel && !in_real_time {
                let group = &plan.groups[group].name;
                let message =
                    format!("group \"{group}\" runs a program, and its hosts are no kernels with \"{}\"", of.name);
                let help = "write stack = \"kernel\" at the top, or in the `transport` of the group; with flashpass \
                     its hosts are kernels";
                return Err(top.reject(Scenario::KEY.group, message).with_help(help));
            }
            let Some(controller) = plan.kernel(scheme, group) else { continue };
            found = true;
            let name = &of.name;
            if !in_real_time && !CONTROLLERS.iter().any(|(name, _)| *name == controller) {
                let message = format!("the kernel of \"{name}\" has no controller \"{controller}\"");
                let help = format!("with stack = \"kernel\" one of: {}", controllers());
                // A group may have a transport of its own, whose place is not known here.
                let is_own = plan.groups[group].transport.is_some();
                let section = top.item(Scenario::KEY.scheme).map(Item::items).unwrap_or_default();
                let problem = match section.get(scheme).filter(|_| !is_own) {
                    Some(section) => section.problem(message),
                    None => top.reject(Scenario::KEY.scheme, message),
                };
                return Err(problem.with_help(help));
            }
        }
    }
    if found && let Some(mtu) = other {
        let message = format!("an `mtu` is {mtu}, and hosts that are kernels have {MTU}");
        return Err(top.reject(Scenario::KEY.topology, message).with_help("leave `mtu` out"));
    }
    Ok(())
}

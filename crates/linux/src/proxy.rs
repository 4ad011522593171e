//! The CLEAN proxy of a rehearsal: BPF programs at the interfaces of hosts, in the hosts' namespaces. A packet reaches
//! the receiver's interface after the queue of the last hop, so its mark is final; an acknowledgement passes that
//! interface before any switch. Packets become ECN-capable when they leave the sender's interface. All interfaces share
//! one table of flows, as in one access point.

use crate::error::{RehearsalError, failed};
use crate::namespace::{self, Host};
use crate::{netlink::Interfaces, tap};
use shallop_bpf::BpfError;
use shallop_bpf::clean::{Proxy, Settings, TcHook};
use shallop_core::{Node, Time};
use shallop_hosts::flows::HostFlows;
use shallop_plan::{ResolvedRun, flows::FlowGenerator, proxy::Clean};
use shallop_results::summary::ProxyOfRun;

const ETHERNET: u32 = 14;

/// The proxy of a run, if it has one. Dropping it, or the hosts, removes its programs.
pub(crate) struct RunProxy(Option<Proxy>);

impl RunProxy {
    /// Attaches the proxy of a scheme to the interfaces of these hosts.
    pub(crate) fn attach(setup: &ResolvedRun<'_>, flows: &HostFlows, hosts: &[Host]) -> Result<Self, RehearsalError> {
        let Some(clean) = &setup.plan.schemes[setup.scheme].clean else { return Ok(Self(None)) };
        let settings = Settings { config: clean.config, shaper: None };
        let mut proxy = Proxy::load(&settings, ETHERNET).map_err(|why| refused(&why))?;
        for (node, hook) in hooks(setup, clean) {
            let number = flows.hosts().find(|(of, _)| *of == node).map(|(_, number)| number);
            if let Some(host) = number.and_then(|number| hosts.get(number as usize)) {
                attach(&mut proxy, host, hook)?;
            }
        }
        Ok(Self(Some(proxy)))
    }

    pub(crate) fn counted(&self) -> Result<Option<ProxyOfRun>, RehearsalError> {
        let Some(proxy) = &self.0 else { return Ok(None) };
        let counted = proxy.maps().counters().map_err(|why| refused(&why))?;
        Ok(Some(ProxyOfRun {
            made_ect: counted.made_ect,
            data_segments: counted.data,
            marked_segments: counted.marked,
            reduced_windows: counted.reduced,
            unknown_packets: counted.unknown,
            failed_packets: counted.failed,
        }))
    }
}

/// The hosts of flows that cross a last hop or an edge of the proxy, each once for each hook.
fn hooks(setup: &ResolvedRun<'_>, clean: &Clean) -> Vec<(Node, TcHook)> {
    let end = Time::after_start(setup.plan.duration);
    let mut all = Vec::new();
    for flow in FlowGenerator::new(setup).take_while(|flow| flow.start <= end) {
        let crosses = |ports: &[u32]| flow.path.there.iter().any(|port| ports.contains(port));
        let hooks = [
            (crosses(&clean.last_hop), (flow.to, TcHook::Receiver)),
            (crosses(&clean.edges), (flow.from, TcHook::Sender)),
        ];
        for (_, hook) in hooks.into_iter().filter(|(is_there, _)| *is_there) {
            if !all.contains(&hook) {
                all.push(hook);
            }
        }
    }
    all
}

fn attach(proxy: &mut Proxy, host: &Host, hook: TcHook) -> Result<(), RehearsalError> {
    namespace::apart(|| {
        namespace::enter(&host.namespace).map_err(failed("a host's namespace"))?;
        let index = Interfaces::here().and_then(|mut all| all.index(tap::NAME));
        let index = index.map_err(failed("the interface of a host"))?;
        proxy.attach(index, hook).map_err(|why| refused(&why))
    })
}

fn refused(why: &BpfError) -> RehearsalError {
    RehearsalError::Missing(format!("the scheme has a CLEAN proxy: {why}"))
}

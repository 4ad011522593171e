//! A CLEAN proxy in a rehearsal: its programs (BPF) at the cards of hosts, in the hosts' own namespaces. A packet comes
//! to a receiver's card when it has crossed the queue of the last hop, so its mark counts; an acknowledgement leaves by
//! that card before any switch sees it. Where packets enter the network of the proxy, they become ECN-capable as they
//! leave the sender's card. All cards share one table of flows, as one access point has it.

use shallop_bpf::BpfError;
use shallop_bpf::clean::{Place, Proxy, Settings};
use shallop_core::{Node, Time};
use shallop_hosts::flows::HostFlows;
use shallop_plan::ResolvedRun;
use shallop_plan::flows::FlowGenerator;
use shallop_plan::proxy::Clean;
use shallop_results::summary::ProxyOfRun;

use crate::error::{RehearsalError, failed};
use crate::namespace::{self, Host};
use crate::netlink::Interfaces;
use crate::tap;

/// Bytes of the header of Ethernet.
const ETHERNET: u32 = 14;

/// The proxy of a run, if it has one. It is gone with this, and with the hosts.
pub(crate) struct RunProxy(Option<Proxy>);

impl RunProxy {
    /// Attaches the proxy of a scheme to the cards of these hosts.
    pub(crate) fn attach(
        setup: &ResolvedRun<'_>,
        flows: &HostFlows,
        hosts: &[Host],
    ) -> Result<Self, RehearsalError> {
        let Some(clean) = &setup.plan.schemes[setup.scheme].clean else { return Ok(Self(None)) };
        let settings = Settings { config: clean.config, shaper: None };
        let mut proxy = Proxy::load(&settings, ETHERNET).map_err(|why| refused(&why))?;
        for (node, place) in places(setup, clean) {
            let number = flows.hosts().find(|(of, _)| *of == node).map(|(_, number)| number);
            if let Some(host) = number.and_then(|number| hosts.get(number as usize)) {
                attach(&mut proxy, host, place)?;
            }
        }
        Ok(Self(Some(proxy)))
    }

    /// What its programs have counted.
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

/// The hosts whose data crosses a last hop or an edge of the proxy, each once in each place.
fn places(setup: &ResolvedRun<'_>, clean: &Clean) -> Vec<(Node, Place)> {
    let end = Time::after_start(setup.plan.duration);
    let mut all = Vec::new();
    for flow in FlowGenerator::new(setup).take_while(|flow| flow.start <= end) {
        let crosses = |ports: &[u32]| flow.path.there.iter().any(|port| ports.contains(port));
        let places = [
            (crosses(&clean.last_hop), (flow.to, Place::Receiver)),
            (crosses(&clean.edges), (flow.from, Place::Sender)),
        ];
        for (_, place) in places.into_iter().filter(|(is_there, _)| *is_there) {
            if !all.contains(&place) {
                all.push(place);
            }
        }
    }
    all
}

fn attach(proxy: &mut Proxy, host: &Host, place: Place) -> Result<(), RehearsalError> {
    namespace::apart(|| {
        namespace::enter(&host.namespace).map_err(failed("a host's namespace"))?;
        let index = Interfaces::here().and_then(|mut all| all.index(tap::NAME));
        let index = index.map_err(failed("the card of a host"))?;
        proxy.attach(index, place).map_err(|why| refused(&why))
    })
}

fn refused(why: &BpfError) -> RehearsalError {
    RehearsalError::Missing(format!("the scheme has a CLEAN proxy: {why}"))
}

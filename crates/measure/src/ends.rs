//! Makes the two endpoints of each flow, for the transports of a scheme. Simulators are generic over the transport, so
//! that packets are as small as the transport allows. If groups choose different transports, endpoints and headers are
//! enums over all transports.

use shallop_core::{Facts, Span};
use shallop_plan::{ResolvedRun, SetupError, wait, with_transport};
use shallop_plan::{flows, plan::Connections, transport::Protocol};
use shallop_proto::clean::AsTcp;
use shallop_proto::{AnyEnd, Endpoint};
use shallop_sim::Flow;

/// A factory of the endpoints of flows.
pub trait EndpointFactory: Sync {
    /// Type of both endpoints of a flow.
    type End: Endpoint<Head: AsTcp> + Send + 'static;

    /// The flow with its endpoints, ready for the simulator.
    fn flow(&self, flow: &flows::Flow) -> Flow<Self::End>;
}

/// A computation that is generic over the type of endpoints; [`with`] calls it with the type that a scheme needs.
pub trait EndpointVisitor {
    type Result;

    fn visit<E: EndpointFactory>(self, ends: E) -> Self::Result;
}

/// Runs a computation with the factory of endpoints for the scheme of this run.
///
/// # Errors
/// If the network and the transport's options do not fit.
pub fn with<V: EndpointVisitor>(setup: &ResolvedRun<'_>, visitor: V) -> Result<V::Result, SetupError> {
    let waits = wait::waits(setup)?;
    if setup.plan.groups.iter().any(|group| group.transport.is_some()) {
        return Ok(visitor.visit(Mixed { setup, waits }));
    }
    let transport = &setup.plan.schemes[setup.scheme].transport;
    Ok(with_transport!(transport, options => visitor.visit(Uniform { setup, options, waits })))
}

/// Factory of endpoints that are enums over all transports.
///
/// # Errors
/// If the network and the transports' options do not fit.
pub fn mixed<'a>(setup: &'a ResolvedRun<'a>) -> Result<impl EndpointFactory<End = AnyEnd> + 'a, SetupError> {
    Ok(Mixed { setup, waits: wait::waits(setup)? })
}

/// A flow for the simulator, with these endpoints.
pub fn flow<E>(setup: &ResolvedRun<'_>, flow: &flows::Flow, [sender, receiver]: [E; 2]) -> Flow<E> {
    let facts = Facts {
        from: flow.from,
        to: flow.to,
        group: flow.group as u32,
        size: flow.size,
        ideal: flow.ideal(setup),
        base_rtt: flow.path.base_rtt,
        ahead: flow.request_lead(setup),
        counted: flow.counted,
    };
    let group = &setup.plan.groups[flow.group];
    let of = group.connections_of.unwrap_or(flow.group) as u32;
    Flow {
        facts,
        start: flow.start,
        from: flow.from,
        to: flow.to,
        sender,
        receiver,
        connections: (group.connections == Connections::Kept).then_some(of),
    }
}

/// Factory of endpoints for runs in which all flows use one transport.
struct Uniform<'a, P> {
    setup: &'a ResolvedRun<'a>,
    options: &'a P,
    /// Waiting time before data of each group; the index is the group's.
    waits: Vec<Span>,
}

impl<P: Protocol> EndpointFactory for Uniform<'_, P> {
    type End = P::End;

    fn flow(&self, spec: &flows::Flow) -> Flow<P::End> {
        let context = spec.context(self.setup, self.waits[spec.group]);
        flow(self.setup, spec, self.options.endpoints(&context))
    }
}

/// Factory of endpoints for runs in which groups choose different transports.
struct Mixed<'a> {
    setup: &'a ResolvedRun<'a>,
    /// Waiting time before data of each group, zero where its transport has none; the index is the group's.
    waits: Vec<Span>,
}

impl EndpointFactory for Mixed<'_> {
    type End = AnyEnd;

    fn flow(&self, spec: &flows::Flow) -> Flow<AnyEnd> {
        let context = spec.context(self.setup, self.waits[spec.group]);
        let transport = &self.setup.plan.transport(self.setup.scheme, spec.group).transport;
        let ends = with_transport!(transport, options => options.endpoints(&context).map(Into::into));
        flow(self.setup, spec, ends)
    }
}

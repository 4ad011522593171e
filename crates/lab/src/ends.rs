//! The two ends of each flow, for the transport of the scheme. Each transport has a type of its own, and worlds are
//! generic over it: what a packet carries is then as small as that transport needs. Where groups have transports of
//! their own, ends and heads are those of any transport.

use shallop_control::expresspass::{CodeRule, PaperRule, Rule};
use shallop_control::flashpass::{Aimd, Law, Mimd};
use shallop_control::{AnyWindow, any};
use shallop_core::{Bytes, Facts, Span};
use shallop_proto::clean::Look;
use shallop_proto::{AnyEnd, Endpoint, Peer, expresspass, flashpass, tcp, udp};
use shallop_sim::Flow;

use crate::burst;
use crate::flows;
use crate::plan::{
    BurstUntil, ExpressPass, ExpressPassRule, FlashPass, FlashPassLaw, Transport, Udp,
};
use crate::run::{RunError, Setup};
use crate::wait;

/// Makes the ends of flows.
pub trait Ends: Sync {
    /// Either end.
    type End: Endpoint<Head: Look> + Send + 'static;

    /// The ends of a flow.
    fn flow(&self, flow: &flows::Flow) -> Flow<Self::End>;
}

/// Something to be done with ends of any transport.
pub trait Use {
    /// What comes of it.
    type Result;

    /// Does it.
    fn ends<E: Ends>(self, ends: E) -> Self::Result;
}

/// Does something with the ends that the scheme of this setup asks for.
///
/// # Errors
/// If the network and the transport's numbers do not fit.
pub fn with<U: Use>(setup: &Setup<'_>, what: U) -> Result<U::Result, RunError> {
    if setup.plan.groups.iter().any(|group| group.transport.is_some()) {
        return Ok(what.ends(MixedEnds::of(setup)?));
    }
    Ok(match &setup.plan.schemes[setup.scheme].transport {
        Transport::Tcp { config, controller } => what.ends(TcpEnds { setup, config, controller }),
        Transport::ExpressPass(config) => what.ends(ExpressPassEnds { setup, config }),
        Transport::FlashPass(config) => {
            what.ends(FlashPassEnds { setup, config, wait: wait::wait(setup, config)? })
        }
        Transport::Udp(config) => what.ends(UdpEnds { setup, config }),
    })
}

/// A flow between these ends on this network.
fn flow<S, R>(
    setup: &Setup<'_>,
    flow: &flows::Flow,
    sender: S,
    receiver: R,
) -> Flow<Peer<Box<S>, Box<R>>> {
    let facts = Facts {
        from: flow.from,
        to: flow.to,
        group: flow.group as u32,
        size: flow.size,
        ideal: setup.ideal(flow),
        base_rtt: flow.path.base_rtt,
        ahead: setup.ahead(flow),
        counted: flow.counted,
    };
    Flow {
        facts,
        start: flow.start,
        from: flow.from,
        to: flow.to,
        sender: Peer::Sender(Box::new(sender)),
        receiver: Peer::Receiver(Box::new(receiver)),
        connections: setup.plan.groups[flow.group].keeps.then_some(flow.group as u32),
    }
}

/// Ends of flows whose groups have transports of their own.
struct MixedEnds<'a> {
    setup: &'a Setup<'a>,
    /// The waiting time of each group, where it has any.
    waits: Vec<Span>,
}

impl<'a> MixedEnds<'a> {
    fn of(setup: &'a Setup<'a>) -> Result<Self, RunError> {
        let wait = |group| match &setup.plan.transport(setup.scheme, group).transport {
            Transport::FlashPass(config) => wait::wait(setup, config),
            _ => Ok(Span::ZERO),
        };
        let waits = (0..setup.plan.groups.len()).map(wait).collect::<Result<_, _>>()?;
        Ok(Self { setup, waits })
    }
}

impl Ends for MixedEnds<'_> {
    type End = AnyEnd;

    fn flow(&self, spec: &flows::Flow) -> Flow<AnyEnd> {
        fn any<E>(flow: Flow<E>, end: fn(E) -> AnyEnd) -> Flow<AnyEnd> {
            let Flow { facts, start, from, to, sender, receiver, connections } = flow;
            let (sender, receiver) = (end(sender), end(receiver));
            Flow { facts, start, from, to, sender, receiver, connections }
        }
        let setup = self.setup;
        match &setup.plan.transport(setup.scheme, spec.group).transport {
            Transport::Tcp { config, controller } => {
                any(TcpEnds { setup, config, controller }.flow(spec), AnyEnd::Tcp)
            }
            Transport::ExpressPass(config) => {
                any(ExpressPassEnds { setup, config }.flow(spec), AnyEnd::ExpressPass)
            }
            Transport::FlashPass(config) => {
                let ends = FlashPassEnds { setup, config, wait: self.waits[spec.group] };
                any(ends.flow(spec), AnyEnd::FlashPass)
            }
            Transport::Udp(config) => any(UdpEnds { setup, config }.flow(spec), AnyEnd::Udp),
        }
    }
}

struct TcpEnds<'a> {
    setup: &'a Setup<'a>,
    config: &'a tcp::Config,
    controller: &'a any::Config,
}

impl Ends for TcpEnds<'_> {
    type End = Peer<Box<tcp::Sender<AnyWindow>>, Box<tcp::Receiver>>;

    fn flow(&self, spec: &flows::Flow) -> Flow<Self::End> {
        let config = tcp::Config { segment: spec.path.payload, ..*self.config };
        let draw = self.setup.root().stream("window", u64::from(spec.number)).draw();
        let link = self.setup.network.graph.link_of(spec.path.nics.0).rate;
        let window = self.controller.build(&config.start(link, draw));
        let sender = tcp::Sender::new(&config, window, spec.size);
        flow(self.setup, spec, sender, tcp::Receiver::new(&config, spec.size))
    }
}

struct ExpressPassEnds<'a> {
    setup: &'a Setup<'a>,
    config: &'a ExpressPass,
}

impl Ends for ExpressPassEnds<'_> {
    type End = Peer<Box<expresspass::Sender>, Box<expresspass::Receiver<Rule>>>;

    fn flow(&self, spec: &flows::Flow) -> Flow<Self::End> {
        let ExpressPass { rule, stop, jitter, largest_credit, timeout, .. } = *self.config;
        let defaults = expresspass::Config::new(spec.path.receiver_link);
        let config = expresspass::Config {
            share: self.setup.layout.shares[spec.path.nics.1 as usize]
                .metered
                .unwrap_or(defaults.share),
            max_credit: largest_credit.get() as u16,
            min_jitter: -jitter,
            max_jitter: jitter,
            payload: Bytes::new(u64::from(spec.path.payload)),
            stop,
            retransmit_timeout: timeout,
            start: burst::start(self.setup, spec, self.config.aeolus, spec.path.base_rtt),
            send_buffer: self.config.send_buffer,
            ..defaults
        };
        let rule = match rule {
            ExpressPassRule::Code(config) => Rule::Code(CodeRule::new(config)),
            ExpressPassRule::Paper(config) => Rule::Paper(PaperRule::new(config)),
        };
        let chance = self.setup.root().stream("credits", u64::from(spec.number));
        let sender = expresspass::Sender::new(&config, spec.size);
        flow(self.setup, spec, sender, expresspass::Receiver::new(&config, rule, chance))
    }
}

struct FlashPassEnds<'a> {
    setup: &'a Setup<'a>,
    config: &'a FlashPass,
    wait: Span,
}

impl Ends for FlashPassEnds<'_> {
    type End = Peer<Box<flashpass::Sender<Law>>, Box<flashpass::Receiver>>;

    fn flow(&self, spec: &flows::Flow) -> Flow<Self::End> {
        let FlashPass { epochs, jitter, batch, over_provision, expected_loss, .. } = *self.config;
        let nic = spec.path.nics.0;
        let link = self.setup.network.graph.link_of(nic).rate;
        let rate =
            self.setup.layout.shares[nic as usize].metered.map_or(link, |share| link.share(share));
        let pass = flashpass::PassConfig {
            rate,
            wait: self.wait,
            epochs,
            jitter,
            expected_loss,
            over_provision,
        };
        let aeolus = self.config.aeolus;
        let burst_on = aeolus.is_some_and(|aeolus| aeolus.until == BurstUntil::FirstData);
        let lasts = if burst_on { self.wait } else { spec.path.base_rtt };
        let sender = flashpass::SenderConfig {
            pass,
            payload: spec.path.payload,
            size: spec.size,
            // An acknowledgement is not late before a round trip and what its delay adds have passed.
            timeout: self.config.timeout.max(self.wait * 2),
            start: burst::start(self.setup, spec, aeolus, lasts),
            burst_on,
            send_buffer: self.config.send_buffer,
        };
        let law = match self.config.law {
            FlashPassLaw::Mimd(config) => Law::Mimd(Mimd::new(config)),
            FlashPassLaw::Aimd(config) => Law::Aimd(Aimd::new(config)),
        };
        let chance = self.setup.root().stream("emulation", u64::from(spec.number));
        let receiver = flashpass::ReceiverConfig { batch, ..flashpass::ReceiverConfig::default() };
        let sender = flashpass::Sender::new(sender, law, chance);
        flow(self.setup, spec, sender, flashpass::Receiver::new(receiver))
    }
}

struct UdpEnds<'a> {
    setup: &'a Setup<'a>,
    config: &'a Udp,
}

impl Ends for UdpEnds<'_> {
    type End = Peer<Box<udp::Sender>, Box<udp::Receiver>>;

    fn flow(&self, spec: &flows::Flow) -> Flow<Self::End> {
        let link = self.setup.network.graph.link_of(spec.path.nics.0).rate;
        let Udp { rate, ect } = *self.config;
        let payload = Bytes::new(u64::from(spec.path.payload));
        let config = udp::Config { rate: rate.unwrap_or(link), ect, payload };
        let sender = udp::Sender::new(&config, spec.size);
        flow(self.setup, spec, sender, udp::Receiver::new(spec.size))
    }
}

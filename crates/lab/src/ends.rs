//! The two ends of each flow, for the transport of the scheme. Each transport has a type of its own, and worlds are
//! generic over it: what a packet carries is then as small as that transport needs.

use shallop_control::expresspass::{CodeRule, PaperRule, Rule};
use shallop_control::flashpass::{Aimd, Law, Mimd};
use shallop_control::{AnyWindow, any};
use shallop_core::{Bytes, Span};
use shallop_proto::{Endpoint, Peer, expresspass, flashpass, tcp, wire};
use shallop_sim::Flow;

use crate::flows;
use crate::layout::RETURNED_QUEUE;
use crate::plan::{ExpressPass, ExpressPassRule, FlashPass, FlashPassLaw, Transport};
use crate::run::{RunError, Setup};

/// Makes the ends of flows.
pub trait Ends {
    /// Either end.
    type End: Endpoint + Send + 'static;

    /// The ends of a flow, by its number.
    fn flow(&self, number: usize, flow: &flows::Flow) -> Flow<Self::End>;
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
    Ok(match &setup.plan.schemes[setup.scheme].transport {
        Transport::Tcp { config, controller } => what.ends(TcpEnds { setup, config, controller }),
        Transport::ExpressPass(config) => what.ends(ExpressPassEnds { setup, config }),
        Transport::FlashPass(config) => {
            what.ends(FlashPassEnds { setup, config, wait: wait(setup, config)? })
        }
    })
}

fn flow<S, R>(flow: &flows::Flow, sender: S, receiver: R) -> Flow<Peer<Box<S>, Box<R>>> {
    Flow {
        start: flow.start,
        from: flow.from,
        to: flow.to,
        sender: Peer::Sender(Box::new(sender)),
        receiver: Peer::Receiver(Box::new(receiver)),
    }
}

struct TcpEnds<'a> {
    setup: &'a Setup<'a>,
    config: &'a tcp::Config,
    controller: &'a any::Config,
}

impl Ends for TcpEnds<'_> {
    type End = Peer<Box<tcp::Sender<AnyWindow>>, Box<tcp::Receiver>>;

    fn flow(&self, number: usize, spec: &flows::Flow) -> Flow<Self::End> {
        let config = tcp::Config { segment: spec.path.payload, ..*self.config };
        let draw = self.setup.root().stream("window", number as u64).draw();
        let window = self.controller.build(&config.start(draw));
        let sender = tcp::Sender::new(&config, window, spec.size);
        flow(spec, sender, tcp::Receiver::new(&config, spec.size))
    }
}

struct ExpressPassEnds<'a> {
    setup: &'a Setup<'a>,
    config: &'a ExpressPass,
}

impl Ends for ExpressPassEnds<'_> {
    type End = Peer<Box<expresspass::Sender>, Box<expresspass::Receiver<Rule>>>;

    fn flow(&self, number: usize, spec: &flows::Flow) -> Flow<Self::End> {
        let ExpressPass { rule, stop, jitter, largest_credit, timeout } = *self.config;
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
            ..defaults
        };
        let rule = match rule {
            ExpressPassRule::Code(config) => Rule::Code(CodeRule::new(config)),
            ExpressPassRule::Paper(config) => Rule::Paper(PaperRule::new(config)),
        };
        let chance = self.setup.root().stream("credits", number as u64);
        let sender = expresspass::Sender::new(&config, spec.size);
        flow(spec, sender, expresspass::Receiver::new(&config, rule, chance))
    }
}

struct FlashPassEnds<'a> {
    setup: &'a Setup<'a>,
    config: &'a FlashPass,
    wait: Span,
}

impl Ends for FlashPassEnds<'_> {
    type End = Peer<Box<flashpass::Sender<Law>>, Box<flashpass::Receiver>>;

    fn flow(&self, number: usize, spec: &flows::Flow) -> Flow<Self::End> {
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
        let sender = flashpass::SenderConfig {
            pass,
            payload: spec.path.payload,
            size: spec.size,
            // An acknowledgement is not late before a round trip and what its delay adds have passed.
            timeout: self.config.timeout.max(self.wait * 2),
        };
        let law = match self.config.law {
            FlashPassLaw::Mimd(config) => Law::Mimd(Mimd::new(config)),
            FlashPassLaw::Aimd(config) => Law::Aimd(Aimd::new(config)),
        };
        let chance = self.setup.root().stream("emulation", number as u64);
        let receiver = flashpass::ReceiverConfig { batch, ..flashpass::ReceiverConfig::default() };
        let sender = flashpass::Sender::new(sender, law, chance);
        flow(spec, sender, flashpass::Receiver::new(receiver))
    }
}

/// The waiting time: as configured, or the largest base round trip of all flows with a margin.
///
/// # Errors
/// If it is below the largest base round trip, and not meant to be.
pub(crate) fn wait(setup: &Setup<'_>, config: &FlashPass) -> Result<Span, RunError> {
    let Some(longest) = setup.flows.iter().max_by_key(|flow| flow.path.base_rtt) else {
        return Ok(config.wait.unwrap_or_default());
    };
    let largest = longest.path.base_rtt;
    let Some(wait) = config.wait else {
        return Ok(largest + Margin::of(setup).total());
    };
    if wait < largest && !config.force_wait {
        let name = |node: shallop_core::Node| setup.network.names[node.0 as usize].clone();
        return Err(RunError::ShortWait {
            scheme: setup.plan.schemes[setup.scheme].name.clone(),
            wait,
            largest,
            from: name(longest.from),
            to: name(longest.to),
        });
    }
    Ok(wait)
}

/// Metered packets that a queue may hold, in the margin of the waiting time.
pub(crate) const QUEUED: u64 = 8;

/// What the waiting time has to spare: for every hop of the longest way there the time a full emulation queue and a
/// data frame take, for every hop back a frame and, where returned credits are metered, a full queue of them; of the
/// slowest link that meters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Margin {
    /// Between two metered packets at full rate.
    pub gap: Span,
    /// That a data frame takes.
    pub frame: Span,
    /// Returned credits that may wait where they are metered, each as long as the metered packets it answers.
    pub returned: u64,
    /// Most hops there, and back.
    pub hops: (u32, u32),
}

impl Margin {
    pub(crate) fn of(setup: &Setup<'_>) -> Self {
        let smallest = Bytes::new(u64::from(wire::MIN_FRAME));
        let ports = 0..setup.network.graph.ports() as u32;
        let times = ports.map(|port| {
            let link = setup.network.graph.link_of(port);
            let frame = Bytes::new(u64::from(wire::frame(link.mtu.get())));
            let shares = setup.layout.shares[port as usize];
            let (rate, _) = setup.network.worst(port);
            let metered = shares.metered.map_or(rate, |share| rate.share(share));
            let gap = shallop_core::Pace::new(metered).quote(smallest);
            (gap, shallop_core::Pace::new(rate).quote(frame))
        });
        let (gap, frame) = times.max().unwrap_or_default();
        let hops = setup.flows.iter().map(|flow| flow.path.hops).max().unwrap_or_default();
        let metered = setup.layout.shares.iter().any(|shares| shares.returned.is_some());
        let batch = match &setup.plan.schemes[setup.scheme].transport {
            Transport::FlashPass(config) => u64::from(config.batch.max(1)),
            _ => 1,
        };
        let returned = if metered { u64::from(RETURNED_QUEUE + 1) * batch } else { 0 };
        Self { gap, frame, returned, hops }
    }

    /// All of it. The packet itself has its turn after those that are queued.
    pub(crate) fn total(&self) -> Span {
        let (there, back) = (u64::from(self.hops.0), u64::from(self.hops.1));
        (self.gap * (QUEUED + 1) + self.frame) * there
            + (self.gap * self.returned + self.frame) * back
    }
}

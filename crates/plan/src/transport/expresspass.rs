//! `ExpressPass`: receivers send credits, and each credit releases one data packet. Every port meters credits to the
//! data rate of the other direction of its link. A port has two queues: credits, and data with everything else.

use super::aeolus::{AeolusSwitch, BurstSize, UnscheduledAcks};
use super::{Aeolus, BurstUntil, Configured, CreditRequirements, Demand, FlowContext, LONGEST, Protocol, TIMEOUT};
use crate::switches::Accounting;
pub use shallop_control::expresspass::RuleConfig as ExpressPassRule;
use shallop_control::expresspass::{self, Rule};
use shallop_core::{Bytes, Class, Span};
use shallop_options::{HostStack, Key, Options, Problem, Section, SectionKind, section_kind};
use shallop_proto::expresspass::{Config, Receiver, Sender, StopPolicy};
use shallop_proto::{ExpressPassEnd, Peer};

/// `ExpressPass` with the options of a scheme.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExpressPass {
    pub options: ExpressPassOptions,
    pub rule: ExpressPassRule,
    pub aeolus: Option<Aeolus>,
    /// Whether switches drop unscheduled data once they reach the threshold, if they have no choice of their own.
    pub is_aeolus_paper: bool,
    /// Whether credits are requested a base round trip before the data is available (docs/aeolus.md, "The ideal").
    pub ahead: bool,
    /// Size of the send buffer that limits the demand a sender knows; `None` if it knows all remaining data.
    pub send_buffer: Option<Bytes>,
}

#[derive(Clone, Copy, Debug, PartialEq, Options)]
#[options(defaults)]
pub struct ExpressPassOptions {
    /// When a receiver stops sending credits: when it has all data or the sender stops it (`"last-data"`); when
    /// the sender expects the credits of the last round trip to suffice (`"early"`, the public code since 2018);
    /// or when it has sent as many as were requested (`"demand"`).
    #[key(default = StopPolicy::LastData)]
    pub stop: StopPolicy,
    /// The largest deviation of the gap between two credits, as a fraction of the gap.
    #[key(Below(0.0, 1.0), default = 0.1)]
    pub jitter: f64,
    /// The largest credit packet on the wire. Sizes are drawn uniformly from 84 B to this.
    #[key(Size(Bytes::new(84), Bytes::new(1_538)), default = Bytes::new(84))]
    pub largest_credit: Bytes,
    /// The time after which a request for credits or a NACK is sent again.
    #[key(Time(Span::from_us(1), LONGEST), default = TIMEOUT)]
    pub timeout: Span,
    /// The constant time from the departure of a credit to the arrival of its data (FlashPass paper, III.B): a sender
    /// holds each credit for this time less the round trip. A time below the round trip has no effect.
    #[key(Time(Span::from_us(1), LONGEST))]
    pub wait: Option<Span>,
}

/// The keys of `transport = "expresspass"`.
type Code = (ExpressPassOptions, expresspass::CodeConfig, AeolusSwitch, BurstSize, Demand);
type Paper = (ExpressPassOptions, expresspass::PaperConfig, AeolusSwitch, BurstSize, Demand);
type WithAeolus = (ExpressPassOptions, expresspass::CodeConfig, BurstSize, Demand);
type Ideal = (ExpressPassOptions, expresspass::CodeConfig, Demand);

const CODE: SectionKind = section_kind::<Code>("expresspass", "receivers' credits, the public code's rule");
const PAPER: SectionKind = section_kind::<Paper>("expresspass-paper", "receivers' credits, the 2017 paper's rule");
const WITH_AEOLUS: SectionKind =
    section_kind::<WithAeolus>("expresspass-aeolus", "the public code's, with data before the first credit");
const AEOLUS_PAPER: SectionKind =
    section_kind::<WithAeolus>("aeolus-paper", "as in the paper: only the first answer ends a burst");
const IDEAL: SectionKind =
    section_kind::<Ideal>("expresspass-ideal", "the same with credits a round trip ahead: cannot be built");

impl Configured for ExpressPass {
    fn kinds() -> Vec<SectionKind> {
        vec![CODE, PAPER, WITH_AEOLUS, AEOLUS_PAPER, IDEAL]
    }

    fn read(kind: &str, section: &Section<'_>, stack: HostStack) -> Result<Self, Problem> {
        let is_aeolus_paper = kind == AEOLUS_PAPER.name;
        // Credits may be used as soon as they arrive, so the first one ends the burst.
        let aeolus_of = |on, burst: BurstSize| {
            let BurstSize { burst, renew_after } = burst;
            let burst = burst.or(is_aeolus_paper.then_some(Bytes::MAX));
            let (until, acks) = (BurstUntil::FirstResponse, UnscheduledAcks::Each);
            let aeolus = Aeolus { burst, until, renew_after, acks };
            aeolus.when_on(on, section, &[BurstSize::KEY.burst, BurstSize::KEY.renew_after])
        };
        let (options, rule, aeolus, demand) = if kind == PAPER.name {
            let (options, rule, switched, burst, demand) = Paper::read(section, stack)?;
            (options, ExpressPassRule::Paper(rule), aeolus_of(switched.aeolus, burst)?, demand)
        } else if kind == WITH_AEOLUS.name || is_aeolus_paper {
            let (options, rule, burst, demand) = WithAeolus::read(section, stack)?;
            (options, ExpressPassRule::Code(rule), aeolus_of(true, burst)?, demand)
        } else if kind == IDEAL.name {
            let (options, rule, demand) = Ideal::read(section, stack)?;
            (options, ExpressPassRule::Code(rule), None, demand)
        } else {
            let (options, rule, switched, burst, demand) = Code::read(section, stack)?;
            (options, ExpressPassRule::Code(rule), aeolus_of(switched.aeolus, burst)?, demand)
        };
        let (ahead, send_buffer) = (kind == IDEAL.name, demand.send_buffer);
        Ok(Self { options, rule, aeolus, is_aeolus_paper, ahead, send_buffer })
    }

    fn values(&self) -> Vec<(&'static Key, Option<String>)> {
        let rule = match &self.rule {
            ExpressPassRule::Code(rule) => rule.values(),
            ExpressPassRule::Paper(rule) => rule.values(),
        };
        [self.options.values(), rule].concat()
    }
}

/// The queues and meters that `ExpressPass` requires of switches.
const CREDITS: CreditRequirements = CreditRequirements {
    name: ExpressPass::NAME,
    packets: "credits",
    metered: Class::Credit,
    releases_reverse: true,
    returns: false,
    selective: false,
    queues: &["credit", "data"],
    queues_with_legacy: &["credit", "data", "legacy"],
    queues_with_unscheduled: &["credit", "data", "unscheduled"],
    queue_of: [1, 1, 1, 1, 0, 1, 1, 1],
    host_queue: None,
    accounting: Accounting::PerLink,
};

impl Protocol for ExpressPass {
    type End = ExpressPassEnd;
    const NAME: &'static str = "ExpressPass";
    const CREDITS: Option<&'static CreditRequirements> = Some(&CREDITS);

    fn aeolus(&self) -> Option<Aeolus> {
        self.aeolus
    }

    fn largest_metered(&self) -> Bytes {
        self.options.largest_credit
    }

    fn request_lead(&self, base_rtt: Span) -> Span {
        if self.ahead { base_rtt } else { Span::ZERO }
    }

    fn endpoints(&self, flow: &FlowContext) -> [ExpressPassEnd; 2] {
        let ExpressPassOptions { stop, jitter, largest_credit, timeout, wait } = self.options;
        let defaults = Config::new(flow.receiver_link);
        let config = Config {
            share: flow.receiver_share.unwrap_or(defaults.share),
            max_credit: largest_credit.get() as u16,
            min_jitter: -jitter,
            max_jitter: jitter,
            payload: Bytes::new(u64::from(flow.payload)),
            stop,
            retransmit_timeout: timeout,
            wait,
            unscheduled: self.aeolus.map(|aeolus| aeolus.burst_config(flow, flow.base_rtt)),
            send_buffer: self.send_buffer,
            ..defaults
        };
        let rule = Rule::new(self.rule);
        let sender = Sender::new(&config, flow.size);
        let receiver = Receiver::new(&config, rule, flow.stream("credits"));
        [Peer::sender(sender), Peer::receiver(receiver)]
    }
}

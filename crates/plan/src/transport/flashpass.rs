//! `FlashPass`: senders send an emulation packet for each data packet, which every port meters; receivers return it as
//! a credit, and the data packet leaves a waiting time after its emulation packet. A port has three queues: emulation
//! packets, returned credits with acknowledgements, and data.

use super::aeolus::{AeolusSwitch, BurstEnd, BurstSize, UnscheduledAcks};
use super::{Aeolus, BurstUntil, Configured, CreditRequirements, Demand, FlowContext, LONGEST, Protocol, TIMEOUT};
use crate::switches::Accounting;
use shallop_control::flashpass::{self, Aimd, Mimd};
use shallop_core::{BufferSize, Bytes, Class, Span};
use shallop_options::{HostStack, Key, Options, Problem, Section, SectionKind, StringEnum, section_kind, string_enum};
use shallop_proto::flashpass::{CreditEngineConfig, Receiver, ReceiverConfig, Sender, SenderConfig};
use shallop_proto::{FlashPassEnd, Peer, aeolus};

/// `FlashPass` with the options of a scheme.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlashPass {
    pub options: FlashPassOptions,
    pub law: FlashPassLaw,
    /// Whether defaults follow the paper.
    pub as_in_paper: bool,
    pub aeolus: Option<Aeolus>,
    /// Size of the send buffer that limits the demand a sender knows; `None` if it knows all remaining data.
    pub send_buffer: Option<Bytes>,
}

/// Default number of epochs in a round trip, with the feedback law `"aimd"`.
const AIMD_EPOCHS: u32 = 4;
const MIMD_EPOCHS: u32 = 1;
/// Default of `jitter`, and of `expected_loss` with the law `"aimd"`.
const JITTER: f64 = 0.49;
const EXPECTED_LOSS: f64 = 0.1;
const MAX_WAIT: Span = Span::from_secs(600);

#[derive(Clone, Copy, Debug, PartialEq, Options)]
#[options(defaults)]
pub struct FlashPassOptions {
    /// The waiting time `T_wait` from an emulation packet to its data packet.
    #[key(Time(Span::from_ns(1), MAX_WAIT), shown = "the largest base round-trip time of the network, with a margin")]
    pub wait: Option<Span>,
    /// Whether a `wait` below the largest base round-trip time is accepted.
    #[key(default = false)]
    pub force_wait: bool,
    /// The number of epochs in a round-trip time. The loss of emulation packets is measured for each epoch.
    #[key(
        Integer(1, 64),
        shown = format!("{AIMD_EPOCHS} with the law \"aimd\", else {MIMD_EPOCHS}")
    )]
    pub epochs: Option<u32>,
    /// The most by which an emulation packet leaves early or late, as a fraction of the gap between two.
    #[key(Below(0.0, 0.5), shown = format!("{JITTER}, or 0 with `flashpass-paper`"))]
    pub jitter: Option<f64>,
    /// The rate of emulation packets at the start of a flow, as a fraction of the maximum (paper, IV.C: the maximum).
    #[key(Above(0.0, 1.0), default = 1.0)]
    pub initial_rate: f64,
    /// The number of emulation packets that one credit packet answers, a timestamp for each.
    #[key(Integer(1, 6), default = 1)]
    pub batch: u8,
    /// Whether a sender continues to send emulation packets, which are then tagged, when it expects enough credits for
    /// its data (paper, III.C).
    #[key(shown = "false, or true with `flashpass-paper`")]
    pub over_provision: Option<bool>,
    /// The loss of emulation packets that a sender expects when it decides whether to tag (paper, Eq. 2).
    #[key(Below(0.0, 1.0), shown = format!("`max_target_loss`, or {EXPECTED_LOSS} with the law \"aimd\""))]
    pub expected_loss: Option<f64>,
    /// Whether a sender expects the measured loss if it is higher than `expected_loss`.
    #[key(shown = "true, or false with `flashpass-paper`")]
    pub expect_measured: Option<bool>,
    /// Whether tagged emulation packets count in the measured loss, and among those in flight in Eq. 2.
    #[key(shown = "false, or true with `flashpass-paper`")]
    pub count_tagged: Option<bool>,
    /// The time after which data that is not acknowledged counts as lost (paper, IV.A).
    #[key(Time(Span::from_us(1), LONGEST), default = TIMEOUT)]
    pub timeout: Span,
}

impl FlashPass {
    pub fn epochs(&self) -> u32 {
        self.options.epochs.unwrap_or(match self.law {
            FlashPassLaw::Aimd(_) => AIMD_EPOCHS,
            FlashPassLaw::Mimd(_) | FlashPassLaw::Fixed => MIMD_EPOCHS,
        })
    }

    fn jitter(&self) -> f64 {
        self.options.jitter.unwrap_or(if self.as_in_paper { 0.0 } else { JITTER })
    }

    fn expected_loss(&self) -> f64 {
        self.options.expected_loss.unwrap_or(match self.law {
            FlashPassLaw::Mimd(law) => law.max_target_loss,
            FlashPassLaw::Aimd(_) | FlashPassLaw::Fixed => EXPECTED_LOSS,
        })
    }

    fn over_provision(&self) -> bool {
        self.options.over_provision.unwrap_or(self.as_in_paper)
    }

    fn expect_measured(&self) -> bool {
        self.options.expect_measured.unwrap_or(!self.as_in_paper)
    }

    fn count_tagged(&self) -> bool {
        self.options.count_tagged.unwrap_or(self.as_in_paper)
    }

    /// The configuration of the credit engine of a flow's sender.
    pub fn engine(&self, flow: &FlowContext) -> CreditEngineConfig {
        let link = flow.sender_link;
        CreditEngineConfig {
            rate: flow.sender_share.map_or(link, |share| link.share(share)),
            wait: flow.wait,
            epochs: self.epochs(),
            jitter: self.jitter(),
            expected_loss: self.expected_loss(),
            attribute: !matches!(self.law, FlashPassLaw::Mimd(law) if !law.attribute),
            min_sample: match self.law {
                FlashPassLaw::Mimd(law) => law.min_sample(),
                FlashPassLaw::Aimd(_) | FlashPassLaw::Fixed => 1,
            },
            count_tagged: self.count_tagged(),
            expect_measured: self.expect_measured(),
            over_provision: self.over_provision(),
        }
    }

    /// The configuration of the flow's unscheduled burst; `None` without Aeolus.
    pub fn unscheduled(&self, flow: &FlowContext) -> Option<aeolus::Config> {
        let duration = if self.bursts_until_first_data() { flow.wait } else { flow.base_rtt };
        self.aeolus.map(|aeolus| aeolus.burst_config(flow, duration))
    }

    /// Whether the unscheduled burst lasts until the first credit may be used, instead of ending with the first packet
    /// from the receiver.
    pub fn bursts_until_first_data(&self) -> bool {
        self.aeolus.is_some_and(|aeolus| aeolus.until == BurstUntil::FirstData)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Law {
    Aimd,
    Mimd,
    Fixed,
}

string_enum! { Law { Aimd = "aimd", Mimd = "mimd", Fixed = "none" } }

/// The option that chooses the feedback law, for transports whose name does not imply it.
#[derive(Clone, Copy, Debug, Options)]
struct Feedback {
    /// The feedback law: the one made for this simulator (`"aimd"`), Algorithm 1 of the paper (`"mimd"`), or none: the
    /// rate stays at `initial_rate` (`"none"`).
    #[key(default = Law::Aimd)]
    pub feedback: Law,
}

/// The options of transports that let scenarios choose the feedback law: the choice, and the parameters of both laws.
type Laws = (Feedback, flashpass::AimdConfig, flashpass::MimdConfig);
/// The keys of `transport = "flashpass"`.
type Choice = (FlashPassOptions, Laws, AeolusSwitch, BurstSize, BurstEnd, Demand);
type Paper = (FlashPassOptions, flashpass::MimdConfig, AeolusSwitch, BurstSize, BurstEnd, Demand);
type ChoiceWithAeolus = (FlashPassOptions, Laws, BurstSize, BurstEnd, Demand);
type PaperWithAeolus = (FlashPassOptions, flashpass::MimdConfig, BurstSize, BurstEnd, Demand);

const CHOICE: SectionKind = section_kind::<Choice>("flashpass", "emulation packets ahead of the data, our law");
const MIMD: SectionKind = section_kind::<Paper>("flashpass-mimd", "Algorithm 1, with the loss of each epoch");
const PAPER: SectionKind = section_kind::<Paper>("flashpass-paper", "the paper to the letter");
const CHOICE_WITH_AEOLUS: SectionKind =
    section_kind::<ChoiceWithAeolus>("flashpass-aeolus", "our law, with data before the first credit");
const MIMD_WITH_AEOLUS: SectionKind =
    section_kind::<PaperWithAeolus>("flashpass-mimd-aeolus", "Algorithm 1, with data before the first credit");
const PAPER_WITH_AEOLUS: SectionKind =
    section_kind::<PaperWithAeolus>("flashpass-paper-aeolus", "the paper to the letter, data before credits");

impl Configured for FlashPass {
    fn kinds() -> Vec<SectionKind> {
        vec![CHOICE, MIMD, PAPER, CHOICE_WITH_AEOLUS, MIMD_WITH_AEOLUS, PAPER_WITH_AEOLUS]
    }

    fn read(kind: &str, section: &Section<'_>, stack: HostStack) -> Result<Self, Problem> {
        let aeolus_of = |on, burst: BurstSize, until: BurstEnd| {
            let BurstSize { burst, renew_after } = burst;
            let BurstEnd { burst_until: until, unscheduled_acks: acks } = until;
            let aeolus = Aeolus { burst, until, renew_after, acks };
            let (size, end) = (BurstSize::KEY, BurstEnd::KEY);
            aeolus.when_on(on, section, &[size.burst, size.renew_after, end.burst_until, end.unscheduled_acks])
        };
        let as_in_paper = [PAPER.name, PAPER_WITH_AEOLUS.name].contains(&kind);
        let algorithm_1 = |law: flashpass::MimdConfig| {
            let is_written = section.is_written(flashpass::MimdConfig::KEY.attribute);
            FlashPassLaw::Mimd(flashpass::MimdConfig {
                attribute: law.attribute && (is_written || !as_in_paper),
                ..law
            })
        };
        let (options, law, aeolus, demand) = if [PAPER.name, MIMD.name].contains(&kind) {
            let (options, law, switched, burst, until, demand) = Paper::read(section, stack)?;
            (options, algorithm_1(law), aeolus_of(switched.aeolus, burst, until)?, demand)
        } else if [PAPER_WITH_AEOLUS.name, MIMD_WITH_AEOLUS.name].contains(&kind) {
            let (options, law, burst, until, demand) = PaperWithAeolus::read(section, stack)?;
            (options, algorithm_1(law), aeolus_of(true, burst, until)?, demand)
        } else if kind == CHOICE_WITH_AEOLUS.name {
            let (options, laws, burst, until, demand) = ChoiceWithAeolus::read(section, stack)?;
            (options, chosen(laws, section)?, aeolus_of(true, burst, until)?, demand)
        } else {
            let (options, laws, switched, burst, until, demand) = Choice::read(section, stack)?;
            (options, chosen(laws, section)?, aeolus_of(switched.aeolus, burst, until)?, demand)
        };
        Ok(Self { options, law, as_in_paper, aeolus, send_buffer: demand.send_buffer })
    }

    fn values(&self) -> Vec<(&'static Key, Option<String>)> {
        let law = match &self.law {
            FlashPassLaw::Aimd(law) => law.values(),
            FlashPassLaw::Mimd(law) => flashpass::MimdConfig { min_sample: Some(law.min_sample()), ..*law }.values(),
            FlashPassLaw::Fixed => Vec::new(),
        };
        let options = FlashPassOptions {
            epochs: Some(self.epochs()),
            jitter: Some(self.jitter()),
            expected_loss: Some(self.expected_loss()),
            count_tagged: Some(self.count_tagged()),
            expect_measured: Some(self.expect_measured()),
            over_provision: Some(self.over_provision()),
            ..self.options
        };
        [options.values(), law].concat()
    }
}

/// Returns the feedback law that the scenario chose, with its parameters.
///
/// # Errors
/// If a parameter of the other law is written.
fn chosen(laws: Laws, section: &Section<'_>) -> Result<FlashPassLaw, Problem> {
    let (Feedback { feedback }, aimd, mimd) = laws;
    let law = match feedback {
        Law::Aimd => FlashPassLaw::Aimd(aimd),
        Law::Mimd => FlashPassLaw::Mimd(mimd),
        Law::Fixed => FlashPassLaw::Fixed,
    };
    let of = [(Law::Aimd, flashpass::AimdConfig::keys()), (Law::Mimd, flashpass::MimdConfig::keys())];
    let (own, foreign): (Vec<_>, Vec<_>) = of
        .into_iter()
        .flat_map(|(law, keys)| keys.into_iter().map(move |key| (law, key)))
        .partition(|(law, _)| *law == feedback);
    let Some((other, key)) = foreign.into_iter().find(|(_, key)| section.is_written(*key)) else {
        return Ok(law);
    };
    let (feedback, other) = (feedback.word(), other.word());
    let message = format!("it belongs to feedback = \"{other}\", and this is \"{feedback}\"");
    let own: Vec<&str> = own.iter().map(|(_, key)| key.name).collect();
    let help = format!("options of \"{feedback}\": {}", own.join(", "));
    Err(section.reject(key, message).with_help(help))
}

/// A feedback law of `FlashPass`, which controls the rate of emulation packets, with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FlashPassLaw {
    Mimd(flashpass::MimdConfig),
    Aimd(flashpass::AimdConfig),
    /// No feedback.
    Fixed,
}

impl FlashPassLaw {
    /// Makes the feedback law's state for a new flow, at this fraction of the maximum rate.
    pub fn begin(self, initial_rate: f64) -> flashpass::Law {
        match self {
            Self::Mimd(config) => flashpass::Law::Mimd(Mimd::new(config, initial_rate)),
            Self::Aimd(config) => flashpass::Law::Aimd(Aimd::new(config, initial_rate)),
            Self::Fixed => flashpass::Law::Fixed(initial_rate),
        }
    }
}

/// Default limit of a host's emulation queue. An emulation packet that waits there is late, and its data packet is not,
/// so that data needs buffer later: a link of 1 Gb/s to the receiver has room for 13 frames (docs/flashpass.md).
const HOST_EMULATION: BufferSize = BufferSize::Packets(2);

/// The queues and meters that `FlashPass` requires of switches. The probe packet of Aeolus joins the data queue, so
/// that it stays behind the unscheduled data.
const CREDITS: CreditRequirements = CreditRequirements {
    name: FlashPass::NAME,
    packets: "emulation packets",
    metered: Class::Emulation,
    releases_reverse: false,
    returns: true,
    selective: true,
    queues: &["emulation", "credit", "data"],
    queues_with_legacy: &["emulation", "credit", "data", "legacy"],
    queues_with_unscheduled: &["emulation", "credit", "data", "unscheduled"],
    queue_of: [2, 1, 2, 0, 1, 2, 2, 2],
    host_queue: Some(HOST_EMULATION),
    accounting: Accounting::PerLink,
};

/// The queues and meters of the paper: the share of 84/1622 on every link, and 8 emulation packets at hosts (IV.A).
const CREDITS_OF_PAPER: CreditRequirements =
    CreditRequirements { host_queue: None, accounting: Accounting::OneWay, ..CREDITS };

impl Protocol for FlashPass {
    type End = FlashPassEnd;
    const NAME: &'static str = "FlashPass";
    const CREDITS: Option<&'static CreditRequirements> = Some(&CREDITS);

    fn credits(&self) -> Option<&'static CreditRequirements> {
        Some(if self.as_in_paper { &CREDITS_OF_PAPER } else { &CREDITS })
    }

    fn aeolus(&self) -> Option<Aeolus> {
        self.aeolus
    }

    fn batch(&self) -> u8 {
        self.options.batch.max(1)
    }

    fn endpoints(&self, flow: &FlowContext) -> [FlashPassEnd; 2] {
        let FlashPassOptions { batch, timeout, initial_rate, .. } = self.options;
        let engine = self.engine(flow);
        let wait = flow.wait;
        let sender = SenderConfig {
            engine,
            payload: flow.payload,
            size: flow.size,
            // Acknowledgements may be delayed: less than two waiting times would be a spurious timeout.
            timeout: timeout.max(wait * 2),
            unscheduled: self.unscheduled(flow),
            burst_until_first_data: self.bursts_until_first_data(),
            send_buffer: self.send_buffer,
        };
        let sender = Sender::new(sender, self.law.begin(initial_rate), flow.stream("emulation"));
        let mut receiver = ReceiverConfig { batch, ..ReceiverConfig::default() };
        if self.aeolus.is_some_and(|aeolus| aeolus.acks == UnscheduledAcks::Each) {
            receiver.unscheduled_ack_delay = Span::ZERO;
        }
        let receiver = Receiver::new(receiver);
        [Peer::sender(sender), Peer::receiver(receiver)]
    }
}

//! The keys of a `[[scheme]]`: the transports and their options.

use shallop_control::any;
use shallop_control::options::{Kind, LONGEST};
use shallop_core::form::{Form, Key, Keys, Kinds, Part, key, need};
use shallop_core::{Bytes, Span};

use super::format::STACKS;

const MOST_WAIT: Span = Span::from_secs(600);

/// The transports.
pub(super) const SCHEMES: Kinds = Kinds { tag: "transport", all: transports };

/// The window controllers, each with the options of its own, and what goes by credits or by the clock.
fn transports() -> Vec<(&'static str, Vec<Part>)> {
    let window = |(kind, _): (&Kind, _)| (kind.name, [&[SCHEME, TCP], kind.keys].concat());
    let others = OTHERS.iter().map(|(name, keys)| (*name, [&[SCHEME], *keys].concat()));
    any::Config::kinds().into_iter().map(window).chain(others).collect()
}

const OTHERS: &[(&str, Keys)] = &[
    ("expresspass", &[EXPRESSPASS, CODE, AEOLUS, BURST, DEMAND]),
    ("expresspass-paper", &[EXPRESSPASS, PAPER, AEOLUS, BURST, DEMAND]),
    ("expresspass-aeolus", &[EXPRESSPASS, CODE, BURST, DEMAND]),
    ("expresspass-ideal", &[EXPRESSPASS, CODE, DEMAND]),
    ("udp", &[UDP]),
    ("flashpass", &[FLASHPASS, FEEDBACK, AIMD, MIMD, AEOLUS, BURST, BURST_UNTIL, DEMAND]),
    ("flashpass-mimd", &[FLASHPASS, MIMD, AEOLUS, BURST, BURST_UNTIL, DEMAND]),
    ("flashpass-aeolus", &[FLASHPASS, FEEDBACK, AIMD, MIMD, BURST, BURST_UNTIL, DEMAND]),
    ("flashpass-mimd-aeolus", &[FLASHPASS, MIMD, BURST, BURST_UNTIL, DEMAND]),
];

const SCHEME: &[Key] = &[
    key("name", Form::Text, "Its label. Default: the transport."),
    key(
        "set",
        Form::Overrides,
        "What differs of switches under it, such as { \"switch.default.mark.above\" = \"50pkt\" }.",
    ),
    need("transport", Form::Text, "The transport of all flows."),
];

const TCP: &[Key] = &[
    key("stack", Form::Choice(STACKS), "Whose TCP it is. Default: that of the scenario."),
    key("initial_window", Form::Count(1, 10_000), "Segments in the first window."),
    key("handshake", Form::Truth, "A round trip passes before the first data."),
    key(
        "slow_start_after_idle",
        Form::Either(&[Form::Truth, Form::Choice(&["estimate"])]),
        "After a silence of more than a timeout a flow, or the next one on its connection, begins again with the first \
         window; \"estimate\" forgets `rto_min` there, as ns-2 does. Default: true.",
    ),
    key("rto_initial", Form::Time(Span::from_us(1), LONGEST), "Timeout before any sample."),
    key("rto_min", Form::Time(Span::from_us(1), LONGEST), "The least timeout."),
    key("rto_max", Form::Time(Span::from_us(1), LONGEST), "The largest timeout."),
    key(
        "rto_floor",
        Form::Choice(&["timeout", "deviation"]),
        "What `rto_min` bounds: the timeout, or its part above the round trip (Linux).",
    ),
    key(
        "detection",
        Form::Choice(&["duplicate-acks", "sack", "rack"]),
        "How losses are found: RFC 6582, RFC 6675 or RFC 8985.",
    ),
    key(
        "ecn",
        Form::Choice(&["off", "classic", "exact"]),
        "Congestion marks: not used, as in RFC 3168, or echoed one by one. Default: \"off\", for ecn-star \
         \"classic\", for dctcp \"exact\".",
    ),
    key(
        "ecn_gradual",
        Form::Truth,
        "A mark shrinks the window over a round trip (Linux). Default: the stack's; false for ecn-star and dctcp.",
    ),
    key("ack_every", Form::Count(1, 1_000), "Segments to an acknowledgement."),
    key("ack_delay", Form::Time(Span::ZERO, LONGEST), "The longest one is held back."),
    key("ack_quick", Form::Count(0, 1_000_000), "First segments that are acknowledged at once."),
    key(
        "receive_buffer",
        Form::Size(Bytes::new(1_000), Bytes::new(1_000_000_000_000)),
        "The receiver's buffer. Default: as much as a scaled window can offer.",
    ),
    key(
        "clean",
        Form::Table(CLEAN),
        "A CLEAN proxy at the last hop, which answers marks for the senders (docs/clean.md).",
    ),
];

/// Packets at a constant rate.
const UDP: &[Key] = &[
    key("rate", super::format::rate(), "On the wire. Default: that of the sender's link."),
    key("ect", Form::Truth, "Whether they say that they understand marks. Default: false."),
];

/// A CLEAN proxy.
pub(super) const CLEAN: Keys = &[&[
    key(
        "decrease",
        Form::Choice(&["alpha", "half"]),
        "What a mark takes: alpha / 2 of the window, or half. Default: \"alpha\".",
    ),
    key(
        "scale",
        Form::Above(0.0, 4.0),
        "C: steepness of the curve, in segments per cubic second. Default: 0.4.",
    ),
    key("gain", Form::Above(0.0, 1.0), "g: a power of two down to 1/1024. Default: 0.0625."),
    key("alpha_initial", Form::Number(0.0, 1.0), "Alpha at first. Default: 1."),
    key("initial_window", Form::Count(1, 10_000), "Segments a flow begins with. Default: 10."),
    key("least_window", Form::Count(1, 10_000), "Segments a mark leaves at least. Default: 2."),
    key(
        "idle",
        Form::Time(Span::from_us(1), LONGEST),
        "A flow of which nothing passes for so long is forgotten. Default: \"10s\".",
    ),
    key("flows", Form::Count(1, 1_000_000), "Flows it knows at most. Default: 65536."),
    key("validate", Form::Truth, "Windows grow only as far as they are used. Default: true."),
    key(
        "edges",
        Form::List(&Form::Text),
        "Ports from which packets enter its network, as \"cloud>core\". Default: those of a campus.",
    ),
    key(
        "points",
        Form::List(&Form::Text),
        "Ports of the last hop, as \"ap>station\". Default: the radios of a campus.",
    ),
]];

const EXPRESSPASS: &[Key] = &[
    key("alpha", Form::Above(0.0, 1.0), "Rate a transfer starts at: 0.5 (code), 0.0625 (paper)."),
    key("w_init", Form::Above(0.0, 1.0), "Weight it starts with: 0.5 (code), 0.0625 (paper)."),
    key("w_min", Form::Above(0.0, 1.0), "The least weight. Default: 0.01."),
    key("w_max", Form::Above(0.0, 1.0), "The largest weight. Default: 0.5."),
    key(
        "stop",
        Form::Choice(&["last-data", "early", "demand"]),
        "When credits end. Default: \"last-data\".",
    ),
    key(
        "jitter",
        Form::Below(0.0, 1.0),
        "Credits deviate by this part of their gap. Default: 0.1.",
    ),
    key(
        "largest_credit",
        Form::Size(Bytes::new(84), Bytes::new(1_538)),
        "Sizes of credits are drawn from 84 B to this. Default: \"84B\".",
    ),
    key(
        "timeout",
        Form::Time(Span::from_us(1), LONGEST),
        "Requests are repeated after this. Default: \"200ms\".",
    ),
];

/// The rule of the public code.
const CODE: &[Key] = &[
    key(
        "w_step",
        Form::Number(0.0, 1.0),
        "What increases in a row add to the weight. Default: 0.05.",
    ),
    key("target_scale", Form::Number(0.0, 1.0), "Loss tolerated at rate zero. Default: 0.125."),
    key("full_start", Form::Count(1, 1_000_000), "Fewer packets than this start below `alpha`."),
];

/// The rule of the 2017 paper.
const PAPER: &[Key] = &[
    key("target_loss", Form::Above(0.0, 1.0), "Loss tolerated at every rate. Default: 0.1."),
    key("attribute", Form::Truth, "Scales the rate the lost credits were sent at. Default: false."),
];

const FLASHPASS: &[Key] = &[
    key(
        "wait",
        Form::Time(Span::from_ns(1), MOST_WAIT),
        "T_wait. Default: the largest base round trip, with a margin.",
    ),
    key("force_wait", Form::Truth, "A `wait` below the largest base round trip is meant."),
    key("epochs", Form::Count(1, 64), "Epochs in a round trip. Default: 4, with \"mimd\" 1."),
    key(
        "jitter",
        Form::Below(0.0, 0.5),
        "Part of their gap emulation packets move. Default: 0.49.",
    ),
    key("batch", Form::Count(1, 6), "Timestamps in a credit packet. Default: 1."),
    key("over_provision", Form::Truth, "Emulation goes on, tagged. Default: false."),
    key("expected_loss", Form::Below(0.0, 1.0), "Loss that tagging counts on. Default: 0.1."),
    key(
        "timeout",
        Form::Time(Span::from_us(1), LONGEST),
        "Data is lost after this. Default: \"200ms\".",
    ),
];

/// Whether a flow starts as Aeolus does.
const AEOLUS: &[Key] =
    &[key("aeolus", Form::Truth, "Data is sent before any credit (Aeolus). Default: false.")];

/// How it does.
pub(super) const BURST: &[Key] = &[key(
    "burst",
    Form::Size(Bytes::new(1), Bytes::new(1_000_000_000_000)),
    "The most sent without a credit. Default: what the link carries in a base round trip.",
)];

/// When that ends.
pub(super) const BURST_UNTIL: &[Key] = &[key(
    "burst_until",
    Form::Choice(&["first-credit", "wait"]),
    "Data goes without credits until the first answer, or until credits count. Default: \"first-credit\".",
)];

/// What a sender knows of its demand.
const DEMAND: &[Key] = &[
    key(
        "demand",
        Form::Choice(&["known", "buffer"]),
        "What a sender knows of what remains: all, or its send buffer. Default: \"known\".",
    ),
    key(
        "send_buffer",
        Form::Size(Bytes::new(1_000), Bytes::new(1_000_000_000_000)),
        "With `demand` = \"buffer\": how much that is.",
    ),
];

const FEEDBACK: &[Key] = &[key(
    "feedback",
    Form::Choice(&["aimd", "mimd"]),
    "Our law, or Algorithm 1 of the paper. Default: \"aimd\".",
)];

/// Our law.
pub(super) const AIMD: &[Key] = &[
    key("step", Form::Above(0.0, 1.0), "The step at no loss. Default: 0.04."),
    key("decay", Form::Above(0.0, 10.0), "The loss that shrinks it by a factor e. Default: 0.045."),
    key("most", Form::Above(0.0, 1.0), "Losses count at most this much. Default: 0.18."),
    key("gain", Form::Above(0.0, 1.0), "Weight of an epoch while losses grow. Default: 0.05."),
    key("ease", Form::Above(0.0, 1.0), "Weight while they shrink. Default: 0.15."),
];

/// Algorithm 1.
pub(super) const MIMD: &[Key] = &[
    key("min_target_loss", Form::Number(0.0, 1.0), "Below it the rate grows. Default: 0.01."),
    key("max_target_loss", Form::Number(0.0, 1.0), "Above it the rate shrinks. Default: 0.1."),
];

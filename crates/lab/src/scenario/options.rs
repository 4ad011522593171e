//! The keys of a `[[scheme]]`: the transports and their options.

use shallop_core::{BitsPerSec, Bytes, Span};

use super::form::{Form, Key, Kinds, key, need};
use super::format::STACKS;

const MOST_TIMEOUT: Span = Span::from_secs(3_600);
const MOST_WAIT: Span = Span::from_secs(600);

/// The transports.
pub(super) const SCHEMES: Kinds = Kinds {
    tag: "transport",
    kinds: &[
        ("newreno", &[SCHEME, TCP, LOSS, PACING]),
        ("cubic", &[SCHEME, TCP, LOSS, PACING, CUBIC]),
        ("vegas", &[SCHEME, TCP, LOSS, VEGAS]),
        ("dctcp", &[SCHEME, TCP, LOSS, DCTCP]),
        ("ecn-star", &[SCHEME, TCP, LOSS, PACING]),
        ("bbr", &[SCHEME, TCP, BBR]),
        ("copa", &[SCHEME, TCP, COPA]),
        ("gemini", &[SCHEME, TCP, LOSS, GEMINI]),
        ("expresspass", &[SCHEME, EXPRESSPASS, CODE, AEOLUS, BURST, DEMAND]),
        ("expresspass-paper", &[SCHEME, EXPRESSPASS, PAPER, AEOLUS, BURST, DEMAND]),
        ("expresspass-aeolus", &[SCHEME, EXPRESSPASS, CODE, BURST, DEMAND]),
        ("expresspass-ideal", &[SCHEME, EXPRESSPASS, CODE, DEMAND]),
        (
            "flashpass",
            &[SCHEME, FLASHPASS, FEEDBACK, AIMD, MIMD, AEOLUS, BURST, BURST_UNTIL, DEMAND],
        ),
        ("flashpass-mimd", &[SCHEME, FLASHPASS, MIMD, AEOLUS, BURST, BURST_UNTIL, DEMAND]),
        (
            "flashpass-aeolus",
            &[SCHEME, FLASHPASS, FEEDBACK, AIMD, MIMD, BURST, BURST_UNTIL, DEMAND],
        ),
        ("flashpass-mimd-aeolus", &[SCHEME, FLASHPASS, MIMD, BURST, BURST_UNTIL, DEMAND]),
    ],
};

const SCHEME: &[Key] = &[
    key("name", Form::Text, "Its label. Default: the transport."),
    key(
        "set",
        Form::Overrides,
        "What differs of switches under it, such as { \"switch.default.mark.above\" = \"50pkt\" }.",
    ),
    need(
        "transport",
        Form::Choice(&[
            "newreno",
            "cubic",
            "vegas",
            "dctcp",
            "ecn-star",
            "bbr",
            "copa",
            "gemini",
            "expresspass",
            "expresspass-paper",
            "expresspass-aeolus",
            "expresspass-ideal",
            "flashpass",
            "flashpass-mimd",
            "flashpass-aeolus",
            "flashpass-mimd-aeolus",
        ]),
        "The transport of all flows.",
    ),
];

const TCP: &[Key] = &[
    key("stack", Form::Choice(STACKS), "Whose TCP it is. Default: that of the scenario."),
    key("initial_window", Form::Count(1, 10_000), "Segments in the first window."),
    key("handshake", Form::Truth, "A round trip passes before the first data."),
    key("rto_initial", Form::Time(Span::from_us(1), MOST_TIMEOUT), "Timeout before any sample."),
    key("rto_min", Form::Time(Span::from_us(1), MOST_TIMEOUT), "The least timeout."),
    key("rto_max", Form::Time(Span::from_us(1), MOST_TIMEOUT), "The largest timeout."),
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
    key("ack_delay", Form::Time(Span::ZERO, MOST_TIMEOUT), "The longest one is held back."),
    key("ack_quick", Form::Count(0, 1_000_000), "First segments that are acknowledged at once."),
    key(
        "receive_buffer",
        Form::Size(Bytes::new(1_000), Bytes::new(1_000_000_000_000)),
        "The receiver's buffer. Default: as much as a scaled window can offer.",
    ),
];

/// Windows that grow until something is lost or marked.
const LOSS: &[Key] = &[
    key(
        "decrease",
        Form::Above(0.0, 0.99),
        "The part of the window given up on congestion: 0.5 for NewReno, 0.3 for CUBIC in RFC 9438, 0.2 in ns-2; for \
         Gemini on delay, 0.2.",
    ),
    key(
        "basis",
        Form::Choice(&["flight", "window"]),
        "What a reduction starts from: what is in flight (RFC 5681), or the window (Linux).",
    ),
    key("hystart", Form::Choice(&["off", "classic", "plus-plus"]), "What ends slow start early."),
    key(
        "hystart_low_window",
        Form::Count(0, 1_000_000),
        "Classic: segments below which it sleeps.",
    ),
    key(
        "hystart_delay_max",
        Form::Time(Span::ZERO, MOST_TIMEOUT),
        "Classic: largest rise let pass.",
    ),
    key("slow_start_limit", Form::Count(1, 1_000_000), "Segments an acknowledgement adds at most."),
    key(
        "initial_threshold",
        Form::Size(Bytes::new(1_000), Bytes::new(1_000_000_000_000)),
        "The window at which the first slow start ends. Default: found out.",
    ),
];

const BBR: &[Key] = &[
    key(
        "window_gain",
        Form::Number(1.0, 100.0),
        "The window, in products of rate and shortest round trip. Default: 2.",
    ),
    key(
        "probe_rtt_every",
        Form::Time(Span::from_us(1), MOST_TIMEOUT),
        "Without a shorter round trip for so long, it holds back to see one. Default: \"10s\".",
    ),
    key(
        "probe_rtt_for",
        Form::Time(Span::ZERO, MOST_TIMEOUT),
        "For so long, and a round trip at least. Default: \"200ms\".",
    ),
    key(
        "send_quantum",
        Form::Size(Bytes::ZERO, Bytes::new(1_000_000)),
        "Largest burst of a host; the window has room for three. Default: a segment; Linux with offload: \"64KiB\".",
    ),
    key("policer", Form::Truth, "Looks for policers and keeps to their rate. Default: true."),
];

const COPA: &[Key] = &[
    key(
        "delta",
        Form::Above(0.0, 10.0),
        "The inverse of the packets a flow keeps queued. Default: 0.5.",
    ),
    key(
        "mode",
        Form::Choice(&["default", "competitive", "auto"]),
        "Keeps its delta, competes with those who fill queues, or finds out. Default: \"auto\".",
    ),
];

/// Whether a controller that need not pace does.
const PACING: &[Key] =
    &[key("pacing", Form::Truth, "Packets leave evenly spaced, as in Linux. Default: false.")];

const GEMINI: &[Key] = &[
    key(
        "capacity",
        Form::Rate(BitsPerSec::at_least_one(1_000_000), BitsPerSec::gbps(1_000)),
        "C: the bandwidth of the network. Default: that of the sender's link.",
    ),
    key(
        "k",
        Form::Buffer,
        "K: the threshold at which switches mark, as they say it. Default: \"76.9KB/Gbps\", 50 full frames.",
    ),
    key(
        "delay_threshold",
        Form::Time(Span::ZERO, MOST_TIMEOUT),
        "T: delay counts beyond this above the shortest. Default: \"5ms\".",
    ),
    key(
        "increase",
        Form::Number(0.0, 1e-3),
        "H: segments a round trip for each bit of C RTT, from 0.1 to 5 in all. Default: 1.2e-7.",
    ),
    key(
        "alpha_gain",
        Form::Number(1.0 / 1024.0, 1.0),
        "Weight of a window in the part that is marked: 1, 1/2, 1/4 to 1/1024. Default: 0.0625.",
    ),
    key(
        "rtt_noise",
        Form::Time(Span::ZERO, MOST_TIMEOUT),
        "Each round trip is measured too long by up to this, uniformly. Default: \"0s\".",
    ),
    key("dcn", Form::Truth, "Marks count. Default: true."),
    key("wan", Form::Truth, "Delay counts. Default: true."),
    key(
        "recount",
        Form::Truth,
        "Delay cuts again a round trip later, for data sent before the cut: as Algorithm 1 is written. Default: true.",
    ),
];

const CUBIC: &[Key] = &[
    key(
        "scale",
        Form::Above(0.0, 100.0),
        "C: steepness of the curve, in segments per cubic second.",
    ),
    key("fast_convergence", Form::Truth, "Gives way to newcomers."),
    key("reno_friendly", Form::Truth, "Never slower than Reno would be."),
    key("form", Form::Choice(&["rfc", "linux"]), "Whose form of the rules."),
];

const VEGAS: &[Key] = &[
    key("alpha", Form::Count(0, 1_000_000), "With fewer packets queued it grows. Default: 2."),
    key("beta", Form::Count(0, 1_000_000), "With more packets queued it shrinks. Default: 4."),
    key("gamma", Form::Count(0, 1_000_000), "With more queued slow start ends. Default: 1."),
    key(
        "clock",
        Form::Choice(&["exact", "microseconds"]),
        "How it measures round trips: in whole microseconds and one more (Linux), or as they are.",
    ),
];

const DCTCP: &[Key] = &[
    key(
        "gain",
        Form::Above(0.0, 1.0),
        "g: weight of the latest window of data, a power of two down to 1/1024. Default: 0.0625.",
    ),
    key("alpha_initial", Form::Number(0.0, 1.0), "Alpha at first: 1 (RFC 8257), 0 (ns-2)."),
];

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
        Form::Time(Span::from_us(1), MOST_TIMEOUT),
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
        Form::Time(Span::from_us(1), MOST_TIMEOUT),
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

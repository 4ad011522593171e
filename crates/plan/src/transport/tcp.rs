//! TCP with a window controller. All of its packets are in the data queue.

use shallop_control::{Marking, any as window, gemini};
use shallop_core::form::{Described, Key, Kind};
use shallop_core::options::{HostStack, Options, Refused, Source};
use shallop_core::{Bytes, Span, options};
use shallop_proto::rtt::Floor;
use shallop_proto::tcp::{
    self, Detection, EcnCapable, EcnConfig, HostQueue, IdleRestart, InterruptCoalescing, Stack,
};
use shallop_proto::{Peer, TcpEnd};

use super::{Configured, FlowContext, LONGEST, Protocol};
use crate::proxy::CleanOptions;

/// TCP with its options.
#[derive(Clone, Debug, PartialEq)]
pub struct Tcp {
    /// The hosts' TCP; the segment size follows from the path.
    pub config: tcp::Config,
    /// The controller.
    pub controller: window::Config,
    /// The name of the controller, if the hosts are real kernels: it is their own TCP, and no other option holds.
    pub kernel: Option<&'static str>,
}

/// The origin of the defaults of TCP.
#[derive(Clone, Copy, Debug)]
pub struct Defaults {
    /// The hosts' stack.
    stack: tcp::Config,
    /// The ECN marking that the controller needs.
    marking: Marking,
}

impl Defaults {
    /// The defaults with the controller of this name.
    fn new(controller: &str, stack: HostStack) -> Self {
        let kind = window::Config::kinds().find(|kind| kind.name == controller);
        let marking = kind.map_or(Marking::Off, |kind| kind.marking);
        Self { stack: preset(stack).tcp, marking }
    }

    fn ecn(&self) -> EcnConfig {
        EcnConfig::for_marking(self.marking, self.stack.ecn)
    }
}

/// The preset of a host stack.
const fn preset(stack: HostStack) -> Stack {
    match stack {
        HostStack::Ns2 => Stack::NS2,
        HostStack::Ns3 => Stack::NS3,
        HostStack::Linux | HostStack::Kernel => Stack::LINUX,
        HostStack::LinuxIdeal => Stack::LINUX_IDEAL,
        HostStack::LinuxPfifo => Stack::LINUX_PFIFO,
    }
}

options! {
    /// The options of TCP with any window controller.
    #[derive(Clone, Copy, Debug)]
    pub struct TcpOptions(defaults: Defaults) {
        /// The TCP stack, on which many defaults depend.
        key stack: Option<HostStack> = None, "the `stack` of the scenario";
        /// The initial congestion window, in segments.
        key initial_window: u32 [Integer(1, 10_000)] = defaults.stack.initial_window;
        /// Whether the first data waits for a three-way handshake, which takes a round trip.
        key handshake: bool = defaults.stack.handshake;
        /// Whether the congestion window returns to the initial window after an idle period longer than the
        /// retransmission timeout (RFC 5681, 4.1). `"estimate"`: longer than the smoothed round-trip time and four
        /// deviations, without `rto_min`, as in ns-2's FullTcp. With `connections = "kept"` this holds for the next
        /// flow of a connection as well.
        key slow_start_after_idle: IdleRestart = defaults.stack.slow_start_after_idle;
        /// The retransmission timeout before the first round-trip sample.
        key rto_initial: Span [Time(Span::from_us(1), LONGEST)] = defaults.stack.timeout.initial;
        /// The minimum retransmission timeout.
        key rto_min: Span [Time(Span::from_us(1), LONGEST)] = defaults.stack.timeout.min;
        /// The maximum retransmission timeout.
        key rto_max: Span [Time(Span::from_us(1), LONGEST)] = defaults.stack.timeout.max;
        /// What `rto_min` bounds: the whole timeout (`"timeout"`, RFC 6298), or its part above the smoothed round-trip
        /// time (`"deviation"`, Linux).
        key rto_floor: Floor = defaults.stack.timeout.floor;
        /// Loss detection: three duplicate acknowledgements (RFC 6582), selective acknowledgements (RFC 6675), or
        /// RACK-TLP (RFC 8985).
        key detection: Detection = defaults.stack.detection;
        /// Congestion marks: not used, as in RFC 3168 (`"classic"`), or each mark echoed (`"exact"`, RFC 8257).
        key ecn: Marking = defaults.marking;
        /// Whether the window is reduced for a mark over a round trip, as after a loss (Linux), instead of at once.
        key ecn_gradual: bool = defaults.ecn().gradual;
        /// Whether ECN-capable packets carry ECT(1), the identifier of L4S (RFC 9331), in place of ECT(0). A switch
        /// with `aqm = "dualpi2"` queues them with low latency. Needs `ecn = "exact"`.
        key l4s: bool = false;
        /// A receiver acknowledges every n-th segment that arrives in order.
        key ack_every: u32 [Integer(1, 1_000)] = defaults.stack.acks.every;
        /// The longest time for which an acknowledgement is delayed.
        key ack_delay: Span [Time(Span::ZERO, LONGEST)] = defaults.stack.acks.timeout;
        /// The number of segments at the start of a flow that are acknowledged at once.
        key ack_quick: u32 [Integer(0, 1_000_000)] = defaults.stack.acks.quick;
        /// The most segments that a sender hands to its card at once (Linux: `gso_max_segs` of the card). They leave
        /// back to back, about a millisecond of the pacing rate and at most 64 KB. 1: packet by packet.
        key gso_max_segs: u16 [Integer(1, 65_535)] = defaults.stack.gso_max_segs;
        /// The most bursts of a flow that wait in the host to be paced (Linux: `flow_limit` of `fq`). One more is
        /// dropped, which reduces the window as a mark does. With `gso_max_segs = 1` that is the limit of a flow above
        /// 2 Gb/s. 65,535: no limit.
        key fq_flow_limit: u16 [Integer(1, 65_535)] = defaults.stack.fq_flow_limit;
        /// Bytes of options in each segment and acknowledgement, which leave less for data (Linux: 12, of timestamps).
        key option_bytes: u8 [Integer(0, 40)] = defaults.stack.option_bytes;
        /// How long after a packet the card interrupts the host (interrupt moderation; `ethtool -C rx-usecs`). What
        /// came meanwhile is handed over together, and segments that follow each other as one, which is acknowledged
        /// once.
        key interrupt_gap: Span [Time(Span::ZERO, Span::from_ms(10))] = defaults.stack.interrupt_gap;
        /// The receive buffer.
        key receive_buffer: Bytes [Size(Bytes::new(1_000), Bytes::new(1_000_000_000_000))] =
            defaults.stack.buffer, "as much as a scaled window can advertise, 1.07 GB";
        /// Whether the window that a receiver advertises begins at 64 KB and follows the data of a round trip, up to
        /// `receive_buffer` (Linux: `tcp_moderate_rcvbuf`).
        key receive_autotuning: bool = defaults.stack.receive_autotuning;
        /// A CLEAN proxy at the last hop, which responds to marks on behalf of the senders.
        section clean: CleanOptions;
    }
    check TcpOptions::check;
}

impl TcpOptions {
    fn check(&self, is_written: &dyn Fn(&'static Key) -> bool) -> Result<(), Refused> {
        let keys = Self::KEY;
        let Self { rto_min: min, rto_max: max, .. } = self;
        if min > max {
            let key = if is_written(keys.rto_min) { keys.rto_min } else { keys.rto_max };
            let message = format!("the least timeout, {min}, is above the largest, {max}");
            return Err(Refused::new(key, message, ""));
        }
        if self.ecn == Marking::Off && is_written(keys.ecn_gradual) {
            let help = "write ecn = \"classic\" or \"exact\" beside it";
            return Err(Refused::new(keys.ecn_gradual, "ECN is off", help));
        }
        if self.l4s && self.ecn != Marking::Exact {
            let message = "an L4S sender needs each mark echoed";
            let help =
                "write ecn = \"exact\" beside it, or leave it out: ECT(0) suits a classic response";
            return Err(Refused::new(keys.l4s, message, help));
        }
        Ok(())
    }

    /// The options of this TCP.
    fn new(config: &tcp::Config) -> Self {
        Self {
            stack: None,
            initial_window: config.initial_window,
            handshake: config.handshake,
            slow_start_after_idle: config.slow_start_after_idle,
            rto_initial: config.timeout.initial,
            rto_min: config.timeout.min,
            rto_max: config.timeout.max,
            rto_floor: config.timeout.floor,
            detection: config.detection,
            ecn: match config.ecn.capable {
                EcnCapable::Nothing => Marking::Off,
                EcnCapable::NewData => Marking::Classic,
                EcnCapable::Everything => Marking::Exact,
            },
            ecn_gradual: config.ecn.gradual,
            l4s: config.ecn.l4s,
            ack_every: config.acks.every,
            ack_delay: config.acks.timeout,
            ack_quick: config.acks.quick,
            gso_max_segs: config.gso_max_segs,
            fq_flow_limit: config.fq_flow_limit,
            option_bytes: config.option_bytes,
            interrupt_gap: config.interrupt_gap,
            receive_buffer: config.buffer,
            receive_autotuning: config.receive_autotuning,
        }
    }

    /// TCP with these options.
    fn config(&self, stack: tcp::Config) -> tcp::Config {
        let mut config = tcp::Config {
            initial_window: self.initial_window,
            handshake: self.handshake,
            slow_start_after_idle: self.slow_start_after_idle,
            detection: self.detection,
            gso_max_segs: self.gso_max_segs,
            fq_flow_limit: self.fq_flow_limit,
            option_bytes: self.option_bytes,
            interrupt_gap: self.interrupt_gap,
            buffer: self.receive_buffer,
            receive_autotuning: self.receive_autotuning,
            ..stack
        };
        config.timeout.initial = self.rto_initial;
        config.timeout.min = self.rto_min;
        config.timeout.max = self.rto_max;
        config.timeout.floor = self.rto_floor;
        config.acks.every = self.ack_every;
        config.acks.timeout = self.ack_delay;
        config.acks.quick = self.ack_quick;
        let ecn = match self.ecn {
            Marking::Off => EcnConfig::OFF,
            Marking::Classic => EcnConfig::CLASSIC,
            Marking::Exact => EcnConfig::EXACT,
        };
        config.ecn = EcnConfig { gradual: self.ecn_gradual, l4s: self.l4s, ..ecn };
        config
    }
}

/// The options that the module of Gemini takes.
const GEMINI: [&str; 9] = [
    gemini::Config::KEY.capacity.name,
    gemini::Config::KEY.k.name,
    gemini::Config::KEY.delay_threshold.name,
    gemini::Config::KEY.decrease.name,
    gemini::Config::KEY.increase.name,
    gemini::Config::KEY.alpha_gain.name,
    gemini::Config::KEY.dcn.name,
    gemini::Config::KEY.wan.name,
    gemini::Config::KEY.recount.name,
];

/// Refuses options of our TCP for hosts whose TCP is a kernel's own.
fn only_the_kernels<S: Source>(controller: &str, source: &S) -> Result<(), S::Error> {
    let keys = [TcpOptions::keys(), window::Config::keys(controller)].concat();
    let given = |key: &Key| controller == "gemini" && GEMINI.contains(&key.name);
    let ours = |key: &&&'static Key| {
        // A proxy is beside the hosts.
        let beside = **key == TcpOptions::KEY.stack || key.name == TcpOptions::KEY.clean.key.name;
        !beside && !given(key) && source.is_written(key)
    };
    match keys.iter().find(ours) {
        None => Ok(()),
        Some(key) => {
            let message =
                format!("with stack = \"kernel\" `{}` is for the kernel to say", key.name);
            let help = "set what the kernel can be told with `sysctls` in [kernel]";
            Err(source.refuse(Refused::new(key, message, help)))
        }
    }
}

impl Configured for Tcp {
    fn kinds() -> Vec<Kind> {
        fn keys(controller: &str) -> Vec<&'static Key> {
            [TcpOptions::keys(), window::Config::keys(controller)].concat()
        }
        fn describe(controller: &str, stack: HostStack) -> Vec<Described> {
            let tcp = TcpOptions::describe(Defaults::new(controller, stack));
            [tcp, window::Config::describe(controller, stack)].concat()
        }
        let kinds = window::Config::kinds();
        kinds.map(|kind| Kind { name: kind.name, about: kind.about, keys, describe }).collect()
    }

    fn read<S: Source>(kind: &str, source: &S, stack: HostStack) -> Result<Self, S::Error> {
        let stack = source.value(TcpOptions::KEY.stack)?.unwrap_or(stack);
        if stack == HostStack::Kernel {
            only_the_kernels(kind, source)?;
        }
        let defaults = Defaults::new(kind, stack);
        let mut config = TcpOptions::read(source, defaults)?.config(defaults.stack);
        let Some(controller) = window::Config::read(kind, source, stack) else {
            let message = format!("there is no transport \"{kind}\"");
            return Err(source.refuse(Refused::new(TcpOptions::KEY.stack, message, "")));
        };
        let controller = controller?;
        if let Some(threshold) = controller.initial_threshold() {
            config.initial_threshold = threshold;
        }
        let name = window::Config::kinds().map(|of| of.name).find(|&name| name == kind);
        Ok(Self { config, controller, kernel: name.filter(|_| stack == HostStack::Kernel) })
    }

    fn values(&self) -> Vec<(&'static Key, Option<String>)> {
        let mut tcp = TcpOptions::new(&self.config).values();
        tcp.retain(|(key, _)| *key != TcpOptions::KEY.stack);
        [tcp, self.controller.values()].concat()
    }
}

impl Protocol for Tcp {
    type End = TcpEnd;
    const NAME: &'static str = "TCP";

    fn describe(&self) -> String {
        format!("TCP with {}", self.controller.name())
    }

    fn responds_to_marks(&self) -> bool {
        self.is_ecn_capable()
    }

    fn is_ecn_capable(&self) -> bool {
        self.config.ecn.capable != EcnCapable::Nothing
    }

    fn relies_on_marks(&self) -> bool {
        self.responds_to_marks() && self.controller.needs_each_mark()
    }

    fn endpoints(&self, flow: &FlowContext) -> [TcpEnd; 2] {
        let segment = flow.payload.saturating_sub(u16::from(self.config.option_bytes)).max(1);
        let config = tcp::Config { segment, ..self.config };
        let draw = flow.stream("window").draw();
        let window = self.controller.build(&config.start(flow.sender_link, draw));
        let gap = config.interrupt_gap;
        let sender = HostQueue::new(tcp::Sender::new(&config, window, flow.size), gap);
        let receiver = tcp::Receiver::new(&config, flow.size);
        let (sender, receiver) =
            (InterruptCoalescing::new(sender, gap), InterruptCoalescing::new(receiver, gap));
        [Peer::Sender(Box::new(sender)), Peer::Receiver(Box::new(receiver))]
    }
}

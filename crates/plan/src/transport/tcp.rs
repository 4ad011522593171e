//! TCP with a congestion controller. All packets of TCP are in the data queue.

use super::{Configured, FlowContext, Protocol};
use crate::proxy::CleanOptions;
use shallop_control::{Marking, any as window, dctcp, gemini};
use shallop_core::Bytes;
use shallop_options::{HostStack, Key, KeyDoc, Options, Problem, Section, SectionKind, Subsection};
use shallop_proto::tcp::{self, EcnConfig, HostQueue, InterruptCoalescing, Stack};
use shallop_proto::{Peer, TcpEnd};

/// TCP with the options of a scheme.
#[derive(Clone, Debug, PartialEq)]
pub struct Tcp {
    /// The hosts whose defaults the configuration has.
    pub stack: HostStack,
    /// Configuration of the hosts' TCP, except the segment size, which follows from the path.
    pub config: tcp::Config,
    pub controller: window::Config,
    /// Name of the congestion controller in scenarios, if the hosts are real kernels. Then `config` has no effect.
    pub kernel: Option<&'static str>,
}

const fn preset(stack: HostStack) -> Stack {
    match stack {
        HostStack::Ns2 => Stack::NS2,
        HostStack::Ns3 => Stack::NS3,
        HostStack::Linux | HostStack::Kernel => Stack::LINUX,
        HostStack::LinuxIdeal => Stack::LINUX_IDEAL,
        HostStack::LinuxPfifo => Stack::LINUX_PFIFO,
    }
}

/// Defaults of TCP on a stack, with the ECN mode that the congestion controller requires.
fn defaults(controller: &str, stack: HostStack) -> tcp::Config {
    let kind = window::Config::kinds().find(|kind| kind.name == controller);
    let marking = kind.map_or(Marking::Off, |kind| kind.marking);
    let preset = preset(stack).tcp;
    let l4s = window::Config::is_l4s(controller);
    let ecn = EcnConfig::for_marking(marking, preset.ecn);
    // Kernel: `tcp_enter_cwr`, for DCTCP and Gemini as for any other controller.
    let ecn_gradual = ecn.ecn_gradual || (marking == Marking::Exact && !l4s && stack.is_as_shipped());
    tcp::Config { ecn: EcnConfig { l4s, ecn_gradual, ..ecn }, ..preset }
}

/// The options of TCP with any congestion controller.
#[derive(Clone, Copy, Debug, Options)]
#[options(defaults: tcp::Config)]
pub struct TcpOptions {
    /// The TCP stack, on which many defaults depend.
    #[key(shown = "the `stack` of the scenario")]
    pub stack: Option<HostStack>,
    #[part(defaults)]
    pub config: tcp::Config,
    /// A CLEAN proxy at the last hop, which responds to marks on behalf of the senders.
    #[section]
    pub clean: Subsection<CleanOptions>,
}

/// The options of Gemini that its kernel module accepts as parameters.
const GEMINI: [&str; 9] = {
    let key = gemini::Config::KEY;
    [
        key.capacity.name, key.k.name, key.delay_threshold.name, key.decrease.name, key.increase.name,
        key.alpha_gain.name, key.dcn.name, key.wan.name, key.recount.name,
    ]
};

/// Refuses options that only the simulated TCP has, for hosts that are real kernels.
fn only_the_kernels(controller: &str, section: &Section<'_>) -> Result<(), Problem> {
    let keys = [TcpOptions::keys(), window::Config::keys(controller)].concat();
    let given = |key: &Key| controller == "gemini" && GEMINI.contains(&key.name);
    let ours = |key: &&'static Key| {
        // The CLEAN proxy is not part of the hosts.
        let beside = *key == TcpOptions::KEY.stack || key.name == TcpOptions::KEY.clean.key.name;
        !beside && !given(key) && section.is_written(*key)
    };
    match keys.into_iter().find(ours) {
        None => Ok(()),
        Some(key) => {
            let message = format!("with stack = \"kernel\" `{}` is for the kernel to say", key.name);
            let help = "set what the kernel can be told with `sysctls` in [kernel]";
            Err(section.reject(key, message).with_help(help))
        }
    }
}

impl Configured for Tcp {
    fn kinds() -> Vec<SectionKind> {
        fn keys(controller: &str) -> Vec<&'static Key> {
            [TcpOptions::keys(), window::Config::keys(controller)].concat()
        }
        fn describe(controller: &str, stack: HostStack) -> Vec<KeyDoc> {
            let tcp = TcpOptions::describe(defaults(controller, stack));
            [tcp, window::Config::describe(controller, stack)].concat()
        }
        let kinds = window::Config::kinds();
        kinds.map(|kind| SectionKind { name: kind.name, about: kind.about, keys, describe }).collect()
    }

    fn read(kind: &str, section: &Section<'_>, stack: HostStack) -> Result<Self, Problem> {
        let stack = section.value(TcpOptions::KEY.stack)?.unwrap_or(stack);
        if stack == HostStack::Kernel {
            only_the_kernels(kind, section)?;
        }
        let mut config = TcpOptions::read(section, defaults(kind, stack))?.config;
        let Some(controller) = window::Config::read(kind, section, stack) else {
            let message = format!("there is no transport \"{kind}\"");
            return Err(section.reject(TcpOptions::KEY.stack, message));
        };
        let controller = controller?;
        if let Some(threshold) = controller.initial_threshold() {
            config.initial_threshold = threshold;
        }
        let name = window::Config::kinds().map(|of| of.name).find(|&name| name == kind);
        Ok(Self { stack, config, controller, kernel: name.filter(|_| stack == HostStack::Kernel) })
    }

    fn values(&self) -> Vec<(&'static Key, Option<String>)> {
        [self.config.values(), self.controller.values()].concat()
    }
}

impl Protocol for Tcp {
    type End = TcpEnd;
    const NAME: &'static str = "TCP";

    fn describe(&self) -> String {
        let hosts = match self.stack {
            HostStack::Ns2 => "hosts as in ns-2",
            HostStack::Ns3 => "hosts as in ns-3",
            HostStack::Linux => "hosts as Linux with fq",
            HostStack::LinuxPfifo => "hosts as Linux with pfifo_fast",
            HostStack::LinuxIdeal => "hosts as Linux without offload",
            HostStack::Kernel => "hosts of real Linux kernels",
        };
        format!("TCP with {}, {hosts}", self.controller.name())
    }

    fn responds_to_marks(&self) -> bool {
        self.is_ecn_capable()
    }

    fn is_ecn_capable(&self) -> bool {
        self.config.ecn.ecn != Marking::Off
    }

    fn relies_on_marks(&self) -> bool {
        self.responds_to_marks() && self.controller.needs_each_mark()
    }

    fn misses_sparse_marks(&self) -> bool {
        let in_integers = match self.controller {
            window::Config::Dctcp(config) => config.arithmetic == dctcp::Arithmetic::Integer,
            window::Config::Gemini(_) => true,
            _ => false,
        };
        self.config.ecn.l4s && self.kernel.is_none() && in_integers
    }

    fn endpoints(&self, flow: &FlowContext) -> [TcpEnd; 2] {
        let segment = flow.payload.saturating_sub(u16::from(self.config.option_bytes)).max(1);
        let config = tcp::Config { segment, ..self.config };
        let draw = flow.stream("window").draw();
        let window = self.controller.build(&config.start(flow.sender_link, draw));
        let gap = config.interrupt_gap;
        let mut sender = tcp::Sender::new(&config, window, flow.size);
        if let Some((rate, write)) = flow.application {
            sender = sender.offering(rate, write.unwrap_or(Bytes::new(segment.into())));
        }
        if let Some(lasts) = flow.lasts {
            sender = sender.lasting(lasts);
        }
        let sender = HostQueue::new(sender, gap);
        let receiver = tcp::Receiver::new(&config, flow.size);
        let (sender, receiver) = (InterruptCoalescing::new(sender, gap), InterruptCoalescing::new(receiver, gap));
        [Peer::sender(sender), Peer::receiver(receiver)]
    }
}

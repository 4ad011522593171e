//! The command-line arguments of `host` and `edge`.

use crate::args::{PrintOptions, setting};
use crate::watch::WatchOptions;
use clap::{Args, Subcommand};
#[cfg(target_os = "linux")]
use shallop_core::{BitsPerSec, BufferSize};
use shallop_workbench::controllers::{self, Ecn, Prefix, Program};
#[cfg(target_os = "linux")]
use shallop_workbench::edge::{ProxyRole, ShaperOptions};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct Host {
    #[command(subcommand)]
    pub action: HostAction,
}

#[derive(Debug, Subcommand)]
pub enum HostAction {
    /// Load a controller, which stays until it is unloaded or the machine restarts; no connection uses it by default
    Load(Load),
    /// List the loaded controllers
    List {
        #[command(flatten)]
        printed: PrintOptions,
    },
    /// Show the settings of a controller
    Show {
        /// The name of the controller, as list shows it
        name: String,
        #[command(flatten)]
        printed: PrintOptions,
    },
    /// Change settings of a controller, at once and for open connections too
    Set {
        /// The name of the controller, as list shows it
        name: String,
        /// The settings to change: mark=60pkt, delay=2ms
        #[arg(required = true, value_name = "KEY=VALUE", value_parser = setting)]
        set: Vec<(String, String)>,
        /// Only for destinations with this address prefix, such as 10.0.0.0/8 or 192.0.2.7/32; repeat it for several.
        /// `::/0` and other prefixes that cover `::ffff:0:0/96` include IPv4
        #[arg(long, value_name = "PREFIX")]
        to: Vec<Prefix>,
    },
    /// Show the connections of a controller in this network namespace, at intervals
    Watch {
        /// The name of the controller, as list shows it
        name: String,
        #[command(flatten)]
        options: WatchOptions,
    },
    /// Unload a controller; open connections keep it until they end
    Unload {
        /// The name of the controller, as list shows it
        name: String,
    },
}

/// The settings of a controller or proxy: keys of scenarios, or a scenario that has them.
#[derive(Debug, Args)]
pub struct SettingsOptions {
    /// Set another option by its key in scenarios, such as decrease=half of CLEAN; repeat it for several
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    pub set: Vec<(String, String)>,
    /// Take the settings from a scheme of this scenario
    #[arg(long, value_name = "SCENARIO", conflicts_with = "set")]
    pub config: Option<PathBuf>,
    /// The scheme of the scenario, if several fit
    #[arg(long, value_name = "NAME", requires = "config")]
    pub scheme: Option<String>,
}

#[derive(Debug, Args)]
pub struct Load {
    /// The controller: gemini, dctcp, ecn-star or vegas
    #[arg(value_parser = controllers::program)]
    pub program: Program,
    /// The name of the controller in the kernel; default: PROGRAM with _ for -
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Gemini: the rate of the network, such as 10Gbps; with --config for a scheme without `capacity`
    #[arg(long, value_name = "RATE")]
    pub capacity: Option<String>,
    /// Gemini: the queue length above which switches mark, such as 50pkt or 75KB
    #[arg(long, value_name = "SIZE", conflicts_with = "config")]
    pub mark: Option<String>,
    /// Gemini: the queueing delay that means congestion in the wide area, such as 5ms
    #[arg(long, value_name = "TIME", conflicts_with = "config")]
    pub delay: Option<String>,
    #[command(flatten)]
    pub settings: SettingsOptions,
    /// Gemini: the settings are for destinations with this prefix, such as 10.0.0.0/8; repeat it for several. Other
    /// destinations have the same capacity and otherwise the defaults. IPv4 addresses count as `::ffff:a.b.c.d`, so
    /// `::/0` and other prefixes that cover `::ffff:0:0/96` include IPv4
    #[arg(long, value_name = "PREFIX")]
    pub to: Vec<Prefix>,
    /// Negotiate ECN as `net.ipv4.tcp_ecn` says, also with remote ends that have another controller; by default a
    /// connection has ECN only if the remote end has the controller as well
    #[arg(long)]
    pub ecn_by_sysctl: bool,
    /// Load nothing; print a systemd unit that loads the controller when the machine starts
    #[arg(long)]
    pub print_unit: bool,
}

impl Load {
    pub const fn ecn(&self) -> Ecn {
        if self.ecn_by_sysctl { Ecn::BySysctl } else { Ecn::Required }
    }

    /// The settings of Gemini that the command line has as options, by the options' names.
    pub fn named(&self) -> Vec<(String, String)> {
        let named = [("capacity", &self.capacity), ("mark", &self.mark), ("delay", &self.delay)];
        let given = |(key, value): (&str, &Option<String>)| value.as_ref().map(|value| (key.to_owned(), value.clone()));
        named.into_iter().filter_map(given).collect()
    }

    pub fn options(&self) -> Vec<(String, String)> {
        self.named().into_iter().chain(self.settings.set.iter().cloned()).collect()
    }
}

#[cfg(target_os = "linux")]
#[derive(Debug, Args)]
pub struct Edge {
    #[command(subcommand)]
    pub programs: EdgePrograms,
}

#[cfg(target_os = "linux")]
#[derive(Debug, Subcommand)]
pub enum EdgePrograms {
    /// CLEAN: makes packets of senders without ECN markable, and answers marks by reducing the receive window
    #[command(subcommand)]
    Clean(CleanAction),
}

#[cfg(target_os = "linux")]
#[derive(Debug, Subcommand)]
pub enum CleanAction {
    /// Attach a proxy to a device, where it stays until it is detached or the machine restarts
    Attach(Attach),
    /// List the proxies of this network namespace
    List {
        #[command(flatten)]
        printed: PrintOptions,
    },
    /// Show the settings of a proxy and the counters of its programs
    Show {
        /// The network device, such as eth0
        iface: String,
        #[command(flatten)]
        printed: PrintOptions,
    },
    /// Change settings of a proxy, at once and for all flows
    Set {
        /// The network device, such as eth0
        iface: String,
        /// The settings to change: decrease=half, idle=5s
        #[arg(required = true, value_name = "KEY=VALUE", value_parser = setting)]
        set: Vec<(String, String)>,
    },
    /// Show the flows of a proxy, at intervals
    Watch {
        /// The network device, such as eth0
        iface: String,
        #[command(flatten)]
        options: WatchOptions,
    },
    /// Detach the proxy of a device and remove everything that was created for it
    Detach {
        /// The network device, such as eth0
        iface: String,
    },
}

#[cfg(target_os = "linux")]
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum RoleName {
    /// The device leads to the receivers: marks are counted and cleared, and windows reduced
    LastHop,
    /// Packets enter the network at the device and become ECN-capable
    Edge,
}

#[cfg(target_os = "linux")]
impl RoleName {
    pub const fn role(self) -> ProxyRole {
        match self {
            Self::LastHop => ProxyRole::LastHop,
            Self::Edge => ProxyRole::Edge,
        }
    }
}

#[cfg(target_os = "linux")]
#[derive(Debug, Args)]
pub struct Attach {
    /// The network device, such as eth0
    pub iface: String,
    /// The task of the device in the proxy
    #[arg(long, value_enum, default_value = "last-hop")]
    pub role: RoleName,
    #[command(flatten)]
    pub settings: SettingsOptions,
    /// If this machine is the bottleneck: add a shaper (tbf) with this rate, from 1Mbps to 100Gbps, whose queue the
    /// proxy marks
    #[arg(long, value_name = "RATE")]
    pub rate: Option<BitsPerSec>,
    /// The queue length of the shaper above which packets count as marked; default: 100pkt
    #[arg(long, value_name = "SIZE")]
    pub mark: Option<BufferSize>,
    /// The longest queue of the shaper; default: 1000pkt
    #[arg(long, value_name = "SIZE")]
    pub buffer: Option<BufferSize>,
    /// Attach nothing; print a systemd unit that attaches the proxy when the device appears
    #[arg(long)]
    pub print_unit: bool,
}

#[cfg(target_os = "linux")]
impl Attach {
    pub fn shaper(&self) -> Option<ShaperOptions> {
        let mark = self.mark.unwrap_or(BufferSize::Packets(100));
        let buffer = self.buffer.unwrap_or(BufferSize::Packets(1_000));
        self.rate.map(|rate| ShaperOptions { rate, mark, buffer })
    }

    /// The names of the given options that apply only to a device with the role last-hop.
    pub fn given(&self) -> Vec<&'static str> {
        let all = [
            ("--rate", self.rate.is_some()),
            ("--mark", self.mark.is_some()),
            ("--buffer", self.buffer.is_some()),
            ("--set", !self.settings.set.is_empty()),
            ("--config", self.settings.config.is_some()),
        ];
        all.into_iter().filter(|(_, is_given)| *is_given).map(|(option, _)| option).collect()
    }
}

//! The arguments of `host` and `edge`, as they are typed.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
#[cfg(target_os = "linux")]
use shallop_core::{BitsPerSec, BufferSize};
use shallop_workbench::controllers::{self, Prefix, Program};
#[cfg(target_os = "linux")]
use shallop_workbench::edge::{Role, WantedShaper};

use crate::args::{Printed, setting};

/// The arguments of `host`.
#[derive(Debug, Args)]
pub struct Host {
    /// What to do.
    #[command(subcommand)]
    pub action: HostAction,
}

/// What to do with controllers.
#[derive(Debug, Subcommand)]
pub enum HostAction {
    /// Load a controller, which stays until it is unloaded or the machine restarts; no connection uses it by itself
    Load(Load),
    /// List what is loaded
    List {
        /// How the table is printed.
        #[command(flatten)]
        printed: Printed,
    },
    /// Show what is set of a controller
    Show {
        /// Its name
        name: String,
        /// How the table is printed.
        #[command(flatten)]
        printed: Printed,
    },
    /// Change what is set of a controller, which holds at once for open connections as well
    Set {
        /// Its name
        name: String,
        /// What to change: mark=60pkt, delay=2ms
        #[arg(required = true, value_name = "KEY=VALUE", value_parser = setting)]
        set: Vec<(String, String)>,
        /// Only for destinations with this prefix of addresses, as 10.0.0.0/8 or 192.0.2.7/32; several times for
        /// several. `::/0` and others that cover `::ffff:0:0/96` are for IPv4, too
        #[arg(long, value_name = "PREFIX")]
        to: Vec<Prefix>,
    },
    /// Show the connections of a controller in this network namespace, again and again
    Watch {
        /// Its name
        name: String,
        /// Print a line of JSON for each connection
        #[arg(long)]
        json: bool,
        /// Print them once
        #[arg(long)]
        once: bool,
        /// The time between two pictures, in seconds
        #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = interval)]
        every: Duration,
    },
    /// Take a controller out; connections that have it keep it until they end
    Unload {
        /// Its name
        name: String,
    },
}

/// The arguments of `host load`.
#[derive(Debug, Args)]
pub struct Load {
    /// gemini, dctcp, ecn-star or vegas
    #[arg(value_parser = controllers::program)]
    pub program: Program,
    /// What the kernel is to call it; otherwise its own name, with _ for -
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Gemini: the rate of the network, as 10Gbps; with --config for a scheme without `capacity`
    #[arg(long, value_name = "RATE")]
    pub capacity: Option<String>,
    /// Gemini: the queue above which switches mark, as 50pkt or 75KB
    #[arg(long, value_name = "SIZE")]
    pub mark: Option<String>,
    /// Gemini: the queueing delay that is congestion of the wide area, as 5ms
    #[arg(long, value_name = "TIME")]
    pub delay: Option<String>,
    /// Another option of Gemini, as a scheme of a scenario has it
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    pub set: Vec<(String, String)>,
    /// Take the options from the scheme of this scenario
    #[arg(long, value_name = "SCENARIO", conflicts_with_all = ["mark", "delay", "set"])]
    pub config: Option<PathBuf>,
    /// The scheme, if several fit
    #[arg(long, value_name = "NAME", requires = "config")]
    pub scheme: Option<String>,
    /// Gemini: the options are for destinations with this prefix, as 10.0.0.0/8; several times for several. All others
    /// have the same capacity and otherwise the defaults. An IPv4 address counts as `::ffff:a.b.c.d`, so that `::/0`
    /// and others that cover `::ffff:0:0/96` are for IPv4, too
    #[arg(long, value_name = "PREFIX")]
    pub to: Vec<Prefix>,
    /// Load nothing; print a unit for systemd that loads the same when the machine starts
    #[arg(long)]
    pub print_unit: bool,
}

impl Load {
    /// Options of Gemini that have an argument of their own, with its name.
    pub fn named(&self) -> Vec<(String, String)> {
        let named = [("capacity", &self.capacity), ("mark", &self.mark), ("delay", &self.delay)];
        let given = |(key, value): (&str, &Option<String>)| {
            value.as_ref().map(|value| (key.to_owned(), value.clone()))
        };
        named.into_iter().filter_map(given).collect()
    }

    /// The options of the controller.
    pub fn options(&self) -> Vec<(String, String)> {
        self.named().into_iter().chain(self.set.iter().cloned()).collect()
    }
}

/// The time between two pictures, in seconds.
fn interval(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.05..=3_600.0).contains(seconds));
    let seconds = seconds.ok_or("expected seconds from 0.05 to 3600")?;
    Ok(Duration::from_secs_f64(seconds))
}

#[cfg(target_os = "linux")]
/// The arguments of `edge`.
#[derive(Debug, Args)]
pub struct Edge {
    /// Which programs.
    #[command(subcommand)]
    pub programs: EdgePrograms,
}

#[cfg(target_os = "linux")]
/// Which programs stand in the path.
#[derive(Debug, Subcommand)]
pub enum EdgePrograms {
    /// CLEAN: lets switches mark packets of senders without ECN, and answers the marks by the receive window
    #[command(subcommand)]
    Clean(CleanAction),
}

#[cfg(target_os = "linux")]
/// What to do with proxies.
#[derive(Debug, Subcommand)]
pub enum CleanAction {
    /// Attach a proxy to a device, where it stays until it is detached or the machine restarts
    Attach(Attach),
    /// List the proxies of this network namespace
    List {
        /// How the table is printed.
        #[command(flatten)]
        printed: Printed,
    },
    /// Show what is set of a proxy, and what its programs have counted
    Show {
        /// The device
        iface: String,
        /// How the tables are printed.
        #[command(flatten)]
        printed: Printed,
    },
    /// Change what is set of a proxy, which holds at once for all flows
    Set {
        /// The device
        iface: String,
        /// What to change: decrease=half, idle=5s
        #[arg(required = true, value_name = "KEY=VALUE", value_parser = setting)]
        set: Vec<(String, String)>,
    },
    /// Show the flows of a proxy, again and again
    Watch {
        /// The device
        iface: String,
        /// Print a line of JSON for each flow
        #[arg(long)]
        json: bool,
        /// Print them once
        #[arg(long)]
        once: bool,
        /// The time between two pictures, in seconds
        #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = interval)]
        every: Duration,
    },
    /// Take the proxy of a device away, with everything that was made for it
    Detach {
        /// The device
        iface: String,
    },
}

#[cfg(target_os = "linux")]
/// What a device is for the proxy.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum RoleName {
    /// It leads to the receivers: their marks are counted and cleared, and their windows reduced
    LastHop,
    /// Packets enter the network by it: they become ECN-capable
    Edge,
}

#[cfg(target_os = "linux")]
impl RoleName {
    /// The role of this name.
    pub const fn role(self) -> Role {
        match self {
            Self::LastHop => Role::LastHop,
            Self::Edge => Role::Edge,
        }
    }
}

#[cfg(target_os = "linux")]
/// The arguments of `edge clean attach`.
#[derive(Debug, Args)]
pub struct Attach {
    /// The device
    pub iface: String,
    /// What the device is for the proxy
    #[arg(long, value_enum, default_value = "last-hop")]
    pub role: RoleName,
    /// Another option of the proxy than the default, as `clean` of a scenario has it: decrease=half
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    pub set: Vec<(String, String)>,
    /// Take the options from the scheme of this scenario
    #[arg(long, value_name = "SCENARIO", conflicts_with = "set")]
    pub config: Option<PathBuf>,
    /// The scheme, if several have a proxy
    #[arg(long, value_name = "NAME", requires = "config")]
    pub scheme: Option<String>,
    /// Where this machine is the bottleneck: put a shaper (tbf) with this rate there, from 1Mbps to 100Gbps, whose
    /// queue the proxy marks
    #[arg(long, value_name = "RATE")]
    pub rate: Option<BitsPerSec>,
    /// The queue of the shaper above which packets count as marked; otherwise 100pkt
    #[arg(long, value_name = "SIZE")]
    pub mark: Option<BufferSize>,
    /// What may wait in the shaper; otherwise 1000pkt
    #[arg(long, value_name = "SIZE")]
    pub buffer: Option<BufferSize>,
    /// Attach nothing; print a unit for systemd that attaches the same when the device is there
    #[arg(long)]
    pub print_unit: bool,
}

#[cfg(target_os = "linux")]
impl Attach {
    /// The shaper that is wanted.
    pub fn shaper(&self) -> Option<WantedShaper> {
        let mark = self.mark.unwrap_or(BufferSize::Packets(100));
        let buffer = self.buffer.unwrap_or(BufferSize::Packets(1_000));
        self.rate.map(|rate| WantedShaper { rate, mark, buffer })
    }

    /// The options that were given of those that are for a last hop alone.
    pub fn given(&self) -> Vec<&'static str> {
        let all = [
            ("--rate", self.rate.is_some()),
            ("--mark", self.mark.is_some()),
            ("--buffer", self.buffer.is_some()),
            ("--set", !self.set.is_empty()),
            ("--config", self.config.is_some()),
        ];
        all.into_iter().filter(|(_, is_given)| *is_given).map(|(option, _)| option).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_in_seconds() {
        assert_eq!(interval("0.25"), Ok(Duration::from_millis(250)));
        for wrong in ["", "0", "-1", "nan", "1e9", "1s"] {
            assert!(interval(wrong).is_err(), "{wrong}");
        }
    }
}

//! The arguments of `edge`, as they are typed.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use shallop_core::{BitsPerSec, BufferSize};
use shallop_workbench::edge::{Role, WantedShaper};

use crate::args::{Printed, setting};
use crate::controller_args::interval;

/// The arguments of `edge`.
#[derive(Debug, Args)]
pub struct Edge {
    /// Which programs.
    #[command(subcommand)]
    pub programs: EdgePrograms,
}

/// Which programs stand in the path.
#[derive(Debug, Subcommand)]
pub enum EdgePrograms {
    /// CLEAN: lets switches mark packets of senders without ECN, and answers the marks by the receive window
    #[command(subcommand)]
    Clean(CleanAction),
}

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

/// What a device is for the proxy.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum RoleName {
    /// It leads to the receivers: their marks are counted and cleared, and their windows reduced
    LastHop,
    /// Packets enter the network by it: they become ECN-capable
    Edge,
}

impl RoleName {
    /// The role of this name.
    pub const fn role(self) -> Role {
        match self {
            Self::LastHop => Role::LastHop,
            Self::Edge => Role::Edge,
        }
    }
}

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
    /// Where this machine is the bottleneck: put a shaper (tbf) with this rate at the device, whose queue the proxy marks
    #[arg(long, value_name = "RATE")]
    pub rate: Option<BitsPerSec>,
    /// The queue of the shaper above which packets count as marked
    #[arg(long, value_name = "SIZE", requires = "rate", default_value = "100pkt")]
    pub mark: BufferSize,
    /// What may wait in the shaper
    #[arg(long, value_name = "SIZE", requires = "rate", default_value = "1000pkt")]
    pub buffer: BufferSize,
    /// Attach nothing; print a unit for systemd that attaches the same when the device is there
    #[arg(long)]
    pub print_unit: bool,
}

impl Attach {
    /// The shaper that is wanted.
    pub fn shaper(&self) -> Option<WantedShaper> {
        let (mark, buffer) = (self.mark, self.buffer);
        self.rate.map(|rate| WantedShaper { rate, mark, buffer })
    }
}

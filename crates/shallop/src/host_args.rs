//! The arguments of commands about real hosts, as they are typed.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use shallop_core::Share;
use shallop_plan::plan::Attachment;
use shallop_workbench::arguments;
use shallop_workbench::capacity::Scale;
use shallop_workbench::rehearsal::Wanted;

use crate::args::{Printed, Run, setting};

/// The arguments of `rehearse`.
#[derive(Debug, Args)]
pub struct Rehearse {
    /// What run has as well. Rehearsals are made one after the other.
    #[command(flatten)]
    pub run: Run,
    /// Only these schemes: several with commas, or the option several times
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub schemes: Vec<String>,
    /// Rehearse every scheme N times, with the scenario's seed and those after it
    #[arg(long, value_name = "N", value_parser = arguments::seeds, allow_hyphen_values = true)]
    pub seeds: Option<u32>,
    /// Show what queues hold, drops, marks and rates of flows on the screen while it runs
    #[arg(long)]
    pub live: bool,
    /// Rehearse with this part of all rates and buffers, as 1/20, or with the largest that this machine carries: auto
    #[arg(long, value_name = "PART", value_parser = arguments::scale)]
    pub scale: Option<Scale>,
    /// Keep when each packet came and was delivered in this file, of a single run, for `shallop tape`
    #[arg(long, value_name = "FILE")]
    pub tape: Option<PathBuf>,
}

impl Rehearse {
    /// What is wanted besides the scenario.
    pub fn wanted(&self) -> Wanted<'_> {
        Wanted { schemes: &self.schemes, tape: self.tape.as_deref(), scale: self.scale }
    }
}

/// The arguments of `tape`.
#[derive(Debug, Args)]
pub struct Tape {
    /// What to do.
    #[command(subcommand)]
    pub action: TapeAction,
}

/// What to do with a tape.
#[derive(Debug, Subcommand)]
pub enum TapeAction {
    /// Give it to the network of the scenario in virtual time, which must decide the same
    Replay {
        /// The file that was given to --tape
        tape: PathBuf,
        /// The scenario that was rehearsed, with the same keys set
        scenario: PathBuf,
        /// Set a key of the scenario, as for the rehearsal
        #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
        set: Vec<(String, String)>,
        /// The part of all rates and buffers, if the rehearsal was scaled
        #[arg(long, value_name = "PART", value_parser = arguments::part)]
        scale: Option<Share>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print a line for each packet: time, host, direction, addresses, sequence numbers and marks
    Show {
        /// The file that was given to --tape
        tape: PathBuf,
    },
}

/// The arguments of `doctor`.
#[derive(Debug, Args)]
pub struct Doctor {
    /// Rehearse at rising rates, for half a minute, to find what this machine carries
    #[arg(long)]
    pub bench: bool,
    /// How the table is printed.
    #[command(flatten)]
    pub printed: Printed,
}

/// The arguments of `kernel`.
#[derive(Debug, Args)]
pub struct Kernel {
    /// What to do.
    #[command(subcommand)]
    pub action: KernelAction,
}

/// What to do with kernels.
#[derive(Debug, Subcommand)]
pub enum KernelAction {
    /// Build one from Debian's linux-source, in a few minutes
    Build {
        /// The release, as in 6.12; otherwise the newest whose source is there
        release: Option<String>,
        /// Compile on this many cores
        #[arg(long, value_name = "N")]
        jobs: Option<NonZeroUsize>,
    },
    /// Build your own congestion controller as a module, for `module = "NAME"` in the section `kernel`
    Module {
        /// Its source, NAME.c, beside the headers that it includes
        source: PathBuf,
        /// The release of the kernel; otherwise the newest that is installed
        #[arg(long)]
        release: Option<String>,
        /// Compile on this many cores
        #[arg(long, value_name = "N")]
        jobs: Option<NonZeroUsize>,
    },
    /// List those of this machine
    List {
        /// How the table is printed.
        #[command(flatten)]
        printed: Printed,
    },
    /// Test a kernel: run two flows twice, with equal results
    Test {
        /// The release; otherwise the newest
        release: Option<String>,
    },
}

/// The arguments of `shell`.
#[derive(Debug, Args)]
pub struct Shell {
    /// The scenario, a TOML file
    #[arg(required_unless_present = "join")]
    pub scenario: Option<PathBuf>,
    /// A further shell in a session that another terminal has opened: in that of this process, or in the only one
    #[arg(
        long,
        value_name = "PROCESS",
        num_args = 0..=1,
        default_missing_value = "0",
        conflicts_with_all = ["scenario", "set", "scale", "virtual_time"]
    )]
    pub join: Option<u32>,
    /// In virtual time: it stands still while you type, and a line takes as long as its programs wait
    #[arg(long = "virtual")]
    pub virtual_time: bool,
    /// The host; otherwise the first that sends
    #[arg(long, value_name = "NAME")]
    pub host: Option<String>,
    /// Set a key of the scenario: duration=2s, topology.rate=40Gbps
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    pub set: Vec<(String, String)>,
    /// Take this part of all rates and buffers, as 1/20, or the largest that this machine carries: auto
    #[arg(long, value_name = "PART", value_parser = arguments::scale, conflicts_with = "virtual_time")]
    pub scale: Option<Scale>,
    /// Put what is behind this interface of the machine into the place of a host, which needs root; several times for
    /// several. The interface takes all frames meanwhile, and is otherwise left as it is
    #[arg(
        long,
        value_name = "IFACE=HOST",
        value_parser = arguments::attachment,
        conflicts_with_all = ["virtual_time", "join"]
    )]
    pub attach: Vec<Attachment>,
    /// A program with its arguments to run in the host in place of a prompt, in real time
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "virtual_time")]
    pub command: Vec<String>,
}

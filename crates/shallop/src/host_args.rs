//! The command-line arguments of commands with real hosts.

use crate::args::{PrintOptions, ProgramsOption, Run, setting};
use clap::{Args, Subcommand};
use shallop_core::Share;
use shallop_plan::plan::Attachment;
use shallop_workbench::{arguments, capacity::Scale, rehearsal::RehearsalOptions};
use std::{num::NonZeroUsize, path::PathBuf};

#[derive(Debug, Args)]
pub struct Rehearse {
    /// The arguments of `run`, which rehearsals share. Rehearsals run one at a time.
    #[command(flatten)]
    pub run: Run,
    /// Show queue lengths, drops, marks and rates of flows on the screen during the run
    #[arg(long)]
    pub live: bool,
    /// Scale all rates and buffers by this fraction, such as 1/20. auto: by the largest that this machine carries, and
    /// stretch time where only that makes a run count
    #[arg(long, value_name = "PART", value_parser = arguments::scale)]
    pub scale: Option<Scale>,
    /// Let the network's clock go this many times slower than this machine's, 1 to 64: hosts see longer round trips and
    /// lower rates, with the same products
    #[arg(long, value_name = "FACTOR", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub stretch: Option<u32>,
    /// Record the arrival and delivery time of each packet of the only run in this file, for `shallop tape`
    #[arg(long, value_name = "FILE")]
    pub tape: Option<PathBuf>,
}

impl Rehearse {
    pub fn rehearsal_options(&self) -> RehearsalOptions<'_> {
        RehearsalOptions {
            schemes: &self.run.schemes,
            tape: self.tape.as_deref(),
            scale: self.scale,
            stretch: self.stretch,
        }
    }
}

#[derive(Debug, Args)]
pub struct Tape {
    #[command(subcommand)]
    pub action: TapeAction,
}

#[derive(Debug, Subcommand)]
pub enum TapeAction {
    /// Replay the tape through the network of the scenario in virtual time; every packet must have the same fate
    Replay {
        /// The file that was given to --tape
        tape: PathBuf,
        /// The scenario that was rehearsed, with the same keys set
        scenario: PathBuf,
        /// Set a key of the scenario, as for the rehearsal
        #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
        set: Vec<(String, String)>,
        /// The fraction of all rates and buffers, if the rehearsal was scaled
        #[arg(long, value_name = "PART", value_parser = arguments::part)]
        scale: Option<Share>,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Print a line for each packet: time, host, direction, addresses, sequence numbers and marks
    Show {
        /// The file that was given to --tape
        tape: PathBuf,
    },
}

#[derive(Debug, Args)]
pub struct Doctor {
    /// Rehearse at rising rates for half a minute, to find the rate that this machine carries
    #[arg(long)]
    pub bench: bool,
    #[command(flatten)]
    pub printed: PrintOptions,
}

#[derive(Debug, Args)]
pub struct Kernel {
    #[command(subcommand)]
    pub action: KernelAction,
}

#[derive(Debug, Subcommand)]
pub enum KernelAction {
    /// Build a kernel from Debian's linux-source, in a few minutes
    Build {
        /// The release of Linux, such as 6.12; default: the newest with a source package
        release: Option<String>,
        /// Compile on this many cores
        #[arg(long, value_name = "N")]
        jobs: Option<NonZeroUsize>,
    },
    /// Build your own congestion controller as a module, for `module = "NAME"` in the section `kernel`
    Module {
        /// The source file NAME.c, beside the headers that it includes
        source: PathBuf,
        /// The release of the kernel to build for; default: the newest that is installed
        #[arg(long)]
        release: Option<String>,
        /// Compile on this many cores
        #[arg(long, value_name = "N")]
        jobs: Option<NonZeroUsize>,
    },
    /// List the kernels of this machine
    List {
        #[command(flatten)]
        printed: PrintOptions,
    },
    /// Test a kernel: run two flows twice and compare the results
    Test {
        /// The release of the kernel to test; default: the newest
        release: Option<String>,
    },
}

#[derive(Debug, Args)]
pub struct Shell {
    /// The scenario, a TOML file
    #[arg(required_unless_present = "join")]
    pub scenario: Option<PathBuf>,
    /// Open a further shell in a session of another terminal: of the process with this number, or of the only session
    #[arg(
        long,
        value_name = "PROCESS",
        num_args = 0..=1,
        default_missing_value = "0",
        conflicts_with_all = ["scenario", "set", "scale", "virtual_time"]
    )]
    pub join: Option<u32>,
    /// Run in virtual time: it stops while you type, and advances while programs wait
    #[arg(long = "virtual")]
    pub virtual_time: bool,
    /// The host in which the shell or program runs; default: the first sender
    #[arg(long, value_name = "NAME")]
    pub host: Option<String>,
    /// Set a key of the scenario: duration=2s, topology.rate=40Gbps
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    pub set: Vec<(String, String)>,
    #[command(flatten)]
    pub programs: ProgramsOption,
    /// Scale all rates and buffers by this fraction, such as 1/20, or by the largest that this machine carries: auto
    #[arg(long, value_name = "PART", value_parser = arguments::scale, conflicts_with = "virtual_time")]
    pub scale: Option<Scale>,
    /// Attach an interface of this machine in the place of a host, which needs root; repeat it for several. The session
    /// takes all frames of the interface and leaves its settings unchanged
    #[arg(
        long,
        value_name = "IFACE=HOST",
        value_parser = arguments::attachment,
        conflicts_with_all = ["virtual_time", "join"]
    )]
    pub attach: Vec<Attachment>,
    /// A program with its arguments, to run in the host in real time instead of a shell
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "virtual_time")]
    pub command: Vec<String>,
}

//! Measures the cost of QUIC on credits: processor time compared with quinn, and lateness and skipped credits by rate.

mod measure;
mod network;
mod of_quinn;
mod ours;
mod report;
mod usage;
mod worker;

use crate::worker::{Error, Sender, Worker};
use clap::{Args, Parser, Subcommand};

/// Cost of `FlashPass` over QUIC
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Processor time for each Gb of payload, compared with quinn
    Cost(Cost),
    /// Lateness and skipped credits at rising rates of the link
    Sweep(Sweep),
    /// A process of a measurement
    #[command(hide = true)]
    Receive(Worker),
    /// A process of a measurement
    #[command(hide = true)]
    Send(Sender),
}

/// Options of all measurements.
#[derive(Args, Clone, Debug)]
struct Common {
    /// Duration of each transfer, s
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
    /// `T_wait`, us
    #[arg(long, default_value_t = 10_000)]
    wait: u64,
    /// Credits in a packet, 1 to 6; 0: those that are due together
    #[arg(long, default_value_t = 0)]
    batch: u8,
    /// Idle connections of shallop-quic between both processes, besides the transfer
    #[arg(long, default_value_t = 0)]
    idle: u16,
    /// Level of FIFO priority of both processes
    #[arg(long, value_name = "LEVEL")]
    fifo: Option<u8>,
}

#[derive(Args)]
struct Cost {
    #[command(flatten)]
    common: Common,
    /// Rate of the link, Mb/s; emulation packets take their share of it
    #[arg(long, default_value_t = 1_000)]
    link: u64,
    /// Transfers of each kind; the kinds take turns
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Slack: the longest delay of a data packet, us
    #[arg(long, default_value_t = 1_000)]
    slack: u64,
}

#[derive(Args)]
struct Sweep {
    #[command(flatten)]
    common: Common,
    /// Rates of the link, Mb/s
    #[arg(long, value_delimiter = ',', default_value = "100,200,500,1000,2000,3000,5000")]
    links: Vec<u64>,
    /// Slacks: longest delays of a data packet, us
    #[arg(long, value_delimiter = ',', default_value = "1000,100")]
    slacks: Vec<u64>,
}

fn main() -> Result<(), Error> {
    match Arguments::parse().command {
        Command::Cost(cost) => measure::cost(&cost),
        Command::Sweep(sweep) => measure::sweep(&sweep),
        Command::Receive(worker) => worker::receive(&worker),
        Command::Send(sender) => worker::send(&sender),
    }
}

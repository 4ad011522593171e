//! The processes of a measurement: one sends on a stream for some seconds, the other one reads the stream to its end.

use crate::usage::Usage;
use crate::{of_quinn, ours};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, Read};
use std::time::Duration;

/// The bytes of one write.
pub const BLOCK: usize = 1 << 16;

/// An error of any kind.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// The implementation of sender and receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Stack {
    /// `shallop-quic`, with data on credits.
    Credits,
    /// `shallop-quic` without credits: CUBIC.
    Without,
    /// quinn with its default settings, which include segmentation offload.
    Quinn,
}

impl Stack {
    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> String {
        self.to_possible_value().map(|of| of.get_name().to_owned()).unwrap_or_default()
    }
}

/// Options of both processes.
#[derive(Clone, Debug, Args)]
pub struct Worker {
    /// The implementation.
    #[arg(long)]
    pub stack: Stack,
    /// The rate of the link, Mb/s.
    #[arg(long)]
    pub link: u64,
    /// The slack: the longest delay of a data packet, us.
    #[arg(long)]
    pub slack: u64,
    /// The waiting time, us.
    #[arg(long)]
    pub wait: u64,
    /// Credits in a packet.
    #[arg(long)]
    pub batch: u8,
    /// Idle connections between both processes; none with quinn.
    #[arg(long)]
    pub idle: u16,
    /// The address of this process.
    #[arg(long)]
    pub address: std::net::IpAddr,
}

/// Options of the sender.
#[derive(Clone, Debug, Args)]
pub struct Sender {
    /// Options of both processes.
    #[command(flatten)]
    pub worker: Worker,
    /// The duration, s.
    #[arg(long)]
    pub seconds: f64,
    /// The address of the receiver.
    #[arg(long)]
    pub to: std::net::SocketAddr,
    /// The receiver's code; empty for quinn.
    #[arg(long)]
    pub code: String,
}

impl Sender {
    /// The duration.
    #[must_use]
    pub fn duration(&self) -> Duration {
        Duration::from_secs_f64(self.seconds)
    }
}

/// The message of a receiver that is ready.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ready {
    /// Its port.
    pub port: u16,
    /// Its code; empty for quinn.
    pub code: String,
}

/// The message of a process at its end.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Done {
    /// Bytes of the stream.
    pub bytes: u64,
    /// Processor time between the first and the last byte.
    pub usage: Usage,
    /// The sender's counts of credits.
    pub credits: Option<Credits>,
}

/// Counts of a sender on credits.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Credits {
    /// Credits on which a packet left.
    pub used: u64,
    /// Credits that were skipped because the sender was late.
    pub skipped: u64,
    /// Credits that came too late, or found nothing to send.
    pub wasted: u64,
    /// Emulation packets without a credit, and lost QUIC packets, both in % of those sent.
    pub lost: [f64; 2],
    /// Lateness of data packets, us: median, 99th percentile and maximum.
    pub lateness: [f64; 3],
}

/// Receives a stream, and returns the report.
///
/// # Errors
/// If the network fails.
pub fn receive(worker: &Worker) -> Result<(), Error> {
    end_with_parent();
    let done = match worker.stack {
        Stack::Credits | Stack::Without => ours::receive(worker, say)?,
        Stack::Quinn => of_quinn::receive(worker, say)?,
    };
    say(&done)
}

/// Sends for the given time, and returns the report.
///
/// # Errors
/// If the network fails.
pub fn send(sender: &Sender) -> Result<(), Error> {
    end_with_parent();
    let done = match sender.worker.stack {
        Stack::Credits | Stack::Without => ours::send(sender)?,
        Stack::Quinn => of_quinn::send(sender)?,
    };
    say(&done)
}

fn say(what: &impl Serialize) -> Result<(), Error> {
    println!("{}", serde_json::to_string(what)?);
    Ok(())
}

/// Reads the next message of a process.
///
/// # Errors
/// If the stream ends before a message, or the message cannot be parsed.
pub fn hear<T: for<'a> Deserialize<'a>>(from: &mut impl BufRead) -> Result<T, Error> {
    let mut line = String::new();
    if from.read_line(&mut line)? == 0 {
        return Err("a process of the measurement has ended early".into());
    }
    Ok(serde_json::from_str(&line)?)
}

/// Ends this process when the parent process ends, which closes standard input.
fn end_with_parent() {
    std::thread::spawn(|| {
        let _ = io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(1);
    });
}

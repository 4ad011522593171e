//! The processes of a measurement: one sends on a stream for some seconds, the other reads to its end.

use std::io::{self, BufRead, Read};
use std::time::Duration;

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use crate::usage::Usage;
use crate::{of_quinn, ours};

/// Bytes that are written at once.
pub const BLOCK: usize = 1 << 16;

/// An error of any kind.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// What sends and receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Stack {
    /// `shallop-quic`, with data on credits.
    Credits,
    /// `shallop-quic` without credits: CUBIC.
    Without,
    /// quinn with its own settings, segmentation offload among them.
    Quinn,
}

impl Stack {
    /// As it is typed.
    #[must_use]
    pub fn name(self) -> String {
        self.to_possible_value().map(|of| of.get_name().to_owned()).unwrap_or_default()
    }
}

/// What both processes are told.
#[derive(Clone, Debug, Args)]
pub struct Worker {
    /// What sends and receives.
    #[arg(long)]
    pub stack: Stack,
    /// The rate of the link, Mb/s.
    #[arg(long)]
    pub link: u64,
    /// The slack, us.
    #[arg(long)]
    pub slack: u64,
    /// The waiting time, us.
    #[arg(long)]
    pub wait: u64,
    /// Credits in a packet.
    #[arg(long)]
    pub batch: u8,
    /// Data packets of one departure.
    #[arg(long)]
    pub segments: u8,
    /// Other connections between both, at rest; quinn has none.
    #[arg(long)]
    pub idle: u16,
    /// The own address.
    #[arg(long)]
    pub address: std::net::IpAddr,
}

/// How long is sent, and to whom.
#[derive(Clone, Debug, Args)]
pub struct Sender {
    /// What both processes are told.
    #[command(flatten)]
    pub worker: Worker,
    /// How long, s.
    #[arg(long)]
    pub seconds: f64,
    /// Where the receiver is.
    #[arg(long)]
    pub to: std::net::SocketAddr,
    /// Its fingerprint or certificate.
    #[arg(long)]
    pub identity: String,
}

impl Sender {
    /// How long.
    #[must_use]
    pub fn duration(&self) -> Duration {
        Duration::from_secs_f64(self.seconds)
    }
}

/// What a receiver says when it is ready.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ready {
    /// Its port.
    pub port: u16,
    /// Its fingerprint or certificate.
    pub identity: String,
}

/// What a process says at the end.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Done {
    /// Bytes of the stream.
    pub bytes: u64,
    /// Processor time between the first and the last of them.
    pub usage: Usage,
    /// What the sender has counted of credits.
    pub credits: Option<Credits>,
}

/// Counts of a sender on credits.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Credits {
    /// Credits that a packet left on.
    pub used: u64,
    /// Those that were skipped because the sender was late.
    pub skipped: u64,
    /// Those that came too late, or when nothing was to be sent.
    pub wasted: u64,
    /// The parts of emulation packets without a credit, and of QUIC packets that were lost, %.
    pub lost: [f64; 2],
    /// Lateness: half, 99 % and all of the departures were earlier, us.
    pub lateness: [f64; 3],
}

/// Receives, and says what it took.
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

/// Sends, and says what it took.
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

/// Reads what a process says next.
///
/// # Errors
/// If it says nothing, or something else.
pub fn hear<T: for<'a> Deserialize<'a>>(from: &mut impl BufRead) -> Result<T, Error> {
    let mut line = String::new();
    if from.read_line(&mut line)? == 0 {
        return Err("a process of the measurement has ended early".into());
    }
    Ok(serde_json::from_str(&line)?)
}

/// The parent holds the other end of standard input open for as long as it lives.
fn end_with_parent() {
    std::thread::spawn(|| {
        let _ = io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(1);
    });
}

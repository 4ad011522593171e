//! The arguments of `send` and `receive`, as they are typed.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use shallop_core::{BitsPerSec, Bytes, Span};
use shallop_quic::Fallback;
use shallop_quic::identity::Fingerprint;
use shallop_transfer::host_address::HostAddress;
use shallop_transfer::protocol::MAX_STREAMS;

/// An address and port to listen at.
fn address(text: &str) -> Result<SocketAddr, String> {
    let example =
        "an address of this host and a port, as 192.0.2.1:4747, 0.0.0.0:4747 or [::]:4747";
    text.parse().map_err(|_| example.to_owned())
}

/// A number of files that are sent at a time.
fn streams(text: &str) -> Result<u8, String> {
    let count = text.parse().ok().filter(|count| (1..=MAX_STREAMS).contains(&usize::from(*count)));
    count.ok_or_else(|| format!("a number from 1 to {MAX_STREAMS}"))
}

/// What is said of the network.
#[derive(Clone, Copy, Debug, Args)]
pub struct Network {
    /// The rate of this host's link, or the part of it that may be used: emulation packets leave at up to their share
    /// of it
    #[arg(long, value_name = "RATE", default_value = "1Gbps")]
    pub rate_limit: BitsPerSec,
    /// The time from an emulation packet to its data packet: longer than the longest round trip of the network; the
    /// longer one of both ends counts
    #[arg(long, value_name = "TIME", default_value = "100ms")]
    pub wait: Span,
    /// Send up to this much of a connection's first data before the first credit, at --rate-limit (Aeolus): for paths
    /// whose switches drop such data first
    #[arg(long, value_name = "BYTES")]
    pub unscheduled: Option<Bytes>,
}

/// Congestion controllers without credits.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum FallbackName {
    /// CUBIC
    Cubic,
    /// BBR, version 1
    Bbr,
}

impl From<FallbackName> for Fallback {
    fn from(name: FallbackName) -> Self {
        match name {
            FallbackName::Cubic => Self::Cubic,
            FallbackName::Bbr => Self::Bbr,
        }
    }
}

/// How data leaves, and what is printed: what both commands have.
#[derive(Debug, Args)]
pub struct Leaving {
    /// The network.
    #[command(flatten)]
    pub network: Network,
    /// Send without credits: QUIC with the controller of --fallback
    #[arg(long)]
    pub without_credits: bool,
    /// The congestion controller without credits, and where the path is not fit for them
    #[arg(long, value_name = "NAME", default_value = "cubic")]
    pub fallback: FallbackName,
    /// Data packets that leave as one (segmentation offload), 1 or 2: with 2, one waits for the next if that is planned
    /// within half a millisecond, and both leave as a burst, which takes less processor time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=2))]
    pub segments: u8,
    /// What is printed.
    #[command(flatten)]
    pub printing: Printing,
}

/// What is printed of a transfer.
#[derive(Clone, Copy, Debug, Args)]
pub struct Printing {
    /// Print all counts as JSON
    #[arg(long)]
    pub json: bool,
    /// Print a table of what was counted to standard error: credits, emulation packets, queueing, lateness
    #[arg(long)]
    pub stats: bool,
    /// Print nothing but errors, and no bar
    #[arg(long, short, conflicts_with = "json")]
    pub quiet: bool,
}

/// A certificate and its key.
#[derive(Debug, Args)]
pub struct Certificate {
    /// This host's certificate, in PEM, with those that lead to its authority behind it
    #[arg(long, value_name = "FILE", requires = "key")]
    pub cert: Option<PathBuf>,
    /// The key of the certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub key: Option<PathBuf>,
}

/// Which receiver is trusted, and what it is shown.
#[derive(Debug, Args)]
pub struct Receiver {
    /// The receiver's fingerprint, which 'shallop receive' prints; default: the one in the file of known hosts
    #[arg(long, value_name = "FINGERPRINT")]
    pub fingerprint: Option<Fingerprint>,
    /// Trust an unknown receiver without a question, and keep its fingerprint
    #[arg(long)]
    pub trust_new: bool,
    /// The file of known hosts; default: `known_hosts` in the folder `shallop` of your data folder
    #[arg(long, value_name = "FILE")]
    pub known_hosts: Option<PathBuf>,
    /// Trust a receiver whose certificate is for the name HOST and is signed by an authority in this file, in PEM;
    /// fingerprints do not matter then
    #[arg(long, value_name = "FILE", conflicts_with_all = ["fingerprint", "trust_new", "known_hosts"])]
    pub ca: Option<PathBuf>,
    /// What this host shows to receivers with --client-ca.
    #[command(flatten)]
    pub own: Certificate,
}

/// The arguments of `send`.
#[derive(Debug, Args)]
#[command(allow_missing_positional = true)]
pub struct Send {
    /// Files and folders
    #[arg(required_unless_present = "time", conflicts_with = "time", value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// The receiver: a name or an address, with the port if it is not 4747
    #[arg(value_name = "HOST[:PORT]")]
    pub host: HostAddress,
    /// In place of files, send zeros for this time, which the receiver counts and discards, to measure the rate
    #[arg(long = "for", value_name = "TIME")]
    pub time: Option<Span>,
    /// Files that are sent at a time
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = streams)]
    pub streams: u8,
    /// Try credits again after each such time on a path that was not fit for them; without it, never
    #[arg(long, value_name = "TIME", conflicts_with = "without_credits")]
    pub retry_credits: Option<Span>,
    /// Which receiver is trusted.
    #[command(flatten)]
    pub receiver: Receiver,
    /// How data leaves.
    #[command(flatten)]
    pub leaving: Leaving,
}

/// The arguments of `receive`.
#[derive(Debug, Args)]
pub struct Receive {
    /// The folder for the files; it must exist
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// The address and port to listen at, as 192.0.2.1:4747; port 4747 of all addresses, IPv4 and IPv6, unless given
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address)]
    pub bind: Option<SocketAddr>,
    /// End after the first sender whose files arrived
    #[arg(long)]
    pub once: bool,
    /// Replace existing files with other contents
    #[arg(long)]
    pub overwrite: bool,
    /// Take files and folders whose path has a name that begins with a dot. Other programs read such files without
    /// being asked, so a sender may make this host run programs
    #[arg(long)]
    pub hidden: bool,
    /// The folder with this host's identity, created if it is missing; default: `shallop` in your data folder
    #[arg(long, value_name = "DIR", conflicts_with = "cert")]
    pub identity: Option<PathBuf>,
    /// In place of an identity of its own.
    #[command(flatten)]
    pub own: Certificate,
    /// Accept only senders whose certificate is signed by an authority in this file, in PEM. Without it, anybody who
    /// reaches the port may send
    #[arg(long, value_name = "FILE")]
    pub client_ca: Option<PathBuf>,
    /// How data leaves.
    #[command(flatten)]
    pub leaving: Leaving,
}

/// The arguments of `ping`.
#[derive(Debug, Args)]
pub struct Ping {
    /// Who answers, with 'shallop receive' or 'shallop ping --listen': a name or an address, with the port if it is not
    /// 4747
    #[arg(
        value_name = "HOST[:PORT]",
        required_unless_present = "listen",
        conflicts_with = "listen"
    )]
    pub host: Option<HostAddress>,
    /// Ask for credits at a tenth of --rate-limit, at all of it and, if nothing is lost, at twice as much, and say
    /// whether emulation packets are what the path drops. Takes bandwidth for three seconds
    #[arg(long, conflicts_with = "listen")]
    pub flashpass: bool,
    /// Answer pings, and take no files
    #[arg(long)]
    pub listen: bool,
    /// The address and port to listen at, as 192.0.2.1:4747; port 4747 of all addresses, IPv4 and IPv6, unless given
    #[arg(long, value_name = "ADDRESS:PORT", requires = "listen", value_parser = address)]
    pub bind: Option<SocketAddr>,
    /// The number of round trips
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    pub count: u16,
    /// The time between two round trips
    #[arg(long, value_name = "TIME", default_value = "200ms")]
    pub interval: Span,
    /// The fingerprint that the host must have; without it, any host is pinged
    #[arg(long, value_name = "FINGERPRINT")]
    pub fingerprint: Option<Fingerprint>,
    /// The network.
    #[command(flatten)]
    pub network: Network,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

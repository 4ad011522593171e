//! The command-line arguments of `send`, `receive` and `ping`.

use clap::{Args, ValueEnum};
use shallop_core::{BitsPerSec, Bytes, Span};
use shallop_quic::{Fallback, code::Code};
use shallop_transfer::{host_address::HostAddress, protocol::MAX_STREAMS};
use std::{net::SocketAddr, path::PathBuf};

/// The default of `--wait`.
pub const DEFAULT_WAIT: Span = Span::from_ms(100);

/// Parses the address and port to listen at.
fn address(text: &str) -> Result<SocketAddr, String> {
    let example = "an address of this host and a port, as 192.0.2.1:4747, 0.0.0.0:4747 or [::]:4747";
    text.parse().map_err(|_| example.to_owned())
}

/// Parses a time that is longer than zero.
fn some_time(text: &str) -> Result<Span, String> {
    let time = text.parse::<Span>().map_err(|why| why.to_string())?;
    if time == Span::ZERO { Err("a time above zero".to_owned()) } else { Ok(time) }
}

/// Parses the number of files to send at a time.
fn streams(text: &str) -> Result<u8, String> {
    let count = text.parse().ok().filter(|count| (1..=MAX_STREAMS).contains(&usize::from(*count)));
    count.ok_or_else(|| format!("a number from 1 to {MAX_STREAMS}"))
}

/// The network between the hosts of a transfer, as the user describes it.
#[derive(Clone, Copy, Debug, Args)]
pub struct NetworkOptions {
    /// The rate of this host's link, or the part of it to use: emulation packets use at most their share of it
    #[arg(long, value_name = "RATE", default_value = "1Gbps")]
    pub rate_limit: BitsPerSec,
    /// The time from an emulation packet to its data packet. It must exceed the longest round trip of the network; the
    /// longer time of both ends counts
    #[arg(long, value_name = "TIME", default_value_t = DEFAULT_WAIT)]
    pub wait: Span,
    /// Send up to this many bytes of a connection before the first credit, at --rate-limit (Aeolus), and again after
    /// each pause of --wait; default: ten packets with `send` and `receive`, none with `ping`. Use more only if
    /// switches drop such data first
    #[arg(long, value_name = "BYTES")]
    pub unscheduled: Option<Bytes>,
    /// The most emulation packets of the other end that one credit packet answers, 1 to 6, for which it waits up to
    /// 1/100 of --wait; default: those that have arrived together, without waiting
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=6))]
    pub batch: Option<u8>,
}

/// Congestion controllers for sending without credits.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum FallbackName {
    /// CUBIC (RFC 9438)
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

/// Feedback laws of `FlashPass`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LawName {
    /// The law made for shallop
    Aimd,
    /// The paper to the letter: Algorithm 1 and Eq. 2
    Paper,
}

/// How data is sent: options that `send` and `receive` share.
#[derive(Debug, Args)]
pub struct SendingOptions {
    #[command(flatten)]
    pub network: NetworkOptions,
    /// Send without credits: QUIC with the controller of --fallback
    #[arg(long)]
    pub without_credits: bool,
    /// The congestion controller for sending without credits, and for paths that do not support them
    #[arg(long, value_name = "NAME", default_value = "cubic")]
    pub fallback: FallbackName,
    /// The law by which the loss of emulation packets sets their rate
    #[arg(long, value_name = "NAME", default_value = "aimd")]
    pub law: LawName,
    /// Go on with tagged emulation packets, which selective drop drops first, once enough credits for the data are
    /// expected; `--law paper` always does
    #[arg(long)]
    pub over_provision: bool,
    #[command(flatten)]
    pub printing: TransferPrintOptions,
}

#[derive(Clone, Copy, Debug, Args)]
pub struct TransferPrintOptions {
    /// Print all counts of the transfer as JSON
    #[arg(long)]
    pub json: bool,
    /// Print a table of counters on standard error: credits, emulation packets, queueing, lateness
    #[arg(long)]
    pub stats: bool,
    /// Print only errors, and no progress bar
    #[arg(long, short, conflicts_with = "json")]
    pub quiet: bool,
}

#[derive(Debug, Args)]
pub struct CertificateOptions {
    /// This host's certificate in PEM, followed by the chain to its authority
    #[arg(long, value_name = "FILE", requires = "key")]
    pub cert: Option<PathBuf>,
    /// The key of the certificate in PEM
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub key: Option<PathBuf>,
}

/// How a sender knows the receiver.
#[derive(Debug, Args)]
pub struct TrustOptions {
    /// The code that both ends prove, as the receiver prints it; default: the environment variable `SHALLOP_CODE`
    #[arg(long, value_name = "CODE", conflicts_with_all = ["ca", "cert", "anybody"])]
    pub code: Option<Code>,
    /// Instead of a code: trust a host whose certificate is for the name HOST and signed by an authority in this PEM
    /// file
    #[arg(long, value_name = "FILE", conflicts_with = "anybody")]
    pub ca: Option<PathBuf>,
    /// Instead of a code: trust whoever answers, for receivers with --anybody. Others on the path can read and change
    /// everything
    #[arg(long)]
    pub anybody: bool,
    /// The certificate of this host, for receivers with `--client-ca`.
    #[command(flatten)]
    pub own: CertificateOptions,
}

#[derive(Debug, Args)]
#[command(allow_missing_positional = true)]
pub struct Send {
    /// The files and folders to send
    #[arg(required_unless_present = "time", conflicts_with = "time", value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// The receiver: a name or an address, with the port if it is not 4747
    #[arg(value_name = "HOST[:PORT]")]
    pub host: HostAddress,
    /// Send zeros for this time instead of files, to measure the rate. The receiver counts and discards them
    #[arg(long = "for", value_name = "TIME", value_parser = some_time)]
    pub time: Option<Span>,
    /// The number of files to send at a time
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = streams)]
    pub streams: u8,
    /// On a path that did not support credits, try them again after this time; default: never
    #[arg(long, value_name = "TIME", conflicts_with = "without_credits")]
    pub retry_credits: Option<Span>,
    #[command(flatten)]
    pub trust: TrustOptions,
    #[command(flatten)]
    pub sending: SendingOptions,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option")]
pub struct Receive {
    /// The folder for the files; it must exist
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// The address and port to listen at, such as 192.0.2.1:4747; default: port 4747 of all addresses, IPv4 and IPv6
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address)]
    pub bind: Option<SocketAddr>,
    /// End after the first sender whose files arrived
    #[arg(long)]
    pub once: bool,
    /// Replace existing files with other contents
    #[arg(long)]
    pub overwrite: bool,
    /// Accept files and folders whose path has a name that begins with a dot. Other programs read such files unasked,
    /// so a sender could make this host run programs
    #[arg(long)]
    pub hidden: bool,
    /// The code that senders have to prove; default: the environment variable `SHALLOP_CODE`, or a new code
    #[arg(long, value_name = "CODE", conflicts_with_all = ["cert", "client_ca", "anybody"])]
    pub code: Option<Code>,
    /// The certificate of this host, by which senders with `--ca` know it.
    #[command(flatten)]
    pub own: CertificateOptions,
    /// Instead of a code: accept senders whose certificate is signed by an authority in this PEM file
    #[arg(long, value_name = "FILE", requires = "cert", conflicts_with = "anybody")]
    pub client_ca: Option<PathBuf>,
    /// Instead of a code: accept files of anybody who reaches the port
    #[arg(long)]
    pub anybody: bool,
    #[command(flatten)]
    pub sending: SendingOptions,
}

#[derive(Debug, Args)]
pub struct Ping {
    /// The host, which runs 'shallop receive' or 'shallop ping --listen': a name or an address, with the port if it is
    /// not 4747
    #[arg(value_name = "HOST[:PORT]", required_unless_present = "listen", conflicts_with = "listen")]
    pub host: Option<HostAddress>,
    /// Test whether the path meters emulation packets, serves them before data and spares data on credits, and compare
    /// the rates with and without credits. --rate-limit is the rate of the bottleneck. Uses the bandwidth for about
    /// five seconds
    #[arg(long, conflicts_with = "listen")]
    pub flashpass: bool,
    /// Answer pings of other hosts, and refuse files
    #[arg(long, conflicts_with_all = ["ca", "cert"])]
    pub listen: bool,
    /// The address and port to listen at, such as 192.0.2.1:4747; default: port 4747 of all addresses, IPv4 and IPv6
    #[arg(long, value_name = "ADDRESS:PORT", requires = "listen", value_parser = address)]
    pub bind: Option<SocketAddr>,
    /// The number of round trips to measure
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    pub count: u16,
    /// The time between two pings
    #[arg(long, value_name = "TIME", default_value = "200ms")]
    pub interval: Span,
    #[command(flatten)]
    pub trust: TrustOptions,
    #[command(flatten)]
    pub network: NetworkOptions,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

//! `send` and `receive`: files between hosts, by QUIC whose data packets leave on credits.

use std::io::IsTerminal;
use std::net::{SocketAddr, ToSocketAddrs};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::json;
use shallop_core::Span;
use shallop_quic::authority::ClientCertVerifier;
use shallop_quic::identity::Identity;
use shallop_quic::session::{PORT, Receiving, Report, Served};
use shallop_quic::transfer::{Entry, FileOutcome, Progress, ReceiveOptions, SendOptions, Sources};
use shallop_quic::{Config, Connection};
use shallop_workbench::diagnostic::{Result, plain};
use shallop_workbench::printable::printable;

use crate::print;
use crate::transfer_args::{Leaving, Network, Printing, Receive, Send};
use crate::transfer_identity::{connect, listen, not_sent};
use crate::transfer_stats;

/// The exit code if files are missing at the receiver.
const INCOMPLETE: u8 = 1;
/// Waiting times that the other side takes.
const WAITS: (Span, Span) = (Span::from_us(1), Span::from_secs(600));

/// The settings of an endpoint in this network.
pub fn config_of(network: Network) -> Result<Config> {
    let (least, most) = WAITS;
    if network.wait < least || network.wait > most {
        return Err(plain(&"--wait is a time from 1us to 600s"));
    }
    Ok(Config { wait: duration(network.wait), ..Config::new(network.rate_limit) })
}

fn duration(of: Span) -> Duration {
    Duration::from_nanos(of.as_ps() / 1_000)
}

fn config(leaving: &Leaving) -> Result<Config> {
    Ok(Config { credits: !leaving.without_credits, ..config_of(leaving.network)? })
}

/// Sends files, or zeros for a time.
pub fn send(args: &Send) -> Result<ExitCode> {
    let sources = Sources::collect(&args.paths).map_err(|why| plain(&why))?;
    let (host, address) = address_of(&args.host)?;
    let sending = connect((&host, address), config(&args.leaving)?, &args.receiver)?;
    let bar = Bar::new(args.leaving.printing);
    let options = SendOptions { streams: usize::from(args.streams) };
    let sent = match args.time {
        Some(time) => sending.send_for(duration(time), &bar),
        None => sending.send(&sources, options, &bar),
    };
    bar.end();
    let done = args.time.is_none().then_some("sent");
    ended(&sent.map_err(|why| not_sent(&why.to_string()))?, done, args.leaving.printing)
}

/// The name of a host with its port, and its address.
pub fn address_of(host: &str) -> Result<(String, SocketAddr)> {
    let has_port = host.parse::<SocketAddr>().is_ok()
        || host.rsplit_once(':').is_some_and(|(name, port)| {
            !name.contains(':') && !port.is_empty() && port.bytes().all(|of| of.is_ascii_digit())
        });
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let with_port = match (has_port, bare.contains(':')) {
        (true, _) => host.to_owned(),
        (false, true) => format!("[{bare}]:{PORT}"),
        (false, false) => format!("{host}:{PORT}"),
    };
    let shown = printable(&with_port).into_owned();
    let found = with_port
        .to_socket_addrs()
        .map_err(|why| plain(&format!("\"{shown}\" is no host that can be found: {why}")))?;
    // Receivers listen at IPv4 unless told otherwise: emulation packets are smaller there.
    let address = found.min_by_key(SocketAddr::is_ipv6);
    let address = address.ok_or_else(|| plain(&format!("\"{shown}\" has no address")))?;
    Ok((with_port, address))
}

/// Receives files, until it is ended or, with `--once`, the first sender is done.
pub fn receive(args: &Receive) -> Result<ExitCode> {
    let config = config(&args.leaving)?;
    if !args.folder.is_dir() {
        let shown = args.folder.display().to_string();
        return Err(plain(&format!("\"{}\" is no folder", printable(&shown))));
    }
    let receiving = listen(args, config)?;
    announce(&receiving, args)?;
    let options = ReceiveOptions { overwrite: args.overwrite };
    let first = Mutex::new(None);
    std::thread::scope(|scope| {
        while let Some(connection) = receiving.accept() {
            let (receiving, first) = (&receiving, &first);
            scope.spawn(move || {
                let done = receive_from(receiving, &connection, args, options);
                drop(connection);
                match done {
                    Some(done) if args.once => {
                        first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(done);
                        receiving.close();
                    }
                    Some(Err(why)) => print::stderr(&format!("{why}\n")),
                    _ => {}
                }
            });
        }
    });
    let first = first.into_inner().unwrap_or_else(PoisonError::into_inner);
    first.unwrap_or(Ok(ExitCode::SUCCESS))
}

/// Receives from one sender: what to end with if its files are there.
fn receive_from(
    receiving: &Receiving,
    connection: &Connection,
    args: &Receive,
    options: ReceiveOptions,
) -> Option<Result<ExitCode>> {
    // Several bars at a time would be in each other's way.
    let bar = args.once.then(|| Bar::new(args.leaving.printing));
    let progress: &dyn Progress = bar.as_ref().map_or(&(), |bar| bar);
    let served = receiving.serve(connection, Some(&args.folder), options, progress);
    if let Some(bar) = &bar {
        bar.end();
    }
    match served {
        Ok(Served::Files(report)) => Some(ended(&report, Some("received"), args.leaving.printing)),
        Ok(Served::Pings(_)) => None,
        // A sender that does not trust this host leaves; one that was broken off comes again.
        Err(why) => {
            print::stderr(&format!("{why}\n"));
            None
        }
    }
}

/// Listens at an address, or else at the usual port of all addresses.
pub fn receive_at(
    bind: Option<SocketAddr>,
    config: Config,
    identity: &Identity,
    clients: Option<Arc<dyn ClientCertVerifier>>,
) -> Result<Receiving> {
    let address = bind.unwrap_or_else(|| (std::net::Ipv4Addr::UNSPECIFIED, PORT).into());
    Receiving::bind_by(address, config, identity, clients)
        .map_err(|why| plain(&format!("{address}: {why}; --bind takes another address")))
}

fn announce(receiving: &Receiving, args: &Receive) -> Result<()> {
    let (address, fingerprint) = (receiving.address(), receiving.fingerprint());
    if args.leaving.printing.quiet {
        return Ok(());
    }
    if args.leaving.printing.json {
        return print::line(
            &json!({ "address": address, "fingerprint": fingerprint.to_string() }).to_string(),
        );
    }
    print::line(&format!("Receiving at {address}. Its fingerprint is\n{fingerprint}"))
}

/// Says what came of a session: what was done with files, if it was about files.
fn ended(report: &Report, done: Option<&str>, printing: Printing) -> Result<ExitCode> {
    let code = if report.transfer.failed.is_empty() { 0 } else { INCOMPLETE };
    if printing.stats {
        print::stderr(&transfer_stats::table(report));
    }
    if printing.json {
        print::json(report)?;
        return Ok(ExitCode::from(code));
    }
    if !printing.quiet {
        print::line(&sentences(report, done))?;
    }
    for failed in &report.transfer.failed {
        print::stderr(&format!("{}: {}\n", printable(&failed.path), printable(&failed.reason)));
    }
    Ok(ExitCode::from(code))
}

/// What was moved, and how it left.
fn sentences(report: &Report, done: Option<&str>) -> String {
    let Report { transfer, on_credits, credits, path: _ } = report;
    let rate = transfer.bytes as f64 * 8.0 / 1e6 / transfer.seconds.max(1e-9);
    let files = done.map(|done| format!("{} files {done}, ", transfer.files)).unwrap_or_default();
    let moved =
        format!("{files}{} bytes in {:.1} s: {rate:.1} Mb/s.", transfer.bytes, transfer.seconds);
    let skipped =
        (transfer.skipped > 0).then(|| format!(" {} were there already.", transfer.skipped));
    let resumed = (transfer.resumed_bytes > 0)
        .then(|| format!(" {} bytes were there of an earlier try.", transfer.resumed_bytes));
    let left = match (on_credits, credits.emulated) {
        (false, _) => Some("\nWithout credits: by CUBIC.".to_owned()),
        (true, 0) => None,
        (true, emulated) => Some(format!(
            "\nOn credits: {emulated} emulation packets, of which {:.2} % were lost; {} data packets, {} without a \
             credit.",
            credits.emulation_loss() * 100.0,
            credits.data_packets,
            credits.without_credit
        )),
    };
    [Some(moved), skipped, resumed, left].into_iter().flatten().collect()
}

/// A bar of bytes on a terminal.
struct Bar {
    bar: ProgressBar,
    bytes: AtomicU64,
}

impl Bar {
    fn new(printing: Printing) -> Self {
        let hidden = printing.json || printing.quiet;
        let target = if hidden || !std::io::stderr().is_terminal() {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr()
        };
        let bar = ProgressBar::with_draw_target(Some(0), target);
        let template = "{bar:30} {bytes}/{total_bytes} {bytes_per_sec} {eta}";
        bar.set_style(
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()),
        );
        Self { bar, bytes: AtomicU64::new(0) }
    }

    fn end(&self) {
        self.bar.finish_and_clear();
    }

    fn add(&self, count: u64) {
        let all = self.bytes.fetch_add(count, Ordering::Relaxed) + count;
        self.bar.set_position(all);
    }
}

impl Progress for Bar {
    fn total(&self, _files: u64, bytes: u64) {
        self.bar.set_length(bytes);
    }

    fn file_started(&self, _id: u32, _file: &Entry, there: u64) {
        self.add(there);
    }

    fn bytes(&self, _id: u32, count: u64) {
        self.add(count);
    }

    fn file_done(&self, _id: u32, file: &Entry, outcome: &FileOutcome) {
        if *outcome == FileOutcome::Skipped {
            self.add(file.size);
        }
    }
}

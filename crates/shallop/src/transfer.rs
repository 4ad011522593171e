//! `send` and `receive`: files between hosts, by QUIC whose data packets leave on credits.

use std::io::IsTerminal;
use std::net::{IpAddr, SocketAddr};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::json;
use shallop_core::{Bytes, Span};
use shallop_quic::{Config, Connection, Fallback, SendMode};
use shallop_transfer::protocol::{
    Entry, FileOutcome, Position, Progress, ReceiveOptions, SendOptions, SourcePaths,
};
use shallop_transfer::session::{ReceiveServer, Served, TransferReport};
use shallop_workbench::diagnostic::{Result, plain};
use shallop_workbench::fault::wrong_option;
use shallop_workbench::printable::printable;

use crate::messages::{self, Message, Pace};
use crate::print;
use crate::transfer_args::{Leaving, Network, Printing, Receive, Send};
use crate::transfer_identity::{connect, listen, not_sent};
use crate::transfer_path;
use crate::transfer_stats;

/// The exit code if files are missing at the receiver.
const INCOMPLETE: u8 = 1;
/// What is said at the start of a receiver that asks senders for no certificate.
const ANYBODY: &str = "warning: anybody who reaches this port may send files into this folder. --client-ca FILE \
                       accepts only senders whose certificate was signed by an authority in FILE.\n";
/// The exit code after Ctrl-C.
const INTERRUPTED: u8 = 130;

/// The settings of an endpoint in this network.
pub fn config_of(network: Network) -> Result<Config> {
    Config::in_network(network.rate_limit, network.wait)
        .map_err(|why| wrong_option("--wait", &why))?
        .starting_with(network.unscheduled.unwrap_or(Bytes::ZERO))
        .map_err(|why| wrong_option("--unscheduled", &why))
}

fn duration(of: Span) -> Duration {
    Duration::from_nanos(of.as_ps() / 1_000)
}

fn config(leaving: &Leaving) -> Result<Config> {
    Ok(Config {
        credits: !leaving.without_credits,
        fallback: leaving.fallback.into(),
        segments: leaving.segments,
        ..config_of(leaving.network)?
    })
}

/// Sends files, or zeros for a time. Once it is connected, `listen` gives what Ctrl-C sets.
pub fn send(args: &Send, listen: &dyn Fn() -> Result<Arc<AtomicBool>>) -> Result<ExitCode> {
    let config = config(&args.leaving)?;
    let sources = SourcePaths::collect(&args.paths).map_err(|why| plain(&why))?;
    let sending = connect(&args.host, config, &args.receiver)?;
    let stop = listen()?;
    let bar = Bar::new(args.leaving.printing);
    let options = SendOptions { streams: usize::from(args.streams) };
    let connection = sending.connection().clone();
    let retry = args.retry_credits.map(duration);
    let tell = |path: SendMode| {
        if !args.leaving.printing.quiet {
            bar.say(&format!("{}\n", leaves(path, args.leaving.fallback.into())));
        }
    };
    let sent = transfer_path::watching(&connection, (retry, &stop), &tell, || match args.time {
        Some(time) => sending.send_for(duration(time), &bar),
        None => sending.send(&sources, options, &bar),
    });
    bar.end();
    if sent.is_err() && stop.load(Ordering::Relaxed) {
        print::stderr(if args.time.is_some() {
            "Interrupted.\n"
        } else {
            "Interrupted. What has arrived is kept: the same command goes on from there.\n"
        });
        return Ok(ExitCode::from(INTERRUPTED));
    }
    let done = args.time.is_none().then_some("sent");
    ended(&sent.map_err(|why| not_sent(&why))?, ("", done), &args.leaving)
}

/// Receives files, until Ctrl-C sets `stop` or, with `--once`, the first sender is done.
pub fn receive(args: &Receive, stop: &AtomicBool) -> Result<ExitCode> {
    let config = config(&args.leaving)?;
    let receiving = listen(args, config)?;
    announce(&receiving, args)?;
    let options = ReceiveOptions { overwrite: args.overwrite, hidden: args.hidden };
    let first = Mutex::new(None);
    let serve = |connection: Connection| {
        let done = receive_from(&receiving, &connection, args, options);
        drop(connection);
        match done {
            Some(done) if args.once => {
                first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(done);
                receiving.close();
            }
            Some(Err(why)) => print::stderr(&format!("{why}\n")),
            _ => {}
        }
    };
    let served = transfer_path::receiving(&receiving, stop, || receiving.each(serve));
    if stop.load(Ordering::Relaxed) {
        return Ok(ExitCode::from(INTERRUPTED));
    }
    let first = first.into_inner().unwrap_or_else(PoisonError::into_inner);
    first.unwrap_or_else(|| served.map(|()| ExitCode::SUCCESS).map_err(|why| plain(&why)))
}

/// Receives from one sender: what to end with if its files are there.
fn receive_from(
    receiving: &ReceiveServer,
    connection: &Connection,
    args: &Receive,
    options: ReceiveOptions,
) -> Option<Result<ExitCode>> {
    // Several bars at a time would be in each other's way.
    let bar = args.once.then(|| Bar::new(args.leaving.printing));
    let progress: &dyn Progress = bar.as_ref().map_or(&(), |bar| bar);
    let from = connection.remote_address().map(|from| format!("{from}: ")).unwrap_or_default();
    let served = receiving.serve(connection, Some(&args.folder), options, progress);
    if let Some(bar) = &bar {
        bar.end();
    }
    match served {
        Ok(Served::Files(report)) => {
            if messages::is_json() {
                let from = from.trim_end_matches(": ");
                let report = &serde_json::to_value(&report).unwrap_or_default();
                messages::send(&Message::Received { from, report });
            }
            Some(ended(&report, (&from, Some("received")), &args.leaving))
        }
        Ok(Served::Pings(_)) => None,
        // A sender that does not trust this host leaves; one that was broken off comes again.
        Err(why) if messages::is_json() => {
            let from = from.trim_end_matches(": ");
            messages::send(&Message::BrokeOff { from, why: &why.to_string() });
            None
        }
        Err(why) => {
            print::stderr(&format!("{from}{why}\n"));
            None
        }
    }
}

fn announce(receiving: &ReceiveServer, args: &Receive) -> Result<()> {
    let (address, fingerprint) = (receiving.address(), receiving.fingerprint());
    messages::send(&Message::Listening {
        address: &address.to_string(),
        fingerprint: &fingerprint.to_string(),
    });
    if args.leaving.printing.quiet {
        return Ok(());
    }
    if args.client_ca.is_none() {
        print::stderr(ANYBODY);
    }
    if args.leaving.printing.json {
        return print::line(
            &json!({ "address": address, "fingerprint": fingerprint.to_string() }).to_string(),
        );
    }
    let place = place(address);
    print::line(&format!("Receiving at {place}. The fingerprint of this host is\n{fingerprint}"))
}

/// Where somebody listens, in words where `[::]` would be read as an address.
pub fn place(address: SocketAddr) -> String {
    let port = address.port();
    match address.ip() {
        ip if !ip.is_unspecified() => address.to_string(),
        IpAddr::V4(_) => format!("port {port} of all IPv4 addresses"),
        IpAddr::V6(_) => format!("port {port} of all addresses, IPv4 and IPv6"),
    }
}

/// Says what came of a session: whose it was, and what was done with files, if it was about files.
fn ended(
    report: &TransferReport,
    (from, done): (&str, Option<&str>),
    leaving: &Leaving,
) -> Result<ExitCode> {
    let printing = leaving.printing;
    let code = if report.transfer.failed.is_empty() { 0 } else { INCOMPLETE };
    if printing.stats {
        print::stderr(&transfer_stats::table(report));
    }
    if printing.json {
        print::json(report)?;
        return Ok(ExitCode::from(code));
    }
    if !printing.quiet {
        print::line(&format!("{from}{}", sentences(report, done, leaving.fallback.into())))?;
    }
    // Both sides have the words of the receiver.
    for failed in &report.transfer.failed {
        let (path, reason) = (printable(&failed.path), printable(&failed.reason));
        print::stderr(&format!("{from}{path}: not in place at the receiver: {reason}\n"));
    }
    Ok(ExitCode::from(code))
}

/// How data leaves, as a sentence.
fn leaves(path: SendMode, fallback: Fallback) -> String {
    if path.is_fallback() || path == SendMode::WithoutCredits {
        format!("Data leaves by {fallback}, {path}.")
    } else {
        format!("Data leaves {path}.")
    }
}

/// What was moved, and how it left.
fn sentences(report: &TransferReport, done: Option<&str>, fallback: Fallback) -> String {
    let TransferReport { transfer, on_credits, leaves: path, credits, path: _ } = report;
    let rate = transfer.bytes as f64 * 8.0 / 1e6 / transfer.seconds.max(1e-9);
    let failed = match transfer.failed.len() {
        0 => String::new(),
        failed => format!("{failed} not, "),
    };
    let files = done.map(|done| format!("{} files {done}, {failed}", transfer.files));
    let files = files.unwrap_or_default();
    let moved =
        format!("{files}{} bytes in {:.1} s: {rate:.1} Mb/s.", transfer.bytes, transfer.seconds);
    let skipped =
        (transfer.skipped > 0).then(|| format!(" {} were there already.", transfer.skipped));
    let resumed = (transfer.resumed_bytes > 0)
        .then(|| format!(" {} bytes were there of an earlier try.", transfer.resumed_bytes));
    let left = match (on_credits, credits.emulated) {
        (false, _) => Some(format!("\n{}", leaves(*path, fallback))),
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
    line: ProgressBar,
    position: Position,
    pace: Mutex<Pace>,
}

impl Bar {
    fn new(printing: Printing) -> Self {
        let hidden = printing.json || printing.quiet || messages::is_json();
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
        Self { line: bar, position: Position::default(), pace: Mutex::default() }
    }

    /// Tells a program how far the transfer is.
    fn tell(&self) {
        let (done, total) = (self.position.done(), self.position.total());
        messages::send(&Message::Transfer { done, total });
    }

    fn end(&self) {
        self.tell();
        self.line.finish_and_clear();
    }

    /// Prints a line while the bar is hidden.
    fn say(&self, line: &str) {
        self.line.suspend(|| print::stderr(line));
    }

    fn show(&self) {
        self.line.set_position(self.position.done());
        if messages::is_json() && self.pace.try_lock().is_ok_and(|mut pace| pace.is_due()) {
            self.tell();
        }
    }
}

impl Progress for Bar {
    fn total(&self, files: u64, bytes: u64) {
        Progress::total(&self.position, files, bytes);
        self.line.set_length(bytes);
    }

    fn file_started(&self, id: u32, file: &Entry, there: u64) {
        self.position.file_started(id, file, there);
        self.show();
    }

    fn bytes(&self, id: u32, count: u64) {
        self.position.bytes(id, count);
        self.show();
    }

    fn file_done(&self, id: u32, file: &Entry, outcome: &FileOutcome) {
        self.position.file_done(id, file, outcome);
        self.show();
    }
}

//! `send` and `receive`: move files between hosts over QUIC with credits.

use crate::exit_codes::INTERRUPTED;
use crate::messages::{self, Message, MessagePace};
use crate::parent::no_thread;
use crate::print;
use crate::transfer_args::{LawName, NetworkOptions, Receive, Send, SendingOptions, TransferPrintOptions};
use crate::transfer_identity::{Listening, connect, listen, transfer_error};
use crate::transfer_path::{self, PathEvent};
use crate::transfer_stats;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::json;
use shallop_core::{Bytes, Span};
use shallop_quic::{Config, Connection, Fallback, SendMode, Unscheduled};
use shallop_transfer::limits::raise_open_files;
use shallop_transfer::plain_trial::TrialResult;
use shallop_transfer::protocol::{
    Entry, FileOutcome, Position, Progress, ReceiveOptions, SendOptions, SourcePaths, Token,
};
use shallop_transfer::session::{ReceiveServer, Served, TransferReport};
use shallop_workbench::diagnostic::{Result, plain};
use shallop_workbench::{fault::wrong_option, printable::printable};
use std::io::IsTerminal;
use std::net::{IpAddr, SocketAddr};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The exit code if files are missing at the receiver.
const INCOMPLETE: u8 = 1;
/// The most files that are named because they are missing at the receiver: a sender could fill the log.
const NAMED: usize = 1_000;
/// If one in this number of credits was skipped, the host is said to have been late.
const LATE: u64 = 10;
/// What it means that ECN-capable packets do not arrive as such.
const CLEARED: &str =
    " The path clears ECN: switches with selective drop take emulation packets for tagged ones and drop them first.";
/// What follows if credits stay.
const RETURNS: &str = " Data returns to credits.";
/// What leaves a sender, and what leaves a receiver.
const DATA: &str = "Data leaves";
const ANSWERS: &str = "The few messages of this end left";
/// The warning of a receiver with `--anybody`.
const ANYBODY: &str = "warning: anybody who reaches this port may send files into this folder.\n";

/// What leaves before the first credit without `--unscheduled`: ten full packets, as in TCP (RFC 6928), which hold a
/// list and 8 KiB of files, or the answers to them.
const FIRST_FLIGHT: Bytes = Bytes::new(10 * 1_538);

/// Makes the QUIC configuration from these network options.
pub fn config_of(network: NetworkOptions) -> Result<Config> {
    let config = Config::in_network(network.rate_limit, network.wait)
        .map_err(|why| wrong_option("--wait", &why))?
        .starting_with(network.unscheduled.unwrap_or(Bytes::ZERO))
        .map_err(|why| wrong_option("--unscheduled", &why))?;
    Ok(Config { batch: network.batch, ..config })
}

fn duration(of: Span) -> Duration {
    Duration::from_nanos(of.as_ps() / 1_000)
}

fn config(sending: &SendingOptions) -> Result<Config> {
    let unscheduled = Some(sending.network.unscheduled.unwrap_or(FIRST_FLIGHT));
    let config = config_of(NetworkOptions { unscheduled, ..sending.network })?;
    let config = if sending.law == LawName::Paper { config.as_in_paper() } else { config };
    Ok(Config {
        credits: !sending.without_credits,
        fallback: sending.fallback.into(),
        over_provision: config.over_provision || sending.over_provision,
        // The acknowledgement of a list must not end the burst, as its files follow.
        unscheduled: config.unscheduled.map(|of| Unscheduled { until_first_data: true, ..of }),
        ..config
    })
}

/// Sends files, or zeros for a fixed time. Installs the Ctrl-C handler by `listen` after the connection is made.
pub fn send(args: &Send, listen: &dyn Fn() -> Result<Arc<AtomicBool>>) -> Result<ExitCode> {
    let config = config(&args.sending)?;
    let sources = SourcePaths::collect(&args.paths).map_err(|why| plain(&why))?;
    let sending = connect(&args.host, config, &args.trust)?;
    let stop = listen()?;
    let bar = TransferBar::new(args.sending.printing);
    let token = Token::of_user();
    if let Err(why) = &token {
        print::stderr(&format!("warning: a second try of this transfer cannot resume it: {why}\n"));
    }
    let options = SendOptions { streams: usize::from(args.streams), token: token.ok(), ..SendOptions::default() };
    let connection = sending.connection().clone();
    let retry = args.retry_credits.map(duration);
    let tell = |event: PathEvent| {
        if !args.sending.printing.quiet {
            bar.say(&format!("{}\n", event_sentence(&event, &args.sending)));
        }
    };
    let sent = transfer_path::watch(&connection, &config, retry, &stop, &tell, || match args.time {
        Some(time) => sending.send_for(duration(time), &bar),
        None => sending.send(&sources, options, &bar),
    });
    let sent = sent.map_err(|why| no_thread(&why))?;
    bar.end();
    if sent.is_err() && stop.load(Ordering::Relaxed) {
        print::stderr(if args.time.is_some() {
            "Interrupted.\n"
        } else {
            "Interrupted. Received data is kept: the same command resumes from there.\n"
        });
        return Ok(ExitCode::from(INTERRUPTED));
    }
    let done = args.time.is_none().then_some("sent");
    print_report(&sent.map_err(|why| transfer_error(&why, done.is_some()))?, "", done, &args.sending)
}

/// Receives files until Ctrl-C sets `stop` or, with `--once`, until the first sender is done.
pub fn receive(args: &Receive, stop: &AtomicBool) -> Result<ExitCode> {
    let config = config(&args.sending)?;
    if let Err(why) = raise_open_files() {
        print::stderr(&format!("warning: many files at a time may fail: {why}\n"));
    }
    let listening = listen(args, config)?;
    announce(&listening, args)?;
    let receiving = &listening.server;
    let options = ReceiveOptions { overwrite: args.overwrite, hidden: args.hidden, ..ReceiveOptions::default() };
    let first = Mutex::new(None);
    let serve = |connection: Connection| {
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
    };
    let served =
        transfer_path::close_on_stop(receiving, stop, || receiving.each(serve)).map_err(|why| no_thread(&why))?;
    if stop.load(Ordering::Relaxed) {
        return Ok(ExitCode::from(INTERRUPTED));
    }
    let first = first.into_inner().unwrap_or_else(PoisonError::into_inner);
    first.unwrap_or_else(|| served.map(|()| ExitCode::SUCCESS).map_err(|why| plain(&why)))
}

/// Receives from one sender. Returns the exit code of the command if the sender sent files.
fn receive_from(
    receiving: &ReceiveServer, connection: &Connection, args: &Receive, options: ReceiveOptions,
) -> Option<Result<ExitCode>> {
    // Bars of several senders would overwrite each other.
    let bar = args.once.then(|| TransferBar::new(args.sending.printing));
    let progress: &dyn Progress = bar.as_ref().map_or(&(), |bar| bar);
    let from = connection.remote_address().map(|from| format!("{from}: ")).unwrap_or_default();
    let served = receiving.serve(connection, Some(&args.folder), options, progress);
    if let Some(bar) = &bar {
        bar.end();
    }
    match served {
        // A sender of nothing does not end `--once`.
        Ok(Served::Files(report)) if report.transfer.is_empty() => None,
        Ok(Served::Files(report)) => {
            if messages::is_json() {
                let from = from.trim_end_matches(": ");
                let report = &serde_json::to_value(&report).unwrap_or_default();
                messages::send(&Message::Received { from, report });
            }
            Some(print_report(&report, &from, Some("received"), &args.sending))
        }
        Ok(Served::Pings(_)) => None,
        // The sender was interrupted and will come back.
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

fn announce(listening: &Listening, args: &Receive) -> Result<()> {
    if args.anybody {
        print::stderr(ANYBODY);
    }
    let code = listening.code.as_ref().map(ToString::to_string);
    let address = &listening.server.address().to_string();
    messages::send(&Message::Listening { address, code: code.as_deref() });
    if args.sending.printing.quiet {
        return Ok(());
    }
    print_address(listening, "Receiving", "send PATH...", args.sending.printing.json)
}

/// Prints where a server listens, and the command line for the other end.
pub fn print_address(listening: &Listening, does: &str, begin: &str, is_json: bool) -> Result<()> {
    let address = listening.server.address();
    print::line(&if is_json {
        json!({ "address": address, "code": listening.code.as_ref().map(ToString::to_string) }).to_string()
    } else {
        let (place, command) = (printed_address(address), listening.command(begin));
        format!("{does} at {place}. At the other host:\n{command}")
    })
}

/// Formats an address. Words replace `[::]` and `0.0.0.0`, which look like destinations.
fn printed_address(address: SocketAddr) -> String {
    let port = address.port();
    match address.ip() {
        ip if !ip.is_unspecified() => address.to_string(),
        IpAddr::V4(_) => format!("port {port} of all IPv4 addresses"),
        IpAddr::V6(_) => format!("port {port} of all addresses, IPv4 and IPv6"),
    }
}

/// Prints the result of a session. `from` names the sender; `done` is the verb for the files that were moved, if any.
fn print_report(report: &TransferReport, from: &str, done: Option<&str>, sending: &SendingOptions) -> Result<ExitCode> {
    let printing = sending.printing;
    let code = if report.transfer.failed.is_empty() { 0 } else { INCOMPLETE };
    if printing.stats {
        print::stderr(&transfer_stats::table(report));
    }
    if printing.json {
        print::json(report)?;
        return Ok(ExitCode::from(code));
    }
    if !printing.quiet {
        print::line(&format!("{from}{}", sentences(report, done, sending)))?;
    }
    // Both sides print the reasons of the receiver.
    for failed in report.transfer.failed.iter().take(NAMED) {
        let (path, reason) = (printable(&failed.path), printable(&failed.reason));
        print::stderr(&format!("{from}{path}: not in place at the receiver: {reason}\n"));
    }
    if let Some(more @ 1..) = report.transfer.failed.len().checked_sub(NAMED) {
        print::stderr(&format!("{from}{more} more are not in place at the receiver.\n"));
    }
    Ok(ExitCode::from(code))
}

/// Says how data, or what `what` names, leaves: on credits, or with which controller and why.
fn leaving_sentence(what: &str, path: SendMode, sending: &SendingOptions) -> String {
    let fallback = Fallback::from(sending.fallback);
    if path == SendMode::WithoutCredits && sending.without_credits {
        format!("{what} by {fallback}, without credits, as asked.")
    } else if path.is_fallback() || path == SendMode::WithoutCredits {
        format!("{what} by {fallback}, {path}.")
    } else {
        format!("{what} {path}.")
    }
}

/// Says what has happened to the way in which data leaves.
fn event_sentence(event: &PathEvent, sending: &SendingOptions) -> String {
    match event {
        PathEvent::Changed(path) => leaving_sentence(DATA, *path, sending),
        PathEvent::Compared(TrialResult { credits_bps, plain_bps, is_plain }) => {
            let [credits, plain] = [credits_bps, plain_bps].map(|bps| bps / 1e6);
            let fallback = Fallback::from(sending.fallback);
            let [faster, then] = match is_plain {
                true => ["faster here", ""],
                false if plain > credits => ["beyond --rate-limit here, where a meter may be unseen", RETURNS],
                false => ["not faster here", RETURNS],
            };
            format!("{fallback} is {faster}: {plain:.0} Mb/s, and {credits:.0} Mb/s on credits.{then}")
        }
    }
}

/// Says what was moved and how data left.
fn sentences(report: &TransferReport, done: Option<&str>, sending: &SendingOptions) -> String {
    let TransferReport { transfer, on_credits, leaves: path, credits, path: measured } = report;
    let rate = transfer.bytes as f64 * 8.0 / 1e6 / transfer.seconds.max(1e-9);
    let failed = match transfer.failed.len() {
        0 => String::new(),
        failed => format!("{failed} not, "),
    };
    let files = done.map(|done| {
        let plural = if transfer.files == 1 { "" } else { "s" };
        format!("{} file{plural} {done}, {failed}", transfer.files)
    });
    let files = files.unwrap_or_default();
    let covers = if done.is_none() { ", from the first to the last at the receiver" } else { "" };
    let moved = format!("{files}{} bytes in {:.1} s{covers}: {rate:.1} Mb/s.", transfer.bytes, transfer.seconds);
    let skipped = (transfer.skipped > 0).then(|| {
        let were = if transfer.skipped == 1 { "was" } else { "were" };
        format!(" {} {were} there already.", transfer.skipped)
    });
    let resumed = (transfer.resumed_bytes > 0)
        .then(|| format!(" {} bytes were there of an earlier try.", transfer.resumed_bytes));
    let left = match (on_credits, credits.emulated) {
        // The sender says how data leaves.
        _ if done == Some("received") => Some(format!("\n{}", leaving_sentence(ANSWERS, *path, sending))),
        (false, _) => Some(format!("\n{}", leaving_sentence(DATA, *path, sending))),
        (true, 0) => None,
        (true, emulated) => Some(format!(
            "\nOn credits: {emulated} emulation packets, of which {:.2} % were lost; {} data packets, {} without a \
             credit.",
            credits.emulation_loss() * 100.0,
            credits.data_packets,
            credits.without_credit
        )),
    };
    let cleared = (*on_credits && measured.ecn_cleared && done != Some("received")).then(|| CLEARED.to_owned());
    let unread = (credits.unread > 0).then(|| {
        format!(
            " This host was too late to read {} datagrams: its processors are busy, or net.core.rmem_max is small. The \
             sender takes them for congestion.",
            credits.unread
        )
    });
    let late = (credits.skipped * LATE > credits.granted).then(|| {
        let share = credits.skipped as f64 * 100.0 / credits.granted as f64;
        format!(" This host was late: it skipped {share:.0} % of its credits.")
    });
    [Some(moved), skipped, resumed, left, late, cleared, unread].into_iter().flatten().collect()
}

/// A progress bar in bytes, if standard error is a terminal.
struct TransferBar {
    line: ProgressBar,
    position: Position,
    pace: Mutex<MessagePace>,
}

impl TransferBar {
    fn new(printing: TransferPrintOptions) -> Self {
        let hidden = printing.json || printing.quiet || messages::is_json();
        let target = if hidden || !std::io::stderr().is_terminal() {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr()
        };
        let bar = ProgressBar::with_draw_target(Some(0), target);
        let template = "{bar:30} {bytes}/{total_bytes} {bytes_per_sec} {eta}";
        bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self { line: bar, position: Position::default(), pace: Mutex::default() }
    }

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

impl Progress for TransferBar {
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

//! `ping`: measures round trips, and tests whether a path honours the classes of `FlashPass`.

use crate::print;
use crate::transfer::{config_of, print_address};
use crate::transfer_args::Ping;
use crate::transfer_identity::{connect, listen_for_pings};
use serde_json::json;
use shallop_core::BitsPerSec;
use shallop_quic::{Config, path_probe::ProbeCounts};
use shallop_results::table::Grid;
use shallop_transfer::path_measure::{PathMeasured, measure};
use shallop_transfer::session::SendSession;
use shallop_transfer::{path_verdict::verdict, ping::round_trip, protocol::ReceiveOptions};
use shallop_workbench::diagnostic::{Result, plain};
use shallop_workbench::printable::printable;
use shallop_workbench::{TableForm, render};
use std::{process::ExitCode, time::Duration};

/// The exit code if the path mixes the classes, or the test was inconclusive.
const NOT_HONOURED: u8 = 1;
/// The fraction of its rate from which a link counts as full.
const FULL: f64 = 0.9;
/// The time to wait for the answer to a ping.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

pub fn ping(args: &Ping) -> Result<ExitCode> {
    let config = config_of(args.network)?;
    let Some(host) = &args.host else { return listen(args, config) };
    let connect = |config: Config| connect(host, config, &args.trust);
    let host = host.to_string();
    // Pings without credits do not wait for them.
    let without_credits = connect(Config { credits: false, ..config })?;
    let trips = round_trips(args, &host, &without_credits)?;
    let mut told = json!({ "host": host, "round_trips_s": trips });
    if !args.flashpass {
        return if args.json { print::json(&told) } else { Ok(()) }.map(|()| ExitCode::SUCCESS);
    }
    let found = measure(config, &without_credits, connect, |why| plain(&why))?;
    let verdict = verdict(&found, args.network.rate_limit);
    let code = if verdict.honours == Some(true) { 0 } else { NOT_HONOURED };
    if args.json {
        told["measured"] = json!({
            "above": ProbeCounts::sum(&found.above),
            "beside_data": ProbeCounts::sum(&found.beside_data),
            "load": found.load,
            "plain_bps": found.plain_bps,
            "credits_bps": found.credits_bps(),
        });
        told["honours_classes"] = json!(verdict.honours);
        told["verdict"] = json!(verdict.sentence);
        print::json(&told)?;
    } else {
        print::line(&table(&found))?;
        print::line(&rates(&found, args.network.rate_limit))?;
        print::line(&verdict.sentence)?;
        if verdict.honours == Some(false) {
            print::line(advice(&found))?;
        }
    }
    Ok(ExitCode::from(code))
}

fn listen(args: &Ping, config: Config) -> Result<ExitCode> {
    let listening = listen_for_pings(args, config)?;
    let receiving = &listening.server;
    print_address(&listening, "Answering pings", "ping", args.json)?;
    let answered = receiving.each(|connection| {
        let options = ReceiveOptions::default();
        if let Err(why) = receiving.serve(&connection, None, options, &()) {
            print::stderr(&format!("{why}\n"));
        }
    });
    answered.map(|()| ExitCode::SUCCESS).map_err(|why| plain(&why))
}

/// Measures round-trip times in seconds, and prints each.
fn round_trips(args: &Ping, host: &str, sending: &SendSession) -> Result<Vec<f64>> {
    let interval = Duration::from_nanos(args.interval.as_ps() / 1_000);
    let mut all = Vec::new();
    for number in 0..args.count {
        if number > 0 {
            std::thread::sleep(interval);
        }
        let trip = round_trip(sending.connection(), ANSWER_TIMEOUT);
        let trip = trip.map_err(|why| plain(&format!("{}: {why}", printable(host))))?;
        all.push(trip.as_secs_f64());
        if !args.json {
            print::line(&format!("{}: {:.3} ms", printable(host), trip.as_secs_f64() * 1e3))?;
        }
    }
    if !args.json {
        let least = all.iter().copied().fold(f64::INFINITY, f64::min);
        let most = all.iter().copied().fold(0.0, f64::max);
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        print::line(&format!(
            "{} round trip{}: {:.3} ms at least, {:.3} ms on average, {:.3} ms at most.",
            all.len(),
            if all.len() == 1 { "" } else { "s" },
            least * 1e3,
            mean * 1e3,
            most * 1e3
        ))?;
    }
    Ok(all)
}

fn table(found: &PathMeasured) -> String {
    let header = "sent, emulation packets, lost %, data packets, lost %";
    let percent = |loss: f64| format!("{:.2}", loss * 100.0);
    let probes = |name: &str, trains: &[ProbeCounts]| {
        let ProbeCounts { emulation, control, .. } = ProbeCounts::sum(trains);
        let [some, others] = [emulation, control].map(|of| [of.sent.to_string(), percent(of.loss())]);
        [&[name.to_owned()], &some[..], &others].concat()
    };
    let mut rows =
        vec![probes("three times a meter's rate", &found.above), probes("half of it, beside data", &found.beside_data)];
    rows.extend(found.load.map(|load| {
        let [emulated, data] = [load.emulated, load.data_packets].map(|of| of.to_string());
        let [lost, data_lost] = [load.emulation_loss(), load.data_loss()].map(percent);
        vec!["data on credits".to_owned(), emulated, lost, data, data_lost]
    }));
    render(&Grid::new(header, rows, 1), TableForm::Text(None))
}

/// Compares the rates of data with and without credits.
fn rates(found: &PathMeasured, link: BitsPerSec) -> String {
    let on_credits = |bps: f64| format!("; on credits: {:.0} Mb/s", bps / 1e6);
    let credits = found.credits_bps().map(on_credits).unwrap_or_default();
    let is_spared = found.plain_lost == 0 && found.plain_bps < link.get() as f64 * FULL;
    let spared = " No packet without credits was lost: the hosts may have been the limit, not the link.";
    let spared = if is_spared { spared } else { "" };
    format!("Data without credits: {:.0} Mb/s{credits}.{spared}", found.plain_bps / 1e6)
}

/// What to do on a path that does not honour the classes.
fn advice(found: &PathMeasured) -> &'static str {
    if found.credits_bps().is_some_and(|credits| credits > found.plain_bps) {
        "Credits keep no queue short here, although data was faster on them."
    } else {
        "The faster way here is 'shallop send --without-credits'."
    }
}

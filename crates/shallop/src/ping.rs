//! `ping`: measures round trips, and tests whether a path drops emulation packets rather than data.

use std::process::ExitCode;
use std::time::Duration;

use serde_json::json;
use shallop_quic::Config;
use shallop_results::table::Grid;
use shallop_transfer::client::connect_for_ping;
use shallop_transfer::ping::{Load, load, round_trip};
use shallop_transfer::protocol::ReceiveOptions;
use shallop_transfer::server::{ServerIdentity, listen as listen_at};
use shallop_transfer::session::SendSession;
use shallop_workbench::diagnostic::{Result, plain};
use shallop_workbench::printable::printable;
use shallop_workbench::{TableForm, render};

use crate::print;
use crate::transfer::{config_of, printed_address};
use crate::transfer_args::Ping;
use crate::transfer_identity::{connect_error, listen_error};

/// The exit code if the path mixes the classes, or the test was inconclusive.
const NOT_HONOURED: u8 = 1;
/// The duration of a load test at each rate.
const LOAD: Duration = Duration::from_secs(1);
/// The time to wait for packets in flight after a load test, besides twice the waiting time of credits.
const SETTLE: Duration = Duration::from_millis(200);
/// The time to wait for the answer to a ping.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// The largest loss rate that counts as none: losses may be chance, or a host that was late.
const NEGLIGIBLE_LOSS: f64 = 0.002;
/// If the loss rate of data is below this fraction of the loss rate of emulation packets, the path spares data. A
/// shared queue drops about as much of both.
const SPARED_FRACTION: f64 = 0.25;
/// If fewer than one in this many of the requested emulation packets could be sent, the losses say nothing about the
/// requested rate: the host, or a bottleneck, carries far less.
const LEAST_SENT: u64 = 8;
/// The least number of emulation packets for a verdict.
const LEAST_EMULATED: u64 = 100;

pub fn ping(args: &Ping) -> Result<ExitCode> {
    let config = config_of(args.network)?;
    let Some(host) = &args.host else { return listen(args, config) };
    let connect = |config: Config| connect_for_ping(host, config, args.fingerprint).map_err(|why| connect_error(&why));
    let host = host.to_string();
    // Pings without credits do not wait for them.
    let plain_quic = connect(Config { credits: false, ..config })?;
    let trips = round_trips(args, &host, &plain_quic)?;
    let fingerprint = plain_quic.fingerprint().map(|of| of.to_string());
    drop(plain_quic);
    let mut told = json!({ "host": host, "fingerprint": fingerprint, "round_trips_s": trips });
    if !args.flashpass {
        return if args.json { print::json(&told) } else { Ok(()) }.map(|()| ExitCode::SUCCESS);
    }
    let (found, verdict) = loads(args, config, connect)?;
    let code = if verdict.honours == Some(true) { 0 } else { NOT_HONOURED };
    if args.json {
        told["loads"] = found.iter().map(json_of).collect();
        told["honours_classes"] = json!(verdict.honours);
        told["verdict"] = json!(verdict.sentence);
        print::json(&told)?;
    } else {
        if !found.is_empty() {
            print::line(&table(&found))?;
        }
        print::line(&verdict.sentence)?;
    }
    Ok(ExitCode::from(code))
}

fn listen(args: &Ping, config: Config) -> Result<ExitCode> {
    let receiving = listen_at(args.bind, config, &ServerIdentity::Ephemeral, None).map_err(|why| listen_error(&why))?;
    let (address, fingerprint) = (receiving.address(), receiving.fingerprint());
    print::line(&if args.json {
        json!({ "address": address, "fingerprint": fingerprint.to_string() }).to_string()
    } else {
        let place = printed_address(address);
        format!("Answering pings at {place}. The fingerprint, for this time, is\n{fingerprint}")
    })?;
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
            "{} round trips: {:.3} ms at least, {:.3} ms on average, {:.3} ms at most.",
            all.len(),
            least * 1e3,
            mean * 1e3,
            most * 1e3
        ))?;
    }
    Ok(all)
}

/// A load test of the path at a multiple of the rate that the user gave.
struct LoadTrial {
    name: &'static str,
    rate_bps: u64,
    load: Load,
}

/// Tests one rate after another, until the verdict is final.
fn loads(
    args: &Ping,
    config: Config,
    connect: impl Fn(Config) -> Result<SendSession>,
) -> Result<(Vec<LoadTrial>, PathVerdict)> {
    let mut found: Vec<LoadTrial> = Vec::new();
    for (name, part) in [("a tenth of the rate", 0.1), ("the rate", 1.0), ("twice the rate", 2.0)] {
        let rate = args.network.rate_limit.scale(part);
        let sending = connect(Config { link: rate, keeps_credits: true, ..config })?;
        let settle = config.wait * 2 + SETTLE;
        let load = load(sending.connection(), rate, LOAD, settle).map_err(|why| plain(&why))?;
        found.push(LoadTrial { name, rate_bps: rate.get(), load });
        let all: Vec<Load> = found.iter().map(|of| of.load).collect();
        let verdict = PathVerdict::from_loads(&all);
        if verdict.is_final && (found.len() > 1 || !load.on_credits) {
            return Ok((found, verdict));
        }
    }
    let all: Vec<Load> = found.iter().map(|of| of.load).collect();
    Ok((found, PathVerdict::from_loads(&all)))
}

/// The result of the load tests of a path.
struct PathVerdict {
    /// Whether the path drops emulation packets rather than data; `None` if the test was inconclusive.
    honours: Option<bool>,
    /// Whether a load test at a higher rate would not change the verdict.
    is_final: bool,
    sentence: String,
}

impl PathVerdict {
    /// Judges load tests in ascending order of rate.
    fn from_loads(loads: &[Load]) -> Self {
        let said = |honours, is_final, sentence: &str| Self { honours, is_final, sentence: sentence.to_owned() };
        let Some((heaviest, lighter)) = loads.split_last() else {
            return said(None, false, "Nothing was measured.");
        };
        if heaviest.emulated == 0 {
            let why = "The peer offers no credits: it speaks QUIC without FlashPass.";
            return said(Some(false), true, why);
        }
        if heaviest.granted == 0 {
            let why = "The path does not honour the classes: no emulation packet was answered.";
            return said(Some(false), true, why);
        }
        let emulation = heaviest.emulation_loss();
        let data = heaviest.data_loss();
        if heaviest.emulated < LEAST_EMULATED {
            let why = "Not known: too few emulation packets were sent; give a higher --rate-limit.";
            return said(None, false, why);
        }
        if data > NEGLIGIBLE_LOSS && data >= emulation * SPARED_FRACTION {
            let why = "The path does not honour the classes: it drops data as well as emulation packets. They share a \
                       queue at the bottleneck, or their DSCP was erased before it.";
            return said(Some(false), true, why);
        }
        if heaviest.emulated * LEAST_SENT < heaviest.asked {
            let why = "Not known: far fewer emulation packets were sent than the rate asks for, since the hosts or the \
                       path carry much less; give a lower --rate-limit.";
            return said(None, true, why);
        }
        if emulation <= NEGLIGIBLE_LOSS {
            let why = "Not known: nothing was lost, so it was not seen what the path drops first.";
            return said(None, false, why);
        }
        let light = lighter.first().filter(|of| of.emulated >= LEAST_EMULATED);
        if light.is_some_and(|light| light.emulation_loss() > emulation / 2.0 + NEGLIGIBLE_LOSS) {
            let why = "Not known: emulation packets are lost whatever their rate is, as by chance or where others \
                       take the link.";
            return said(None, true, why);
        }
        let why = "The path honours the classes: when there are too many, it drops emulation packets and not data.";
        said(Some(true), true, why)
    }
}

fn json_of(found: &LoadTrial) -> serde_json::Value {
    json!({
        "rate_bps": found.rate_bps,
        "load": found.load,
        "emulation_loss": found.load.emulation_loss(),
        "data_loss": found.load.data_loss(),
    })
}

fn table(found: &[LoadTrial]) -> String {
    let header = "asked for, emulation packets, answered, lost %, data packets, lost %";
    let row = |of: &LoadTrial| {
        let load = &of.load;
        vec![
            of.name.to_owned(),
            load.emulated.to_string(),
            load.granted.to_string(),
            format!("{:.2}", load.emulation_loss() * 100.0),
            load.data_packets.to_string(),
            format!("{:.2}", load.data_loss() * 100.0),
        ]
    };
    render(&Grid::new(header, found.iter().map(row), 1), TableForm::Text(None))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(emulated: u64, granted: u64, data_packets: u64, data_lost: u64) -> Load {
        let asked = emulated;
        Load { asked, emulated, granted, data_packets, data_lost, on_credits: true, ..Load::default() }
    }

    fn verdict(loads: &[Load]) -> (Option<bool>, bool) {
        let verdict = PathVerdict::from_loads(loads);
        (verdict.honours, verdict.is_final)
    }

    #[test]
    fn a_path_honours_the_classes_if_it_drops_emulation_packets_and_not_data() {
        let light = load(1_000, 1_000, 1_000, 0);
        assert_eq!(verdict(&[light, load(10_000, 9_000, 9_000, 1)]), (Some(true), true));
        assert_eq!(verdict(&[light, load(10_000, 10_000, 9_000, 900)]), (Some(false), true));
        assert_eq!(verdict(&[light, load(10_000, 9_900, 9_000, 900)]), (Some(false), true));
        // Measured at a router with one queue of 100 packets.
        let one_queue = [load(755, 755, 740, 0), load(15_482, 11_823, 11_630, 2_462)];
        assert_eq!(verdict(&one_queue), (Some(false), true));
        assert_eq!(verdict(&[light, load(10_000, 9_000, 9_000, 60)]), (Some(true), true));
        assert_eq!(verdict(&[light, load(10_000, 0, 5, 0)]), (Some(false), true));
        assert_eq!(verdict(&[load(0, 0, 0, 0)]), (Some(false), true));
    }

    #[test]
    fn without_losses_or_with_losses_at_every_rate_the_verdict_is_open() {
        let light = load(1_000, 1_000, 1_000, 0);
        assert_eq!(verdict(&[light, load(10_000, 10_000, 9_000, 0)]), (None, false));
        assert_eq!(verdict(&[light, load(20, 10, 9, 0)]), (None, false));
        let by_chance = load(1_000, 900, 900, 0);
        assert_eq!(verdict(&[by_chance, load(10_000, 9_000, 9_000, 1)]), (None, true));
        assert_eq!(verdict(&[]), (None, false));
        // 10 Gb/s requested of a host that can send 5 % of it.
        let overloaded = Load { asked: 770_000, ..load(40_000, 36_000, 36_000, 0) };
        assert_eq!(verdict(&[light, overloaded]), (None, true));
    }
}

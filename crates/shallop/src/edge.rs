//! `edge`: programs for packets that pass this machine. Nothing but the device that is named is touched.

use std::io::IsTerminal;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use shallop_results::table::{Grid, significant};
use shallop_workbench::controllers;
use shallop_workbench::diagnostic::{Result, plain, with_help};
use shallop_workbench::edge::{self, Attached, Config, Counters, Flow, Role, State};

use crate::args::{Format, Printed};
use crate::controller_args::{Attach, CleanAction, Edge, EdgePrograms};
use crate::host::{CLEAR, INTERRUPTED, program_path, quoted};
use crate::print;

/// Attaches, lists, shows, changes, watches or detaches proxies.
pub fn edge(args: &Edge, stop: &AtomicBool) -> Result<ExitCode> {
    let EdgePrograms::Clean(action) = &args.programs;
    if let CleanAction::Attach(attach) = action
        && attach.print_unit
    {
        edge::check_device(&attach.iface)?;
        config(attach)?;
        print::line(&unit(attach)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    controllers::ready()?;
    controllers::keeps()?;
    match action {
        CleanAction::Attach(args) => attach(args)?,
        CleanAction::List { printed } => list(*printed)?,
        CleanAction::Show { iface, printed } => {
            Attached::of(Some(iface))?.iter().try_for_each(|of| show(of, *printed))?;
        }
        CleanAction::Set { iface, set } => {
            let all = Attached::of(Some(iface))?;
            let last_hop = all.iter().find(|of| of.role == Role::LastHop);
            last_hop.or(all.first()).map_or(Ok(()), |of| of.change(set))?;
        }
        CleanAction::Watch { iface, json, once, every } => loop {
            // It may have been detached.
            Attached::of(Some(iface))?.iter().try_for_each(|of| watch(of, *json, *once))?;
            if *once {
                break;
            }
            std::thread::park_timeout(*every);
            if stop.load(Ordering::Relaxed) {
                return Ok(ExitCode::from(INTERRUPTED));
            }
        },
        CleanAction::Detach { iface } => {
            Attached::of(Some(iface))?.iter().try_for_each(detach)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn detach(of: &Attached) -> Result<()> {
    let iface = &of.device;
    if of.detach()? {
        print::stderr(&format!("note: programs of others are at {iface}, so its clsact stays\n"));
    }
    if *iface != of.attached_as {
        let before = &of.attached_as;
        print::stderr(&format!("note: {iface} was called {before} when its proxy was attached\n"));
    }
    Ok(())
}

/// What a proxy is to be attached with.
fn config(args: &Attach) -> Result<Config> {
    let given = args.given();
    if let (Role::Edge, Some(option)) = (args.role.role(), given.first()) {
        let what =
            format!("{option} is for a last hop: an edge makes packets ECN-capable, and no more");
        return Err(with_help(&what, &"leave it out, or --role last-hop"));
    }
    if let (None, Some(option)) =
        (args.rate, given.iter().find(|of| ["--mark", "--buffer"].contains(of)))
    {
        let what = format!("{option} is for the shaper that --rate puts at the device");
        return Err(with_help(&what, &"--rate with what the shaper lets through"));
    }
    match &args.config {
        None => edge::config(&args.set),
        Some(scenario) => edge::of_scenario(scenario, args.scheme.as_deref()),
    }
}

fn attach(args: &Attach) -> Result<()> {
    let attached = Attached::attach(&args.iface, args.role.role(), &config(args)?, args.shaper())?;
    let iface = &attached.device;
    if attached.role == Role::Edge {
        return print::line(&said_of_edge(iface));
    }
    print::line(&match args.rate {
        Some(rate) => format!(
            "A proxy and a shaper with {} Mb/s are at {iface}.",
            significant(rate.get() as f64 / 1e6)
        ),
        None => format!("A proxy is at {iface}."),
    })?;
    print::line(&format!(
        "It controls flows whose SYNs both pass it from now on; others pass unchanged. Both ways, to the receivers and \
         back, have to lead over {iface}.\n\
         shallop edge clean watch {iface} shows its flows; shallop edge clean detach {iface} takes it away."
    ))
}

/// What is said of an edge that is attached.
fn said_of_edge(iface: &str) -> String {
    format!(
        "An edge is at {iface}. Packets of TCP that enter by it and are Not-ECT are ECN-capable from now on, so that \
         switches mark them.\nThe marks are answered at the last hop: shallop edge clean attach there, if that is not \
         done.\nshallop edge clean show {iface} counts packets; shallop edge clean detach {iface} takes it away."
    )
}

fn state(of: &Attached) -> &'static str {
    match of.state {
        State::Attached => "attached",
        State::DeviceGone => "the device is gone: detach it",
        State::Part => "part: detach it",
    }
}

fn list(printed: Printed) -> Result<()> {
    let all = Attached::of(None)?;
    if printed.format() == Format::Json {
        let row = |of: &Attached| json!({ "iface": of.device, "role": of.role.name(), "state": state(of) });
        return print::json(&all.iter().map(row).collect::<Vec<_>>());
    }
    if all.is_empty() {
        print::stderr("there is no proxy: 'shallop edge clean attach IFACE' puts one there\n");
        return Ok(());
    }
    let row = |of: &Attached| [&of.device, of.role.name(), state(of)].map(str::to_owned).to_vec();
    let header = ["iface", "role", "state"].map(str::to_owned).to_vec();
    print::grid(&Grid { header, rows: all.iter().map(row).collect(), words: 3 }, printed)
}

/// Counters with their names.
fn named(of: &Counters) -> [(&'static str, u64); 11] {
    [
        ("made_ect_packets", of.made_ect),
        ("data_segments", of.data),
        ("marked_segments", of.marked),
        ("cleared_packets", of.cleared),
        ("ack_packets", of.acks),
        ("reduced_windows", of.reduced),
        ("unknown_packets", of.unknown),
        ("other_packets", of.other),
        ("flows_without_room", of.no_room),
        ("failed_packets", of.failed),
        ("shaped_bytes", of.shaped_bytes),
    ]
}

fn show(of: &Attached, printed: Printed) -> Result<()> {
    let settings = of.settings()?;
    let (counters, flows) = of.counted()?;
    let is_edge = of.role == Role::Edge;
    let mut keys = if is_edge { Vec::new() } else { edge::written(&settings.config) };
    if let Some(shaper) = settings.shaper {
        keys.push(("rate".to_owned(), format!("{}Mbps", shaper.rate.get() as f64 / 1e6)));
        keys.push(("mark".to_owned(), format!("{}B", shaper.mark_above.get())));
    }
    if printed.format() == Format::Json {
        let object = |pairs: Vec<(String, Value)>| pairs.into_iter().collect::<Value>();
        let keys = keys.into_iter().map(|(key, value)| (key, Value::from(value))).collect();
        let counted = named(&counters).map(|(name, count)| (name.to_owned(), count.into()));
        return print::json(&json!({
            "iface": of.device,
            "role": of.role.name(),
            "keys": object(keys),
            "counters": object(counted.to_vec()),
            "flows": flows.len(),
        }));
    }
    let has = if is_edge { String::new() } else { format!(", {} flows", flows.len()) };
    print::line(&format!("{} ({}){has}", of.device, of.role.name()))?;
    if !is_edge {
        let rows = keys.into_iter().map(|(key, value)| vec![key, value]).collect();
        let header = ["key", "value"].map(str::to_owned).to_vec();
        print::grid(&Grid { header, rows, words: 2 }, printed)?;
    }
    let row = |(name, count): (&str, u64)| vec![name.to_owned(), count.to_string()];
    let header = ["counted", "since it was attached"].map(str::to_owned).to_vec();
    let rows = named(&counters).map(row).to_vec();
    print::grid(&Grid { header, rows, words: 1 }, printed)
}

fn json_of(of: &Attached, flow: &Flow) -> Value {
    json!({
        "iface": of.device,
        "sender": flow.sender.to_string(),
        "receiver": flow.receiver.to_string(),
        "controlled": flow.is_controlled,
        "window_segments": flow.window_segments,
        "alpha": flow.alpha,
        "slow_start": flow.is_slow_start,
        "rtt_s": flow.rtt.map(shallop_core::Span::as_secs_f64),
        "segment_bytes": flow.segment_bytes,
        "bytes": flow.bytes,
        "data_segments": flow.data,
        "marked_segments": flow.marked,
        "reduced_windows": flow.reduced,
    })
}

fn watch(of: &Attached, json: bool, once: bool) -> Result<()> {
    let (_, flows) = of.counted()?;
    if json {
        return flows.iter().try_for_each(|flow| print::line(&json_of(of, flow).to_string()));
    }
    let anew = if std::io::stdout().is_terminal() && !once { CLEAR } else { "" };
    print::line(&format!("{anew}{} flows at {} ({})", flows.len(), of.device, of.role.name()))?;
    print::grid(&table(&flows), Printed::default())
}

/// The flows of a proxy.
fn table(flows: &[Flow]) -> Grid {
    let header =
        ["from", "to", "state", "window", "alpha", "RTT ms", "MB", "segments", "marked", "reduced"];
    let row = |of: &Flow| {
        let state = match (of.is_controlled, of.is_slow_start) {
            (false, _) => "left alone",
            (true, true) => "slow start",
            (true, false) => "cubic",
        };
        let rtt = of.rtt.map_or_else(|| "-".to_owned(), |rtt| significant(rtt.as_secs_f64() * 1e3));
        let counts = [of.data, of.marked, of.reduced].map(|count| count.to_string());
        [of.sender.to_string(), of.receiver.to_string(), state.to_owned()]
            .into_iter()
            .chain([of.window_segments, of.alpha].map(significant))
            .chain([rtt, significant(of.bytes as f64 / 1e6)])
            .chain(counts)
            .collect()
    };
    let rows = flows.iter().map(row).collect();
    Grid { header: header.map(str::to_owned).to_vec(), rows, words: 3 }
}

/// A unit for systemd that attaches what the arguments say, as soon as the device is there.
fn unit(args: &Attach) -> Result<String> {
    let iface = &args.iface;
    let mut words = vec![iface.clone(), "--role".to_owned(), args.role.role().name().to_owned()];
    let set = args.set.iter().map(|(key, value)| format!("{key}={value}"));
    words.extend(set.flat_map(|set| ["--set".to_owned(), set]));
    if let Some(config) = &args.config {
        let config =
            std::path::absolute(config).map_err(|why| plain(&format!("--config: {why}")))?;
        words.extend(["--config".to_owned(), config.display().to_string()]);
    }
    words.extend(args.scheme.iter().flat_map(|name| ["--scheme".to_owned(), name.clone()]));
    if let Some(of) = args.shaper() {
        let (shaper, buffer) = of.resolved()?;
        let values = [
            ("--rate", format!("{}bps", shaper.rate.get())),
            ("--mark", format!("{}B", shaper.mark_above.get())),
            ("--buffer", format!("{}B", buffer.get())),
        ];
        words.extend(values.into_iter().flat_map(|(key, value)| [key.to_owned(), value]));
    }
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    let shallop = program_path()?;
    // A unit of a device has its path, in which - has a meaning.
    let device = iface.replace('-', "\\x2d");
    Ok(format!(
        "[Unit]
Description=CLEAN at {iface}
RequiresMountsFor=/sys/fs/bpf
BindsTo=sys-subsystem-net-devices-{device}.device
After=sys-subsystem-net-devices-{device}.device

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart={shallop} edge clean attach {words}
ExecStop={shallop} edge clean detach {iface}

[Install]
WantedBy=multi-user.target",
        words = words.join(" ")
    ))
}

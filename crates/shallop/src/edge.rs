//! `edge`: packet programs at network devices. Only the named device is changed.

use crate::args::{Format, PrintOptions};
use crate::controller_args::{Attach, CleanAction, Edge, EdgePrograms, SettingsOptions};
use crate::watch::watch;
use crate::{print, systemd};
use serde_json::{Value, json};
use shallop_results::table::{Grid, significant};
use shallop_workbench::controllers;
use shallop_workbench::diagnostic::{Result, with_help};
use shallop_workbench::edge::{self, AttachedProxy, Config, Counters, Flow, ProxyRole, ProxyState};
use std::{process::ExitCode, sync::atomic::AtomicBool};

pub fn edge(args: &Edge, stop: &AtomicBool) -> Result<ExitCode> {
    let EdgePrograms::Clean(action) = &args.programs;
    if let CleanAction::Attach(attach) = action
        && attach.print_unit
    {
        edge::check_device(&attach.iface)?;
        config(attach)?;
        return print::line(&unit(attach)?).map(|()| ExitCode::SUCCESS);
    }
    controllers::check_machine()?;
    controllers::check_file_system()?;
    match action {
        CleanAction::Attach(args) => attach(args)?,
        CleanAction::List { printed } => list(*printed)?,
        CleanAction::Show { iface, printed } => {
            AttachedProxy::find(Some(iface))?.iter().try_for_each(|of| show(of, *printed))?;
        }
        CleanAction::Set { iface, set } => {
            let all = AttachedProxy::find(Some(iface))?;
            let last_hop = all.iter().find(|of| of.role == ProxyRole::LastHop);
            last_hop.or(all.first()).map_or(Ok(()), |of| of.change(set))?;
        }
        CleanAction::Watch { iface, options } => {
            return watch(options, stop, |clear| {
                // The proxy may have been detached meanwhile.
                let all = AttachedProxy::find(Some(iface))?;
                all.iter().try_for_each(|of| show_flows(of, options.json, clear))
            });
        }
        CleanAction::Detach { iface } => {
            AttachedProxy::find(Some(iface))?.iter().try_for_each(detach)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn detach(of: &AttachedProxy) -> Result<()> {
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

/// Reads the settings of a proxy to attach, from options or from a scenario.
///
/// # Errors
/// If an option does not apply to the role or needs `--rate`.
fn config(args: &Attach) -> Result<Config> {
    let given = args.given();
    if let (ProxyRole::Edge, Some(option)) = (args.role.role(), given.first()) {
        let what = format!("{option} is for a last hop: an edge makes packets ECN-capable, and no more");
        return Err(with_help(&what, &"leave it out, or --role last-hop"));
    }
    if let (None, Some(option)) = (args.rate, given.iter().find(|of| ["--mark", "--buffer"].contains(of))) {
        let what = format!("{option} is for the shaper that --rate puts at the device");
        return Err(with_help(&what, &"--rate with what the shaper lets through"));
    }
    let SettingsOptions { set, config, scheme } = &args.settings;
    match config {
        None => edge::config(set),
        Some(scenario) => edge::of_scenario(scenario, scheme.as_deref()),
    }
}

fn attach(args: &Attach) -> Result<()> {
    let attached = AttachedProxy::attach(&args.iface, args.role.role(), &config(args)?, args.shaper())?;
    let iface = &attached.device;
    if attached.role == ProxyRole::Edge {
        return print::line(&edge_instructions(iface));
    }
    print::line(&match args.rate {
        Some(rate) => {
            format!("A proxy and a shaper with {} Mb/s are at {iface}.", significant(rate.get() as f64 / 1e6))
        }
        None => format!("A proxy is at {iface}."),
    })?;
    print::line(&format!(
        "It controls flows whose SYNs both pass it from now on; others pass unchanged. Both ways, to the receivers and \
         back, have to lead over {iface}.\n\
         shallop edge clean watch {iface} shows its flows; shallop edge clean detach {iface} takes it away."
    ))
}

fn edge_instructions(iface: &str) -> String {
    format!(
        "An edge is at {iface}. Packets of TCP that enter by it and are Not-ECT are ECN-capable from now on, so that \
         switches mark them.\nThe marks are answered at the last hop: shallop edge clean attach there, if that is not \
         done.\nshallop edge clean show {iface} counts packets; shallop edge clean detach {iface} takes it away."
    )
}

fn state(of: &AttachedProxy) -> &'static str {
    match of.state {
        ProxyState::Attached => "attached",
        ProxyState::DeviceGone => "the device is gone: detach it",
        ProxyState::Part => "part: detach it",
    }
}

fn list(printed: PrintOptions) -> Result<()> {
    let all = AttachedProxy::find(None)?;
    if printed.format() == Format::Json {
        let row = |of: &AttachedProxy| json!({ "iface": of.device, "role": of.role.name(), "state": state(of) });
        return print::json(&all.iter().map(row).collect::<Vec<_>>());
    }
    if all.is_empty() {
        print::stderr("there is no proxy: 'shallop edge clean attach IFACE' puts one there\n");
        return Ok(());
    }
    let row = |of: &AttachedProxy| [&of.device, of.role.name(), state(of)].map(str::to_owned).to_vec();
    print::grid(&Grid::new("iface, role, state", all.iter().map(row), 3), printed)
}

/// The counters of a proxy with their names in JSON and tables.
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

fn show(of: &AttachedProxy, printed: PrintOptions) -> Result<()> {
    let settings = of.settings()?;
    let (counters, flows) = of.counted()?;
    let is_edge = of.role == ProxyRole::Edge;
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
        let rows = keys.into_iter().map(|(key, value)| vec![key, value]);
        print::grid(&Grid::new("key, value", rows, 2), printed)?;
    }
    let row = |(name, count): (&str, u64)| vec![name.to_owned(), count.to_string()];
    print::grid(&Grid::new("counted, since it was attached", named(&counters).map(row), 1), printed)
}

fn json_of(of: &AttachedProxy, flow: &Flow) -> Value {
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

fn show_flows(of: &AttachedProxy, json: bool, clear: &str) -> Result<()> {
    let (_, flows) = of.counted()?;
    if json {
        return flows.iter().try_for_each(|flow| print::line(&json_of(of, flow).to_string()));
    }
    print::line(&format!("{clear}{} flows at {} ({})", flows.len(), of.device, of.role.name()))?;
    print::grid(&table(&flows), PrintOptions::default())
}

fn table(flows: &[Flow]) -> Grid {
    let header = "from, to, state, window, alpha, RTT ms, MB, segments, marked, reduced";
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
    Grid::new(header, flows.iter().map(row), 3)
}

/// Makes a systemd unit that attaches the proxy as soon as the device appears.
fn unit(args: &Attach) -> Result<String> {
    let iface = &args.iface;
    let role = args.role.role().name();
    let attach = ["edge", "clean", "attach", iface, "--role", role];
    let mut words = attach.map(str::to_owned).to_vec();
    words.extend(systemd::settings(&args.settings)?);
    if let Some(of) = args.shaper() {
        let (shaper, buffer) = of.resolved()?;
        let values = [
            ("--rate", format!("{}bps", shaper.rate.get())),
            ("--mark", format!("{}B", shaper.mark_above.get())),
            ("--buffer", format!("{}B", buffer.get())),
        ];
        words.extend(values.into_iter().flat_map(|(key, value)| [key.to_owned(), value]));
    }
    // In the unit name of a device, - separates the parts of its path, and % begins a specifier.
    let escaped = iface.replace('\\', "\\x5c").replace('-', "\\x2d").replace('%', "\\x25");
    let device = format!("sys-subsystem-net-devices-{escaped}.device");
    let order = format!("BindsTo={device}\nAfter={device}");
    systemd::unit(&format!("CLEAN at {iface}"), &order, &words, &["edge", "clean", "detach", iface])
}

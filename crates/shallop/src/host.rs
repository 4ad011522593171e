//! `host`: congestion controllers in the kernel of this machine. The command loads programs and pins them, and changes
//! nothing else: sysctl, routes and sockets decide which connections use a controller.

use crate::args::{Format, PrintOptions};
use crate::controller_args::{Host, HostAction, Load};
use crate::watch::watch;
use crate::{print, systemd};
use serde_json::{Value, json};
use shallop_results::table::{Grid, significant};
use shallop_workbench::controllers::{
    self, ConnectionStats, Ecn, Law, LoadedController, Pinned, Prefix, Program, Settings, written,
};
use shallop_workbench::diagnostic::Result;
use std::{process::ExitCode, sync::atomic::AtomicBool};

/// The sysctl with the default controller of this network namespace.
const DEFAULT: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

pub fn host(args: &Host, stop: &AtomicBool) -> Result<ExitCode> {
    if let HostAction::Load(load) = &args.action
        && load.print_unit
    {
        controllers::check(&law(load)?, name_of(load), &load.to)?;
        return print::line(&unit(load)?).map(|()| ExitCode::SUCCESS);
    }
    controllers::check_machine()?;
    controllers::check_file_system()?;
    match &args.action {
        HostAction::Load(args) => load(args)?,
        HostAction::List { printed } => list(*printed)?,
        HostAction::Show { name, printed } => show(name, *printed)?,
        HostAction::Set { name, set, to } => LoadedController::named(name)?.change(set, to)?,
        HostAction::Watch { name, options } => {
            let loaded = LoadedController::named(name)?;
            let connections = loaded.watch()?;
            return watch(options, stop, |clear| {
                // The controller may have been unloaded meanwhile.
                LoadedController::named(name)?;
                show_connections(&loaded.name, &connections.connections()?, options.json, clear)
            });
        }
        HostAction::Unload { name } => unload(name)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Reads the settings of the controller to load, from options or from a scenario.
fn law(args: &Load) -> Result<Law> {
    match &args.settings.config {
        None => controllers::law(args.program, &args.options()),
        Some(scenario) => {
            let (capacity, scheme) = (args.capacity.as_deref(), args.settings.scheme.as_deref());
            controllers::of_scenario(scenario, capacity, args.program, scheme)
        }
    }
}

fn name_of(args: &Load) -> &str {
    args.name.as_deref().unwrap_or(args.program.default_name())
}

fn load(args: &Load) -> Result<()> {
    let (name, law) = (name_of(args), law(args)?);
    LoadedController::load(&law, name, &args.to, args.ecn())?;
    if controllers::skips_programs() {
        print::stderr(
            "warning: this kernel is patched to skip BPF programs while process 1 has the processor: connections then \
             get arbitrary windows and lose packets. Use the controller only to try the command.\n",
        );
    }
    print::line(&usage(args.program, name, args.ecn()))
}

/// Formats the instructions that are printed after a controller was loaded.
fn usage(program: Program, name: &str, ecn: Ecn) -> String {
    let receivers = match program {
        Program::Vegas => "Receivers need nothing.".to_owned(),
        _ if ecn == Ecn::BySysctl => {
            "ECN is negotiated if net.ipv4.tcp_ecn is 1 here, or a route has features ecn, and the receiver allows it."
                .to_owned()
        }
        Program::Dctcp | Program::Gemini | Program::EcnStar => format!(
            "Receivers have to have {name} as well, by one of these ways: a server without it refuses ECN to a sender \
             with it."
        ),
    };
    let ecn = if program == Program::Vegas { "" } else { " features ecn" };
    let own = program.name();
    let called = if name == own { name.to_owned() } else { format!("{own}, under the name {name},") };
    format!(
        "{called} is loaded, and used

  by new connections of this network namespace:
      sysctl -w net.ipv4.tcp_congestion_control={name}
  or by those to some destinations:
      ip route replace PREFIX via GATEWAY dev IFACE congctl {name}{ecn}
  or by one socket:
      setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, \"{name}\", {length})

Open connections stay as they are. A route that names {name} from before gives it to new connections at once.
{receivers}
'shallop host watch {name}' shows the connections. 'shallop host unload {name}' takes it out at once, also while a route
names it: new connections by that route then have the default controller.",
        length = name.len()
    )
}

fn list(printed: PrintOptions) -> Result<()> {
    let all = LoadedController::all();
    let state = |of: &LoadedController| match of.pinned {
        Pinned::Whole(program) => (program.name(), "loaded"),
        Pinned::Part => ("", "part: unload it"),
    };
    if printed.format() == Format::Json {
        let row = |of: &LoadedController| {
            let (program, state) = state(of);
            json!({ "name": of.name, "program": program, "state": state })
        };
        return print::json(&all.iter().map(row).collect::<Vec<_>>());
    }
    if all.is_empty() {
        print::stderr("nothing is loaded: 'shallop host load' loads a controller\n");
        return Ok(());
    }
    let row = |of: &LoadedController| {
        let (program, state) = state(of);
        [&of.name, program, state].map(str::to_owned).to_vec()
    };
    print::grid(&Grid::new("name, program, state", all.iter().map(row), 3), printed)
}

fn show(name: &str, printed: PrintOptions) -> Result<()> {
    let loaded = LoadedController::named(name)?;
    let name = &*loaded.name;
    let Settings { base, to } = loaded.settings()?;
    let others = if to.is_empty() { "all destinations" } else { "all others" };
    let columns: Vec<_> = base
        .iter()
        .map(|set| (others.to_owned(), set))
        .chain(to.iter().map(|(prefix, set)| (prefix.to_string(), set)))
        .map(|(to, set)| (to, written(set)))
        .collect();
    let program = loaded.program()?.name();
    if printed.format() == Format::Json {
        let of = |(to, set): &(String, Vec<(String, String)>)| {
            let keys = set.iter().map(|(key, value)| (key.clone(), Value::from(value.as_str())));
            json!({ "to": to, "keys": keys.collect::<serde_json::Map<_, _>>() })
        };
        let settings: Vec<Value> = columns.iter().map(of).collect();
        return print::json(&json!({ "name": name, "program": program, "settings": settings }));
    }
    let Some((_, first)) = columns.first() else {
        return print::line(&format!("{name} is {program}, of which nothing can be set"));
    };
    let header = std::iter::once("key".to_owned()).chain(columns.iter().map(|(to, _)| to.clone()));
    let row = |at: usize| {
        let key = std::iter::once(first[at].0.clone());
        key.chain(columns.iter().map(|(_, set)| set[at].1.clone())).collect()
    };
    let rows = (0..first.len()).map(row).collect();
    print::grid(&Grid { header: header.collect(), rows, words: 1 }, printed)
}

fn show_connections(name: &str, connections: &[ConnectionStats], json: bool, clear: &str) -> Result<()> {
    #[derive(serde::Serialize)]
    struct Line<'a> {
        controller: &'a str,
        #[serde(flatten)]
        connection: &'a ConnectionStats,
    }
    if !json {
        print::line(&format!("{clear}{} connections of {name}", connections.len()))?;
        return print::grid(&table(connections), PrintOptions::default());
    }
    connections.iter().try_for_each(|connection| print::json_line(&Line { controller: name, connection }))
}

fn table(connections: &[ConnectionStats]) -> Grid {
    let header = "from, to, cwnd, alpha, F, h, RTT ms, base ms, delivered, marked, resent, cuts: marks, delay, losses";
    let row = |of: &ConnectionStats| {
        let figures = [
            f64::from(of.cwnd_segments),
            of.alpha,
            of.scale_factor,
            of.increase_segments,
            of.srtt_s * 1e3,
            of.rtt_base_s * 1e3,
        ];
        let counts = [of.delivered_segments, of.marked_segments, of.resent_segments]
            .into_iter()
            .chain([of.cuts_for_marks, of.cuts_for_delay, of.cuts_for_losses].map(u32::from));
        [of.local.to_string(), of.remote.to_string()]
            .into_iter()
            .chain(figures.map(significant))
            .chain(counts.map(|count| count.to_string()))
            .collect()
    };
    Grid::new(header, connections.iter().map(row), 2)
}

fn unload(name: &str) -> Result<()> {
    let loaded = LoadedController::named(name)?;
    loaded.unload()?;
    let name = &*loaded.name;
    let default = std::fs::read_to_string(DEFAULT).unwrap_or_default();
    if default.trim() == name {
        print::stderr(&format!(
            "note: net.ipv4.tcp_congestion_control is still {name} here, and the kernel keeps it for new connections \
             until another one is set: sysctl -w net.ipv4.tcp_congestion_control=cubic\n"
        ));
    }
    Ok(())
}

/// Makes a systemd unit that loads the controller.
fn unit(args: &Load) -> Result<String> {
    let mut words = ["host", "load", args.program.name()].map(str::to_owned).to_vec();
    words.extend(args.name.iter().flat_map(|name| ["--name".to_owned(), name.clone()]));
    let named = args.named().into_iter().map(|(key, value)| [format!("--{key}"), value]);
    words.extend(named.flatten());
    words.extend(systemd::settings(&args.settings)?);
    words.extend(args.ecn_by_sysctl.then(|| "--ecn-by-sysctl".to_owned()));
    words.extend(args.to.iter().flat_map(|to: &Prefix| ["--to".to_owned(), to.to_string()]));
    let name = name_of(args);
    let order = "Before=network-pre.target\nWants=network-pre.target";
    systemd::unit(&format!("Congestion controller {name}"), order, &words, &["host", "unload", name])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_name_the_controller() {
        let said = usage(Program::EcnStar, "mine", Ecn::Required);
        assert!(said.contains("congctl mine features ecn") && said.contains("\"mine\", 4)"), "{said}");
        assert!(said.contains("Receivers have to have mine"), "{said}");
        assert!(said.starts_with("ecn-star, under the name mine, is loaded"), "{said}");
        assert!(said.contains("also while a route\nnames it"), "{said}");
        assert!(!usage(Program::Vegas, "mine", Ecn::Required).contains("ecn"));
        let by_sysctl = usage(Program::Gemini, "gemini", Ecn::BySysctl);
        assert!(by_sysctl.contains("net.ipv4.tcp_ecn is 1") && !by_sysctl.contains("have to"), "{by_sysctl}");
    }
}

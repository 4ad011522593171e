//! `host`: congestion controllers in the kernel of this machine. Nothing but these programs and their pins is touched:
//! which connections use a controller is for sysctl, routes and sockets to say.

use std::io::IsTerminal;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use shallop_results::table::{Grid, significant};
use shallop_workbench::controllers::{
    self, Law, Loaded, Pinned, Prefix, Program, Settings, Told, written,
};
use shallop_workbench::diagnostic::{Result, plain};

use crate::args::{Format, Printed};
use crate::controller_args::{Host, HostAction, Load};
use crate::print;

/// Where a terminal begins anew.
pub const CLEAR: &str = "\u{1b}[H\u{1b}[J";
/// The exit code of a command that was interrupted.
pub const INTERRUPTED: u8 = 130;
/// The default controller of this network namespace.
const DEFAULT: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

/// Loads, lists, shows, changes, watches or unloads controllers.
pub fn host(args: &Host, stop: &AtomicBool) -> Result<ExitCode> {
    if let HostAction::Load(load) = &args.action
        && load.print_unit
    {
        controllers::check(&law(load)?, name_of(load), &load.to)?;
        print::line(&unit(load)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    controllers::ready()?;
    controllers::keeps()?;
    match &args.action {
        HostAction::Load(args) => load(args)?,
        HostAction::List { printed } => list(*printed)?,
        HostAction::Show { name, printed } => show(name, *printed)?,
        HostAction::Set { name, set, to } => Loaded::named(name)?.change(set, to)?,
        HostAction::Watch { name, json, once, every } => {
            let loaded = Loaded::named(name)?;
            let (watched, name) = (loaded.watch()?, &*loaded.name);
            loop {
                let connections = watched.connections()?;
                if *json {
                    connections.iter().try_for_each(|told| json_line(name, told))?;
                } else {
                    let anew = if std::io::stdout().is_terminal() && !once { CLEAR } else { "" };
                    let printed = Printed::default();
                    print::line(&format!("{anew}{} connections of {name}", connections.len()))?;
                    print::grid(&table(&connections), printed)?;
                }
                if *once {
                    break;
                }
                std::thread::park_timeout(*every);
                if stop.load(Ordering::Relaxed) {
                    return Ok(ExitCode::from(INTERRUPTED));
                }
                // It may have been unloaded.
                Loaded::named(name)?;
            }
        }
        HostAction::Unload { name } => unload(name)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// What a controller is to be loaded with.
fn law(args: &Load) -> Result<Law> {
    match &args.config {
        None => controllers::law(args.program, &args.options()),
        Some(scenario) => {
            let wanted = (args.program, args.scheme.as_deref());
            controllers::of_scenario(scenario, args.capacity.as_deref(), wanted)
        }
    }
}

fn name_of(args: &Load) -> &str {
    args.name.as_deref().unwrap_or(args.program.default_name())
}

fn load(args: &Load) -> Result<()> {
    let (name, law) = (name_of(args), law(args)?);
    Loaded::load(&law, name, &args.to)?;
    if controllers::skips_programs() {
        print::stderr(
            "warning: this kernel was changed to leave programs out while process 1 has the processor: connections \
             then get any window, and lose what they send. Do not use the controller but to try the command.\n",
        );
    }
    print::line(&usage(args.program, name))
}

/// How a controller that is loaded is used.
fn usage(program: Program, name: &str) -> String {
    let receivers = match program {
        Program::Vegas => "Receivers need nothing.".to_owned(),
        Program::Dctcp | Program::Gemini | Program::EcnStar => format!(
            "Receivers have to have {name} as well, by one of these ways: a server without it refuses ECN to a sender \
             with it."
        ),
    };
    let ecn = if program == Program::Vegas { "" } else { " features ecn" };
    let own = program.name();
    let called =
        if name == own { name.to_owned() } else { format!("{own}, under the name {name},") };
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

fn list(printed: Printed) -> Result<()> {
    let all = Loaded::all();
    let state = |of: &Loaded| match of.pinned {
        Pinned::Whole(program) => (program.name(), "loaded"),
        Pinned::Part => ("", "part: unload it"),
    };
    if printed.format() == Format::Json {
        let row = |of: &Loaded| {
            let (program, state) = state(of);
            json!({ "name": of.name, "program": program, "state": state })
        };
        return print::json(&all.iter().map(row).collect::<Vec<_>>());
    }
    if all.is_empty() {
        print::stderr("nothing is loaded: 'shallop host load' loads a controller\n");
        return Ok(());
    }
    let row = |of: &Loaded| {
        let (program, state) = state(of);
        [&of.name, program, state].map(str::to_owned).to_vec()
    };
    let header = ["name", "program", "state"].map(str::to_owned).to_vec();
    print::grid(&Grid { header, rows: all.iter().map(row).collect(), words: 3 }, printed)
}

fn show(name: &str, printed: Printed) -> Result<()> {
    let loaded = Loaded::named(name)?;
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

fn json_line(name: &str, told: &Told) -> Result<()> {
    #[derive(serde::Serialize)]
    struct Line<'a> {
        controller: &'a str,
        #[serde(flatten)]
        told: &'a Told,
    }
    let text = serde_json::to_string(&Line { controller: name, told });
    print::line(&text.map_err(|why| plain(&format!("could not be put as JSON: {why}")))?)
}

/// The connections of a controller.
fn table(connections: &[Told]) -> Grid {
    let header = [
        "from",
        "to",
        "cwnd",
        "alpha",
        "F",
        "h",
        "RTT ms",
        "base ms",
        "delivered",
        "marked",
        "resent",
        "cuts: marks",
        "delay",
        "losses",
    ];
    let row = |of: &Told| {
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
    let rows = connections.iter().map(row).collect();
    Grid { header: header.map(str::to_owned).to_vec(), rows, words: 2 }
}

fn unload(name: &str) -> Result<()> {
    let loaded = Loaded::named(name)?;
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

/// A unit for systemd that loads what the arguments say.
fn unit(args: &Load) -> Result<String> {
    let mut words = vec![args.program.name().to_owned()];
    words.extend(args.name.iter().flat_map(|name| ["--name".to_owned(), name.clone()]));
    let named = args.named().into_iter().map(|(key, value)| [format!("--{key}"), value]);
    words.extend(named.flatten());
    let set = args.set.iter().map(|(key, value)| format!("{key}={value}"));
    words.extend(set.flat_map(|set| ["--set".to_owned(), set]));
    if let Some(config) = &args.config {
        let config =
            std::path::absolute(config).map_err(|why| plain(&format!("--config: {why}")))?;
        words.extend(["--config".to_owned(), config.display().to_string()]);
    }
    words.extend(args.scheme.iter().flat_map(|name| ["--scheme".to_owned(), name.clone()]));
    words.extend(args.to.iter().flat_map(|to: &Prefix| ["--to".to_owned(), to.to_string()]));
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    let (shallop, name) = (program_path()?, name_of(args));
    Ok(format!(
        "[Unit]
Description=Congestion controller {name}
RequiresMountsFor=/sys/fs/bpf
Before=network-pre.target
Wants=network-pre.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart={shallop} host load {words}
ExecStop={shallop} host unload {name}

[Install]
WantedBy=multi-user.target",
        words = words.join(" ")
    ))
}

/// Where this program is, as a word of a command line of systemd.
pub fn program_path() -> Result<String> {
    let path = std::env::current_exe().map_err(|why| plain(&format!("this program: {why}")))?;
    Ok(quoted(&path.display().to_string()))
}

/// A word of a command line of systemd.
pub fn quoted(word: &str) -> String {
    let escaped =
        word.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%").replace('$', "$$");
    if word.chars().any(|letter| letter.is_whitespace() || "\"'\\;".contains(letter)) {
        format!("\"{escaped}\"")
    } else {
        escaped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_units_are_quoted_as_systemd_reads_them() {
        for (word, wanted) in [
            ("mark=50pkt", "mark=50pkt"),
            ("/a b/x.toml", "\"/a b/x.toml\""),
            ("100%", "100%%"),
            ("$HOME", "$$HOME"),
            ("a\"b", "\"a\\\"b\""),
        ] {
            assert_eq!(quoted(word), wanted);
        }
    }

    #[test]
    fn what_is_said_of_use_names_the_controller() {
        let said = usage(Program::EcnStar, "mine");
        assert!(
            said.contains("congctl mine features ecn") && said.contains("\"mine\", 4)"),
            "{said}"
        );
        assert!(said.contains("Receivers have to have mine"), "{said}");
        assert!(said.starts_with("ecn-star, under the name mine, is loaded"), "{said}");
        assert!(said.contains("also while a route\nnames it"), "{said}");
        assert!(!usage(Program::Vegas, "mine").contains("ecn"));
    }
}

//! `config`: configurations of real switches from a scenario.

use crate::{args::ScenarioOptions, input::Input, print};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use shallop_device::{Os, Written, eos};
use shallop_plan::ResolvedNetwork;
use shallop_scenario::configure::{Configured, devices};
use shallop_workbench::choice::choose;
use shallop_workbench::diagnostic::{Result, plain, with_help};
use shallop_workbench::write_file;
use std::collections::BTreeSet;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct Config {
    #[command(flatten)]
    pub source: ScenarioOptions,
    /// Configure for these schemes, separated by commas or with the option repeated; default: all, one after the other
    #[arg(long, value_name = "NAME")]
    pub schemes: Vec<String>,
    /// The operating system of the switches
    #[arg(long, value_name = "OS", value_parser = os(&Os::ALL))]
    pub os: Os,
    /// Configure only this switch, or those with the settings [switch.NAME]; default: one of each kind
    #[arg(long, value_name = "NAME")]
    pub switch: Option<String>,
    /// The file to write; standard output unless given
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// With --os eos, write the data (YAML) that pyavd renders to the configuration
    #[arg(long)]
    pub structured: bool,
}

/// Accepts the names of these systems.
pub fn os(known: &'static [Os]) -> impl TypedValueParser<Value = Os> {
    let names: Vec<&str> = known.iter().map(|os| os.name()).collect();
    PossibleValuesParser::new(names).map(|name| *Os::ALL.iter().find(|os| os.name() == name).unwrap_or(&Os::Eos))
}

pub fn config(args: &Config) -> Result<()> {
    if args.structured && args.os != Os::Eos {
        return Err(plain(&"--structured: only EOS has data for pyavd"));
    }
    let mut study = Input::read(&args.source.scenario)?.study(args.source.options())?;
    choose(&mut study, &args.schemes)?;
    let seed = study.seeds.first().copied().unwrap_or_default();
    let (mut text, mut notes) = (String::new(), Vec::new());
    for point in study.points.iter().take(1) {
        let common = ResolvedNetwork::new(&point.plan, seed).map_err(|why| plain(&why))?;
        for (scheme, name) in point.plan.schemes.iter().map(|scheme| &scheme.name).enumerate() {
            let run = common.scheme(scheme).map_err(|why| plain(&why))?;
            let found = devices(&run, args.os, args.switch.as_deref());
            if found.is_empty() {
                let asked = args.switch.as_deref().unwrap_or_default();
                let nodes: BTreeSet<u32> = run.network.switch_ports().map(|it| run.network.graph.near(it).0).collect();
                let names: Vec<&str> = nodes.iter().map(|&node| run.network.names[node as usize].as_str()).collect();
                let help = format!("switches: {}", names.join(", "));
                return Err(with_help(&format!("there is no switch \"{asked}\""), &help));
            }
            for mut one in found {
                let switch = one.device.name.clone();
                one.device.name = format!("switch {switch}, scheme {name}");
                let written = if args.structured { eos::structured(&one.device) } else { args.os.write(&one.device) };
                text.push_str(&written.text);
                notes.extend(notes_on(&switch, name, &one, &written));
            }
        }
    }
    print::notes(&notes);
    match &args.out {
        Some(path) => write_file(path, text.as_bytes()).map_err(|why| plain(&why)),
        None => print::line(text.trim_end()),
    }
}

fn notes_on(switch: &str, scheme: &str, one: &Configured, written: &Written) -> Vec<String> {
    let same = (!one.same.is_empty()).then(|| format!("{switch}: equal ports at {}", one.same.join(", ")));
    let notes = one.notes.iter().chain(&written.notes).map(|note| format!("{switch}, {scheme}: {note}"));
    same.into_iter().chain(notes).collect()
}

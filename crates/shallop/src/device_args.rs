//! Command-line arguments of `config` and `import`.

use crate::scenario_args::ScenarioOptions;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use shallop_device::Os;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct Config {
    #[command(flatten)]
    pub source: ScenarioOptions,
    /// Configure for these schemes, separated by commas or with the option repeated; default: all, one after the other
    #[arg(long, value_name = "NAME")]
    pub schemes: Vec<String>,
    /// The operating system of the switches
    #[arg(long, value_name = "OS", value_parser = os(false))]
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

#[derive(Debug, Args)]
pub struct Import {
    /// The operating system of the switch
    #[arg(value_name = "OS", value_parser = os(true))]
    pub os: Os,
    /// The running configuration of the switch
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The NAME of [switch.NAME]
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub name: String,
    /// The chip of the switch, one of `shallop chips`, for the size of its memory
    #[arg(long, value_name = "CHIP")]
    pub chip: Option<String>,
    /// A CSV file with the links of the network, from LLDP or an inventory; docs/topologies.md has the columns
    #[arg(long, value_name = "FILE")]
    pub links: Option<PathBuf>,
}

/// Accepts the names of systems, or only those whose configurations are read.
pub fn os(is_read: bool) -> impl TypedValueParser<Value = Os> {
    let known = Os::ALL.into_iter().filter(move |os| !is_read || os.is_read());
    let names: Vec<&str> = known.map(Os::name).collect();
    PossibleValuesParser::new(names).map(|name| *Os::ALL.iter().find(|os| os.name() == name).unwrap_or(&Os::Eos))
}

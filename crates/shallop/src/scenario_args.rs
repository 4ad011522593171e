//! Command-line arguments that name a scenario and change its keys.

use clap::Args;
use shallop_scenario::Options;
use shallop_workbench::arguments;
use std::path::PathBuf;

/// The key that `--record flows` sets.
const RECORD: &str = "record.flows";

/// The scenario of a command, and changes of its keys and seed.
#[derive(Debug, Args)]
pub struct ScenarioOptions {
    /// The scenario, a TOML file; - is standard input
    pub scenario: PathBuf,
    /// Use the smaller form of the scenario, from its `[quick]` table
    #[arg(long)]
    pub quick: bool,
    /// Set a key of the scenario: duration=2s, topology.rate=40Gbps
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    pub set: Vec<(String, String)>,
    /// Record the state of each flow, every millisecond or as often as asked: flows=100us. `record.flows` in scenarios
    #[arg(long, value_name = "flows[=TIME]", value_parser = arguments::record)]
    pub record: Option<String>,
    /// Use this run seed, or the first of several, instead of the scenario's
    #[arg(long, value_name = "N", value_parser = arguments::seed, allow_hyphen_values = true)]
    pub seed: Option<u64>,
}

impl ScenarioOptions {
    pub fn options(&self) -> Options {
        let Self { quick, seed, .. } = *self;
        Options { set: self.changes(), quick, seed, ..Options::default() }
    }

    /// The keys that options of the command set, with their values.
    pub fn changes(&self) -> Vec<(String, String)> {
        let record = self.record.iter().map(|interval| (RECORD.to_owned(), interval.clone()));
        self.set.iter().cloned().chain(record).collect()
    }
}

pub fn setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => {
            let quote = value.trim_start().chars().next().filter(|first| "\"'".contains(*first));
            if quote.is_some_and(|quote| !closed(value.trim(), quote)) {
                return Err("a quote is opened and not closed; close it on the same line".to_owned());
            }
            let closing = [('[', ']'), ('{', '}')];
            let open = |(open, close)| value.trim_start().starts_with(open) && !value.trim_end().ends_with(close);
            if closing.into_iter().any(open) {
                return Err("a bracket is opened and not closed; close it".to_owned());
            }
            Ok((key.trim().to_owned(), value.to_owned()))
        }
        _ => Err("expected KEY=VALUE, for example duration=2s".to_owned()),
    }
}

/// Whether a quoted text has a closing quote and is on one line.
fn closed(text: &str, quote: char) -> bool {
    text.len() > 1 && text.ends_with(quote) && !text.contains('\n')
}

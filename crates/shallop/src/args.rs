//! The command line as it is typed.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use shallop_lab::study::Shard;

/// Simulates congestion control in networks with shallow buffers, packet by packet.
///
/// Exit codes: 0 done; 1 a claim fails; 2 bad input; 130 interrupted, with what was finished kept.
#[derive(Debug, Parser)]
#[command(name = "shallop", version, max_term_width = 100)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a scenario under each of its schemes
    Run(Run),
    /// Run experiments of the papers and judge their claims; without an ID, list them
    Reproduce(Reproduce),
    /// Run a scenario at every combination of some keys' values; finished runs are not made again
    Sweep(Sweep),
    /// Make report.html from what run, sweep or reproduce left in a folder
    Report(Report),
    /// Check a scenario without running it
    Check(Check),
    /// Print the JSON Schema of scenarios
    Schema,
    /// List the switch chips that scenarios may name
    Chips(Chips),
    /// Measure packet-hops a second in the standard cases
    Bench(Bench),
}

/// Of `run`.
#[derive(Debug, Args)]
pub struct Run {
    /// The scenario, a TOML file
    pub scenario: PathBuf,
    /// Run the smaller form of the scenario, as its [quick] table says
    #[arg(long)]
    pub quick: bool,
    /// Set a key of the scenario: duration=2s, topology.rate=40Gbps
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    pub set: Vec<(String, String)>,
    /// Use this run seed instead of the scenario's
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Take the finished runs that an earlier start left in DIR as they are
    #[arg(long, requires = "out")]
    pub resume: bool,
    /// How and where to.
    #[command(flatten)]
    pub work: Work,
}

/// Of `reproduce`.
#[derive(Debug, Args)]
pub struct Reproduce {
    /// Experiments by name, or "all"
    #[arg(value_name = "ID")]
    pub ids: Vec<String>,
    /// Run the smaller form of each, of at most 10 s
    #[arg(long)]
    pub quick: bool,
    /// Take the finished runs that an earlier start left in DIR as they are
    #[arg(long, requires = "out")]
    pub resume: bool,
    /// How and where to.
    #[command(flatten)]
    pub work: Work,
}

/// Of `sweep`.
#[derive(Debug, Args)]
pub struct Sweep {
    /// The scenario, a TOML file
    pub scenario: PathBuf,
    /// Vary a key: every combination of all keys' values is a point. Values with commas in quotes
    #[arg(long, value_name = "KEY=V1,V2,...", value_parser = varied)]
    pub vary: Vec<(String, Vec<String>)>,
    /// Run every point with N seeds, from the scenario's first one on
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub seeds: Option<u32>,
    /// Make only each N-th run, from the I-th on: 1/4 to 4/4 share a sweep out
    #[arg(long, value_name = "I/N", requires = "out")]
    pub shard: Option<Shard>,
    /// Run the smaller form of the scenario, as its [quick] table says
    #[arg(long)]
    pub quick: bool,
    /// Set a key of the scenario: duration=2s, topology.rate=40Gbps
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    pub set: Vec<(String, String)>,
    /// Use this run seed as the first instead of the scenario's
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// How and where to.
    #[command(flatten)]
    pub work: Work,
}

/// What all commands that run something share.
#[derive(Debug, Args)]
pub struct Work {
    /// Make so many runs at a time; one for each core unless given
    #[arg(long, value_name = "N", value_parser = jobs)]
    pub jobs: Option<NonZeroUsize>,
    /// Write report.html, summary.json, flows.parquet and series.parquet to this folder, and each run to runs in it the
    /// moment it ends; reproduce makes one for each ID in it
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Also write each figure of the report to figures in DIR, as SVG or PNG
    #[arg(long, value_name = "KIND", requires = "out")]
    pub figures: Option<Picture>,
    /// Print JSON instead of tables
    #[arg(long)]
    pub json: bool,
}

/// A kind of picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Picture {
    /// Lines and letters: for papers and slides
    Svg,
    /// Dots, two for each of the SVG
    Png,
}

/// Of `report`.
#[derive(Debug, Args)]
pub struct Report {
    /// The folder that was given to --out
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// Also write each figure to figures in DIR, as SVG or PNG
    #[arg(long, value_name = "KIND", conflicts_with = "json")]
    pub figures: Option<Picture>,
    /// Print the figures as JSON, each a Vega-Lite spec with its data, and write nothing
    #[arg(long)]
    pub json: bool,
}

/// Of `check`.
#[derive(Debug, Args)]
pub struct Check {
    /// The scenario, a TOML file
    pub scenario: PathBuf,
    /// Check the smaller form of the scenario
    #[arg(long)]
    pub quick: bool,
    /// Set a key of the scenario: duration=2s, topology.rate=40Gbps
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    pub set: Vec<(String, String)>,
    /// Print every derived value with its formula
    #[arg(long)]
    pub explain: bool,
}

/// Of `chips`.
#[derive(Debug, Args)]
pub struct Chips {
    /// Print JSON instead of a table
    #[arg(long)]
    pub json: bool,
}

/// Of `bench`.
#[derive(Debug, Args)]
pub struct Bench {
    /// Print JSON instead of a table
    #[arg(long)]
    pub json: bool,
    /// Simulate 0.3 s of each case, once
    #[arg(long)]
    pub quick: bool,
    /// Measure only what has this in its case or transport
    #[arg(long, value_name = "TEXT")]
    pub only: Option<String>,
    /// Measure one case and transport in this process and print a line of JSON
    #[arg(long, hide = true, num_args = 2, value_names = ["CASE", "TRANSPORT"])]
    pub one: Option<Vec<usize>>,
}

fn setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => {
            Ok((key.trim().to_owned(), value.to_owned()))
        }
        _ => Err("expected KEY=VALUE, for example duration=2s".to_owned()),
    }
}

fn varied(text: &str) -> Result<(String, Vec<String>), String> {
    match text.split_once('=') {
        Some((key, values)) if !key.trim().is_empty() => {
            Ok((key.trim().to_owned(), shallop_lab::scenario::values(values)?))
        }
        _ => Err("expected KEY=V1,V2,..., for example topology.senders=20,200".to_owned()),
    }
}

fn jobs(text: &str) -> Result<NonZeroUsize, String> {
    let number: Option<NonZeroUsize> = text.parse().ok();
    number
        .filter(|jobs| jobs.get() <= 1024)
        .ok_or_else(|| "expected a number from 1 to 1024".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn a_setting_may_hold_more_equals_signs() {
        assert_eq!(setting("a.b=c=d"), Ok(("a.b".to_owned(), "c=d".to_owned())));
        assert!(setting("=x").is_err() && setting("x").is_err());
    }
}

//! The command-line arguments. Doc comments here are the text of `--help`.

pub use crate::device_args::{Config, Import};
use crate::host_args::{Doctor, Kernel, Rehearse, Shell, Tape};
use crate::point_args::PointOptions;
pub use crate::program_args::{Completions, Export, Man, ProgramOptions, Schema};
pub use crate::scenario_args::{ScenarioOptions, setting};
#[cfg(target_os = "linux")]
use crate::{
    controller_args::Edge,
    transfer_args::{Ping, Receive, Send},
};
use crate::{controller_args::Host, examples};
use clap::builder::{OsStringValueParser, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use shallop_device::Os;
use shallop_results::Shard;
use shallop_scenario::{Programs, template};
use shallop_workbench::arguments;
use std::{num::NonZeroUsize, path::PathBuf};

/// Simulates congestion control in networks with shallow buffers, packet by packet.
///
/// Exit codes: 0 done; 1 a claim fails or is undecided, files did not arrive, or a path is not known to honour classes;
/// 2 bad input, or no connection; 3 this machine lacks what is needed; 4 a rehearsal is void, as it was too late to be
/// trusted; 130 interrupted, with finished runs kept.
#[derive(Debug, Parser)]
#[command(name = "shallop", version, max_term_width = 100)]
#[command(after_help = examples::of("shallop"), mut_subcommands = examples::add)]
pub struct Arguments {
    #[command(flatten)]
    pub program: ProgramOptions,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write a commented scenario file; on a terminal, ask for the options that are not given
    New(New),
    /// Run a scenario under each of its schemes
    Run(Run),
    /// Run a scenario in real time with the kernel of this machine in the hosts, over the simulator's switches
    Rehearse(Rehearse),
    /// Rehearse a scenario, simulate it, and say whether both agree
    Agree(Rehearse),
    /// Show the packets of a rehearsal's tape, or replay them through the simulator's switches
    Tape(Tape),
    /// Show what this machine can do, and what is missing for the rest
    Doctor(Doctor),
    /// Run shipped experiments, most from papers, and compare with the published results; without an ID, list them
    Reproduce(Reproduce),
    /// Run a scenario at every combination of some keys' values; finished runs are not made again
    Sweep(Sweep),
    /// Find the best of a scenario's schemes and settings, in a race that drops candidates as soon as the runs decide
    Advise(Advise),
    /// Compare two results, or two schemes, seed by seed: what differs, and by how much
    Compare(Compare),
    /// Make report.html from what run, sweep or reproduce left in a folder
    Report(Report),
    /// Write a table of results as Parquet or CSV, or list the tables with the meaning of each column
    Export(Export),
    /// Check a scenario without running it
    Check(Check),
    /// Print the JSON Schema of scenarios or of results
    Schema(Schema),
    /// List the switch chips that scenarios may name
    Chips(Chips),
    /// Write the configuration with which real switches behave as those of a scenario
    Config(Config),
    /// Make a section of a scenario from the configuration of a switch
    Import(Import),
    /// Build, list or test Linux kernels for hosts with stack = "kernel"
    Kernel(Kernel),
    /// Load congestion controllers into the kernel of this machine, watch and unload them
    Host(Host),
    /// Attach packet programs (BPF) to devices of this machine: a CLEAN proxy
    #[cfg(target_os = "linux")]
    Edge(Edge),
    /// Send files to a host that runs 'shallop receive', over QUIC with credits
    #[cfg(target_os = "linux")]
    Send(Send),
    /// Receive files from 'shallop send'
    #[cfg(target_os = "linux")]
    Receive(Receive),
    /// Measure round trips to a host that runs 'shallop receive', or test whether the path supports credits
    #[cfg(target_os = "linux")]
    Ping(Ping),
    /// Open a shell or run a program in a host of a scenario, with a Linux kernel, in real or virtual time
    Shell(Shell),
    /// Measure user time for each packet in the standard cases
    Bench(Bench),
    /// Print a script that lets a shell complete commands and options
    Completions(Completions),
    /// Write the manual pages of all commands into a folder
    #[command(hide = true)]
    Man(Man),
}

#[derive(Debug, Args)]
pub struct New {
    /// The network of the scenario
    #[arg(long, value_name = "KIND", value_parser = known(&template::topologies()))]
    pub topology: Option<String>,
    /// A transport to compare: several with commas, or the option several times
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = known(&template::transports()))]
    pub transport: Vec<String>,
    /// The traffic of the scenario: flows without end, flows of random sizes that arrive at random, bursts to one host
    #[arg(long, value_name = "KIND", value_parser = known(template::traffics()))]
    pub traffic: Option<String>,
    /// Take the network from this file: .graphml, .gml, or .csv with one link per line
    #[arg(long, value_name = "FILE")]
    pub network: Option<PathBuf>,
    /// The chip of the switches, one of `shallop chips`, whose memory their ports share
    #[arg(long, value_name = "CHIP")]
    pub chip: Option<String>,
    /// The scenario file to write
    #[arg(long, value_name = "FILE", default_value = "scenario.toml")]
    pub out: PathBuf,
    /// Overwrite the scenario file if it exists
    #[arg(long)]
    pub force: bool,
}

#[derive(Clone, Copy, Debug, Args)]
pub struct ProgramsOption {
    /// Run the programs of the scenario (`command` of groups), with all your rights, also if another user owns the file
    /// or may write to it, or if it is standard input
    #[arg(long)]
    allow_programs: bool,
}

impl ProgramsOption {
    pub fn programs(self) -> Programs {
        if self.allow_programs { Programs::Allowed } else { Programs::OfOwnFile }
    }
}

#[derive(Debug, Args)]
pub struct Run {
    #[command(flatten)]
    pub source: ScenarioOptions,
    #[command(flatten)]
    pub programs: ProgramsOption,
    /// Run only these schemes, separated by commas or with the option repeated. Quote names that contain commas
    #[arg(long, value_name = "NAME")]
    pub schemes: Vec<String>,
    /// Run every scheme with N seeds, counting up from the scenario's first seed
    #[arg(long, value_name = "N", value_parser = arguments::seeds, allow_hyphen_values = true)]
    pub seeds: Option<u32>,
    /// Simulate the switches as this operating system rounds their settings
    #[arg(long, value_name = "OS", value_parser = crate::device_args::os(true))]
    pub as_configured: Option<Os>,
    /// Reuse the finished runs that an earlier command left in DIR
    #[arg(long, requires = "out")]
    pub resume: bool,
    #[command(flatten)]
    pub common: CommonOptions,
}

#[derive(Debug, Args)]
pub struct Reproduce {
    /// Experiments by name, or "all"
    #[arg(value_name = "ID")]
    pub ids: Vec<String>,
    /// Run the smaller form of each experiment, which takes seconds; the list of experiments says how many
    #[arg(long)]
    pub quick: bool,
    /// Reuse the finished runs that an earlier command left in DIR
    #[arg(long, requires = "out")]
    pub resume: bool,
    #[command(flatten)]
    pub common: CommonOptions,
}

#[derive(Debug, Args)]
pub struct Sweep {
    #[command(flatten)]
    pub source: ScenarioOptions,
    #[command(flatten)]
    pub programs: ProgramsOption,
    #[command(flatten)]
    pub points: PointOptions,
    /// Run only these schemes, separated by commas or with the option repeated. Quote names that contain commas
    #[arg(long, value_name = "NAME")]
    pub schemes: Vec<String>,
    /// Run only every N-th run, starting with the I-th: shards 1/4 to 4/4 divide a sweep among four commands
    #[arg(long, value_name = "I/N", requires = "out")]
    pub shard: Option<Shard>,
    /// Run only the run with this identity: 'check --runs' lists them
    #[arg(long, value_name = "ID", requires = "out", conflicts_with = "shard")]
    pub identity: Option<String>,
    #[command(flatten)]
    pub common: CommonOptions,
}

/// Options that all commands which run scenarios share.
#[derive(Debug, Args)]
pub struct CommonOptions {
    /// Run N runs at a time; default: one per core
    #[arg(long, value_name = "N", value_parser = arguments::jobs, allow_hyphen_values = true)]
    pub jobs: Option<NonZeroUsize>,
    /// Divide the network of each run among N cores, one run after the other. Results do not depend on N. Default: a
    /// single run of more than some seconds is divided if a short measurement shows that it is faster; several runs are
    /// not
    #[arg(long, value_name = "N", value_parser = arguments::jobs, allow_hyphen_values = true, conflicts_with = "jobs")]
    pub cores: Option<NonZeroUsize>,
    /// Write report.html, summary.json, flows.parquet and series.parquet to this folder, and each run to the folder
    /// runs in it when the run ends; reproduce creates a folder for each ID
    #[arg(long, value_name = "DIR", value_parser = folder())]
    pub out: Option<PathBuf>,
    /// Print rows for the mean, the ends of its 95 % interval, the least and the largest value of several seeds, with
    /// the columns of run. Without it, a row for each scheme has the mean and half the width of the interval
    #[arg(long)]
    pub details: bool,
    #[command(flatten)]
    pub printed: PrintOptions,
}

#[derive(Clone, Copy, Debug, Default, Args)]
pub struct PrintOptions {
    /// Print tables in this format
    #[arg(long, value_name = "KIND", default_value = "table", conflicts_with = "json")]
    format: Format,
    /// Print JSON, like --format json
    #[arg(long)]
    json: bool,
    /// Print all columns of tables. Without it, a terminal that is too narrow leaves some out: Mhop/s, wall s, RTOs,
    /// resent, KB, credit loss %, open, in load, RTT p99, in this order, then the rightmost, and at last those that the
    /// sentences quote: FCT, goodput, loss %, small p99. Pipes get all
    /// columns, but of several seeds those that fit 120
    #[arg(long)]
    pub wide: bool,
}

impl PrintOptions {
    pub fn format(self) -> Format {
        if self.json { Format::Json } else { self.format }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Tables with aligned columns
    #[default]
    Table,
    /// Comma-separated values of one table: the means of a run or sweep, the claims of experiments
    Csv,
    /// Tables of GitHub Flavored Markdown
    Markdown,
    /// JSON with all results
    Json,
}

#[derive(Debug, Args)]
pub struct Advise {
    #[command(flatten)]
    pub source: ScenarioOptions,
    #[command(flatten)]
    pub programs: ProgramsOption,
    #[command(flatten)]
    pub points: PointOptions,
    /// Choose only among these schemes, separated by commas or with the option repeated. Quote names with commas
    #[arg(long, value_name = "NAME")]
    pub schemes: Vec<String>,
    /// Look for the candidate with least of this metric, one of those of claims, as `fct.small.p99_s`
    #[arg(long, value_name = "METRIC", conflicts_with = "maximise")]
    pub minimise: Option<String>,
    /// Look for the candidate with most of this metric
    #[arg(long, value_name = "METRIC")]
    pub maximise: Option<String>,
    /// A bound that the candidate meets, as `loss_rate <= 1e-5`; several with the option repeated
    #[arg(long, value_name = "BOUND")]
    pub subject_to: Vec<String>,
    /// Spend about this many minutes of computing
    #[arg(long, value_name = "N", value_parser = arguments::minutes, conflicts_with = "runs")]
    pub minutes: Option<f64>,
    /// Spend this many runs of the full duration, instead of minutes: the answer then does not depend on the machine
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub runs: Option<u64>,
    /// Run N runs at a time; default: one per core
    #[arg(long, value_name = "N", value_parser = arguments::jobs, allow_hyphen_values = true)]
    pub jobs: Option<NonZeroUsize>,
    /// Write report.html, advise.json and each run to this folder; the command takes up there what an earlier one left
    #[arg(long, value_name = "DIR", value_parser = folder())]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub printed: PrintOptions,
}

#[derive(Debug, Args)]
pub struct Compare {
    /// The first results: a folder that was given to --out, or a scenario to run first
    #[arg(value_name = "A")]
    pub a: PathBuf,
    /// The second results, a folder or a scenario like A; without it, --scheme or --points selects two parts of A
    #[arg(value_name = "B", required_unless_present_any = ["scheme", "points"])]
    pub b: Option<PathBuf>,
    /// Compare this scheme of A, instead of schemes with equal names; without B, both schemes are of A
    #[arg(long, value_name = "X", requires = "with")]
    pub scheme: Option<String>,
    /// Compare the scheme of --scheme with this scheme of B
    #[arg(long, value_name = "Y", requires = "scheme")]
    pub with: Option<String>,
    /// Compare the points P of A with the points Q of B; without B, both are of A. KEY=VALUE, or the name of a point
    #[arg(long, value_names = ["P", "Q"], num_args = 2)]
    pub points: Vec<String>,
    /// Run the smaller form of scenarios, from their `[quick]` tables
    #[arg(long)]
    pub quick: bool,
    #[command(flatten)]
    pub programs: ProgramsOption,
    /// Run N runs at a time; default: one per core
    #[arg(long, value_name = "N", value_parser = arguments::jobs, allow_hyphen_values = true)]
    pub jobs: Option<NonZeroUsize>,
    /// Write the results of scenarios to a and b in this folder, and reuse finished runs from there
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub printed: PrintOptions,
}

#[derive(Debug, Args)]
pub struct Report {
    /// The folder that was given to --out
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// Print the figures as JSON, each a Vega-Lite spec with its data, and write nothing
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Check {
    #[command(flatten)]
    pub source: ScenarioOptions,
    #[command(flatten)]
    pub points: PointOptions,
    /// Print the derived values that decide most, at the first point, with their formulas
    #[arg(long)]
    pub explain: bool,
    /// With --explain, print all derived values of all points, the links, and the parameters of the schemes; JSON and
    /// CSV always have all
    #[arg(long, requires = "explain")]
    pub all: bool,
    /// Print the runs of the scenario: point, scheme, seed and identity, which is a digest of everything that
    /// determines the results of a run. With --json, also the title and the files that the scenario names
    #[arg(long, conflicts_with = "explain")]
    pub runs: bool,
    #[command(flatten)]
    pub printed: PrintOptions,
}

#[derive(Debug, Args)]
pub struct Chips {
    #[command(flatten)]
    pub printed: PrintOptions,
}

#[derive(Debug, Args)]
pub struct Bench {
    #[command(flatten)]
    pub printed: PrintOptions,
    /// Simulate a tenth of each case; ratios are too uncertain for a decision
    #[arg(long)]
    pub quick: bool,
    /// Measure only cases and transports whose name contains this text
    #[arg(long, value_name = "TEXT")]
    pub only: Option<String>,
    /// Measure another build of shallop in turn with this one. A ratio above 1: the other takes more time for a packet
    #[arg(long, value_name = "COMMAND")]
    pub against: Option<PathBuf>,
    /// Number of runs of each case; default: 3, or 1 with --quick
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: Option<u32>,
    /// Measure one case in this process and print a line of JSON
    #[arg(long, hide = true, value_name = "CASE TRANSPORT")]
    pub one: Option<String>,
}

/// Makes a parser for the name of one of these items.
fn known(items: &[template::Item]) -> PossibleValuesParser {
    let values = items.iter().map(|item| clap::builder::PossibleValue::new(item.name).help(item.about));
    PossibleValuesParser::new(values)
}

/// Makes a parser for the name of a folder that is not empty.
fn folder() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().try_map(|text| match text.to_str() {
        Some(text) => arguments::folder(text),
        None => Ok(PathBuf::from(text)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use shallop_workbench::text_table;

    #[test]
    fn the_arguments_are_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn examples_are_commands() {
        let command = Arguments::command();
        let all = std::iter::once(&command).chain(command.get_subcommands());
        let helps: Vec<String> = all.filter_map(clap::Command::get_after_help).map(ToString::to_string).collect();
        let lines = helps.iter().flat_map(|help| help.lines());
        let commands = lines.filter_map(|line| line.trim().strip_prefix("shallop "));
        let mut count = 0;
        for line in commands {
            // Two spaces separate an example from its remark.
            let words = line.split("  ").next().unwrap_or_default().split(" > ").next();
            let words = words.unwrap_or_default().split_whitespace();
            let parsed = Arguments::try_parse_from(std::iter::once("shallop").chain(words));
            assert!(parsed.is_ok(), "{line}: {parsed:?}");
            count += 1;
        }
        assert!(count >= 50, "{count}");
    }

    #[test]
    fn the_help_of_wide_has_the_columns_in_their_order() {
        let mut run = Arguments::command();
        let run = run.find_subcommand_mut("run").map(|run| run.render_long_help().to_string());
        let help = run.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
        for order in [&text_table::LEFT_OUT_FIRST[..], &text_table::LEFT_OUT_LAST] {
            assert!(help.contains(&order.join(", ")), "{help}");
        }
    }

    #[test]
    fn every_command_has_examples_in_its_help() {
        for command in Arguments::command().get_subcommands().filter(|it| it.get_name() != "help") {
            let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let named = format!("shallop {}", command.get_name());
            assert!(after.contains(&named), "{}: {after}", command.get_name());
        }
    }

    #[test]
    fn a_setting_may_hold_more_equals_signs() {
        assert_eq!(setting("a.b=c=d"), Ok(("a.b".to_owned(), "c=d".to_owned())));
        assert!(setting("=x").is_err() && setting("x").is_err());
    }
}

//! The arguments for the points and seeds of sweeps: `--vary`, `--with` and `--seeds`.

use clap::error::ErrorKind;
use clap::{ArgMatches, Args, FromArgMatches};
use shallop_scenario::Options;
use shallop_workbench::arguments;

/// The points and seeds of a sweep, which make its runs.
#[derive(Debug)]
pub struct PointOptions {
    given: GivenPoints,
    /// For each `--with`, the index of the `--vary` before it.
    leaders: Vec<usize>,
}

#[derive(Debug, Args)]
struct GivenPoints {
    /// Vary a key: every combination of all keys' values is a point. Quote values that contain commas
    #[arg(long, value_name = "KEY=V1,V2,...", value_parser = varied)]
    vary: Vec<(String, Vec<String>)>,
    /// Move another key along with the --vary before it: one value for each of its values
    #[arg(long, value_name = "KEY=W1,W2,...", value_parser = varied, requires = "vary")]
    with: Vec<(String, Vec<String>)>,
    /// Use N seeds at every point, counting up from the first one
    #[arg(long, value_name = "N", value_parser = arguments::seeds, allow_hyphen_values = true)]
    seeds: Option<u32>,
}

impl FromArgMatches for PointOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let places = |id: &str| matches.indices_of(id).into_iter().flatten().collect::<Vec<_>>();
        let (vary, with) = (places("vary"), places("with"));
        let before = |at: &usize| vary.iter().filter(|other| *other < at).count().checked_sub(1);
        let leaders = with.iter().map(before).collect::<Option<Vec<usize>>>().ok_or_else(|| {
            let what = "--with stands behind the --vary whose key it moves along with";
            clap::Error::raw(ErrorKind::MissingRequiredArgument, what)
        })?;
        Ok(Self { given: GivenPoints::from_arg_matches(matches)?, leaders })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for PointOptions {
    fn augment_args(command: clap::Command) -> clap::Command {
        GivenPoints::augment_args(command)
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        GivenPoints::augment_args_for_update(command)
    }
}

impl PointOptions {
    /// Adds these points and seeds to the options of a scenario.
    pub fn options(&self, scenario: Options) -> Options {
        let GivenPoints { vary, with, seeds } = &self.given;
        let leader = |(index, (key, values)): (&usize, &(String, Vec<String>))| {
            (vary[*index].0.clone(), key.clone(), values.clone())
        };
        let with = self.leaders.iter().zip(with).map(leader).collect();
        Options { vary: vary.clone(), with, seeds: *seeds, ..scenario }
    }
}

fn varied(text: &str) -> Result<(String, Vec<String>), String> {
    match text.split_once('=') {
        Some((key, values)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), shallop_scenario::values(values)?)),
        _ => Err("expected KEY=V1,V2,..., for example topology.senders=20,200".to_owned()),
    }
}

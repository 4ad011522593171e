//! The arguments of `shallop advise`.

use crate::args::{PrintOptions, ProgramsOption, ScenarioOptions, folder};
use crate::point_args::PointOptions;
use clap::Args;
use shallop_scenario::Options;
use shallop_workbench::arguments;
use std::{num::NonZeroUsize, path::PathBuf};

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
    /// Look for the candidate with least of this metric, one of those of claims: fct.small.p99_s, groups.web.loss_rate
    #[arg(long, value_name = "METRIC", conflicts_with = "maximise")]
    minimise: Option<String>,
    /// Look for the candidate with most of this metric
    #[arg(long, value_name = "METRIC")]
    maximise: Option<String>,
    /// A bound that the candidate meets, as 'loss_rate <= 1e-5'; several with the option repeated. They take the place of
    /// those in the scenario
    #[arg(long, value_name = "BOUND")]
    subject_to: Vec<String>,
    /// Spend about this many minutes of computing
    #[arg(long, value_name = "N", value_parser = arguments::minutes, conflicts_with = "runs")]
    minutes: Option<f64>,
    /// Spend this many runs of the full duration, instead of minutes: the answer then does not depend on the machine
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    runs: Option<u64>,
    /// Run N runs at a time; default: one per core
    #[arg(long, value_name = "N", value_parser = arguments::jobs, allow_hyphen_values = true)]
    pub jobs: Option<NonZeroUsize>,
    /// Write report.html, advise.json and each run to this folder; the command takes up there what an earlier one left
    #[arg(long, value_name = "DIR", value_parser = folder())]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub printed: PrintOptions,
}

impl Advise {
    /// The scenario with the question that these options ask: they set keys of `[advise]`.
    pub fn options(&self) -> Options {
        let text = |text: &String| serde_json::Value::from(text.as_str()).to_string();
        let named = [("minimise", &self.minimise), ("maximise", &self.maximise)];
        let mut asked: Vec<(&str, String)> =
            named.iter().filter_map(|(key, metric)| Some((*key, text(metric.as_ref()?)))).collect();
        if !self.subject_to.is_empty() {
            let all: Vec<String> = self.subject_to.iter().map(text).collect();
            asked.push(("subject_to", format!("[{}]", all.join(", "))));
        }
        asked.extend(self.minutes.map(|minutes| ("budget_minutes", minutes.to_string())));
        asked.extend(self.runs.map(|runs| ("budget_runs", runs.to_string())));
        let mut options = self.points.options(self.source.options());
        options.set.extend(asked.into_iter().map(|(key, value)| (format!("advise.{key}"), value)));
        Options { candidates: true, programs: self.programs.programs(), ..options }
    }
}

//! `advise`: races the candidates of a scenario, and prints and stores the advice.

use crate::args::{Advise, Format};
use crate::exit_codes::INTERRUPTED;
use crate::input::Input;
use crate::{print, progress::ProgressReporter, run};
use shallop_plan::Study;
use shallop_results::{Shard, advice::Advice, race::SHORT};
use shallop_scenario::Options;
use shallop_workbench::advise::{Adviser, publish, text};
use shallop_workbench::choice::choose;
use shallop_workbench::diagnostic::{Result, with_help};
use shallop_workbench::printable::shell_word;
use shallop_workbench::{Progress, StudyTask, jobs};
use std::{num::NonZeroUsize, process::ExitCode, sync::atomic::AtomicBool};

pub fn advise(args: &Advise, input: &Input, stop: &AtomicBool) -> Result<ExitCode> {
    let given = options(args);
    if given.seeds.is_some() {
        return Err(with_help(&"--seeds: the race chooses how many seeds a candidate gets", &"--runs sets its budget"));
    }
    let read = |set: &[(String, String)]| -> Result<Study> {
        let set = given.set.iter().chain(set).cloned().collect();
        let mut study = input.study(Options { set, ..given.clone() })?;
        choose(&mut study, &args.schemes)?;
        study.seeds.truncate(1);
        Ok(study)
    };
    let study = read(&[])?;
    let task = StudyTask { id: None, study, folder: args.out.clone() };
    let _lock = task.prepare(Shard::WHOLE)?;
    let jobs = args.jobs.map_or(0, NonZeroUsize::get);
    let adviser = Adviser {
        read: &read,
        variants: input.variants(&given, SHORT)?,
        scenario: words(args),
        folder: args.out.as_deref(),
        jobs,
        threads: run::threads(jobs),
        stop,
        progress: &|study| -> Box<dyn Progress> {
            Box::new(ProgressReporter::new(std::iter::once(jobs::total_work(study, Shard::WHOLE))))
        },
    };
    let advice = adviser.advise()?;
    if let Some(folder) = &args.out {
        publish(folder, &advice)?;
    }
    show(&advice, args)?;
    Ok(if advice.interrupted { ExitCode::from(INTERRUPTED) } else { ExitCode::SUCCESS })
}

/// The scenario with the question that these options ask: they set keys of `[advise]`.
fn options(args: &Advise) -> Options {
    let text = |text: &String| serde_json::Value::from(text.as_str()).to_string();
    let named = [("minimise", &args.minimise), ("maximise", &args.maximise)];
    let mut asked: Vec<(&str, String)> =
        named.iter().filter_map(|(key, metric)| Some((*key, text(metric.as_ref()?)))).collect();
    if !args.subject_to.is_empty() {
        let all: Vec<String> = args.subject_to.iter().map(text).collect();
        asked.push(("subject_to", format!("[{}]", all.join(", "))));
    }
    asked.extend(args.minutes.map(|minutes| ("budget_minutes", minutes.to_string())));
    asked.extend(args.runs.map(|runs| ("budget_runs", runs.to_string())));
    let mut options = args.points.options(args.source.options());
    options.set.extend(asked.into_iter().map(|(key, value)| (format!("advise.{key}"), value)));
    Options { candidates: true, programs: args.programs.programs(), ..options }
}

/// The scenario with the settings of this command that are not of `[advise]`.
fn words(args: &Advise) -> String {
    let path = args.source.scenario.to_string_lossy();
    let set = args.source.set.iter().filter(|(key, _)| !key.starts_with("advise."));
    let set = set.map(|(key, value)| format!("--set {}", shell_word(&format!("{key}={value}"))));
    std::iter::once(shell_word(&path).into_owned()).chain(set).collect::<Vec<_>>().join(" ")
}

fn show(advice: &Advice, args: &Advise) -> Result<()> {
    match args.printed.format() {
        Format::Json => print::json(advice),
        Format::Csv => print::grid(&advice.ranking(), args.printed),
        _ => print::line(&text(advice, print::form(args.printed))),
    }
}

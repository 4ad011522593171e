//! `advise`: races the candidates of a scenario, and prints and stores the advice.

use crate::advise_args::Advise;
use crate::args::Format;
use crate::exit_codes::INTERRUPTED;
use crate::input::Input;
use crate::{print, progress::ProgressReporter, run};
use shallop_plan::Study;
use shallop_results::{Shard, advice::Advice, race::SHORT};
use shallop_scenario::Options;
use shallop_workbench::advise::{Adviser, publish, text};
use shallop_workbench::choice::choose;
use shallop_workbench::printable::shell_word;
use shallop_workbench::{Progress, StudyTask, diagnostic::Result, jobs};
use std::{num::NonZeroUsize, process::ExitCode, sync::atomic::AtomicBool};

pub fn advise(args: &Advise, input: &Input, stop: &AtomicBool) -> Result<ExitCode> {
    let given = args.options();
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

/// The scenario with the settings of this command that are not of `[advise]`.
fn words(args: &Advise) -> String {
    let path = args.source.scenario.to_string_lossy();
    let set = args.source.set.iter().filter(|(key, _)| !key.starts_with("advise."));
    let set = set.map(|(key, value)| format!(" --set {}", shell_word(&format!("{key}={value}"))));
    format!("{}{}", shell_word(&path), set.collect::<String>())
}

fn show(advice: &Advice, args: &Advise) -> Result<()> {
    match args.printed.format() {
        Format::Json => print::json(advice),
        Format::Csv => print::grid(&advice.ranking(), args.printed),
        _ => print::line(&text(advice, print::form(args.printed))),
    }
}

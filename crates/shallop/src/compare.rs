//! `compare`: compares two results seed by seed. Scenarios are run first.

use crate::args::{self, Format};
use crate::exit_codes::INTERRUPTED;
use crate::messages::{self, Message};
use crate::{print, progress::ProgressReporter};
use shallop_results::comparison::Selection;
use shallop_results::{Shard, Summary};
use shallop_workbench::compare::{Side, summaries, text};
use shallop_workbench::{TableForm, jobs};
use shallop_workbench::{diagnostic::Result, printable::printable_lines};
use std::{num::NonZeroUsize, path::Path, process::ExitCode, sync::atomic::AtomicBool};

pub fn compare(args: &args::Compare, stop: &AtomicBool) -> Result<ExitCode> {
    let side = |path: &Path, name: &str| {
        Side::read(path, (args.quick, args.programs.programs()), args.out.as_ref().map(|out| out.join(name)))
    };
    let a = side(&args.a, "a")?;
    let b = args.b.as_deref().map(|path| side(path, "b")).transpose()?;
    let tasks = || [Some(&a), b.as_ref()].into_iter().flatten().filter_map(Side::task);
    let locks = tasks().map(|task| task.prepare(Shard::WHOLE));
    let _locks = locks.collect::<Result<Vec<_>>>()?;
    let bar = ProgressReporter::new(tasks().map(|task| jobs::total_work(&task.study, Shard::WHOLE)));
    let options = jobs::JobOptions {
        jobs: args.jobs.map_or(0, NonZeroUsize::get),
        cores: 1,
        archive: None,
        resume: true,
        shard: Shard::WHOLE,
        stop,
    };
    let made = |side: &Side| -> Result<Summary> {
        match side {
            Side::Results(summary) => Ok((**summary).clone()),
            Side::Scenario(task) => task.run(options, &bar).map(|(summary, _)| summary),
        }
    };
    let made = made(&a).and_then(|a| Ok((a, b.as_ref().map(made).transpose()?)));
    bar.close();
    let (a, b) = made?;
    if stop.load(std::sync::atomic::Ordering::Relaxed) {
        return Ok(ExitCode::from(INTERRUPTED));
    }
    let schemes = args.scheme.as_deref().zip(args.with.as_deref());
    let points = match &args.points[..] {
        [one, other] => Some((one.as_str(), other.as_str())),
        _ => None,
    };
    let comparison = summaries(&a, b.as_ref().unwrap_or(&a), Selection { schemes, points })?;
    if messages::is_json() {
        let text = text(&comparison, TableForm::Text(None));
        messages::send(&Message::Comparison { text: &text });
    }
    let text = text(&comparison, print::form(args.printed));
    match args.printed.format() {
        Format::Json => print::json(&comparison)?,
        Format::Csv => print::line(&text)?,
        Format::Table | Format::Markdown => {
            let second = args.b.as_deref().unwrap_or(&args.a).display();
            let at = |index: usize| {
                let points = comparison.points.as_ref();
                points.map_or_else(String::new, |points| format!(" at {}", points[index]))
            };
            let names = format!("A: {}{}\nB: {second}{}", args.a.display(), at(0), at(1));
            print::line(&format!("{}\n\n{text}", printable_lines(&names)))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

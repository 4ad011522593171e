//! `agree`: rehearses and simulates a scenario, and compares the results.

use crate::args::Format;
use crate::exit_codes::{INTERRUPTED, VOID};
use crate::run::{read_real, read_virtual};
use crate::{host_args, live::LiveScreen, print, progress::ProgressReporter};
use shallop_results::agreement::{agreement, table};
use shallop_results::{Shard, Summary, void};
use shallop_workbench::{StudyTask, capacity, jobs, rehearsal};
use shallop_workbench::{choice::choose, diagnostic::Result};
use std::sync::atomic::{AtomicBool, Ordering};
use std::{num::NonZeroUsize, process::ExitCode};

/// Returns exit code 0 if rehearsal and simulation agree for all schemes.
pub fn agree(args: &host_args::Rehearse, stop: &AtomicBool) -> Result<ExitCode> {
    let run = &args.run;
    let mut real = read_real(args)?;
    let has_programs = real.points.iter().any(|point| point.plan.has_programs());
    let mut ours = read_virtual(args, has_programs)?;
    let scaled = rehearsal::prepare(&mut real, args.rehearsal_options())?;
    choose(&mut ours, &run.schemes)?;
    if let Some(by) = scaled {
        capacity::scale_by(&mut ours, by)?;
    }
    let task =
        |study, name: &str| StudyTask { id: None, study, folder: run.common.out.as_ref().map(|out| out.join(name)) };
    let tasks = [task(real, "rehearsed"), task(ours, "simulated")];
    print::notes(&tasks[0].study.notes);
    let locks = tasks.iter().map(|task| task.prepare(Shard::WHOLE));
    let _locks = locks.collect::<Result<Vec<_>>>()?;
    let bar = ProgressReporter::new(tasks.iter().map(|task| jobs::total_work(&task.study, Shard::WHOLE)));
    let bar = bar.with_screen(args.live.then(LiveScreen::start).transpose()?);
    let made = |task: &StudyTask, jobs: usize| -> Result<Summary> {
        let (archive, shard) = (None, Shard::WHOLE);
        let options = jobs::JobOptions { jobs, cores: 1, archive, resume: run.resume, shard, stop };
        task.run(options, &bar).map(|(summary, _)| summary)
    };
    let threads = run.common.jobs.map_or(0, NonZeroUsize::get);
    let made = made(&tasks[0], 1).and_then(|real| Ok((real, made(&tasks[1], threads)?)));
    bar.close();
    let (real, ours) = made?;
    if stop.load(Ordering::Relaxed) {
        return Ok(ExitCode::from(INTERRUPTED));
    }
    let rows = agreement(&real, &ours);
    if run.common.printed.format() == Format::Json {
        print::json(&rows)?;
        if let Some(line) = void::line(&real) {
            print::stderr(&format!("{line}\n"));
        }
    } else {
        let (grid, note) = table(&rows);
        print::grid(&grid, run.common.printed)?;
        print::stderr(&format!("{note}\n{}", shallop_workbench::run_report::warnings(&real)));
    }
    Ok(if rows.iter().any(|row| row.agrees == Some(false)) {
        ExitCode::FAILURE
    } else if rows.iter().any(|row| row.agrees.is_none()) {
        ExitCode::from(VOID)
    } else {
        ExitCode::SUCCESS
    })
}

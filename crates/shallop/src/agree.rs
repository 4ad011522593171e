//! `agree`: a scenario rehearsed and simulated, side by side.

use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use shallop_results::agreement::{agreement, table};
use shallop_results::{Shard, Summary, void};
use shallop_workbench::diagnostic::Result;
use shallop_workbench::{Task, capacity, jobs, rehearsal};

use crate::args::Format;
use crate::host_args;
use crate::live::Live;
use crate::print;
use crate::progress::Bar;
use crate::work::{INTERRUPTED, VOID, read_real, read_virtual};

/// Rehearses and simulates a scenario. The exit code says whether all schemes agree.
pub fn agree(args: &host_args::Rehearse, stop: &AtomicBool) -> Result<ExitCode> {
    let host_args::Rehearse { run, schemes, .. } = args;
    let mut real = read_real(args)?;
    let has_programs = real.points.iter().any(|point| point.plan.has_programs());
    let mut ours = read_virtual(args, has_programs)?;
    let scaled = rehearsal::prepare(&mut real, args.wanted())?;
    rehearsal::choose(&mut ours, schemes)?;
    if let Some(by) = scaled {
        capacity::scale_by(&mut ours, by)?;
    }
    let task = |study, name: &str| Task {
        id: None,
        study,
        folder: run.work.out.as_ref().map(|out| out.join(name)),
    };
    let tasks = [task(real, "rehearsed"), task(ours, "simulated")];
    print::notes(&tasks[0].study.notes);
    let locks = tasks.iter().map(|task| task.prepare(Shard::WHOLE));
    let _locks = locks.collect::<Result<Vec<_>>>()?;
    let bar = Bar::of(tasks.iter().map(|task| jobs::total_work(&task.study, Shard::WHOLE)));
    let bar = bar.with_screen(args.live.then(Live::start).transpose()?);
    let made = |task: &Task, jobs: usize| -> Result<Summary> {
        let (archive, shard) = (None, Shard::WHOLE);
        let options = jobs::JobOptions { jobs, archive, resume: run.resume, shard, stop };
        task.carry_out(options, &bar).map(|(summary, _)| summary)
    };
    let threads = run.work.jobs.map_or(0, NonZeroUsize::get);
    let made = made(&tasks[0], 1).and_then(|real| Ok((real, made(&tasks[1], threads)?)));
    bar.close();
    let (real, ours) = made?;
    if stop.load(Ordering::Relaxed) {
        return Ok(ExitCode::from(INTERRUPTED));
    }
    let rows = agreement(&real, &ours);
    if run.work.printed.format() == Format::Json {
        print::json(&rows)?;
        if let Some(line) = void::line(&real) {
            print::stderr(&format!("{line}\n"));
        }
    } else {
        let (grid, note) = table(&rows);
        print::grid(&grid, run.work.printed)?;
        print::stderr(&format!("{note}\n{}", shallop_workbench::task_text::warnings(&real)));
    }
    Ok(if rows.iter().any(|row| row.agrees == Some(false)) {
        ExitCode::FAILURE
    } else if rows.iter().any(|row| row.agrees.is_none()) {
        ExitCode::from(VOID)
    } else {
        ExitCode::SUCCESS
    })
}

//! `agree`: a scenario rehearsed and simulated, side by side.

use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use shallop_results::agreement::{agreement, table};
use shallop_results::{Shard, Summary};
use shallop_workbench::diagnostic::Result;
use shallop_workbench::{Task, jobs, rehearsal};

use crate::args::Format;
use crate::host_args;
use crate::print;
use crate::progress::Bar;
use crate::work::{INTERRUPTED, VOID, read_with, real_study};

/// Rehearses and simulates a scenario. The exit code says whether all schemes agree.
pub fn agree(args: &host_args::Rehearse, stop: &AtomicBool) -> Result<ExitCode> {
    let (mut real, mut ours) = (real_study(args)?, read_with(args, args.set.clone())?);
    rehearsal::prepare(&mut real, &args.schemes, args.tape.as_deref())?;
    rehearsal::choose(&mut ours, &args.schemes)?;
    let task = |study, name: &str| Task {
        id: None,
        study,
        folder: args.work.out.as_ref().map(|out| out.join(name)),
    };
    let tasks = [task(real, "rehearsed"), task(ours, "simulated")];
    let locks = tasks.iter().map(|task| task.prepare(Shard::WHOLE));
    let _locks = locks.collect::<Result<Vec<_>>>()?;
    let bar = Bar::of(tasks.iter().map(|task| jobs::total_work(&task.study, Shard::WHOLE)));
    let made = |task: &Task, jobs: usize| -> Result<Summary> {
        let (archive, shard) = (None, Shard::WHOLE);
        let options = jobs::JobOptions { jobs, archive, resume: args.resume, shard, stop };
        task.carry_out(options, &bar).map(|(summary, _)| summary)
    };
    let threads = args.work.jobs.map_or(0, NonZeroUsize::get);
    let made = made(&tasks[0], 1).and_then(|real| Ok((real, made(&tasks[1], threads)?)));
    bar.close();
    let (real, ours) = made?;
    if stop.load(Ordering::Relaxed) {
        return Ok(ExitCode::from(INTERRUPTED));
    }
    let rows = agreement(&real, &ours);
    if args.work.printed.format() == Format::Json {
        print::json(&rows)?;
    } else {
        let (grid, note) = table(&rows);
        print::grid(&grid, args.work.printed)?;
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

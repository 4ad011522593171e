//! `tape`: shows or replays the packets of a rehearsal.

use crate::host_args::{Tape, TapeAction};
use crate::{print, run};
use shallop_plan::Study;
use shallop_scenario::Options;
use shallop_workbench::{capacity, diagnostic::Result, rehearsal};
use std::{path::Path, process::ExitCode};

pub fn tape(args: &Tape) -> Result<ExitCode> {
    match &args.action {
        TapeAction::Show { tape } => {
            rehearsal::lines_of(tape)?.iter().try_for_each(|line| print::line(line))?;
            Ok(ExitCode::SUCCESS)
        }
        TapeAction::Replay { tape, scenario, set, scale, json } => {
            let set = run::with_kernels(set);
            let (files, in_real_time) = (run::files(scenario), true);
            let options = Options { set, files, in_real_time, ..Options::default() };
            let mut study = shallop_workbench::run_study::read_scenario(scenario, &options)?;
            if let Some(by) = scale {
                capacity::scale_by(&mut study, *by)?;
            }
            replay(&study, tape, *json)
        }
    }
}

fn replay(study: &Study, tape: &Path, json: bool) -> Result<ExitCode> {
    let played = rehearsal::replay(study, tape)?;
    if json {
        print::json(&played)?;
    } else {
        let verdict = played.first.as_ref().map_or_else(
            || "The switches decide the same.".to_owned(),
            |first| format!("{} packets differ; the first: {first}", played.differing),
        );
        let (read, written, replayed) = (played.read, played.written, played.replayed);
        print::line(&format!("{read} frames read, {written} packets written, {replayed} in the replay. {verdict}"))?;
    }
    Ok(if played.differing == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

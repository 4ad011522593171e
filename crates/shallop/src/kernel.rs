//! `kernel`: real Linux kernels as simulated hosts.

use std::process::ExitCode;

use shallop_results::table::Grid;
use shallop_workbench::diagnostic::{Result, plain};
use shallop_workbench::error::WorkError;
use shallop_workbench::kernels;

use crate::args::{self, Format, KernelAction};
use crate::print;

/// The exit code if this machine lacks what is needed.
const CANNOT: u8 = 3;

/// Builds, lists or tests kernels.
pub fn kernel(args: &args::Kernel) -> Result<ExitCode> {
    match &args.action {
        KernelAction::Build { release, jobs } => {
            let jobs = jobs.map_or_else(cores, usize::from);
            let mut tell = |step: &str| print::stderr(&format!("{step}\n"));
            match kernels::build(release.as_deref(), jobs, &mut tell) {
                Ok(row) => {
                    let (release, folder) = (&row.release, row.folder.display());
                    print::line(&format!(
                        "Linux {release} is in {folder}; try it with 'shallop kernel test'"
                    ))?;
                    Ok(ExitCode::SUCCESS)
                }
                Err(why) => cannot(&why),
            }
        }
        KernelAction::List { printed } => {
            let (folder, rows) = kernels::list();
            if printed.format() == Format::Json {
                print::json(&rows)?;
                return Ok(ExitCode::SUCCESS);
            }
            if rows.is_empty() {
                let folder = folder.display();
                print::stderr(&format!(
                    "no kernel in {folder}: 'shallop kernel build' makes one\n"
                ));
                return Ok(ExitCode::SUCCESS);
            }
            let row = |row: kernels::KernelRow| {
                vec![row.release, row.digest, row.folder.display().to_string()]
            };
            let header = ["release", "digest", "folder"].map(str::to_owned).to_vec();
            print::grid(
                &Grid { header, rows: rows.into_iter().map(row).collect(), words: 3 },
                *printed,
            )?;
            Ok(ExitCode::SUCCESS)
        }
        KernelAction::Test { release } => match kernels::test(release.as_deref()) {
            Ok(tested) => {
                let (release, mbps) = (&tested.release, tested.goodput_bps / 1e6);
                let same = if tested.repeatable { "the same twice" } else { "NOT the same twice" };
                print::line(&format!(
                    "Linux {release}: two CUBIC flows carry {mbps:.1} Mb/s of 1 Gb/s, {same}"
                ))?;
                Ok(if tested.repeatable { ExitCode::SUCCESS } else { ExitCode::FAILURE })
            }
            Err(why) => cannot(&why),
        },
    }
}

/// What is missing is told in a line, and has an exit code of its own.
fn cannot(why: &WorkError) -> Result<ExitCode> {
    if let WorkError::NoKernel(what) = why {
        print::stderr(&format!("{what}\n"));
        return Ok(ExitCode::from(CANNOT));
    }
    Err(plain(&why.to_string()))
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

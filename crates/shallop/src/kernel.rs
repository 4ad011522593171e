//! `kernel`: builds, lists and tests Linux kernels for simulated hosts, and modules for them.

use crate::args::{Format, PrintOptions};
use crate::host_args::{self, KernelAction};
use crate::print;
use shallop_results::table::Grid;
use shallop_workbench::diagnostic::{Result, study_error};
use shallop_workbench::kernels::{self, KernelRow};
use std::{path::Path, process::ExitCode};

pub fn kernel(args: &host_args::Kernel) -> Result<ExitCode> {
    match &args.action {
        KernelAction::Build { release, jobs } => build(release.as_deref(), jobs.map_or_else(cores, usize::from))?,
        KernelAction::Module { source, release, jobs } => {
            module(source, release.as_deref(), jobs.map_or_else(cores, usize::from))?;
        }
        KernelAction::List { printed } => list(*printed)?,
        KernelAction::Test { release } => return test(release.as_deref()),
    }
    Ok(ExitCode::SUCCESS)
}

fn build(release: Option<&str>, jobs: usize) -> Result<()> {
    let mut tell = |step: &str| print::stderr(&format!("{step}\n"));
    let built = kernels::build(release, jobs, &mut tell).map_err(|why| study_error(&why))?;
    let (release, folder) = (&built.release, built.folder.display());
    print::line(&format!("Linux {release} is in {folder}; try it with 'shallop kernel test'"))
}

fn module(source: &Path, release: Option<&str>, jobs: usize) -> Result<()> {
    let mut tell = |step: &str| print::stderr(&format!("{step}\n"));
    let built = kernels::build_module(source, release, jobs, &mut tell);
    let built = built.map_err(|why| study_error(&why))?;
    let name = built.file_stem().unwrap_or_default().to_string_lossy();
    print::line(&format!("{}: use it with module = \"{name}\" in [kernel]", built.display()))
}

fn list(printed: PrintOptions) -> Result<()> {
    let (folder, rows) = kernels::list();
    if printed.format() == Format::Json {
        return print::json(&rows);
    }
    if rows.is_empty() {
        print::stderr(&format!("no kernel in {}: 'shallop kernel build' makes one\n", folder.display()));
        return Ok(());
    }
    let row = |row: KernelRow| vec![row.release, row.digest, row.folder.display().to_string()];
    print::grid(&Grid::new("release, digest, folder", rows.into_iter().map(row), 3), printed)
}

fn test(release: Option<&str>) -> Result<ExitCode> {
    let tested = kernels::test(release).map_err(|why| study_error(&why))?;
    let (release, mbps) = (&tested.release, tested.goodput_bps / 1e6);
    let same = if tested.repeatable { "the same twice" } else { "NOT the same twice" };
    print::line(&format!("Linux {release}: two CUBIC flows carry {mbps:.1} Mb/s of 1 Gb/s, {same}"))?;
    Ok(if tested.repeatable { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

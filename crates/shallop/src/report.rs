//! `report`: pages from results that are there.

use std::path::Path;
use std::process::ExitCode;

use serde_json::Value;
use shallop_lab::host::Results;
use shallop_lab::host::report;

use crate::args;
use shallop_lab::host::pointed::{Result, name, plain};
use crate::print;

/// Makes the page of a folder of results; of a folder with several in it, the page of each and one that leads to them.
pub fn report(args: &args::Report) -> Result<ExitCode> {
    let folder = &args.folder;
    let inside = report::inside(folder);
    if args.json {
        print::json(&figures(folder, &inside)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    if report::holds(folder) {
        let path = report::write(folder).map_err(|why| plain(&why))?;
        print::line(&format!("The report is {}.", name(&path)))?;
    } else {
        for folder in &inside {
            report::write(folder).map_err(|why| plain(&why))?;
        }
        let path = report::write_index(folder).map_err(|why| plain(&why))?;
        print::line(&format!("The report is {}: it leads to {}.", name(&path), inside.len()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The figures of a folder, or of all in it by their names.
fn figures(folder: &Path, inside: &[std::path::PathBuf]) -> Result<Value> {
    if report::holds(folder) || inside.is_empty() {
        return Ok(Results::read(folder).map_err(|why| plain(&why))?.json());
    }
    let mut all = serde_json::Map::new();
    for folder in inside {
        let results = Results::read(folder).map_err(|why| plain(&why))?;
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        all.insert(name, results.json());
    }
    Ok(Value::Object(all))
}

//! `report`: makes the pages of existing results.

use crate::{args, print};
use serde_json::Value;
use shallop_workbench::diagnostic::{Result, name, plain};
use shallop_workbench::{REPORT, Results, report};
use std::path::Path;

/// Makes the page of a results folder. For a folder that contains results folders, makes the page of each and an index.
pub fn report(args: &args::Report) -> Result<()> {
    let folder = &args.folder;
    let inside = report::result_folders(folder);
    if args.json {
        return print::json(&figures(folder, &inside)?);
    }
    if report::has_results(folder) {
        write(folder)?;
        print::line(&format!("The report is {}.", name(&folder.join(REPORT))))
    } else {
        for folder in &inside {
            write(folder)?;
        }
        let path = report::write_index(folder).map_err(|why| plain(&why))?;
        print::line(&format!("The report is {}: it leads to {}.", name(&path), inside.len()))
    }
}

fn write(folder: &Path) -> Result<()> {
    Results::publish(folder).map(drop).map_err(|why| plain(&why))
}

/// The figures of a results folder, or of all results folders in it by name.
fn figures(folder: &Path, inside: &[std::path::PathBuf]) -> Result<Value> {
    if report::has_results(folder) || inside.is_empty() {
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

//! `check`, `schema`, `chips` and `completions`: commands that run nothing.

use std::process::ExitCode;

use clap::CommandFactory;
use serde_json::Value;
use shallop_plan::chips::{self, Chip};
use shallop_results::table::Grid;
use shallop_scenario::explain;
use shallop_scenario::{self as scenario, Options};
use shallop_workbench::diagnostic::{Result, plain};
use shallop_workbench::{self as workbench, describe};

use crate::args::{self, Arguments};
use crate::{print, work};

/// Checks a scenario.
pub fn check(args: &args::Check) -> Result<ExitCode> {
    let files = work::files(&args.scenario);
    let options = Options { set: args.set.clone(), quick: args.quick, files, ..Options::default() };
    let study = workbench::work::read(&args.scenario, &options)?;
    workbench::work::can_run(&study)?;
    print::line(&format!("ok: {}", explain::work(&study)))?;
    for note in &study.notes {
        print::line(&format!("note: {note}"))?;
    }
    for warning in workbench::work::warnings(&study)? {
        print::line(&warning)?;
    }
    if args.explain {
        for section in explain::explain(&study).map_err(|why| plain(&why))? {
            let rows = section.lines.into_iter().map(|line| vec![line.what, line.value, line.how]);
            let header = vec![section.title, "value".to_owned(), "how".to_owned()];
            print::line("")?;
            print::grid(&Grid { header, rows: rows.collect(), words: 3 })?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints the JSON Schema of scenarios or of results.
pub fn schema(args: &args::Schema) -> Result<ExitCode> {
    let schema = if args.results {
        describe::summary()
    } else if args.columns {
        describe::columns()
    } else {
        scenario::schema()
    };
    print::json(&schema)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the completion script of a shell.
pub fn completions(args: &args::Completions) -> Result<ExitCode> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Arguments::command(), "shallop", &mut text);
    print::line(String::from_utf8_lossy(&text).trim_end())?;
    Ok(ExitCode::SUCCESS)
}

/// A chip as JSON.
fn described(chip: &Chip) -> Value {
    let memory = chip.memory.as_ref();
    let cell = memory.and_then(|it| it.cell);
    print::object([
        ("id", chip.id.into()),
        ("name", chip.name.into()),
        ("vendor", chip.vendor.into()),
        ("capacity_bps", chip.capacity.get().into()),
        ("buffer_bytes", chip.buffer.get().into()),
        ("ports", chip.ports.into()),
        ("port_rate_bps", chip.port_rate.get().into()),
        ("buffer_bytes_per_gbps", chip.buffer_per_gbps().get().into()),
        ("buffer_bytes_per_port", chip.buffer_per_port().get().into()),
        ("mmus", memory.map(|it| it.count).into()),
        ("ports_per_mmu", chip.ports_per_mmu().into()),
        ("pool_bytes", chip.pool().map_or(Value::Null, |pool| pool.get().into())),
        ("private_bytes", memory.map(|it| it.private.get()).into()),
        ("cell_bytes", cell.map_or(Value::Null, |cell| cell.get().into())),
        ("note", chip.note.into()),
        ("memory_note", memory.map(|it| it.note).into()),
    ])
}

/// Lists the chips.
pub fn chips(args: &args::Chips) -> Result<ExitCode> {
    if args.json {
        let chips: Vec<Value> = chips::all().iter().map(described).collect();
        print::json(&print::object([("chips", chips.into())]))?;
        return Ok(ExitCode::SUCCESS);
    }
    let header = [
        "id",
        "vendor",
        "name",
        "ports",
        "Gb/s",
        "Tb/s",
        "MB",
        "KB per Gb/s",
        "pools",
        "pool MB",
        "queue KB",
    ];
    let rows = chips::all().iter().map(|chip| {
        let (bits, bytes) = (chip.capacity.get() as f64, chip.buffer.get() as f64);
        vec![
            chip.id.to_owned(),
            chip.vendor.to_owned(),
            chip.name.to_owned(),
            chip.ports.to_string(),
            format!("{}", chip.port_rate.get() as f64 / 1e9),
            format!("{:.2}", bits / 1e12),
            format!("{:.1}", bytes / 1e6),
            format!("{:.2}", chip.buffer_per_gbps().get() as f64 / 1e3),
            chip.memory.as_ref().map_or(String::new(), |memory| memory.count.to_string()),
            known(chip.pool().map(|pool| pool.get() as f64 / 1e6)),
            known(chip.memory.as_ref().map(|memory| memory.private.get() as f64 / 1e3)),
        ]
    });
    print::grid(&Grid {
        header: header.map(str::to_owned).to_vec(),
        rows: rows.collect(),
        words: 3,
    })?;
    Ok(ExitCode::SUCCESS)
}

/// A size, if it is known.
fn known(size: Option<f64>) -> String {
    size.map_or(String::new(), |size| format!("{size:.2}"))
}

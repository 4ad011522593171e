//! `check`, `schema`, `chips` and `completions`: commands that run nothing.

use std::process::ExitCode;

use clap::CommandFactory;
use serde_json::Value;
use shallop_core::Bytes;
use shallop_plan::chips::{self, Chip};
use shallop_results::DerivedValue;
use shallop_results::table::Grid;
use shallop_scenario::explain::{self, Section};
use shallop_scenario::{self as scenario, Options};
use shallop_workbench::diagnostic::{Result, plain};
use shallop_workbench::{self as workbench, describe};

use crate::args::{self, Arguments, Format};
use crate::{print, work};

/// Checks a scenario.
pub fn check(args: &args::Check) -> Result<ExitCode> {
    let files = work::files(&args.scenario);
    let options = Options { set: args.set.clone(), quick: args.quick, files, ..Options::default() };
    let study = workbench::work::read(&args.scenario, &options)?;
    workbench::work::can_run(&study)?;
    print::notes(&workbench::work::notes(&study));
    print::notes(&workbench::work::warnings(&study)?);
    let ok = format!("ok: {}", explain::work(&study));
    let sections = if args.explain { explain::explain(&study) } else { Ok(Vec::new()) };
    let sections = sections.map_err(|why| plain(&why))?;
    let format = args.printed.format();
    if format == Format::Json {
        print::json(&derived(&explain::work(&study), &sections))?;
        return Ok(ExitCode::SUCCESS);
    }
    if format == Format::Csv {
        print::stderr(&format!("{ok}\n"));
        let of = |section: &Section| -> Vec<Vec<String>> {
            let row = |line: &DerivedValue| {
                [&section.title, &line.what, &line.value, &line.how].map(Clone::clone).to_vec()
            };
            section.lines.iter().map(row).collect()
        };
        let header = ["section", "what", "value", "how"].map(str::to_owned).to_vec();
        let rows = sections.iter().flat_map(of).collect();
        print::grid(&Grid { header, rows, words: 4 }, args.printed)?;
        return Ok(ExitCode::SUCCESS);
    }
    print::line(&ok)?;
    for section in sections {
        let rows = section.lines.into_iter().map(|line| vec![line.what, line.value, line.how]);
        let header = vec![section.title, "value".to_owned(), "how".to_owned()];
        print::line("")?;
        print::grid(&Grid { header, rows: rows.collect(), words: 3 }, args.printed)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The derived values of a scenario as JSON.
fn derived(work: &str, sections: &[Section]) -> Value {
    let section =
        |section: &Section| serde_json::json!({ "title": section.title, "values": section.lines });
    let sections: Vec<Value> = sections.iter().map(section).collect();
    serde_json::json!({ "work": work, "sections": sections })
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
        ("buffer_bytes", bytes(chip.buffer)),
        ("ports", chip.ports.into()),
        ("port_rate_bps", chip.port_rate.get().into()),
        ("buffer_bytes_per_gbps", bytes(chip.buffer_per_gbps())),
        ("buffer_bytes_per_port", bytes(chip.buffer_per_port())),
        ("mmus", memory.map(|it| it.count).into()),
        ("ports_per_mmu", chip.ports_per_mmu().into()),
        ("pool_bytes", bytes(chip.pool())),
        ("private_bytes", memory.map(|it| it.private.get()).into()),
        ("cell_bytes", bytes(cell)),
        ("note", chip.note.into()),
        ("memory_note", memory.map(|it| it.note).into()),
    ])
}

fn bytes(size: Option<Bytes>) -> Value {
    size.map_or(Value::Null, |size| size.get().into())
}

/// Lists the chips.
pub fn chips(args: &args::Chips) -> Result<ExitCode> {
    if args.printed.format() == Format::Json {
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
        let bits = chip.capacity.get() as f64;
        let size = |bytes: Option<Bytes>, unit: f64, decimals: usize| {
            let size = |bytes: Bytes| format!("{:.decimals$}", bytes.get() as f64 / unit);
            bytes.map_or_else(|| "unknown".to_owned(), size)
        };
        vec![
            chip.id.to_owned(),
            chip.vendor.to_owned(),
            chip.name.to_owned(),
            chip.ports.to_string(),
            format!("{}", chip.port_rate.get() as f64 / 1e9),
            format!("{:.2}", bits / 1e12),
            size(chip.buffer, 1e6, 1),
            size(chip.buffer_per_gbps(), 1e3, 2),
            chip.memory.as_ref().map_or(String::new(), |memory| memory.count.to_string()),
            known(chip.pool().map(|pool| pool.get() as f64 / 1e6)),
            known(chip.memory.as_ref().map(|memory| memory.private.get() as f64 / 1e3)),
        ]
    });
    let header = header.map(str::to_owned).to_vec();
    print::grid(&Grid { header, rows: rows.collect(), words: 3 }, args.printed)?;
    Ok(ExitCode::SUCCESS)
}

/// A size, if it is known.
fn known(size: Option<f64>) -> String {
    size.map_or(String::new(), |size| format!("{size:.2}"))
}

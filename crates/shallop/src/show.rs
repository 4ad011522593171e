//! `check`, `schema`, `chips`, `completions` and `man`: commands that run nothing.

use crate::args::{self, Arguments, Format, PrintOptions};
use crate::{input::Input, print, run::threads};
use clap::CommandFactory;
use serde_json::Value;
use shallop_core::Bytes;
use shallop_plan::Study;
use shallop_plan::chips::{self, Chip};
use shallop_results::table::Grid;
use shallop_results::{DerivedValue, Job};
use shallop_scenario as scenario;
use shallop_scenario::explain::{self, LinkRow, Section};
use shallop_workbench::diagnostic::{Result, plain};
use shallop_workbench::identity::Identity;
use shallop_workbench::{self as workbench, describe, forecast};

pub fn check(args: &args::Check, input: &Input) -> Result<()> {
    let study = input.study(args.points.options(args.source.options()))?;
    if args.runs {
        return runs(&study, input, args.printed);
    }
    workbench::run_study::check_setups(&study)?;
    print::notes(&workbench::run_study::notes(&study));
    print::notes(&workbench::run_study::programs(&study));
    print::notes(&workbench::run_study::warnings(&study)?);
    let forecast = forecast::forecast(&[(&study, study.jobs())], threads(0)).words();
    let how_long = forecast.map_or_else(String::new, |words| format!(", {words}"));
    let ok = format!("ok: {}{how_long}", explain::work(&study));
    let sections = if args.explain { explain::explain(&study) } else { Ok(Vec::new()) };
    let sections = sections.map_err(|why| plain(&why))?;
    let format = args.printed.format();
    if format == Format::Json {
        return print::json(&sections_json(&explain::work(&study), &sections));
    }
    if format == Format::Csv {
        print::stderr(&format!("{ok}\n"));
        let of = |section: &Section| -> Vec<Vec<String>> {
            let row =
                |line: &DerivedValue| [&section.title, &line.what, &line.value, &line.how].map(Clone::clone).to_vec();
            let links = section.links.iter().map(|link| {
                let [link, rate, rest @ ..] = cells(link);
                let how = HEADER[2..].iter().zip(rest).map(|(name, cell)| format!("{name} {cell}"));
                let how = how.collect::<Vec<_>>().join(", ");
                vec![section.title.clone(), format!("link {link}"), rate, how]
            });
            section.lines.iter().map(row).chain(links).collect()
        };
        let rows = sections.iter().flat_map(of);
        return print::grid(&Grid::new("section, what, value, how", rows, 4), args.printed);
    }
    print::line(&ok)?;
    let all: usize = sections.iter().map(|section| section.lines.len()).sum();
    let schemes = study.points.first().map_or(0, |point| point.plan.schemes.len());
    let main = !args.all && !sections.is_empty();
    let sections = if main { vec![explain::main_values(&sections, schemes)] } else { sections };
    let more = all.saturating_sub(if main { sections[0].lines.len() } else { all });
    for section in sections {
        let rows = section.lines.into_iter().map(|line| vec![line.what, line.value, line.how]);
        let header = vec![section.title, "value".to_owned(), "how".to_owned()];
        print::line("")?;
        print::grid(&Grid { header, rows: rows.collect(), words: 3 }, args.printed)?;
        links(&section.links, args.printed)?;
    }
    match more {
        0 => Ok(()),
        more => print::line(&format!("\n… {more} values more, and the links: --explain --all has them")),
    }
}

fn runs(study: &Study, input: &Input, printed: PrintOptions) -> Result<()> {
    let row = |job: Job| {
        let point = &study.points[job.point];
        let identity = Identity::for_run(&point.plan, job.scheme, job.seed).to_string();
        (point.name.clone(), point.plan.schemes[job.scheme].name.clone(), job.seed, identity)
    };
    let rows = study.jobs().into_iter().map(row);
    if printed.format() == Format::Json {
        let run = |(point, scheme, seed, identity): (String, String, u64, String)| {
            print::object([
                ("point", point.into()),
                ("scheme", scheme.into()),
                ("seed", seed.into()),
                ("identity", identity.into()),
            ])
        };
        return print::json(&print::object([
            ("title", study.title.as_str().into()),
            ("files", input.named_files().into()),
            ("runs", rows.map(run).collect::<Vec<_>>().into()),
        ]));
    }
    let rows = rows.map(|(point, scheme, seed, identity)| vec![point, scheme, seed.to_string(), identity]);
    print::grid(&Grid::new("point, scheme, seed, identity", rows, 2), printed)
}

const HEADER: [&str; 7] = ["link", "rate", "delay", "switch", "chip", "buffer", "offered"];
/// The number of links that are printed without `--wide`.
const MAX_LINKS: usize = 20;

fn cells(row: &LinkRow) -> [String; 7] {
    let or_dash = |text: Option<&str>| text.unwrap_or("–").to_owned();
    [
        row.link.clone(),
        row.rate.to_string(),
        row.delay.to_string(),
        row.switch.clone().unwrap_or_else(|| "host".to_owned()),
        or_dash(row.chip),
        or_dash(row.buffer.as_deref()),
        row.load().map_or_else(|| "–".to_owned(), |load| format!("{:.2} %", load * 100.0)),
    ]
}

/// Prints the table of links, in descending order of load.
fn links(rows: &[LinkRow], printed: PrintOptions) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let most = if printed.wide { rows.len() } else { MAX_LINKS };
    let shown = rows.iter().take(most).map(|row| cells(row).to_vec()).collect();
    print::line("")?;
    let header = HEADER.map(str::to_owned).to_vec();
    print::grid(&Grid { header, rows: shown, words: 1 }, printed)?;
    match rows.len().saturating_sub(most) {
        0 => Ok(()),
        more => print::line(&format!("… {more} more: --wide and --json have all")),
    }
}

fn sections_json(work: &str, sections: &[Section]) -> Value {
    let section = |section: &Section| {
        let links: Vec<Value> = section.links.iter().map(link).collect();
        serde_json::json!({ "title": section.title, "values": section.lines, "links": links })
    };
    let sections: Vec<Value> = sections.iter().map(section).collect();
    serde_json::json!({ "work": work, "sections": sections })
}

fn link(row: &LinkRow) -> Value {
    print::object([
        ("link", row.link.as_str().into()),
        ("rate_bps", row.rate.get().into()),
        ("delay_s", row.delay.as_secs_f64().into()),
        ("switch", row.switch.as_deref().into()),
        ("chip", row.chip.into()),
        ("buffer", row.buffer.as_deref().into()),
        ("offered_bps", row.offered_bps.into()),
    ])
}

pub fn schema(args: &args::Schema) -> Result<()> {
    let schema = if args.results {
        describe::summary()
    } else if args.columns {
        describe::columns()
    } else if args.advice {
        describe::advice()
    } else {
        scenario::schema()
    };
    print::json(&schema)
}

pub fn completions(args: &args::Completions) -> Result<()> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Arguments::command(), "shallop", &mut text);
    print::line(String::from_utf8_lossy(&text).trim_end())
}

/// Writes the manual pages: shallop.1, and one for each command.
pub fn man(args: &args::Man) -> Result<()> {
    clap_mangen::generate_to(Arguments::command(), &args.folder)
        .map_err(|why| plain(&format!("{}: {why}", args.folder.display())))
}

fn chip_json(chip: &Chip) -> Value {
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
        ("alpha", memory.map(|it| it.alpha).into()),
        ("note", chip.note.into()),
        ("alpha_note", memory.map(|it| it.alpha_note).into()),
        ("memory_note", memory.map(|it| it.note).into()),
    ])
}

fn bytes(size: Option<Bytes>) -> Value {
    size.map_or(Value::Null, |size| size.get().into())
}

pub fn chips(args: &args::Chips) -> Result<()> {
    if args.printed.format() == Format::Json {
        let chips: Vec<Value> = chips::all().iter().map(chip_json).collect();
        return print::json(&print::object([("chips", chips.into())]));
    }
    let header = "id, vendor, name, ports, Gb/s, Tb/s, MB, KB per Gb/s, pools, pool MB, queue KB, alpha";
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
            chip.memory.as_ref().map_or(String::new(), |memory| memory.alpha.to_string()),
        ]
    });
    print::grid(&Grid::new(header, rows, 3), args.printed)
}

fn known(size: Option<f64>) -> String {
    size.map_or(String::new(), |size| format!("{size:.2}"))
}

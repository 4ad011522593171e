//! `bench`: measures packet hops per second in the standard cases. Each case runs in its own process, which gives its
//! peak memory.

use crate::args::{self, Format};
use crate::{exit_codes::INTERRUPTED, print};
use serde_json::{Value, json};
use shallop_results::table::Grid;
use shallop_scenario::reference_run::{CASES, Case};
use shallop_workbench::bench::{BenchResult, calibrate, measure};
use shallop_workbench::diagnostic::{Result, plain};
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

pub fn bench(args: &args::Bench, stop: &AtomicBool) -> Result<ExitCode> {
    if let Some([case, transport]) = args.one.as_deref() {
        return one(*case, *transport, args.quick).map(|()| ExitCode::SUCCESS);
    }
    let mut chosen = Vec::new();
    for (case, at) in CASES.iter().enumerate() {
        for (transport, label) in at.transports().iter().enumerate() {
            if args.only.as_ref().is_none_or(|only| format!("{} {label}", at.name).contains(only)) {
                chosen.push((case, transport));
            }
        }
    }
    if chosen.is_empty() {
        let cases: Vec<&str> = CASES.iter().map(|case| case.name).collect();
        let mut labels: Vec<&str> = CASES.iter().flat_map(Case::transports).copied().collect();
        labels.sort_unstable();
        labels.dedup();
        let what = format!("--only: no case has this in its name; there are {}", cases.join("; "));
        return Err(plain(&format!("{what}, with {}", labels.join(", "))));
    }
    let before = calibrate();
    let mut measured = Vec::new();
    for (case, transport) in chosen {
        if stop.load(Ordering::Relaxed) {
            return Ok(ExitCode::from(INTERRUPTED));
        }
        measured.push(apart(case, transport, args.quick)?);
    }
    let calibration = f64::midpoint(before, calibrate());
    let format = args.printed.format();
    if format == Format::Json {
        print::json(&json!({"cases": measured, "calibration_events_per_s": calibration}))?;
    } else {
        print::grid(&grid(&measured), args.printed)?;
        let million = calibration / 1e6;
        let notes = format!(
            "\nA bare heap of 2,000 entries made {million:.1} M events a second meanwhile.\n\
             wall s: the best run; the slowest beside it.\n"
        );
        if format == Format::Csv { print::stderr(&notes) } else { print::line(notes.trim_end())? }
    }
    Ok(ExitCode::SUCCESS)
}

/// Measures one case in this process, and prints a line of JSON.
fn one(case: usize, transport: usize, quick: bool) -> Result<()> {
    let case = CASES.get(case).filter(|case| transport < case.transports().len());
    let case = case.ok_or_else(|| plain(&"there is no such case"))?;
    print::json(&measure(case, transport, quick).map_err(|why| plain(&why))?)
}

/// Measures one case in a separate process.
fn apart(case: usize, transport: usize, quick: bool) -> Result<BenchResult> {
    let failed = |why: &dyn std::fmt::Display| {
        let (case, transport) = (CASES[case].name, CASES[case].transports()[transport]);
        plain(&format!("{case}, {transport}: could not be measured: {why}"))
    };
    let this = std::env::current_exe().map_err(|why| failed(&why))?;
    let mut command = Command::new(this);
    command.args(["bench", "--one", &case.to_string(), &transport.to_string()]);
    if quick {
        command.arg("--quick");
    }
    let output = command.stderr(Stdio::inherit()).output().map_err(|why| failed(&why))?;
    if !output.status.success() {
        return Err(failed(&output.status));
    }
    serde_json::from_slice::<Value>(&output.stdout).and_then(serde_json::from_value).map_err(|why| failed(&why))
}

fn grid(measured: &[BenchResult]) -> Grid {
    let header = "case, transport, simulated s, M hops, M data, wall s, slowest, M hops/s, M data/s, MB";
    let rows = measured.iter().map(|case| {
        let million = |value: f64| format!("{:.2}", value / 1e6);
        let memory = case.peak_rss_bytes.map_or_else(|| "-".to_owned(), |b| format!("{:.1}", b as f64 / 1e6));
        vec![
            case.case.clone(),
            case.transport.clone(),
            format!("{:.1}", case.simulated_s),
            million(case.packet_hops as f64),
            million(case.delivered_data_packets as f64),
            format!("{:.3}", case.wall_s),
            format!("{:.3}", case.wall_most_s),
            million(case.hops_per_s),
            million(case.delivered_per_s),
            memory,
        ]
    });
    Grid::new(header, rows, 2)
}

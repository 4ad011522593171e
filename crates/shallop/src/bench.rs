//! `bench`: measures user time for each packet in the standard cases, also beside another build. Each run has its
//! own process, which gives its peak memory.

use crate::args::{self, Format};
use crate::{exit_codes::INTERRUPTED, print};
use serde_json::json;
use shallop_results::table::Grid;
use shallop_scenario::reference_run::{CASES, Case};
use shallop_workbench::bench::{BenchResult, measure};
use shallop_workbench::diagnostic::{Result, plain};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

pub fn bench(args: &args::Bench, stop: &AtomicBool) -> Result<ExitCode> {
    if let Some(name) = &args.one {
        let case = CASES
            .iter()
            .find(|case| label(case) == *name)
            .ok_or_else(|| plain(&format!("no case is called \"{name}\"")))?;
        print::json(&measure(case, args.quick).map_err(|why| plain(&why))?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let is_chosen = |case: &&Case| args.only.as_ref().is_none_or(|only| label(case).contains(only));
    let chosen: Vec<&Case> = CASES.iter().filter(is_chosen).collect();
    if chosen.is_empty() {
        let cases: Vec<String> = CASES.iter().map(label).collect();
        return Err(plain(&format!("--only: no case has this in its name; there are {}", cases.join("; "))));
    }
    let this = std::env::current_exe().map_err(|why| plain(&why))?;
    let mut all = Vec::new();
    for case in chosen {
        let (mut runs, mut ratios) = (Vec::new(), Vec::new());
        for _ in 0..args.rounds.unwrap_or(if args.quick { 1 } else { 3 }) {
            if stop.load(Ordering::Relaxed) {
                return Ok(ExitCode::from(INTERRUPTED));
            }
            let run = apart(&this, case, args.quick)?;
            if let Some(other) = &args.against {
                let other = apart(other, case, args.quick)?;
                ratios.push(other.ns_per_packet / run.ns_per_packet);
            }
            runs.push(run);
        }
        runs.sort_by(|a, b| a.ns_per_packet.total_cmp(&b.ns_per_packet));
        ratios.sort_by(f64::total_cmp);
        let of_pairs = |half: usize| ratios.get(ratios.len().saturating_sub(1) * half / 2).copied();
        let median = runs.swap_remove((runs.len() - 1) / 2);
        all.push(BenchResult { ratio: [0, 1, 2].map(of_pairs), ..median });
    }
    let calibration = all.iter().map(|case| case.calibration_events_per_s).sum::<f64>() / all.len() as f64;
    let format = args.printed.format();
    if format == Format::Json {
        print::json(&json!({"cases": all, "calibration_events_per_s": calibration}))?;
    } else {
        print::grid(&grid(&all), args.printed)?;
        let million = calibration / 1e6;
        let notes = format!(
            "\nThe run with the median of ns/packet. Times are user time, without time in the kernel; packets are all \
             that were offered to ports, MB is the peak of memory. A ratio above 1: the other build takes more time \
             for a packet.\n\
             A bare heap of 2,000 entries made {million:.1} M events a second meanwhile."
        );
        if format == Format::Csv { print::stderr(&notes) } else { print::line(&notes)? }
    }
    Ok(ExitCode::SUCCESS)
}

fn label(case: &Case) -> String {
    format!("{} {}", case.name, case.transport)
}

/// Measures one case in a separate process of a build.
fn apart(build: &Path, case: &Case, quick: bool) -> Result<BenchResult> {
    let failed = |why: &dyn std::fmt::Display| {
        plain(&format!("{}: {} could not measure it: {why}", label(case), build.display()))
    };
    let mut command = Command::new(build);
    command.args(["bench", "--one", &label(case)]).args(quick.then_some("--quick"));
    let output = command.stderr(Stdio::inherit()).output().map_err(|why| failed(&why))?;
    if !output.status.success() {
        return Err(failed(&output.status));
    }
    serde_json::from_slice(&output.stdout)
        .map_err(|why| failed(&format!("it does not print what shallop bench of this version prints ({why})")))
}

fn grid(all: &[BenchResult]) -> Grid {
    let header = "case, transport, simulated s, M packets, ns/packet, user s, set-up s, M hops/s, MB, least ratio, \
                  ratio, largest ratio";
    let rows = all.iter().map(|case| {
        let (packets, memory) = ((case.packet_hops + case.drops) as f64, case.peak_rss_bytes);
        let run =
            [case.simulated_s, packets / 1e6, case.ns_per_packet, case.user_s, case.setup_s, case.hops_per_s / 1e6];
        let other = [memory.map(|bytes| bytes as f64 / 1e6)].into_iter().chain(case.ratio);
        let cell = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.3}"));
        let cells = run.map(Some).into_iter().chain(other).map(cell);
        [&case.case, &case.transport].map(String::clone).into_iter().chain(cells).collect()
    });
    Grid::new(header, rows, 2)
}

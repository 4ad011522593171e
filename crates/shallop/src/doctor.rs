//! `doctor`: shows what this machine can do, and what is missing for the rest.

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use shallop_results::machine::Ability;
use shallop_results::table::{Grid, significant};
use shallop_workbench::capacity;
use shallop_workbench::diagnostic::Result;
use shallop_workbench::rehearsal::{self, RateTrial};

use crate::args::Format;
use crate::host_args;
use crate::print;

/// The JSON document that `doctor --json` prints.
#[derive(serde::Serialize)]
struct DoctorReport<'a> {
    abilities: Vec<Ability>,
    carried: &'a [RateTrial],
}

pub fn doctor(args: &host_args::Doctor, stop: &AtomicBool) -> Result<ExitCode> {
    let abilities = rehearsal::abilities();
    let mut carried = Vec::new();
    if args.bench {
        for sends in ["bursts", "packets"] {
            carried.extend(rehearsal::bench(sends, &|| stop.load(Ordering::Relaxed))?);
        }
    }
    print_found(abilities, &carried, args)?;
    if args.bench && !stop.load(Ordering::Relaxed) {
        match capacity::store(&carried) {
            Ok(Some(file)) if args.printed.format() != Format::Json => {
                print::stderr(&format!("These limits are kept in {}.\n", file.display()));
            }
            Ok(_) => {}
            Err(why) => print::stderr(&format!(
                "warning: the limits are not kept, so that scenarios are not held against them: {why}\n"
            )),
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn print_found(
    abilities: Vec<Ability>,
    carried: &[RateTrial],
    args: &host_args::Doctor,
) -> Result<()> {
    if args.printed.format() == Format::Json {
        return print::json(&DoctorReport { abilities, carried });
    }
    let row = |of: &Ability| {
        let can = if of.can { "yes" } else { "NO" };
        vec![of.what.clone(), can.to_owned(), of.found.clone(), of.used_for.clone()]
    };
    print::grid(&Grid::new("what, can, found, for", abilities.iter().map(row), 4), args.printed)?;
    if args.bench {
        print::line("\nFour CUBIC flows over one link, 10 ms and 500 KB, for a second")?;
        print::grid(&benched(carried), args.printed)?;
        print::line(&limits(carried))?;
    }
    Ok(())
}

fn benched(carried: &[RateTrial]) -> Grid {
    let header =
        "sends, verdict, link Mb/s, goodput, kpps, late us p50, p99, p99.9, gap us, answer us";
    let row = |of: &RateTrial| {
        let run = &of.rehearsal;
        let verdict = if run.void.is_empty() { "counts" } else { "VOID" };
        let figures = [
            of.rate_bps / 1e6,
            of.goodput_bps / 1e6,
            run.packets_per_s / 1e3,
            run.lateness_p50_s * 1e6,
            run.lateness_p99_s * 1e6,
            run.lateness_p999_s * 1e6,
            run.longest_gap_s * 1e6,
            run.response_p99_s * 1e6,
        ];
        let words = [of.sends.clone(), verdict.to_owned()].into_iter();
        words.chain(figures.map(significant)).collect()
    };
    Grid::new(header, carried.iter().map(row), 2)
}

/// A sentence with the fastest rehearsals that were not void.
fn limits(carried: &[RateTrial]) -> String {
    let best = |sends: &str| {
        let counts = carried.iter().filter(|of| of.sends == sends && of.rehearsal.void.is_empty());
        let most = counts.map(|of| of.rate_bps / 1e6).fold(0.0, f64::max);
        let most =
            if most > 0.0 { format!("{} Mb/s", significant(most)) } else { "none".to_owned() };
        format!("{most} where hosts send {sends}")
    };
    format!("The fastest that counted: {}, {}.", best("bursts"), best("packets"))
}

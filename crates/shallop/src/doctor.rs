//! `doctor`: shows what this machine can do, and what is missing for the rest.

use crate::{args::Format, host_args, print};
use shallop_results::table::{Grid, significant};
use shallop_results::{machine::Ability, rehearsal_table::verdict};
use shallop_workbench::rehearsal::{self, RateTrial};
use shallop_workbench::{capacity, diagnostic::Result};
use std::sync::atomic::{AtomicBool, Ordering};

/// The JSON document that `doctor --json` prints.
#[derive(serde::Serialize)]
struct DoctorReport<'a> {
    abilities: Vec<Ability>,
    carried: &'a [RateTrial],
    /// The programs that wanted a processor before the benchmark; null if not known.
    load: Option<f64>,
}

pub fn doctor(args: &host_args::Doctor, stop: &AtomicBool) -> Result<()> {
    let (abilities, load) = (rehearsal::abilities(), capacity::load());
    let mut carried = Vec::new();
    if args.bench {
        for sends in ["bursts", "packets"] {
            carried.extend(rehearsal::bench(sends, &|| stop.load(Ordering::Relaxed))?);
        }
    }
    print_found(abilities, &carried, load, args)?;
    if args.bench && !stop.load(Ordering::Relaxed) {
        match capacity::store(&carried, load) {
            Ok(Some(file)) if args.printed.format() != Format::Json => {
                print::stderr(&format!("These limits are kept in {}.\n", file.display()));
            }
            Ok(_) => {}
            Err(why) => print::stderr(&format!(
                "warning: the limits are not kept, so that scenarios are not held against them: {why}\n"
            )),
        }
    }
    Ok(())
}

fn print_found(
    abilities: Vec<Ability>, carried: &[RateTrial], load: Option<f64>, args: &host_args::Doctor,
) -> Result<()> {
    if args.printed.format() == Format::Json {
        return print::json(&DoctorReport { abilities, carried, load });
    }
    let row = |of: &Ability| {
        let can = if of.can { "yes" } else { "NO" };
        vec![of.what.clone(), can.to_owned(), of.found.clone(), of.used_for.clone()]
    };
    print::grid(&Grid::new("what, can, found, for", abilities.iter().map(row), 4), args.printed)?;
    if args.bench {
        print::line("\nFour CUBIC flows over one link, 10 ms and 500 KB, for a second")?;
        print::grid(&benched(carried), args.printed)?;
        print::line(&limits(carried, load))?;
    }
    Ok(())
}

fn benched(carried: &[RateTrial]) -> Grid {
    let header = "sends, verdict, link Mb/s, goodput, moved %, kpps, late us, p99, gap us, answer us, still %";
    let row = |of: &RateTrial| {
        let run = &of.rehearsal;
        let figures = [
            of.rate_bps / 1e6,
            of.goodput_bps / 1e6,
            run.bounds.map_or(f64::NAN, |bounds| bounds.goodput_moved() * 100.0),
            run.packets_per_s / 1e3,
            run.lateness_mean_s * 1e6,
            run.lateness_p99_s * 1e6,
            run.longest_gap_s * 1e6,
            run.response_p99_s * 1e6,
            run.stood_still_s * 100.0,
        ];
        let words = [of.sends.clone(), verdict(run).to_owned()].into_iter();
        words.chain(figures.map(significant)).collect()
    };
    Grid::new(header, carried.iter().map(row), 2)
}

/// A sentence with the fastest rehearsals that were not void.
fn limits(carried: &[RateTrial], load: Option<f64>) -> String {
    let best = |sends: &str| {
        let counts = carried.iter().filter(|of| of.sends == sends && of.rehearsal.void.is_empty());
        let most = counts.map(|of| of.rate_bps / 1e6).fold(0.0, f64::max);
        let most = if most > 0.0 { format!("{} Mb/s", significant(most)) } else { "none".to_owned() };
        format!("{most} where hosts send {sends}")
    };
    let load = capacity::under_load(load).map_or_else(String::new, |load| format!(" That was {load}."));
    let moved = "moved: how far lateness can have moved the goodput; a run counts up to 10 %.";
    format!("{moved}\nThe fastest that counted: {}, {}.{load}", best("bursts"), best("packets"))
}

//! What this machine carries in real time, as `doctor --bench` has found it, kept in the user's folder of data; and the
//! part of a scenario's rates that fits.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use shallop_core::Share;
use shallop_plan::Study;
use shallop_plan::plan::Plan;

use super::diagnostic::{Result, of_work, plain};
use super::error::WorkError;
use super::rehearsal::Carried;

/// The part of a scenario's rates and buffers that is to be rehearsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// The largest that this machine carries.
    Auto,
    /// This part.
    By(Share),
}

/// What a machine carries: the rate of the fastest link whose rehearsal counted, in bits per second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// The release of its kernel.
    kernel: String,
    /// The number of its processors.
    processors: usize,
    /// Where hosts send bursts of segmentation offload.
    bursts_bps: f64,
    /// Where hosts send packet by packet.
    packets_bps: f64,
}

#[cfg(target_os = "linux")]
#[expect(clippy::unnecessary_wraps, reason = "elsewhere there is none")]
fn machine() -> Option<(PathBuf, String)> {
    let file = shallop_kernel::installed::data_folder().join("machine.json");
    Some((file, shallop_linux::abilities::release()))
}

#[cfg(not(target_os = "linux"))]
fn machine() -> Option<(PathBuf, String)> {
    None
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

impl Limits {
    /// Those of a benchmark.
    fn of(carried: &[Carried], kernel: String) -> Self {
        let best = |sends: &str| {
            let counts = |of: &&Carried| of.sends == sends && of.rehearsal.void.is_empty();
            carried.iter().filter(counts).map(|of| of.rate_bps).fold(0.0, f64::max)
        };
        let (bursts_bps, packets_bps) = (best("bursts"), best("packets"));
        Self { kernel, processors: processors(), bursts_bps, packets_bps }
    }

    /// The rate for a plan; `None` if no rehearsal of the benchmark counted.
    fn rate(&self, plan: &Plan) -> Option<f64> {
        let packets = plan.kernel.gso_max_segs == Some(1);
        let rate = if packets { self.packets_bps } else { self.bursts_bps };
        (rate > 0.0).then_some(rate)
    }
}

/// Keeps what a benchmark has found, in place of what an earlier one has. Returns the file.
///
/// # Errors
/// If it cannot be written.
pub fn keep(carried: &[Carried]) -> Result<Option<PathBuf>> {
    let Some((file, kernel)) = machine() else { return Ok(None) };
    let limits = Limits::of(carried, kernel);
    let text = serde_json::to_string_pretty(&limits).map_err(|why| plain(&why))? + "\n";
    if let Some(folder) = file.parent() {
        let made = std::fs::create_dir_all(folder);
        made.map_err(|why| plain(&format!("{}: {why}", folder.display())))?;
    }
    shallop_store::write_file(&file, text.as_bytes()).map_err(|why| plain(&why))?;
    Ok(Some(file))
}

/// What is kept of this machine, unless its kernel or its processors are others now.
fn kept() -> Option<Limits> {
    let (file, kernel) = machine()?;
    let text = shallop_store::read_text(file).ok()?;
    let limits: Limits = serde_json::from_str(&text).ok()?;
    (limits.kernel == kernel && limits.processors == processors()).then_some(limits)
}

/// The denominator of the largest simple part of `demand` that is at most `carried`: up to ten any, then multiples of
/// five, and above a hundred of fifty.
fn denominator(demand: f64, carried: f64) -> u64 {
    let least = (demand / carried * (1.0 - 1e-9)).ceil().clamp(1.0, 1e15) as u64;
    match least {
        0..=10 => least,
        11..=100 => least.next_multiple_of(5),
        _ => least.next_multiple_of(50),
    }
}

/// What real hosts of a plan may send at a time under any of its schemes, in bits per second.
fn demand(plan: &Plan) -> Result<f64> {
    #[cfg(target_os = "linux")]
    {
        use shallop_linux::{RehearsalError, rehearse};
        let mut most: f64 = 0.0;
        for scheme in 0..plan.schemes.len() {
            match rehearse::demand(plan, scheme) {
                Ok(demand) => most = most.max(demand),
                Err(RehearsalError::NoHosts) => {}
                Err(why) => return Err(of_work(&WorkError::from(why))),
            }
        }
        Ok(most)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = plan;
        Ok(0.0)
    }
}

/// The point of a study that asks most of this machine, as what its hosts may send and what the machine carries, both
/// in bits per second. `None` if what it carries is not known.
fn heaviest(study: &Study) -> Result<Option<(f64, f64)>> {
    let Some(limits) = kept() else { return Ok(None) };
    let mut heaviest: Option<(f64, f64)> = None;
    for point in &study.points {
        let Some(carried) = limits.rate(&point.plan) else { continue };
        let demand = demand(&point.plan)?;
        if heaviest.is_none_or(|(most, of)| demand / carried > most / of) {
            heaviest = Some((demand, carried));
        }
    }
    Ok(heaviest)
}

/// Gives a study this part of its rates and buffers, and checks that this machine carries what is left. Returns the
/// part, if it is not all. Without a benchmark of this machine nothing is checked.
///
/// # Errors
/// If it is more than the machine carries, with the part that fits; if the study cannot be scaled.
pub fn fit(study: &mut Study, scale: Option<Scale>) -> Result<Option<Share>> {
    let heaviest = heaviest(study)?;
    let least = heaviest.map(|(demand, carried)| denominator(demand, carried));
    let by = match (scale, least) {
        (None, _) => None,
        (Some(Scale::By(by)), _) => Some(by),
        (Some(Scale::Auto), Some(least)) => Share::new(1, least),
        (Some(Scale::Auto), None) => {
            return Err(of_work(&WorkError::NoKernel(
                "what this machine carries is not known: 'shallop doctor --bench' finds it, in half a minute"
                    .to_owned(),
            )));
        }
    };
    let by = by.filter(|by| by.parts().0 < by.parts().1);
    if let Some(((demand, carried), least)) = heaviest.zip(least)
        && by.map_or(1.0, Share::as_f64) * least as f64 > 1.0 + 1e-9
    {
        let (demand, carried) = (demand / 1e6, carried / 1e6);
        return Err(of_work(&WorkError::NoKernel(format!(
            "real hosts would send up to {demand:.0} Mb/s, and this machine carries {carried:.0} Mb/s in real time \
             ('shallop doctor --bench'): with --scale 1/{least} rates and buffers shrink together and fit"
        ))));
    }
    if let Some(by) = by {
        scale_by(study, by)?;
    }
    Ok(by)
}

/// Gives a study this part of its rates and buffers, and says so in its title.
///
/// # Errors
/// If it cannot be scaled.
pub fn scale_by(study: &mut Study, by: Share) -> Result<()> {
    for point in &mut study.points {
        point.plan = point.plan.clone().scaled(by).map_err(|why| plain(&why))?;
    }
    let (part, whole) = by.parts();
    study.title = format!("{}, with {part}/{whole} of its rates and buffers", study.title);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_part_that_fits_is_simple_and_not_too_large() {
        for (demand, carried, expected) in
            [(1.0, 2.0, 1), (2.0, 2.0, 1), (10.0, 2.0, 5), (10.0, 0.9, 15), (100.0, 0.9, 150)]
        {
            assert_eq!(denominator(demand, carried), expected, "{demand} {carried}");
        }
    }

    #[test]
    fn limits_are_those_of_the_fastest_rehearsal_that_counts() {
        let carried = |rate_bps, sends: &str, void: &[&str]| {
            let mut of = Carried { rate_bps, sends: sends.to_owned(), ..Carried::default() };
            of.rehearsal.void = void.iter().map(|why| (*why).to_owned()).collect();
            of
        };
        let all = [
            carried(5e8, "bursts", &["late"]),
            carried(1e9, "bursts", &[]),
            carried(2e9, "bursts", &["late"]),
            carried(5e8, "packets", &[]),
        ];
        let limits = Limits::of(&all, String::new());
        assert_eq!((limits.bursts_bps, limits.packets_bps), (1e9, 5e8));
    }
}

//! Stretched rehearsals: the network's clock is slower than this machine's by a factor, so that hosts see round trips
//! that are longer and rates that are lower by that factor, with the same products of the two. A machine that is too
//! late for a network is in time for the stretched one.

use super::kernels;
use shallop_core::Span;
use shallop_plan::Study;
use shallop_plan::plan::{Driver, Plan};
use shallop_results::{rehearsal_bound, summary::RehearsalOfRun};

/// The factors that are tried, in this order.
const FACTORS: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];
/// The duration of a trial: this time of the machine, but at least this time of the network.
const TRIAL: Span = Span::from_secs(1);
const SHORTEST: Span = Span::from_ms(200);
/// Behind buffers that hold less than this, time is not stretched for `--scale auto`: hosts send bursts of up to 64 KB
/// at once (TSO), which stretched time makes shorter, so that less is lost and more carried than in the network.
const LEAST_BUFFER: u64 = 65_536;
/// A trial decides if its bound of the goodput is below this fraction of what a run may have, as no two seconds of a
/// machine are alike.
const MARGIN: f64 = 0.7;

/// What does not stretch, for the note.
pub const CONSTANTS: &str = "constants of TCP do not stretch: the retransmission timeout of at least 200 ms, delayed \
                             acknowledgements (40 ms), thresholds of HyStart (4 to 16 ms, and 2 ms between \
                             acknowledgements), CUBIC's growth in real time, BBR's 10 s between probes of the round \
                             trip, and bursts of a millisecond (TSO)";

/// The plan with its network's clock slower by a factor than this machine's.
fn set(plan: &mut Plan, factor: u32) {
    if let Driver::Rehearsal { stretch, .. } = &mut plan.driver {
        *stretch = factor;
    }
}

/// The factor by which a study's rehearsals are stretched.
pub fn of(study: &Study) -> u32 {
    let stretch = |plan: &Plan| match plan.driver {
        Driver::Rehearsal { stretch, .. } => stretch,
        Driver::Simulator => 1,
    };
    study.points.iter().map(|point| stretch(&point.plan)).max().unwrap_or(1)
}

/// Stretches the rehearsals of a study by a factor, and says so in its title and in a note.
pub fn by(study: &mut Study, factor: u32) {
    for point in &mut study.points {
        set(&mut point.plan, factor);
    }
    if factor > 1 {
        study.title = format!("{}, {factor} times slower", study.title);
        study.notes.push(format!(
            "the network's clock is {factor} times slower than this machine's, so that round trips are {factor} times \
             longer and rates {factor} times lower for hosts; figures are in the network's time. These {CONSTANTS}"
        ));
    }
}

/// Whether a trial says that a run counts, with a margin; `None` if its bounds are not known.
fn counts(of: &RehearsalOfRun) -> Option<bool> {
    let moved = of.bounds?.goodput_moved();
    Some(of.void.is_empty() && moved <= MARGIN * rehearsal_bound::MOST)
}

/// The smallest factor, from `least` on, at which short rehearsals of all schemes and points count on this machine now;
/// the largest if none does. 1 if a scheme has programs, UDP or QUIC, which keep the machine's time, or if the buffers
/// are shallower than `LEAST_BUFFER`, which a note says.
pub fn find(study: &mut Study, least: u32) -> u32 {
    let (factor, note) = search(study, least);
    study.notes.extend(note);
    factor
}

fn search(study: &Study, least: u32) -> (u32, Option<String>) {
    let mut factor = least;
    for point in &study.points {
        for scheme in 0..point.plan.schemes.len() {
            loop {
                let mut plan = point.plan.clone();
                let trial = Span::from_ps(TRIAL.as_ps() / u64::from(factor)).max(SHORTEST);
                plan.duration = plan.duration.min(trial);
                set(&mut plan, factor);
                // The run itself reports its errors.
                let Ok(trial) = kernels::trial(&plan, scheme) else { return (factor, None) };
                let Some(counts) = trial.rehearsal.as_ref().and_then(counts) else { return (1, None) };
                let next = FACTORS.into_iter().find(|&next| next > factor);
                let Some(next) = next.filter(|_| !counts) else { break };
                if let Some(bytes) = trial.queue_limit_bytes.filter(|&bytes| bytes < LEAST_BUFFER) {
                    return (1, Some(shallow(bytes)));
                }
                factor = next;
            }
        }
    }
    (factor, None)
}

fn shallow(bytes: u64) -> String {
    format!(
        "time is not stretched: behind {:.1} KB the hosts' bursts of up to 64 KB decide what is lost, and stretched \
         time makes them shorter; a deeper buffer or a lower rate may count",
        bytes as f64 / 1e3
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use shallop_results::summary::LatenessBounds;

    #[test]
    fn a_trial_counts_with_a_margin_below_the_limit_of_a_run() {
        let trial = |goodput| RehearsalOfRun {
            bounds: Some(LatenessBounds { goodput, ..LatenessBounds::default() }),
            ..RehearsalOfRun::default()
        };
        assert_eq!(counts(&trial(0.05)), Some(true));
        assert_eq!(counts(&trial(0.08)), Some(false));
        assert_eq!(counts(&RehearsalOfRun::default()), None);
    }
}

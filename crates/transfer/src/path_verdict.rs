//! The verdict of `shallop ping --flashpass`: whether a path meters emulation packets, serves them before data, and
//! drops no data that leaves on credits.

use crate::class_test::{Metering, Order, is_lossy, metering, order};
use crate::path_measure::PathMeasured;
use shallop_core::BitsPerSec;
use shallop_quic::path_probe::ProbeCounts;

/// The largest loss of data on credits that counts as none: losses may be chance, or a host that was late.
const NEGLIGIBLE_LOSS: f64 = 0.002;
/// If the loss of data on credits is below this fraction of the loss of emulation packets, the path spares data.
const SPARED_FRACTION: f64 = 0.25;
/// The fraction of credits that a host may skip because it is late, without which losses of data are those of the path.
const MOST_SKIPPED: f64 = 0.01;
/// A path that carries more than this multiple of the given rate has a faster bottleneck.
const FASTER: f64 = 1.2;

/// A path that carries less than this multiple of the given rate has a slower bottleneck, or a busy host.
const SLOWER: f64 = 0.7;

/// Whether a path honours the classes of `FlashPass`, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathVerdict {
    /// `None` if it is not known.
    pub honours: Option<bool>,
    /// One sentence.
    pub sentence: String,
}

/// Why it is not known if packets of all classes were lost alike.
const BUSY: &str = "the hosts lost many packets whatever their class, as they do when other programs keep them busy; \
                    try again, or give a lower --rate-limit.";

/// Judges a path with a bottleneck of this rate.
pub fn verdict(found: &PathMeasured, link: BitsPerSec) -> PathVerdict {
    let problem = without_meter(found, link).or_else(|| with_wrong_order(found, link));
    problem.or_else(|| with_lost_data(found)).unwrap_or_else(|| PathVerdict {
        honours: Some(true),
        sentence: "The path honours the classes: it meters emulation packets, serves them before data, and spares \
                   data on credits."
            .to_owned(),
    })
}

fn fails(why: &str) -> PathVerdict {
    let sentence = format!("The path does not honour the classes: {why}");
    PathVerdict { honours: Some(false), sentence }
}

fn open(why: &str) -> PathVerdict {
    PathVerdict { honours: None, sentence: format!("Not known: {why}") }
}

/// The verdict if no meter was seen.
fn without_meter(found: &PathMeasured, link: BitsPerSec) -> Option<PathVerdict> {
    if found.above.is_empty() {
        let sentence = "The peer offers no credits: it speaks QUIC without FlashPass.".to_owned();
        return Some(PathVerdict { honours: Some(false), sentence });
    }
    Some(match metering(&found.above, link) {
        Metering::Metered => return None,
        Metering::Unanswered => fails("no emulation packet was answered."),
        Metering::Unmetered if found.plain_bps > link.get() as f64 * FASTER => open(
            "the path carries more than --rate-limit, so a meter at its bottleneck would let all of these emulation \
             packets pass; give the rate of the bottleneck.",
        ),
        Metering::Unmetered => fails(
            "it lets emulation packets pass at three times the rate of a meter, as it does other packets. No port \
             meters them, or their DSCP was erased.",
        ),
        Metering::Slow => open(
            "this host could not send, or the other could not receive, fast enough to see a meter for that rate; try \
             again when both are idle, or try --rate-limit 100Mbps with a port that is set to it.",
        ),
        Metering::Lossy => open(BUSY),
    })
}

/// The verdict if data is served first, or it was not seen what is.
fn with_wrong_order(found: &PathMeasured, link: BitsPerSec) -> Option<PathVerdict> {
    match order(&found.beside_data) {
        Order::EmulationFirst => None,
        Order::DataFirst if found.plain_bps < link.get() as f64 * SLOWER => Some(open(&format!(
            "the path carries {:.0} Mb/s without credits, less than --rate-limit, so its meter drops most emulation \
             packets of this test; give the rate of the bottleneck.",
            found.plain_bps / 1e6
        ))),
        Order::DataFirst => {
            let lost = ProbeCounts::sum(&found.beside_data).emulation.loss() * 100.0;
            Some(fails(&format!(
                "it serves data before emulation packets, of which {lost:.1} % were lost while data filled the link."
            )))
        }
        Order::Open if is_lossy(&ProbeCounts::sum(&found.beside_data)) => Some(open(BUSY)),
        Order::Open => Some(open(
            "emulation packets were not seen to overtake data: both share a queue, or data did not fill the link; \
             give the rate of the bottleneck, or try again when the hosts are idle.",
        )),
    }
}

/// The verdict if data on credits was lost, or none was sent.
fn with_lost_data(found: &PathMeasured) -> Option<PathVerdict> {
    let Some(load) = found.load.filter(|load| load.data_packets > 0) else {
        return Some(open("no data left on credits; give a longer --wait, or try again."));
    };
    let lost = load.data_loss();
    if lost <= NEGLIGIBLE_LOSS || lost < load.emulation_loss() * SPARED_FRACTION {
        return None;
    }
    if load.skipped as f64 > load.granted as f64 * MOST_SKIPPED {
        return Some(open(BUSY));
    }
    let lost = lost * 100.0;
    Some(fails(&format!(
        "it meters emulation packets, and still {lost:.1} % of the data on credits was lost. The meter is too fast, or \
         counts not all bytes of a packet; or the queue of data is too short."
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{class_test::meter_rate, ping::Load};
    use shallop_quic::path_probe::Answered;

    const LINK: BitsPerSec = BitsPerSec::at_least_one(100_000_000);

    /// Twenty trains with these answers to 150 emulation packets and to 50 packets with the DSCP of data, the latter
    /// 2 ms later.
    fn trains(multiple: f64, emulation: u64, control: u64) -> Vec<ProbeCounts> {
        let of = |sent, answered, least: f64| {
            let mut of = Answered { sent, ..Answered::default() };
            (0..answered).for_each(|number| of.answer(least + (number % 4) as f64 * 1e-3));
            of
        };
        let (emulation, control) = (of(150, emulation, 0.0), of(50, control, 2e-3));
        let seconds = 150.0 / (meter_rate(LINK) * multiple);
        vec![ProbeCounts { emulation, control, seconds, answered_over: seconds }; 20]
    }

    /// What `path_verdicts.txt` says of a path: its measurements, the verdict and words of the sentence.
    fn row(line: &str) -> (PathMeasured, &str, &str) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let number = |at: usize| cells[at].parse::<f64>().unwrap();
        let trains = |multiple, at: usize| match cells[at] {
            "none" => Vec::new(),
            _ => trains(multiple, number(at) as u64, number(at + 1) as u64),
        };
        let usual = Load { seconds: 1.0, emulated: 7_700, granted: 7_500, data_packets: 7_400, ..Load::default() };
        let load = (cells[7] != "none").then(|| {
            let (data_lost, skipped) = (number(7) as u64, number(8) as u64);
            Load { skipped, data_lost, ..usual }
        });
        let (above, beside_data) = (trains(number(1), 2), trains(0.5, 4));
        let found = PathMeasured { above, beside_data, plain_bps: number(6) * 1e6, plain_lost: 40, load };
        (found, cells[9], cells[10])
    }

    #[test]
    fn paths_are_judged_as_the_table_says() {
        let rows = include_str!("../tests/path_verdicts.txt").lines().filter(|line| !line.starts_with('#'));
        for line in rows.filter(|line| !line.is_empty()) {
            let (found, expected, words) = row(line);
            let PathVerdict { honours, sentence } = verdict(&found, LINK);
            assert_eq!(honours.map_or("open", |honours| if honours { "passes" } else { "fails" }), expected, "{line}");
            assert!(sentence.contains(words), "{line}: {sentence}");
        }
    }
}

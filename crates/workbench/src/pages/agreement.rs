//! docs/agreement.md: the recorded figures of the experiments `lx-*`, in which kernels and simulated hosts do the same.

use super::RecordedExperiment;
use shallop_results::RecordedRun;
use shallop_results::metrics::{GOODPUT, JAIN, LOSS, Metric};
use shallop_results::tolerance::{Difference, KERNELS};
use std::fmt::Write as _;

pub(super) const PAGE: &str = "docs/agreement.md";
/// The ending of the label of a scheme whose hosts are kernels, as in `cubic kernel`.
const KERNEL: &str = "kernel";
const SIMULATOR: &str = "simulator";

const HEAD: &str = include_str!("agreement/head.md");

/// A row of the page: a network's results with kernels (first) and with simulated hosts. Goodput is in Mb/s, loss in
/// percent.
struct Row {
    network: String,
    goodput: [f64; 2],
    loss: [f64; 2],
    /// Jain's fairness index; NaN if no claim is about it.
    jain: [f64; 2],
}

impl Row {
    fn ratio(&self) -> f64 {
        self.goodput[1] / self.goodput[0]
    }

    fn difference(&self) -> Option<Difference> {
        KERNELS.difference(self.goodput, self.loss.map(|percent| percent / 100.0))
    }
}

fn rows(record: &RecordedRun) -> Vec<Row> {
    let of = |scheme: &str, point: Option<&str>, metric: &Metric| {
        let mut claims = record.claims.iter();
        let found = claims
            .find(|claim| claim.scheme == scheme && claim.point.as_deref() == point && claim.metric == metric.path);
        found.and_then(|claim| claim.measured)
    };
    let mut networks: Vec<(Option<&str>, &str)> = Vec::new();
    for claim in &record.claims {
        let network = (claim.point.as_deref(), claim.scheme.trim_end_matches(KERNEL));
        let is_compared = claim.metric == GOODPUT.path && claim.scheme.ends_with(KERNEL);
        if is_compared && !networks.contains(&network) {
            networks.push(network);
        }
    }
    let row = |(point, transport): (Option<&str>, &str)| {
        let both = |metric: &Metric| {
            let of = |hosts| of(&format!("{transport}{hosts}"), point, metric);
            [KERNEL, SIMULATOR].map(|hosts| of(hosts).unwrap_or(f64::NAN))
        };
        let network: Vec<&str> = [transport.trim_end()].into_iter().chain(point).collect();
        Row {
            network: network.join(" ").trim().to_owned(),
            goodput: both(&GOODPUT),
            loss: both(&LOSS),
            jain: both(&JAIN),
        }
    };
    networks.into_iter().map(row).collect()
}

fn table(rows: &[Row]) -> String {
    let mut text = "\n| network | kernels, Mb/s | simulator, Mb/s | ratio | kernels lost, % | simulator lost, % | \
                    Jain index, both | verdict |\n|---|---|---|---|---|---|---|---|\n"
        .to_owned();
    for row in rows {
        let verdict = match row.difference() {
            None => "agrees",
            Some(Difference::Goodput) => "**goodput differs**",
            Some(Difference::Loss) => "**loss differs**",
        };
        let ([kernel, simulator], [lost, simulated], [jain, simulated_jain]) = (row.goodput, row.loss, row.jain);
        let _ = writeln!(
            text,
            "| {} | {kernel:.1} | {simulator:.1} | {:.2} | {lost:.3} | {simulated:.3} | \
             {} | {verdict} |",
            row.network,
            row.ratio(),
            if jain.is_nan() { "–".to_owned() } else { format!("{jain:.2}, {simulated_jain:.2}") }
        );
    }
    text
}

/// The page. `traces` is its section about one flow over time.
pub(super) fn page(experiments: &[RecordedExperiment], traces: &str) -> String {
    let (mut text, mut tables) = (HEAD.to_owned(), String::new());
    let (mut bursts, mut single) = (Vec::new(), Vec::new());
    let kernels = experiments.iter().filter(|experiment| experiment.id.starts_with("lx-"));
    for RecordedExperiment { id, study, record } in kernels {
        let _ = write!(tables, "\n## {}\n\n`shallop reproduce {id}`", study.title);
        let Some(record) = record else {
            tables.push_str(": no full run recorded.\n");
            continue;
        };
        let seeds: Vec<String> = record.seeds.iter().map(ToString::to_string).collect();
        let _ = writeln!(tables, ", seeds {}, revision {}.", seeds.join(", "), record.revision);
        let rows = rows(record);
        tables.push_str(&table(&rows));
        if id.contains("single") { single.extend(rows) } else { bursts.extend(rows) }
    }
    let counted = |rows: &[Row]| {
        let goodput = rows.iter().filter(|row| row.difference() != Some(Difference::Goodput)).count();
        let agree = rows.iter().filter(|row| row.difference().is_none()).count();
        let jain = |row: &&Row| (row.jain[0] - row.jain[1]).abs() <= 0.1;
        let known: Vec<&Row> = rows.iter().filter(|row| !row.jain[0].is_nan()).collect();
        let fair = known.iter().copied().filter(jain).count();
        format!("{} | {goodput} | {agree} | {fair} of {}", rows.len(), known.len())
    };
    let _ = writeln!(
        text,
        "\n<!-- generated: figures of recorded runs -->\n\n| hosts | networks | goodput within 10 % | agree | \
         Jain index within 0.1 |\n|---|---|---|---|---|\n| as they are, with segmentation \
         offload | {} |\n| packet by packet (`gso_max_segs = 1`) | {} |",
        counted(&bursts),
        counted(&single)
    );
    text + traces + &tables + "\n<!-- end of generated -->\n"
}

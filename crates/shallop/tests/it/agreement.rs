//! docs/agreement.md against the records of the experiments `lx-*`, in which kernels and simulated hosts do the same.
//! With `UPDATE_DOCS=1` the page is written instead.

use std::fmt::Write as _;
use std::fs;

use crate::pages::root;
use shallop_plan::Study;
use shallop_results::RecordedRun;
use shallop_scenario::{Options, experiments, read};

const RECORDS: &str = "docs/reproduction/recorded";
const PAGE: &str = "docs/agreement.md";
/// The two schemes of each experiment, or of each of its transports, as in `cubic kernel`.
const KERNEL: &str = "kernel";
const SIMULATOR: &str = "simulator";

const HEAD: &str = "# Agreement with real kernels

The same networks with real Linux kernels as hosts and with simulated hosts. This page is made of the last full runs of
the experiments `lx-*` (`shallop reproduce lx-cubic`) by `UPDATE_DOCS=1 cargo test -p shallop --test it agreement`.

A network **agrees** if the goodput of the simulator is within 10 % of the kernels', and its loss within a factor of 1.5
of theirs, or both are below 0.05 %. Figures are means over the seeds; hosts have a jitter of a packet time, without
which flows fall into lockstep and one run proves nothing. Unless a table says otherwise, every flow has a sending host
of its own with `fq`, 20 us between interrupts, and cards of 25 Gb/s.

What was traced with the kernels is in the model ([hosts as they are](model.md#hosts-as-they-are)). What differs
in the tables below is left. One case of it was traced in part: packet by packet, one CUBIC flow behind 20 KB and 60 ms
loses more retransmissions in kernels, in the recovery from its first slow start. Not traced are DCTCP over 100 Gb/s
with K below 125 KB, which is slower in kernels; the first slow start of 20 flows over 10 Gb/s and 2 ms, which loses up
to twice as much here; CUBIC in Figures 10a and 10c of FlashPass; and BBR where round trips differ 16 times. Where flows
meet in a parking lot or in the first slow start, one loss more or less decides for seconds, and the seeds of one
kernel lie as far apart as the kernel and the simulator: one CUBIC flow of 60 ms carries 279, 377 or 534 Mb/s.

The revision above a table is that of the simulator.

The networks of the papers are among them, to ask their open questions of the kernels: Figures 2 and 10 of FlashPass
(`lx-flashpass`), Figures 3.5 and 3.12 of the Gemini thesis (`lx-thresholds`, `lx-round-trips`), and Figure 1 of BCC
(`lx-buffers`).
";

/// A network, as both kinds of hosts had it: goodput in Mb/s, loss in percent, Jain index.
struct Row {
    network: String,
    goodput: [f64; 2],
    loss: [f64; 2],
    jain: [f64; 2],
}

/// What is compared of a row.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Agrees,
    Goodput,
    Loss,
}

impl Row {
    fn ratio(&self) -> f64 {
        self.goodput[1] / self.goodput[0]
    }

    fn verdict(&self) -> Verdict {
        let [kernel, simulator] = self.loss;
        let same_loss = (kernel < 0.05 && simulator < 0.05)
            || (simulator <= 1.5 * kernel && kernel <= 1.5 * simulator);
        match (0.9..=1.1).contains(&self.ratio()) {
            false => Verdict::Goodput,
            true if same_loss => Verdict::Agrees,
            true => Verdict::Loss,
        }
    }
}

fn rows(record: &RecordedRun) -> Vec<Row> {
    let of = |scheme: &str, point: Option<&str>, metric: &str| {
        let mut claims = record.claims.iter();
        let found = claims.find(|claim| {
            claim.scheme == scheme && claim.point.as_deref() == point && claim.metric == metric
        });
        found.and_then(|claim| claim.measured)
    };
    let mut networks: Vec<(Option<&str>, &str)> = Vec::new();
    for claim in &record.claims {
        let network = (claim.point.as_deref(), claim.scheme.trim_end_matches(KERNEL));
        let is_compared = claim.metric == "goodput_bps" && claim.scheme.ends_with(KERNEL);
        if is_compared && !networks.contains(&network) {
            networks.push(network);
        }
    }
    let row = |(point, transport): (Option<&str>, &str)| {
        let both = |metric: &str| {
            [KERNEL, SIMULATOR].map(|hosts| of(&format!("{transport}{hosts}"), point, metric))
        };
        let network: Vec<&str> = [transport.trim_end()].into_iter().chain(point).collect();
        Row {
            network: network.join(" ").trim().to_owned(),
            goodput: both("goodput_bps").map(Option::unwrap),
            loss: both("loss_rate").map(Option::unwrap),
            jain: both("jain").map(|jain| jain.unwrap_or(f64::NAN)),
        }
    };
    networks.into_iter().map(row).collect()
}

/// The experiments with kernels beside the simulator, and their records.
fn all() -> Vec<(Study, Option<RecordedRun>, &'static str)> {
    let shipped = experiments::all().into_iter().filter(|shipped| shipped.id.starts_with("lx-"));
    let with = |shipped: experiments::Shipped| {
        let study = read(shipped.text, &Options::default()).unwrap();
        let path = root().join(RECORDS).join(format!("{}.json", shipped.id));
        let record = fs::read_to_string(path).ok().map(|text| serde_json::from_str(&text).unwrap());
        (study, record, shipped.id)
    };
    shipped.map(with).collect()
}

fn table(rows: &[Row]) -> String {
    let mut text = "\n| network | kernels, Mb/s | simulator, Mb/s | ratio | kernels lost, % | simulator lost, % | \
                    Jain index, both | verdict |\n|---|---|---|---|---|---|---|---|\n"
        .to_owned();
    for row in rows {
        let verdict = match row.verdict() {
            Verdict::Agrees => "agrees",
            Verdict::Goodput => "**goodput differs**",
            Verdict::Loss => "**loss differs**",
        };
        let ([kernel, simulator], [lost, simulated], [jain, simulated_jain]) =
            (row.goodput, row.loss, row.jain);
        writeln!(
            text,
            "| {} | {kernel:.1} | {simulator:.1} | {:.2} | {lost:.3} | {simulated:.3} | \
             {} | {verdict} |",
            row.network,
            row.ratio(),
            if jain.is_nan() {
                "–".to_owned()
            } else {
                format!("{jain:.2}, {simulated_jain:.2}")
            }
        )
        .unwrap();
    }
    text
}

fn page() -> String {
    let (mut text, mut tables) = (HEAD.to_owned(), String::new());
    let (mut bursts, mut single) = (Vec::new(), Vec::new());
    for (study, record, id) in all() {
        write!(tables, "\n## {}\n\n`shallop reproduce {id}`", study.title).unwrap();
        let Some(record) = record else {
            tables.push_str(": no full run recorded.\n");
            continue;
        };
        let seeds: Vec<String> = record.seeds.iter().map(ToString::to_string).collect();
        writeln!(tables, ", seeds {}, revision {}.", seeds.join(", "), record.revision).unwrap();
        let rows = rows(&record);
        tables.push_str(&table(&rows));
        if id.contains("single") { single.extend(rows) } else { bursts.extend(rows) }
    }
    let counted = |rows: &[Row]| {
        let goodput = rows.iter().filter(|row| row.verdict() != Verdict::Goodput).count();
        let agree = rows.iter().filter(|row| row.verdict() == Verdict::Agrees).count();
        let jain = |row: &&Row| (row.jain[0] - row.jain[1]).abs() <= 0.1;
        let known: Vec<&Row> = rows.iter().filter(|row| !row.jain[0].is_nan()).collect();
        let fair = known.iter().copied().filter(jain).count();
        format!("{} | {goodput} | {agree} | {fair} of {}", rows.len(), known.len())
    };
    writeln!(
        text,
        "\n| hosts | networks | goodput within 10 % | agree | \
         Jain index within 0.1 |\n|---|---|---|---|---|\n| as they are, with segmentation \
         offload | {} |\n| packet by packet (`gso_max_segs = 1`) | {} |",
        counted(&bursts),
        counted(&single)
    )
    .unwrap();
    text + &tables
}

#[test]
fn the_page_has_every_network_of_the_records() {
    let (path, page) = (root().join(PAGE), page());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(path, page).unwrap();
    } else {
        assert!(
            fs::read_to_string(path).unwrap() == page,
            "{PAGE} is not up to date: UPDATE_DOCS=1 cargo test -p shallop --test it agreement"
        );
    }
}

#[test]
fn a_verdict_is_of_goodput_first_and_then_of_loss() {
    let row = |goodput, loss| Row { network: String::new(), goodput, loss, jain: [1.0; 2] };
    for (goodput, loss, verdict) in [
        ([100.0, 109.0], [1.0, 1.4], Verdict::Agrees),
        ([100.0, 111.0], [1.0, 1.0], Verdict::Goodput),
        ([100.0, 89.0], [1.0, 1.0], Verdict::Goodput),
        ([100.0, 100.0], [1.0, 1.6], Verdict::Loss),
        ([100.0, 100.0], [1.6, 1.0], Verdict::Loss),
        ([100.0, 100.0], [0.0, 0.04], Verdict::Agrees),
        ([100.0, 100.0], [0.0, 0.06], Verdict::Loss),
    ] {
        assert!(row(goodput, loss).verdict() == verdict, "{goodput:?} {loss:?}");
    }
}

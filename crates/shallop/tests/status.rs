//! docs/reproduction/status.md against the claims of the experiments and what full runs measured of them. With
//! `UPDATE_DOCS=1` the page is written instead. The records hold figures; the verdicts are those of today's ranges.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::fmt::Write as _;
use std::fs;
use std::sync::LazyLock;

use shallop_plan::Study;
use shallop_results::verdict::{count, judge_recorded};
use shallop_results::{Claim, RecordedClaim, RecordedRun};
use shallop_results::{JudgedClaim, Verdict};
use shallop_scenario::experiments;
use shallop_scenario::{Options, read};
use support::pages::root;

const RECORDS: &str = "docs/reproduction/recorded";
const PAGE: &str = "docs/reproduction/status.md";

const HEAD: &str = "# Where every figure stands

Made of the experiments' claims and of what the last full run of each experiment measured, by `UPDATE_DOCS=1 cargo test
-p shallop --test status`. What the verdicts mean and where the accepted ranges come from:
[paper beside measured](../reproduction.md). The revision is that of the program that made the runs.
";

/// What the papers leave open, and a kernel answers: a claim, the experiment that asked kernels, and the claims there
/// that report what kernels and simulated Linux hosts did.
const ASKED: [(&str, &str, &str, &str); 12] = [
    (
        "fp-fig10a",
        "cubic: IP throughput",
        "lx-flashpass",
        "cubic *, Figure 10a: 20 flows, 20 to 60 ms: goodput",
    ),
    (
        "fp-fig10a",
        "cubic: data packets lost",
        "lx-flashpass",
        "cubic *, Figure 10a: 20 flows, 20 to 60 ms: data lost",
    ),
    (
        "fp-fig10b",
        "cubic: IP throughput",
        "lx-flashpass",
        "cubic *, Figure 10b: 200 flows, 20 to 60 ms: goodput",
    ),
    (
        "fp-fig10b",
        "cubic: data packets lost",
        "lx-flashpass",
        "cubic *, Figure 10b: 200 flows, 20 to 60 ms: data lost",
    ),
    (
        "fp-fig10c",
        "cubic: IP throughput",
        "lx-flashpass",
        "cubic *, Figure 10c: 20 flows, 40 ms: goodput",
    ),
    (
        "fp-fig10c",
        "cubic: data packets lost",
        "lx-flashpass",
        "cubic *, Figure 10c: 20 flows, 40 ms: data lost",
    ),
    (
        "fp-fig2",
        "bbr, 200KB: data packets lost",
        "lx-flashpass",
        "bbr *, Figure 2: 200 flows, 40 ms, 200 KB: data lost",
    ),
    (
        "gm-fig3.5",
        "dctcp, inter, K = 20 against inter, K = 320: goodput",
        "lx-thresholds",
        "dctcp *, inter, K = 20 against inter, K = 320: goodput",
    ),
    (
        "gm-fig3.9",
        "dctcp, K = 320: goodput",
        "lx-thresholds",
        "dctcp *, two flows, K = 320: goodput",
    ),
    ("bc-fig1", "dctcp, 25 KB: IP throughput", "lx-buffers", "dctcp *, 25 KB: goodput"),
    ("bc-fig1", "dctcp, 125 KB: IP throughput", "lx-buffers", "dctcp *, 125 KB: goodput"),
    ("bc-fig1", "dctcp, 250 KB: IP throughput", "lx-buffers", "dctcp *, 250 KB: goodput"),
];

fn record(id: &str) -> Option<RecordedRun> {
    let path = root().join(RECORDS).join(format!("{id}.json"));
    Some(serde_json::from_str(&fs::read_to_string(path).ok()?).unwrap())
}

/// The claims of an experiment, judged by the recorded figures. A claim that is not in the record was not run.
fn judged(study: &Study, record: &RecordedRun) -> Vec<JudgedClaim> {
    let one = |claim: &Claim| {
        let row = record.claims.iter().find(|row| row.is_of(claim));
        let missing = |verdict, why| JudgedClaim::without_figure(claim, verdict, why);
        match row.map(RecordedClaim::figures) {
            Some(Some(figures)) => judge_recorded(claim, figures),
            Some(None) => missing(Verdict::Fails, "the run did not measure it".to_owned()),
            None => missing(Verdict::NotRun, "it is newer than the last full run".to_owned()),
        }
    };
    study.claims.iter().map(one).collect()
}

/// Rows of a record that are of no claim, which are left over from claims that were changed or removed.
fn left_over(study: &Study, record: &RecordedRun) -> Vec<String> {
    let unknown = |row: &&RecordedClaim| !study.claims.iter().any(|claim| row.is_of(claim));
    let name = |row: &RecordedClaim| format!("{} {:?} {}", row.scheme, row.point, row.metric);
    record.claims.iter().filter(unknown).map(name).collect()
}

/// The experiments, which take some seconds to read.
static STUDIES: LazyLock<Vec<(&str, Study)>> = LazyLock::new(|| {
    let study = |text| read(text, &Options::default()).unwrap();
    experiments::all().into_iter().map(|shipped| (shipped.id, study(shipped.text))).collect()
});

fn page() -> String {
    let (mut counts, mut lines) = (String::new(), String::new());
    let mut all = Vec::new();
    for (id, study) in STUDIES.iter() {
        let Some(record) = record(id) else {
            writeln!(counts, "| {id} | {} | | no full run recorded | | | | | |", study.title)
                .unwrap();
            continue;
        };
        let claims = judged(study, &record);
        let anchor = id.replace('.', "");
        let seeds: Vec<String> = record.seeds.iter().map(ToString::to_string).collect();
        let (seeds, version) =
            (seeds.join(", "), format!("{} ({})", record.version, record.revision));
        writeln!(
            counts,
            "| [{id}](#{anchor}) | {} | {seeds} | {version} |{}",
            study.title,
            counted(&claims)
        )
        .unwrap();
        write!(lines, "\n## {id}\n\n| claim | paper | accepted | measured | verdict |\n").unwrap();
        lines.push_str("|---|---|---|---|---|\n");
        for claim in &claims {
            lines.push_str(&row(claim));
        }
        all.extend(claims);
    }
    let words = Verdict::ALL.map(Verdict::word).join(" | ");
    let rule = "---|".repeat(4 + Verdict::ALL.len());
    format!(
        "{HEAD}\n| experiment | about | seeds | version | {words} |\n|{rule}\n\
         {counts}| all | | | |{}{lines}",
        counted(&all) + "\n\n" + &answers()
    )
}

/// The papers' open questions with what kernels did.
fn answers() -> String {
    let mut lines =
        "## What real kernels do in the papers' networks\n\n| experiment | claim | paper | \
                     measured with the paper's stack | real kernels | simulated Linux hosts |\n\
                     |---|---|---|---|---|---|\n"
            .to_owned();
    for (id, label, asked, answer) in ASKED {
        let claim = labelled(id, label);
        let [kernel, simulated] =
            ["kernel", "simulator"].map(|side| labelled(asked, &answer.replace('*', side)));
        let [paper, measured] = [claim.paper, claim.measured].map(|value| with_unit(value, &claim));
        let [kernel, simulated] = [kernel, simulated].map(|row| with_unit(row.measured, &row));
        writeln!(
            lines,
            "| [{id}](#{}) | {label} | {paper} | {measured} | {kernel} | {simulated} |",
            id.replace('.', "")
        )
        .unwrap();
    }
    lines
        + "\nKernels and simulated Linux hosts: payload, from the records of `lx-flashpass`, `lx-thresholds` and\n\
             `lx-buffers`, whose networks are those of the claims, each flow with a host of its own.\n"
}

/// The claim with this label, judged by the last full run.
fn labelled(id: &str, label: &str) -> JudgedClaim {
    let (_, study) = STUDIES.iter().find(|(other, _)| *other == id).unwrap();
    let record = record(id).unwrap_or_else(|| panic!("{id} has no record"));
    let found = judged(study, &record).into_iter().find(|claim| claim.label() == label);
    found.unwrap_or_else(|| panic!("{id} has no claim {label:?}"))
}

/// A figure of a claim with its unit; empty if there is none.
fn with_unit(value: Option<f64>, claim: &JudgedClaim) -> String {
    match value.map(figure) {
        None => String::new(),
        Some(figure) if claim.unit.is_empty() => figure,
        Some(figure) => format!("{figure} {}", claim.unit),
    }
}

/// A cell for the number of each verdict.
fn counted(claims: &[JudgedClaim]) -> String {
    Verdict::ALL.map(|verdict| format!(" {} |", count(claims, verdict))).concat()
}

fn row(claim: &JudgedClaim) -> String {
    let accepted = match (claim.low, claim.high) {
        (None, None) => "none".to_owned(),
        (Some(low), None) => format!("at least {}", figure(low)),
        (None, Some(high)) => format!("at most {}", figure(high)),
        (Some(low), Some(high)) => format!("{} to {}", figure(low), figure(high)),
    };
    let judged = !matches!(claim.verdict, Verdict::Reported | Verdict::Holds);
    let why = if judged { format!(": {}", claim.why) } else { String::new() };
    let verdict = format!("{}{why}", claim.verdict.word());
    let (paper, measured) = (with_unit(claim.paper, claim), with_unit(claim.measured, claim));
    let sign = claim.bound.map_or_else(String::new, |bound| format!("{} ", bound.sign()));
    let measured = format!("{sign}{measured}");
    let cells = [claim.label(), paper, accepted, measured, verdict];
    format!("| {} |\n", cells.map(|cell| cell.replace('|', "\\|")).join(" | "))
}

/// A figure with four significant digits.
fn figure(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let digits = (3.0 - value.abs().log10().floor()).clamp(0.0, 12.0) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') {
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    text
}

#[test]
fn the_page_has_the_verdict_on_every_claim() {
    let (path, page) = (root().join(PAGE), page());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(path, page).unwrap();
    } else {
        assert!(
            fs::read_to_string(path).unwrap() == page,
            "{PAGE} is not up to date: UPDATE_DOCS=1 cargo test -p shallop --test status"
        );
    }
}

#[test]
fn every_record_is_of_an_experiment_and_its_claims() {
    for entry in fs::read_dir(root().join(RECORDS)).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let id = name.strip_suffix(".json").unwrap();
        let study = STUDIES.iter().find(|(other, _)| *other == id);
        let (_, study) = study.unwrap_or_else(|| panic!("{name} is of no experiment: remove it"));
        let left_over = left_over(study, &record(id).unwrap());
        assert!(left_over.is_empty(), "{name} has lines of no claim: remove {left_over:#?}");
    }
}

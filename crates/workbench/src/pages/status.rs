//! docs/reproduction/status.md: the verdict on every claim of the experiments, from the figures that the last full runs
//! left in `docs/reproduction/recorded` and the ranges of today. `docs/reproduction/verdicts.csv` has the counts of
//! verdicts and the digest of each experiment's section, so that a verdict does not change unnoticed.

use super::{RecordedExperiment, overlay, real::RealForms};
use sha2::{Digest, Sha256};
use shallop_plan::Study;
use shallop_results::verdict::{count, judge_recorded};
use shallop_results::{Claim, JudgedClaim, Kind, RecordedClaim, RecordedRun, Verdict};
use std::fmt::Write as _;

pub(super) const VERDICTS: &str = "docs/reproduction/verdicts.csv";

const HEAD: &str = "# Where every figure stands

The verdict on each claim of the experiments, from the figures of the last full run of each experiment. `make
write-docs` writes this page. [Paper beside measured](../reproduction.md) says what the verdicts and the kinds of
claims mean, and where the accepted ranges come from. Invariants test the simulator: they are counted apart, and are no
evidence. The revision names the commit whose program made the runs.
";

const PICTURES: &str = "## Pictures

A dot is a measured figure as a multiple of the paper's, on a logarithmic axis; figures more than 30 times off lie at
the edge. Blue: the claim holds; brown: it differs for a traced reason; red: it fails; grey: it has no accepted range.
The pictures of the experiments, below, also show the paper's range (black), the accepted range (grey) and the spread of
the seeds (thin line).
";

/// Questions that papers leave open and kernels answer, one a line: the experiment and the label of the claim, the
/// experiment that asked kernels, and the label there of the claims on what kernels (`*`) and simulated hosts did.
const ASKED: &str = include_str!("asked.tsv");

/// Judges the claims of an experiment by the recorded figures. A claim that is not in the record was not run.
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

/// Recorded figures that belong to no claim, because the claim was changed or removed since.
pub(super) fn left_over(RecordedExperiment { id, study, record }: &RecordedExperiment) -> Vec<String> {
    let unknown = |row: &&RecordedClaim| !study.claims.iter().any(|claim| row.is_of(claim));
    let name = |row: &RecordedClaim| format!("{id}: {} {:?} {}", row.scheme, row.point, row.metric);
    record.iter().flat_map(|record| &record.claims).filter(unknown).map(name).collect()
}

/// The part of the status page about one experiment.
struct Section {
    id: &'static str,
    /// The experiment's row in the table of all experiments.
    row: String,
    claims: Vec<JudgedClaim>,
    /// The experiment's heading and its table of claims.
    text: String,
}

fn section(RecordedExperiment { id, study, record }: &RecordedExperiment) -> Section {
    let Some(record) = record else {
        let empty = " |".repeat(2 + Verdict::ALL.len());
        let row = format!("| {id} | {} | | no full run recorded |{empty}\n", study.title);
        return Section { id, row, claims: Vec::new(), text: String::new() };
    };
    let claims = judged(study, record);
    let anchor = id.replace('.', "");
    let seeds: Vec<String> = record.seeds.iter().map(ToString::to_string).collect();
    let (seeds, version) = (seeds.join(", "), format!("{} ({})", record.version, record.revision));
    let counts = counted(&claims);
    let row = format!("| [{id}](#{anchor}) | {} | {seeds} | {version} |{counts}\n", study.title);
    let head = "| claim | kind | paper | accepted | measured | verdict |\n|---|---|---|---|---|---|\n";
    let rows: String = claims.iter().map(claim_row).collect();
    let text = format!("\n## {id}\n\n{head}{rows}");
    Section { id, row, claims, text }
}

/// The parts of the status page about each experiment, and the table of what kernels did.
pub(super) struct Sections {
    experiments: Vec<Section>,
    answers: String,
    real: RealForms,
}

impl Sections {
    /// # Errors
    /// If a row of [`ASKED`] names a claim that is not there.
    pub fn new(experiments: &[RecordedExperiment], real: RealForms) -> Result<Self, String> {
        let answers = answers(experiments)?;
        Ok(Self { experiments: experiments.iter().map(section).collect(), answers, real })
    }

    /// The page with the verdict on every claim.
    pub fn page(&self) -> String {
        let words = format!("{} | invariants that hold | that do not", Verdict::ALL.map(Verdict::word).join(" | "));
        let rule = "---|".repeat(7 + Verdict::ALL.len());
        let part = |of: fn(&Section) -> String| self.experiments.iter().map(of).collect::<String>();
        let row = |it: &Section| format!("{} {} |\n", it.row.trim_end(), self.real.cell(it.id));
        let with_picture = |it: &Section| format!("{}{}", it.text, overlay::picture(it.id, &it.claims));
        let (rows, tables) = (self.experiments.iter().map(row).collect::<String>(), part(with_picture));
        let pictures = part(|section| overlay::thumbnail(section.id, &section.claims));
        let claims: Vec<JudgedClaim> = self.experiments.iter().flat_map(|section| section.claims.clone()).collect();
        let (all, answers, real) = (counted(&claims), &self.answers, &self.real.tables);
        let kinds = Kind::ALL.map(|kind| {
            let of_kind = only(&claims, |other| other == kind);
            let counts = Verdict::ALL.map(|verdict| format!(" {} |", count(&of_kind, verdict)));
            format!("| {} |{}\n", kind.word(), counts.concat())
        });
        let (kinds, of_kinds) = (kinds.concat(), Verdict::ALL.map(Verdict::word).join(" | "));
        let short = "---|".repeat(1 + Verdict::ALL.len());
        format!(
            "{HEAD}\n| kind of claim | {of_kinds} |\n|{short}\n{kinds}\n{PICTURES}\n{pictures}\n\
             | experiment | about | seeds | version | {words} | real packets |\n|{rule}\n{rows}| all | | | |{all} |\n\n\
             {answers}\n{real}{tables}"
        )
    }

    /// A CSV file with a line for each experiment: the number of claims with each verdict, and a hash of the text that
    /// the page has about the experiment.
    pub fn verdicts(&self) -> String {
        let verdicts = Verdict::ALL.map(Verdict::word).join(",");
        let mut lines = format!("experiment,{verdicts},invariants hold,invariants do not,sha256\n");
        for Section { id, claims, row, text } in &self.experiments {
            let counts = counts(claims).iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
            let _ = writeln!(lines, "{id},{counts},{}", digest(&format!("{row}{text}")));
        }
        let empty = ",".repeat(2 + Verdict::ALL.len());
        let _ = writeln!(lines, "kernels{empty},{}", digest(&self.answers));
        lines
    }
}

/// The first 16 hexadecimal digits of the SHA-256 of a text.
fn digest(text: &str) -> String {
    let digits = format!("{:x}", Sha256::digest(text.as_bytes()));
    digits[..16].to_owned()
}

/// Makes the table of the papers' open questions with what kernels did.
fn answers(experiments: &[RecordedExperiment]) -> Result<String, String> {
    let mut lines = "## What real kernels do in the papers' networks\n\n| experiment | claim | paper | \
                     measured with the paper's stack | real kernels | simulated Linux hosts |\n\
                     |---|---|---|---|---|---|\n"
        .to_owned();
    for line in ASKED.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [id, label, asked, answer] = fields[..] else { return Err(format!("asked.tsv: {line}")) };
        let claim = labelled(experiments, id, label)?;
        let answer = |hosts: &str| labelled(experiments, asked, &answer.replace('*', hosts));
        let (kernel, simulated) = (answer("kernel")?, answer("simulator")?);
        let (paper, measured) =
            (with_unit(claim.paper, claim.paper_to, &claim), with_unit(claim.measured, None, &claim));
        let [kernel, simulated] = [kernel, simulated].map(|row| with_unit(row.measured, None, &row));
        let _ = writeln!(
            lines,
            "| [{id}](#{}) | {label} | {paper} | {measured} | {kernel} | {simulated} |",
            id.replace('.', "")
        );
    }
    lines += "\nKernels and simulated Linux hosts: payload, from the records of `lx-flashpass`, `lx-thresholds` and\n\
              `lx-buffers`, whose networks are those of the claims, each flow with a host of its own.\n";
    Ok(lines)
}

/// Judges the claim with this label by the last full run of the experiment.
pub(super) fn labelled(all: &[RecordedExperiment], id: &str, label: &str) -> Result<JudgedClaim, String> {
    let experiment = all.iter().find(|experiment| experiment.id == id);
    let found = experiment.and_then(|RecordedExperiment { study, record, .. }| {
        judged(study, record.as_ref()?).into_iter().find(|claim| claim.label() == label)
    });
    found.ok_or_else(|| format!("{id} has no record or no claim {label:?}"))
}

/// Formats a figure of a claim, or the ends of a range, with its unit; empty if there is none.
pub(super) fn with_unit(value: Option<f64>, end: Option<f64>, claim: &JudgedClaim) -> String {
    let end = end.map_or_else(String::new, |end| format!(" to {}", figure(end)));
    value.map_or_else(String::new, |value| format!("{}{end} {}", figure(value), claim.unit).trim_end().to_owned())
}

/// The claims of some kinds.
fn only<'a>(claims: impl IntoIterator<Item = &'a JudgedClaim>, take: impl Fn(Kind) -> bool) -> Vec<JudgedClaim> {
    claims.into_iter().filter(|claim| take(claim.kind)).cloned().collect()
}

/// The number of claims with each verdict, invariants left out, and of invariants that hold and that do not.
fn counts(claims: &[JudgedClaim]) -> Vec<usize> {
    let evidence = only(claims, |kind| kind != Kind::Invariant);
    let invariants = only(claims, |kind| kind == Kind::Invariant);
    let holds = count(&invariants, Verdict::Holds);
    let verdicts = Verdict::ALL.map(|verdict| count(&evidence, verdict));
    [&verdicts[..], &[holds, invariants.len() - holds]].concat()
}

/// Formats [`counts`] as cells of a table.
fn counted(claims: &[JudgedClaim]) -> String {
    counts(claims).iter().map(|count| format!(" {count} |")).collect::<Vec<_>>().concat()
}

/// The accepted range of a claim, in words.
pub(super) fn accepted(claim: &JudgedClaim) -> String {
    match (claim.low, claim.high) {
        (None, None) => "none".to_owned(),
        (Some(low), None) => format!("at least {}", figure(low)),
        (None, Some(high)) => format!("at most {}", figure(high)),
        (Some(low), Some(high)) => format!("{} to {}", figure(low), figure(high)),
    }
}

fn claim_row(claim: &JudgedClaim) -> String {
    let accepted = accepted(claim);
    let judged = !matches!(claim.verdict, Verdict::Reported | Verdict::Holds);
    let link = |id: &String| format!(" (recorded in [{id}](#{}))", id.replace('.', ""));
    let run = claim.run.as_ref().map_or_else(String::new, link);
    let why = if judged { format!(": {}{run}", claim.why) } else { String::new() };
    let verdict = format!("{}{why}", claim.verdict.word());
    let (paper, measured) = (with_unit(claim.paper, claim.paper_to, claim), with_unit(claim.measured, None, claim));
    let sign = claim.bound.map_or_else(String::new, |bound| format!("{} ", bound.sign()));
    let measured = format!("{sign}{measured}");
    let cells = [claim.label(), claim.kind.word().to_owned(), paper, accepted, measured, verdict];
    format!("| {} |\n", cells.map(|cell| cell.replace('|', "\\|")).join(" | "))
}

/// Formats a figure with four significant digits.
pub(super) fn figure(value: f64) -> String {
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

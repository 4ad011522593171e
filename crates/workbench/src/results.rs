//! Results as files: `summary.json`, `flows.parquet` and `series.parquet`, written atomically from the archive of
//! finished runs. Equal inputs give equal bytes, except for `wall_s`.

use super::{jobs::FinishedRun, run_archive::RunArchive};
use crate::setup_lines;
use crate::tables::{POINT, SCHEME, SEED, flow_table, series_table};
use shallop_measure::series::Samples;
use shallop_plan::Study;
use shallop_results::summary::{Run, Summary};
use shallop_results::verdict::judge;
use shallop_results::{Job, Shard};
use shallop_results::{aggregate::aggregate, reuse::reused};
use shallop_store::{Column, Draft, StoreError, Table, TableReader, TableWriter, Text, publish};
use std::path::{Path, PathBuf};

pub(super) const SUMMARY: &str = "summary.json";
pub(super) const FLOWS: &str = "flows.parquet";
pub(super) const SERIES: &str = "series.parquet";

/// The summary of finished runs, with verdicts on claims unless it is of a shard.
pub fn summarise(study: &Study, id: Option<&str>, done: &[FinishedRun], shard: Shard) -> Summary {
    let runs: Vec<(Job, &Run)> = done.iter().map(|done| (done.job, &done.run)).collect();
    // A rehearsal that was too late is in the results, but not in means and verdicts.
    let counted: Vec<(Job, &Run)> = runs.iter().copied().filter(|(_, run)| !run.is_void()).collect();
    let identities: Vec<_> = done.iter().map(|done| (done.job, &done.identity)).collect();
    Summary {
        id: id.map(str::to_owned),
        scenario: study.title.clone(),
        about: study.about.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        quick: study.quick,
        seeds: study.seeds.clone(),
        interrupted: done.len() < shard.select(study.jobs()).len(),
        shard: (!shard.is_whole()).then(|| shard.to_string()),
        setup: setup_lines::setup(study),
        schemes: setup_lines::schemes(study),
        points: study.design().points,
        classes: setup_lines::limits(study),
        reused: reused(&study.design(), &identities),
        claims: if shard.is_whole() { judge(&study.design(), &counted) } else { Vec::new() },
        aggregates: aggregate(&counted),
        runs: runs.into_iter().map(|(_, run)| run.clone()).collect(),
    }
}

/// Checks whether results can be written to this folder, without changing it.
pub fn check_folder(folder: &Path) -> Result<(), StoreError> {
    if folder.is_dir() {
        let drafts = [SUMMARY, FLOWS, SERIES].map(|name| Draft::create(folder.join(name)));
        return drafts.into_iter().try_for_each(|draft| draft.map(drop));
    }
    // The nearest existing ancestor must be a folder in which files can be created.
    let there = folder.ancestors().find(|above| above.exists() && !above.as_os_str().is_empty());
    let draft = Draft::create(there.unwrap_or(Path::new(".")).join(SUMMARY));
    draft.map(drop).map_err(|error| match error {
        StoreError::File { why, .. } => StoreError::File { path: folder.to_owned(), doing: "create the folder", why },
        other => other,
    })
}

/// Writes the three files from the archive in this folder, the summary last. Memory holds one batch of rows.
///
/// # Errors
/// If a file cannot be written or a run cannot be read; existing files are unchanged then.
pub fn write(folder: &Path, study: &Study, summary: &Summary, done: &[FinishedRun]) -> Result<(), StoreError> {
    let mut text = serde_json::to_vec_pretty(summary)
        .map_err(|why| StoreError::Unwritable { table: SUMMARY.to_owned(), why: why.to_string() })?;
    text.push(b'\n');
    let archive = RunArchive::in_results(folder);
    let table = |name: &str, part: &dyn Fn(&FinishedRun) -> PathBuf, none: Table| {
        let heading = keyed(Keys::default(), none);
        let mut writer = TableWriter::new(Draft::create(folder.join(name))?, &heading)?;
        for run in done {
            for batch in TableReader::open(part(run))? {
                let batch = batch?;
                writer.push_batch(&keyed(Keys::for_rows(study, run, batch.rows()), batch))?;
            }
        }
        writer.finish()
    };
    let flows = table(FLOWS, &|run| archive.flows(&run.identity), flow_table(&[]))?;
    let series = table(SERIES, &|run| archive.series(&run.identity), series_table(&Samples::default()))?;
    publish([flows, series, Draft::of_bytes(folder.join(SUMMARY), &text)?])
}

/// The columns `point`, `scheme` and `seed`, which identify the run of each row.
#[derive(Default)]
struct Keys {
    point: Text,
    scheme: Text,
    seed: Vec<u64>,
}

impl Keys {
    fn for_rows(study: &Study, done: &FinishedRun, rows: usize) -> Self {
        let point = &study.points[done.job.point];
        let scheme = &point.plan.schemes[done.job.scheme];
        let repeat = |text: &str| (0..rows).map(|_| Some(text)).collect();
        Self { point: repeat(&point.name), scheme: repeat(&scheme.name), seed: vec![done.job.seed; rows] }
    }
}

fn keyed(keys: Keys, part: Table) -> Table {
    let mut columns = vec![
        Column::new("point", "", POINT, keys.point),
        Column::new("scheme", "", SCHEME, keys.scheme),
        Column::new("seed", "", SEED, keys.seed),
    ];
    columns.extend(part.columns);
    Table { columns, ..part }
}

/// The tables of flows and of series, without rows, each with its file name.
pub(super) fn headings() -> [(&'static str, Table); 2] {
    let flows = keyed(Keys::default(), flow_table(&[]));
    [(FLOWS, flows), (SERIES, keyed(Keys::default(), series_table(&Samples::default())))]
}

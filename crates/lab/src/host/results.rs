//! Results as files: `summary.json`, `flows.parquet` and `series.parquet`, each whole or not there, put together from
//! the finished runs in `runs`. The same inputs give the same bytes, but for `wall_s`.

use std::path::{Path, PathBuf};

use shallop_store::{Column, Draft, StoreError, Table, TableReader, TableWriter, Text, publish};

use super::jobs::Done;
use super::kept::Kept;
use crate::aggregate::aggregate;
use crate::journal::FlowRow;
use crate::series::{Row, Rows};
use crate::setting;
use crate::study::{Job, Shard, Study};
use crate::summary::{Run, Summary};
use crate::verdict::judge;

pub(super) const SUMMARY: &str = "summary.json";
pub(super) const FLOWS: &str = "flows.parquet";
pub(super) const SERIES: &str = "series.parquet";

/// The summary of the runs that ended, with the claims judged by them; a part of the runs judges none.
#[must_use]
pub fn summarise(study: &Study, id: Option<&str>, done: &[Done], shard: Shard) -> Summary {
    let runs: Vec<(Job, &Run)> = done.iter().map(|done| (done.job, &done.run)).collect();
    Summary {
        id: id.map(str::to_owned),
        scenario: study.title.clone(),
        about: study.about.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        quick: study.quick,
        seeds: study.seeds.clone(),
        interrupted: done.len() < shard.of(study.jobs()).len(),
        shard: (!shard.is_whole()).then(|| shard.to_string()),
        setup: setting::setup(study),
        schemes: setting::schemes(study),
        points: setting::points(study),
        classes: setting::limits(study),
        claims: if shard.is_whole() { judge(study, &runs) } else { Vec::new() },
        aggregates: aggregate(&runs),
        runs: runs.into_iter().map(|(_, run)| run.clone()).collect(),
    }
}

/// Finds out whether results could be written to this folder, and leaves nothing behind.
///
/// # Errors
/// What stands in the way.
pub fn check_folder(folder: &Path) -> Result<(), StoreError> {
    if folder.is_dir() {
        let drafts = [SUMMARY, FLOWS, SERIES].map(|name| Draft::create(folder.join(name)));
        return drafts.into_iter().try_for_each(|draft| draft.map(drop));
    }
    // The nearest thing that is there must be a folder that takes a file.
    let there = folder.ancestors().find(|above| above.exists() && !above.as_os_str().is_empty());
    let draft = Draft::create(there.unwrap_or(Path::new(".")).join(SUMMARY));
    draft.map(drop).map_err(|error| match error {
        StoreError::File { why, .. } => {
            StoreError::File { path: folder.to_owned(), doing: "create the folder", why }
        }
        other => other,
    })
}

/// Writes the three files, the summary last, from the runs kept in this folder. Memory holds one batch of rows.
///
/// # Errors
/// If they cannot be written, or a run cannot be read; those that were there before still are.
pub fn write(
    folder: &Path,
    study: &Study,
    summary: &Summary,
    done: &[Done],
) -> Result<(), StoreError> {
    let mut text = serde_json::to_vec_pretty(summary).map_err(|why| StoreError::Unwritable {
        table: SUMMARY.to_owned(),
        why: why.to_string(),
    })?;
    text.push(b'\n');
    let kept = Kept::of(folder);
    let table = |name: &str, part: &dyn Fn(&Done) -> PathBuf, none: Table| {
        let heading = keyed(Keys::default(), none);
        let mut writer = TableWriter::new(Draft::create(folder.join(name))?, &heading)?;
        for run in done {
            for batch in TableReader::open(part(run))? {
                let batch = batch?;
                writer.push_batch(&keyed(Keys::of(study, run, batch.rows()), batch))?;
            }
        }
        writer.finish()
    };
    let flows = table(FLOWS, &|run| kept.flows(&run.identity), flow_table(&[]))?;
    let series = table(SERIES, &|run| kept.series(&run.identity), series_table(&Rows::default()))?;
    publish([flows, series, Draft::of_bytes(folder.join(SUMMARY), &text)?])
}

/// The columns that say which run a row is of.
#[derive(Default)]
struct Keys {
    point: Text,
    scheme: Text,
    seed: Vec<u64>,
}

impl Keys {
    fn of(study: &Study, done: &Done, rows: usize) -> Self {
        let point = &study.points[done.job.point];
        let scheme = &point.plan.schemes[done.job.scheme];
        let repeat = |text: &str| (0..rows).map(|_| Some(text)).collect();
        Self {
            point: repeat(&point.name),
            scheme: repeat(&scheme.name),
            seed: vec![done.job.seed; rows],
        }
    }
}

/// The rows of a run, with the columns that say which it is before the others.
fn keyed(keys: Keys, part: Table) -> Table {
    let mut columns = vec![
        Column::new("point", "", "Name of the point; empty if there is one alone.", keys.point),
        Column::new("scheme", "", "Label of the scheme.", keys.scheme),
        Column::new("seed", "", "The run seed.", keys.seed),
    ];
    columns.extend(part.columns);
    Table { columns, ..part }
}

/// The two tables without rows, by the names of their files.
pub(super) fn headings() -> [(&'static str, Table); 2] {
    let flows = keyed(Keys::default(), flow_table(&[]));
    [(FLOWS, flows), (SERIES, keyed(Keys::default(), series_table(&Rows::default())))]
}

/// Flows of a run.
pub(super) fn flow_table(rows: &[FlowRow]) -> Table {
    let text =
        |of: fn(&FlowRow) -> &str| -> Text { rows.iter().map(|row| Some(of(row))).collect() };
    let count = |of: fn(&FlowRow) -> u64| -> Vec<u64> { rows.iter().map(of).collect() };
    let some = |of: fn(&FlowRow) -> f64| -> Vec<f64> { rows.iter().map(of).collect() };
    let numbers: Vec<u64> = rows.iter().map(|row| u64::from(row.flow)).collect();
    let counted: Vec<bool> = rows.iter().map(|row| row.counted).collect();
    let slowdowns: Vec<Option<f64>> = rows.iter().map(|row| row.slowdown).collect();
    let sizes: Vec<Option<u64>> = rows.iter().map(|row| row.size_bytes).collect();
    let times: Vec<Option<f64>> = rows.iter().map(|row| row.fct_s).collect();
    let rate = "IP bytes of data that arrived, repeats included, per second from its start to its end or the run's.";
    let columns = vec![
        Column::new("flow", "", "Its number within the run, in the order of starts.", numbers),
        Column::new("group", "", "Its group.", text(|row| &row.group)),
        Column::new("from", "", "The host that sent.", text(|row| &row.from)),
        Column::new("to", "", "The host that received.", text(|row| &row.to)),
        Column::new("start_s", "s", "When it started.", some(|row| row.start_s)),
        Column::new("size_bytes", "B", "Payload to send; null without end.", sizes),
        Column::new(
            "fct_s",
            "s",
            "From its start to the arrival of its last byte; null if open.",
            times,
        ),
        Column::new(
            "slowdown",
            "ratio",
            "Ratio to that time on an empty network; null if open.",
            slowdowns,
        ),
        Column::new("counted", "", "False in the warm-up and the cool-down.", counted),
        Column::new("received_bytes", "B", "Payload received.", count(|row| row.received_bytes)),
        Column::new("throughput_bps", "bit/s", rate, some(|row| row.throughput_bps)),
        Column::new(
            "sent",
            "packets",
            "Data packets sent, repeats included.",
            count(|row| row.sent),
        ),
        Column::new(
            "retransmits",
            "packets",
            "Data packets sent again.",
            count(|row| row.retransmits),
        ),
        Column::new("timeouts", "timeouts", "Retransmission timeouts.", count(|row| row.timeouts)),
        Column::new("credits", "packets", "Credits that arrived.", count(|row| row.credits.0)),
        Column::new(
            "credits_used",
            "packets",
            "Credits that released data.",
            count(|row| row.credits.1),
        ),
        Column::new("credits_wasted", "packets", "Credits in vain.", count(|row| row.credits.2)),
    ];
    Table::new("flows", columns)
}

/// The series of a run.
pub(super) fn series_table(rows: &Rows) -> Table {
    let Rows { rows, places } = rows;
    let what: Text = rows.iter().map(|row| Some(row.what.name())).collect();
    let place = |row: &Row| places.get(row.place as usize).map(String::as_str);
    let place: Text = rows.iter().map(place).collect();
    let kinds = "queue_bytes: as it is; queue_peak_bytes: since the row before; rate_bps: since then, at IP.";
    let time: Vec<f64> = rows.iter().map(|row| row.time.as_secs_f64()).collect();
    let value: Vec<f64> = rows.iter().map(|row| row.value).collect();
    let columns = vec![
        Column::new("time_s", "s", "Since the start of the run.", time),
        Column::new("what", "", kinds, what),
        Column::new("place", "", "The queue, the group or the flow.", place),
        Column::new("value", "B or bit/s", "The value, in the unit that `what` ends in.", value),
    ];
    Table::new("series", columns)
}

//! The archive of finished runs: a folder with `ID.json` for each run, and its rows in `ID.flows.parquet` and
//! `ID.series.parquet`. A run is stored when it ends, each file atomically and the JSON last, so that a run whose JSON
//! exists is complete. Digests in the JSON detect damage.

use super::identity::{Identity, digest, hexadecimal};
use super::tables::{flow_table, series_table};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use shallop_measure::{flow_log::FlowRow, outcome::Outcome};
use shallop_results::summary::Run;
use shallop_store::{Draft, StoreError, TableWriter, clear_drafts, publish, read_bytes, read_text, to_parquet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

#[derive(Clone, Debug)]
pub struct RunArchive {
    folder: PathBuf,
}

/// The content of `ID.json`.
#[derive(Debug, Serialize, Deserialize)]
struct ArchivedRun {
    /// The version of this program that made the run.
    shallop: String,
    /// SHA-256 of `run` as compact JSON, and of the two Parquet files.
    sha256: Digests,
    run: Run,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Digests {
    run: String,
    flows: String,
    series: String,
}

pub struct FlowWriter(TableWriter<Hashed>);

impl FlowWriter {
    pub fn push(&mut self, rows: &[FlowRow]) -> Result<(), StoreError> {
        self.0.push_batch(&flow_table(rows))
    }
}

/// A draft file that hashes what is written to it.
struct Hashed {
    draft: Draft,
    digest: Sha256,
}

impl Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.draft.write(bytes)?;
        self.digest.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.draft.flush()
    }
}

impl RunArchive {
    /// The archive in the results folder `out`: its folder `runs`.
    #[must_use]
    pub fn in_results(out: &Path) -> Self {
        Self { folder: out.join("runs") }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file with the rows of a run's flows.
    pub fn flows(&self, id: &Identity) -> PathBuf {
        self.folder.join(format!("{id}.flows.parquet"))
    }

    /// The file with the rows of a run's time series.
    pub fn series(&self, id: &Identity) -> PathBuf {
        self.folder.join(format!("{id}.series.parquet"))
    }

    /// The file with the packets that a run captured.
    fn capture(&self, id: &Identity) -> PathBuf {
        self.folder.join(format!("{id}.pcapng"))
    }

    /// The folder of files that a run's programs wrote.
    pub fn files(&self, id: &Identity) -> PathBuf {
        self.folder.join(format!("{id}.files"))
    }

    /// The path of [`RunArchive::files`] relative to the results folder.
    pub fn files_name(id: &Identity) -> String {
        format!("runs/{id}.files")
    }

    /// The path of a run's captured packets relative to the results folder.
    pub fn capture_name(id: &Identity) -> String {
        format!("runs/{id}.pcapng")
    }

    fn json(&self, id: &Identity) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }

    /// Starts to write the rows of a run's flows.
    pub fn begin(&self, id: &Identity) -> Result<FlowWriter, StoreError> {
        let sink = Hashed { draft: Draft::create(self.flows(id))?, digest: Sha256::new() };
        Ok(FlowWriter(TableWriter::new(sink, &flow_table(&[]))?))
    }

    /// Stores a run with the rows of its flows.
    ///
    /// # Errors
    /// If a file cannot be written; the archive then does not have the run.
    pub fn store(&self, id: &Identity, outcome: &Outcome, flows: FlowWriter) -> Result<(), StoreError> {
        let flows = flows.0.finish()?;
        let capture = outcome.capture.as_ref().map(|bytes| Draft::of_bytes(self.capture(id), bytes));
        let series = to_parquet(&series_table(&outcome.series))?;
        let json = |why: serde_json::Error| StoreError::Unwritable {
            table: self.json(id).display().to_string(),
            why: why.to_string(),
        };
        let run = serde_json::to_vec(&outcome.run).map_err(json)?;
        let of_flows = hexadecimal(flows.digest);
        let sha256 = Digests { run: digest(&run), flows: of_flows, series: digest(&series) };
        let shallop = env!("CARGO_PKG_VERSION").to_owned();
        let record = ArchivedRun { shallop, sha256, run: outcome.run.clone() };
        let mut text = serde_json::to_vec_pretty(&record).map_err(json)?;
        text.push(b'\n');
        let series = Draft::of_bytes(self.series(id), &series)?;
        let json = Draft::of_bytes(self.json(id), &text)?;
        publish(capture.transpose()?.into_iter().chain([flows.draft, series, json]))
    }

    /// Reads a run; `None` if the archive does not have it.
    ///
    /// # Errors
    /// If its files are damaged.
    pub fn load(&self, id: &Identity) -> Result<Option<Run>, String> {
        let path = self.json(id);
        if !path.exists() {
            return Ok(None);
        }
        let broken = |why: &dyn std::fmt::Display| format!("{}: broken: {why}", path.display());
        let text = read_text(&path).map_err(|why| why.to_string())?;
        let ArchivedRun { sha256, run, .. } = serde_json::from_str(&text).map_err(|why| broken(&why))?;
        let compact = serde_json::to_vec(&run).map_err(|why| broken(&why))?;
        let of_file = |path: PathBuf| read_bytes(path).map(|bytes| digest(&bytes));
        let found = Digests {
            run: digest(&compact),
            flows: of_file(self.flows(id)).map_err(|why| why.to_string())?,
            series: of_file(self.series(id)).map_err(|why| why.to_string())?,
        };
        let parts = [
            (found.run == sha256.run, path.clone()),
            (found.flows == sha256.flows, self.flows(id)),
            (found.series == sha256.series, self.series(id)),
        ];
        match parts.into_iter().find(|(whole, _)| !whole) {
            Some((_, path)) => Err(format!("{}: broken: its digest differs", path.display())),
            None => Ok(Some(run)),
        }
    }

    /// Removes the draft files that a killed process left of these runs. No other process may be running them.
    pub fn remove_drafts(&self, ids: &[Identity]) {
        let mut ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
        ids.sort_unstable();
        clear_drafts(&self.folder, |name| {
            let id = name.split('.').next().unwrap_or_default();
            ids.binary_search_by(|other| other.as_str().cmp(id)).is_ok()
        });
    }
}

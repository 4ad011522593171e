//! Finished runs in a folder: `ID.json`, the run, with its rows beside it in `ID.flows.parquet` and
//! `ID.series.parquet`. A run is written the moment it ends, its JSON last, each file whole or not at all; so whoever
//! finds the JSON finds the run. Digests in it tell what was damaged since.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use shallop_store::{
    Draft, StoreError, TableWriter, clear_drafts, publish, read_bytes, read_text, to_parquet,
};

use super::identity::{Identity, digest, hexadecimal};
use super::results::{flow_table, series_table};
use crate::journal::FlowRow;
use crate::outcome::Outcome;
use crate::summary::Run;

/// The folder of finished runs.
#[derive(Clone, Debug)]
pub struct Kept {
    folder: PathBuf,
}

/// What stands in a JSON file.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    /// The version that made the run.
    shallop: String,
    /// SHA-256 of `run` as compact JSON, and of the two files beside this one.
    sha256: Digests,
    run: Run,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Digests {
    run: String,
    flows: String,
    series: String,
}

/// Rows of flows on their way into a file, as they come.
pub struct FlowPart(TableWriter<Hashed>);

impl FlowPart {
    /// Adds rows.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn push(&mut self, rows: &[FlowRow]) -> Result<(), StoreError> {
        self.0.push_batch(&flow_table(rows))
    }
}

/// A file that is not there yet, with the digest of what was written.
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

impl Kept {
    /// The finished runs among the results in `out`: those in its folder `runs`.
    #[must_use]
    pub fn of(out: &Path) -> Self {
        Self { folder: out.join("runs") }
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The rows of a run's flows.
    #[must_use]
    pub fn flows(&self, id: &Identity) -> PathBuf {
        self.folder.join(format!("{id}.flows.parquet"))
    }

    /// The rows of a run's series.
    #[must_use]
    pub fn series(&self, id: &Identity) -> PathBuf {
        self.folder.join(format!("{id}.series.parquet"))
    }

    /// The packets that a run captured.
    fn capture(&self, id: &Identity) -> PathBuf {
        self.folder.join(format!("{id}.pcapng"))
    }

    /// Where that is from the folder of the results.
    #[must_use]
    pub fn capture_name(id: &Identity) -> String {
        format!("runs/{id}.pcapng")
    }

    fn json(&self, id: &Identity) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }

    /// Begins to write the rows of a run's flows.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn begin(&self, id: &Identity) -> Result<FlowPart, StoreError> {
        let sink = Hashed { draft: Draft::create(self.flows(id))?, digest: Sha256::new() };
        Ok(FlowPart(TableWriter::new(sink, &flow_table(&[]))?))
    }

    /// Keeps a run with the rows that were written.
    ///
    /// # Errors
    /// If it cannot be written; then it is not there.
    pub fn keep(
        &self,
        id: &Identity,
        outcome: &Outcome,
        flows: FlowPart,
    ) -> Result<(), StoreError> {
        let flows = flows.0.finish()?;
        let capture =
            outcome.capture.as_ref().map(|bytes| Draft::of_bytes(self.capture(id), bytes));
        let series = to_parquet(&series_table(&outcome.series))?;
        let json = |why: serde_json::Error| StoreError::Unwritable {
            table: self.json(id).display().to_string(),
            why: why.to_string(),
        };
        let run = serde_json::to_vec(&outcome.run).map_err(json)?;
        let of_flows = hexadecimal(flows.digest);
        let sha256 = Digests { run: digest(&run), flows: of_flows, series: digest(&series) };
        let shallop = env!("CARGO_PKG_VERSION").to_owned();
        let record = Record { shallop, sha256, run: outcome.run.clone() };
        let mut text = serde_json::to_vec_pretty(&record).map_err(json)?;
        text.push(b'\n');
        let series = Draft::of_bytes(self.series(id), &series)?;
        let json = Draft::of_bytes(self.json(id), &text)?;
        publish(capture.transpose()?.into_iter().chain([flows.draft, series, json]))
    }

    /// A run that was kept; `None` if it was not.
    ///
    /// # Errors
    /// In words, if its files are damaged.
    pub fn load(&self, id: &Identity) -> Result<Option<Run>, String> {
        let path = self.json(id);
        if !path.exists() {
            return Ok(None);
        }
        let broken = |why: &dyn std::fmt::Display| format!("{}: broken: {why}", path.display());
        let text = read_text(&path).map_err(|why| why.to_string())?;
        let Record { sha256, run, .. } = serde_json::from_str(&text).map_err(|why| broken(&why))?;
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

    /// Removes what a killed process left of these runs, which nobody else is making.
    pub fn clear(&self, ids: &[Identity]) {
        let mut ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
        ids.sort_unstable();
        clear_drafts(&self.folder, |name| {
            let id = name.split('.').next().unwrap_or_default();
            ids.binary_search_by(|other| other.as_str().cmp(id)).is_ok()
        });
    }
}

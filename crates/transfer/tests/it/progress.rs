//! What a transfer tells, and what happens to its files meanwhile.

use super::{Run, part};
use shallop_transfer::protocol::{Entry, FileOutcome, Progress};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Mutex, Once};

/// Writes as many bytes as a file has to both of its ends, once the first bytes of it have arrived.
struct WriteMeanwhile(PathBuf, Once);

impl Progress for WriteMeanwhile {
    fn bytes(&self, _id: u32, _count: u64) {
        self.1.call_once(|| {
            let file = File::options().write(true).open(&self.0).unwrap();
            file.write_all_at(b"new", 0).unwrap();
            file.write_all_at(b"new", 2_999_997).unwrap();
        });
    }
}

pub fn a_file_that_keeps_its_length_while_it_is_written_to_is_not_sent() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = from.path().join("a");
    std::fs::write(&path, vec![7; 3_000_000]).unwrap();
    let (sent, got) = Run::new(from.path(), to.path()).run(&(), &WriteMeanwhile(path, Once::new()));
    for summary in [sent.unwrap(), got.unwrap()] {
        assert_eq!((summary.files, summary.failed.len()), (0, 1));
        assert!(summary.failed[0].reason.contains("it has changed"), "{summary:?}");
    }
    assert!(!to.path().join("a").exists());
}

#[derive(Default)]
struct Log(Mutex<Vec<String>>);

impl Progress for Log {
    fn total(&self, files: u64, bytes: u64) {
        self.0.lock().unwrap().push(format!("{files} files, {bytes} bytes"));
    }

    fn file_started(&self, id: u32, file: &Entry, there: u64) {
        self.0.lock().unwrap().push(format!("{id} {} from {there}", file.path));
    }

    fn bytes(&self, id: u32, count: u64) {
        self.0.lock().unwrap().push(format!("{id} {count}"));
    }

    fn file_done(&self, id: u32, file: &Entry, outcome: &FileOutcome) {
        self.0.lock().unwrap().push(format!("{id} {} {outcome:?}", file.path));
    }
}

pub fn both_sides_report_the_same_progress() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(from.path().join("a"), "0123456789").unwrap();
    std::fs::write(to.path().join(part("a")), "0123").unwrap();
    let (sending, receiving) = (Log::default(), Log::default());
    let run = Run { streams: 1, ..Run::new(from.path(), to.path()) };
    let (sent, got) = run.run(&sending, &receiving);
    let summary = serde_json::to_value(sent.unwrap()).unwrap();
    assert_eq!((&summary["files"], &summary["bytes"], &summary["resumed_bytes"]), (&1.into(), &6.into(), &4.into()));
    assert!(got.is_ok());
    let log = ["1 files, 10 bytes", "0 a from 4", "0 6", "0 a Moved"];
    assert_eq!(*sending.0.lock().unwrap(), log);
    assert_eq!(*receiving.0.lock().unwrap(), log);
}

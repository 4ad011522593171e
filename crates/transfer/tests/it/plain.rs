//! Transfers over a link that does not break.

use super::{Numbers, Run, contents, part, plant, sources};
use crate::memory_link::MemoryLink;
use shallop_transfer::limits::Limits;
use shallop_transfer::protocol::{
    Entry, FileOutcome, Progress, ReceiveOptions, SendOptions, SourcePaths, Summary, receive, send,
};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once};

fn run(from: &Path, to: &Path, overwrite: bool) -> Summary {
    agreed(&Run { overwrite, ..Run::new(from, to) })
}

/// Asserts that both sides give the same result, and returns the result.
fn agreed(run: &Run) -> Summary {
    let (sent, got) = run.run(&(), &());
    let (sent, got) = (sent.unwrap(), got.unwrap());
    let all = |it: &Summary| (it.files, it.folders, it.bytes, it.skipped, it.resumed_bytes, it.failed.len());
    assert_eq!(all(&sent), all(&got), "the sides do not agree");
    sent
}

pub fn a_second_transfer_skips_files_that_have_arrived() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    plant(from.path(), &mut Numbers(1), 300, 20_000);
    let first = run(from.path(), to.path(), false);
    assert!(first.files > 200 && first.folders > 10 && first.failed.is_empty());
    assert!(contents(from.path()) == contents(to.path()));
    let second = run(from.path(), to.path(), true);
    assert_eq!((second.files, second.bytes, second.skipped), (0, 0, first.files));
}

pub fn a_different_file_is_kept_unless_overwriting_is_allowed() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for (name, new, old) in [("same size", "new", "old"), ("other size", "new", "older"), ("same", "new", "new")] {
        std::fs::write(from.path().join(name), new).unwrap();
        std::fs::write(to.path().join(name), old).unwrap();
    }
    std::fs::create_dir(to.path().join("folder")).unwrap();
    std::fs::write(from.path().join("folder"), "file").unwrap();
    let refused = run(from.path(), to.path(), false);
    let failed: Vec<_> = refused.failed.iter().map(|it| it.path.as_str()).collect();
    assert_eq!((failed.len(), refused.skipped, refused.files), (3, 1, 0), "{failed:?}");
    assert_eq!(std::fs::read(to.path().join("same size")).unwrap(), b"old");
    assert_eq!(std::fs::read(to.path().join("other size")).unwrap(), b"older");
    let replaced = run(from.path(), to.path(), true);
    assert_eq!((replaced.failed.len(), replaced.skipped, replaced.files), (1, 1, 2));
    assert_eq!(std::fs::read(to.path().join("same size")).unwrap(), b"new");
    assert_eq!(std::fs::read(to.path().join("other size")).unwrap(), b"new");
    assert!(to.path().join("folder").is_dir());
}

pub fn hidden_files_and_folders_are_refused_unless_allowed() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for folder in [".ssh", "deep/.git", "deep/er"] {
        std::fs::create_dir_all(from.path().join(folder)).unwrap();
    }
    for name in [".ssh/authorized_keys", ".bash_profile", "deep/.git/x", "deep/er/.x", "a.b"] {
        std::fs::write(from.path().join(name), "new").unwrap();
    }
    let send_with = |hidden| agreed(&Run { hidden, ..Run::new(from.path(), to.path()) });
    let refused = send_with(false);
    let mut failed: Vec<_> = refused.failed.iter().map(|it| it.path.as_str()).collect();
    failed.sort_unstable();
    let hidden = [".bash_profile", ".ssh", ".ssh/authorized_keys", "deep/.git", "deep/.git/x", "deep/er/.x"];
    assert_eq!(failed, hidden);
    assert!(refused.failed.iter().all(|it| it.reason.contains("not started with --hidden")));
    let there: Vec<_> = contents(to.path()).into_keys().collect();
    assert_eq!(there, ["a.b", "deep", "deep/er"]);
    assert_eq!(send_with(true).failed, []);
    assert!(contents(from.path()) == contents(to.path()));
}

pub fn symbolic_links_in_the_receivers_folder_are_not_followed() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let outside = tempfile::tempdir().unwrap();
    std::fs::create_dir(from.path().join("d")).unwrap();
    std::fs::write(from.path().join("d/a"), "a").unwrap();
    std::fs::write(from.path().join("b"), "b").unwrap();
    std::fs::write(from.path().join("c"), "c").unwrap();
    let link = |name: &str| std::os::unix::fs::symlink(outside.path().join("x"), to.path().join(name)).unwrap();
    std::os::unix::fs::symlink(outside.path(), to.path().join("d")).unwrap();
    link("b");
    link(&part("c"));
    let summary = run(from.path(), to.path(), true);
    assert_eq!((summary.failed.len(), summary.files), (4, 0), "{:?}", summary.failed);
    assert_eq!(outside.path().read_dir().unwrap().count(), 0);
    assert_eq!(to.path().read_dir().unwrap().count(), 3, "a partial file has stayed");
}

pub fn a_partial_file_of_other_content_is_replaced() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for (name, start) in [("right", "0123"), ("wrong", "012x"), ("long", "0123456789abc"), ("all", "0123456789")] {
        std::fs::write(from.path().join(name), "0123456789").unwrap();
        std::fs::write(to.path().join(part(name)), start).unwrap();
    }
    let summary = run(from.path(), to.path(), false);
    assert_eq!((summary.files, summary.resumed_bytes, summary.bytes), (4, 14, 26));
    assert!(contents(from.path()) == contents(to.path()));
}

pub fn more_partial_files_than_are_kept_open_are_completed() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for number in 0..100 {
        std::fs::write(from.path().join(format!("{number:03}")), "0123456789").unwrap();
        std::fs::write(to.path().join(part(&format!("{number:03}"))), "01234").unwrap();
    }
    let summary = run(from.path(), to.path(), false);
    assert_eq!((summary.files, summary.failed.len()), (100, 0));
    assert!(summary.resumed_bytes >= 64 * 5, "{}", summary.resumed_bytes);
    assert!(contents(from.path()) == contents(to.path()));
}

pub fn a_file_that_changes_during_the_transfer_is_not_sent() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for name in ["gone", "grown", "stays"] {
        std::fs::write(from.path().join(name), "0123456789").unwrap();
    }
    let sources = sources(from.path());
    std::fs::remove_file(from.path().join("gone")).unwrap();
    std::fs::write(from.path().join("grown"), "0123456789a").unwrap();
    let (here, there) = MemoryLink::pair(None);
    let (sent, got) = std::thread::scope(|scope| {
        let got = scope.spawn(|| receive(&there, to.path(), ReceiveOptions::default(), &Limits::default(), &()));
        (send(&here, &sources, SendOptions::default(), &()).unwrap(), got.join().unwrap().unwrap())
    });
    assert_eq!((sent.files, sent.failed.len(), got.files, got.failed.len()), (1, 2, 1, 2));
    assert!(got.failed.iter().any(|it| it.path == "grown" && it.reason.contains("changed")), "{got:?}");
    assert_eq!(contents(to.path()).len(), 1);
}

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

pub fn a_small_transfer_arrives_unasked() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::create_dir(from.path().join("d")).unwrap();
    for (name, text) in [("same", "1234"), ("other", "1234"), ("d/new", "123"), ("empty", "")] {
        std::fs::write(from.path().join(name), text).unwrap();
    }
    for (name, text) in [("same", "1234"), ("other", "4321")] {
        std::fs::write(to.path().join(name), text).unwrap();
    }
    let run = Run { push: 64, ..Run::new(from.path(), to.path()) };
    let first = agreed(&run);
    assert_eq!((first.files, first.bytes, first.skipped, first.folders), (2, 3, 1, 1));
    assert_eq!(first.failed.iter().map(|it| it.path.as_str()).collect::<Vec<_>>(), ["other"]);
    assert!(first.failed[0].reason.contains("--overwrite"));
    let second = agreed(&Run { overwrite: true, ..run });
    assert_eq!((second.files, second.bytes, second.skipped, second.failed), (1, 4, 3, vec![]));
    assert!(contents(from.path()) == contents(to.path()));
}

pub fn a_file_of_proc_is_not_sent_as_an_empty_one() {
    let to = tempfile::tempdir().unwrap();
    let sources = SourcePaths::collect(&["/proc/self/status".into()]).unwrap();
    for (push, is_there) in [(0, false), (64, false), (0, true)] {
        if is_there {
            std::fs::write(to.path().join("status"), "").unwrap();
        }
        let (here, there) = MemoryLink::pair(None);
        let options = SendOptions { push, ..SendOptions::default() };
        let sent = std::thread::scope(|scope| {
            scope.spawn(|| receive(&there, to.path(), ReceiveOptions::default(), &Limits::default(), &()));
            send(&here, &sources, options, &()).unwrap()
        });
        assert_eq!((sent.files, sent.skipped, sent.failed.len()), (0, 0, 1), "{push} {is_there}");
        assert!(sent.failed[0].reason.contains("as files in /proc"), "{sent:?}");
    }
}

pub fn a_partial_file_locked_by_another_transfer_is_left_alone() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(from.path().join("a"), "0123456789").unwrap();
    let other = File::create(to.path().join(part("a"))).unwrap();
    other.lock().unwrap();
    let summary = run(from.path(), to.path(), false);
    assert!(summary.failed[0].reason.contains("another transfer"), "{:?}", summary.failed);
    drop(other);
    assert_eq!(run(from.path(), to.path(), false).files, 1);
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

pub fn a_transfer_of_nothing_succeeds() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let summary = run(from.path(), to.path(), false);
    assert_eq!(Summary { seconds: 0.0, ..summary }, Summary::default());
}

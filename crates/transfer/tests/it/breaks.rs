//! Transfers that are broken at any byte, or whose process is killed, and then resumed.

use crate::memory_link::MemoryLink;
use crate::{Numbers, Run, contents, plant};
use proptest::prelude::{ProptestConfig, any, proptest};
use shallop_testing::child;
use shallop_transfer::protocol::{Link, PART_SUFFIX, Progress};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts bytes, and closes a link after a number of them.
#[derive(Default)]
struct Count<'a> {
    bytes: AtomicU64,
    kill: Option<(u64, &'a MemoryLink)>,
}

impl Progress for Count<'_> {
    fn bytes(&self, _id: u32, count: u64) {
        let before = self.bytes.fetch_add(count, Ordering::Relaxed);
        if let Some((at, link)) = self.kill
            && before + count >= at
        {
            link.close("killed");
        }
    }
}

/// Asserts that files with their final name are complete, and that partial files are prefixes.
fn no_file_is_wrong(from: &Path, to: &Path) {
    let (from, to) = (contents(from), contents(to));
    for (path, it) in to.iter().filter(|(path, _)| !path.ends_with(PART_SUFFIX)) {
        assert!(from.get(path) == Some(it), "{path:?} is not what was sent");
    }
    for (path, part) in to.iter().filter(|(path, _)| path.ends_with(PART_SUFFIX)) {
        // A dot and 32 digits of the tag follow the name.
        let whole = &from[&path[..path.len() - PART_SUFFIX.len() - 33]];
        let (Some((whole, _)), Some((part, _))) = (whole, part) else { panic!("{path:?} is a folder") };
        assert!(whole.starts_with(part), "{path:?} is not the start of what was sent");
    }
}

/// Breaks a transfer up to `breaks` times, then completes it. Returns how often it was broken.
fn break_and_finish(seed: u64, files: u64, largest: u64, breaks: u32) -> u32 {
    let mut numbers = Numbers(seed);
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    plant(from.path(), &mut numbers, files, largest);
    let all: u64 = contents(from.path()).values().flatten().map(|(bytes, _)| bytes.len() as u64).sum();
    let received = Count::default();
    let mut broken = 0;
    for _ in 0..breaks {
        let limit = match numbers.below(3) {
            0 => 4000,
            1 => all / 8 + 4000,
            _ => all / 2 + 4000,
        };
        let streams = 1 + numbers.below(8) as usize;
        let budget = Some(1 + numbers.below(limit));
        let run = Run { streams, budget, ..Run::new(from.path(), to.path()) };
        let (sent, got) = run.run(&(), &received);
        broken += u32::from(sent.is_err() || got.is_err());
        no_file_is_wrong(from.path(), to.path());
    }
    let (sent, got) = Run::complete(from.path(), to.path(), &received);
    assert_eq!((sent.files, sent.skipped, sent.bytes), (got.files, got.skipped, got.bytes));
    assert_eq!(sent.resumed_bytes, got.resumed_bytes);
    // No byte that had arrived was sent again.
    assert_eq!(received.bytes.into_inner(), all);
    broken
}

pub fn a_transfer_broken_at_any_byte_is_resumed() {
    let mut broken = 0;
    for seed in 0..3 {
        broken += break_and_finish(seed, 8, 3_000_000, 12);
    }
    for seed in 100..114 {
        broken += break_and_finish(seed, 40, 10_000, 20);
    }
    assert!(broken >= 200, "only {broken} breaks");
}

pub fn a_small_transfer_is_broken_at_every_byte() {
    for push in [0, 64] {
        break_small_transfers(push);
    }
}

fn break_small_transfers(push: u64) {
    let from = tempfile::tempdir().unwrap();
    std::fs::create_dir(from.path().join("d")).unwrap();
    std::fs::write(from.path().join("d/a"), "twelve bytes").unwrap();
    std::fs::write(from.path().join("d/b"), "").unwrap();
    let clean = tempfile::tempdir().unwrap();
    let (here, there) = MemoryLink::pair(None);
    let run = Run { streams: 1, push, ..Run::new(from.path(), clean.path()) };
    let (sent, got) = run.over(&here, &there, &(), &());
    assert!(sent.is_ok() && got.is_ok());
    for budget in 1..here.written() {
        let to = tempfile::tempdir().unwrap();
        let received = Count::default();
        let run = Run { to: to.path(), budget: Some(budget), ..run };
        let (sent, got) = run.run(&(), &received);
        no_file_is_wrong(from.path(), to.path());
        // A side may succeed if only the closing messages were lost.
        for done in [sent, got].into_iter().flatten() {
            assert_eq!((done.files + done.skipped, done.failed), (2, vec![]), "{budget}");
        }
        Run::complete(from.path(), to.path(), &received);
        assert_eq!(received.bytes.into_inner(), 12);
    }
}

pub fn either_side_may_be_killed() {
    let mut numbers = Numbers(7);
    for round in 0..20 {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        plant(from.path(), &mut numbers, 10, 600_000);
        std::fs::write(from.path().join("one more"), numbers.bytes(400_000)).unwrap();
        for _ in 0..3 {
            let (here, there) = MemoryLink::pair(None);
            let kill = Some((numbers.below(300_000), if round % 2 == 0 { &here } else { &there }));
            let count = Count { bytes: AtomicU64::new(0), kill };
            let run = Run::new(from.path(), to.path());
            let _ = if round % 2 == 0 {
                run.over(&here, &there, &count, &())
            } else {
                run.over(&here, &there, &(), &count)
            };
            no_file_is_wrong(from.path(), to.path());
        }
        Run::complete(from.path(), to.path(), &());
    }
}

/// The environment variables that name the folders of [`transfers_until_killed`].
const FROM: &str = "SHALLOP_TEST_FROM";
const TO: &str = "SHALLOP_TEST_TO";

pub fn transfers_until_killed() {
    let [from, to] = [FROM, TO].map(|name| std::env::var_os(name).unwrap());
    let _ = Run::new(Path::new(&from), Path::new(&to)).run(&(), &());
}

pub fn a_killed_process_leaves_no_half_file_under_its_final_name() {
    let mut numbers = Numbers(3);
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    plant(from.path(), &mut numbers, 40, 100_000);
    std::fs::write(from.path().join("large"), numbers.bytes(2_000_000)).unwrap();
    let mut killed = 0;
    for _ in 0..30 {
        let mut process =
            child::command("breaks::transfers_until_killed").env(FROM, from.path()).env(TO, to.path()).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_micros(4_000 + numbers.below(60_000)));
        process.kill().unwrap();
        killed += u32::from(!process.wait().unwrap().success());
        no_file_is_wrong(from.path(), to.path());
    }
    assert!(killed > 0, "nothing was killed");
    Run::complete(from.path(), to.path(), &());
}

pub fn any_tree_arrives() {
    proptest!(
        ProptestConfig::with_cases(24),
        |(seed in any::<u64>(), files in 0u64..25, largest in 40u64..200_000, breaks in 0u32..8)| {
            break_and_finish(seed, files, largest, breaks);
        }
    );
}

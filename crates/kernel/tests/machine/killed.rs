//! A process that is killed at any time leaves no processes, files, memory or claims of processors.

use crate::support::{Run, child, kernel};
use shallop_core::Span;
use shallop_kernel::build;
use shallop_testing::{Cause, Outcome, skip, soon};
use std::{collections::BTreeSet, ffi::OsString, path::Path, time::Duration};

/// Repeats runs of two kernels.
pub fn runs_until_it_is_killed() -> Outcome {
    let kernel = kernel()?;
    let run = Run { duration: Span::from_ms(20), ..Run::default() };
    loop {
        run.run(&kernel);
    }
}

fn files(folder: &Path) -> BTreeSet<OsString> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name()).collect()
}

fn memory() -> BTreeSet<OsString> {
    let is_memory = |name: &OsString| name.to_string_lossy().starts_with("vm_file");
    files(Path::new("/dev/shm")).into_iter().filter(is_memory).collect()
}

/// The sockets by which runs claim processors of this machine.
fn claims() -> BTreeSet<OsString> {
    let sockets = std::fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let names = sockets.lines().filter_map(|line| line.split_whitespace().last());
    names.filter(|name| name.starts_with("@shallop-processor")).map(OsString::from).collect()
}

/// Kills a process that runs kernels after this time, and waits until nothing is left. Returns whether it had kernels.
fn kill_after(wait: Duration) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let before = memory();
    let claimed_before = claims();
    let mut child = child::command("killed::runs_until_it_is_killed", folder.path()).spawn().unwrap();
    std::thread::sleep(wait);
    let had_kernels = !child::kernels_of(child.id()).is_empty();
    child.kill().unwrap();
    child.wait().unwrap();
    let left = || {
        let [mut maps, mut claimed] = [memory(), claims()];
        maps.retain(|name| !before.contains(name));
        claimed.retain(|name| !claimed_before.contains(name));
        (child::with_path(folder.path()), files(folder.path()), maps, claimed)
    };
    let is_gone = soon(|| left() == Default::default());
    assert!(is_gone, "killed after {wait:?}, left are processes, files, memory and processors: {:?}", left());
    had_kernels
}

/// Kills `times` processes, each at another time of its first 700 ms, when most have kernels.
fn kill(times: u64) -> Outcome {
    kernel()?;
    let with_kernels = (0..times).filter(|index| {
        // The golden ratio spreads the times evenly, whatever their number.
        let part = (index * 618_034 + 300_000) % 1_000_000;
        kill_after(Duration::from_micros(part * 7 / 10))
    });
    let with_kernels = with_kernels.count() as u64;
    assert!(with_kernels * 2 >= times, "{with_kernels} of {times} had kernels");
    Ok(())
}

pub fn nothing_is_left_after_a_kill() -> Outcome {
    kill(8)
}

pub fn nothing_is_left_after_fifty_kills() -> Outcome {
    kill(50)
}

/// Builds a kernel in the folder for temporary files.
pub fn builds_until_it_is_killed() -> Outcome {
    let folder = std::env::temp_dir().join("kernels");
    build::build(&folder, None, 1, &mut |_| ()).map(drop).map_err(std::io::Error::other)?;
    Ok(())
}

pub fn nothing_is_left_of_a_build_after_a_kill() -> Outcome {
    if build::sources().is_empty() {
        return Err(skip(Cause::Kernel, "no source of Linux is installed"));
    }
    let folder = tempfile::tempdir().unwrap();
    let mut child = child::command("killed::builds_until_it_is_killed", folder.path()).spawn().unwrap();
    let kernels = folder.path().join("kernels");
    let unpacks = || files(&kernels).iter().any(|name| kernels.join(name).join("source").is_dir());
    assert!(soon(unpacks), "the build has not begun to unpack");
    child.kill().unwrap();
    child.wait().unwrap();
    let left = || (child::with_path(folder.path()), files(&kernels));
    assert!(soon(|| left() == Default::default()), "left are processes and files {:?}", left());
    Ok(())
}

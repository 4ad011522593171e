//! Tests of programs in the kernel: leave to load some, and scripts in namespaces of their own.

use std::fs;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use shallop_bpf::inventory;

use super::text;

#[expect(clippy::print_stdout, reason = "a test that is skipped says so")]
pub fn skipped(why: &str) {
    println!("skipped: {why}");
}

/// One test at a time: each looks at what the kernel has.
static ALONE: Mutex<()> = Mutex::new(());

/// Leave to load programs, if this build and machine can, and the machine has these commands; if not, says why.
pub fn leave(commands: &[&str]) -> Option<MutexGuard<'static, ()>> {
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let lacks = |command: &&&str| {
        let mut folders = std::env::split_paths(&path).chain(["/usr/sbin".into()]);
        !folders.any(|folder| folder.join(command).is_file())
    };
    let all = [&["unshare", "nsenter", "ip", "tc", "python3"], commands].concat();
    match (shallop_bpf::machine::check(), all.iter().find(lacks)) {
        (Ok(()), None) => return Some(alone),
        (Err(why), _) => skipped(&why.to_string()),
        (_, Some(command)) => skipped(&format!("this machine has no {command}")),
    }
    None
}

/// Runs this script in a network, a mount namespace and a folder of its own, after `set_up.sh` of the folder `files`
/// has said what it has. Its output.
pub fn in_namespaces(files: &str, script: &str, variables: &[(&str, &str)]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("script.sh");
    fs::write(&file, format!(". {files}/set_up.sh\n{script}")).unwrap();
    let mut command = Command::new("unshare");
    command
        .args(["--net", "--mount", "bash"])
        .arg(file)
        .args([env!("CARGO_BIN_EXE_shallop"), files]);
    let output =
        command.current_dir(folder.path()).envs(variables.iter().copied()).output().unwrap();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

/// The programs that the kernel has whose names begin like one of these. It frees programs some time after the last one
/// has let go of them.
pub fn programs(names: &[&str]) -> Vec<String> {
    let all = inventory::programs().into_iter();
    let ours = all.filter(|of| names.iter().any(|name| of.name.starts_with(name)));
    ours.map(|of| format!("{} {}", of.id, of.name)).collect()
}

/// Waits for this, for at most ten seconds.
pub fn soon(mut is_so: impl FnMut() -> bool) -> bool {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(10) {
        if is_so() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    false
}

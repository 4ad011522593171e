//! Tests of programs in the kernel: what they need, and scripts in namespaces of their own.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use shallop_bpf::{BpfError, inventory};
use shallop_testing::{Cause, Outcome, programs, skip};

use crate::support::text;

/// Programs of this build that the kernel lets this user load, and these programs of the system beside those that every
/// script needs.
pub fn kernel_programs(commands: &[&str]) -> Outcome {
    shallop_bpf::machine::check().map_err(|why| match why {
        BpfError::NotAllowed => skip(Cause::Root, why),
        _ => skip(Cause::Bpf, why),
    })?;
    programs(&[&["bash", "unshare", "nsenter", "ip", "tc", "python3"], commands].concat())
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
pub fn loaded_programs(names: &[&str]) -> Vec<String> {
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

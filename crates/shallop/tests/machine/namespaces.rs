//! What tests of BPF programs need, and scripts in their own namespaces.

use crate::support::text;
use shallop_bpf::{BpfError, inventory};
use shallop_testing::{Cause, Outcome, programs, skip};
use std::{fs, process::Command};

/// Skips the test unless this user can load BPF programs of this build, and these system programs are installed.
pub fn kernel_programs(commands: &[&str]) -> Outcome {
    shallop_bpf::machine::check().map_err(|why| match why {
        BpfError::NotAllowed => skip(Cause::Root, why),
        _ => skip(Cause::Bpf, why),
    })?;
    programs(&[&["bash", "unshare", "nsenter", "ip", "tc", "python3"], commands].concat())
}

/// Runs `set_up.sh` of the folder `files` and then a script, in their own network and mount namespaces and folder.
/// Returns the output.
pub fn in_namespaces(files: &str, script: &str, variables: &[(&str, &str)]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("script.sh");
    fs::write(&file, format!(". {files}/set_up.sh\n{script}")).unwrap();
    let mut command = Command::new("unshare");
    command.args(["--net", "--mount", "bash"]).arg(file).args([env!("CARGO_BIN_EXE_shallop"), files]);
    let output = command.current_dir(folder.path()).envs(variables.iter().copied()).output().unwrap();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

/// The BPF programs in the kernel whose names begin like one of these. The kernel frees programs with a delay.
pub fn loaded_programs(names: &[&str]) -> Vec<String> {
    let all = inventory::programs().into_iter();
    let ours = all.filter(|of| names.iter().any(|name| of.name.starts_with(name)));
    ours.map(|of| format!("{} {}", of.id, of.name)).collect()
}

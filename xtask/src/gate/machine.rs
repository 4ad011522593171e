//! Properties of the machine that decide how the workspace is compiled and which tests must run.

use super::child;
use std::process::{Command, Stdio};

pub struct Machine {
    pub cores: usize,
    /// Whether programs for the running kernel can be compiled; `Err` says what is missing.
    pub bpf: Result<(), String>,
}

impl Machine {
    pub fn look() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self { cores, bpf: bpf() }
    }

    /// The features with which the workspace is compiled.
    pub fn features(&self) -> &'static str {
        if self.bpf.is_ok() { "xtask/records,shallop/bpf" } else { "xtask/records" }
    }
}

fn bpf() -> Result<(), String> {
    let missing = "clang or the headers of libelf and zlib are missing (make setup)";
    if !cfg!(target_os = "linux") {
        return Err("this is not Linux".to_owned());
    }
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let headers = ["libelf.h", "zlib.h"].iter().all(|header| {
        let mut check = Command::new(&compiler);
        check.args(["-fsyntax-only", "-x", "c", "-include", header, "/dev/null"]);
        succeeds(check)
    });
    let mut clang = Command::new("clang");
    clang.arg("--version");
    if headers && succeeds(clang) { Ok(()) } else { Err(missing.to_owned()) }
}

/// The causes for which `make check-full` allows no skip on this machine.
pub fn causes() -> Vec<&'static str> {
    let mut causes = vec!["long", "programs"];
    if bpf().is_ok() {
        causes.push("bpf");
    }
    let mut id = Command::new("id");
    let uid = id.arg("-u").output().map(|output| output.stdout).unwrap_or_default();
    if uid.trim_ascii() == b"0" {
        causes.extend(["root", "namespaces", "kernel"]);
    }
    causes
}

fn succeeds(mut command: Command) -> bool {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    child::without_cargos_variables(&mut command).status().is_ok_and(|status| status.success())
}

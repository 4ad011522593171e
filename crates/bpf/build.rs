//! Compiles the programs in `c/` with clang, if they are to be loaded.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The programs, each `c/NAME.bpf.c`.
const PROGRAMS: [&str; 5] = ["gemini", "dctcp", "ecn_star", "vegas", "clean"];

fn main() {
    println!("cargo::rerun-if-changed=c");
    if env::var_os("CARGO_FEATURE_LOAD").is_none() {
        return;
    }
    let of = |name: &str| env::var_os(name).map(PathBuf::from).unwrap_or_default();
    for name in PROGRAMS {
        compile(name, &of("DEP_BPF_INCLUDE"), &of("OUT_DIR"));
    }
}

fn compile(name: &str, libbpf: &Path, out: &Path) {
    let mut clang = Command::new("clang");
    clang.args(["-target", "bpf", "-O2", "-g", "-Wall", "-Wextra", "-Werror"]);
    // Macros of libbpf name an argument that few programs use.
    clang.arg("-Wno-unused-parameter").arg("-I").arg(libbpf).args(["-I", "c"]);
    clang.arg(format!("-D__TARGET_ARCH_{}", architecture()));
    clang.arg("-c").arg(format!("c/{name}.bpf.c")).arg("-o").arg(out.join(format!("{name}.o")));
    match clang.status() {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("clang cannot compile c/{name}.bpf.c: {status}"),
        Err(why) => panic!("the feature bpf needs clang, as 'make linux' installs it: {why}"),
    }
}

/// What the headers of libbpf call this architecture.
fn architecture() -> String {
    match env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default().as_str() {
        "x86_64" => "x86".to_owned(),
        "aarch64" => "arm64".to_owned(),
        "riscv64" => "riscv".to_owned(),
        other => other.to_owned(),
    }
}

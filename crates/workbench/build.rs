//! Computes a digest of the source of every crate that decides results. The digest is part of a run's identity, so that
//! an archived run of other code is not reused. In a published package the other crates' sources are missing; the
//! version then identifies them, because the package requires exactly that version of each.

use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::{fs, io};

const CRATES: [&str; 14] = [
    "core", "control", "switch", "proto", "topology", "workload", "plan", "scenario", "sim", "measure", "hosts",
    "kernel", "bpf", "linux",
];

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    let mut digest = Sha256::new();
    for name in CRATES {
        let folder = PathBuf::from(format!("../{name}/src"));
        if !folder.is_dir() {
            continue;
        }
        println!("cargo:rerun-if-changed={}", folder.display());
        let mut files = Vec::new();
        collect(&folder, &mut files)?;
        files.sort();
        for (path, text) in files {
            digest.update(path.as_bytes());
            digest.update([0]);
            // Git may check text files out with CR LF.
            digest.update(text.replace('\r', "").as_bytes());
            digest.update([0]);
        }
    }
    println!("cargo:rustc-env=SHALLOP_SOURCE={:x}", digest.finalize());
    Ok(())
}

/// Collects the Rust files below a folder, with `/` in their paths on all systems.
fn collect(folder: &Path, files: &mut Vec<(String, String)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path.to_string_lossy().replace('\\', "/");
            files.push((name, fs::read_to_string(&path)?));
        }
    }
    Ok(())
}

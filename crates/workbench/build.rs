//! What cargo cannot see by itself: a new file among the experiments, which are built in, and the text of everything a
//! run is computed by. The digest of that text is part of what finished runs are known by, so that no result of other
//! code is taken for one of this.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// The crates whose code decides what comes of a run.
const CRATES: [&str; 16] = [
    "core", "control", "switch", "proto", "topology", "workload", "plan", "scenario", "sim",
    "measure", "lab", "hosts", "kernel", "emu", "bpf", "linux",
];

fn main() -> io::Result<()> {
    let mut digest = Sha256::new();
    for name in CRATES {
        let folder = PathBuf::from(format!("../{name}/src"));
        println!("cargo:rerun-if-changed={}", folder.display());
        let mut files = Vec::new();
        collect(&folder, &mut files)?;
        files.sort();
        for (path, text) in files {
            digest.update(path.as_bytes());
            digest.update([0]);
            // Line ends depend on who checked the tree out.
            digest.update(text.replace('\r', "").as_bytes());
            digest.update([0]);
        }
    }
    println!("cargo:rustc-env=SHALLOP_SOURCE={:x}", digest.finalize());
    Ok(())
}

/// The sources in a folder, with their paths the same on all systems. A folder that is not there has none.
fn collect(folder: &Path, files: &mut Vec<(String, String)>) -> io::Result<()> {
    if !folder.is_dir() {
        return Ok(());
    }
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

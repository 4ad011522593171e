//! The workspace and its target folder.

use std::path::{Path, PathBuf};

/// The root of the workspace in which cargo runs this crate. A binary built in one clone can check another.
pub fn root() -> PathBuf {
    let here = std::env::var("CARGO_MANIFEST_DIR");
    let here = PathBuf::from(here.unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").to_owned()));
    here.parent().map_or(here.clone(), Path::to_path_buf)
}

/// The target folder of cargo.
pub fn target() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    root().join(target)
}

//! The pinned parts of a controller: its link, under the name of its program, and its maps.

use super::Program;
use crate::{BpfError, error::file};
use std::{ffi::OsString, fs, path::Path};

/// The maps of Gemini that are pinned: the settings of each class of destinations, and the class of each prefix.
pub(super) const MAPS: [&str; 2] = ["classes", "prefixes"];

/// The state of a controller in a folder of a BPF file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pinned {
    /// Completely pinned: the kernel has this controller.
    Whole(Program),
    /// Left by a command that was killed while it loaded or unloaded: the kernel does not have the controller.
    Part,
}

impl Pinned {
    pub fn in_folder(folder: &Path) -> Self {
        let link = |program: &Program| folder.join(program.default_name()).exists();
        Program::ALL.into_iter().find(link).map_or(Self::Part, Self::Whole)
    }
}

/// Removes the pinned link, then the maps, the folder, and its parents up to `root` if they are empty. The kernel
/// removes the controller when its last connection ends.
///
/// # Errors
/// If something cannot be removed.
pub fn unpin(folder: &Path, root: &Path) -> Result<(), BpfError> {
    let told = file("removing", folder);
    let names = fs::read_dir(folder).and_then(|entries| entries.map(|entry| entry.map(|of| of.file_name())).collect());
    let mut names: Vec<OsString> = names.map_err(&told)?;
    names.sort_unstable_by_key(|name| MAPS.iter().any(|map| name == map));
    for name in names {
        fs::remove_file(folder.join(name)).map_err(&told)?;
    }
    fs::remove_dir(folder).map_err(told)?;
    for above in folder.ancestors().skip(1).take_while(|above| above.starts_with(root)) {
        // Not empty: another controller is there.
        if fs::remove_dir(above).is_err() {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_removed_with_what_is_in_it_and_empty_ones_above() {
        let root = tempfile::tempdir().unwrap();
        let top = root.path().join("shallop");
        let (one, other) = (top.join("host/one"), top.join("host/other"));
        for folder in [&one, &other] {
            fs::create_dir_all(folder).unwrap();
        }
        assert_eq!(Pinned::in_folder(&one), Pinned::Part);
        for name in ["classes", "prefixes", "ecn_star"] {
            fs::write(one.join(name), "").unwrap();
        }
        assert_eq!(Pinned::in_folder(&one), Pinned::Whole(Program::EcnStar));
        unpin(&one, &top).unwrap();
        assert!(!one.exists() && other.exists());
        unpin(&other, &top).unwrap();
        assert!(!top.exists() && root.path().exists());
        assert!(unpin(&other, &top).is_err());
    }
}

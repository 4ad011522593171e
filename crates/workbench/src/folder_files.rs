//! Access to the files that a scenario names, relative to the scenario's folder.

use shallop_plan::files::Files;
use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, Default)]
pub struct FolderFiles(PathBuf);

impl FolderFiles {
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self(folder.into())
    }

    /// The files in the folder of a scenario file.
    #[must_use]
    pub fn beside(file: &Path) -> Self {
        Self(file.parent().map(Path::to_owned).unwrap_or_default())
    }
}

impl Files for FolderFiles {
    fn open(&self, name: &str) -> Result<Box<dyn BufRead + Send>, String> {
        let path = self.0.join(name);
        let file = shallop_store::open(&path).map_err(|error| {
            // The caller's message names the file already.
            let (text, name) = (error.to_string(), format!("{}: ", path.display()));
            text.strip_prefix(&name).map_or(text.clone(), str::to_owned)
        })?;
        Ok(Box::new(BufReader::with_capacity(1 << 16, file)))
    }

    fn folder(&self) -> Option<OsString> {
        let here = self.0.as_os_str().is_empty();
        Some(if here { OsString::from(".") } else { self.0.clone().into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_relative_to_the_folder_of_the_scenario() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenario.toml");
        let files = FolderFiles::beside(&here);
        assert!(files.text("src/lib.rs", 1 << 20).unwrap().contains("pub mod folder_files;"));
        assert!(files.text("src", 1 << 20).is_err(), "a folder is no file");
        assert!(files.folder().is_some_and(|folder| Path::new(&folder).join("src").is_dir()));
        assert!(FolderFiles::default().folder().is_some_and(|folder| Path::new(&folder).is_dir()));
        let why = files.text("missing.csv", 10).unwrap_err();
        assert!(why.starts_with("could not read the file"), "{why}");
    }
}

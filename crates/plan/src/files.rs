//! Files that a scenario names: networks, tables of flow sizes, traces. The caller decides where they are: pure crates
//! open a file by its name and read lines.

use std::io::{BufRead, Cursor, Read};
use std::{collections::BTreeMap, ffi::OsString, fmt::Debug};

/// Reads the files that a scenario names.
pub trait Files: Debug + Send + Sync {
    /// Opens a file by the name that the scenario gives.
    ///
    /// # Errors
    /// The reason why it cannot be read, as a text that follows the name.
    fn open(&self, name: &str) -> Result<Box<dyn BufRead + Send>, String>;

    /// The folder in which the files are, if they are on this machine.
    fn folder(&self) -> Option<OsString> {
        None
    }

    /// Reads a text file of at most `max_bytes` bytes.
    ///
    /// # Errors
    /// As [`Files::open`], and if the file is longer or is not UTF-8.
    fn text(&self, name: &str, max_bytes: u64) -> Result<String, String> {
        let mut bytes = Vec::new();
        let read = self.open(name)?.take(max_bytes + 1).read_to_end(&mut bytes);
        read.map_err(|error| format!("could not read the file: {error}; name a file that you may read"))?;
        if bytes.len() as u64 > max_bytes {
            return Err(format!("it is longer than {max_bytes} bytes"));
        }
        if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
            return Err("it is UTF-16 text: save it as UTF-8".to_owned());
        }
        String::from_utf8(bytes).map_err(|error| {
            let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = String::from_utf8_lossy(good).matches('\n').count() + 1;
            format!("line {line} is not UTF-8 text; save the file as UTF-8")
        })
    }
}

/// A source of files for scenarios that must not read any: each file is an error.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFiles;

impl Files for NoFiles {
    fn open(&self, _: &str) -> Result<Box<dyn BufRead + Send>, String> {
        Err("files cannot be read here".into())
    }
}

/// Files in memory: the map leads from the name of a file to its text.
#[derive(Clone, Debug, Default)]
pub struct FilesInMemory(pub BTreeMap<String, String>);

impl FilesInMemory {
    pub fn from_texts<N: Into<String>, T: Into<String>>(files: impl IntoIterator<Item = (N, T)>) -> Self {
        Self(files.into_iter().map(|(name, text)| (name.into(), text.into())).collect())
    }
}

impl Files for FilesInMemory {
    fn open(&self, name: &str) -> Result<Box<dyn BufRead + Send>, String> {
        let text = self.0.get(name).ok_or_else(|| {
            let known: Vec<&str> = self.0.keys().map(String::as_str).collect();
            format!("there is no such file; there are: {}", known.join(", "))
        })?;
        Ok(Box::new(Cursor::new(text.clone().into_bytes())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_found_by_name_and_bounded() {
        let files = FilesInMemory::from_texts([("a.csv", "x\ny\n")]);
        assert_eq!(files.text("a.csv", 4).as_deref(), Ok("x\ny\n"));
        assert_eq!(files.text("a.csv", 3), Err("it is longer than 3 bytes".into()));
        assert!(files.text("b.csv", 4).unwrap_err().ends_with("there are: a.csv"));
        assert_eq!(NoFiles.text("a.csv", 4), Err("files cannot be read here".into()));
    }

    #[test]
    fn files_that_are_not_utf_8_are_refused_with_the_line_or_the_encoding() {
        #[derive(Debug)]
        struct Raw(Vec<u8>);
        impl Files for Raw {
            fn open(&self, _: &str) -> Result<Box<dyn BufRead + Send>, String> {
                Ok(Box::new(Cursor::new(self.0.clone())))
            }
        }
        let units = || std::iter::once(0xfeff).chain("from,to".encode_utf16());
        let utf_16 = "it is UTF-16 text: save it as UTF-8";
        for (bytes, why) in [
            (b"good\n\xff\n".to_vec(), "line 2 is not UTF-8 text; save the file as UTF-8"),
            (units().flat_map(u16::to_le_bytes).collect(), utf_16),
            (units().flat_map(u16::to_be_bytes).collect(), utf_16),
        ] {
            assert_eq!(Raw(bytes).text("a", 100), Err(why.into()));
        }
    }
}

//! Files that a scenario names: networks, tables of flow sizes, traces. Where they are is for the host to say: the pure
//! part of the lab asks for a name and reads lines.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io::{BufRead, Cursor, Read};

/// Where files come from.
pub trait Files: Debug + Send + Sync {
    /// Opens the file of this name, as it stands in the scenario.
    ///
    /// # Errors
    /// Why it cannot be read, in words that follow the name.
    fn open(&self, name: &str) -> Result<Box<dyn BufRead + Send>, String>;

    /// All text of a file that holds no more than `most` bytes.
    ///
    /// # Errors
    /// As [`Files::open`], and if it is longer or no UTF-8.
    fn text(&self, name: &str, most: u64) -> Result<String, String> {
        let mut bytes = Vec::new();
        let read = self.open(name)?.take(most + 1).read_to_end(&mut bytes);
        read.map_err(|error| format!("it cannot be read: {error}"))?;
        if bytes.len() as u64 > most {
            return Err(format!("it is longer than {most} bytes"));
        }
        String::from_utf8(bytes).map_err(|error| {
            let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = String::from_utf8_lossy(good).matches('\n').count() + 1;
            format!("line {line} is not UTF-8 text")
        })
    }
}

/// No files at all.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFiles;

impl Files for NoFiles {
    fn open(&self, _: &str) -> Result<Box<dyn BufRead + Send>, String> {
        Err("files cannot be read here".into())
    }
}

/// Files that are held as texts, by name.
#[derive(Clone, Debug, Default)]
pub struct Memory(pub BTreeMap<String, String>);

impl Memory {
    /// These names with these texts.
    pub fn of<N: Into<String>, T: Into<String>>(files: impl IntoIterator<Item = (N, T)>) -> Self {
        Self(files.into_iter().map(|(name, text)| (name.into(), text.into())).collect())
    }
}

impl Files for Memory {
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
        let files = Memory::of([("a.csv", "x\ny\n")]);
        assert_eq!(files.text("a.csv", 4).as_deref(), Ok("x\ny\n"));
        assert_eq!(files.text("a.csv", 3), Err("it is longer than 3 bytes".into()));
        assert!(files.text("b.csv", 4).unwrap_err().ends_with("there are: a.csv"));
        assert_eq!(NoFiles.text("a.csv", 4), Err("files cannot be read here".into()));
    }

    #[test]
    fn what_is_no_text_is_refused_at_its_line() {
        #[derive(Debug)]
        struct Bytes;
        impl Files for Bytes {
            fn open(&self, _: &str) -> Result<Box<dyn BufRead + Send>, String> {
                Ok(Box::new(&b"good\n\xff\n"[..]))
            }
        }
        assert_eq!(Bytes.text("a", 100), Err("line 2 is not UTF-8 text".into()));
    }
}

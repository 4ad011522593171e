//! The pages of the docs and the fenced blocks on them.

use std::fs;
use std::path::{Path, PathBuf};

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// README.md and all pages under docs, by name, with their texts.
pub fn pages() -> Vec<(String, String)> {
    let mut names = vec!["README.md".to_owned()];
    let mut folders = vec!["docs".to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root().join(&folder)).unwrap() {
            let name = format!("{folder}/{}", entry.unwrap().file_name().to_str().unwrap());
            if root().join(&name).is_dir() {
                folders.push(name);
            } else if Path::new(&name).extension().is_some_and(|it| it == "md") {
                names.push(name);
            }
        }
    }
    names.sort();
    let read = |name: String| (name.clone(), fs::read_to_string(root().join(name)).unwrap());
    names.into_iter().map(read).collect()
}

#[derive(Clone, Debug, Default)]
pub struct Block {
    pub page: String,
    /// The line of its fence, counted from 1: its text begins below.
    pub line: usize,
    /// What the fence says: sh, toml.
    pub kind: String,
    /// What comments above it say: before the colon, behind it.
    pub notes: Vec<(String, String)>,
    pub text: String,
}

impl Block {
    pub fn at(&self) -> String {
        format!("{}:{}", self.page, self.line)
    }

    /// What a comment says behind this.
    pub fn note(&self, name: &str) -> Option<&str> {
        self.notes.iter().find(|note| note.0 == name).map(|note| note.1.as_str())
    }

    pub fn file(&self) -> Option<&str> {
        let name = self.text.lines().next()?.strip_prefix("# ")?.trim();
        let ending = Path::new(name).extension()?;
        let plain = name.chars().all(|it| it.is_ascii_alphanumeric() || "-_.".contains(it));
        (plain && ending == self.kind.as_str()).then_some(name)
    }
}

pub fn blocks(page: &str, text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut notes = Vec::new();
    let mut open: Option<Block> = None;
    for (number, line) in (1..).zip(text.lines()) {
        match (&mut open, line.strip_prefix("```")) {
            (Some(_), Some("")) => blocks.extend(open.take()),
            (Some(block), _) => block.text.extend([line, "\n"]),
            (None, Some(kind)) => {
                let (kind, notes) = (kind.trim().to_owned(), std::mem::take(&mut notes));
                open = Some(Block { page: page.to_owned(), line: number, kind, notes, text: String::new() });
            }
            (None, None) => {
                let comment = line.strip_prefix("<!-- ").and_then(|rest| rest.strip_suffix(" -->"));
                match comment {
                    Some(comment) => {
                        let (name, rest) = comment.split_once(": ").unwrap_or((comment, ""));
                        notes.push((name.to_owned(), rest.to_owned()));
                    }
                    None => notes.clear(),
                }
            }
        }
    }
    assert!(open.is_none(), "{page}: a block is not closed");
    blocks
}

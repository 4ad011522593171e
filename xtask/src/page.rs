//! Pages with code for files: a comment before a block of code names the file and, for lines, the line that they go
//! before.
//!
//! ```text
//! <!-- file: crates/x/src/new.rs -->
//! <!-- lines: crates/x/src/lib.rs, before: pub mod old; -->
//! ```

/// The place that means the last line of a file.
pub const LAST: &str = "the last line";

/// A block of code that belongs to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The file, from the root of the workspace.
    pub path: String,
    /// The line of that file before which the block goes; `None` if the block is the whole file.
    pub place: Option<String>,
    pub text: String,
}

/// The blocks of a page that belong to files, in order.
///
/// # Errors
/// If no block of code follows a comment.
pub fn read(page: &str) -> Result<Vec<Block>, String> {
    let mut blocks = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let comment = line.strip_prefix("<!-- ").and_then(|rest| rest.strip_suffix(" -->"));
        let (path, place) = match comment.and_then(|comment| comment.split_once(": ")) {
            Some(("file", path)) => (path, None),
            Some(("lines", rest)) => match rest.split_once(", before: ") {
                Some((path, place)) => (path, Some(place.to_owned())),
                None => return Err(format!("{line}: lines go before a line")),
            },
            _ => continue,
        };
        if !lines.next().is_some_and(|line| line.starts_with("```rust")) {
            return Err(format!("{line}: no block of Rust follows"));
        }
        let code: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        blocks.push(Block { path: path.to_owned(), place, text: code.join("\n") + "\n" });
    }
    Ok(blocks)
}

/// The text of a file after a block is added; `text` is its text before, `None` if it does not exist.
///
/// # Errors
/// If a new file exists, or the place is not found exactly once.
pub fn apply(block: &Block, text: Option<&str>) -> Result<String, String> {
    let path = &block.path;
    let (place, text) = match (&block.place, text) {
        (None, None) => return Ok(block.text.clone()),
        (None, Some(_)) => return Err(format!("{path}: is there already")),
        (Some(_), None) => return Err(format!("{path}: is not there")),
        (Some(place), Some(text)) => (place, text),
    };
    let lines: Vec<&str> = text.lines().collect();
    let is_place = |at: &usize| {
        if place == LAST { at + 1 == lines.len() } else { lines[*at].trim() == place }
    };
    let places: Vec<usize> = (0..lines.len()).filter(is_place).collect();
    let [at] = places[..] else {
        return Err(format!("{path}: \"{place}\" is there {} times", places.len()));
    };
    let whole = |lines: &[&str]| lines.iter().flat_map(|line| [line, "\n"]).collect::<String>();
    Ok(whole(&lines[..at]) + &block.text + &whole(&lines[at..]))
}

//! Figures of measurements that no recorded run repeats: rehearsals, kernels, other simulators, long runs and tests.
//! `docs/recorded/pages/PAGE.toml` has one entry for each paragraph, list item or table with such figures.
//!
//! | key of `[[measured]]` | meaning |
//! |---|---|
//! | `what` | the first words of the paragraph |
//! | `numbers` | all numbers of the paragraph, in order, but for figures of recorded runs |
//! | `command` | what measured them, where one command did |
//! | `commit`, `date` | the commit that handed these figures in, and its date |
//! | `source` | instead of a commit: the publication and its section, or the test that holds the figures |
//! | `records` | experiments that the paragraph is about, each as `ID CLAIMS`: the digest of its record's claims |
//!
//! The file's `given` are the other numbers of the page: settings, counts and citations.

use super::{record::FOLDER, untraced::Number};
use sha2::{Digest as _, Sha256};
use std::{fmt::Write as _, path::Path};
use toml::{Table, Value};

/// The file of a page.
pub fn file(page: &str) -> String {
    let name = page.trim_start_matches("docs/").trim_end_matches(".md").replace('/', "-");
    format!("{FOLDER}/pages/{name}.toml")
}

struct Entry {
    what: String,
    origin: String,
    numbers: Vec<String>,
    records: Vec<String>,
}

/// The experiment with the digest of the claims in its record; without one, the experiment alone.
fn of_record(root: &Path, id: &str) -> String {
    let text = std::fs::read_to_string(root.join(crate::records::RECORDS).join(format!("{id}.json")));
    let claims = text.as_deref().ok().and_then(|text| text.split_once("\"claims\""));
    claims.map_or_else(|| id.to_owned(), |(_, claims)| format!("{id} {:.8}", hex(claims)))
}

fn hex(text: &str) -> String {
    format!("{:x}", Sha256::digest(text))
}

/// What the file of a page says.
#[derive(Default)]
pub struct Measured {
    given: Vec<String>,
    entries: Vec<Entry>,
}

impl Measured {
    /// Reads the file of a page; without one, no number of the page is known.
    pub fn read(root: &Path, page: &str) -> Result<Self, String> {
        let path = root.join(file(page));
        if !path.exists() {
            return Ok(Self::default());
        }
        let text = std::fs::read_to_string(&path).map_err(|why| format!("{}: {why}", file(page)))?;
        Self::of(&text).map_err(|why| format!("{}: {why}", file(page)))
    }

    fn of(text: &str) -> Result<Self, String> {
        let table: Table = text.parse().map_err(|why| format!("{why}"))?;
        let list = |key: &str| table.get(key).and_then(Value::as_array).into_iter().flatten();
        let given = list("given").filter_map(Value::as_str).map(str::to_owned).collect();
        let entry = |of: &Value| {
            let word = |key: &str| of.get(key).and_then(Value::as_str).filter(|word| !word.is_empty());
            let what = word("what").ok_or("an entry lacks what")?.to_owned();
            let numbers = word("numbers").ok_or_else(|| format!("{what:?} lacks numbers"))?;
            let origin = match (word("commit").zip(word("date")), word("source")) {
                (Some((commit, date)), None) => format!("commit {commit}, {date}"),
                (None, Some(source)) => source.to_owned(),
                _ => return Err(format!("{what:?} needs commit and date, or source")),
            };
            let numbers = numbers.split(' ').map(str::to_owned).collect();
            let records = of.get("records").and_then(Value::as_array).into_iter().flatten();
            let records = records.filter_map(Value::as_str).map(str::to_owned).collect();
            Ok(Entry { what, origin, numbers, records })
        };
        Ok(Self { given, entries: list("measured").map(entry).collect::<Result<_, String>>()? })
    }

    /// Paragraphs about experiments whose record has other claims than when the paragraph was written.
    pub fn moved(&self, root: &Path, page: &str) -> Vec<(usize, String)> {
        let mut moved = Vec::new();
        for (entry, record) in self.entries.iter().flat_map(|it| it.records.iter().map(move |record| (it, record))) {
            let now = of_record(root, record.split(' ').next().unwrap_or_default());
            if now != *record {
                let (what, file) = (&entry.what, file(page));
                let then = "correct what it says, then put this name into";
                moved.push((0, format!("the record {now} has moved since {what:?} was written: {then} {file}")));
            }
        }
        moved
    }

    /// What is wrong with the numbers of a page, by line.
    pub fn wrong(&self, page: &str, numbers: &[Number]) -> Vec<(usize, String)> {
        let blocks: Vec<&[Number]> = numbers.chunk_by(|one, other| one.block == other.block).collect();
        let mut is_known = vec![false; blocks.len()];
        let (mut wrong, mut missing) = (Vec::new(), Vec::new());
        for entry in &self.entries {
            let is_of = |block: &&[Number]| block.iter().map(|number| &number.digits).eq(&entry.numbers);
            match (0..blocks.len()).find(|at| !is_known[*at] && is_of(&blocks[*at])) {
                Some(at) => is_known[at] = true,
                None => missing.push(entry),
            }
        }
        for entry in missing {
            let alike = |at: &usize| entry.alike(blocks[*at]);
            let nearest = (0..blocks.len()).filter(|at| !is_known[*at] && alike(at) > 0).max_by_key(alike);
            let Some(at) = nearest else {
                wrong.push((0, format!("{} has the figures of {:?}, which are not here", file(page), entry.what)));
                continue;
            };
            is_known[at] = true;
            let (line, what) = entry.difference(blocks[at]);
            wrong.push((line, format!("{what} ({}, {:?} of {})", entry.origin, entry.what, file(page))));
        }
        let unknown = blocks.iter().zip(is_known).filter(|(_, is_known)| !is_known).flat_map(|(block, _)| *block);
        wrong.extend(unknown.filter(|number| !self.given.contains(&number.token)).map(|number| {
            let what = "is of no record, of no measurement and not given: `xtask figures-of PAGE` prints an entry for";
            (number.line, format!("{} {what} {}", number.token, file(page)))
        }));
        wrong
    }

    /// An entry for each paragraph that has numbers of which nothing is known.
    pub fn entries_for(&self, numbers: &[Number]) -> String {
        let mut text = String::new();
        for block in numbers.chunk_by(|one, other| one.block == other.block) {
            let is_of = |entry: &Entry| block.iter().map(|number| &number.digits).eq(&entry.numbers);
            if self.entries.iter().any(is_of) || block.iter().all(|number| self.given.contains(&number.token)) {
                continue;
            }
            let digits: Vec<&str> = block.iter().map(|number| number.digits.as_str()).collect();
            let tokens: Vec<&str> = block.iter().map(|number| number.token.as_str()).collect();
            let _ = writeln!(
                text,
                "[[measured]]\nwhat = {:?}\ncommit = \"\"\ndate = \"\"\nnumbers = {:?}\n# or given = {tokens:?}\n",
                block[0].words,
                digits.join(" ")
            );
        }
        text
    }
}

impl Entry {
    /// How many numbers of the paragraph are at the place of this entry, from the front or from the back.
    fn alike(&self, block: &[Number]) -> usize {
        let same = |(number, own): &(&Number, &String)| number.digits == **own;
        let front = block.iter().zip(&self.numbers).filter(same).count();
        front.max(block.iter().rev().zip(self.numbers.iter().rev()).filter(same).count())
    }

    /// The first difference of a paragraph, and its line.
    fn difference(&self, block: &[Number]) -> (usize, String) {
        let same = block.iter().zip(&self.numbers).take_while(|(number, own)| number.digits == **own).count();
        match (block.get(same), self.numbers.get(same)) {
            (Some(number), Some(own)) => (number.line, format!("{} was measured as {own}", number.token)),
            (Some(number), None) => (number.line, format!("{} was not measured", number.token)),
            (None, own) => {
                let own = own.map_or("", String::as_str);
                (block.last().map_or(0, |number| number.line), format!("the measured {own} is missing"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::untraced::numbers;

    const PAGE: &str = "Ten of 20 hosts.\n\nIt takes 10.9 ms, or 51\nms with 3 flows.\n\n\
                        - 878 s\n- 4 s\n";
    const FILE: &str = "given = ['20 hosts', '4 s']\n[[measured]]\nwhat = 'It takes'\ncommit = 'abc'\n\
                        date = '2026-11-25'\nnumbers = '10.9 51 3'\n\
                        [[measured]]\nwhat = '- 878 s'\nsource = 'RFC 1, 2'\nnumbers = '878'\n";

    fn wrong(page: &str, file: &str) -> Vec<(usize, String)> {
        Measured::of(file).unwrap().wrong("docs/a.md", &numbers(page, &[]))
    }

    #[test]
    fn a_page_with_the_measured_figures_is_right_whatever_its_words() {
        assert_eq!(wrong(PAGE, FILE), []);
        assert_eq!(wrong(&PAGE.replace("It takes", "The time is"), FILE), []);
    }

    #[test]
    fn a_wrong_digit_is_found_with_its_line_and_its_origin() {
        for (from, to, line, expected) in [
            ("10.9", "10.8", 3, "10.8 ms was measured as 10.9 (commit abc, 2026-11-25, \"It takes\""),
            ("or 51", "or 57", 3, "57 ms was measured as 51"),
            ("878", "879", 0, "has the figures of \"- 878 s\", which are not here"),
            (" with 3 flows", "", 3, "the measured 3 is missing"),
            ("10.9 ms, or 51\nms with 3 flows", "nothing", 0, "are not here"),
            ("20 hosts", "21 hosts", 1, "21 hosts is of no record"),
        ] {
            let found = wrong(&PAGE.replace(from, to), FILE);
            assert!(!found.is_empty(), "{from}");
            assert!(found[0].0 == line && found[0].1.contains(expected), "{found:?}");
        }
    }

    #[test]
    fn a_paragraph_about_an_experiment_whose_record_has_moved_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let records = folder.path().join(crate::records::RECORDS);
        std::fs::create_dir_all(&records).unwrap();
        let moved = |claims: &str, revision: &str| {
            let text = format!("{{\n\"revision\": \"{revision}\",\n\"claims\": [{claims}]\n}}\n");
            std::fs::write(records.join("x-a.json"), text).unwrap();
            let file = FILE.replacen("numbers", "records = ['x-a 2c3a9b58']\nnumbers", 1);
            Measured::of(&file).unwrap().moved(folder.path(), "docs/a.md")
        };
        assert_eq!(moved("1", "abc"), moved("1", "abd"), "the same claims of another revision");
        assert_ne!(moved("1", "abc"), moved("2", "abc"), "other claims");
    }

    #[test]
    fn an_entry_without_an_origin_is_refused() {
        let refused = Measured::of("[[measured]]\nwhat = 'a'\nnumbers = '1'\n").err().unwrap();
        assert!(refused.contains("needs commit and date, or source"), "{refused}");
    }

    #[test]
    fn an_entry_is_printed_for_a_paragraph_of_which_nothing_is_known() {
        let known = Measured::of(FILE).unwrap();
        let text = known.entries_for(&numbers(&format!("{PAGE}\nNow 7.5 ms.\n"), &[]));
        assert!(text.contains("what = \"Now 7.5 ms.\"") && text.matches("[[measured]]").count() == 1, "{text}");
    }
}

//! Numbers on a page that come from no record. Code, links, comments, generated tables and headings do not count, nor
//! do numbers that name something, such as `RFC 9438` and `Figure 10a`.

use super::number;
use super::pages::{BEGIN, END};
use std::ops::Range;

/// Replaces each byte of a range by a space, and keeps line breaks.
fn blank(text: &mut [u8], range: Range<usize>) {
    text[range].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
}

/// Blanks everything from one mark to the next other mark.
fn blank_between(text: &mut [u8], page: &str, open: &str, close: &str) {
    let mut from = 0;
    while let Some(start) = page[from..].find(open).map(|at| from + at) {
        let inner = start + open.len();
        let Some(end) = page[inner..].find(close).map(|at| inner + at + close.len()) else {
            return;
        };
        blank(text, start..end);
        from = end;
    }
}

/// A number of a page.
#[derive(Clone, Debug, PartialEq)]
pub struct Number {
    pub line: usize,
    /// The paragraph, list item or table in which it stands; the first words of it.
    pub block: usize,
    pub words: String,
    pub digits: String,
    /// The number with the word after it, such as `20 KB`.
    pub token: String,
}

/// Words before a number that names a place or a version, such as `RFC 9438` and `Figure 10a`.
const REFERENCES: &str = "RFC RFCs Figure Figures Fig. Table Tables section Section sections chapter Algorithm Eq. \
                          Theorem Linux Python Rust iproute2 clang version release SIGCOMM NSDI seed";

/// Whether the text before a number makes it a name.
fn is_reference(before: &str) -> bool {
    let before = before.trim_end();
    let begin = before.len() - before.chars().rev().take(16).map(char::len_utf8).sum::<usize>();
    let word = before[begin..].rsplit([' ', '\n', '(', '[', '*']).next().unwrap_or_default();
    !word.is_empty() && REFERENCES.split(' ').any(|reference| reference == word)
}

/// Numbers of a page. `traced` are the places of figures that come from records.
pub fn numbers(page: &str, traced: &[Range<usize>]) -> Vec<Number> {
    let text = without_code(page, traced);
    let (mut found, mut block, mut words, mut start) = (Vec::new(), 0, String::new(), 0);
    let mut is_open = false;
    for (line, of) in text.split_inclusive('\n').enumerate() {
        let shown = of.trim();
        let item = shown.split_once(' ').map_or("", |(mark, _)| mark);
        let is_item = item == "-" || item.strip_suffix('.').is_some_and(|it| it.parse::<u8>().is_ok());
        if shown.is_empty() {
            is_open = false;
        } else if !is_open || is_item {
            (block, is_open) = (block + 1, true);
            words = page[start..].split_whitespace().take(8).collect::<Vec<_>>().join(" ");
        }
        let mut at = if is_item && item != "-" { of.find(". ").unwrap_or_default() + 1 } else { 0 };
        while let Some(place) = of[at..].find(|letter: char| letter.is_ascii_digit()).map(|it| at + it) {
            let digits = number::length(&of[place..]);
            let before = of[..place].chars().next_back();
            at = place + digits;
            let is_own = before.is_none_or(|letter| !letter.is_alphanumeric() && letter != '.' && letter != '_');
            if is_own && !is_reference(&text[..start + place]) {
                let token = token(&text[start + place..], digits);
                let (words, digits) = (words.clone(), of[place..at].to_owned());
                found.push(Number { line: line + 1, block, words, digits, token });
            }
        }
        start += of.len();
    }
    found
}

/// The page with spaces for everything whose numbers do not count.
fn without_code(page: &str, traced: &[Range<usize>]) -> String {
    let mut bytes = page.as_bytes().to_vec();
    for (open, close) in
        [(BEGIN, END), ("<!-- generated", "<!-- end of generated"), ("```", "```"), ("<!--", "-->"), ("](", ")")]
    {
        blank_between(&mut bytes, page, open, close);
    }
    let mut start = 0;
    for line in page.split_inclusive('\n') {
        if line.starts_with('#') {
            blank(&mut bytes, start..start + line.len());
        }
        start += line.len();
    }
    let blanked = String::from_utf8_lossy(&bytes).into_owned();
    blank_between(&mut bytes, &blanked, "`", "`");
    for place in traced {
        blank(&mut bytes, place.clone());
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A number with the word after it.
fn token(text: &str, length: usize) -> String {
    let (number, rest) = text.split_at(length);
    let word = |text: &str| -> String {
        let letter = |it: &char| it.is_alphabetic() || "%/-*°".contains(*it);
        text.chars().take_while(letter).collect()
    };
    let attached = word(rest);
    if !attached.is_empty() {
        return format!("{number}{attached}");
    }
    let next = rest.split_whitespace().next().map(word).unwrap_or_default();
    let joined = rest.starts_with([' ', '\n']) && !next.is_empty();
    if joined { format!("{number} {next}") } else { number.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_outside_code_links_and_generated_tables_are_found() {
        let page = "# Title 1\n\nIt carries 415\nMb/s of `2 Gb/s` ([page](a.md#3)), or 5 %.\n\n<!-- recorded: wan -->\n\
                    | 6 |\n<!-- end of recorded -->\n\n```sh\nrun 7\n```\n\nx8 and 1,234.5, twice.\n";
        let place = page.find("5 %").unwrap();
        let traced = place..place + 1;
        let found = numbers(page, std::slice::from_ref(&traced));
        let found: Vec<_> = found.iter().map(|it| (it.line, it.block, it.token.as_str())).collect();
        assert_eq!(found, [(3, 1, "415 Mb/s"), (14, 2, "1,234.5")]);
    }

    #[test]
    fn list_items_and_tables_are_blocks_and_names_are_no_numbers() {
        let page = "By RFC 9438 and Figure\n10 a (section 3.2) it takes 4 s.\n1. Then 5 s\n2. or 6 s,\n   7 s.\n\n\
                    | a | 8 |\n| b | 9 |\n";
        let found = numbers(page, &[]);
        let found: Vec<_> = found.iter().map(|it| (it.block, it.digits.as_str())).collect();
        assert_eq!(found, [(1, "4"), (2, "5"), (3, "6"), (3, "7"), (4, "8"), (4, "9")]);
    }
}

//! Numbers on a page that come from no record. Code, links, comments, generated tables and headings do not count.

use std::ops::Range;

use super::number;
use super::pages::{BEGIN, END};

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

/// Numbers, each with the word after it, such as `20 KB`, and the lines on which they stand. `traced` are the places of
/// figures that come from records.
pub fn numbers(page: &str, traced: &[Range<usize>]) -> Vec<(usize, String)> {
    let mut bytes = page.as_bytes().to_vec();
    for (open, close) in
        [(BEGIN, END), ("<!-- generated", "<!-- end of generated -->"), ("```", "```"), ("<!--", "-->"), ("](", ")")]
    {
        blank_between(&mut bytes, page, open, close);
    }
    let mut start = 0;
    for line in page.split_inclusive('\n') {
        if line.starts_with('#') || line.starts_with("    ") {
            blank(&mut bytes, start..start + line.len());
        }
        start += line.len();
    }
    let blanked = String::from_utf8_lossy(&bytes).into_owned();
    blank_between(&mut bytes, &blanked, "`", "`");
    for place in traced {
        blank(&mut bytes, place.clone());
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(place) = text[at..].find(|letter: char| letter.is_ascii_digit()).map(|it| at + it) {
        let length = number::length(&text[place..]);
        let before = text[..place].chars().next_back();
        at = place + length;
        if before.is_none_or(|letter| !letter.is_alphanumeric() && letter != '.' && letter != '_') {
            let line = text[..place].matches('\n').count() + 1;
            found.push((line, token(&text[place..], length)));
        }
    }
    found
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
        assert_eq!(found, [(3, "415 Mb/s".to_owned()), (14, "1,234.5".to_owned())]);
    }
}

//! The figures of one page: those in sentences, and tables between `<!-- recorded: NAME -->` and their end.

use super::{number, record::Records};
use std::{fmt::Write as _, ops::Range};
use toml::{Table, Value};

pub const BEGIN: &str = "<!-- recorded: ";
pub const END: &str = "<!-- end of recorded -->";

struct Sentence<'a> {
    /// The words around the figure, which stands at `{}`.
    text: &'a str,
    record: &'a str,
    /// Scheme, point and metric.
    key: [&'a str; 3],
    scale: f64,
    decimals: usize,
    /// `mean`, `min` or `max` over the seeds.
    of: &'a str,
}

impl<'a> Sentence<'a> {
    /// Reads `[text, record, scheme, point, metric, scale, decimals]`, to which `"min"` or `"max"` may be added.
    fn new(row: &'a Value) -> Result<Self, String> {
        let row = row.as_array().ok_or("a figure is a list")?;
        let wrong = || format!("not [text, record, scheme, point, metric, scale, decimals]: {row:?}");
        let text = |at: usize| row.get(at).and_then(Value::as_str).ok_or_else(wrong);
        Ok(Self {
            text: text(0)?,
            record: text(1)?,
            key: [text(2)?, text(3)?, text(4)?],
            scale: row.get(5).and_then(float).ok_or_else(wrong)?,
            decimals: row.get(6).and_then(Value::as_integer).ok_or_else(wrong)? as usize,
            of: text(7).unwrap_or("mean"),
        })
    }

    fn figure(&self, records: &Records) -> Result<String, String> {
        let figure = records.find(self.record, self.key)?;
        let value = match self.of {
            "mean" => figure.mean,
            "min" => figure.min,
            "max" => figure.max,
            other => return Err(format!("a figure is mean, min or max, not {other}")),
        };
        Ok(number::decimals(value / self.scale, self.decimals))
    }
}

fn float(value: &Value) -> Option<f64> {
    value.as_float().or_else(|| value.as_integer().map(|it| it as f64))
}

/// A text whose lines are joined, with the place of each byte in the original.
fn joined(page: &str) -> (String, Vec<usize>) {
    let (mut text, mut places) = (String::new(), Vec::new());
    for (at, letter) in page.char_indices() {
        if letter.is_whitespace() {
            if text.ends_with(' ') {
                continue;
            }
            text.push(' ');
            places.push(at);
        } else {
            text.push(letter);
            places.extend(at..at + letter.len_utf8());
        }
    }
    (text, places)
}

/// The place of the number that stands at `{}` in a text of the page.
fn place(page: &str, text: &str) -> Result<Range<usize>, String> {
    let (before, after) = text.split_once("{}").ok_or_else(|| format!("{text:?} has no {{}}"))?;
    if before.is_empty() {
        return Err(format!("{text:?} has no words before the figure"));
    }
    let (joined, places) = joined(page);
    let mut found = joined.match_indices(before).filter_map(|(at, _)| {
        let start = at + before.len();
        let end = start + number::length(&joined[start..]);
        (end > start && joined[end..].starts_with(after)).then(|| places[start]..places[end - 1] + 1)
    });
    match (found.next(), found.next()) {
        (Some(place), None) => Ok(place),
        (None, _) => Err(format!("{text:?} is not on the page")),
        _ => Err(format!("{text:?} is on the page twice")),
    }
}

fn list<'a>(table: &'a Table, key: &str) -> Result<&'a Vec<Value>, String> {
    table.get(key).and_then(Value::as_array).ok_or_else(|| format!("lacks the list {key}"))
}

/// A table of figures: a row `[label, scheme, point]`, a column `[heading, point, metric, scale, style, digits]`. The
/// point of a row counts, unless it is empty.
fn table(of: &Table, records: &Records) -> Result<String, String> {
    let text = |key: &str| of.get(key).and_then(Value::as_str).ok_or_else(|| format!("lacks {key}"));
    let (record, columns) = (text("record")?, list(of, "columns")?);
    let mut lines = format!("| {} |", text("head")?);
    let mut rule = "|".to_owned() + &"---|".repeat(text("head")?.split('|').count());
    for column in columns {
        let _ = write!(lines, " {} |", column[0].as_str().unwrap_or_default());
        rule += "---|";
    }
    let _ = writeln!(lines, "\n{rule}");
    for row in list(of, "rows")? {
        let word = |value: &'static str, at: usize| row.get(at).and_then(Value::as_str).unwrap_or(value);
        let (label, scheme, own) = (word("", 0), word("", 1), word("", 2));
        let _ = write!(lines, "| {label} |");
        for column in columns {
            let word = |at: usize| column.get(at).and_then(Value::as_str).unwrap_or_default();
            let point = if own.is_empty() { word(1) } else { own };
            let figure = records.find(record, [scheme, point, word(2)])?;
            let scale = column.get(3).and_then(float).ok_or("a column lacks its scale")?;
            let digits = column.get(5).and_then(Value::as_integer).ok_or("a column lacks its digits")?;
            let _ = write!(lines, " {} |", number::cell(word(4), figure, scale, digits as usize)?);
        }
        lines.push('\n');
    }
    Ok(lines)
}

/// The page with the figures of its records, and what is wrong with it.
pub struct Checked {
    pub written: String,
    pub wrong: Vec<String>,
    /// Where figures in sentences stand in `written`.
    pub traced: Vec<Range<usize>>,
}

/// Compares a page with the records. `figures` are its figures in sentences; `tables` are those of all pages.
pub fn check(page: &str, figures: &[Value], tables: &Table, records: &Records) -> Checked {
    let (mut written, mut wrong) = with_tables(page, tables, records);
    let mut texts = Vec::new();
    for row in figures {
        let result = Sentence::new(row).and_then(|sentence| {
            let figure = sentence.figure(records)?;
            let place = place(&written, sentence.text)?;
            if written[place.clone()] != figure {
                let (found, text) = (&written[place.clone()], sentence.text);
                wrong.push(format!("{text:?} has {found}, and the record says {figure}"));
                written.replace_range(place, &figure);
            }
            texts.push(sentence.text);
            Ok(())
        });
        wrong.extend(result.err());
    }
    let traced = texts.iter().filter_map(|text| place(&written, text).ok()).collect();
    Checked { written, wrong, traced }
}

/// The page with the tables of the records, and which of them differ.
fn with_tables(page: &str, tables: &Table, records: &Records) -> (String, Vec<String>) {
    let mut parts = page.split(BEGIN);
    let mut text = parts.next().unwrap_or_default().to_owned();
    let mut wrong = Vec::new();
    for part in parts {
        let Some(((name, rest), end)) = part.split_once(" -->").zip(part.find(END)) else {
            wrong.push(format!("a table of records has no {END}"));
            text.extend([BEGIN, part]);
            continue;
        };
        let old = &part[name.len() + 4..end];
        let of = tables.get(name).and_then(Value::as_table);
        match of.ok_or_else(|| "is not described".to_owned()).and_then(|of| table(of, records)) {
            Ok(new) => {
                let new = format!("\n\n{new}\n");
                let differ = old.lines().zip(new.lines()).find(|(old, new)| old != new);
                if old != new {
                    let (old, new) = differ.unwrap_or(("another number of rows", ""));
                    wrong.push(format!("table {name} has {old}, and the record says {new}"));
                }
                text.extend([BEGIN, name, " -->", &new, &part[end..]]);
            }
            Err(why) => {
                wrong.push(format!("table {name}: {why}"));
                text.extend([BEGIN, name, " -->", rest]);
            }
        }
    }
    (text, wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const PAGE: &str = "CUBIC carries 415\nMb/s.\n\n<!-- recorded: wan -->\n\n| transport | goodput |\n|---|---|\n\
                        | `cubic` | 415 |\n\n<!-- end of recorded -->\nEnd.\n";

    fn records() -> Records {
        let row = json!({"scheme": "cubic", "point": "", "metric": "goodput_bps", "mean": 4.154e8, "ci95": null,
                         "min": 4.1e8, "max": 4.2e8});
        Records::of("compare", json!({ "figures": [row] }))
    }

    fn checked(page: &str, text: &str) -> Checked {
        let figures = format!("f = [[{text:?}, 'compare', 'cubic', '', 'goodput_bps', 1e6, 0]]");
        let figures: Table = figures.parse().unwrap();
        let tables: Table = "[wan]\nrecord = 'compare'\nhead = 'transport'\nrows = [['`cubic`', 'cubic', '']]\n\
                             columns = [['goodput', '', 'goodput_bps', 1e6, 'mean', 3]]"
            .parse()
            .unwrap();
        check(page, figures["f"].as_array().unwrap(), &tables, &records())
    }

    #[test]
    fn a_page_whose_figures_are_those_of_the_record_is_right() {
        let checked = checked(PAGE, "CUBIC carries {} Mb/s");
        assert_eq!((checked.wrong, checked.written.as_str()), (Vec::new(), PAGE));
        assert_eq!(&PAGE[checked.traced[0].clone()], "415");
    }

    #[test]
    fn a_wrong_digit_is_found_and_mended_in_a_sentence_and_in_a_table() {
        for planted in [("carries 415", "carries 475"), ("| 415 |", "| 475 |")] {
            let page = PAGE.replacen(planted.0, planted.1, 1);
            let checked = checked(&page, "CUBIC carries {} Mb/s");
            assert_eq!(checked.wrong.len(), 1, "{planted:?}");
            assert!(checked.wrong[0].contains("475"), "{}", checked.wrong[0]);
            assert_eq!(checked.written, PAGE);
        }
    }

    #[test]
    fn a_sentence_that_is_missing_or_not_unique_is_wrong() {
        for (page, text, expected) in [
            (PAGE.to_owned(), "BBR carries {} Mb/s", "is not on the page"),
            (PAGE.replace("End", "CUBIC carries 1 Mb/s"), "CUBIC carries {} Mb/s", "twice"),
            (PAGE.to_owned(), "CUBIC carries 415", "has no {}"),
            (PAGE.replace(END, ""), "CUBIC carries {} Mb/s", "has no <!--"),
            (PAGE.replace("recorded: wan", "recorded: dc"), "CUBIC carries {} Mb/s", "not described"),
        ] {
            let wrong = checked(&page, text).wrong.join("\n");
            assert!(wrong.contains(expected), "{wrong}");
        }
    }
}

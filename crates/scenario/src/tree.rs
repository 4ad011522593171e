//! Parses TOML to a tree in which each value has its place in the text. Changes of single keys are made to the tree
//! before sections are read from it.

use shallop_options::{At, Entry, Item, Problem, RawValue, Table};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Converts a value to JSON, for `summary.json`.
pub(super) fn json(item: &Item) -> serde_json::Value {
    match &item.value {
        RawValue::Text(text) | RawValue::Other(text) => text.as_str().into(),
        RawValue::Integer(number) => (*number).into(),
        RawValue::Float(number) => (*number).into(),
        RawValue::Boolean(truth) => (*truth).into(),
        RawValue::List(items) => items.iter().map(json).collect(),
        RawValue::Table(table) => table.iter().map(|(key, entry)| (key.clone(), json(&entry.item))).collect(),
    }
}

/// The message and the help for a text that is not TOML. `before` is the line up to the place of the parser's error,
/// `behind` the text after it.
fn not_toml(message: &str, before: &str, behind: &str) -> (String, String) {
    if let Some((whole, decimals)) = decimal_comma(before, behind) {
        let message = format!("a number with a comma: {whole},{decimals}");
        return (message, format!("write {whole}.{decimals}, with a decimal point"));
    }
    let no_value =
        before.trim_end().ends_with('=') && behind.trim_start_matches([' ', '\t']).starts_with(['\n', '\r', '#']);
    if no_value || (behind.is_empty() && before.trim_end().ends_with('=')) {
        return ("a key without a value".to_owned(), "write a value behind the `=`".to_owned());
    }
    if behind.starts_with(['\u{201c}', '\u{201d}', '\u{2018}', '\u{2019}', '\u{ab}', '\u{201e}']) {
        return ("typographic quotes".to_owned(), "write straight quotes: \"...\"".to_owned());
    }
    (message.to_owned(), remedy(message).to_owned())
}

/// The two parts of a number with a decimal comma at the place of an error.
fn decimal_comma<'a>(before: &'a str, behind: &'a str) -> Option<(&'a str, String)> {
    fn ending(text: &str) -> &str {
        &text[text.trim_end_matches(|c: char| c.is_ascii_digit()).len()..]
    }
    let leading = |text: &str| text.chars().take_while(char::is_ascii_digit).collect::<String>();
    let before = before.trim_end();
    let here = ending(before);
    let (whole, decimals) = match (before[..before.len() - here.len()].strip_suffix(','), behind) {
        (Some(number), _) => (ending(number), format!("{here}{}", leading(behind))),
        (None, behind) => (here, leading(behind.strip_prefix(',')?)),
    };
    (!whole.is_empty() && !decimals.is_empty() && !before.contains('[')).then_some((whole, decimals))
}

fn remedy(message: &str) -> &'static str {
    if message.contains("duplicate key") {
        "write each key and each [section] once"
    } else if message.contains("recurse") {
        "write fewer brackets inside each other"
    } else {
        "a line is `key = value`, with texts in straight quotes, or the head of a [section]"
    }
}

/// Parses the text of a scenario.
///
/// # Errors
/// If it is empty, or not TOML.
pub(super) fn parse(text: &str) -> Result<Item, Problem> {
    let root = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start.min(text.len()));
        let (before, behind) = text.split_at_checked(at).unwrap_or(("", ""));
        let line = before.rfind('\n').map_or(0, |end| end + 1);
        let (message, help) = not_toml(error.message(), &before[line..], behind);
        let at = At { span: error.span().map(|span| within(text, span)), via: None };
        at.problem(format!("this is not TOML: {message}")).with_help(help)
    })?;
    if root.get_ref().is_empty() {
        let problem = At::default().problem("the scenario is empty").with_label("");
        return Err(problem.with_help("`shallop new` prints one to start from"));
    }
    let at = At { span: Some(0..0), via: None };
    Ok(Item { value: RawValue::Table(table(root.get_ref(), text)), at })
}

/// Replaces line breaks by `\n`, so that an error shows a typed text on one line.
pub(super) fn on_a_line(typed: &str) -> String {
    typed.replace('\n', "\\n")
}

pub(super) fn is_value(text: &str) -> bool {
    DeValue::parse(text).is_ok()
}

/// Parses the value in `KEY=VALUE` of a command line: TOML, or a text without quotes.
pub(super) fn parse_value(text: &str, place: &At) -> Item {
    let value = match DeValue::parse(text) {
        Ok(value) => self::value(value.get_ref(), text),
        Err(_) => RawValue::Text(text.to_owned()),
    };
    let mut item = Item { value, at: place.clone() };
    moved(&mut item, place);
    item
}

/// Sets the place of an item, and of all items inside it.
fn moved(item: &mut Item, to: &At) {
    item.at = to.clone();
    match &mut item.value {
        RawValue::List(items) => items.iter_mut().for_each(|item| moved(item, to)),
        RawValue::Table(table) => {
            for entry in table.values_mut() {
                entry.key = to.clone();
                moved(&mut entry.item, to);
            }
        }
        _ => {}
    }
}

/// Limits a span to the text and to whole characters. An empty span is extended by the character before it or, at the
/// start of a line, after it, so that an error can underline something.
fn within(text: &str, span: Range<usize>) -> Range<usize> {
    let floor = |at: usize| (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at));
    let mut start = floor(span.start).unwrap_or(0);
    let mut end = floor(span.end).unwrap_or(0).max(start);
    if start == end {
        match (text[..start].chars().next_back(), text[end..].chars().next()) {
            (Some(before), _) if before != '\n' => start -= before.len_utf8(),
            (_, Some(behind)) => end += behind.len_utf8(),
            (Some(before), None) => start -= before.len_utf8(),
            (None, None) => {}
        }
    }
    start..end
}

fn table(table: &DeTable<'_>, text: &str) -> Table {
    let entry = |(key, item): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
        let key: &Spanned<std::borrow::Cow<'_, str>> = key;
        let at = At { span: Some(within(text, key.span())), via: None };
        (key.get_ref().to_string(), Entry { key: at, item: self::item(item, text) })
    };
    table.iter().map(entry).collect()
}

fn item(item: &Spanned<DeValue<'_>>, text: &str) -> Item {
    let at = At { span: Some(within(text, item.span())), via: None };
    Item { value: value(item.get_ref(), text), at }
}

fn value(value: &DeValue<'_>, text: &str) -> RawValue {
    match value {
        DeValue::String(text) => RawValue::Text(text.to_string()),
        DeValue::Integer(number) => {
            let parsed = i64::from_str_radix(number.as_str(), number.radix());
            parsed.map_or_else(|_| RawValue::Other(number.to_string()), RawValue::Integer)
        }
        DeValue::Float(number) => match number.as_str().parse::<f64>() {
            Ok(parsed) if parsed.is_finite() => RawValue::Float(parsed),
            _ => RawValue::Other(number.to_string()),
        },
        DeValue::Boolean(truth) => RawValue::Boolean(*truth),
        DeValue::Datetime(time) => RawValue::Other(format!("the date or time {time}")),
        DeValue::Array(items) => RawValue::List(items.iter().map(|item| self::item(item, text)).collect()),
        DeValue::Table(table) => RawValue::Table(self::table(table, text)),
    }
}

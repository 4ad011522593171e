//! A scenario as a tree of values that know where they were written. Sections are read from it; changes of single keys
//! (`[quick]`, points, `--set`) are made to it first.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::problem::Problem;
use super::section::Handle;

/// Where something was written.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct At {
    /// The bytes of the text.
    pub span: Option<Range<usize>>,
    /// If it is not in the text: what brought it in.
    pub via: Option<String>,
}

impl At {
    /// A problem here.
    pub fn problem(&self, message: impl Into<String>) -> Problem {
        let message = message.into();
        let message = match &self.via {
            Some(via) => format!("{via}: {message}"),
            None => message,
        };
        Problem { message, label: "here".into(), help: String::new(), span: self.span.clone() }
    }
}

/// A value, and where it was written.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Item {
    pub value: Value,
    pub at: At,
}

/// A value as TOML has them.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Text(String),
    Integer(i64),
    Float(f64),
    Truth(bool),
    /// Dates and times, and numbers out of bounds: never right, only named.
    Strange(String),
    List(Vec<Item>),
    Table(Table),
}

/// Keys with what they say.
pub(super) type Table = BTreeMap<String, Entry>;

/// What a key says, and where the key itself stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub key: At,
    pub item: Item,
}

impl Item {
    /// A problem with this value.
    pub fn problem(&self, message: impl Into<String>) -> Problem {
        self.at.problem(message)
    }

    /// The keys, if it is a table.
    pub fn table(&self) -> Option<&Table> {
        if let Value::Table(table) = &self.value { Some(table) } else { None }
    }

    /// The text, if it is one.
    pub fn text(&self) -> Option<&str> {
        if let Value::Text(text) = &self.value { Some(text) } else { None }
    }

    /// What this key says, if it is a table and has it.
    pub fn get(&self, key: &str) -> Option<&Self> {
        Some(&self.table()?.get(key)?.item)
    }

    /// What this key says, likewise.
    pub fn at_key(&self, key: impl Handle) -> Option<&Self> {
        self.get(key.key().name)
    }

    /// The items of a list; nothing if it is none.
    pub fn items(&self) -> &[Self] {
        if let Value::List(items) = &self.value { items } else { &[] }
    }

    /// The value in a few words, for messages.
    pub fn found(&self) -> String {
        match &self.value {
            Value::Text(text) => format!("\"{text}\""),
            Value::Integer(number) => number.to_string(),
            Value::Float(number) => number.to_string(),
            Value::Truth(truth) => truth.to_string(),
            Value::Strange(text) => text.clone(),
            Value::List(_) => "a list".into(),
            Value::Table(_) => "a table".into(),
        }
    }

    /// The value as it was written, for the summary.
    pub fn json(&self) -> serde_json::Value {
        match &self.value {
            Value::Text(text) | Value::Strange(text) => text.as_str().into(),
            Value::Integer(number) => (*number).into(),
            Value::Float(number) => (*number).into(),
            Value::Truth(truth) => (*truth).into(),
            Value::List(items) => items.iter().map(Self::json).collect(),
            Value::Table(table) => {
                table.iter().map(|(key, entry)| (key.clone(), entry.item.json())).collect()
            }
        }
    }
}

/// What is wrong with a text that is not TOML, and what to do about it. `before` is the part of the line before the
/// place that the parser names, `behind` the part from there on.
fn not_toml(message: &str, before: &str, behind: &str) -> (String, String) {
    if let Some((whole, decimals)) = decimal_comma(before, behind) {
        let message = format!("a number with a comma: {whole},{decimals}");
        return (message, format!("write {whole}.{decimals}, with a decimal point"));
    }
    let no_value = before.trim_end().ends_with('=')
        && behind.trim_start_matches([' ', '\t']).starts_with(['\n', '\r', '#']);
    if no_value || (behind.is_empty() && before.trim_end().ends_with('=')) {
        return ("a key without a value".to_owned(), "write a value behind the `=`".to_owned());
    }
    if behind.starts_with(['\u{201c}', '\u{201d}', '\u{2018}', '\u{2019}', '\u{ab}', '\u{201e}']) {
        return ("typographic quotes".to_owned(), "write straight quotes: \"...\"".to_owned());
    }
    (message.to_owned(), remedy(message).to_owned())
}

/// The parts of a number with a comma that stands or ends here.
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
    (!whole.is_empty() && !decimals.is_empty() && !before.contains('['))
        .then_some((whole, decimals))
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

/// Reads a text.
///
/// # Errors
/// If it is empty, or not TOML.
pub(super) fn parse(text: &str) -> Result<Item, Problem> {
    let root = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start.min(text.len()));
        let (before, behind) = text.split_at_checked(at).unwrap_or(("", ""));
        let line = before.rfind('\n').map_or(0, |end| end + 1);
        let (message, help) = not_toml(error.message(), &before[line..], behind);
        Problem {
            message: format!("this is not TOML: {message}"),
            label: "here".into(),
            help,
            span: error.span().map(|span| within(text, span)),
        }
    })?;
    if root.get_ref().is_empty() {
        return Err(Problem {
            message: "the scenario is empty".into(),
            label: String::new(),
            help: "`shallop new` prints one to start from".into(),
            span: None,
        });
    }
    let at = At { span: Some(0..0), via: None };
    Ok(Item { value: Value::Table(table(root.get_ref(), text)), at })
}

/// What was typed, with its line ends escaped.
pub(super) fn on_a_line(typed: &str) -> String {
    typed.replace('\n', "\\n")
}

/// Whether a text is a value of TOML.
pub(super) fn is_value(text: &str) -> bool {
    DeValue::parse(text).is_ok()
}

/// Reads what stands behind `KEY=` on a command line: a value as in a scenario, or a text without its quotes.
pub(super) fn parse_value(text: &str, via: &str) -> Item {
    let place = At { span: None, via: Some(via.to_owned()) };
    let value = match DeValue::parse(text) {
        Ok(value) => self::value(value.get_ref(), text),
        Err(_) => Value::Text(text.to_owned()),
    };
    let mut item = Item { value, at: place.clone() };
    moved(&mut item, &place);
    item
}

/// Everything in this item was written there.
fn moved(item: &mut Item, to: &At) {
    item.at = to.clone();
    match &mut item.value {
        Value::List(items) => items.iter_mut().for_each(|item| moved(item, to)),
        Value::Table(table) => {
            for entry in table.values_mut() {
                entry.key = to.clone();
                moved(&mut entry.item, to);
            }
        }
        _ => {}
    }
}

/// A span that lies in the text. An empty one grows by the character before it, or behind it at the start of a line:
/// something is pointed at, and on the same line.
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

fn value(value: &DeValue<'_>, text: &str) -> Value {
    match value {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(number) => {
            let parsed = i64::from_str_radix(number.as_str(), number.radix());
            parsed.map_or_else(|_| Value::Strange(number.to_string()), Value::Integer)
        }
        DeValue::Float(number) => match number.as_str().parse::<f64>() {
            Ok(parsed) if parsed.is_finite() => Value::Float(parsed),
            _ => Value::Strange(number.to_string()),
        },
        DeValue::Boolean(truth) => Value::Truth(*truth),
        DeValue::Datetime(time) => Value::Strange(format!("the date or time {time}")),
        DeValue::Array(items) => {
            Value::List(items.iter().map(|item| self::item(item, text)).collect())
        }
        DeValue::Table(table) => Value::Table(self::table(table, text)),
    }
}

//! The tree of a parsed scenario: tables, lists and values, each with its location in the text.

use crate::key::Key;
use crate::problem::{At, Problem};
use std::collections::BTreeMap;

/// A value of a scenario with its location in the text.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    pub value: RawValue,
    pub at: At,
}

/// A parsed value of TOML.
#[derive(Clone, Debug, PartialEq)]
pub enum RawValue {
    Text(String),
    Integer(i64),
    Float(f64),
    Boolean(bool),
    /// A date, a time, or a number out of range: no key takes such a value, and errors quote its text.
    Other(String),
    List(Vec<Item>),
    Table(Table),
}

/// Keys of a TOML table with their values, in alphabetical order.
pub type Table = BTreeMap<String, Entry>;

/// Value of a key, and the location of the key itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub key: At,
    pub item: Item,
}

impl Item {
    /// An error at the location of this value.
    pub fn problem(&self, reason: impl Into<String>) -> Problem {
        self.at.problem(reason)
    }

    /// The table, if the value is one.
    pub const fn table(&self) -> Option<&Table> {
        if let RawValue::Table(table) = &self.value { Some(table) } else { None }
    }

    /// The text, if the value is a string.
    pub fn text(&self) -> Option<&str> {
        if let RawValue::Text(text) = &self.value { Some(text) } else { None }
    }

    /// Value of the named key; `None` if this is not a table or does not have the key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        Some(&self.table()?.get(key)?.item)
    }

    /// Value of `key`; `None` if this is not a table or does not have the key.
    pub fn at_key(&self, key: impl Into<&'static Key>) -> Option<&Self> {
        self.get(key.into().name)
    }

    /// Items of a list; empty if the value is not a list.
    #[must_use]
    pub fn items(&self) -> &[Self] {
        if let RawValue::List(items) = &self.value { items } else { &[] }
    }

    /// Description of the value in a few words, for "found ..." in errors.
    pub fn found(&self) -> String {
        match &self.value {
            RawValue::Text(text) => format!("\"{text}\""),
            RawValue::Integer(number) => number.to_string(),
            RawValue::Float(number) => number.to_string(),
            RawValue::Boolean(truth) => truth.to_string(),
            RawValue::Other(text) => text.clone(),
            RawValue::List(_) => "a list".into(),
            RawValue::Table(_) => "a table".into(),
        }
    }
}

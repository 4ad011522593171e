//! Values as they are written in a scenario, each with its place in the text.

use std::collections::BTreeMap;

use crate::key::Key;
use crate::problem::{At, Problem};

/// A value and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    pub value: RawValue,
    pub at: At,
}

/// A value of TOML.
#[derive(Clone, Debug, PartialEq)]
pub enum RawValue {
    Text(String),
    Integer(i64),
    Float(f64),
    Boolean(bool),
    /// A date, a time, or a number out of range: no key takes it, and messages quote it.
    Other(String),
    List(Vec<Item>),
    Table(Table),
}

/// The keys of a table with their values.
pub type Table = BTreeMap<String, Entry>;

/// The value of a key, and the place of the key itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub key: At,
    pub item: Item,
}

impl Item {
    /// A problem with this value.
    pub fn problem(&self, reason: impl Into<String>) -> Problem {
        self.at.problem(reason)
    }

    /// The keys, if the value is a table.
    pub const fn table(&self) -> Option<&Table> {
        if let RawValue::Table(table) = &self.value { Some(table) } else { None }
    }

    /// The text, if the value is one.
    pub fn text(&self) -> Option<&str> {
        if let RawValue::Text(text) = &self.value { Some(text) } else { None }
    }

    /// The value of a key, if this is a table that has it.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        Some(&self.table()?.get(key)?.item)
    }

    /// The value of a key, if this is a table that has it.
    pub fn at_key(&self, key: impl Into<&'static Key>) -> Option<&Self> {
        self.get(key.into().name)
    }

    /// The items of a list; none of any other value.
    #[must_use]
    pub fn items(&self) -> &[Self] {
        if let RawValue::List(items) = &self.value { items } else { &[] }
    }

    /// The value in a few words, for messages.
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

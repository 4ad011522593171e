//! Tables as columns in memory, each with a unit and a definition. A table is independent of file formats; a table of
//! millions of rows is written in batches, which are tables as well.

use crate::error::StoreError;
use std::{collections::BTreeMap, ops::Range, sync::Arc};

/// Name of the note that states the version of shallop which made the table.
pub const VERSION_NOTE: &str = "shallop_version";

/// The types that columns of tables may have, in words for errors.
pub(crate) const KINDS: &str = "64-bit floats, 64-bit integers with and without sign, true/false, text";

#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// What the rows are, in plural: "flows".
    pub name: String,
    /// Notes about the whole table: (name, text). [`Table::new`] adds the version.
    pub notes: Vec<(String, String)>,
    pub columns: Vec<Column>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Name of the column, with the unit last: `fct_ns`.
    pub name: String,
    /// Unit of the values; empty if they have none.
    pub unit: String,
    /// Definition of the column, in a sentence.
    pub description: String,
    pub values: Values,
}

/// The values of a column, row by row; `None` in rows to which the column does not apply.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Numbers with fractions, such as times in seconds and ratios.
    F64(Vec<Option<f64>>),
    /// Numbers of at least zero, such as counts and sizes in bytes.
    U64(Vec<Option<u64>>),
    /// Whole numbers that may be negative, such as differences.
    I64(Vec<Option<i64>>),
    Bool(Vec<Option<bool>>),
    /// Texts that repeat, such as names; each different text is stored once.
    Text(Text),
}

/// A column of texts that repeat: each different text is stored once, and a row is the index of its text.
#[derive(Clone, Debug, Default)]
pub struct Text {
    words: Vec<Arc<str>>,
    numbers: BTreeMap<Arc<str>, u32>,
    rows: Vec<Option<u32>>,
}

impl Table {
    /// Makes a table with a note about the version of shallop.
    #[must_use]
    pub fn new(name: &str, columns: Vec<Column>) -> Self {
        let version = (VERSION_NOTE.to_owned(), env!("CARGO_PKG_VERSION").to_owned());
        Self { name: name.to_owned(), notes: vec![version], columns }
    }

    /// Adds a note to the table.
    #[must_use]
    pub fn with_note(mut self, name: &str, text: &str) -> Self {
        self.notes.push((name.to_owned(), text.to_owned()));
        self
    }

    pub fn note(&self, name: &str) -> Option<&str> {
        self.notes.iter().find(|note| note.0 == name).map(|note| note.1.as_str())
    }

    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.values.len())
    }

    /// A table with equal name, notes and columns, but no rows.
    #[must_use]
    pub fn heading(&self) -> Self {
        let columns = self.columns.iter().map(Column::heading).collect();
        Self { name: self.name.clone(), notes: self.notes.clone(), columns }
    }

    /// Checks that all columns have equally many rows, and that no two columns or notes have one name.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        let table = || self.name.clone();
        let expected = self.rows();
        for (index, column) in self.columns.iter().enumerate() {
            let (name, found) = (column.name.clone(), column.values.len());
            if found != expected {
                return Err(StoreError::Ragged { table: table(), column: name, found, expected });
            }
            if self.columns[..index].iter().any(|other| other.name == name) {
                return Err(StoreError::Twice { table: table(), what: "column", name });
            }
        }
        for (index, (name, _)) in self.notes.iter().enumerate() {
            let reserved = crate::write::RESERVED_NOTES.contains(&name.as_str());
            if reserved || self.notes[..index].iter().any(|other| other.0 == *name) {
                let name = name.clone();
                return Err(StoreError::Twice { table: table(), what: "note", name });
            }
        }
        Ok(())
    }
}

impl Column {
    #[must_use]
    pub fn new(name: &str, unit: &str, description: &str, values: impl Into<Values>) -> Self {
        Self {
            name: name.to_owned(),
            unit: unit.to_owned(),
            description: description.to_owned(),
            values: values.into(),
        }
    }

    /// A column with equal name, unit, definition and type, but no rows.
    #[must_use]
    pub fn heading(&self) -> Self {
        Self::new(&self.name, &self.unit, &self.description, self.values.none())
    }

    /// Whether `other` has an equal name, unit, definition and type, so that one file may hold the rows of both.
    pub(crate) fn continues(&self, other: &Self) -> bool {
        let same_kind = std::mem::discriminant(&self.values) == std::mem::discriminant(&other.values);
        same_kind && (&self.name, &self.unit, &self.description) == (&other.name, &other.unit, &other.description)
    }
}

impl Values {
    pub fn len(&self) -> usize {
        match self {
            Self::F64(values) => values.len(),
            Self::U64(values) => values.len(),
            Self::I64(values) => values.len(),
            Self::Bool(values) => values.len(),
            Self::Text(text) => text.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A column of equal type without rows.
    #[must_use]
    pub fn none(&self) -> Self {
        match self {
            Self::F64(_) => Self::F64(Vec::new()),
            Self::U64(_) => Self::U64(Vec::new()),
            Self::I64(_) => Self::I64(Vec::new()),
            Self::Bool(_) => Self::Bool(Vec::new()),
            Self::Text(_) => Self::Text(Text::default()),
        }
    }

    /// Adds the rows with these indices in `values`, which must have the type of this column.
    pub(crate) fn extend(&mut self, values: &Self, rows: Range<usize>) {
        match (self, values) {
            (Self::F64(all), Self::F64(values)) => all.extend_from_slice(&values[rows]),
            (Self::U64(all), Self::U64(values)) => all.extend_from_slice(&values[rows]),
            (Self::I64(all), Self::I64(values)) => all.extend_from_slice(&values[rows]),
            (Self::Bool(all), Self::Bool(values)) => all.extend_from_slice(&values[rows]),
            (Self::Text(all), Self::Text(text)) => all.extend(rows.map(|row| text.row(row))),
            _ => debug_assert!(false, "a batch is compared with the heading before it is added"),
        }
    }

    /// Name of the type in Arrow, such as `uint64`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::F64(_) => "float64",
            Self::U64(_) => "uint64",
            Self::I64(_) => "int64",
            Self::Bool(_) => "bool",
            Self::Text(_) => "utf8",
        }
    }
}

impl Text {
    pub fn push(&mut self, text: Option<&str>) {
        let number = text.map(|text| self.number(text));
        self.rows.push(number);
    }

    /// The text in a row; `None` if the row has none, or is after the last one.
    pub fn row(&self, row: usize) -> Option<&str> {
        let number = self.rows.get(row).copied().flatten()?;
        Some(&self.words[number as usize])
    }

    /// Iterates over the rows: the text of each, or `None`.
    pub fn iter(&self) -> impl Iterator<Item = Option<&str>> {
        (0..self.len()).map(|row| self.row(row))
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Iterates over the different texts, in the order of their indices.
    pub(crate) fn words(&self) -> impl Iterator<Item = &str> {
        self.words.iter().map(|word| &**word)
    }

    /// Iterates over the rows: for each, the index of its text in [`Self::words`], or `None`.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = Option<usize>> {
        self.rows.iter().map(|row| row.map(|number| number as usize))
    }

    fn number(&mut self, text: &str) -> u32 {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let (word, number) = (Arc::<str>::from(text), self.words.len() as u32);
        self.words.push(Arc::clone(&word));
        self.numbers.insert(word, number);
        number
    }
}

/// Texts are equal if their rows are equal, in whatever order the different texts are stored.
impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl<S: AsRef<str>> FromIterator<Option<S>> for Text {
    fn from_iter<I: IntoIterator<Item = Option<S>>>(rows: I) -> Self {
        let mut text = Self::default();
        text.extend(rows);
        text
    }
}

impl<S: AsRef<str>> Extend<Option<S>> for Text {
    fn extend<I: IntoIterator<Item = Option<S>>>(&mut self, rows: I) {
        for row in rows {
            self.push(row.as_ref().map(AsRef::as_ref));
        }
    }
}

impl From<Text> for Values {
    fn from(text: Text) -> Self {
        Self::Text(text)
    }
}

/// Implements conversions to [`Values`] from vectors with and without missing values.
macro_rules! values_from {
    ($($kind:ident: $number:ty),*) => {$(
        impl From<Vec<Option<$number>>> for Values {
            fn from(values: Vec<Option<$number>>) -> Self {
                Self::$kind(values)
            }
        }
        impl From<Vec<$number>> for Values {
            fn from(values: Vec<$number>) -> Self {
                Self::$kind(values.into_iter().map(Some).collect())
            }
        }
    )*};
}
values_from!(F64: f64, U64: u64, I64: i64, Bool: bool);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_equal_if_their_rows_read_the_same() {
        let text = |rows: &[&str]| rows.iter().map(|row| Some(*row)).collect::<Text>();
        let mut other = text(&["b"]);
        other.extend([Some("a"), Some("b")]);
        assert_eq!(other, text(&["b", "a", "b"]));
        assert_ne!(other, text(&["b", "a"]));
        assert_eq!((other.row(1), other.row(3), other.words.len()), (Some("a"), None, 2));
    }

    #[test]
    fn a_table_finds_its_columns_and_notes() {
        let column = Column::new("fct_ns", "ns", "Completion time.", vec![Some(1u64), None]);
        let table = Table::new("flows", vec![column]).with_note("seed", "7");
        assert_eq!((table.rows(), table.note("seed"), table.note("none")), (2, Some("7"), None));
        assert_eq!(table.note(VERSION_NOTE), Some(env!("CARGO_PKG_VERSION")));
        assert_eq!(table.column("fct_ns").map(|column| column.values.len()), Some(2));
        assert_eq!(table.heading().rows(), 0);
    }

    #[test]
    fn one_name_is_given_once() {
        let column = || Column::new("size", "B", "", vec![1u64]);
        let twice = Table::new("flows", vec![column(), column()]).check().unwrap_err();
        assert!(twice.to_string().contains("more than one column is called size"), "{twice}");
        let note = Table::new("flows", vec![column()]).with_note(VERSION_NOTE, "2").check();
        assert!(note.unwrap_err().to_string().contains("more than one note"));
    }
}

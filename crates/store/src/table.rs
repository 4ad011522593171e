//! Tables as columns in memory, each with its unit and definition. A table is independent of file formats; a table of
//! millions of rows is written in batches, which are tables themselves.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use crate::error::StoreError;

/// The note with the version of shallop that made the table.
pub const VERSION_NOTE: &str = "shallop_version";

/// The types of columns, in words.
pub(crate) const KINDS: &str =
    "64-bit floats, 64-bit integers with and without sign, true/false, text";

#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The plural of a row, such as "flows".
    pub name: String,
    /// Notes about the whole table: name and text. [`Table::new`] adds the version.
    pub notes: Vec<(String, String)>,
    /// The columns, all of the same length.
    pub columns: Vec<Column>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The name, with the unit last: `fct_ns`.
    pub name: String,
    /// The unit of the values; empty if they have none.
    pub unit: String,
    /// The definition, in a sentence.
    pub description: String,
    pub values: Values,
}

/// The values of a column; `None` where a value does not apply.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Fractions and ratios.
    F64(Vec<Option<f64>>),
    /// Counts and sizes.
    U64(Vec<Option<u64>>),
    /// Differences.
    I64(Vec<Option<i64>>),
    /// Truth values.
    Bool(Vec<Option<bool>>),
    /// Texts, each different one stored once.
    Text(Text),
}

/// A column of repeated texts: each different text is stored once, and a row is its index.
#[derive(Clone, Debug, Default)]
pub struct Text {
    words: Vec<Arc<str>>,
    numbers: BTreeMap<Arc<str>, u32>,
    rows: Vec<Option<u32>>,
}

impl Table {
    /// A table made by this version.
    #[must_use]
    pub fn new(name: &str, columns: Vec<Column>) -> Self {
        let version = (VERSION_NOTE.to_owned(), env!("CARGO_PKG_VERSION").to_owned());
        Self { name: name.to_owned(), notes: vec![version], columns }
    }

    /// The table with one more note.
    #[must_use]
    pub fn with_note(mut self, name: &str, text: &str) -> Self {
        self.notes.push((name.to_owned(), text.to_owned()));
        self
    }

    pub fn note(&self, name: &str) -> Option<&str> {
        self.notes.iter().find(|note| note.0 == name).map(|note| note.1.as_str())
    }

    /// The column of this name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.values.len())
    }

    /// This table without its rows.
    #[must_use]
    pub fn heading(&self) -> Self {
        let columns = self.columns.iter().map(Column::heading).collect();
        Self { name: self.name.clone(), notes: self.notes.clone(), columns }
    }

    /// Checks that all columns have the same length, and that no name is repeated.
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

    /// This column without its rows.
    #[must_use]
    pub fn heading(&self) -> Self {
        Self::new(&self.name, &self.unit, &self.description, self.values.none())
    }

    /// Whether name, unit, definition and type are those of `other`, so that one file may hold the rows of both.
    pub(crate) fn continues(&self, other: &Self) -> bool {
        let same_kind =
            std::mem::discriminant(&self.values) == std::mem::discriminant(&other.values);
        same_kind
            && (&self.name, &self.unit, &self.description)
                == (&other.name, &other.unit, &other.description)
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

    /// An empty column of this type.
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

    /// Adds these rows of `values`, which must have the type of the column.
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

    /// The Arrow type of the values.
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

    /// The text of a row; `None` also for rows after the last.
    pub fn row(&self, row: usize) -> Option<&str> {
        let number = self.rows.get(row).copied().flatten()?;
        Some(&self.words[number as usize])
    }

    /// The texts, row by row.
    pub fn iter(&self) -> impl Iterator<Item = Option<&str>> {
        (0..self.len()).map(|row| self.row(row))
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The different texts.
    pub(crate) fn words(&self) -> impl Iterator<Item = &str> {
        self.words.iter().map(|word| &**word)
    }

    /// For each row, the index of its text in [`Self::words`].
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

/// Texts are equal if their rows are, whatever the order of their storage.
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

/// Vectors, with and without missing values, are values.
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

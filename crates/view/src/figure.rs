//! A figure: a Vega-Lite spec, the rows it draws, and words on both.

use serde_json::{Map, Value};

/// A figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Its name in files and links: lower case, with dashes.
    pub id: String,
    /// What it shows, in a few words.
    pub title: String,
    /// What was done to the data, what bars and bands are, what is missing.
    pub caption: String,
    /// The rows.
    pub rows: Rows,
    /// How they are drawn, without them. The mark of the size that a figure has on a page is in it.
    pub spec: Value,
    /// Whether it takes the width of the page.
    pub wide: bool,
}

/// Rows of a figure. Names of columns end in their unit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// The names of the columns.
    pub columns: Vec<String>,
    /// A value for each column; null where there is none.
    pub rows: Vec<Vec<Value>>,
}

impl Rows {
    /// No rows of these columns.
    #[must_use]
    pub fn new(columns: &[&str]) -> Self {
        Self { columns: columns.iter().map(|&name| name.to_owned()).collect(), rows: Vec::new() }
    }

    /// Adds a row.
    pub fn push<const N: usize>(&mut self, row: [Value; N]) {
        debug_assert_eq!(N, self.columns.len(), "a row has a value for each column");
        self.rows.push(row.into());
    }

    /// True if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The numbers in a column.
    pub fn numbers<'a>(&'a self, column: &str) -> impl Iterator<Item = f64> + 'a {
        let place = self.columns.iter().position(|name| name == column);
        self.rows.iter().filter_map(move |row| row.get(place?)?.as_f64())
    }

    /// As Vega-Lite takes them: an object for each row.
    #[must_use]
    pub fn objects(&self) -> Value {
        let object = |row: &Vec<Value>| -> Value {
            let pairs = self.columns.iter().cloned().zip(row.iter().cloned());
            Value::Object(pairs.collect::<Map<_, _>>())
        };
        Value::Array(self.rows.iter().map(object).collect())
    }
}

impl Figure {
    /// The spec with its rows: all that Vega-Lite, Altair or an editor needs.
    #[must_use]
    pub fn whole(&self) -> Value {
        let mut spec = self.spec.clone();
        if let Value::Object(fields) = &mut spec {
            let mut data = Map::new();
            data.insert("values".to_owned(), self.rows.objects());
            fields.insert("data".to_owned(), Value::Object(data));
        }
        spec
    }

    /// All there is to it as one JSON object.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::json!({
            "id": self.id,
            "title": self.title,
            "caption": self.caption,
            "spec": self.whole(),
        })
    }
}

/// A number, or null.
#[must_use]
pub fn number(value: Option<f64>) -> Value {
    value.map_or(Value::Null, Value::from)
}

//! Figures: a Vega-Lite spec, its dataset, a title and a caption.

use serde_json::{Map, Value};

/// A figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The name in files and links: lower case, with dashes.
    pub id: String,
    /// The title.
    pub title: String,
    /// The caption: the processing of the data, the meaning of bars and bands, missing data.
    pub caption: String,
    /// The dataset.
    pub rows: Dataset,
    /// The spec, without the dataset.
    pub spec: Value,
    /// Whether the figure has the width of the page.
    pub wide: bool,
}

/// A dataset. The names of columns end in their unit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dataset {
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The rows, with a value or null for each column.
    pub rows: Vec<Vec<Value>>,
}

impl Dataset {
    /// An empty dataset with these columns.
    #[must_use]
    pub fn new(columns: &[&str]) -> Self {
        Self { columns: columns.iter().map(|&name| name.to_owned()).collect(), rows: Vec::new() }
    }

    /// Adds a row.
    pub fn push<const N: usize>(&mut self, row: [Value; N]) {
        debug_assert_eq!(N, self.columns.len(), "a row has a value for each column");
        self.rows.push(row.into());
    }

    /// True if there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The numbers in a column.
    pub fn numbers<'a>(&'a self, column: &str) -> impl Iterator<Item = f64> + 'a {
        let index = self.columns.iter().position(|name| name == column);
        self.rows.iter().filter_map(move |row| row.get(index?)?.as_f64())
    }

    /// The rows as Vega-Lite expects them: an object for each row.
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
    /// The spec with the dataset, for Vega-Lite, Altair or an editor.
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

    /// The figure as a JSON object.
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

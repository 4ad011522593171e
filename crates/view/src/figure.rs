//! Figures: a Vega-Lite spec, its dataset, a title and a caption.

use indexmap::{IndexMap, IndexSet};
use serde_json::{Map, Value};
use shallop_results::table::significant;

/// The most lines or bars whose ranges a figure's text for screen readers lists.
const MAX_RANGES: usize = 24;

#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Name of the figure in files and links: lower case, with dashes.
    pub id: String,
    pub title: String,
    /// The data in words, for readers who do not see the figure: the range of each line or bar.
    pub alt: String,
    /// Caption of the figure: the processing of the data, the meaning of bars and bands, missing data.
    pub caption: String,
    pub rows: Dataset,
    /// The Vega-Lite spec of the figure, without its dataset.
    pub spec: Value,
    /// Whether the figure is as wide as the page; otherwise it takes half of the width.
    pub wide: bool,
}

/// The table of values that a figure shows. The names of columns end in their unit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dataset {
    pub columns: Vec<String>,
    /// The rows of the dataset, each with a value or null for each column.
    pub rows: Vec<Vec<Value>>,
}

impl Dataset {
    #[must_use]
    pub fn new(columns: &[&str]) -> Self {
        Self { columns: columns.iter().map(|&name| name.to_owned()).collect(), rows: Vec::new() }
    }

    pub fn push<const N: usize>(&mut self, row: [Value; N]) {
        debug_assert_eq!(N, self.columns.len(), "a row has a value for each column");
        self.rows.push(row.into());
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn numbers<'a>(&'a self, column: &str) -> impl Iterator<Item = f64> + 'a {
        let index = self.columns.iter().position(|name| name == column);
        self.rows.iter().filter_map(move |row| row.get(index?)?.as_f64())
    }

    /// The texts in a column, each once, in the order of the rows.
    pub fn texts(&self, column: &str) -> Vec<String> {
        let index = self.columns.iter().position(|name| name == column);
        let all = self.rows.iter().filter_map(|row| row.get(index?)?.as_str());
        all.collect::<IndexSet<_>>().into_iter().map(str::to_owned).collect()
    }

    /// Describes the dataset in words: the range of the column `value` for each combination of texts in the columns
    /// `words`, in the order of the rows. Example: "Goodput (Gb/s): cubic 2.3; flashpass 8.9 to 9.1."
    pub fn summary(&self, words: &[&str], value: &str, title: &str) -> String {
        let place = |name: &str| self.columns.iter().position(|column| column == name);
        let words: Vec<usize> = words.iter().filter_map(|name| place(name)).collect();
        let mut ranges: IndexMap<String, (f64, f64)> = IndexMap::new();
        for row in &self.rows {
            let Some(number) = place(value).and_then(|at| row[at].as_f64()) else { continue };
            let parts = words.iter().filter_map(|&at| row[at].as_str()).filter(|part| !part.is_empty());
            let (low, high) = ranges.entry(parts.collect::<Vec<_>>().join(", ")).or_insert((number, number));
            (*low, *high) = (low.min(number), high.max(number));
        }
        let left_out = ranges.len().saturating_sub(MAX_RANGES);
        let range = |(name, (low, high)): (&String, &(f64, f64))| {
            let (low, high) = (significant(*low), significant(*high));
            let ends = if low == high { low } else { format!("{low} to {high}") };
            format!("{name} {ends}").trim_start().to_owned()
        };
        let mut texts: Vec<String> = ranges.iter().take(MAX_RANGES).map(range).collect();
        if left_out > 0 {
            texts.push(format!("and {left_out} more"));
        }
        format!("{title}: {}.", texts.join("; "))
    }

    /// The rows of the dataset as Vega-Lite expects them: an object for each row.
    pub fn objects(&self) -> Value {
        let object = |row: &Vec<Value>| -> Value {
            let pairs = self.columns.iter().cloned().zip(row.iter().cloned());
            Value::Object(pairs.collect::<Map<_, _>>())
        };
        Value::Array(self.rows.iter().map(object).collect())
    }
}

impl Figure {
    /// The complete Vega-Lite spec, with the dataset in it, for Altair or an editor.
    pub fn whole(&self) -> Value {
        let mut spec = self.spec.clone();
        if let Value::Object(fields) = &mut spec {
            let mut data = Map::new();
            data.insert("values".to_owned(), self.rows.objects());
            fields.insert("data".to_owned(), Value::Object(data));
            fields.insert("description".to_owned(), self.alt.clone().into());
        }
        spec
    }

    /// The figure as a JSON object: title, caption, and spec with dataset.
    pub fn json(&self) -> Value {
        serde_json::json!({
            "id": self.id,
            "title": self.title,
            "caption": self.caption,
            "spec": self.whole(),
        })
    }
}

/// Converts a number to JSON; null for `None`.
pub fn number(value: Option<f64>) -> Value {
    value.map_or(Value::Null, Value::from)
}

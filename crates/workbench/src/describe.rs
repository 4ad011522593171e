//! The schema of results: every field of `summary.json` and every column of the two tables, with unit and definition.
//! Definitions are the doc comments of the types of `shallop-results` and the descriptions of the columns
//! (`tables.rs`). Units are those of the metrics of a run; other numbers have them from the end of their names, or from
//! the attribute `schemars(extend("unit" = ...))` of their fields.

use super::results::headings;
use serde_json::{Map, Value, json};
use shallop_results::{advice::Advice, metrics, summary::Summary};

/// Units of numbers by the ending of a field's name; the first match counts.
const ENDINGS: [(&str, &str); 5] =
    [("_bytes", "B"), ("_bps", "bit/s"), ("_rate", "fraction"), ("_packets", "packets"), ("_s", "s")];

/// JSON Schema (draft 2020-12) of `summary.json`, which is also the output of `run --json`. Every number has a `unit`
/// beside its type; "none" if it has no unit.
#[must_use]
pub fn summary() -> Value {
    let mut schema = schemars::schema_for!(Summary).to_value();
    for metric in metrics::all() {
        let parts: Vec<&str> = metric.path.split('.').collect();
        set_unit(&mut schema, "Run", &parts, metric.quantity.stored());
    }
    add_units(&mut schema);
    if let Some(kinds) = schema.get_mut("$defs").and_then(Value::as_object_mut) {
        kinds.values_mut().for_each(add_units);
    }
    schema
}

/// JSON Schema of `advise.json`.
#[must_use]
pub fn advice() -> Value {
    schemars::schema_for!(Advice).to_value()
}

/// Sets the unit of a number in a schema: `path` leads to the number from a field of the type `kind`.
fn set_unit(schema: &mut Value, kind: &str, path: &[&str], unit: &str) {
    let [name, rest @ ..] = path else { return };
    let field = &mut schema["$defs"][kind]["properties"][name];
    if rest.is_empty() {
        field["unit"] = unit.into();
        return;
    }
    let inner = [&field["$ref"], &field["anyOf"][0]["$ref"]];
    let inner = inner.iter().find_map(|to| to.as_str()?.strip_prefix("#/$defs/"));
    if let Some(inner) = inner.map(str::to_owned) {
        set_unit(schema, &inner, rest, unit);
    }
}

/// Adds units to the numbers of a type that have none: those of a metric of a run with the same name, or by the end of
/// the name.
fn add_units(schema: &mut Value) {
    let Some(fields) = schema.get_mut("properties").and_then(Value::as_object_mut) else { return };
    for (name, schema) in fields.iter_mut().filter(|(_, schema)| is_number(schema)) {
        let metric = || metrics::find(name).map(|metric| metric.quantity.stored());
        let ending = ENDINGS.iter().find(|(end, _)| name.ends_with(end)).map(|entry| entry.1);
        if let Some((unit, schema)) = ending.or_else(metric).zip(schema.as_object_mut()) {
            schema.entry("unit").or_insert_with(|| unit.into());
        }
    }
}

/// Whether a schema is of a number, or of a list or map of numbers.
fn is_number(schema: &Value) -> bool {
    let kind = &schema["type"];
    let is = |name: &str| kind == name || kind.as_array().is_some_and(|all| all.contains(&name.into()));
    if is("number") || is("integer") {
        return true;
    }
    let inner = |key: &str| schema.get(key).is_some_and(is_number);
    (is("array") && inner("items")) || (is("object") && inner("additionalProperties"))
}

/// The columns of `flows.parquet` and `series.parquet`, in order: name, type, unit (empty for texts and truth values)
/// and definition, as in the metadata of the files.
#[must_use]
pub fn columns() -> Value {
    let files = headings().map(|(file, table)| {
        let columns = table.columns.iter().map(|column| {
            json!({
                "name": column.name,
                "type": column.values.kind(),
                "unit": column.unit,
                "description": column.description,
            })
        });
        (file.to_owned(), Value::from(columns.collect::<Vec<_>>()))
    });
    Value::Object(Map::from_iter(files))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
        schema["properties"].as_object().into_iter().flatten()
    }

    #[test]
    fn every_word_is_defined_and_every_number_has_a_unit() {
        let schema = summary();
        let kinds = schema["$defs"].as_object().unwrap();
        let all = kinds.iter().map(|(name, kind)| (name.as_str(), kind)).chain([("Summary", &schema)]);
        let mut numbers = 0;
        for (name, kind) in all {
            for (word, it) in properties(kind) {
                let about = it["description"].as_str().unwrap_or_default();
                assert!(!about.is_empty(), "{name}.{word} has no definition");
                assert!(!is_number(it) || it["unit"].is_string(), "{name}.{word} is a number without a unit");
                numbers += usize::from(is_number(it));
            }
        }
        assert!(numbers > 60, "{numbers}");
        let run = &kinds["Run"]["properties"];
        assert_eq!(run["throughput_bps"]["unit"], "bit/s");
        assert_eq!(run["loss_by_place"]["unit"], "fraction");
        assert_eq!(kinds["Offered"]["properties"]["flows_per_s"]["unit"], "1/s");
    }

    #[test]
    fn every_column_is_defined_and_every_number_has_a_unit() {
        let columns = columns();
        for (file, columns) in columns.as_object().unwrap() {
            for column in columns.as_array().unwrap() {
                let text = |key: &str| column[key].as_str().unwrap();
                assert!(!text("description").is_empty(), "{file}: {column}");
                let counts = !["flow", "seed"].contains(&text("name"));
                let number = ["float64", "uint64", "int64"].contains(&text("type"));
                assert_eq!(!text("unit").is_empty(), number && counts, "{file}: {column}");
            }
        }
        assert_eq!(columns["series.parquet"].as_array().unwrap().len(), 7);
    }
}

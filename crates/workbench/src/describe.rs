//! The schema of results: every field of `summary.json` and every column of the two tables, with unit and definition.
//! Definitions are the doc comments of the types of `shallop-results` and the descriptions of the columns
//! (`tables.rs`). Units follow from the ends of names; the lists below have those of other names.

use serde_json::{Map, Value, json};

use super::results::headings;
use shallop_results::summary::Summary;

/// Units by the end of a name; the first match counts.
const ENDINGS: [(&str, &str); 6] = [
    ("_per_s", "1/s"),
    ("_bytes", "B"),
    ("_bps", "bit/s"),
    ("_rate", "fraction"),
    ("_packets", "packets"),
    ("_s", "s"),
];

/// Units of names without such an end: the type, or an empty text for all types, the names, and the unit.
const UNITS: [(&str, &[&str], &str); 30] = [
    ("Summary", &["seeds"], "none"),
    ("Run", &["seed"], "none"),
    ("Run", &["marks", "retransmits", "packet_hops"], "packets"),
    ("Run", &["timeouts"], "timeouts"),
    ("Run", &["left_out"], "entries"),
    ("Group", &["retransmits"], "packets"),
    ("Group", &["timeouts"], "timeouts"),
    ("Link", &["marks"], "packets"),
    ("DropCount", &["packets"], "packets"),
    ("KernelOfRun", &["gso_max_segs"], "segments"),
    ("KernelOfRun", &["interrupts"], "interrupts"),
    ("ProgramOfRun", &["status"], "none"),
    ("RehearsalOfRun", &["hosts_waited", "scale"], "fraction"),
    ("RehearsalOfRun", &["bytes_checked"], "B"),
    (
        "RehearsalOfRun",
        &[
            "packets_read",
            "packets_written",
            "stray_frames",
            "malformed_frames",
            "lost_frames",
            "checksum_errors",
        ],
        "packets",
    ),
    ("ProxyOfRun", &["made_ect", "reduced_windows"], "packets"),
    ("ProxyOfRun", &["data_segments", "marked_segments"], "segments"),
    ("KernelOfRun", &["receive_ring_drops", "stray_frames"], "frames"),
    ("Run", &["loss_by_place", "loss_by_set", "utilization_by_place", "utilization"], "fraction"),
    ("", &["flows"], "flows"),
    ("", &["above"], "fraction"),
    ("Pool", &["ports"], "ports"),
    ("", &["jain"], "index, 1/n to 1"),
    ("Window", &["metered_loss"], "fraction"),
    (
        "Drops",
        &["data", "scheduled", "unscheduled", "emulation", "credit", "ack", "control"],
        "packets",
    ),
    ("Offered", &["small", "medium", "large"], "fraction"),
    ("Credit", &["granted", "used", "wasted", "sent"], "packets"),
    ("Credit", &["waste_volume"], "fraction"),
    ("Completion", &["count", "unfinished"], "flows"),
    ("Completion", &["slowdown_mean", "slowdown_p99"], "ratio"),
];

/// Units that depend on other fields.
const VARYING: [(&str, &[&str], &str); 6] = [
    ("Completion", &["within_rtt"], "fraction"),
    ("Link", &["offered", "utilization"], "fraction"),
    (
        "JudgedClaim",
        &["paper", "low", "high", "measured", "measured_min", "measured_max"],
        "as `unit` says",
    ),
    ("Estimate", &["mean", "ci95", "low", "high", "min", "max"], "that of the word"),
    ("", &["n"], "runs"),
    ("Reuse", &["runs"], "runs"),
];

/// JSON Schema (draft 2020-12) of `summary.json`, which is also the output of `run --json`. Every number has a `unit`
/// beside its type; "none" if it has no unit.
#[must_use]
pub fn summary() -> Value {
    let mut schema = schemars::schema_for!(Summary).to_value();
    units("Summary", &mut schema);
    if let Some(kinds) = schema.get_mut("$defs").and_then(Value::as_object_mut) {
        for (name, kind) in kinds {
            units(name, kind);
        }
    }
    schema
}

/// Adds units to the fields of a type.
fn units(of: &str, schema: &mut Value) {
    let Some(words) = schema.get_mut("properties").and_then(Value::as_object_mut) else { return };
    for (word, schema) in words {
        let number = numeric(schema);
        if let (true, Some(unit), Some(schema)) = (number, unit(of, word), schema.as_object_mut()) {
            schema.insert("unit".to_owned(), unit.into());
        }
    }
}

fn unit(of: &str, word: &str) -> Option<&'static str> {
    let fits = |entry: &&(&str, &[&str], &'static str)| {
        (entry.0 == of || entry.0.is_empty()) && entry.1.contains(&word)
    };
    let written = UNITS.iter().chain(&VARYING).find(fits).map(|entry| entry.2);
    let ending = || ENDINGS.iter().find(|(ending, _)| word.ends_with(ending)).map(|entry| entry.1);
    written.or_else(ending)
}

/// Whether this is a number, or a list or map of numbers.
fn numeric(schema: &Value) -> bool {
    let kind = &schema["type"];
    let is =
        |name: &str| kind == name || kind.as_array().is_some_and(|all| all.contains(&name.into()));
    if is("number") || is("integer") {
        return true;
    }
    let inner = |key: &str| schema.get(key).is_some_and(numeric);
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
        let all =
            kinds.iter().map(|(name, kind)| (name.as_str(), kind)).chain([("Summary", &schema)]);
        let mut numbers = 0;
        for (name, kind) in all {
            for (word, it) in properties(kind) {
                let about = it["description"].as_str().unwrap_or_default();
                assert!(!about.is_empty(), "{name}.{word} has no definition");
                assert!(
                    !numeric(it) || it["unit"].is_string(),
                    "{name}.{word} is a number without a unit: name it in describe.rs"
                );
                numbers += usize::from(numeric(it));
            }
        }
        assert!(numbers > 60, "{numbers}");
        let run = &kinds["Run"]["properties"];
        assert_eq!(run["throughput_bps"]["unit"], "bit/s");
        assert_eq!(run["loss_by_place"]["unit"], "fraction");
        assert_eq!(kinds["Offered"]["properties"]["flows_per_s"]["unit"], "1/s");
    }

    #[test]
    fn units_are_of_words_that_are_there() {
        let schema = summary();
        let kinds = schema["$defs"].as_object().unwrap();
        for (of, words, _) in UNITS.iter().chain(&VARYING) {
            let of: Vec<&Value> = match *of {
                "" => kinds.values().collect(),
                "Summary" => vec![&schema],
                name => vec![&kinds[name]],
            };
            for word in *words {
                let there = of.iter().any(|kind| kind["properties"].get(word).is_some());
                assert!(there, "there is no {word}");
            }
        }
    }

    #[test]
    fn every_column_is_defined_and_every_number_has_a_unit() {
        let columns = columns();
        for (file, columns) in columns.as_object().unwrap() {
            for column in columns.as_array().unwrap() {
                let text = |key: &str| column[key].as_str().unwrap();
                assert!(!text("description").is_empty(), "{file}: {column}");
                let counts = !["flow", "seed"].contains(&text("name"));
                let number = text("type").contains("floats") || text("type").contains("integers");
                assert_eq!(!text("unit").is_empty(), number && counts, "{file}: {column}");
            }
        }
        assert_eq!(columns["series.parquet"].as_array().unwrap().len(), 7);
    }
}

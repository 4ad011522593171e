//! docs/results.md: the fields of `summary.json` and the columns of the tables, from the schema.

use crate::{describe, printable::wrapped};
use serde_json::Value;
use std::{collections::VecDeque, fmt::Write as _};

pub(super) const PAGE: &str = "docs/results.md";
/// The line of the page that separates the part written by hand, above, from the generated part, below.
const MARK: &str = "<!-- Generated from the types by make write-docs -->\n";

fn name(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.strip_prefix("#/$defs/")
}

/// The name of the type that a schema refers to, directly or as the type of its elements; `None` if it refers to none.
fn inner(schema: &Value) -> Option<&str> {
    let of = |key: &str| schema.get(key).and_then(inner);
    let any = || schema["anyOf"].as_array()?.iter().find_map(inner);
    name(schema).or_else(|| of("items")).or_else(|| of("additionalProperties")).or_else(any)
}

/// The type of a schema in words, such as `list of number`, with a link if the page describes it.
fn kind(schema: &Value) -> String {
    if let Some(name) = name(schema) {
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(all) = schema["anyOf"].as_array() {
        let all: Vec<String> = all.iter().map(kind).collect();
        return all.join(" or ");
    }
    if let Some(all) = schema["enum"].as_array() {
        let all: Vec<String> = all.iter().map(|it| format!("`{it}`")).collect();
        return all.join(", ");
    }
    let one = |kind: &str| match kind {
        "array" => format!("list of {}", self::kind(&schema["items"])),
        "object" if schema["additionalProperties"].is_object() => {
            format!("by name: {}", self::kind(&schema["additionalProperties"]))
        }
        "object" => "by name".to_owned(),
        "string" => "text".to_owned(),
        "boolean" => "true or false".to_owned(),
        other => other.to_owned(),
    };
    match &schema["type"] {
        Value::String(kind) => one(kind),
        Value::Array(kinds) => {
            let kinds: Vec<String> = kinds.iter().map(|kind| one(kind.as_str().unwrap_or_default())).collect();
            kinds.join(" or ")
        }
        _ => "anything".to_owned(),
    }
}

/// Makes a doc comment a cell of a table: one line, with the names of types instead of links to them.
fn cell(text: &str) -> String {
    let mut text = text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|");
    while let Some(start) = text.find("[`") {
        let Some(end) = text[start..].find("`]").map(|end| start + end) else { break };
        let word = text[start + 2..end].rsplit("::").next().unwrap_or_default().to_owned();
        text.replace_range(start..end + 2, &format!("`{word}`"));
    }
    text
}

fn fields(page: &mut String, schema: &Value) {
    *page += "| field | unit | value | definition |\n|---|---|---|---|\n";
    for (name, it) in schema["properties"].as_object().into_iter().flatten() {
        let unit = it["unit"].as_str().filter(|unit| *unit != "none").unwrap_or_default();
        let about = cell(it["description"].as_str().unwrap_or_default());
        let _ = writeln!(page, "| `{name}` | {unit} | {} | {about} |", kind(it));
    }
}

/// Generates the part of the page that follows from the types; the part above [`MARK`] stays.
///
/// # Errors
/// If the page has no [`MARK`].
pub(super) fn page(page: &str) -> Result<String, String> {
    let (by_hand, _) = page.split_once(MARK).ok_or_else(|| format!("{PAGE} lacks {MARK:?}"))?;
    let schema = describe::summary();
    let mut page = format!("{by_hand}{MARK}");
    page += "\n## summary.json\n\n";
    fields(&mut page, &schema);
    let (mut next, mut told) = (VecDeque::from([&schema]), Vec::new());
    while let Some(of) = next.pop_front() {
        for (_, it) in of["properties"].as_object().into_iter().flatten() {
            let Some(name) = inner(it).filter(|name| !told.contains(name)) else { continue };
            let schema = &schema["$defs"][name];
            told.push(name);
            let about = cell(schema["description"].as_str().unwrap_or_default());
            let _ = write!(page, "\n### {name}\n\n{}\n\n", wrapped(&about, 120));
            if schema["properties"].is_object() {
                fields(&mut page, schema);
                next.push_back(schema);
            } else {
                page += "| value | definition |\n|---|---|\n";
                for one in schema["oneOf"].as_array().into_iter().flatten() {
                    let about = cell(one["description"].as_str().unwrap_or_default());
                    let _ = writeln!(page, "| `{}` | {about} |", one["const"]);
                }
            }
        }
    }
    for (file, columns) in describe::columns().as_object().into_iter().flatten() {
        let _ = write!(page, "\n## {file}\n\n| column | unit | type | definition |\n|---|---|---|---|\n");
        for column in columns.as_array().into_iter().flatten() {
            let text = |key: &str| column[key].as_str().unwrap_or_default();
            let about = cell(text("description"));
            let [name, unit, kind] = ["name", "unit", "type"].map(text);
            let _ = writeln!(page, "| `{name}` | {unit} | {kind} | {about} |");
        }
    }
    Ok(page)
}

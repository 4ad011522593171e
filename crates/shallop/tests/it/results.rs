//! docs/results.md against what the program says of its results. With `UPDATE_DOCS=1` the page is written instead.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::fs;

use crate::pages::root;
use crate::support::Folder;
use serde_json::Value;

const PAGE: &str = "docs/results.md";
/// What is above is written by hand, what is below by this.
const MARK: &str =
    "<!-- Written by crates/shallop/tests/it/results.rs from the types, with UPDATE_DOCS=1. -->\n";

fn name(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.strip_prefix("#/$defs/")
}

/// The type that a value or the values in it are of, if it is one with words of its own.
fn inner(schema: &Value) -> Option<&str> {
    let of = |key: &str| schema.get(key).and_then(inner);
    let any = || schema["anyOf"].as_array()?.iter().find_map(inner);
    name(schema).or_else(|| of("items")).or_else(|| of("additionalProperties")).or_else(any)
}

/// What kind of value it is, in words.
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
            let kinds: Vec<String> = kinds.iter().map(|kind| one(kind.as_str().unwrap())).collect();
            kinds.join(" or ")
        }
        _ => "anything".to_owned(),
    }
}

/// A definition for a cell of a table: one line, words of other types by their names.
fn cell(text: &str) -> String {
    let mut text = text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|");
    while let Some(start) = text.find("[`") {
        let Some(end) = text[start..].find("`]").map(|end| start + end) else { break };
        let word = text[start + 2..end].rsplit("::").next().unwrap_or_default().to_owned();
        text.replace_range(start..end + 2, &format!("`{word}`"));
    }
    text
}

/// A text in lines of at most 120 columns.
fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().unwrap();
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > 120 {
            lines.push(word.to_owned());
        } else {
            *line += if line.is_empty() { "" } else { " " };
            *line += word;
        }
    }
    lines.join("\n")
}

fn words(page: &mut String, schema: &Value) {
    *page += "| word | unit | value | definition |\n|---|---|---|---|\n";
    for (word, it) in schema["properties"].as_object().unwrap() {
        let unit = it["unit"].as_str().filter(|unit| *unit != "none").unwrap_or_default();
        let about = cell(it["description"].as_str().unwrap_or_default());
        writeln!(page, "| `{word}` | {unit} | {} | {about} |", kind(it)).unwrap();
    }
}

/// The part of the page that follows from the types.
fn generated() -> String {
    let folder = Folder::with("");
    let schema = folder.json(&["schema", "--results"]);
    let mut page = MARK.to_owned();
    page += "\n## summary.json\n\n";
    words(&mut page, &schema);
    let (mut next, mut told) = (VecDeque::from([&schema]), Vec::new());
    while let Some(of) = next.pop_front() {
        for it in of["properties"].as_object().unwrap().values() {
            let Some(name) = inner(it).filter(|name| !told.contains(name)) else { continue };
            let schema = &schema["$defs"][name];
            told.push(name);
            let about = cell(schema["description"].as_str().unwrap_or_default());
            write!(page, "\n### {name}\n\n{}\n\n", wrapped(&about)).unwrap();
            if schema["properties"].is_object() {
                words(&mut page, schema);
                next.push_back(schema);
            } else {
                page += "| value | definition |\n|---|---|\n";
                for one in schema["oneOf"].as_array().into_iter().flatten() {
                    let about = cell(one["description"].as_str().unwrap_or_default());
                    writeln!(page, "| `{}` | {about} |", one["const"]).unwrap();
                }
            }
        }
    }
    for (file, columns) in folder.json(&["schema", "--columns"]).as_object().unwrap() {
        write!(page, "\n## {file}\n\n| column | unit | type | definition |\n|---|---|---|---|\n")
            .unwrap();
        for column in columns.as_array().unwrap() {
            let text = |key: &str| column[key].as_str().unwrap();
            let about = cell(text("description"));
            writeln!(
                page,
                "| `{}` | {} | {} | {about} |",
                text("name"),
                text("unit"),
                text("type")
            )
            .unwrap();
        }
    }
    page
}

#[test]
fn the_page_of_results_says_what_the_program_writes() {
    let path = root().join(PAGE);
    let there = fs::read_to_string(&path).unwrap();
    let (by_hand, _) = there.split_once(MARK).unwrap();
    let page = format!("{by_hand}{}", generated());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(path, page).unwrap();
    } else {
        assert!(
            there == page,
            "{PAGE} is not up to date: UPDATE_DOCS=1 cargo test -p shallop --test it results"
        );
    }
}

#[test]
fn the_files_of_a_run_carry_the_units_and_definitions_of_the_page() {
    let folder = Folder::with(
        "title = \"Two flows\"\nduration = \"20ms\"\n[topology]\nkind = \"dumbbell\"\nsenders = 2\nrate = \"1Gbps\"\n\
         delay = \"1ms\"\n[[scheme]]\ntransport = \"cubic\"\n[[group]]\nname = \"all\"\n",
    );
    folder.done(&["run", "scenario.toml", "--out", "results"]);
    let columns = folder.json(&["schema", "--columns"]);
    for (file, columns) in columns.as_object().unwrap() {
        let table = shallop_store::read_table(folder.path(&format!("results/{file}"))).unwrap();
        let found: Vec<_> = table
            .columns
            .iter()
            .map(|it| (it.name.as_str(), it.unit.as_str(), it.description.as_str()))
            .collect();
        let text = |it: &'static str| move |column: &Value| column[it].as_str().unwrap().to_owned();
        let expected: Vec<_> = columns.as_array().unwrap().iter().collect();
        assert_eq!(found.len(), expected.len(), "{file}");
        for (found, expected) in found.iter().zip(expected) {
            let expected = ["name", "unit", "description"].map(|it| text(it)(expected));
            assert_eq!(
                [found.0, found.1, found.2],
                expected.each_ref().map(String::as_str),
                "{file}"
            );
        }
    }
    // What a run says is what the schema says, no word more or less.
    let summary = folder.summary("results");
    let schema = folder.json(&["schema", "--results"]);
    let run = &schema["$defs"]["Run"]["properties"];
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    // Runs whose hosts are real kernels say which, what ran in them and how a rehearsal went, and no other run does.
    let of_kernels = ["kernel", "programs", "rehearsal"];
    let is_common = |key: &String| !of_kernels.contains(&key.as_str());
    let expected: Vec<String> = keys(run).into_iter().filter(is_common).collect();
    assert_eq!(keys(&summary["runs"][0]), expected);
    assert_eq!(expected.len() + of_kernels.len(), keys(run).len());
}

//! The tables of fields in docs/add-a-controller.md against the structs. With `UPDATE_DOCS=1` they are written instead.

#![allow(clippy::disallowed_methods, reason = "the page is a file of the repository")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::{env, fs};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/add-a-controller.md");
const SOURCE: &str = include_str!("../../src/window.rs");
const BEGIN: &str = "<!-- generated: fields of ";
const END: &str = "<!-- end of generated -->";

/// The fields of a struct of window.rs as rows: name, type, and the doc comment without the links of rustdoc.
fn table(name: &str) -> String {
    let (_, body) = SOURCE.split_once(&format!("pub struct {name} {{\n")).unwrap();
    let (body, _) = body.split_once("\n}").unwrap();
    let (mut rows, mut words) = ("| field | type | meaning |\n|---|---|---|\n".to_owned(), Vec::new());
    for line in body.lines().map(str::trim) {
        if let Some(comment) = line.strip_prefix("/// ") {
            words.push(comment);
        } else if let Some((field, kind)) = line.strip_prefix("pub ").and_then(|it| it.split_once(": ")) {
            let text = words.join(" ").replace("[`", "`").replace("`]", "`");
            rows.extend(["| `", field, "` | `", kind.trim_end_matches(','), "` | ", &text, " |\n"]);
            words.clear();
        }
    }
    rows
}

#[test]
fn tables_of_fields_are_up_to_date() {
    let page = fs::read_to_string(PAGE).unwrap();
    let mut parts = page.split(BEGIN);
    let mut written = parts.next().unwrap().to_owned();
    let mut names = Vec::new();
    for part in parts {
        let (name, rest) = part.split_once(" -->").unwrap();
        let (_, rest) = rest.split_once(END).unwrap();
        written.extend([BEGIN, name, " -->\n\n", &table(name), "\n", END, rest]);
        names.push(name);
    }
    assert_eq!(names, ["Start", "Ack", "RateSample", "Loss", "Undo"]);
    if env::var_os("UPDATE_DOCS").is_some() {
        return fs::write(PAGE, written).unwrap();
    }
    let how = "UPDATE_DOCS=1 cargo test -p shallop-control --test it page";
    assert!(page == written, "the tables of {PAGE} are not up to date: {how}");
}

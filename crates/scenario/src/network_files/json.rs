//! Network files in JSON: an object with the lists `nodes` and `links` (or `edges`), as of networkx' `node_link_data`
//! and of D3. A node is an object with an `id` or `name`, or only its name; a link is an object with `source` and
//! `target`, or other names for its ends, or a list of both ends and attributes.

use super::edges::both_ends;
use super::{Drawing, Element, Wrong};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

const HELP: &str = "an object with the lists `nodes` and `links` (or `edges`), as networkx' node_link_data writes it";

pub(super) fn read(text: &str) -> Result<Drawing, Wrong> {
    let root: Value = serde_json::from_str(text).map_err(|error| {
        let message = format!("this is not JSON: {error}");
        Wrong::new(error.line(), message, HELP)
    })?;
    let whole = |message: &str| Wrong { line: None, message: message.to_owned(), help: HELP.into() };
    let Value::Object(root) = root else { return Err(whole("it is no object")) };
    let mut lines = lines(text).into_iter();
    let mut drawing = Drawing::default();
    let mut joins = Vec::new();
    for (key, list) in &root {
        drawing.directed |= key == "directed" && list == &Value::Bool(true);
        let Value::Array(list) = list else { continue };
        for (number, entry) in list.iter().enumerate() {
            let line = if entry.is_object() || entry.is_array() { lines.next().unwrap_or(1) } else { 1 };
            match key.to_ascii_lowercase().as_str() {
                "nodes" | "vertices" => drawing.nodes.push(node(entry, line, number)?),
                "links" | "edges" => joins.push((entry, line)),
                _ => {}
            }
        }
    }
    if drawing.nodes.is_empty() || joins.is_empty() {
        return Err(whole("it has no list of nodes or none of links"));
    }
    // In a file without an `id`, as of D3, ends may be numbers of nodes.
    let numbered = !drawing.nodes.iter().any(|(_, element)| element.get(&["id"]).is_some());
    let names: BTreeSet<&str> = drawing.nodes.iter().map(|(name, _)| name.as_str()).collect();
    for (entry, line) in joins {
        let (ends, element) = link(entry, line)?;
        let ends = ends.map(|end| {
            let number = end.parse::<usize>().ok().filter(|_| numbered && !names.contains(end.as_str()));
            number.and_then(|at| drawing.nodes.get(at)).map_or(end, |node| node.0.clone())
        });
        drawing.edges.push((ends, element));
    }
    Ok(drawing)
}

/// A number, text or truth value as text.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

/// The attributes of a node or link, and the attributes of objects in it.
fn element(map: &Map<String, Value>, line: usize) -> Element {
    let mut attributes = Vec::new();
    for (key, value) in map {
        let inner = value.as_object().into_iter().flatten();
        attributes.extend(inner.filter_map(|(key, value)| Some((key.clone(), plain(value)?))));
        attributes.extend(plain(value).map(|text| (key.clone(), text)));
    }
    Element { line, attributes }
}

/// A node; without an `id` and a name it is its number in the list.
fn node(entry: &Value, line: usize, number: usize) -> Result<(String, Element), Wrong> {
    if let Some(name) = plain(entry) {
        return Ok((name, Element { line, ..Element::default() }));
    }
    let map = entry.as_object().ok_or_else(|| Wrong::new(line, "this node is no object", HELP))?;
    let element = element(map, line);
    let id = element.get(&["id", "name", "label"]).map_or_else(|| number.to_string(), |it| it.1.to_owned());
    Ok((id, element))
}

fn link(entry: &Value, line: usize) -> Result<([String; 2], Element), Wrong> {
    let missing = || Wrong::new(line, "this link lacks its `source` or `target`", HELP);
    if let Value::Array(list) = entry {
        let [a, b] = [0, 1].map(|at| list.get(at).and_then(plain));
        let map = list.iter().find_map(Value::as_object).cloned().unwrap_or_default();
        return Ok(([a.ok_or_else(missing)?, b.ok_or_else(missing)?], element(&map, line)));
    }
    let element = element(entry.as_object().ok_or_else(missing)?, line);
    let ends = both_ends(element.attributes.iter().map(|it| it.0.as_str())).ok_or_else(missing)?;
    let ends = ends.map(|at| element.attributes[at].clone());
    let rest = element.attributes.iter().filter(|it| !ends.contains(it)).cloned().collect();
    Ok((ends.map(|it| it.1), Element { line, attributes: rest }))
}

/// The line of each object or list in a list of the root, in their order.
fn lines(text: &str) -> Vec<usize> {
    let (mut found, mut open, mut line) = (Vec::new(), Vec::new(), 1);
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\n' => line += 1,
            '"' => {
                while let Some(inner) = chars.next().filter(|c| *c != '"') {
                    line += usize::from(inner == '\n');
                    let _ = (inner == '\\').then(|| chars.next());
                }
            }
            '{' | '[' => {
                if open == ['{', '['] {
                    found.push(line);
                }
                open.push(c);
            }
            '}' | ']' => drop(open.pop()),
            _ => {}
        }
    }
    found
}

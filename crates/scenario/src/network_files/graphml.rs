//! Network files in `GraphML`, with one graph. The attributes of nodes and edges are `data` elements, each
//! with the id of a declared `key`.

use super::{Drawing, Element, Wrong};
use roxmltree::{Document, Node};
use std::collections::BTreeMap;

/// The offset in bytes of each line break, to find the line of an XML node.
pub(super) struct Lines(Vec<usize>);

impl Lines {
    pub fn of(text: &str) -> Self {
        Self(text.match_indices('\n').map(|(at, _)| at).collect())
    }

    pub fn line(&self, node: Node<'_, '_>) -> usize {
        self.0.partition_point(|&end| end < node.range().start) + 1
    }
}

/// A `key` element, which declares an attribute of nodes or edges: the attribute's name, and its default.
struct Key<'a> {
    name: &'a str,
    of: &'a str,
    default: Option<&'a str>,
}

type Keys<'a> = BTreeMap<&'a str, Key<'a>>;

const ONE: &str = "a file has one <graph>, with a <node> for each node and an <edge> for each link";

/// Parses a text as XML without a DTD.
pub(super) fn document(text: &str) -> Result<Document<'_>, Wrong> {
    Document::parse(text).map_err(|error| {
        let line = error.pos().row as usize;
        if matches!(error, roxmltree::Error::DtdDetected) {
            let line = text.lines().position(|line| line.contains("<!DOCTYPE")).map(|at| at + 1);
            let help = "delete the <!DOCTYPE ...> at the head of the file: entities are not read";
            return Wrong { line, message: "the file has a DTD".into(), help: help.into() };
        }
        Wrong::new(line, format!("this is not XML: {error}"), "the file's ending says XML")
    })
}

pub(super) fn read(text: &str) -> Result<Drawing, Wrong> {
    let document = document(text)?;
    let lines = Lines::of(text);
    let root = document.root_element();
    if root.tag_name().name() != "graphml" {
        let message = format!("expected <graphml>, found <{}>", root.tag_name().name());
        return Err(Wrong::new(lines.line(root), message, "the file's ending says GraphML"));
    }
    let mut keys = Keys::new();
    for key in children(root, "key") {
        let Some(id) = key.attribute("id") else {
            return Err(Wrong::new(lines.line(key), "a <key> lacks its `id`", ""));
        };
        let name = key.attribute("attr.name").unwrap_or(id);
        let default = children(key, "default").next().and_then(|node| node.text());
        let of = key.attribute("for").unwrap_or("all");
        keys.insert(id, Key { name, of, default });
    }
    let mut graphs = children(root, "graph");
    let Some(graph) = graphs.next() else {
        return Err(Wrong::new(lines.line(root), "there is no <graph> in it", ONE));
    };
    if let Some(second) = graphs.next() {
        return Err(Wrong::new(lines.line(second), "a second <graph>", ONE));
    }
    parts(graph, &keys, &lines)
}

pub(super) fn children<'a, 'i>(of: Node<'a, 'i>, tag: &'static str) -> impl Iterator<Item = Node<'a, 'i>> {
    of.children().filter(move |child| child.tag_name().name() == tag)
}

fn parts(graph: Node<'_, '_>, keys: &Keys<'_>, lines: &Lines) -> Result<Drawing, Wrong> {
    let directed = graph.attribute("edgedefault") == Some("directed");
    let mut drawing = Drawing { directed, ..Drawing::default() };
    for child in graph.children().filter(Node::is_element) {
        let line = lines.line(child);
        let must = |name: &str| {
            let found = child.attribute(name).map(str::to_owned);
            let tag = child.tag_name().name();
            found.ok_or_else(|| Wrong::new(line, format!("this <{tag}> lacks its `{name}`"), ""))
        };
        match child.tag_name().name() {
            "node" => drawing.nodes.push((must("id")?, element(child, keys, lines)?)),
            "edge" => {
                let ends = [must("source")?, must("target")?];
                drawing.directed |= child.attribute("directed") == Some("true");
                drawing.edges.push((ends, element(child, keys, lines)?));
            }
            "data" | "desc" => {}
            other => {
                let help = "allowed in a <graph>: <node>, <edge>, <data>, <desc>";
                return Err(Wrong::new(line, format!("<{other}> is not read"), help));
            }
        }
    }
    Ok(drawing)
}

fn element(of: Node<'_, '_>, keys: &Keys<'_>, lines: &Lines) -> Result<Element, Wrong> {
    let mut element = Element { line: lines.line(of), attributes: Vec::new() };
    if let Some(nested) = children(of, "graph").next() {
        let help = "nodes hold no graphs of their own";
        return Err(Wrong::new(lines.line(nested), "a <graph> inside another", help));
    }
    for data in children(of, "data") {
        let line = lines.line(data);
        let Some(key) = data.attribute("key") else {
            return Err(Wrong::new(line, "this <data> lacks its `key`", ""));
        };
        let Some(declared) = keys.get(key) else {
            let known: Vec<&str> = keys.keys().copied().collect();
            let help = format!("declared: {}", known.join(", "));
            return Err(Wrong::new(line, format!("there is no <key id=\"{key}\">"), help));
        };
        let text = data.text().unwrap_or_default();
        element.attributes.push((declared.name.to_owned(), text.to_owned()));
    }
    // yEd keeps the texts of nodes and edges in its drawing of them.
    let drawn = |node: &Node<'_, '_>| ["NodeLabel", "EdgeLabel"].contains(&node.tag_name().name());
    let mut texts = of.descendants().filter(drawn).filter_map(|label| label.text()).map(str::trim);
    let (name, text) = match of.tag_name().name() {
        // A link may have a label for its rate and another for its delay.
        "edge" => ("LinkLabel", texts.collect::<Vec<_>>().join(" ")),
        _ => ("label", texts.next().unwrap_or_default().to_owned()),
    };
    if !text.is_empty() && element.get(&[name]).is_none() {
        element.attributes.push((name.to_owned(), text.trim().to_owned()));
    }
    for key in keys.values().filter(|key| [of.tag_name().name(), "all"].contains(&key.of)) {
        if let Some(default) = key.default
            && element.get(&[key.name]).is_none()
        {
            element.attributes.push((key.name.to_owned(), default.to_owned()));
        }
    }
    Ok(element)
}

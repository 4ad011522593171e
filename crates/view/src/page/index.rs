//! The index page of several results.

use super::{document::document, parts::element};
use crate::text::escape;
use std::fmt::Write;

/// A line of an index page: the results of one scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexEntry {
    /// The folder with the page of the results, relative to the index page.
    pub folder: String,
    pub title: String,
    /// Whether the quick form of the scenario was run.
    pub quick: bool,
    /// The counts of verdicts as text; empty for results without claims.
    pub claims: String,
    /// The worst verdict on the claims, as a word from [`super::worst`].
    pub worst: &'static str,
}

/// The HTML of an index page. `total` states the counts of verdicts of all claims; it may be empty.
pub fn index(version: &str, total: &str, entries: &[IndexEntry]) -> String {
    let mut body = String::from("<header>\n<h1>Results</h1>\n");
    body.push_str("<button id=\"theme\" type=\"button\">Light or dark</button>\n</header>\n<main>\n");
    let noun = if entries.len() == 1 { "result" } else { "results" };
    let total = if total.is_empty() { String::new() } else { format!(", {total}") };
    element(&mut body, "p", "headline", &format!("{} {noun}{total}.", entries.len()));
    body.push_str("<table class=\"index\">\n<thead><tr>");
    for heading in ["report", "shows", "claims"] {
        let _ = write!(body, "<th class=\"words\" scope=\"col\">{heading}</th>");
    }
    body.push_str("</tr></thead>\n<tbody>\n");
    for entry in entries {
        let quick = if entry.quick { " (quick)" } else { "" };
        let _ = writeln!(
            body,
            "<tr><td class=\"words\"><a href=\"{}/report.html\">{}</a></td><td class=\"words\">{}{quick}</td>\
             <td class=\"words {}\">{}</td></tr>",
            escape(&address(&entry.folder)),
            escape(&entry.folder),
            escape(&entry.title),
            entry.worst,
            escape(&entry.claims)
        );
    }
    let _ = writeln!(body, "</tbody></table>\n</main>\n<footer><p>Made by shallop {}.</p></footer>", escape(version));
    document("Results", &body, &[])
}

/// Percent-encodes a file name, as part of a URL.
fn address(name: &str) -> String {
    let mut out = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

//! HTML pages that need no other files, no network and no server. The content security policy of a page admits the
//! embedded scripts by their digests; it admits no other scripts, no `eval` and no addresses.

use std::fmt::Write;

use serde_json::json;

use crate::figure::Figure;
use crate::scripts::{NOTICES, Script, VEGA, VEGA_EMBED, VEGA_LITE, digest};
use crate::text::{escape, json, list};
use shallop_results::Summary;

const STYLE: &str = include_str!("../assets/page.css");
const SCRIPT: &str = include_str!("../assets/page.js");

/// A table of texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageTable {
    /// The title.
    pub title: String,
    /// The heading of each column.
    pub header: Vec<String>,
    /// The rows, each with a cell for each column.
    pub rows: Vec<Vec<String>>,
    /// The number of columns, from the left, that are words; the others are numbers.
    pub words: usize,
    /// The explanation of the headings.
    pub legend: String,
}

/// A page of results.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// The results.
    pub summary: &'a Summary,
    /// The tables, as the command prints them.
    pub tables: &'a [PageTable],
    /// The figures with data.
    pub figures: &'a [Figure],
}

/// An entry of an index page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexEntry {
    /// The folder of its results, relative to the page.
    pub folder: String,
    /// The title of the scenario.
    pub title: String,
    /// Whether the smaller form of the scenario was run.
    pub quick: bool,
    /// The counts of verdicts as text; empty without claims.
    pub claims: String,
}

impl Page<'_> {
    /// The page as HTML. The same results give the same bytes.
    #[must_use]
    pub fn html(&self) -> String {
        let mut body = String::new();
        self.head(&mut body);
        self.setup(&mut body);
        for table in self.tables {
            section(&mut body, table);
        }
        if !self.figures.is_empty() {
            body.push_str(
                "<h2>Figures</h2>\n<p class=\"legend screen\">A click on names in a legend picks them out, \
                 another lets them go. Where axes are quantities, dragging \
                 moves, the wheel with the Ctrl key zooms, a double click resets. Times and sizes of bytes are in \
                 powers of 1,000.</p>\n\
                 <noscript><p class=\"note\">Scripts draw figures, and this browser runs none.</p></noscript>\n\
                 <div class=\"figures\">\n",
            );
            self.figures.iter().for_each(|figure| plot(&mut body, figure));
            body.push_str("</div>\n");
        }
        self.foot(&mut body);
        if !self.figures.is_empty() {
            let data = data(self.figures);
            let _ = writeln!(body, "<script type=\"application/json\" id=\"data\">{data}</script>");
        }
        let title = self.summary.id.as_deref().unwrap_or(&self.summary.scenario);
        document(&format!("{title} · shallop"), &body, &self.scripts())
    }

    fn head(&self, out: &mut String) {
        let summary = self.summary;
        let name = match &summary.id {
            Some(id) => format!("{id}: {}", summary.scenario),
            None => summary.scenario.clone(),
        };
        out.push_str("<header>\n");
        element(out, "h1", "", &name);
        out.push_str("<button id=\"theme\" type=\"button\">Light or dark</button>\n</header>\n");
        if !summary.about.is_empty() && summary.about != summary.scenario {
            element(out, "p", "question", &summary.about);
        }
        if summary.quick {
            let text = "A quick run: a smaller form of the scenario, to see that all works. Judge by the full run.";
            element(out, "p", "note", text);
        }
        if summary.interrupted {
            let text = "The work was interrupted: some runs are missing here.";
            element(out, "p", "note", text);
        }
    }

    fn setup(&self, out: &mut String) {
        let summary = self.summary;
        out.push_str("<h2>What was run</h2>\n<dl class=\"facts\">\n");
        let mut say = |what: &str, value: &str| {
            if !value.is_empty() {
                let _ = writeln!(out, "<dt>{}</dt><dd>{}</dd>", escape(what), escape(value));
            }
        };
        for fact in &summary.setup {
            let how = if fact.how.is_empty() { String::new() } else { format!(" ({})", fact.how) };
            say(&fact.what, &format!("{}{how}", fact.value));
        }
        let schemes = summary.schemes.iter().map(|scheme| match scheme.transport.as_str() {
            transport if transport.is_empty() || transport == scheme.name => scheme.name.clone(),
            transport => format!("{} ({transport})", scheme.name),
        });
        say("schemes", &list(&schemes.collect::<Vec<_>>()));
        if summary.points.len() > 1 {
            let names: Vec<String> =
                summary.points.iter().map(|point| point.name.clone()).collect();
            say(&format!("{} points", names.len()), &names.join("; "));
        }
        let seeds: Vec<String> = summary.seeds.iter().map(ToString::to_string).collect();
        say(if seeds.len() == 1 { "seed" } else { "seeds" }, &list(&seeds));
        say("form", if summary.quick { "quick" } else { "full" });
        say("version", &format!("shallop {}", summary.version));
        out.push_str("</dl>\n");
    }

    fn foot(&self, out: &mut String) {
        out.push_str("<footer>\n");
        let _ = writeln!(
            out,
            "<p>Made by shallop {} from summary.json, flows.parquet and series.parquet beside this page.</p>",
            escape(&self.summary.version)
        );
        if !self.figures.is_empty() {
            let [vega, lite, embed] = [VEGA, VEGA_LITE, VEGA_EMBED].map(Script::version);
            let _ = writeln!(
                out,
                "<details class=\"screen\"><summary>Drawn by Vega {vega}, Vega-Lite {lite} and vega-embed {embed}, \
                 which are in this page. Their licences</summary>\n<pre>{}</pre></details>",
                escape(NOTICES)
            );
        }
        out.push_str("</footer>\n");
    }

    fn scripts(&self) -> Vec<String> {
        if self.figures.is_empty() {
            return Vec::new();
        }
        let scripts = [VEGA, VEGA_LITE, VEGA_EMBED].map(Script::inline);
        scripts.into_iter().chain([SCRIPT.to_owned()]).collect()
    }
}

/// The index page of several results.
#[must_use]
pub fn index(version: &str, entries: &[IndexEntry]) -> String {
    let mut body =
        String::from("<header>\n<h1>Results</h1>\n</header>\n<div class=\"scroll\"><table>\n");
    let headings =
        ["report", "shows", "claims"].map(|text| format!("<th class=\"words\">{text}</th>"));
    let _ = writeln!(body, "<tr>{}</tr>", headings.concat());
    for entry in entries {
        let quick = if entry.quick { " (quick)" } else { "" };
        let _ = writeln!(
            body,
            "<tr><td class=\"words\"><a href=\"{}/report.html\">{}</a></td><td class=\"words\">{}{quick}</td>\
             <td class=\"words\">{}</td></tr>",
            escape(&address(&entry.folder)),
            escape(&entry.folder),
            escape(&entry.title),
            escape(&entry.claims)
        );
    }
    let _ = writeln!(
        body,
        "</table></div>\n<footer><p>Made by shallop {}.</p></footer>",
        escape(version)
    );
    document("Results · shallop", &body, &[])
}

/// A name as a part of a URL, percent-encoded.
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

fn document(title: &str, body: &str, scripts: &[String]) -> String {
    let mut policy =
        String::from("default-src 'none'; style-src 'unsafe-inline'; img-src data: blob:");
    if !scripts.is_empty() {
        policy.push_str("; script-src");
        for script in scripts {
            let _ = write!(policy, " '{}'", digest(script));
        }
    }
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{}</title>\n\
         <link rel=\"icon\" href=\"data:,\">\n<style>\n{STYLE}</style>\n</head>\n<body>\n{body}",
        escape(title)
    );
    for script in scripts {
        let _ = writeln!(out, "<script>{script}</script>");
    }
    out.push_str("</body>\n</html>\n");
    out
}

fn element(out: &mut String, name: &str, class: &str, text: &str) {
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    let _ = writeln!(out, "<{name}{class}>{}</{name}>", escape(text));
}

fn section(out: &mut String, table: &PageTable) {
    element(out, "h2", "", &table.title);
    out.push_str("<div class=\"scroll\"><table>\n<thead><tr>");
    let class = |place: usize| if place < table.words { " class=\"words\"" } else { "" };
    for (place, heading) in table.header.iter().enumerate() {
        let _ = write!(out, "<th{}>{}</th>", class(place), escape(heading));
    }
    out.push_str("</tr></thead>\n");
    for row in &table.rows {
        out.push_str("<tr>");
        for (place, cell) in row.iter().enumerate() {
            let verdict =
                matches!(cell.as_str(), "reported" | "holds" | "differs" | "undecided" | "fails");
            if verdict && place >= table.words {
                let _ = write!(out, "<td class=\"{cell}\">{cell}</td>");
            } else {
                let _ = write!(out, "<td{}>{}</td>", class(place), escape(cell));
            }
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</table></div>\n");
    if !table.legend.is_empty() {
        element(out, "p", "legend", &table.legend);
    }
}

fn plot(out: &mut String, figure: &Figure) {
    let class = if figure.wide { " class=\"wide\"" } else { "" };
    let _ = writeln!(
        out,
        "<figure id=\"{}\"{class}>\n<h3>{}</h3>\n<div class=\"plot\"></div>\n<figcaption>{} \
         <button class=\"csv\" type=\"button\">Data as CSV</button></figcaption>\n</figure>",
        escape(&figure.id),
        escape(&figure.title),
        escape(&figure.caption)
    );
}

/// The figures as JSON for the script of the page.
fn data(figures: &[Figure]) -> String {
    let one = |figure: &Figure| {
        json!({
            "id": figure.id,
            "columns": figure.rows.columns,
            "rows": figure.rows.rows,
            "spec": figure.spec,
        })
    };
    let all: Vec<serde_json::Value> = figures.iter().map(one).collect();
    json(&serde_json::Value::Array(all))
}

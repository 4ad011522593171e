//! HTML for the parts of a page: tables and figures.

use super::PageTable;
use crate::figure::Figure;
use crate::text::{escape, prose};
use serde_json::json;
use std::fmt::Write;

pub(super) fn element(out: &mut String, name: &str, class: &str, text: &str) {
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    let _ = writeln!(out, "<{name}{class}>{}</{name}>", prose(text));
}

/// Writes a table with its title. The table scrolls in a box that the keyboard can reach.
pub(super) fn section(out: &mut String, table: &PageTable) {
    let (title, id) = (escape(&table.title), anchor(&table.title));
    let _ = writeln!(
        out,
        "<h2 id=\"{id}\">{title}</h2>\n<div class=\"scroll\" role=\"region\" aria-labelledby=\"{id}\" \
         tabindex=\"0\"><table>\n<thead><tr>"
    );
    let class = |place: usize| if place < table.words { " class=\"words\"" } else { "" };
    // A column with points becomes rows above the rows of each point: names of points are long.
    let skip = usize::from(table.header.len() > 1 && table.header[0] == "point");
    for (place, heading) in table.header.iter().enumerate().skip(skip) {
        let _ = write!(out, "<th scope=\"col\"{}>{}</th>", class(place), escape(heading));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    let mut above = None;
    for row in &table.rows {
        let is_alone = row.len() > 1 && row[1..].iter().all(String::is_empty);
        if is_alone || (skip > 0 && above != row.first()) {
            above = row.first();
            let point = row.first().map_or_else(String::new, |point| prose(point));
            let _ = writeln!(out, "<tr><td class=\"words\" colspan=\"{}\">{point}</td></tr>", row.len() - skip);
        }
        if is_alone {
            continue;
        }
        // The figures of a run that does not count are grey.
        let is_void = row.iter().any(|cell| cell == "VOID");
        out.push_str(if is_void { "<tr class=\"void\">" } else { "<tr>" });
        for (place, cell) in row.iter().enumerate().skip(skip) {
            let verdict = matches!(cell.as_str(), "reported" | "holds" | "differs" | "undecided" | "fails");
            if verdict && place >= table.words {
                let _ = write!(out, "<td class=\"{cell}\">{cell}</td>");
            } else {
                let _ = write!(out, "<td{}>{}</td>", class(place), prose(cell));
            }
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
    if !table.legend.is_empty() {
        element(out, "p", "legend", &table.legend);
    }
    if !table.warnings.is_empty() {
        let warnings = prose(&table.warnings.join("\n"));
        let _ = writeln!(out, "<p class=\"note lines\" id=\"warnings\">{warnings}</p>");
    }
}

/// The id of a title for links within the page: lower case, with dashes.
fn anchor(title: &str) -> String {
    let letter = |letter: char| {
        if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' }
    };
    title.chars().map(letter).collect()
}

/// Writes a figure as its data in words. The script of the page replaces the words by a drawing.
pub(super) fn plot(out: &mut String, figure: &Figure) {
    let class = if figure.wide { " class=\"wide\"" } else { "" };
    let id = escape(&figure.id);
    let _ = write!(
        out,
        "<figure id=\"{id}\"{class} aria-labelledby=\"{id}-title\">\n<h3 id=\"{id}-title\">{}</h3>\n\
         <div class=\"plot\" role=\"group\" aria-label=\"{}\"></div>\n<figcaption>{}\n<span class=\"screen\">",
        prose(&figure.title),
        escape(&figure.alt),
        prose(&figure.caption)
    );
    for kind in ["CSV", "SVG", "PNG"] {
        let (class, title) = (kind.to_ascii_lowercase(), escape(&figure.title));
        let _ =
            write!(out, "<button class=\"{class}\" type=\"button\" aria-label=\"{kind} of {title}\">{kind}</button> ");
    }
    out.push_str("</span></figcaption>\n</figure>\n");
}

/// The specs and data of all figures as JSON, for the script of the page.
pub(super) fn data(figures: &[Figure]) -> String {
    let one = |figure: &Figure| {
        json!({
            "id": figure.id,
            "columns": figure.rows.columns,
            "rows": figure.rows.rows,
            "spec": figure.spec,
        })
    };
    figures.iter().map(one).collect::<serde_json::Value>().to_string()
}

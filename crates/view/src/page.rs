//! HTML pages that need no other files, no network and no server. The content security policy of a page admits the
//! embedded scripts by their digests; it admits no other scripts, no `eval` and no addresses.

mod document;
mod index;
mod parts;

pub use document::is_page;
pub use index::{IndexEntry, index};

use crate::scripts::{NOTICES, Script, VEGA, VEGA_EMBED, VEGA_LITE, pack};
use crate::text::{escape, list, prose, thousands};
use crate::{figure::Figure, headline::Headline};
use document::document;
use parts::{data, element, plot, section};
use shallop_results::{JudgedClaim, Summary, Verdict, table};
use std::fmt::Write;

/// A table on a page, as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageTable {
    pub title: String,
    pub header: Vec<String>,
    /// The rows of the table, each with a text for each column.
    pub rows: Vec<Vec<String>>,
    /// The number of columns, from the left, that contain words. The other columns contain numbers.
    pub words: usize,
    /// Text below the table that explains its headings.
    pub legend: String,
    /// Warnings below the table about its numbers; may be empty.
    pub warnings: Vec<String>,
}

/// A page with the results of a scenario.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    pub summary: &'a Summary,
    /// The tables of the page, with the text that the command prints.
    pub tables: &'a [PageTable],
    /// The figures of the page, all with data.
    pub figures: &'a [Figure],
}

impl Page<'_> {
    /// The HTML of the page: the answer and the figure that shows it, the set-up (folded), tables, figures. Equal
    /// results give equal bytes.
    pub fn html(&self) -> String {
        let mut body = String::new();
        let headline = Headline::from_summary(self.summary);
        let lead = self.lead(&headline);
        self.head(&mut body);
        self.answer(&mut body, &headline, lead);
        self.setup(&mut body);
        for table in self.tables {
            section(&mut body, table);
        }
        self.others(&mut body, lead);
        body.push_str("</main>\n");
        foot(&mut body, &self.summary.version, FILES, self.figures);
        let title = self.summary.id.as_deref().unwrap_or(&self.summary.scenario);
        drawn(title, body, self.figures)
    }

    /// The figure that shows what the sentences of the headline state, to be placed beside them.
    fn lead(&self, headline: &Headline) -> Option<&Figure> {
        let named = |id: &&str| self.figures.iter().find(|figure| figure.id == **id);
        headline.figures.iter().find_map(named)
    }

    fn head(&self, out: &mut String) {
        let summary = self.summary;
        let name = match &summary.id {
            Some(id) => format!("{id}: {}", summary.scenario),
            None => summary.scenario.clone(),
        };
        heading(out, &name);
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

    /// Writes the top of the page: the headline, the counts of verdicts, and the figure `lead`, which shows the
    /// headline.
    fn answer(&self, out: &mut String, headline: &Headline, lead: Option<&Figure>) {
        out.push_str("<section class=\"answer\">\n<h2>Result</h2>\n");
        element(out, "p", "headline", &headline.sentences.join(" "));
        let claims = &self.summary.claims;
        if !claims.is_empty() {
            let class = worst(claims);
            let _ = writeln!(
                out,
                "<p class=\"tally {class}\"><a href=\"#claims-of-the-paper\">{}</a></p>",
                escape(&table::tally(claims))
            );
        }
        if !headline.caveat.is_empty() {
            element(out, "p", "caveat", &headline.caveat);
        }
        let warned = self.summary.runs.iter().filter(|run| !run.warnings.is_empty()).count();
        if warned > 0 {
            let (warned, all) = (thousands(warned as u64), thousands(self.summary.runs.len() as u64));
            let verb = if warned == "1" { "has" } else { "have" };
            let _ = writeln!(
                out,
                "<p class=\"note\">{warned} of {all} runs {verb} <a href=\"#warnings\">warnings</a>.</p>"
            );
        }
        if let Some(figure) = lead {
            plot(out, figure);
        }
        out.push_str("</section>\n");
    }

    fn setup(&self, out: &mut String) {
        let summary = self.summary;
        let brief = [
            summary.setup.first().map(|fact| fact.value.clone()),
            Some(counted(summary.schemes.len(), "scheme")),
            (summary.points.len() > 1).then(|| counted(summary.points.len(), "point")),
            Some(counted(summary.seeds.len(), "seed")),
        ];
        let brief: Vec<String> = brief.into_iter().flatten().collect();
        let _ = writeln!(
            out,
            "<details class=\"setup\"><summary><span>What was run</span>: {}</summary>\n<dl class=\"facts\">",
            escape(&brief.join(", "))
        );
        let mut say = |what: &str, value: &str| {
            if !value.is_empty() {
                let _ = writeln!(out, "<dt>{}</dt><dd>{}</dd>", prose(what), prose(value));
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
            let names: Vec<String> = summary.points.iter().map(|point| point.name.clone()).collect();
            say(&format!("{} points", names.len()), &names.join("; "));
        }
        let seeds: Vec<String> = summary.seeds.iter().map(ToString::to_string).collect();
        say(if seeds.len() == 1 { "seed" } else { "seeds" }, &list(&seeds));
        say("form", if summary.quick { "quick" } else { "full" });
        say("version", &format!("shallop {}", summary.version));
        out.push_str("</dl>\n</details>\n");
    }

    /// Writes all figures except `lead`, which the top of the page has.
    fn others(&self, out: &mut String, lead: Option<&Figure>) {
        let others = self.figures.iter().filter(|figure| lead.is_none_or(|lead| lead.id != figure.id));
        let mut others = others.peekable();
        if others.peek().is_none() {
            return;
        }
        out.push_str(
            "<h2>Figures</h2>\n<p class=\"legend screen\">A click on names in a legend, or Enter, picks them out; \
             another lets them go. Where axes are quantities, dragging moves, the wheel with the Ctrl key zooms, a \
             double click resets. A KB is 1,000 bytes.</p>\n<div class=\"figures\">\n",
        );
        let mut is_second = false;
        while let Some(figure) = others.next() {
            // A figure alone in its row is as wide as the page.
            let is_alone = !is_second && others.peek().is_none_or(|next| next.wide);
            is_second = !figure.wide && !is_second && !is_alone;
            plot(out, &Figure { wide: figure.wide || is_alone, ..figure.clone() });
        }
        out.push_str("</div>\n");
    }
}

/// The files that a page with results is made from.
const FILES: &str = "summary.json, flows.parquet and series.parquet";

/// A page of an answer: what it says, tables, and figures that all have data. `file` is what the page is made from.
pub fn answer(
    title: &str, version: &str, file: &str, says: &[&str], tables: &[PageTable], figures: &[Figure],
) -> String {
    let mut body = String::new();
    heading(&mut body, title);
    body.push_str("<section class=\"answer\">\n<h2>Result</h2>\n");
    for text in says {
        element(&mut body, "p", "headline", text);
    }
    for figure in figures {
        plot(&mut body, figure);
    }
    body.push_str("</section>\n");
    for table in tables {
        section(&mut body, table);
    }
    body.push_str("</main>\n");
    foot(&mut body, version, file, figures);
    drawn(title, body, figures)
}

fn heading(out: &mut String, name: &str) {
    out.push_str("<header>\n");
    element(out, "h1", "", name);
    out.push_str("<button id=\"theme\" type=\"button\">Light or dark</button>\n</header>\n<main>\n");
}

/// The document with this body, and with the scripts and data that draw the figures.
fn drawn(title: &str, mut body: String, figures: &[Figure]) -> String {
    if !figures.is_empty() {
        let data = pack(&data(figures));
        let _ = writeln!(body, "<script type=\"application/gzip\" id=\"data\">{data}</script>");
    }
    let libraries: &[Script] = if figures.is_empty() { &[] } else { &[VEGA, VEGA_LITE, VEGA_EMBED] };
    document(title, &body, libraries)
}

fn foot(out: &mut String, version: &str, files: &str, figures: &[Figure]) {
    out.push_str("<footer>\n");
    let _ = writeln!(out, "<p>Made by shallop {} from {files} beside this page.</p>", escape(version));
    if !figures.is_empty() {
        let [vega, lite, embed] = [VEGA, VEGA_LITE, VEGA_EMBED].map(Script::version);
        let _ = writeln!(
            out,
            "<noscript><p class=\"note\">Scripts draw figures, and this browser runs none.</p></noscript>\n\
             <details class=\"screen\"><summary>Drawn by Vega {vega}, Vega-Lite {lite} and vega-embed {embed}, which \
             are in this page. Their licences</summary>\n<pre>{}</pre></details>",
            escape(NOTICES)
        );
    }
    out.push_str("</footer>\n");
}

/// The worst verdict on these claims, as a word; "reported" if no claim was judged.
pub fn worst(claims: &[JudgedClaim]) -> &'static str {
    let judged = claims.iter().map(|claim| claim.verdict).filter(|verdict| *verdict != Verdict::NotRun);
    judged.max().unwrap_or(Verdict::Reported).word()
}

/// A number with its noun, in singular or plural: "1 seed", "3 seeds".
fn counted(number: usize, noun: &str) -> String {
    format!("{} {noun}{}", thousands(number as u64), if number == 1 { "" } else { "s" })
}

//! Where the numbers on pages come from. Every number of README.md and of a page of docs is one of these:
//!
//! 1. a figure of a recorded run of a shipped file (`docs/recorded/figures.toml`: sentences, tables and pictures), or
//!    between marks of a generator, whose page a test compares with its records;
//! 2. a figure of a measurement (`docs/recorded/pages/PAGE.toml`, see `measured.rs`);
//! 3. given: a setting, count or citation, in the list `given` of that file;
//! 4. no figure: code, links, headings, and numbers that name something (see `untraced.rs`).
//!
//! All others are found, and so are figures that differ from their record. No page is exempt.
//!
//! | key | meaning |
//! |---|---|
//! | `["PAGE"] figures` | `[text, record, scheme, point, metric, scale, decimals]`; `{}` in the text is the figure |
//! | `[pictures.NAME]` | a bar chart, docs/figures/NAME.svg |
//! | `[tables.NAME]` | a table of figures, between `<!-- recorded: NAME -->` and `<!-- end of recorded -->` |

mod measured;
mod number;
mod pages;
mod picture;
pub mod record;
pub mod runs;
mod shown;
mod untraced;

use crate::tree::{Finding, Source, root, sources, write as write_file};
use measured::Measured;
use pages::Checked;
use record::{FOLDER, Records};
use std::fs;
use toml::Table;

/// The file that describes figures and tables.
fn description() -> String {
    format!("{FOLDER}/figures.toml")
}

/// A page or picture with its figures as the records have them.
struct Page {
    path: String,
    checked: Checked,
    /// Its other numbers; `None` for a picture.
    measured: Option<Measured>,
}

/// All pages, and the pictures with figures.
fn pages() -> Result<Vec<Page>, String> {
    let read = |path: &str| fs::read_to_string(root().join(path)).map_err(|why| format!("{path}: {why}"));
    let mut described: Table = read(&description())?.parse().map_err(|why| format!("{FOLDER}: {why}"))?;
    let records = Records::read(&root())?;
    let mut part = |name: &str| described.remove(name).and_then(|it| it.as_table().cloned()).unwrap_or_default();
    let (tables, pictures, mut pages) = (part("tables"), part("pictures"), Vec::new());
    for (name, of) in pictures {
        let path = format!("docs/figures/{name}.svg");
        let text = fs::read_to_string(root().join(&path)).unwrap_or_default();
        let of = of.as_table().ok_or_else(|| format!("{name}: not a table"))?;
        let written = picture::draw(of, &records).map_err(|why| format!("picture {name}: {why}"))?;
        let differs = (text != written).then(|| "shows other figures than the records".to_owned());
        let checked = Checked { written, wrong: differs.into_iter().collect(), traced: Vec::new() };
        pages.push(Page { path, checked, measured: None });
    }
    for page in sources()?.into_iter().filter(is_page) {
        let of = described.remove(&page.path);
        let figures = of.as_ref().and_then(|of| of.get("figures")?.as_array());
        let checked = pages::check(&page.text, figures.unwrap_or(&Vec::new()), &tables, &records);
        let measured = Some(Measured::read(&root(), &page.path)?);
        pages.push(Page { path: page.path, checked, measured });
    }
    match described.keys().next() {
        Some(path) => Err(format!("{} describes {path}, which is no page", description())),
        None => Ok(pages),
    }
}

fn is_page(source: &Source) -> bool {
    let is_of_docs = source.path.starts_with("docs/") && source.path != "docs/SUMMARY.md";
    source.extension() == "md" && (is_of_docs || source.path == "README.md")
}

impl Page {
    fn numbers(&self) -> Vec<untraced::Number> {
        untraced::numbers(&self.checked.written, &self.checked.traced)
    }

    fn findings(&self) -> Vec<Finding> {
        let of_records = self.checked.wrong.iter().map(|what| (0, what.clone()));
        let others = self.measured.iter().flat_map(|measured| measured.wrong(&self.path, &self.numbers()));
        let moved = self.measured.iter().flat_map(|measured| measured.moved(&root(), &self.path));
        of_records.chain(others).chain(moved).map(|(line, what)| Finding::new(&self.path, line, &what)).collect()
    }
}

/// Entries for the numbers of a page of which nothing is known, as `docs/recorded/pages` has them.
pub fn entries(path: &str) -> Result<String, String> {
    let page = pages()?.into_iter().find(|page| page.path == path).ok_or_else(|| format!("{path} is no page"))?;
    Ok(page.measured.as_ref().map_or_else(String::new, |measured| measured.entries_for(&page.numbers())))
}

/// Figures that differ from their record, numbers without one, and files that differ from the shipped ones.
pub fn check_tree() -> Result<Vec<Finding>, String> {
    let mut findings: Vec<Finding> = pages()?.iter().flat_map(Page::findings).collect();
    let examples = root().join("examples");
    for page in sources()?.iter().filter(|page| is_page(page)) {
        findings.extend(shown::differing(page, &examples));
    }
    Ok(findings)
}

/// Writes the figures of the records to the pages.
///
/// # Errors
/// If a record lacks a figure, or a page lacks the sentence or the table for it.
pub fn write() -> Result<(), String> {
    pages()?.iter().try_for_each(|page| write_file(&page.path, &page.checked.written))
}

//! Figures on pages of docs, which come from records of full runs. `docs/recorded/figures.toml` says which: for each
//! page the figures in sentences, and the tables of all pages.
//!
//! | key | meaning |
//! |---|---|
//! | `["PAGE"] figures` | `[text, record, scheme, point, metric, scale, decimals]`; `{}` in the text is the figure |
//! | `["PAGE"] given` | settings, counts and citations; with this key, every other number must be of a record |
//! | `[pictures.NAME]` | a bar chart, docs/figures/NAME.svg |
//! | `[tables.NAME]` | a table of figures, between `<!-- recorded: NAME -->` and `<!-- end of recorded -->` |

mod number;
mod pages;
mod picture;
pub mod record;
pub mod runs;
mod shown;
mod untraced;

use std::fs;

use toml::{Table, Value};

use crate::tree::{Finding, root, sources};
use pages::Checked;
use record::{FOLDER, Records};

/// The file that describes figures and tables.
fn description() -> String {
    format!("{FOLDER}/figures.toml")
}

/// A page with its figures as the records have them.
struct Page {
    path: String,
    text: String,
    checked: Checked,
    /// Numbers that may stand on the page; `None` if it is not known which of its numbers are measured.
    given: Option<Vec<String>>,
}

/// All pages and pictures with figures.
fn pages() -> Result<Vec<Page>, String> {
    let read = |path: &str| fs::read_to_string(root().join(path)).map_err(|why| format!("{path}: {why}"));
    let described: Table = read(&description())?.parse().map_err(|why| format!("{FOLDER}: {why}"))?;
    let records = Records::read(&root())?;
    let part = |name: &str| described.get(name).and_then(Value::as_table).cloned().unwrap_or_default();
    let (tables, mut pages) = (part("tables"), Vec::new());
    for (name, of) in part("pictures") {
        let path = format!("docs/figures/{name}.svg");
        let text = fs::read_to_string(root().join(&path)).unwrap_or_default();
        let of = of.as_table().ok_or_else(|| format!("{name}: not a table"))?;
        let written = picture::draw(of, &records).map_err(|why| format!("picture {name}: {why}"))?;
        let differs = (text != written).then(|| "shows other figures than the records".to_owned());
        let checked = Checked { written, wrong: differs.into_iter().collect(), traced: Vec::new() };
        pages.push(Page { path, text, checked, given: None });
    }
    for (path, of) in described.iter().filter(|(path, _)| !["tables", "pictures"].contains(&path.as_str())) {
        let list = |key: &str| of.get(key).and_then(Value::as_array).cloned();
        let text = read(path)?;
        let checked = pages::check(&text, &list("figures").unwrap_or_default(), &tables, &records);
        let words = |list: Vec<Value>| list.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        pages.push(Page { path: path.clone(), text, checked, given: list("given").map(words) });
    }
    Ok(pages)
}

impl Page {
    fn findings(&self) -> Vec<Finding> {
        let wrong = self.checked.wrong.iter().map(|what| Finding::new(&self.path, 0, what));
        let Some(given) = &self.given else { return wrong.collect() };
        let numbers = untraced::numbers(&self.checked.written, &self.checked.traced);
        let unknown = numbers.into_iter().filter(|(_, number)| !given.contains(number));
        let untraced = |(line, number): (usize, String)| {
            let what = format!("{number} comes from no record: name one in {}, or 'given' there", description());
            Finding::new(&self.path, line, &what)
        };
        wrong.chain(unknown.map(untraced)).collect()
    }
}

/// Figures that differ from their record, numbers without one, and files that differ from the shipped ones.
pub fn check_tree() -> Result<Vec<Finding>, String> {
    let mut findings: Vec<Finding> = pages()?.iter().flat_map(Page::findings).collect();
    let examples = root().join("examples");
    for page in sources()? {
        if page.extension() == "md" && (page.path == "README.md" || page.path.starts_with("docs/")) {
            findings.extend(shown::differing(&page, &examples));
        }
    }
    Ok(findings)
}

/// Writes the figures of the records to the pages.
///
/// # Errors
/// If a record lacks a figure, or a page lacks the sentence or the table for it.
pub fn write() -> Result<(), String> {
    for Page { path, text, checked, .. } in pages()? {
        if text != checked.written {
            let file = root().join(&path);
            fs::write(&file, &checked.written).map_err(|why| format!("{path}: {why}"))?;
            crate::gate::say(&format!("wrote {path}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_on_the_pages_comes_from_its_record() {
        let findings: Vec<String> = check_tree().unwrap().iter().map(ToString::to_string).collect();
        assert!(findings.is_empty(), "make write-docs writes figures:\n{}", findings.join("\n"));
    }

    #[test]
    fn a_number_that_is_neither_traced_nor_given_is_found() {
        let text = "Ten of 20 hosts lose 3.4 %.\n".to_owned();
        let checked = Checked { written: text.clone(), wrong: Vec::new(), traced: Vec::new() };
        let given = Some(vec!["20 hosts".to_owned()]);
        let page = Page { path: "a.md".to_owned(), text, checked, given };
        let found: Vec<String> = page.findings().iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("a.md:1: 3.4 % comes from no record"), "{}", found[0]);
    }
}

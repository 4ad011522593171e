//! Files that pages show and the project ships: a block that begins with `# NAME` is examples/NAME, if there is one.

use crate::tree::{Finding, Source};
use std::{fs, path::Path};

/// The blocks of a page that differ from the shipped file of their name.
pub fn differing(page: &Source, examples: &Path) -> Vec<Finding> {
    let (mut findings, mut lines) = (Vec::new(), (1..).zip(page.text.lines()));
    while let Some((line, fence)) = lines.next() {
        if !fence.starts_with("```") {
            continue;
        }
        let block = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```");
        let block: String = block.flat_map(|line| [line, "\n"]).collect();
        let name = block.lines().next().and_then(|first| first.strip_prefix("# "));
        let Some(name) = name.filter(|name| Path::new(name).components().count() == 1) else {
            continue;
        };
        let shipped = fs::read_to_string(examples.join(name));
        if shipped.is_ok_and(|shipped| shipped != block) {
            findings.push(Finding::new(&page.path, line, &format!("differs from examples/{name}")));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_that_differs_from_the_shipped_file_is_found() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("edge.toml"), "# edge.toml\na = 1\n").unwrap();
        let of = |text: &str| {
            let page = Source { path: "a.md".to_owned(), text: text.to_owned() };
            differing(&page, folder.path()).len()
        };
        assert_eq!(of("```toml\n# edge.toml\na = 1\n```\n"), 0);
        assert_eq!(of("Text\n```toml\n# edge.toml\na = 2\n```\n```sh\nrun\n```\n"), 1);
        assert_eq!(of("```toml\n# other.toml\na = 2\n```\n```sh\nshallop run edge.toml\n```\n"), 0);
    }
}

//! Circular imports between the files of a crate, and the distribution of lines among crates.
//!
//! An import is a mention of a path in the same crate. A re-export in `lib.rs` or `mod.rs` counts as its target, so
//! that a circle through a re-export is found; the declaration of a module is no import.

use crate::tokens;
use crate::tree::{Finding, Source, sources};
use std::collections::{BTreeMap, BTreeSet};

const MAX_FILES: usize = 3;
/// The largest share of all lines in one crate, in percent.
const MAX_PERCENT: usize = 16;

/// A module by its path from the root of its crate: `["import", "gml"]`; empty for the root.
type Module = Vec<String>;

/// Finds circles, and crates with too many lines.
pub fn check_tree() -> Result<Vec<Finding>, String> {
    let sources = sources()?;
    let mut findings = too_large(&sources);
    let mut crates: BTreeMap<&str, Vec<&Source>> = BTreeMap::new();
    for source in sources.iter().filter(|source| source.extension() == "rs") {
        if let Some((name, _)) = source.path.split_once("/src/") {
            crates.entry(name).or_default().push(source);
        }
    }
    for (name, files) in crates {
        findings.extend(circles(name, &files)?);
    }
    Ok(findings)
}

/// Crates with more than the largest share of lines.
fn too_large(sources: &[Source]) -> Vec<Finding> {
    let mut lines: BTreeMap<&str, usize> = BTreeMap::new();
    for source in sources.iter().filter(|source| source.extension() == "rs") {
        let mut parts = source.path.splitn(3, '/');
        if let (Some("crates"), Some(name)) = (parts.next(), parts.next()) {
            *lines.entry(name).or_default() += source.text.lines().count();
        }
    }
    let all: usize = lines.values().sum();
    let large = lines.into_iter().filter(|(_, lines)| lines * 100 > all * MAX_PERCENT);
    let finding = |(name, lines): (&str, usize)| {
        let what = format!("{lines} of {all} lines, more than {MAX_PERCENT} %: cut it");
        Finding::new(&format!("crates/{name}"), 0, &what)
    };
    large.map(finding).collect()
}

/// The circles among the files of a crate that are too long.
fn circles(name: &str, files: &[&Source]) -> Result<Vec<Finding>, String> {
    let imports = imports(name, files)?;
    let all: Vec<&String> = imports.keys().collect();
    let reach: BTreeMap<&String, BTreeSet<&String>> = all.iter().map(|file| (*file, reached(file, &imports))).collect();
    let mut findings = Vec::new();
    let mut seen: BTreeSet<&String> = BTreeSet::new();
    for file in all {
        let circle: Vec<&String> = reach[file]
            .iter()
            .copied()
            .filter(|other| reach.get(other).is_some_and(|back| back.contains(file)))
            .collect();
        if circle.len() > MAX_FILES && seen.insert(circle[0]) {
            let names: Vec<&str> = circle.iter().map(|file| file.as_str()).collect();
            let what = format!("{} files import each other: {}", names.len(), names.join(", "));
            findings.push(Finding::new(name, 0, &what));
        }
    }
    Ok(findings)
}

/// The files that this one imports, directly or through others.
fn reached<'a>(file: &'a String, imports: &'a BTreeMap<String, BTreeSet<String>>) -> BTreeSet<&'a String> {
    let (mut reached, mut next) = (BTreeSet::new(), vec![file]);
    while let Some(file) = next.pop() {
        for other in imports.get(file).into_iter().flatten() {
            if reached.insert(other) {
                next.push(other);
            }
        }
    }
    reached
}

/// The files that each file of a crate imports.
fn imports(name: &str, files: &[&Source]) -> Result<BTreeMap<String, BTreeSet<String>>, String> {
    let module = |source: &Source| module_of(&source.path[name.len() + "/src/".len()..]);
    let known: BTreeMap<Module, String> = files.iter().map(|source| (module(source), source.path.clone())).collect();
    let mut paths: BTreeMap<Module, Vec<(Module, bool)>> = BTreeMap::new();
    for source in files {
        let mentioned = tokens::read(&source.text).map_err(|why| format!("{}: {why}", source.path))?;
        let at = module(source);
        let mentioned = mentioned.iter().filter_map(|it| Some((absolute(&at, &it.path, &known)?, it.is_imported)));
        paths.insert(at.clone(), mentioned.collect());
    }
    // What a module with others beneath it re-exports, by name.
    let mut exported: BTreeMap<Module, Module> = BTreeMap::new();
    for (at, mentioned) in &paths {
        for (path, _) in
            mentioned.iter().filter(|(path, named)| *named && path.len() > at.len() + 1 && path.starts_with(at))
        {
            if let Some(item) = path.last() {
                let name: Module = at.iter().chain([item]).cloned().collect();
                exported.insert(name, path.clone());
            }
        }
    }
    let is_hub = |at: &Module| known.keys().any(|m| m.len() == at.len() + 1 && m.starts_with(at));
    let mut imports = BTreeMap::new();
    for (at, mentioned) in &paths {
        let mut to = BTreeSet::new();
        for (path, _) in mentioned {
            let path = exported.get(path).unwrap_or(path);
            let file = (0..=path.len()).rev().find_map(|end| known.get_key_value(&path[..end]));
            let Some((module, file)) = file else { continue };
            // A file that declares modules mentions them without importing them.
            let declares = is_hub(at) && module.starts_with(at);
            if module != at && !declares {
                to.insert(file.clone());
            }
        }
        imports.insert(known[at].clone(), to);
    }
    Ok(imports)
}

/// The module of a file: `import/gml.rs` is `import::gml`.
fn module_of(path: &str) -> Module {
    let path = path.strip_suffix(".rs").unwrap_or(path);
    let path = path.strip_suffix("/mod").unwrap_or(path);
    let root = ["lib", "main", "mod"].contains(&path);
    if root { Module::new() } else { path.split('/').map(str::to_owned).collect() }
}

/// A mentioned path from the root of the crate; `None` if it leads out of the crate.
fn absolute(at: &Module, path: &str, known: &BTreeMap<Module, String>) -> Option<Module> {
    let mut parts = path.split("::").peekable();
    let mut from = match *parts.peek()? {
        "crate" => {
            parts.next();
            Module::new()
        }
        "self" => {
            parts.next();
            at.clone()
        }
        "super" => at.clone(),
        first => {
            // A module beneath this one.
            let below: Module = at.iter().cloned().chain([first.to_owned()]).collect();
            known.get(&below)?;
            at.clone()
        }
    };
    while parts.peek() == Some(&"super") {
        parts.next();
        from.pop()?;
    }
    from.extend(parts.map(str::to_owned));
    Some(from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(texts: &[(&str, &str)]) -> Vec<Source> {
        let source =
            |&(path, text): &(&str, &str)| Source { path: format!("crates/x/src/{path}"), text: text.to_owned() };
        texts.iter().map(source).collect()
    }

    fn found(texts: &[(&str, &str)]) -> Vec<String> {
        let files = files(texts);
        let files: Vec<&Source> = files.iter().collect();
        circles("crates/x", &files).unwrap().iter().map(Finding::to_string).collect()
    }

    #[test]
    fn a_circle_of_four_files_is_found_and_one_of_three_is_not() {
        let four = [
            ("lib.rs", "mod a; mod b; mod c; mod d;"),
            ("a.rs", "use crate::b::B;"),
            ("b.rs", "use super::c::C;"),
            ("c.rs", "fn f() -> crate::d::D {}"),
            ("d.rs", "use crate::a::{self, A};"),
        ];
        let findings = found(&four);
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert!(findings[0].contains("4 files"), "{findings:?}");
        let mut three = four;
        three[3].1 = "use crate::a::A;";
        assert!(found(&three).is_empty());
    }

    #[test]
    fn a_circle_through_a_re_export_is_found() {
        let findings = found(&[
            ("lib.rs", "mod a; mod b; mod c; mod d; pub use a::A;"),
            ("a.rs", "use crate::b::B;"),
            ("b.rs", "use crate::c::C;"),
            ("c.rs", "use crate::d::D;"),
            ("d.rs", "use crate::A;"),
        ]);
        assert_eq!(findings.len(), 1, "{findings:?}");
    }

    #[test]
    fn a_crate_that_holds_most_lines_is_found() {
        let source =
            |name: &str, lines: usize| Source { path: format!("crates/{name}/src/lib.rs"), text: "//\n".repeat(lines) };
        let even = ["a", "b", "c", "d", "e", "f", "g"].map(|name| source(name, 10));
        assert!(too_large(&even).is_empty());
        let one = ["a", "b", "c", "d", "e", "f", "g"].map(|name| source(name, if name == "a" { 12 } else { 10 }));
        assert_eq!(too_large(&one).len(), 1);
    }
}

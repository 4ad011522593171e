//! What the command and the Python module are both built with: for the same features, or it is built twice.

use std::collections::{BTreeMap, BTreeSet};

use crate::tree::{Finding, cargo};

/// Where features are added.
const FILE: &str = "crates/features/Cargo.toml";

/// The sets of features with which each library is built.
type Libraries = BTreeMap<String, BTreeSet<String>>;

/// Compares the features with which cargo builds libraries of the command and of the module.
pub fn check_tree() -> Result<Vec<Finding>, String> {
    Ok(check(&libraries("shallop")?, &libraries("shallop-python")?))
}

fn libraries(package: &str) -> Result<Libraries, String> {
    let of_tree = ["tree", "--offline", "--edges", "normal,build", "--prefix", "none"];
    let listed =
        cargo(&[&of_tree[..], &["--format", "{p} with {f}", "--package", package]].concat())?;
    Ok(parse(&String::from_utf8_lossy(&listed)))
}

/// A line is a library and its features, with a mark behind it if it was listed before.
fn parse(listed: &str) -> Libraries {
    let mut libraries = Libraries::new();
    for line in listed.lines() {
        let line = line.trim_end_matches(" (*)");
        let (library, features) = line.split_once(" with ").unwrap_or((line, ""));
        libraries.entry(library.to_owned()).or_default().insert(features.to_owned());
    }
    libraries
}

fn check(command: &Libraries, module: &Libraries) -> Vec<Finding> {
    let both = module.iter().filter_map(|(name, of)| Some((name, command.get(name)?, of)));
    let twice = both.filter(|(_, command, module)| command != module);
    let finding = |(name, command, module): (&String, &BTreeSet<String>, &BTreeSet<String>)| {
        let what = format!("{name} is built twice: command {command:?}, Python module {module:?}");
        Finding::new(FILE, 0, &what)
    };
    twice.map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_with_other_features_is_found_and_no_other() {
        let command =
            parse("a v1 with std\nb v1 with \nc v2 with default,std\na v1 with std (*)\n");
        assert_eq!(check(&command, &parse("a v1 with std (*)\nd v3 with std\n")), []);
        let found = check(&command, &parse("c v2 with std\na v1 with std\nb v1 with x\n"));
        let told: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(told.len(), 2);
        assert!(told[0].contains("b v1 is built twice: command {\"\"}"), "{told:?}");
    }

    #[test]
    fn the_tree_builds_libraries_once() {
        let found = check_tree().expect("cargo lists what it builds");
        assert_eq!(found, []);
        assert!(libraries("shallop-python").expect("the same").len() > 50);
    }
}

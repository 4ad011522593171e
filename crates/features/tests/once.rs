//! What the command and the Python module are both built with is asked for the same features by both, so that it is
//! built once.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// The sets of features with which each library is built for a package.
fn libraries(package: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut command = Command::new(env!("CARGO"));
    command.args(["tree", "--locked", "--offline", "--edges", "normal,build", "--prefix", "none"]);
    command.args(["--format", "{p} with {f}", "--package", package]);
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut libraries: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        // A library that was listed before has a mark behind it.
        let line = line.trim_end_matches(" (*)");
        let (library, features) = line.split_once(" with ").unwrap();
        libraries.entry(library.to_owned()).or_default().insert(features.to_owned());
    }
    libraries
}

#[test]
fn libraries_of_the_command_and_the_python_module_have_the_same_features() {
    let [command, module] = ["shallop", "shallop-python"].map(libraries);
    assert!(command.len() > 100 && module.len() > 50);
    let both = module.iter().filter_map(|(name, of)| Some((name, command.get(name)?, of)));
    let twice: Vec<_> = both.filter(|(_, command, module)| command != module).collect();
    assert!(twice.is_empty(), "add to the features of this package (command, module): {twice:#?}");
}

//! Scripts for Linux: `UPDATE_SCRIPTS=1 cargo test -p shallop --test it tc::` writes those in `tests/tc`. Tests of
//! kernels (`tests/machine/tc.rs`) run them.

use crate::support::Folder;
use std::{fs, path::Path, process::Command};

#[test]
fn scripts_are_those_of_the_files_and_a_shell_can_read_them() {
    for name in ["drop-tail", "marked", "red", "disciplines"] {
        let path = |end| Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/tc/{name}.{end}"));
        let folder = Folder::with(fs::read(path("toml")).unwrap());
        let arguments = ["config", "scenario.toml", "--os", "tc", "--switch", "left", "--out", "script.sh"];
        let said = folder.done(&arguments);
        let mut script = fs::read_to_string(folder.path("script.sh")).unwrap();
        said.lines().for_each(|line| script.extend(["# ", line, "\n"]));
        if std::env::var_os("UPDATE_SCRIPTS").is_some() {
            fs::write(path("sh"), &script).unwrap();
        }
        assert_eq!(script, fs::read_to_string(path("sh")).unwrap(), "{name}: UPDATE_SCRIPTS=1 writes it");
        assert!(Command::new("sh").arg("-n").arg(path("sh")).status().unwrap().success(), "{name}");
    }
    let folder = Folder::with(fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tc/red.toml")).unwrap());
    folder.refused(&["config", "scenario.toml", "--os", "tc"], &["are for one switch and one scheme", "--switch NAME"]);
}

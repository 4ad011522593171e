//! The pages of docs that are made of the program and of its recorded runs are up to date.

use crate::pages::root;
use shallop_workbench::pages;
use std::fs;

#[test]
fn generated_pages_are_up_to_date() {
    for (path, text) in pages::all(&root()).unwrap() {
        if path == pages::STATUS {
            continue;
        }
        let found = fs::read_to_string(root().join(path)).unwrap();
        let differ: Vec<&str> = text.lines().filter(|line| !found.lines().any(|other| other == *line)).collect();
        assert!(found == text, "{path} differs (make write-docs writes it):\n{}", differ.join("\n"));
    }
}

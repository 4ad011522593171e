//! Checks docs/add-a-controller.md without a copy of the tree: compiles the page's files, runs its test, and compares
//! its lines with the files that they are inserted into. `make page` follows the page literally, on a copy.
//!
//! This crate stands for `shallop_control` with the page's controller. Its files are the page's, word for word.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(clippy::disallowed_methods, reason = "the page is a file of the repository")]

extern crate self as shallop_control;
extern crate shallop_control as control;

use control::{HostStack, Window, options, window};

#[path = "add_a_controller/aimd.rs"]
pub mod aimd;

/// The list of controllers, with the lines of the page.
pub mod any {
    control::controllers! {
        /// AIMD.
        Aimd(crate::aimd, crate::aimd::Aimd),
    }
}

#[path = "add_a_controller/tcp_aimd.rs"]
mod tcp_aimd;

#[path = "../../../xtask/src/page.rs"]
mod page;

const PAGE: &str = include_str!("../../../docs/add-a-controller.md");

/// The files of the page, as they are compiled here.
const FILES: [(&str, &str); 2] = [
    ("crates/control/src/aimd.rs", include_str!("add_a_controller/aimd.rs")),
    ("crates/proto/tests/it/tcp_aimd.rs", include_str!("add_a_controller/tcp_aimd.rs")),
];
/// The files that the page's lines go into, in the page's order.
const CHANGED: [(&str, &str); 3] = [
    ("crates/control/src/lib.rs", include_str!("../../control/src/lib.rs")),
    ("crates/control/src/any.rs", include_str!("../../control/src/any.rs")),
    ("crates/proto/tests/it/main.rs", include_str!("it/main.rs")),
];

#[test]
fn the_page_has_the_files_that_are_compiled_here() {
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/add-a-controller.md");
        let written = FILES.iter().fold(PAGE.to_owned(), |page, (path, text)| {
            let blocks = page::read(&page).unwrap();
            let block = blocks.iter().find(|block| block.path == *path).unwrap();
            page.replacen(&block.text, text, 1)
        });
        return std::fs::write(path, written).unwrap();
    }
    for (path, text) in FILES {
        let blocks = page::read(PAGE).unwrap();
        let block = blocks.iter().find(|block| block.path == path).unwrap();
        assert!(
            block.place.is_none() && block.text == text,
            "the page has {path} otherwise; UPDATE_DOCS=1 cargo test -p shallop-proto --test add_a_controller \
             writes it there"
        );
    }
}

#[test]
fn the_lines_of_the_page_fit_the_files_they_are_inserted_into() {
    let here = include_str!("add_a_controller.rs");
    let blocks = page::read(PAGE).unwrap();
    let lines = blocks.iter().filter(|block| block.place.is_some());
    let changed: Vec<_> = lines.clone().map(|block| block.path.as_str()).collect();
    assert_eq!(changed, CHANGED.map(|file| file.0));
    for (block, (path, text)) in lines.zip(CHANGED) {
        let with = page::apply(block, Some(text)).unwrap();
        assert_eq!(
            with.lines().count(),
            text.lines().count() + block.text.lines().count(),
            "{path}"
        );
        let compiled = block.text.lines().all(|line| here.contains(line.trim()));
        assert!(compiled, "other lines than these go into {path}: {}", block.text);
    }
    assert_eq!(blocks.len(), FILES.len() + CHANGED.len(), "every block is accounted for");
}

#[test]
fn a_line_without_a_place_and_a_file_that_exists_are_refused() {
    let block = |place: Option<&str>| page::Block {
        path: "a.rs".into(),
        place: place.map(str::to_owned),
        text: "new\n".into(),
    };
    let apply = |place, text| page::apply(&block(place), text);
    assert_eq!(apply(Some("b"), Some("a\nb\n")), Ok("a\nnew\nb\n".into()));
    assert_eq!(apply(Some(page::LAST), Some("a\nb\n")), Ok("a\nnew\nb\n".into()));
    assert_eq!(apply(None, None), Ok("new\n".into()));
    for (place, text) in [
        (Some("c"), Some("a\nb\n")),
        (Some("a"), Some("a\na\n")),
        (Some("a"), None),
        (None, Some("")),
    ] {
        assert!(apply(place, text).is_err(), "{place:?} in {text:?}");
    }
}

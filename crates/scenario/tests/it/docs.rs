//! The tables of keys in docs against the keys themselves. With `UPDATE_DOCS=1` the tables are written instead.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "the pages are files of the repository")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use shallop_scenario::tables;
use std::path::{Path, PathBuf};
use std::{env, fs};

const BEGIN: &str = "<!-- generated: keys of ";
const END: &str = "<!-- end of generated -->";

fn pages() -> Vec<PathBuf> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let files = fs::read_dir(docs).unwrap().map(|entry| entry.unwrap().path());
    let mut pages: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|ending| ending == "md")).collect();
    pages.sort();
    pages
}

fn sections(page: &str) -> Vec<&str> {
    page.split(BEGIN).skip(1).map(|rest| rest.split_once(" -->").unwrap().0).collect()
}

fn written(page: &str) -> String {
    let mut parts = page.split(BEGIN);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (section, rest) = part.split_once(" -->").unwrap();
        let (_, rest) = rest.split_once(END).unwrap_or_else(|| panic!("{section}: no end"));
        let table = tables::table(section).unwrap_or_else(|why| panic!("{section}: {why}"));
        text.extend([BEGIN, section, " -->\n\n", &table, "\n", END, rest]);
    }
    text
}

#[test]
fn tables_of_keys_are_up_to_date() {
    for path in pages() {
        let page = fs::read_to_string(&path).unwrap();
        let written = written(&page);
        if env::var_os("UPDATE_DOCS").is_some() {
            if page != written {
                fs::write(&path, written).unwrap();
            }
        } else {
            let name = path.display();
            let how = "UPDATE_DOCS=1 cargo test -p shallop-scenario --test it docs";
            assert!(page == written, "the tables of {name} are not up to date: {how}");
        }
    }
}

#[test]
fn every_transport_and_every_topology_has_a_table() {
    let pages: Vec<String> = pages().iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    let sections: Vec<&str> = pages.iter().flat_map(|page| sections(page)).collect();
    for (section, kinds) in tables::kinds() {
        for kind in kinds {
            // A row may stand in the table of another kind that has the same key.
            let table = tables::table(&format!("{section} {kind}")).unwrap();
            for row in table.lines().skip(2) {
                let has = pages.iter().any(|page| page.contains(row));
                assert!(has, "no page has this of {section} {kind}: {row}");
            }
        }
    }
    for section in ["scenario", "scheme", "scheme tcp", "group", "switch", "claim"] {
        assert!(sections.contains(&section), "no page has a table of {section}");
    }
}

#[test]
fn what_is_no_section_has_no_table() {
    for section in ["scenari", "switch.default", "scheme cubik", "topology", "scheme cubic only x"] {
        assert!(tables::table(section).is_err(), "{section}");
    }
}

//! Files of results, as they are read back.

use crate::support::{Folder, dumbbell};
use std::fs;

fn scenario() -> String {
    let top = r#"title = "Four flows"
seeds = [1, 2]
duration = "200ms"
windows = ["100ms..200ms"]
stack = "ns2""#;
    dumbbell(top, &["cubic", "flashpass"], "0s..20ms")
}

#[test]
fn result_files_can_be_read_back() {
    let folder = Folder::with(scenario());
    let printed = folder.json(&["run", "scenario.toml", "--out", "deep/results", "--json"]);
    let path = |name: &str| folder.path("deep/results").join(name);
    assert_eq!(printed, folder.summary("deep/results"));
    let flows = shallop_store::read_table(path("flows.parquet")).unwrap();
    assert_eq!((flows.name.as_str(), flows.rows()), ("flows", 16));
    let series = shallop_store::read_table(path("series.parquet")).unwrap();
    assert!(series.rows() > 100);
    for (table, columns) in [
        (&flows, ["point", "scheme", "seed", "flow", "group", "fct_s"]),
        (&series, ["point", "scheme", "seed", "time_s", "what", "value"]),
    ] {
        for column in columns {
            assert!(table.column(column).is_some(), "{column}");
        }
    }
    let names: Vec<_> = fs::read_dir(folder.path("deep/results")).unwrap().collect();
    assert_eq!(names.len(), 5, "the page, three files, and the runs");
}

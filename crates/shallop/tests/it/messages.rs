//! Tables for programs.

use crate::support::{Folder, text};

const SCENARIO: &str = r#"
title = "Two flows"
duration = "20ms"
topology = { kind = "dumbbell", senders = 2, rate = "100Mbps", delay = "1ms" }
scheme = [{ transport = "cubic" }, { transport = "flashpass" }]
group = [{ name = "all", size = "20KB" }]
"#;

#[test]
fn every_table_of_a_sweep_is_exported_with_a_column_for_each_swept_key() {
    let folder = Folder::with(SCENARIO);
    folder.done(&["sweep", "scenario.toml", "--vary", "topology.senders=2,3", "--out", "out"]);
    let listed = folder.json(&["export", "out", "--json"]);
    let tables = listed.as_object().unwrap();
    assert_eq!(tables.len(), 9);
    for (name, table) in tables {
        let csv = text(&folder.shallop(&["export", "out", "--table", name]).stdout);
        let mut lines = csv.lines();
        let header: Vec<&str> = lines.next().unwrap().split(',').collect();
        let columns = table["columns"].as_array().unwrap();
        let names: Vec<&str> = columns.iter().map(|it| it["name"].as_str().unwrap()).collect();
        assert_eq!(header, names, "{name}");
        assert_eq!(lines.count() as u64, table["rows"].as_u64().unwrap(), "{name}");
        assert!(columns.iter().all(|it| !it["description"].as_str().unwrap().is_empty()), "{name}");
        assert_eq!(names.contains(&"topology.senders"), name != "warnings", "{names:?}");
        let file = format!("{name}.parquet");
        let parquet = ["export", "out", "--table", name, "--format", "parquet", "--out", &file];
        folder.done(&parquet);
        let table = shallop_store::read_table(folder.path(&file)).unwrap();
        let read: Vec<&str> = table.columns.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(read, names, "{name}");
    }
    // Two schemes, a flow for each sender.
    assert_eq!(listed["flows"]["rows"], 2 * (2 + 3));
    assert_eq!(folder.shallop(&["export", "out", "--table", "flows", "--format", "parquet"]).status.code(), Some(2));
}

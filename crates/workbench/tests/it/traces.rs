//! The recorded traces that docs/agreement.md shows.

use shallop_measure::{run, series::Quantity};
use shallop_scenario::{Options, read};
use shallop_workbench::pages::TRACES;
use std::{fs, path::Path};

#[test]
fn the_recorded_traces_of_the_simulator_are_todays() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = fs::read_to_string(root.join("examples/traces.toml")).unwrap();
    let study = read(&text, &Options::default()).unwrap();
    let plan = &study.points[0].plan;
    let scheme = plan.schemes.iter().position(|scheme| scheme.name == "simulator").unwrap();
    let outcome = run(plan, scheme, study.seeds[0], &mut |_| true).unwrap();
    let windows = outcome.series.samples.iter().filter(|it| it.quantity == Quantity::Cwnd);
    let today: Vec<(f64, f64)> = windows.map(|it| (it.time.as_secs_f64(), it.value)).collect();
    let mut recorded = Vec::new();
    let mut reader = csv::Reader::from_path(root.join(TRACES)).unwrap();
    let names = reader.headers().unwrap().clone();
    let place = |name: &str| names.iter().position(|column| column == name).unwrap();
    let [scheme, time, cwnd] = ["scheme", "time_s", "cwnd_segments"].map(place);
    for row in reader.records() {
        let row = row.unwrap();
        if &row[scheme] == "simulator" {
            recorded.push((row[time].parse().unwrap(), row[cwnd].parse().unwrap()));
        }
    }
    assert!(
        recorded == today,
        "{TRACES} is of an earlier simulator. With a kernel (shallop kernel build): shallop run \
         examples/traces.toml --out DIR; shallop export DIR --table traces > {TRACES}; make write-docs"
    );
}

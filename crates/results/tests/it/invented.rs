//! Tables and lines about invented runs: `invented/cases.toml` has the runs, and a snapshot what is printed of them.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, to_value};
use shallop_results::comparison::{Selection, compare};
use shallop_results::completion::Completion;
use shallop_results::summary::{DropCount, Group, ProgramOfRun, RehearsalOfRun};
use shallop_results::table::{Grid, Rows, table};
use shallop_results::{Link, Point, Reuse, Run, Summary};
use shallop_results::{drops, group_table, legend, links, program_table, rehearsal_table, warning_lines};

/// A value with these fields, and the default of each other field.
fn whole<T: Default + Serialize + DeserializeOwned>(fields: &Map<String, Value>) -> Value {
    let mut all = to_value(T::default()).unwrap();
    for (name, value) in fields {
        all[name] = merged(name, &all[name], value);
    }
    // What cannot be read is an error of the case.
    serde_json::from_value::<T>(all.clone()).unwrap_or_else(|why| panic!("{why}: {all}"));
    all
}

/// The value of a field: parts of a run have their defaults.
fn merged(name: &str, base: &Value, value: &Value) -> Value {
    match (name, value) {
        (_, Value::Array(all)) => all.iter().map(|one| merged(name, &Value::Null, one)).collect(),
        ("all" | "small", Value::Object(fields)) => whole::<Completion>(fields),
        ("groups", Value::Object(fields)) => whole::<Group>(fields),
        ("links", Value::Object(fields)) => whole::<Link>(fields),
        ("drops_by_cause", Value::Object(fields)) => whole::<DropCount>(fields),
        ("programs", Value::Object(fields)) => whole::<ProgramOfRun>(fields),
        ("rehearsal", Value::Object(fields)) => whole::<RehearsalOfRun>(fields),
        (_, Value::Object(fields)) => {
            let mut all = base.as_object().cloned().unwrap_or_default();
            for (name, value) in fields {
                let of = all.get(name).cloned().unwrap_or_default();
                all.insert(name.clone(), merged(name, &of, value));
            }
            Value::Object(all)
        }
        _ => value.clone(),
    }
}

/// Runs with these fields, and the numbers of their points.
fn runs(list: &Value) -> Vec<(usize, Run)> {
    let run = |fields: &Value| {
        let mut fields = fields.as_object().unwrap().clone();
        let point = fields.remove("at").and_then(|at| at.as_u64()).unwrap_or_default();
        (point as usize, serde_json::from_value(whole::<Run>(&fields)).unwrap())
    };
    list.as_array().unwrap().iter().map(run).collect()
}

/// A table without its alignment, and the lines below it.
fn lines(grid: &Grid, notes: &[impl AsRef<str>]) -> String {
    let rows = [&grid.header].into_iter().chain(&grid.rows).map(|row| row.join(" | "));
    rows.chain(notes.iter().map(|note| note.as_ref().to_owned())).collect::<Vec<_>>().join("\n")
}

/// What is printed of these runs.
fn printed(of: &str, points: &[Point], runs: &[(usize, &Run)]) -> String {
    let with_note = |(grid, note): (Grid, String)| lines(&grid, &[note]);
    let of_rows = |rows: Rows| {
        let grid = table(points, runs, rows);
        lines(&grid, &grid.notes())
    };
    match of {
        "warnings" => warning_lines::warnings(points, runs).join("\n"),
        "drops" => lines(&drops::drops(points, runs), &[""]),
        "groups" => with_note(group_table::groups(points, runs)),
        "rehearsals" => with_note(rehearsal_table::rehearsals(points, runs)),
        "programs" => with_note(program_table::programs(points, runs)),
        "longest queues" => legend::longest_queues(runs),
        "links" => with_note(links::table(points, runs, 2)),
        "worst ports" => with_note(links::printed(points, runs, true).1),
        "runs" => of_rows(Rows::Runs),
        "sweep" => of_rows(Rows::Sweep),
        "details" => of_rows(Rows::Details),
        other => panic!("{other} is not printed"),
    }
}

#[test]
fn tables_and_lines_about_invented_runs_are_those_of_the_snapshot() {
    let cases: Value = toml::from_str(include_str!("invented/cases.toml")).unwrap();
    let mut told = Vec::new();
    for case in cases["case"].as_array().unwrap() {
        let runs = runs(&case["runs"]);
        let runs: Vec<(usize, &Run)> = runs.iter().map(|(point, run)| (*point, run)).collect();
        let last = runs.iter().map(|(point, _)| *point).max().unwrap();
        let names = |at: usize| if last == 0 { String::new() } else { format!("load={at}") };
        let mut schemes: Vec<String> = runs.iter().map(|(_, run)| run.scheme.clone()).collect();
        schemes.dedup();
        let point = |at| Point { name: names(at), schemes: schemes.clone(), ..Point::default() };
        let points: Vec<Point> = (0..=last).map(point).collect();
        let of = case["of"].as_array().unwrap().iter().map(|of| of.as_str().unwrap());
        let printed: Vec<String> = of.map(|of| printed(of, &points, &runs)).collect();
        told.push(format!("# {}\n{}\n", case["name"].as_str().unwrap(), printed.join("\n")));
    }
    insta::assert_snapshot!(told.join("\n"));
}

/// Results of runs, whose points are named by their keys.
fn results(list: &Value, reused: Option<&Value>) -> Summary {
    let mut all = Summary::default();
    for (_, run) in runs(list) {
        let value = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let names: Vec<String> = run.point.iter().map(|(key, set)| format!("{key}={}", value(set))).collect();
        if !all.points.iter().any(|point| point.set == run.point) {
            all.points.push(Point { name: names.join(", "), set: run.point.clone(), schemes: Vec::new() });
        }
        let point = all.points.iter_mut().find(|point| point.set == run.point).unwrap();
        if !point.schemes.contains(&run.scheme) {
            point.schemes.push(run.scheme.clone());
        }
        all.runs.push(run);
    }
    let scheme = reused.map(|scheme| scheme.as_str().unwrap().to_owned());
    all.reused.extend(scheme.map(|scheme| Reuse { scheme, runs: 3, ..Reuse::default() }));
    all
}

#[test]
fn comparisons_of_invented_results_are_those_of_the_snapshot() {
    let cases: Value = toml::from_str(include_str!("invented/compared.toml")).unwrap();
    let mut told = Vec::new();
    for case in cases["case"].as_array().unwrap() {
        let a = results(&case["a"], None);
        let b = case.get("b").map_or_else(|| a.clone(), |b| results(b, case.get("reused")));
        let two = |key: &str| case.get(key).map(|two| (two[0].as_str().unwrap(), two[1].as_str().unwrap()));
        let told_of = match compare(&a, &b, Selection { schemes: two("schemes"), points: two("points") }) {
            Err(why) => format!("error: {why}"),
            Ok(found) => {
                let (grid, notes) = found.table();
                assert!(grid.rows.len() <= 40, "{}", grid.rows.len());
                format!("{}\n{}", found.finding, lines(&grid, &notes))
            }
        };
        told.push(format!("# {}\n{told_of}\n", case["name"].as_str().unwrap()));
    }
    insta::assert_snapshot!(told.join("\n"));
}

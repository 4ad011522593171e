//! What changes of scenarios make of their plans: `--set`, `--quick`, `--seed`, `--seeds`, `--vary`, `--with`, and
//! other texts. `scenarios/changes.txt` has the changes, and a snapshot what differs from the plan without them.

use shallop_plan::Study;
use shallop_scenario::{Options, Problem, read, values};
use std::fmt::Write as _;

/// The text of this name.
fn text(name: &str) -> String {
    let leaves = include_str!("../scenarios/two_leaves.toml");
    let varied = include_str!("../scenarios/varied.toml");
    match name {
        "small" => include_str!("../scenarios/small.toml").to_owned(),
        "sink" => include_str!("../scenarios/kitchen-sink.toml").to_owned(),
        "kernels" => include_str!("../scenarios/kernels.toml").to_owned(),
        "leaves" => {
            format!("{leaves}group = [{{ name = \"all\", from = \"hosts\", to = \"hosts\", pattern = \"uniform\" }}]\n")
        }
        "varied" => varied.to_owned(),
        "points" => [varied, include_str!("../scenarios/points.toml")].concat(),
        _ => panic!("no scenario {name:?}"),
    }
}

/// Reads a scenario with changes, with `; ` between them.
fn changed(name: &str, changes: &str) -> Result<Study, Problem> {
    let (mut text, mut options) = (text(name), Options::default());
    for change in changes.split("; ").filter(|change| !change.is_empty()) {
        let (verb, rest) = change.split_once(' ').unwrap_or((change, ""));
        let (key, value) = rest.split_once('=').map_or((rest, ""), |(key, value)| (key.trim(), value.trim()));
        let values = || values(value).unwrap_or_else(|why| panic!("{value}: {why:?}"));
        match verb {
            "set" => options.set.push((key.to_owned(), value.to_owned())),
            "quick" => options.quick = true,
            "seed" => options.seed = Some(rest.parse().expect("a number")),
            "seeds" => options.seeds = Some(rest.parse().expect("a number")),
            "vary" => options.vary.push((key.to_owned(), values())),
            "with" => {
                let (leader, key) = key.split_once(": ").expect("two keys");
                options.with.push((leader.to_owned(), key.to_owned(), values()));
            }
            "add" => text.extend([&rest.replace("\\n", "\n"), "\n"]),
            "write" => {
                let (from, to) = rest.split_once(" => ").expect("two texts");
                assert!(text.contains(from), "{from}");
                text = text.replacen(from, to, 1);
            }
            _ => panic!("no change {change:?}"),
        }
    }
    read(&text, &options)
}

/// The lines that only one of two texts has, or has more often.
fn differing(old: &str, new: &str) -> Vec<String> {
    let only = |one: &str, other: &str, sign: &str| {
        let mut left: Vec<&str> = other.lines().collect();
        let mut own = Vec::new();
        for line in one.lines() {
            match left.iter().position(|other| *other == line) {
                Some(place) => drop(left.remove(place)),
                None => own.push(format!("{sign} {}", line.trim())),
            }
        }
        own
    };
    [only(old, new, "-"), only(new, old, "+")].concat()
}

/// What a changed scenario is read as, against what it is without changes.
fn told(name: &str, changes: &str) -> String {
    let plain = changed(name, "").unwrap_or_else(|why| panic!("{name}: {why:?}"));
    let study = match changed(name, changes) {
        Ok(study) => study,
        Err(why) => return format!("  refused: {}\n", why.message()),
    };
    let (jobs, claims) = (study.jobs().len(), study.claims.len());
    let mut told = format!("  {} of seeds {:?}: {jobs} runs, {claims} claims\n", study.title, study.seeds);
    if study.quick {
        told += "  quick\n";
    }
    study.notes.iter().for_each(|note| _ = writeln!(told, "  note: {note}"));
    for point in &study.points {
        let set = serde_json::to_string(&point.set).expect("texts and numbers");
        writeln!(told, "  point {:?}, {set}", point.name).expect("a string takes any text");
        let [old, new] = [&plain.points[0].plan, &point.plan].map(|plan| format!("{plan:#?}"));
        for line in differing(&old, &new) {
            writeln!(told, "    {line}").expect("a string takes any text");
        }
    }
    told
}

#[test]
fn changes_make_of_plans_what_the_snapshot_has() {
    let mut all = String::new();
    for line in include_str!("../scenarios/changes.txt").lines().filter(|line| !line.starts_with('#')) {
        let (name, changes) = line.split_once("; ").unwrap_or((line, ""));
        write!(all, "{line}\n{}\n", told(name, changes)).expect("a string takes any text");
    }
    insta::assert_snapshot!(all);
}

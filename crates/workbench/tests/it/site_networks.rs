//! Networks of sites from files: sweeps over two of them, faults of their links, and traces between sites.

use crate::imports::{open, scenario};
use shallop_core::{BufferSize, Bytes, Seed};
use shallop_plan::{files::FilesInMemory, network::Network, plan::Topology};
use shallop_scenario::{Options, explain, read};
use std::sync::Arc;

/// A chain of three sites; two lists of it differ in the section of the middle.
const DEEP: &str = "from,to,rate,delay,switch\nA,B,100M,1ms,\nB,C,100M,1ms,\nB,,,,deep\n";

#[test]
fn a_sweep_over_files_notes_sections_without_a_node() {
    let shallow = DEEP.replace("B,,,,deep", "B,,,,shallow");
    let files = || FilesInMemory::from_texts([("deep.csv", DEEP), ("shallow.csv", &shallow)]);
    let sections = "[switch.deep]\nbuffer = \"9MB\"\n[switch.shallow]\nbuffer = \"30KB\"\n";
    let text = scenario("deep.csv", sections, ("A", "C"));
    let sweep = |names: &[&str]| {
        let values = names.iter().map(|name| (*name).to_owned()).collect();
        let vary = vec![("topology.file".to_owned(), values)];
        read(&text, &Options { vary, files: Arc::new(files()), ..Options::default() })
    };
    let study = sweep(&["deep.csv", "shallow.csv"]).unwrap();
    let buffer = |point: usize| {
        let plan = &study.points[point].plan;
        let Topology::File(imported, _) = &plan.topology else { panic!("no file") };
        plan.switches[imported.switches[1].unwrap()].buffer
    };
    let [deep, shallow] = [9_000_000, 30_000].map(|size| BufferSize::Bytes(Bytes::new(size)));
    assert_eq!([buffer(0), buffer(1)], [deep, shallow]);
    let notes = [
        "[switch.deep] is for no node of the network at the point \"topology.file=shallow.csv\"",
        "[switch.shallow] is for no node of the network at the point \"topology.file=deep.csv\"",
    ];
    assert_eq!(study.notes, notes);
    let nowhere = "`switch.shallow` has no effect: no node of this network is a switch of that section";
    assert_eq!(sweep(&["deep.csv"]).unwrap().notes, [nowhere]);
    let set = |keys: &[(&str, &str)]| {
        let set = keys.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        read(&text, &Options { set, files: Arc::new(files()), ..Options::default() })
    };
    assert_eq!(set(&[("topology.file", "deep.csv")]).unwrap().notes, [nowhere]);
    let problem = set(&[]).unwrap_err();
    assert!(problem.message().contains("[switch.shallow] is for no node"), "{problem:?}");
}

#[test]
fn links_of_a_file_may_have_faults() {
    let fault = "[[topology.fault]]\nbetween = [\"B\", \"A\"]\nloss = 0.05\n\
                 down = [{ at = \"100ms\", lasts = \"50ms\" }]\n";
    let study = open("net.csv", &DEEP.replace("deep", "default"), fault, ("A", "C")).unwrap();
    let notes = shallop_workbench::run_study::notes(&study);
    assert!(notes.len() == 1 && notes[0].starts_with("`down` reroutes nothing"), "{notes:?}");
    let plan = &study.points[0].plan;
    let lines = &explain::explain(&study).unwrap()[0].lines;
    let line = lines.iter().find(|line| line.what == "links of the file with faults").unwrap();
    assert_eq!((line.value.as_str(), line.how.as_str()), ("1", "A-B"));
    let network = Network::build(plan, Seed::new(1));
    let faulty = (0..network.graph.ports() as u32).filter(|&port| {
        network.impairment(port, Seed::new(1)).is_some_and(|of| of.loss > 0.0 && of.outages.len() == 1)
    });
    let names: Vec<String> = faulty.map(|port| network.port_name(port)).collect();
    assert_eq!(names, ["A>B", "B>A"]);
    let outcome = shallop_measure::run(plan, 0, 1, &mut |_| true).unwrap();
    assert!(outcome.run.links.iter().any(|link| link.place == "A>B" && link.loss_rate > 0.0));
    for (wrong, words) in [
        (fault.replace("\"A\"", "\"C\", \"A\""), "number of names: 3"),
        (fault.replace("\"A\"", "\"D\""), "no node is named \"D\""),
        (fault.replace("\"B\"", "\"C\""), "no link joins \"C\" and \"A\""),
        (fault.replace("\"B\"", "\"A\""), "\"A\" is linked to itself"),
        (format!("{fault}{fault}"), "an earlier section"),
    ] {
        let csv = DEEP.replace("deep", "default");
        let problem = open("net.csv", &csv, &wrong, ("A", "C")).unwrap_err();
        assert!(problem.message().contains(words), "{problem:?}");
    }
}

#[test]
fn a_sweep_compares_a_link_with_and_without_faults_and_links_in_turn() {
    let fault = "[[topology.fault]]\nbetween = [\"A\", \"B\"]\ndown = [{ at = \"100ms\", lasts = \"50ms\" }]\n";
    let csv = DEEP.replace("deep", "default");
    let sweep = |key: &str, values: [&str; 2]| {
        let vary = vec![(format!("topology.fault.0.{key}"), values.map(str::to_owned).to_vec())];
        let files = Arc::new(FilesInMemory::from_texts([("net.csv", &*csv)]));
        let text = scenario("net.csv", fault, ("A", "C"));
        let study = read(&text, &Options { vary, files, ..Options::default() }).unwrap();
        [0, 1].map(|point: usize| {
            let plan = &study.points[point].plan;
            let network = Network::build(plan, Seed::new(1));
            let outages = |port: &u32| network.impairment(*port, Seed::new(1)).is_some_and(|of| !of.outages.is_empty());
            let down = (0..network.graph.ports() as u32).filter(outages).map(|port| network.port_name(port));
            let goodput = shallop_measure::run(plan, 0, 1, &mut |_| true).unwrap().run.goodput_bps;
            (down.collect::<Vec<String>>().join(" "), goodput)
        })
    };
    let [without, with] = sweep("down", ["[]", "[{ at = \"100ms\", lasts = \"50ms\" }]"]);
    assert_eq!([&*without.0, &*with.0], ["", "A>B B>A"]);
    assert!(with.1 < without.1, "{with:?} {without:?}");
    let [first, second] = sweep("between", ["[\"A\", \"B\"]", "[\"B\", \"C\"]"]);
    assert_eq!([&*first.0, &*second.0], ["A>B B>A", "B>C C>B"]);
    assert_eq!(first, with);
}

#[test]
fn a_trace_in_any_order_between_sites_is_that_trace() {
    let rows = ["0.01,A,C,200KB", "0.0,B,C,30KB", "0.02,C,A,1460"];
    let run = |rows: &[&str]| {
        let trace = format!("start,source,destination,bytes\n{}\n", rows.join("\n"));
        let csv = DEEP.replace("deep", "default");
        let files = Arc::new(FilesInMemory::from_texts([("net.csv", &*csv), ("t.csv", &trace)]));
        let group = "group = [{ name = \"all\", from = \"A\", to = \"C\" }]";
        let text = scenario("net.csv", "", ("A", "C"));
        assert!(text.contains(group), "{text}");
        let text = text.replace(group, "group = [{ name = \"all\", trace = \"t.csv\" }]");
        let study = read(&text, &Options { files, ..Options::default() }).unwrap();
        let outcome = shallop_measure::run(&study.points[0].plan, 0, 1, &mut |_| true).unwrap();
        (shallop_workbench::run_study::notes(&study), outcome.run.fct, outcome.run.goodput_bps)
    };
    let (notes, fct, goodput) = run(&rows);
    assert!(notes.len() == 1 && notes[0].contains("t.csv: rows are not in the order"), "{notes:?}");
    let sorted = run(&[rows[1], rows[0], rows[2]]);
    assert_eq!((Vec::<String>::new(), fct, goodput), sorted);
}

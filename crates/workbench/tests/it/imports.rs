//! Networks from files: the three formats describe the same networks, missing facts get defaults and notes, and errors
//! name their line.

use proptest::prelude::*;
use shallop_core::{Bytes, Seed};
use shallop_plan::Study;
use shallop_plan::{files::FilesInMemory, network::Network, plan::Topology};
use shallop_scenario::explain;
use shallop_scenario::{Options, Problem, read};
use shallop_topology::imported::{Imported, Origin};
use shallop_workbench::FolderFiles;
use std::{fmt::Write as _, path::Path, sync::Arc};

const GRAPHML: &str = include_str!("imports/little.graphml");

const GML: &str = include_str!("imports/little.gml");

const CSV: &str = "# links
from,to,rate,delay
A,B,10Gbps,5ms
B,\"C, D\",5000000000,2.5
\"C, D\",A,,
";

pub fn scenario(file: &str, keys: &str, hosts: (&str, &str)) -> String {
    let (from, to) = hosts;
    format!(
        r#"
title = "from a file"
duration = "1s"
scheme = [{{ transport = "cubic" }}]
group = [{{ name = "all", from = {from:?}, to = {to:?} }}]

[topology]
kind = "file"
file = "{file}"
default_rate = "1Gbps"
default_delay = "1ms"
{keys}
"#
    )
}

/// Reads a scenario with this network file, and flows between these hosts.
pub fn open(file: &str, text: &str, keys: &str, hosts: (&str, &str)) -> Result<Study, Problem> {
    let files = Arc::new(FilesInMemory::from_texts([(file, text)]));
    read(&scenario(file, keys, hosts), &Options { files, ..Options::default() })
}

fn imported(study: &Study) -> &Imported {
    let Topology::File(imported, _) = &study.points[0].plan.topology else { panic!("no file") };
    imported
}

#[test]
fn graphml_and_gml_describe_the_same_network() {
    let names = ("North", "South");
    let study = open("net.graphml", GRAPHML, "", names).unwrap();
    let same = open("net.GML", GML, "", names).unwrap();
    // The lines of guesses, and the name of the file, are each format's own.
    let counts = |origin: &Origin| [&origin.default_rates, &origin.distances, &origin.default_delays].map(Vec::len);
    assert_eq!(counts(&imported(&study).origin), counts(&imported(&same).origin));
    let Imported { unread: (file, _), origin, notes, .. } = imported(&study).clone();
    let unread = (file, imported(&same).unread.1.clone());
    let same = Imported { unread, origin, notes, ..imported(&same).clone() };
    assert_eq!(*imported(&study), same);
}

/// Networks with all that a scenario says of them: links with the origin of their values, hosts where they are wanted,
/// the switch and the chip of each node, sets, explanations and notes.
#[test]
fn networks_from_files_are_those_of_the_snapshot() {
    let chip = GRAPHML
        .replace("<key id=\"n\"", "<key id=\"c\" for=\"node\" attr.name=\"chip\"/><key id=\"n\"")
        .replace("<node id=\"2\">", "<node id=\"2\"><data key=\"c\">trident3</data>");
    let hosts = "hosts = 2\nhosts_at = [\"A\", \"C, D\"]\naccess_delay = \"1us\"";
    let edge = "[switch.edge]\nbuffer = \"1MB\"\nmark = { above = \"50KB\" }";
    let sections = "from,to,switch,chip\nA,B,,\nB,C,,\nC,D,,\nA,,edge,\nB,,,trident3\nC,,edge,trident3\n";
    let units = "from,to,rate_mbps,delay_us\nA,B,100,7\nB,C,2500.5,0.5\n";
    let words = "from,to,speed,length_km,owner\nA,B,100G,120,us\nB,C,400GbE,0,\nC,D,10Gbps,1.5,\nD,E,25 Gbit/s,,us\n";
    let mut told = String::new();
    for (what, file, text, keys, ends) in [
        // A quarter of a great circle of 40,030 km, at 200,000 km a second.
        ("GraphML", "net.graphml", GRAPHML, "", ("North", "South")),
        ("a longer way", "net.gml", GML, "path_factor = 2.0", ("North", "South")),
        ("hosts of CSV", "net.csv", CSV, hosts, ("A", "C, D")),
        ("units of columns", "net.csv", units, "", ("A", "C")),
        ("words of operators", "net.csv", words, "", ("A", "E")),
        ("sections of switches", "net.csv", sections, edge, ("A", "D")),
        ("a chip in GraphML", "net.graphml", &chip, "", ("North", "South")),
    ] {
        let study = open(file, text, keys, ends).unwrap();
        let Imported { nodes, links, switches, origin, unread, .. } = imported(&study);
        writeln!(told, "# {what}\n{origin:?}; not read: {unread:?}").unwrap();
        for (a, b, ways) in links {
            let way = &ways[0];
            writeln!(told, "  {} to {}: {}, {:?}", nodes[*a].0, nodes[*b].0, way.rate, way.delay).unwrap();
        }
        let plan = &study.points[0].plan;
        for ((name, _), switch) in nodes.iter().zip(switches) {
            let switch = &plan.switches[switch.unwrap()];
            let (alpha, marks) = (switch.shared.map(|shared| shared.alpha), switch.mark.is_some());
            writeln!(told, "  {name}: {}, {:?}, {alpha:?}, {marks}", switch.name, switch.buffer).unwrap();
        }
        let network = Network::build(plan, Seed::new(1));
        let sets = network.sets.iter().map(|(name, hosts)| format!("{name} {}", hosts.len()));
        let ports = network.links.iter().map(|(name, ports)| format!("{name} {ports:?}"));
        let access = network.graph.link_of(network.links["access"][0]);
        let all = [network.names.clone(), sets.collect(), ports.collect()].map(|list| list.join("; "));
        writeln!(told, "  {}\n  to hosts: {}, {:?}", all.join("\n  "), access.rate, access.delay).unwrap();
        let sections = explain::explain(&study).unwrap();
        for line in sections[0].lines.iter().filter(|line| line.what.contains("of the file")) {
            writeln!(told, "  {}: {}: {}", line.what, line.value, line.how).unwrap();
        }
        for note in shallop_workbench::run_study::notes(&study) {
            writeln!(told, "  {note}").unwrap();
        }
    }
    insta::assert_snapshot!(told);
}

/// `shared` needs no size in a section all of whose nodes have chips.
fn a_chip_of_a_file_is_size_enough() {
    for (csv, keys, enough) in [
        ("from,to,chip\nA,B,\nA,,tomahawk\nB,,tofino\n", "alpha = 1", true),
        ("from,to,chip\nA,B,\nA,,tomahawk\n", "alpha = 1", false),
        ("from,to,chip\nA,B,\nA,,tomahawk\nB,,trident2\n", "cell = \"chip\"", true),
        ("from,to,chip\nA,B,\nA,,tomahawk\nB,,tofino\n", "cell = \"chip\"", false),
    ] {
        let keys = format!("[switch.default]\nshared = {{ {keys} }}");
        match open("net.csv", csv, &keys, ("A", "B")) {
            Err(problem) => {
                assert!(!enough, "{problem:?}");
                let lacks = ["lacks the key `size`", "known cells"];
                assert!(lacks.iter().any(|words| problem.message().contains(words)), "{problem:?}");
            }
            Ok(study) => {
                assert!(enough, "{csv} {keys}");
                let plan = &study.points[0].plan;
                let shared = plan.switches[imported(&study).switches[0].expect("a switch")].shared;
                let pool = shared.map(|shared| (shared.size, shared.ports));
                assert_eq!(pool, Some((Bytes::new(3 << 20), Some(8))));
                assert!(study.notes.is_empty(), "{:?}", study.notes);
            }
        }
    }
}

#[test]
fn a_chip_of_a_file_shares_its_memory_as_its_section_says() {
    let csv = "from,to,chip\nA,B,\nA,,tomahawk\n";
    let open = |chip: &str, keys: &str| {
        let csv = csv.replace("tomahawk", chip);
        open("net.csv", &csv, keys, ("A", "B"))
    };
    let keys = "[switch.default]\nshared = { size = \"1MB\", alpha = 4 }";
    let study = open("tomahawk", keys).unwrap();
    let plan = &study.points[0].plan;
    let shared = plan.switches[imported(&study).switches[0].unwrap()].shared.unwrap();
    assert_eq!((shared.size, shared.alpha, shared.ports), (Bytes::new(3 << 20), 4.0, Some(8)));
    let problem = open("jericho2", keys).unwrap_err();
    assert!(problem.message().contains("how the memory of the chip \"jericho2\""), "{problem:?}");
    let study = open("jericho2", "").unwrap();
    let of_chips = |study: &Study| {
        let notes = shallop_workbench::run_study::notes(study);
        notes.into_iter().filter(|note| !note.contains("`default_")).collect::<Vec<_>>()
    };
    let notes = of_chips(&study);
    assert!(notes.len() == 1 && notes[0].starts_with("jericho2: a port of 10 Gb/s gets 16.7 MB, since"));
    assert!(of_chips(&open("tofino", "").unwrap()).is_empty());
    a_chip_of_a_file_is_size_enough();
    let scheme = "[switch.default]\nbuffer = \"1MB\"\n[[scheme]]\ntransport = \"dctcp\"\n\
                  set = { \"switch.default.mark\" = { above = \"9KB\" } }";
    let text = scenario("net.csv", "", ("A", "B")).replace("scheme = [{ transport = \"cubic\" }]\n", "");
    let files = Arc::new(FilesInMemory::from_texts([("net.csv", csv)]));
    let study = read(&format!("{text}{scheme}\n"), &Options { files, ..Options::default() }).unwrap();
    let plan = &study.points[0].plan;
    let own = imported(&study).switches[0].unwrap();
    assert_eq!(plan.switches(0)[own].name, "default, tomahawk");
    assert!(plan.switches(0)[own].mark.is_some() && plan.switches[own].mark.is_none());
}

#[test]
fn errors_in_network_files_have_their_line() {
    for row in include_str!("imports/wrong.tsv").lines().filter(|row| !row.starts_with('#')) {
        let columns: Vec<String> = row.split('\t').map(|cell| cell.replace("\\n", "\n")).collect();
        let [file, from, to, words] = &columns[..] else { panic!("four columns: {row}") };
        let good = match file.as_str() {
            "net.graphml" => GRAPHML,
            "net.gml" => GML,
            _ => CSV,
        };
        assert!(good.contains(from), "{from} is not in {file}");
        let text = if from.is_empty() { to.clone() } else { good.replacen(from, to, 1) };
        let problem = open(file, &text, "", ("North", "South")).expect_err(to);
        let said = format!("{} {}", problem.message(), problem.help);
        for word in words.split(" | ") {
            assert!(said.contains(word), "{to}: \"{word}\" is not said in: {said}");
        }
        assert!(said.contains("`file` in [topology]") && problem.span.is_some(), "{said}");
    }
}

#[test]
fn missing_keys_of_the_scenario_are_reported_too() {
    let without = |key: &str, file: &str| {
        let text = scenario(file, "", ("A", "B")).replace(key, "");
        let files = Arc::new(FilesInMemory::from_texts([("net.csv", CSV)]));
        let problem = read(&text, &Options { files, ..Options::default() }).unwrap_err();
        format!("{} {}", problem.message(), problem.help)
    };
    let said = without("default_rate = \"1Gbps\"", "net.csv");
    assert!(said.contains("line 5: the link C, D-A has no rate"), "{said}");
    assert!(said.contains("`default_rate`"), "{said}");
    let said = without("default_delay = \"1ms\"", "net.csv");
    assert!(said.contains("has no delay"), "{said}");
    assert!(without("", "other.csv").contains("there is no such file; there are: net.csv"));
    assert!(without("", "net.json").contains("there is no such file"));
    let nowhere = open("net.csv", CSV, "hosts_at = [\"X\"]", ("A", "B")).unwrap_err();
    assert!(nowhere.message().contains("no node is named \"X\""), "{nowhere:?}");
    let none = read(&scenario("net.csv", "", ("A", "B")), &Options::default()).unwrap_err();
    assert!(none.message().contains("files cannot be read here"), "{none:?}");
}

#[test]
fn the_examples_are_read_in_full_and_quick() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for (name, nodes, links) in [("abilene", 11, 14), ("b4-like", 12, 19)] {
        let path = folder.join(format!("{name}.toml"));
        let text = shallop_workbench::read_text(&path).unwrap();
        for quick in [false, true] {
            let files = Arc::new(FolderFiles::beside(&path));
            let study = read(&text, &Options { quick, files, ..Options::default() });
            let study = study.unwrap_or_else(|why| panic!("{name}: {why:?}"));
            let imported = imported(&study);
            assert_eq!((imported.nodes.len(), imported.links.len()), (nodes, links));
            let Origin { default_rates, default_delays, .. } = &imported.origin;
            assert!(default_rates.is_empty() && default_delays.is_empty(), "{name}");
            for scheme in 0..study.points[0].plan.schemes.len() {
                shallop_plan::wait::check(&study.points[0].plan, scheme, 1).unwrap();
            }
        }
    }
}

#[test]
fn a_deep_file_is_refused_not_followed() {
    let gml = "a [ ".repeat(100_000);
    assert!(open("net.gml", &gml, "", ("A", "B")).unwrap_err().message().contains("too many lists"));
    let xml = "<graphml>".repeat(100_000);
    assert!(open("net.graphml", &xml, "", ("A", "B")).is_err());
    let lines = format!("<graphml>{}</graphml>", "<key/>".repeat(1000));
    assert!(open("net.graphml", &lines, "", ("A", "B")).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_an_importer_panic(
        text in "[ \\n\\[\\]\"#a-z0-9<>/=,.&;-]{0,200}",
        at in 0usize..2000,
        cut in 0usize..40,
    ) {
        for (file, good) in [("net.graphml", GRAPHML), ("net.gml", GML), ("net.csv", CSV)] {
            let _ = open(file, &text, "", ("North", "South"));
            let at = at % good.len();
            let end = (at + cut).min(good.len());
            let _ = open(file, &format!("{}{text}{}", &good[..at], &good[end..]), "", ("North", "South"));
        }
        let _ = open("net.csv", &format!("from,to,rate,delay\n{text}"), "", ("A", "B"));
        let _ = open("net.gml", &format!("graph [ {text} ]"), "", ("A", "B"));
    }
}

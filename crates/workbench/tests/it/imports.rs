//! Networks from files: the three formats describe the same networks, missing facts get defaults and notes, and errors
//! name their line.

use proptest::prelude::*;
use shallop_core::{BitsPerSec, BufferSize, Bytes, Seed, Span};
use shallop_plan::{Study, chips};
use shallop_plan::{files::FilesInMemory, network::Network, plan::Topology};
use shallop_scenario::explain;
use shallop_scenario::{Options, Problem, read};
use shallop_topology::imported::{Imported, Origin};
use shallop_workbench::FolderFiles;
use std::{path::Path, sync::Arc};

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
    let Imported { nodes, links, origin, .. } = imported(&study);
    assert_eq!(nodes.iter().map(|node| node.0.as_str()).collect::<Vec<_>>(), ["North", "South", "North#2"]);
    let rates: Vec<u64> = links.iter().map(|link| link.2[0].rate.get()).collect();
    assert_eq!(rates, [10_000_000_000, 5_000_000_000, 1_000_000_000]);
    // A quarter of a great circle of 40,030 km, at 200,000 km a second.
    let delays: Vec<f64> = links.iter().map(|link| link.2[0].delay.as_secs_f64()).collect();
    assert!((delays[0] - 0.050_038).abs() < 1e-6 && (delays[1] - 0.001).abs() < 1e-12);
    let expected = Origin {
        rates: 2,
        default_rates: vec![15],
        delays: 0,
        lengths: 0,
        distances: vec![13],
        default_delays: vec![14, 15],
    };
    assert_eq!(*origin, expected);
    let sections = explain::explain(&study).unwrap();
    let line = sections[0].lines.iter().find(|line| line.what == "links of the file").unwrap();
    assert_eq!(
        line.how,
        "rates: 2 from the file, 1 by default (line 15); delays: 0 from the file, 1 from coordinates (line 13), \
         2 by default (lines 14 to 15)"
    );
    let longer = open("net.gml", GML, "path_factor = 2.0", names).unwrap();
    let delay = imported(&longer).links[0].2[0].delay.as_secs_f64();
    assert!((delay - 0.100_076).abs() < 1e-6, "{delay}");
}

#[test]
fn links_from_csv_have_hosts_where_they_are_wanted() {
    let keys = "hosts = 2\nhosts_at = [\"A\", \"C, D\"]\naccess_delay = \"1us\"";
    let study = open("net.csv", CSV, keys, ("A", "C, D")).unwrap();
    let links = &imported(&study).links;
    assert_eq!((links[0].2[0].rate, links[0].2[0].delay), (BitsPerSec::gbps(10), Span::from_ms(5)));
    assert_eq!((links[1].2[0].rate, links[1].2[0].delay), (BitsPerSec::gbps(5), Span::from_us(2500)));
    assert_eq!((links[2].2[0].rate, links[2].2[0].delay), (BitsPerSec::gbps(1), Span::from_ms(1)));
    let network = Network::build(&study.points[0].plan, Seed::new(1));
    assert_eq!(network.names[3..], ["A.h0", "A.h1", "C, D.h0", "C, D.h1"]);
    let sections = explain::explain(&study).unwrap();
    let line = sections[0].lines.iter().find(|line| line.what == "hosts made for nodes of the file").unwrap();
    let how = "2 at each of 2 nodes on links of 10Gbps; \"A\" is A.h0 and so on";
    assert_eq!((line.value.as_str(), line.how.as_str()), ("4", how));
    assert_eq!((network.sites.len(), network.sets["A"].len()), (2, 2));
    assert_eq!(network.links["B-C, D"], network.links["C, D-B"]);
    assert_eq!((network.links["core"].len(), network.links["access"].len()), (6, 8));
    let access = network.graph.link_of(network.links["access"][0]);
    assert_eq!((access.rate, access.delay), (BitsPerSec::gbps(10), Span::from_us(1)));
    let units = "from,to,rate_mbps,delay_us\nA,B,100,7\nB,C,2500.5,0.5\n";
    let study = open("net.csv", units, "", ("A", "C")).unwrap();
    let links = &imported(&study).links;
    assert_eq!((links[0].2[0].rate.get(), links[0].2[0].delay), (100_000_000, Span::from_us(7)));
    assert_eq!((links[1].2[0].rate.get(), links[1].2[0].delay), (2_500_500_000, Span::from_ns(500)));
}

/// The file, a text in it and its replacement, and the words of the message.
type Case = (&'static str, &'static str, &'static str, &'static [&'static str]);

const WRONG: &[Case] = &[
    ("net.graphml", "</graph>", "</grap>", &["line 16", "not XML"]),
    ("net.graphml", "<graphml xmlns", "<svg xmlns", &["not XML"]),
    ("net.graphml", GRAPHML, "<svg/>", &["line 1", "expected <graphml>, found <svg>"]),
    ("net.graphml", GRAPHML, "<graphml/>", &["there is no <graph>"]),
    ("net.graphml", GRAPHML, "", &["the file is empty"]),
    ("net.graphml", "id=\"2\"", "id=\"1\"", &["line 12", "second node \"1\"", "line 11"]),
    ("net.graphml", "id=\"2\"", "ID=\"2\"", &["line 12", "<node> lacks its `id`"]),
    ("net.graphml", "source=\"0\"", "source=\"9\"", &["line 13", "no node is named \"9\""]),
    ("net.graphml", "1e10", "fast", &["line 13", "`LinkSpeedRaw` is \"fast\", no number"]),
    ("net.graphml", "1e10", "-5", &["line 13", "out of range", "1Kbps to 10Tbps"]),
    ("net.graphml", "1e10", "nan", &["line 13", "no number"]),
    ("net.graphml", "key=\"raw\"", "key=\"rax\"", &["line 13", "<key id=\"rax\">", "raw"]),
    (
        "net.graphml",
        "<data key=\"y\">0</data><data key=\"x\">0<",
        "<data key=\"y\">91</data><data key=\"x\">0<",
        &["line 10", "91 degrees", "-90 to 90"],
    ),
    ("net.graphml", "<data key=\"n\">a little network</data>", "<hyperedge/>", &["line 9", "<hyperedge> is not read"]),
    ("net.gml", "graph [", "grapf [", &["there is no graph"]),
    ("net.gml", "id 2 label", "label", &["line 6", "node lacks its `id`"]),
    ("net.gml", "target 2 ]\n]", "target 2 ]\n", &["line 2", "`graph` has no end"]),
    ("net.gml", "target 2 ]\n]", "target 2 ]\n] ]", &["line 10", "without its ["]),
    ("net.gml", "target 2 ]\n]", "target ]\n]", &["line 9", "`target` lacks its value"]),
    ("net.gml", "\"5 Gbps\"", "\"5 Gbps", &["without its closing quote"]),
    ("net.gml", "\"5 Gbps\"", "\"5 apples\"", &["line 8", "`bandwidth` is \"5 apples\"", "10Gbps"]),
    ("net.gml", "Units \"G\"", "Units \"x\"", &["line 7", "`LinkSpeedUnits` is \"x\"", "K, M, G, T"]),
    ("net.gml", "id 0 label", "0 0 label", &["line 4", "expected a key"]),
    ("net.gml", "edge [ source 0", "edge 5 vertex [ source 0", &["line 7", "this edge is no list"]),
    ("net.csv", "from,to", "form,to", &["line 1", "no column is named \"form\"", "rate_gbps"]),
    ("net.csv", "from,to,rate", "to,rate", &["no column is named `from`"]),
    ("net.csv", "rate,delay", "rate,rate", &["the column \"rate\" is there twice"]),
    ("net.csv", "A,B,10Gbps,5ms", "A,B,10Gbps", &["line 3", "3 values for 4 columns"]),
    ("net.csv", "A,B,10Gbps,5ms", "A,,10Gbps,5ms", &["line 3", "lacks the name of a node"]),
    ("net.csv", "10Gbps", "10 parsecs", &["line 3", "`rate` is \"10 parsecs\"", "bits a second"]),
    ("net.csv", "rate,delay", "rate,dealy", &["line 1", "no column is named \"dealy\"", "did you mean `delay`"]),
    ("net.csv", CSV, "from,to,length_km\nA,B,-5\n", &["line 2", "-5 kilometres", "from 0"]),
    ("net.csv", CSV, "from,to,switch\nA,B,\nA,,fat\n", &["line 3", "no [switch.fat]"]),
    ("net.csv", CSV, "from,to,chip\nA,B,\nA,,tofino9\n", &["line 3", "no chip \"tofino9\"", "tofino"]),
    ("net.csv", CSV, "from,to,chip\nA,B,\nA,,tomahawk5\n", &["line 3", "not public", "`buffer`"]),
    ("net.csv", CSV, "from,to,chip\nA,B,tofino\n", &["line 2", "a link has no switch", "`to` is empty"]),
    ("net.csv", CSV, "from,to,chip\nA,B,\nA,,tofino\nA,,tofino2\n", &["line 4", "second line about \"A\"", "line 3"]),
    ("net.csv", "10Gbps", "0", &["line 3", "out of range"]),
    ("net.csv", "5ms", "5m", &["line 3", "`delay` is \"5m\"", "milliseconds"]),
    ("net.csv", "5ms", "-1", &["line 3", "`delay` is \"-1\"", "0s to 10s"]),
    ("net.csv", CSV, "from,to\n", &["fewer than two nodes"]),
    ("net.csv", CSV, "from,to\nA,B\nC,D\nD,E\n", &["in 2 parts: C, D, E; A, B", "must join all", "largest"]),
];

#[test]
fn rates_delays_and_lengths_are_read_as_operators_write_them() {
    let text = "from,to,speed,length_km,owner\nA,B,100G,120,us\nB,C,400GbE,0,\nC,D,10Gbps,1.5,\nD,E,25 Gbit/s,,us\n";
    let study = open("net.csv", text, "", ("A", "E")).unwrap();
    let Imported { links, origin, unread, .. } = imported(&study);
    let rates: Vec<u64> = links.iter().map(|link| link.2[0].rate.get() / 1_000_000_000).collect();
    assert_eq!(rates, [100, 400, 10, 25]);
    // 5 us per kilometre; the last link has the default.
    let delays: Vec<Span> = links.iter().map(|link| link.2[0].delay).collect();
    assert_eq!(delays, [Span::from_us(600), Span::ZERO, Span::from_ns(7_500), Span::from_ms(1)]);
    assert_eq!((origin.lengths, &origin.default_delays[..]), (3, &[5][..]));
    assert_eq!(*unread, ("net.csv".to_owned(), vec!["owner".to_owned()]));
    let notes = shallop_workbench::run_study::notes(&study);
    assert_eq!(notes, ["net.csv: the delay is `default_delay`, 1ms: line 5", "net.csv: not read: owner"]);
}

#[test]
fn each_switch_of_a_file_may_have_its_section_and_its_chip() {
    let csv = "from,to,switch,chip\nA,B,,\nB,C,,\nC,D,,\nA,,edge,\nB,,,trident3\nC,,edge,trident3\n";
    let graphml = GRAPHML
        .replace("<key id=\"n\"", "<key id=\"c\" for=\"node\" attr.name=\"chip\"/><key id=\"n\"")
        .replace("<node id=\"2\">", "<node id=\"2\"><data key=\"c\">trident3</data>");
    let keys = "[switch.edge]\nbuffer = \"1MB\"\nmark = { above = \"50KB\" }";
    let of = |file: &str, text: &str, keys: &str, hosts| {
        let study = open(file, text, keys, hosts).unwrap();
        let plan = &study.points[0].plan;
        let switch = |node: usize| plan.switches[imported(&study).switches[node].unwrap()].clone();
        (0..imported(&study).nodes.len()).map(switch).collect::<Vec<_>>()
    };
    let switches = of("net.csv", csv, keys, ("A", "D"));
    let names: Vec<&str> = switches.iter().map(|switch| switch.name.as_str()).collect();
    assert_eq!(names, ["edge", "default, trident3", "edge, trident3", "default"]);
    let chip = chips::find("trident3").unwrap().buffer_per_gbps().unwrap();
    let buffers: Vec<BufferSize> = switches.iter().map(|switch| switch.buffer).collect();
    assert_eq!(buffers[..2], [BufferSize::Bytes(Bytes::new(1_000_000)), BufferSize::PerGbps(chip)]);
    assert_eq!(buffers[2], BufferSize::PerGbps(chip));
    let alphas = [0, 1, 2, 3].map(|node| switches[node].shared.map(|shared| shared.alpha));
    assert_eq!(alphas, [None, Some(8.0), Some(8.0), None], "chips share their memory");
    assert_eq!([0, 1, 2].map(|node| switches[node].mark.is_some()), [true, false, true]);
    let names = of("net.graphml", &graphml, "", ("North", "South"));
    let names: Vec<&str> = names.iter().map(|switch| switch.name.as_str()).collect();
    assert_eq!(names, ["default", "default", "default, trident3"]);
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
    for (file, from, to, words) in WRONG {
        let good = match *file {
            "net.graphml" => GRAPHML,
            "net.gml" => GML,
            _ => CSV,
        };
        assert!(good.contains(from), "{from} is not in {file}");
        let text = good.replacen(from, to, 1);
        let problem = open(file, &text, "", ("North", "South")).expect_err(to);
        let said = format!("{} {}", problem.message(), problem.help);
        for word in *words {
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

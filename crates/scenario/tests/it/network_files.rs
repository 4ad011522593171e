//! Networks and traces as other tools write them: rows for each direction, units, names of columns, words of operators,
//! parts, and nodes that are hosts.

use shallop_core::{Seed, Span};
use shallop_plan::{Study, files::FilesInMemory, network::Network, plan::Topology};
use shallop_scenario::{Options, Problem, read};
use shallop_topology::Imported;
use std::sync::Arc;

fn scenario(file: &str, keys: &str) -> String {
    format!(
        "title = \"a file\"\nduration = \"1s\"\nscheme = [{{ transport = \"cubic\" }}]\n\
         [[group]]\nname = \"all\"\nfrom = \"hosts\"\nto = \"hosts\"\npattern = \"uniform\"\nflows = 1\n\
         size = \"10KB\"\n[topology]\nkind = \"file\"\nfile = {file:?}\n{keys}\n[switch.default]\nbuffer = \"1MB\"\n"
    )
}

fn open(file: &str, text: &str, keys: &str) -> Result<Study, Problem> {
    let files = Arc::new(FilesInMemory::from_texts([(file, text)]));
    read(&scenario(file, keys), &Options { files, ..Options::default() })
}

fn imported(study: &Study) -> &Imported {
    let Topology::File(imported, _) = &study.points[0].plan.topology else { panic!("no file") };
    imported
}

/// The links of a file in words, and its notes.
fn told(file: &str, text: &str, keys: &str) -> (Vec<String>, Vec<String>) {
    let study = open(file, text, keys).unwrap_or_else(|why| panic!("{text}: {} {}", why.message(), why.help));
    let Imported { links, nodes, notes, .. } = imported(&study);
    let link = |(a, b, ways): &(usize, usize, [shallop_topology::Way; 2])| {
        let [forth, back] = ways.map(|way| format!("{} {}", way.rate, way.delay));
        let both = if forth == back { forth } else { format!("{forth} / {back}") };
        format!("{}-{} {both}", nodes[*a].0, nodes[*b].0)
    };
    (links.iter().map(link).collect(), notes.clone())
}

fn refused(file: &str, text: &str, keys: &str) -> String {
    let problem = open(file, text, keys).expect_err(text);
    format!("{} {}", problem.message(), problem.help)
}

const DEFAULTS: &str = "default_rate = \"100Gbps\"\ndefault_delay = \"1ms\"";

/// Each took a minute and more when its time grew with the square of its length.
#[test]
fn large_and_deep_files_are_read_in_time_that_grows_with_their_length() {
    let list = |entry: &dyn Fn(usize) -> String| (0..60_000).map(entry).collect::<Vec<_>>().join(",");
    let nodes = list(&|at| format!("{{\"name\":\"n{at}\"}}"));
    let links = list(&|at| format!("{{\"source\":{at},\"target\":{},\"rate\":\"1Gbps\"}}", at + 1));
    let json = format!("{{\"nodes\":[{nodes}],\"links\":[{links}]}}");
    assert!(refused("n.json", &json, DEFAULTS).contains("no node is named \"60000\""));
    let (open, close) = ("<node id=\"a\">".repeat(100_000), "</node>".repeat(100_000));
    let xml = format!("<network><nodes>{open}{close}</nodes></network>");
    assert!(refused("n.xml", &xml, DEFAULTS).contains("second node \"a\""));
}

#[test]
fn files_of_other_tools_are_read_or_refused_as_the_table_says() {
    let table = concat!(include_str!("../vectors/networks.toml"), include_str!("../vectors/links.toml"));
    let table: toml::Table = table.parse().unwrap();
    for case in table["case"].as_array().unwrap() {
        let value = |key: &str| case.get(key).and_then(toml::Value::as_str);
        let (file, text) = (value("file").unwrap(), value("text").unwrap());
        let keys = value("keys").unwrap_or("default_delay = \"1ms\"");
        if let Some(error) = value("error") {
            let found = refused(file, text, keys);
            assert!(found.contains(error), "{text}: {error}: {found}");
            continue;
        }
        let (links, notes) = told(file, text, keys);
        let texts = |key: &str| match case.get(key)? {
            toml::Value::Array(all) => Some(all.iter().filter_map(toml::Value::as_str).collect()),
            one => Some(vec![one.as_str().unwrap()]),
        };
        assert_eq!(links, texts("links").unwrap(), "{text}");
        assert!(texts("notes").is_none_or(|all| notes == all), "{text}: {notes:?}");
        let some: Vec<&str> = texts("note").unwrap_or_default();
        assert!(some.iter().all(|note| notes.iter().any(|it| it == note)), "{text}: {notes:?}");
    }
}

#[test]
fn what_the_command_sets_may_mend_a_file() {
    let csv = "from,to,rate,delay\nX,Y,1G,1ms\nA,B,1G,1ms\nB,C,1G,1ms\n";
    assert!(open("n.csv", csv, "").is_err());
    let files = Arc::new(FilesInMemory::from_texts([("n.csv", csv)]));
    let set = vec![("topology.component".to_owned(), "largest".to_owned())];
    let study = read(&scenario("n.csv", ""), &Options { files, set, ..Options::default() }).unwrap();
    assert_eq!(imported(&study).nodes.len(), 3);
}

#[test]
fn loss_jitter_and_mtu_of_a_file_reach_its_links() {
    let csv = "from,to,rate,delay,loss,jitter_us,mtu\nA,B,10Gbps,1ms,0.01,50,9000.0\nB,C,1Gbps,1ms,2%,,\n";
    let keys = "[[topology.fault]]\nbetween = [\"C\", \"B\"]\nduplicates = 0.5";
    let study = open("n.csv", csv, keys).unwrap();
    let network = Network::build(&study.points[0].plan, Seed::new(1));
    assert_eq!(network.graph.links[0].ways.map(|way| way.mtu.get()), [9_000; 2]);
    let Topology::File(_, faults) = &study.points[0].plan.topology else { panic!("no file") };
    let of = |link: usize| &faults.iter().find(|(index, _)| *index == link).unwrap().1.ways[1];
    assert_eq!((of(0).loss, of(0).jitter, of(0).mtu.get()), (0.01, Span::from_us(50), 9_000));
    assert_eq!((of(1).loss, of(1).duplicates, of(1).mtu.get()), (0.02, 0.5, 1_500));
}

#[test]
fn nodes_that_are_hosts_stay_hosts() {
    let csv = "from,to,bandwidth,delay,kind\n0,sw,100Gbps,1000ns,\n1,sw,100Gbps,1000ns,\n0,,,,host\n1,,,,Host\n";
    let gml = "graph [ node [ id 0 type \"server\" ] node [ id 1 type \"server\" ] node [ id 2 label \"sw\" ]\n\
               edge [ source 0 target 2 rate 1e11 delay \"1us\" ] edge [ source 1 target 2 rate 1e11 delay \"1us\" ] ]";
    for (file, text) in [("n.csv", csv), ("n.gml", gml)] {
        let study = open(file, text, "").unwrap();
        let network = Network::build(&study.points[0].plan, Seed::new(1));
        let hosts: Vec<&str> = network.graph.hosts().map(|host| network.names[host.0 as usize].as_str()).collect();
        assert_eq!((hosts, network.names.len()), (vec!["0", "1"], 3));
        assert_eq!((network.sets["sw"].len(), network.links["access"].len()), (2, 4));
    }
    // A file that does not say it.
    let plain = "from,to,bandwidth,delay\n0,sw,100Gbps,1000ns\n1,sw,100Gbps,1000ns\n";
    for keys in ["hosts_are = [\"0\", \"1\"]", "hosts_are = \"leaves\""] {
        let study = open("h.csv", plain, keys).unwrap();
        let network = Network::build(&study.points[0].plan, Seed::new(1));
        assert_eq!((network.graph.hosts().count(), network.names.len()), (2, 3), "{keys}");
    }
    let (_, notes) = told("h.csv", plain, "hosts_at = [\"0\", \"1\"]");
    assert!(notes.len() == 1 && notes[0].contains("`hosts_are`"), "{notes:?}");
}

const SNDLIB: &str = "?SNDlib native format; type: network; version: 1.0\n# a triangle\nMETA (\n  \
                      unit = MBITPERSEC\n)\n\
                      NODES (\n  Bonn ( 7.10 50.73 )\n  Jena ( 11.59 50.93 )\n  Ulm ( 9.99 48.40 )\n)\nLINKS (\n  \
                      L1 ( Bonn Jena ) 2480.00 0.00 0.00 0.00 ( 40000.00 133.00 )\n  \
                      L2 ( Jena Ulm ) 0.00 0.00 0.00 0.00 ( 40000.00 9.00 10000.00 5.00 )\n  \
                      L3 ( Ulm Bonn ) 155.00 0.00 0.00 0.00 ( )\n)\nDEMANDS (\n  \
                      D1 ( Bonn Jena ) 1 30.00 UNLIMITED\n  D2 ( Ulm Bonn ) 1 10.00 UNLIMITED\n)\n";

#[test]
fn networks_and_demands_of_sndlib_are_read() {
    let (links, notes) = told("triangle.txt", SNDLIB, "");
    let rates: Vec<&str> = links.iter().map(|link| link.rsplit_once(' ').unwrap().0).collect();
    assert_eq!(rates, ["Bonn-Jena 2.48Gbps", "Jena-Ulm 10Gbps", "Ulm-Bonn 155Mbps"]);
    let smallest = "no capacity is installed, so the smallest module gives the rate: line 13";
    assert!(notes.iter().any(|note| note == smallest), "{notes:?}");
    assert!(notes.iter().any(|note| note == "the delay follows from coordinates: lines 12-14"), "{notes:?}");

    let csv = "from,to,weight\nBonn,Jena,30\nUlm,Bonn,10\nUlm,Ulm,0\n";
    let files = Arc::new(FilesInMemory::from_texts([("t.txt", SNDLIB), ("d.csv", csv)]));
    let pairs = |matrix: &str| {
        let scenario = format!(
            "title = \"m\"\nduration = \"1s\"\nscheme = [{{ transport = \"cubic\" }}]\n[topology]\nkind = \"file\"\n\
             file = \"t.txt\"\n[[group]]\nname = \"all\"\npattern = \"matrix\"\n\
             matrix = {matrix}\nflows = 4\nsize = \"10KB\"\n"
        );
        let study = read(&scenario, &Options { files: files.clone(), ..Options::default() })?;
        Ok::<_, Problem>(study.points[0].plan.groups[0].pattern.clone())
    };
    let rows = "[{ from = \"Bonn\", to = \"Jena\", weight = 30 }, { from = \"Ulm\", to = \"Bonn\", weight = 10 }]";
    let expected = pairs(rows).unwrap();
    assert_eq!(pairs("\"t.txt\"").unwrap(), expected);
    assert_eq!(pairs("\"d.csv\"").unwrap(), expected);
    assert!(pairs("\"none.txt\"").unwrap_err().message().contains("none.txt"));
}

#[test]
fn hosts_and_losses_of_a_file_of_hpcc_are_kept() {
    let hpcc = "4 1 3\n3\n0 3 25Gbps 1000ns 0.000000\n1 3 25Gbps 0.002ms 0\n2 3 100Gbps 1us 0.01\n";
    let study = open("topology.txt", hpcc, "").unwrap();
    let network = Network::build(&study.points[0].plan, Seed::new(1));
    let hosts: Vec<u32> = network.graph.hosts().map(|host| host.0).collect();
    assert_eq!((hosts, network.names.len()), (vec![0, 1, 2], 4));
    let Topology::File(_, faults) = &study.points[0].plan.topology else { panic!("no file") };
    assert_eq!(faults.iter().map(|(at, link)| (*at, link.ways[0].loss)).collect::<Vec<_>>(), [(2, 0.01)]);
}

#[test]
fn rates_of_hosts_in_networks_of_shadow_differ_by_direction() {
    let gml = "graph [ directed 0\n\
               node [ id 0 host_bandwidth_down \"100 Mbit\" host_bandwidth_up \"10 Mbit\" ]\n\
               node [ id 1 ]\nedge [ source 0 target 0 latency \"1 ms\" packet_loss 0.0 ]\n\
               edge [ source 0 target 1 latency \"20 ms\" jitter \"0 ms\" packet_loss 0.01 ] ]";
    let study = open("shadow.gml", gml, "default_rate = \"1Gbps\"").unwrap();
    let network = Network::build(&study.points[0].plan, Seed::new(1));
    let rates: Vec<u64> = (0..6).map(|port| network.graph.link_of(port).rate.get() / 1_000_000).collect();
    assert_eq!(rates, [1_000, 1_000, 10, 100, 1_000, 1_000]);
    assert_eq!(imported(&study).links.len(), 1);
}

#[test]
fn a_trace_of_rates_moves_as_many_packets_as_it_says() {
    // 2 packets in each third millisecond: 8 Mb/s of IP one way, 12 Mb/s the other way.
    let files = Arc::new(FilesInMemory::from_texts([("x.down", "3\n3\n"), ("x.up", "1\n")]));
    let scenario = |keys: &str| {
        format!(
            "title = \"trace\"\nduration = \"3s\"\nscheme = [{{ transport = \"udp\", rate = \"20Mbps\" }}]\n\
             [topology]\nkind = \"graph\"\nnode = [{{ name = \"a\", kind = \"host\" }}, \
             {{ name = \"s\", kind = \"switch\" }}, {{ name = \"b\", kind = \"host\" }}]\n\
             [[topology.link]]\nbetween = [\"a\", \"s\"]\nrate = \"1Gbps\"\ndelay = \"1ms\"\n\
             [[topology.link]]\nbetween = [\"s\", \"b\"]\nrate = \"1Gbps\"\ndelay = \"10ms\"\n{keys}\n\
             [[group]]\nname = \"g\"\nfrom = \"a\"\nto = \"b\"\n"
        )
    };
    let open = |keys: &str| read(&scenario(keys), &Options { files: files.clone(), ..Options::default() });
    let study = open("rate_trace = [\"x.down\", \"x.up\"]").unwrap();
    let network = Network::build(&study.points[0].plan, Seed::new(1));
    let values = shallop_scenario::explain::explain(&study).unwrap();
    let means = values[0].lines.iter().filter(|line| line.what.starts_with("mean rate of"));
    let means: Vec<[&str; 2]> = means.map(|line| [line.what.as_str(), line.value.as_str()]).collect();
    // 999 turns of 3 ms with two frames of 1,538 bytes each, and 2,999 with one, over 3 s.
    assert_eq!(means, [["mean rate of s>b", "8.194464Mbps"], ["mean rate of b>s", "12.299899Mbps"]]);
    let second = Span::from_secs(1);
    // 333 turns of 3 ms with two frames each, of 1,538 bytes.
    assert_eq!([2, 3].map(|port| network.capacity(port, second).get()), [333 * 2 * 1_538, 999 * 1_538]);
    for (keys, why) in [
        ("rate_trace = \"none\"", "none"),
        ("rate_trace = [\"x.up\"]", "a file for each direction"),
        ("rate_trace = \"x.up\"\nchanges = [{ at = \"1s\", rate = \"2Gbps\" }]", "`changes` has rates as well"),
    ] {
        let problem = open(keys).unwrap_err();
        assert!(problem.message().contains(why), "{keys}: {}", problem.message());
    }
}

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

#[test]
fn equal_rows_in_both_directions_are_one_link() {
    let csv = "from,to,rate,delay\nA,B,1Gbps,1ms\nB,A,1Gbps,1ms\n";
    let gml = |directed: u8| {
        format!(
            "graph [ directed {directed} multigraph 1\nnode [ id 0 label \"A\" ] node [ id 1 label \"B\" ]\n\
             edge [ source 0 target 1 key 0 bandwidth \"1 Gbps\" latency \"1000 us\" ]\n\
             edge [ source 1 target 0 key 0 bandwidth \"1 Gbps\" latency \"1000 us\" ]\n]"
        )
    };
    let graphml = "<graphml><key id=\"r\" for=\"edge\" attr.name=\"rate\"/><key id=\"d\" for=\"edge\" \
                   attr.name=\"delay\"/>\n<graph edgedefault=\"directed\"><node id=\"A\"/><node id=\"B\"/>\n\
                   <edge source=\"A\" target=\"B\"><data key=\"r\">1G</data><data key=\"d\">1</data></edge>\n\
                   <edge source=\"B\" target=\"A\"><data key=\"r\">1G</data><data key=\"d\">1</data></edge>\n\
                   </graph></graphml>";
    let note = |lines: &str| vec![format!("rows in both directions with equal values are one link: lines {lines}")];
    let link = vec!["A-B 1Gbps 1ms".to_owned()];
    assert_eq!(told("n.csv", csv, ""), (link.clone(), note("2-3")));
    assert_eq!(told("n.gml", &gml(0), ""), (link.clone(), note("3-4")));
    assert_eq!(told("n.gml", &gml(1), ""), (link.clone(), note("3-4")));
    assert_eq!(told("n.graphml", graphml, ""), (link, note("3-4")));
}

#[test]
fn rows_with_different_values_are_the_directions_of_one_link() {
    let csv = "from,to,rate,delay\nB,A,16Mbps,5ms\nA,B,100Mbps,5ms\nB,C,1Gbps,1ms\nB,C,2Gbps,1ms\nC,B,1Gbps,1ms\n";
    let (links, notes) = told("n.csv", csv, "");
    assert_eq!(links, ["B-A 16Mbps 5ms / 100Mbps 5ms", "B-C 1Gbps 1ms", "B-C 2Gbps 1ms"]);
    assert_eq!(
        notes,
        [
            "rows in both directions with equal values are one link: lines 4, 6",
            "rows in both directions with different values are one link: B-A (lines 2-3)",
            "warning: parallel links, each with its own rate: B-C (lines 4-6)",
        ]
    );
    // Graphs of yEd are directed and have each link once.
    let gml = "graph [ directed 1\nnode [ id 0 ] node [ id 1 ]\nedge [ source 0 target 1 rate 1e9 delay 2 ] ]";
    let (links, notes) = told("n.gml", gml, "");
    assert_eq!(links, ["0-1 1Gbps 2ms"]);
    assert_eq!(notes, ["rows in one direction of a directed graph hold for both: line 3"]);
    let drawn = |label: &str, text: &str| format!("<data key=\"d\"><y:S><y:{label}>{text}</y:{label}></y:S></data>");
    let yed = format!(
        "<graphml xmlns:y=\"y\"><key id=\"d\" for=\"all\" yfiles.type=\"nodegraphics\"/>\n\
         <graph edgedefault=\"directed\"><node id=\"n0\">{}</node><node id=\"n1\">{}</node>\n\
         <edge source=\"n0\" target=\"n1\">{}</edge></graph></graphml>",
        drawn("NodeLabel", "Lyon"),
        drawn("NodeLabel", " Nice "),
        drawn("EdgeLabel", "10 Gbps")
    );
    assert_eq!(told("n.graphml", &yed, "default_delay = \"1ms\"").0, ["Lyon-Nice 10Gbps 1ms"]);
    // An edge may have a label for each value.
    let (links, notes) =
        told("n.graphml", &yed.replace("</y:EdgeLabel>", "</y:EdgeLabel><y:EdgeLabel>250 us</y:EdgeLabel>"), "");
    assert_eq!(links, ["Lyon-Nice 10Gbps 250us"]);
    assert!(notes.contains(&"\"10 Gbps 250 us\" is read as a delay of 250us, one way: line 3".to_owned()), "{notes:?}");
    // Two nodes of one name.
    let (links, notes) = told("n.graphml", &yed.replace("Nice", "Lyon"), "default_delay = \"1ms\"");
    assert_eq!(links, ["Lyon-Lyon#2 10Gbps 1ms"]);
    assert!(
        notes.contains(&"nodes whose name is taken have a number, as in \"Lyon#2\": line 2".to_owned()),
        "{notes:?}"
    );
}

#[test]
fn loops_are_left_out_and_the_largest_part_is_taken_on_request() {
    let gml = "graph [\nnode [ id 0 label \"Dubai\" ] node [ id 1 label \"London\" ]\n\
               edge [ source 0 target 1 LinkSpeedRaw 64000.0 delay 30 ]\nedge [ source 0 target 0 delay 1 ]\n]";
    let (links, notes) = told("n.gml", gml, "");
    assert_eq!(links, ["Dubai-London 64Kbps 30ms"]);
    assert_eq!(notes, ["links of a node to itself are left out: line 4"]);
    let csv = "from,to,rate,delay\nX,Y,,\nA,B,1G,1ms\nB,C,1G,1ms\n";
    assert!(refused("n.csv", csv, "").contains("component = \"largest\""));
    let (links, notes) = told("n.csv", csv, "component = \"largest\"");
    assert_eq!(links, ["A-B 1Gbps 1ms", "B-C 1Gbps 1ms"]);
    assert_eq!(notes, ["2 of 5 nodes are left out, as no link joins them: X, Y"]);
}

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
fn a_capital_b_is_bytes_behind_a_number() {
    let (links, _) = told("n.csv", "from,to,bw_mbps,delay\nA,B,10MB/s,1ms\nB,C,10Mb/s,1ms\nC,D,1.5 kBps,1ms\n", "");
    assert_eq!(links, ["A-B 80Mbps 1ms", "B-C 10Mbps 1ms", "C-D 12Kbps 1ms"]);
}

#[test]
fn words_of_a_bundle_replace_the_raw_rate_of_one_link_and_a_bound_beside_it_is_listed() {
    let gml = "graph [\nnode [ id 0 ] node [ id 1 ] node [ id 2 ]\n\
               edge [ source 0 target 1 LinkSpeedRaw 1e10 LinkLabel \"10GEx4\" delay 30 ]\n\
               edge [ source 1 target 2 LinkSpeedRaw 1e8 LinkLabel \"less than 100 Mbps\" delay 1 ]\n]";
    let (links, notes) = told("n.gml", gml, "");
    assert_eq!(links, ["0-1 40Gbps 30ms", "1-2 100Mbps 1ms"]);
    let bound = "`LinkSpeedRaw` is 100Mbps; \"less than 100 Mbps\" names no single rate: line 4";
    assert_eq!(notes, ["\"10GEx4\" is read as 40Gbps: line 3", bound]);
}

#[test]
fn words_of_operators_are_rates_and_guesses_are_listed() {
    let labels = ["300M-1Gb/s", "STM-64x4", "T1", "E3", "8*GbE"];
    let edges: Vec<String> =
        (0..5).map(|at| format!("edge [ source {at} target {} LinkLabel \"{}\" ]\n", at + 1, labels[at])).collect();
    let six = "node [ id 0 ] node [ id 1 ] node [ id 2 ] node [ id 3 ] node [ id 4 ] node [ id 5 ]";
    let (links, notes) = told("n.gml", &format!("graph [ {six}\n{}]", edges.concat()), DEFAULTS);
    let rates: Vec<&str> = links.iter().map(|link| link.split(' ').nth(1).unwrap()).collect();
    assert_eq!(rates, ["100Gbps", "39.81312Gbps", "1.544Mbps", "34.368Mbps", "8Gbps"]);
    for note in [
        "\"STM-64x4\" is read as 39.81312Gbps: line 3",
        "the rate is `default_rate`, 100Gbps; \"300M-1Gb/s\" names no single rate: line 2",
        "the delay is `default_delay`, 1ms: lines 2-6",
    ] {
        assert!(notes.iter().any(|known| known == note), "{note}: {notes:?}");
    }
}

#[test]
fn bare_numbers_have_the_unit_of_the_key_or_of_the_file() {
    let graphml = "<graphml><key id=\"bw\" for=\"edge\" attr.name=\"bandwidth\"/><key id=\"delay\" for=\"edge\" \
                   attr.name=\"delay\"/><graph edgedefault=\"undirected\"><node id=\"0\"/><node id=\"1\"/>\n\
                   <edge source=\"0\" target=\"1\"><data key=\"bw\">18.0</data><data key=\"delay\">10.0</data></edge>\
                   </graph></graphml>";
    assert_eq!(told("n.graphml", graphml, "rate_unit = \"Mbps\"").0, ["0-1 18Mbps 10ms"]);
    assert!(refused("n.graphml", graphml, "").contains("rate_unit = \"Mbps\""));
    assert!(refused("n.graphml", graphml, "rate_unit = \"apples\"").contains("not a unit of rates"));
    let gml = "graph [ node [ id 0 ] node [ id 1 ]\n\
               edge [ source 0 target 1 bandwidth 10000000 bandwidthUnits \"kb/s\" delay 5 delay_unit \"us\" ] ]";
    assert_eq!(told("n.gml", gml, ""), (vec!["0-1 10Gbps 5us".to_owned()], vec![]));
    let wrong = gml.replace("kb/s", "furlongs");
    assert!(refused("n.gml", &wrong, "").contains("line 2: `bandwidthUnits` is \"furlongs\""));
}

#[test]
fn usual_heads_of_columns_are_known() {
    for (text, link) in [
        ("source,target,rate,delay\nA,B,10Gbps,1ms\n", "A-B 10Gbps 1ms"),
        ("src,dst,bw,latency\nA,B,10Gbps,1ms\n", "A-B 10Gbps 1ms"),
        ("Node1;Node2;Capacity (Mb/s);Delay [us]\nA, B;C;2500;7\n", "A, B-C 2.5Gbps 7us"),
        ("from,to,bw_mbps,delay_us\nA,B,100.0,7\n", "A-B 100Mbps 7us"),
        ("from,to,\"bandwidth (Gbps)\",latency-ms\n\"Washington, DC\",B,40,3\n", "Washington, DC-B 40Gbps 3ms"),
        ("from\tto\tcapacity_MBps\tdelay\nA\tB\t125\t1\n", "A-B 1Gbps 1ms"),
    ] {
        assert_eq!(told("n.csv", text, "").0, [link], "{text}");
    }
    // Entities in GML, also in numbers as networkx writes them.
    let gml = "graph [ node [ id 0 label \"Orl&#233;ans &amp; B&lt;\" ] node [ id 1 label \"R&D; &#x4e; &x\" ]\n\
               edge [ source 0 target 1 rate 1e9 delay 1 ] ]";
    assert_eq!(told("n.gml", gml, "").0, ["Orl\u{e9}ans & B<-R&D; N &x 1Gbps 1ms"]);
    let error = refused("n.csv", "from,to,bandw,delay\nA,B,10Gbps,1ms\n", "");
    assert!(error.contains("line 2: the link A-B has no rate, and `bandw` is not understood"), "{error}");
}

#[test]
fn files_of_other_tools_are_read_or_refused_as_the_table_says() {
    let table: toml::Table = include_str!("../vectors/networks.toml").parse().unwrap();
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
        let expected: Vec<&str> = case["links"].as_array().unwrap().iter().filter_map(toml::Value::as_str).collect();
        assert_eq!(links, expected, "{text}");
        assert!(value("note").is_none_or(|note| notes.iter().any(|it| it == note)), "{text}: {notes:?}");
    }
}

#[test]
fn keys_of_other_tools_are_told_their_names() {
    let scheme = "title = \"t\"\nduration = \"1s\"\n[topology]\nkind = \"dumbbell\"\nsenders = 1\nrate = \"1Gbps\"\n\
                  delay = \"1ms\"\n[[group]]\nname = \"g\"\n[[scheme]]\ntransport = \"udp\"\n";
    let switch = |keys: &str| format!("{scheme}[switch.default]\nbuffer = \"1MB\"\n{keys}\n");
    for (text, message, help) in [
        (format!("{scheme}packet = \"100B\"\n"), "is called `datagram`", "payload of each datagram"),
        (switch("mark = { min = \"50KB\", max = \"90KB\", drop_min = \"300KB\" }"), "`drop_min`", "drop = { min ="),
        (switch("wred = { min = \"50KB\", max = \"90KB\" }"), "is called `drop`", "Drops by the length"),
    ] {
        let problem = read(&text, &Options::default()).expect_err(&text);
        assert!(problem.message().contains(message) && problem.help.contains(help), "{problem:?}");
    }
    let link = include_str!("../scenarios/graph.toml").replacen("rate = ", "up_rate = ", 1);
    let problem = read(&link, &Options::default()).expect_err("a link with up_rate");
    assert!(problem.message().contains("is called `rate`") && problem.help.contains("each"), "{problem:?}");
}

#[test]
fn what_the_command_sets_may_mend_a_file() {
    let csv = "from,to,rate,delay\nX,Y,1G,1ms\nA,B,1G,1ms\nB,C,1G,1ms\n";
    assert!(open("n.csv", csv, "").is_err());
    for negative in ["-1G", "-1Gbps", " -1 Gbps", "-1000"] {
        let said = refused("n.csv", &format!("from,to,rate,delay\nA,B,{negative},1ms\nB,C,1G,1ms\n"), "");
        assert!(said.contains(negative.trim()), "{negative}: {said}");
    }
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
    assert!(refused("n.csv", "from,to,rate,delay,loss\nA,B,1G,1,10\n", "").contains("`loss` is 10"));
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
    assert!(refused("h.csv", plain, "hosts_are = [\"2\"]").contains("no node is named \"2\""));
    let error = refused("n.csv", &csv.replace("Host", "hots"), "");
    assert!(error.contains("line 5: `kind` is \"hots\""), "{error}");
}

const SNDLIB: &str = "?SNDlib native format; type: network; version: 1.0\n# a triangle\nMETA (\n  \
                      unit = MBITPERSEC\n)\n\
                      NODES (\n  Bonn ( 7.10 50.73 )\n  Jena ( 11.59 50.93 )\n  Ulm ( 9.99 48.40 )\n)\nLINKS (\n  \
                      L1 ( Bonn Jena ) 2480.00 0.00 0.00 0.00 ( 40000.00 133.00 )\n  \
                      L2 ( Jena Ulm ) 0.00 0.00 0.00 0.00 ( 40000.00 9.00 10000.00 5.00 )\n  \
                      L3 ( Ulm Bonn ) 155.00 0.00 0.00 0.00 ( )\n)\nDEMANDS (\n  \
                      D1 ( Bonn Jena ) 1 30.00 UNLIMITED\n  D2 ( Ulm Bonn ) 1 10.00 UNLIMITED\n)\n";

const SNDLIB_XML: &str = "<?xml version=\"1.0\"?>\n<network xmlns=\"http://sndlib.zib.de/network\" version=\"1.0\">\n\
    <networkStructure><nodes coordinatesType=\"pixel\">\n\
    <node id=\"N1\"><coordinates><x>10.0</x><y>20.0</y></coordinates></node>\n\
    <node id=\"N2\"><coordinates><x>70.0</x><y>20.0</y></coordinates></node></nodes>\n\
    <links><link id=\"L\"><source>N1</source><target>N2</target>\n\
    <preInstalledModule><capacity>40.0</capacity><cost>0</cost></preInstalledModule>\n\
    <additionalModules><addModule><capacity>2.5</capacity><cost>1</cost></addModule></additionalModules></link>\n\
    </links></networkStructure><demands><demand id=\"D\"><source>N1</source><target>N2</target>\n\
    <demandValue>5.0</demandValue></demand></demands></network>\n";

#[test]
fn networks_and_demands_of_sndlib_are_read() {
    let (links, notes) = told("triangle.txt", SNDLIB, "");
    let rates: Vec<&str> = links.iter().map(|link| link.rsplit_once(' ').unwrap().0).collect();
    assert_eq!(rates, ["Bonn-Jena 2.48Gbps", "Jena-Ulm 10Gbps", "Ulm-Bonn 155Mbps"]);
    let smallest = "no capacity is installed, so the smallest module gives the rate: line 13";
    assert!(notes.iter().any(|note| note == smallest), "{notes:?}");
    assert!(notes.iter().any(|note| note == "the delay follows from coordinates: lines 12-14"), "{notes:?}");
    // The file names no unit, and its coordinates are those of a picture.
    let error = refused("two.xml", SNDLIB_XML, DEFAULTS.split_once('\n').unwrap().1);
    assert!(error.contains("N1-N2 has no rate") && error.contains("rate_unit"), "{error}");
    let keys = "rate_unit = \"Gbps\"\ndefault_delay = \"2ms\"";
    let (links, notes) = told("two.xml", SNDLIB_XML, keys);
    assert_eq!(links, ["N1-N2 40Gbps 2ms"]);
    assert_eq!(notes, ["the delay is `default_delay`, 2ms: line 6"]);

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
fn networks_of_repetita_hpcc_and_rocketfuel_are_read() {
    let repetita = "NODES 2\nlabel x y\n0_Rome 12.5 41.9\n1_Bari 16.9 41.1\n\nEDGES 2\nlabel src dest weight bw delay\n\
                    edge_0 0 1 1 9953280 1913\nedge_1 1 0 1 9953280 1913\n";
    let note = |lines: &str| format!("rows in both directions with equal values are one link: lines {lines}");
    assert_eq!(told("r.graph", repetita, ""), (vec!["0_Rome-1_Bari 9.95328Gbps 1.913ms".into()], vec![note("8-9")]));
    let short = repetita.replace("EDGES 2", "EDGES 3");
    assert!(refused("r.graph", &short, "").contains("line 9: the file ends before the label of an edge"));

    let hpcc = "4 1 3\n3\n0 3 25Gbps 1000ns 0.000000\n1 3 25Gbps 0.002ms 0\n2 3 100Gbps 1us 0.01\n";
    let (links, notes) = told("topology.txt", hpcc, "");
    assert_eq!(
        (&links[..], notes.len()),
        (&["0-3 25Gbps 1us", "1-3 25Gbps 2us", "2-3 100Gbps 1us"].map(String::from)[..], 0)
    );
    let study = open("topology.txt", hpcc, "").unwrap();
    let network = Network::build(&study.points[0].plan, Seed::new(1));
    let hosts: Vec<u32> = network.graph.hosts().map(|host| host.0).collect();
    assert_eq!((hosts, network.names.len()), (vec![0, 1, 2], 4));
    let Topology::File(_, faults) = &study.points[0].plan.topology else { panic!("no file") };
    assert_eq!(faults.iter().map(|(at, link)| (*at, link.ways[0].loss)).collect::<Vec<_>>(), [(2, 0.01)]);
    assert!(refused("topology.txt", &hpcc.replace("0 3 25", "9 3 25"), "").contains("line 3: no node is named \"9\""));

    let latencies = "Palo+Alto,+CA83 San+Jose,+CA82 2\nSan+Jose,+CA82 Palo+Alto,+CA83 2\n";
    let (links, _) = told("latencies.intra", latencies, "default_rate = \"1Gbps\"");
    assert_eq!(links, ["Palo+Alto,+CA83-San+Jose,+CA82 1Gbps 2ms"]);
    let (links, _) = told("weights.intra", latencies, DEFAULTS);
    assert_eq!(links, ["Palo+Alto,+CA83-San+Jose,+CA82 100Gbps 1ms"]);
    assert!(refused("net.png", "x", "").contains("no known format"));
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

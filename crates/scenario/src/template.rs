//! Scenarios that `shallop new` writes: a commented text for a chosen network, transports and traffic, which
//! [`crate::read`] accepts without changes. The networks are in `template/topologies.toml`.

use crate::{import, topology::TOPOLOGY};
use serde::Deserialize;
use shallop_control::{Marking, any as window};
use shallop_core::Span;
use shallop_options::SectionKind;
use shallop_plan::{bounds::DAY, files::Files, plan::Transport, transport::Configured};
use std::{collections::BTreeMap, fmt::Write as _};

/// One choice of `shallop new`: a network, a transport or a kind of traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    pub name: &'static str,
    /// A description of the choice, in a line.
    pub about: &'static str,
}

impl From<SectionKind> for Item {
    fn from(kind: SectionKind) -> Self {
        Self { name: kind.name, about: kind.about }
    }
}

/// What depends on the kind of the network; the fields are explained in `template/topologies.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TopologyTemplate {
    kind: String,
    text: String,
    #[serde(default = "any_hosts")]
    ends: String,
    long: Option<String>,
    links: String,
    at_once: u32,
}

fn any_hosts() -> String {
    commented("from = \"hosts\"", "a set of hosts, or a list of names") + "to = \"hosts\"\n"
}

fn topology_templates() -> Vec<TopologyTemplate> {
    let mut all: BTreeMap<String, Vec<TopologyTemplate>> =
        toml::from_str(include_str!("template/topologies.toml")).expect("tests write scenarios of all networks");
    all.remove("topology").unwrap_or_default()
}

/// The networks to choose from, by the `kind` of `[topology]`. "file" requires [`Choice::network`].
pub fn topologies() -> Vec<Item> {
    let known = topology_templates().into_iter().filter_map(|shape| TOPOLOGY.named(&shape.kind));
    known.map(Item::from).collect()
}

/// The transports to choose from: all that schemes can have.
pub fn transports() -> Vec<Item> {
    Transport::kinds().into_iter().map(Item::from).collect()
}

/// The kinds of traffic to choose from.
pub const fn traffics() -> &'static [Item] {
    &[LONG, MIXED, INCAST]
}

const LONG: Item = Item { name: "long", about: "flows without end, to see rates, queues and fairness" };
const MIXED: Item =
    Item { name: "mixed", about: "flows that come and go at a load of 0.4 or less, to see completion times by size" };
const INCAST: Item = Item { name: "incast", about: "many hosts answer one at once, again and again, to see bursts" };

/// The network of `shallop new` if none is chosen.
pub const DEFAULT_TOPOLOGY: &str = "dumbbell";
/// The transports of `shallop new` if none are chosen.
pub const DEFAULT_TRANSPORTS: [&str; 2] = ["cubic", "flashpass"];
/// The traffic of `shallop new` if none is chosen.
pub const DEFAULT_TRAFFIC: &str = "long";

const HEADER: &str = "\
# A scenario of shallop. Quantities are texts with their units. `shallop schema` has every key with its bounds;
# `shallop check FILE --explain` prints what follows from the numbers below.
";

/// What the user of `shallop new` chose.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// A name from [`topologies`].
    pub topology: String,
    /// Names from [`transports`].
    pub transports: Vec<String>,
    /// A name from [`traffics`].
    pub traffic: String,
    /// The network file for the topology "file", relative to the folder of the scenario.
    pub network: Option<String>,
    /// The chip of the switches, one of `shallop chips`.
    pub chip: Option<String>,
    /// The sections `[switch.NAME]` that the network file names ([`switches`]).
    pub switches: Vec<String>,
    /// The load of "mixed" traffic, [`LOAD`] or less.
    pub load: f64,
    /// The longest base round-trip time of the traffic, of which the run lasts a multiple; zero if it is not known.
    pub longest_rtt: Span,
}

/// The load of "mixed" traffic on links that can carry it.
pub const LOAD: f64 = 0.4;

/// The sections `[switch.NAME]` that a network file names, except the default.
pub fn switches(files: &dyn Files, file: &str) -> Vec<String> {
    import::switches(files, file)
}

/// The least duration of a full and of a quick run, in base round trips.
const ROUND_TRIPS: (u64, u64) = (50, 10);

/// The duration of a run as text: at least `usual` and at least `trips`, rounded up to a multiple of `step`.
fn duration(usual: Span, step: Span, trips: Span) -> String {
    let least = trips.as_ps().div_ceil(step.as_ps());
    usual.max(step * least).min(DAY).to_string()
}

/// Writes the scenario as commented TOML.
///
/// # Errors
/// The name that is none of those that can be chosen, or what is missing.
pub fn write(choice: &Choice) -> Result<String, String> {
    let Some(shape) = topology_templates().into_iter().find(|shape| shape.kind == choice.topology) else {
        return Err(format!("there is no topology \"{}\"", choice.topology));
    };
    let Some(traffic) = traffics().iter().find(|item| item.name == choice.traffic) else {
        return Err(format!("there is no traffic \"{}\"", choice.traffic));
    };
    let (known, mut schemes) = (transports(), String::new());
    for name in &choice.transports {
        let Some(item) = known.iter().find(|item| item.name == *name) else {
            return Err(format!("there is no transport \"{name}\""));
        };
        schemes += "\n[[scheme]]\n";
        schemes += &commented(&format!("transport = \"{}\"", item.name), item.about);
        schemes += &options(item.name);
    }
    if schemes.is_empty() {
        return Err("a scenario needs a transport".to_owned());
    }
    let mut topology = shape.text.clone();
    match (&choice.network, shape.kind.as_str()) {
        (Some(file), "file") => topology = topology.replace("NETWORK", &quoted(file)),
        (None, "file") => return Err("the topology \"file\" needs a network file".to_owned()),
        (Some(_), _) => return Err("only the topology \"file\" reads a network file".to_owned()),
        (None, _) => {}
    }
    let marks = window::Config::kinds()
        .filter(|kind| kind.marking != Marking::Off)
        .any(|kind| choice.transports.iter().any(|name| name == kind.name));
    let mut text = head(&shape.kind, traffic, choice.longest_rtt);
    let _ = write!(text, "\n[topology]\n{topology}\n[switch.default]\n{}", switch(choice, marks));
    for name in &choice.switches {
        let _ = write!(text, "\n[switch.{}]\n{}", quoted(name), switch(choice, marks));
    }
    if traffic.name != LONG.name {
        text += "\n[classes]\n";
        text += &commented("small = \"100KB\"", "completion times are told apart by size: up to this, and more");
    }
    text += &schemes;
    text += &group(&shape, traffic, choice.load);
    text += &quick(traffic, choice.longest_rtt);
    Ok(text)
}

fn head(topology: &str, traffic: &Item, rtt: Span) -> String {
    let usual = if traffic.name == LONG.name { 5 } else { 120 };
    let (usual, second) = (Span::from_secs(usual), Span::from_secs(1));
    let duration = duration(usual, second, rtt * ROUND_TRIPS.0);
    let lines = [
        (format!("title = \"{topology}, {}\"", traffic.name), "what it is called in tables"),
        (format!("duration = \"{duration}\""), "a run ends then at the latest"),
        ("seeds = [1, 2, 3]".to_owned(), "a run for each; tables show means and 95 % intervals"),
        ("stack = \"linux\"".to_owned(), "whose TCP the hosts have: linux, ns3 or ns2"),
    ];
    let mut text = HEADER.to_owned();
    for (line, comment) in lines {
        text += &commented(&line, comment);
    }
    text
}

fn switch(choice: &Choice, marks: bool) -> String {
    let mut text = match &choice.chip {
        Some(chip) => commented(
            &format!("chip = {}", quoted(chip)),
            "its ports share its memory; `shared = { alpha = 1 }` beside it changes how",
        ),
        None => {
            commented("buffer = \"20KB/Gbps\"", "of each port: bytes, \"100pkt\" or per Gb/s; or `chip` in its place")
        }
    };
    if marks {
        text += &commented("mark = { above = \"13KB/Gbps\" }", "ECN marks from here on, for those that answer them");
    }
    text
}

/// The lines that a transport needs besides its name.
fn options(transport: &str) -> String {
    match transport {
        "udp" => commented("rate = \"50Mbps\"", "of each flow, on the wire"),
        "gemini" => commented("k = \"13KB/Gbps\"", "K: where switches mark, as they say it"),
        _ => String::new(),
    }
}

fn group(shape: &TopologyTemplate, traffic: &Item, load: f64) -> String {
    let mut text =
        format!("\n[[group]]\n{}{}", commented("name = \"all\"", "some traffic; there may be more groups"), shape.ends);
    match traffic.name {
        "long" => {
            if let Some(pattern) = &shape.long {
                text += &commented(&format!("pattern = \"{pattern}\""), "who sends to whom");
            }
            text += &commented("start = \"0s..200ms\"", "flows start at random in this time");
        }
        "mixed" => {
            text += &commented("pattern = \"uniform\"", "any host to any other");
            text += &commented("sizes = \"web-search\"", "a distribution of the literature, or a file of yours");
            let load = format!("arrivals = {{ load = {load}, of = \"{}\" }}", shape.links);
            text += &commented(&load, "Poisson, payload over the capacity of these links");
            text += &commented("flows = 1_000", "more flows, better tails");
            text += &commented("warm_up = 50", "these make the load and are not judged");
            text += "cool_down = 50\n";
        }
        _ => {
            text += &commented("pattern = \"incast\"", "each burst goes to one host");
            text += &commented(&format!("at_once = {}", shape.at_once), "from so many others");
            text += &commented("size = \"64KB\"", "payload of each");
            let burst = format!("arrivals = {{ every = \"20ms\", at_once = {} }}", shape.at_once);
            text += &commented(&burst, "a burst each so often, of so many flows");
            text += &commented(&format!("flows = {}", 50 * shape.at_once), "50 bursts");
        }
    }
    text
}

fn quick(traffic: &Item, rtt: Span) -> String {
    let lasts = |ms: u64| {
        let step = Span::from_ms(100);
        format!("duration = \"{}\"\n", duration(Span::from_ms(ms), step, rtt * ROUND_TRIPS.1))
    };
    let changes = match traffic.name {
        "long" => lasts(500),
        "mixed" => "\"group.all.flows\" = 100\n\"group.all.warm_up\" = 5\n\"group.all.cool_down\" = 5\n".to_owned(),
        _ => lasts(200),
    };
    format!("\n# What `--quick` changes.\n[quick]\nseeds = [1]\n{changes}")
}

/// Adds a comment to a line, aligned with the other comments.
fn commented(line: &str, comment: &str) -> String {
    format!("{line:<39} # {comment}\n")
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{self as scenario, Options};
    use shallop_plan::files::NoFiles;
    use std::sync::Arc;

    #[derive(Debug)]
    struct Sites;

    impl Files for Sites {
        fn open(&self, name: &str) -> Result<Box<dyn std::io::BufRead + Send>, String> {
            let sites = "from,to,rate,delay\na,b,1Gbps,5ms\nb,c,1Gbps,5ms\n";
            if name == "my \"sites\".csv" { Ok(Box::new(sites.as_bytes())) } else { NoFiles.open(name) }
        }
    }

    fn check(choice: &Choice) {
        let text = write(choice).unwrap();
        assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
        for quick in [false, true] {
            let options = Options { quick, files: Arc::new(Sites), ..Options::default() };
            let study = scenario::read(&text, &options);
            let study = study.unwrap_or_else(|problem| panic!("{choice:?}: {problem:?}\n{text}"));
            for job in study.jobs() {
                let run = shallop_plan::wait::check(&study.points[job.point].plan, job.scheme, job.seed);
                assert!(run.is_ok(), "{choice:?}: {run:?}");
            }
        }
    }

    fn of(topology: &Item, transports: &[&str], traffic: &Item) -> Choice {
        Choice {
            chip: None,
            topology: topology.name.to_owned(),
            transports: transports.iter().map(|&name| name.to_owned()).collect(),
            traffic: traffic.name.to_owned(),
            network: (topology.name == "file").then(|| "my \"sites\".csv".to_owned()),
            switches: Vec::new(),
            load: LOAD,
            longest_rtt: Span::ZERO,
        }
    }

    #[test]
    fn every_combination_is_a_good_scenario() {
        let all = transports();
        let every: Vec<&str> = all.iter().map(|item| item.name).collect();
        for topology in &topologies() {
            for traffic in traffics() {
                for transport in &every {
                    check(&of(topology, &[*transport], traffic));
                }
                check(&of(topology, &DEFAULT_TRANSPORTS, traffic));
                check(&of(topology, &every, traffic));
            }
        }
    }

    #[test]
    fn a_run_outlasts_its_longest_round_trip_many_times() {
        for (traffic, rtt, full, quick) in [
            (LONG, Span::ZERO, "5s", "500ms"),
            (LONG, Span::from_ms(20), "5s", "500ms"),
            (LONG, Span::from_ms(641), "33s", "6.5s"),
            (INCAST, Span::from_ms(25), "120s", "300ms"),
            (INCAST, Span::from_secs(7), "350s", "70s"),
        ] {
            let choice = Choice { longest_rtt: rtt, ..of(&topologies()[0], &["cubic"], &traffic) };
            let text = write(&choice).unwrap();
            let durations: Vec<&str> =
                (text.lines()).filter_map(|line| line.strip_prefix("duration = \"")?.split('"').next()).collect();
            assert_eq!(durations, [full, quick], "{rtt}");
            check(&choice);
        }
    }

    #[test]
    fn everything_a_scenario_may_name_can_be_chosen() {
        let names = |items: &[Item]| items.iter().map(|item| item.name.to_owned()).collect::<Vec<_>>();
        let schema = scenario::schema();
        let kinds = |of: &serde_json::Value, tag: &str| -> Vec<String> {
            let all = of["oneOf"].as_array().unwrap().iter();
            // A scheme that is `like` another one has no transport of its own.
            let own = all.filter(|kind| kind["properties"].get("like").is_none());
            own.map(|kind| kind["properties"][tag]["const"].as_str().unwrap().to_owned()).collect()
        };
        let properties = &schema["properties"];
        let mut transports = kinds(&properties["scheme"]["items"], "transport");
        transports.sort();
        let mut known = names(&super::transports());
        known.sort();
        assert_eq!(known, transports);
        assert_eq!(names(&topologies()), kinds(&properties["topology"], "kind"));
    }

    #[test]
    fn what_is_not_there_is_named() {
        let mut choice = of(&topologies()[0], &["cubik"], &LONG);
        assert!(write(&choice).unwrap_err().contains("cubik"));
        choice.transports.clear();
        assert!(write(&choice).unwrap_err().contains("needs a transport"));
        choice.topology = "file".to_owned();
        choice.transports = vec!["cubic".to_owned()];
        assert!(write(&choice).unwrap_err().contains("needs a network file"));
    }
}

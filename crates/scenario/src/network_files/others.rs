//! Network files of other tools: `SNDlib` (native and XML), REPETITA, HPCC's topology.txt, htsim's
//! fat trees, and Rocketfuel's lists of links. Sources: sndlib.put.poznan.pl, "`SNDlib` formats";
//! repetita.info.ucl.ac.be, "Data Format"; the comments of HPCC's simulation; the format of `weights.intra` and
//! `latencies.intra`.

use super::edges::Nodes;
use super::graphml::{Lines, children, document};
use super::{Defaults, Drawing, Element, Wrong};
use roxmltree::{Document, Node};
use shallop_topology::bounds::MAX_NODES;
use std::collections::BTreeSet;

/// What a file in the format of `SNDlib` says.
#[derive(Default)]
pub(super) struct Sndlib {
    /// The unit of capacities and demands, if the file has one.
    unit: Option<String>,
    /// Whether coordinates are degrees. The native format does not say it.
    geographical: bool,
    /// The name of each node, its coordinates and its line.
    nodes: Vec<(String, [String; 2], usize)>,
    links: Vec<SndLink>,
    /// The ends of each demand, its value and its line.
    pub demands: Vec<([String; 2], String, usize)>,
}

struct SndLink {
    ends: [String; 2],
    /// The installed capacity, and the capacities of modules that could be added.
    installed: String,
    modules: Vec<String>,
    line: usize,
}

fn attribute(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

impl Sndlib {
    /// Capacities are rates if the file or the scenario names their unit. A link without an installed capacity has the
    /// smallest of its modules.
    pub(super) fn drawing(self, defaults: &Defaults) -> Drawing {
        let unit = self.unit.filter(|_| defaults.unit.is_none());
        let known = unit.is_some() || defaults.unit.is_some();
        let mut drawing = Drawing::default();
        for (name, [x, y], line) in self.nodes {
            let at = [attribute("longitude", &x), attribute("latitude", &y)];
            let attributes = if self.geographical { at.to_vec() } else { Vec::new() };
            drawing.nodes.push((name, Element { line, attributes }));
        }
        for SndLink { ends, installed, modules, line } in self.links {
            let value = |text: &String| text.parse::<f64>().unwrap_or(0.0);
            let sizes = modules.iter().filter(|size| value(size) > 0.0);
            let smallest = sizes.min_by(|a, b| value(a).total_cmp(&value(b)));
            let is_installed = value(&installed) != 0.0;
            let capacity = if is_installed { Some(&installed) } else { smallest };
            let mut attributes = Vec::new();
            match (capacity, known) {
                (Some(capacity), true) => attributes.push(attribute("capacity", capacity)),
                (Some(capacity), false) => attributes.push(attribute("capacity without a unit", capacity)),
                (None, _) => {}
            }
            if let (Some(_), Some(unit)) = (capacity, &unit) {
                attributes.push(attribute("capacityUnits", unit));
            }
            if known && !is_installed && capacity.is_some() {
                let guess = "no capacity is installed, so the smallest module gives the rate";
                drawing.guesses.entry(guess.to_owned()).or_default().push(line);
            }
            drawing.edges.push((ends, Element { line, attributes }));
        }
        drawing
    }

    /// Parses the native format: sections such as `NODES ( ... )`, with a line for each entry.
    pub(super) fn native(text: &str) -> Result<Self, Wrong> {
        let mut all = Self::default();
        let mut section = "";
        for (line, text) in (1..).zip(text.lines()).skip(1) {
            let words: Vec<&str> = text.split('#').next().unwrap_or_default().split_whitespace().collect();
            let entry: Vec<&str> = words.iter().copied().filter(|word| !matches!(*word, "(" | ")")).collect();
            let few = |help: &str| Wrong::new(line, format!("this entry of {section} is too short"), help);
            let own = |words: &[&str]| [words[0].to_owned(), words[1].to_owned()];
            match (section, &words[..]) {
                (_, [] | ["META" | "NODES" | "LINKS" | "DEMANDS", "(", ")"]) => {}
                ("", [name, "("]) => section = name,
                (_, [")"]) => section = "",
                ("META", ["unit", "=", unit, ..]) => all.unit = Some((*unit).to_owned()),
                ("NODES", _) => {
                    let [name, x, y] = entry[..] else { return Err(few("write NAME ( x y )")) };
                    all.nodes.push((name.to_owned(), own(&[x, y]), line));
                }
                ("LINKS", _) => {
                    let [_, a, b, installed, _, _, _, modules @ ..] = &entry[..] else {
                        let help = "write NAME ( a b ) capacity cost routing setup ( capacity cost ... )";
                        return Err(few(help));
                    };
                    let modules = modules.iter().step_by(2).map(|&size| size.to_owned()).collect();
                    let installed = (*installed).to_owned();
                    all.links.push(SndLink { ends: own(&[a, b]), installed, modules, line });
                }
                ("DEMANDS", _) => {
                    let [_, a, b, _, value, ..] = entry[..] else {
                        return Err(few("write NAME ( a b ) unit value limit"));
                    };
                    all.demands.push((own(&[a, b]), value.to_owned(), line));
                }
                _ => {}
            }
        }
        let degrees = |text: &String, most: f64| text.parse::<f64>().is_ok_and(|value| value.abs() <= most);
        all.geographical = all.nodes.iter().all(|(_, [x, y], _)| degrees(x, 180.0) && degrees(y, 90.0));
        Ok(all)
    }

    /// Parses the XML format, whose root is `network`.
    pub(super) fn xml(text: &str) -> Result<Self, Wrong> {
        let document: Document<'_> = document(text)?;
        let lines = Lines::of(text);
        let root = document.root_element();
        let mut all = Self::default();
        let content = |of: Option<Node<'_, '_>>| of.and_then(|it| it.text()).unwrap_or_default().trim().to_owned();
        let text = |of: Node<'_, '_>, tag: &'static str| content(children(of, tag).next());
        let unit = root.descendants().find(|it| it.tag_name().name() == "unit");
        all.unit = Some(content(unit)).filter(|unit| !unit.is_empty());
        for node in root.descendants() {
            let line = lines.line(node);
            let ends = || [text(node, "source"), text(node, "target")];
            match node.tag_name().name() {
                "nodes" => all.geographical = node.attribute("coordinatesType") == Some("geographical"),
                "node" => {
                    let id = node.attribute("id");
                    let id = id.ok_or_else(|| Wrong::new(line, "this <node> lacks its `id`", ""))?;
                    let at = children(node, "coordinates").next();
                    let at = ["x", "y"].map(|axis| at.map_or_else(String::new, |at| text(at, axis)));
                    all.nodes.push((id.to_owned(), at, line));
                }
                "link" => {
                    let installed = children(node, "preInstalledModule").next();
                    let installed = installed.map_or_else(|| "0".to_owned(), |module| text(module, "capacity"));
                    let modules = children(node, "additionalModules").flat_map(|all| children(all, "addModule"));
                    let modules = modules.map(|module| text(module, "capacity")).collect();
                    all.links.push(SndLink { ends: ends(), installed, modules, line });
                }
                "demand" => all.demands.push((ends(), text(node, "demandValue"), line)),
                _ => {}
            }
        }
        Ok(all)
    }
}

/// The words of a text, each with its line.
struct Words<'a>(Box<dyn Iterator<Item = (usize, &'a str)> + 'a>, usize);

impl<'a> Words<'a> {
    fn of(text: &'a str) -> Self {
        let words = |(line, text): (usize, &'a str)| text.split_whitespace().map(move |word| (line, word));
        Self(Box::new((1..).zip(text.lines()).flat_map(words)), 1)
    }

    /// The next word; `what` names it in the error at the end of the text.
    fn next(&mut self, what: &str) -> Result<&'a str, Wrong> {
        let missing = Wrong::new(self.1, format!("the file ends before {what}"), "");
        let (line, word) = self.0.next().ok_or(missing)?;
        self.1 = line;
        Ok(word)
    }

    /// The next word as a number of things.
    fn count(&mut self, what: &str) -> Result<usize, Wrong> {
        let word = self.next(what)?;
        let wrong = |_| Wrong::new(self.1, format!("\"{word}\" is no number: {what}"), "write a whole number");
        word.parse().map_err(wrong)
    }
}

/// Parses REPETITA: `NODES n`, a heading, `label x y` for each node, `EDGES m`, a heading, and for each direction of a
/// link `label source destination weight bandwidth delay`, in kb/s and microseconds.
pub(super) fn repetita(text: &str, defaults: &Defaults) -> Result<Drawing, Wrong> {
    let rate = if defaults.unit.is_some() { "bw" } else { "bw_kbps" };
    let mut words = Words::of(text);
    let mut drawing = Drawing::default();
    words.next("NODES")?;
    let nodes = words.count("the number of nodes")?;
    for heading in ["label", "x", "y"] {
        words.next(heading)?;
    }
    for number in 0..nodes {
        let label = words.next("the label of a node")?;
        let element = Element { line: words.1, attributes: vec![attribute("label", label)] };
        drawing.nodes.push((number.to_string(), element));
        words.next("x of a node")?;
        words.next("y of a node")?;
    }
    if words.next("EDGES")? != "EDGES" {
        return Err(Wrong::new(words.1, "expected EDGES", "the number of nodes is behind NODES"));
    }
    let edges = words.count("the number of edges")?;
    for heading in ["label", "src", "dest", "weight", "bw", "delay"] {
        words.next(heading)?;
    }
    for _ in 0..edges {
        words.next("the label of an edge")?;
        let ends = [words.next("the source of an edge")?.to_owned(), words.next("its destination")?.to_owned()];
        let mut attributes = Vec::new();
        for name in ["weight", rate, "delay_us"] {
            attributes.push(attribute(name, words.next(name)?));
        }
        drawing.edges.push((ends, Element { line: words.1, attributes }));
    }
    Ok(drawing)
}

/// Parses HPCC's topology.txt: the numbers of nodes, switches and links; the switches; and for each link both ends,
/// rate, delay and the rate of lost packets. Nodes are numbered from 0, and those that are no switches are hosts.
pub(super) fn hpcc(text: &str) -> Result<Drawing, Wrong> {
    let mut words = Words::of(text);
    let nodes = words.count("the number of nodes")?;
    let [switches, links] = [words.count("the number of switches")?, words.count("the number of links")?];
    let line = words.1;
    let switches = (0..switches).map(|_| words.next("the switches").map(str::to_owned));
    let switches = switches.collect::<Result<BTreeSet<_>, _>>()?;
    let mut drawing = Drawing::default();
    if nodes as u64 > MAX_NODES {
        return Err(Wrong::new(line, format!("{nodes} nodes"), format!("at most {MAX_NODES} are simulated")));
    }
    for name in (0..nodes).map(|number| number.to_string()) {
        let kind = if switches.contains(&name) { "switch" } else { "host" };
        drawing.nodes.push((name, Element { line, attributes: vec![attribute("kind", kind)] }));
    }
    for _ in 0..links {
        let ends = [words.next("a link")?.to_owned(), words.next("the end of a link")?.to_owned()];
        let mut attributes = Vec::new();
        for name in ["rate", "delay", "error_rate"] {
            attributes.push(attribute(name, words.next(name)?));
        }
        drawing.edges.push((ends, Element { line: words.1, attributes }));
    }
    Ok(drawing)
}

/// The keys of a file of htsim and their values, with lines: the head first, then each tier.
fn htsim_keys<'a>(text: &'a str) -> Vec<(String, &'a str, usize)> {
    let lines = (1..).zip(text.lines().map(|line| line.split('#').next().unwrap_or_default()));
    let key = |(line, text): (usize, &'a str)| {
        let mut words = text.split_whitespace();
        Some((words.next()?.to_ascii_lowercase(), words.next().unwrap_or_default(), line))
    };
    lines.filter_map(key).collect()
}

/// Whether a text begins as htsim's description of a fat tree: `Nodes`, then `Tiers`.
pub(super) fn is_htsim(text: &str) -> bool {
    let keys = htsim_keys(text);
    keys.first().is_some_and(|it| it.0 == "nodes") && keys.iter().take(4).any(|it| it.0 == "tiers")
}

/// What htsim says of a tier of switches.
#[derive(Clone, Copy, Default)]
struct Tier {
    gbps: f64,
    down: usize,
    up: usize,
    bundle: usize,
    /// The latency of a switch and of a link to the tier below, in nanoseconds.
    latency: [f64; 2],
}

/// The numbers of hosts, of tiers and of hosts in a pod, and the tiers.
fn htsim_tiers(text: &str) -> Result<([usize; 3], Vec<Tier>), Wrong> {
    let mut head = [0; 3];
    let mut tiers: Vec<Tier> = Vec::new();
    for (key, value, line) in htsim_keys(text) {
        let number = value.parse().ok().filter(|it: &f64| (0.0..=MAX_NODES as f64).contains(it)).ok_or_else(|| {
            let message = format!("`{key}` is \"{value}\", no number, or one above {MAX_NODES}");
            Wrong::new(line, message, "a line is a key and a number, as in Nodes 16")
        })?;
        let (count, known) = (number as usize, tiers.len());
        match (key.as_str(), tiers.last_mut()) {
            ("nodes", _) => head[0] = count,
            ("tiers", _) => head[1] = count,
            ("podsize", _) => head[2] = count,
            ("tier", _) if count == known && count < 3 => tiers.push(Tier { bundle: 1, ..Tier::default() }),
            ("downlink_speed_gbps", Some(tier)) => tier.gbps = number,
            ("radix_down", Some(tier)) => tier.down = count,
            ("radix_up", Some(tier)) => tier.up = count,
            ("bundle", Some(tier)) => tier.bundle = count.max(1),
            ("switch_latency_ns", Some(tier)) => tier.latency[0] = number,
            ("downlink_latency_ns", Some(tier)) => tier.latency[1] = number,
            ("queue_up" | "queue_down" | "oversubscribed", Some(_)) => {}
            _ => return Err(Wrong::new(line, format!("`{key} {value}` is not expected here"), HTSIM)),
        }
    }
    let few = tiers.iter().any(|tier| tier.down < tier.bundle || tier.down == 0 || tier.gbps == 0.0);
    if !(2..=3).contains(&head[1]) || tiers.len() != head[1] || few || head.contains(&0) {
        let message = "a key is missing, or there are not as many tiers as it says".into();
        return Err(Wrong { line: None, message, help: HTSIM.into() });
    }
    Ok((head, tiers))
}

/// Parses htsim's description of a fat tree of two or three tiers. Hosts are numbered from 0; switches have the names
/// that htsim gives their ports: LS0 at hosts, US0 above, CS0 in the core. A link has the half of the latency of the
/// switches at its ends, so that a path has all of it.
pub(super) fn htsim(text: &str) -> Result<Drawing, Wrong> {
    let ([hosts, count, pod], tiers) = htsim_tiers(text)?;
    let per_pod = tiers[0].up / tiers[1].bundle;
    let tors_per_pod = pod / tiers[0].down;
    let (pods, tors) = (hosts / pod, hosts / tiers[0].down);
    let uppers = per_pod * pods;
    let core = tiers.get(2).copied().unwrap_or_default();
    let (cores, to_core) =
        if count == 3 { (uppers * tiers[1].up / core.down, tiers[1].up / core.bundle) } else { (0, 0) };
    let fits = pods * pod == hosts
        && tors_per_pod * tiers[0].down == pod
        && tiers[0].bundle == 1
        && per_pod > 0
        && tors_per_pod * tiers[1].bundle == tiers[1].down
        && (count == 2 && pods == 1 || cores > 0 && cores == per_pod * to_core);
    let all = hosts + tors + uppers + cores + tors * tiers[0].up + uppers * tiers[1].up;
    if !fits || all > 1 << 22 {
        let message =
            "`Nodes`, `Podsize`, `Radix_Down`, `Radix_Up` and `Bundle` do not fit each other, or are too large";
        return Err(Wrong { line: None, message: message.into(), help: HTSIM.into() });
    }
    let mut drawing = Drawing::default();
    for (count, name) in [(hosts, ""), (tors, "LS"), (uppers, "US"), (cores, "CS")] {
        let kind = if name.is_empty() { "host" } else { "switch" };
        let element = Element { line: 1, attributes: vec![attribute("kind", kind)] };
        drawing.nodes.extend((0..count).map(|number| (format!("{name}{number}"), element.clone())));
    }
    let mut link = |tier: usize, below: String, above: String| {
        let below_it = tier.checked_sub(1).map_or(0.0, |below| tiers[below].latency[0]);
        let Tier { gbps, bundle, latency: [switch, wire], .. } = tiers[tier];
        let delay = wire + f64::midpoint(switch, below_it);
        let attributes = vec![attribute("rate_gbps", &gbps.to_string()), attribute("delay_ns", &delay.to_string())];
        let element = Element { line: 1, attributes };
        drawing.edges.extend((0..bundle).map(|_| ([below.clone(), above.clone()], element.clone())));
    };
    (0..hosts).for_each(|host| link(0, host.to_string(), format!("LS{}", host / tiers[0].down)));
    for tor in 0..tors {
        let first = if count == 3 { tor / tors_per_pod * per_pod } else { 0 };
        (first..first + per_pod).for_each(|upper| link(1, format!("LS{tor}"), format!("US{upper}")));
    }
    for upper in 0..uppers {
        let cores = (0..to_core).map(|number| upper % per_pod + per_pod * number);
        cores.for_each(|core| link(2, format!("US{upper}"), format!("CS{core}")));
    }
    Ok(drawing)
}

const HTSIM: &str = "a fat tree of htsim: Nodes, Tiers, Podsize, and for each Tier Downlink_speed_Gbps, Radix_Down, \
                     Radix_Up, Downlink_Latency_ns";

/// Parses a list of links of Rocketfuel, a line for each direction: the names of both ends, and a number, `name`.
pub(super) fn rocketfuel(text: &str, name: &str) -> Result<Drawing, Wrong> {
    let mut nodes = Nodes::default();
    let mut edges = Vec::new();
    for (line, text) in (1..).zip(text.lines()).filter(|(_, text)| !text.trim().is_empty()) {
        let [a, b, value] = text.split_whitespace().collect::<Vec<_>>()[..] else {
            return Err(Wrong::new(line, "this is no link", "a line has two names without spaces, and a number"));
        };
        nodes.mention(a, line);
        nodes.mention(b, line);
        edges.push(([a, b].map(str::to_owned), Element { line, attributes: vec![attribute(name, value)] }));
    }
    Ok(Drawing { nodes: nodes.all, edges, ..Drawing::default() })
}

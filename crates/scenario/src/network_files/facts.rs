//! Interprets the attributes of network files: names, rates and delays.
//!
//! A delay that is not written follows from the coordinates of both ends: the great circle between them on a sphere
//! with the Earth's mean radius, 6,371 km, at 200,000 km/s, the speed of light in glass (refractive index about 1.5).
//! Fibres do not follow great circles, hence `path_factor`.

use super::columns::{Meaning, direction, length_unit, meaning, plain, sounds_like_a_delay, sounds_like_a_rate};
use super::places::{Coordinates, coordinates, great_circle_km};
use super::words::{as_a_whole, in_words, rate_unit, time_in_words, time_unit};
use super::{Defaults, Drawing, Element, FileLink, FileWay, Origin, Part, Parts, Wrong, pairs};
use shallop_core::{BitsPerSec, Bytes, Span};
use shallop_topology::builder::{ALL, HOSTS};
use std::collections::{BTreeMap, BTreeSet};

/// Attributes of links in the Internet Topology Zoo from which rates are read.
const LABELS: [&str; 3] = ["LinkLabel", "LinkNote", "LinkType"];
pub(super) const OF_NODES: [&str; 11] =
    ["switch", "chip", "latitude", "longitude", "lat", "lon", "lng", "long", "kind", OF_HOSTS[0], OF_HOSTS[1]];
/// Attributes of Shadow's nodes: the rates of the links from and to each host.
const OF_HOSTS: [&str; 2] = ["host_bandwidth_up", "host_bandwidth_down"];
/// Attributes that name nodes and links, or that the formats need.
const OF_FORMATS: [&str; 6] = ["id", "label", "name", "source", "target", "key"];
/// Names that nodes cannot have, since sets of hosts or links have them.
const TAKEN: [&str; 4] = [ALL, HOSTS, "core", "access"];

/// The largest length of a cable, in kilometres.
const MAX_KM: f64 = 1e6;
/// The allowed sizes of the largest IP packet, in bytes.
const MTUS: std::ops::RangeInclusive<u64> = 576..=9_216;
const KM_PER_SECOND: f64 = 200_000.0;

/// Interprets the nodes and links of a file as switches, hosts, rates and delays. Links must join all nodes.
pub(super) fn resolve(drawing: &Drawing, defaults: &Defaults) -> Result<Parts, Wrong> {
    let whole = |message: &str| Wrong {
        line: None,
        message: message.to_owned(),
        help: "a network has two nodes or more, and links between them".into(),
    };
    if drawing.nodes.len() < 2 {
        return Err(whole("there are fewer than two nodes in it"));
    }
    let mut reading =
        Reading { defaults, unread: unread(drawing), origin: Origin::default(), guesses: drawing.guesses.clone() };
    let mut notes = Vec::new();
    let names = names(drawing, &mut notes);
    let edges = edges(drawing, &mut notes)?;
    if edges.is_empty() {
        return Err(whole("there is no link in it"));
    }
    let ends: Vec<(usize, usize)> = edges.iter().map(|edge| edge.0).collect();
    let stays = pairs::component(&names, &ends, defaults.largest, &mut notes)?;
    let coordinates = drawing.nodes.iter().map(|(_, element)| coordinates(element));
    let coordinates = coordinates.collect::<Result<Vec<_>, _>>()?;
    let mut rows = Vec::with_capacity(edges.len());
    for ((a, b), element) in edges.into_iter().filter(|((a, _), _)| stays[*a]) {
        let ways = reading.ways(element, [&names[a], &names[b]], (coordinates[a], coordinates[b]))?;
        rows.push(FileLink { between: (a, b), ways, line: element.line });
    }
    let mut links = pairs::join(&rows, drawing.directed, &names, &mut notes);
    // The numbers of the nodes that stay.
    let mut numbers = vec![0; names.len()];
    let staying = (0..names.len()).filter(|&node| stays[node]);
    staying.enumerate().for_each(|(number, node)| numbers[node] = number);
    for link in &mut links {
        link.between = (numbers[link.between.0], numbers[link.between.1]);
    }
    let of_node = |((name, (_, element)), _): ((String, &(String, Element)), _)| {
        let located = |key: &str| element.get(&[key]).map(|it| (it.1.to_owned(), element.line));
        let [up, down] =
            OF_HOSTS.map(|key| element.get(&[key]).map(|found| of_text(found, element.line, defaults, 1.0)));
        let of_hosts = [up.transpose()?, down.transpose()?];
        Ok(Part { name, switch: located("switch"), chip: located("chip"), is_host: is_host(element)?, of_hosts })
    };
    let parts = names.into_iter().zip(&drawing.nodes).zip(stays).filter(|(_, stays)| *stays).map(of_node);
    let parts = parts.collect::<Result<_, Wrong>>()?;
    let guesses = reading.guesses.into_iter();
    notes.extend(guesses.map(|(guess, at)| format!("{guess}: {}", pairs::lines(&at))));
    Ok(Parts { nodes: parts, links, origin: reading.origin, unread: reading.unread, notes })
}

/// The indices of the two ends of a link, and its attributes.
type Edge<'a> = ((usize, usize), &'a Element);

/// The links between different nodes.
fn edges<'a>(drawing: &'a Drawing, notes: &mut Vec<String>) -> Result<Vec<Edge<'a>>, Wrong> {
    let numbers = numbers(drawing)?;
    let (mut edges, mut loops) = (Vec::with_capacity(drawing.edges.len()), Vec::new());
    for (ends, element) in &drawing.edges {
        let find = |end: &String| {
            numbers.get(end.as_str()).copied().ok_or_else(|| {
                let help = "links lead to the identifiers of nodes";
                Wrong::new(element.line, format!("no node is named \"{end}\""), help)
            })
        };
        let (a, b) = (find(&ends[0])?, find(&ends[1])?);
        if a == b { loops.push(element.line) } else { edges.push(((a, b), element)) }
    }
    if !loops.is_empty() {
        notes.push(format!("links of a node to itself are left out: {}", pairs::lines(&loops)));
    }
    Ok(edges)
}

/// Whether a node is a host by its `kind`; `type` and `role` are read as far as they have a known word.
fn is_host(element: &Element) -> Result<bool, Wrong> {
    if let Some((_, text)) = element.get(&["kind"]) {
        let wrong = || Wrong::new(element.line, format!("`kind` is \"{text}\""), "allowed: host, switch");
        return kind(text).ok_or_else(wrong);
    }
    Ok(element.get(&["type", "role"]).and_then(|(_, text)| kind(text)).unwrap_or(false))
}

/// Whether a word for a kind of node is one for hosts.
fn kind(text: &str) -> Option<bool> {
    match plain(text).as_str() {
        "host" | "server" | "h" | "client" | "endhost" => Some(true),
        "switch" | "router" | "s" | "node" => Some(false),
        _ => None,
    }
}

/// The names of attributes that were ignored, for a note.
fn unread(drawing: &Drawing) -> Vec<String> {
    let labels = LABELS.map(plain);
    let known = |key: &str| {
        let unit = plain(key).strip_suffix("units").or(plain(key).strip_suffix("unit")).map(meaning);
        let of_link = matches!(unit, Some(Some(Meaning::Rate(..) | Meaning::Delay(..))));
        let of_words = labels.contains(&plain(key)) || ["linkspeedraw", "unit", "units"].contains(&plain(key).as_str());
        of_link || of_words || meaning(key).is_some() || direction(key).is_some()
    };
    let of_node = |key: &str| OF_NODES.iter().any(|known| known.eq_ignore_ascii_case(key));
    let mut seen: BTreeMap<(bool, &str), bool> = BTreeMap::new();
    let nodes = drawing.nodes.iter().map(|(_, element)| (true, element));
    for (node, element) in nodes.chain(drawing.edges.iter().map(|(_, element)| (false, element))) {
        for (key, value) in element.attributes.iter().filter(|(_, value)| !value.trim().is_empty()) {
            let is_kind = || ["type", "role"].contains(&key.to_ascii_lowercase().as_str()) && kind(value).is_some();
            let is = || if node { of_node(key) || is_kind() } else { known(key) };
            seen.entry((node, key)).or_insert_with(is);
        }
    }
    let format = |key: &str| key.is_empty() || OF_FORMATS.iter().any(|known| known.eq_ignore_ascii_case(key));
    let unread =
        seen.into_iter().filter(|((_, key), known)| !known && !format(key)).map(|((_, key), _)| key.to_owned());
    unread.collect::<BTreeSet<_>>().into_iter().collect()
}

/// A file that is being read: where the numbers of its links come from, and the lines of those that were not written.
struct Reading<'a> {
    defaults: &'a Defaults,
    unread: Vec<String>,
    origin: Origin,
    guesses: BTreeMap<String, Vec<usize>>,
}

impl Reading<'_> {
    fn guess(&mut self, guess: String, line: usize) {
        self.guesses.entry(guess).or_default().push(line);
    }

    /// The values of both directions of a link between nodes with these names.
    fn ways(
        &mut self, element: &Element, names: [&str; 2], at: (Coordinates, Coordinates),
    ) -> Result<[FileWay; 2], Wrong> {
        let written = element.attributes.iter().filter(|(_, value)| !value.trim().is_empty());
        let own: Vec<(usize, String, &(String, String))> =
            written.filter_map(|it| direction(&it.0).map(|(way, name)| (way, name, it))).collect();
        if own.is_empty() {
            return Ok([self.way(element, names, at)?; 2]);
        }
        let of = |way: usize| {
            let own = own.iter().filter(|it| it.0 == way);
            let own = own.map(|(_, name, (_, value))| (name.clone(), value.clone()));
            let rest = element.attributes.iter().filter(|(key, _)| direction(key).is_none()).cloned();
            Element { line: element.line, attributes: own.chain(rest).collect() }
        };
        for (way, _, (key, _)) in &own {
            let [from, to] = [["first", "second"], ["second", "first"]][*way];
            self.guess(format!("`{key}` is from the {from} node of a row to the {to}"), element.line);
        }
        let forth = self.way(&of(0), names, at)?;
        let origin = self.origin.clone();
        let back = self.way(&of(1), [names[1], names[0]], (at.1, at.0))?;
        self.origin = origin;
        Ok([forth, back])
    }

    /// The values of a link, or of a direction, between nodes with these names.
    fn way(&mut self, element: &Element, names: [&str; 2], at: (Coordinates, Coordinates)) -> Result<FileWay, Wrong> {
        let missing = |what: &str, unread: &[String]| {
            let mut keys = element.attributes.iter().map(|(key, _)| key);
            let near = keys.find(|key| match what {
                "rate" => unread.contains(key) && sounds_like_a_rate(key),
                _ => sounds_like_a_delay(key),
            });
            let message = format!("the link {}-{} has no {what}", names[0], names[1]);
            let help = format!("write one in the file, or `default_{what}` in the scenario");
            let Some(near) = near else { return Wrong::new(element.line, message, help) };
            let help = match what {
                "rate" => {
                    "name it `rate`, `bandwidth` or `capacity`, with the unit in the name or the value: rate_mbps; or \
                     write `rate_unit` or `default_rate` in the scenario"
                }
                _ => {
                    "name it `delay`, one way, or `length`, with the unit in the name or the value: delay_us, \
                     length_km; or write `default_delay` in the scenario"
                }
            };
            Wrong::new(element.line, format!("{message}, and `{near}` is not understood"), help)
        };
        let rate = self.rate(element)?.ok_or_else(|| missing("rate", &self.unread))?;
        let delay = self.delay(element, at)?.ok_or_else(|| missing("delay", &self.unread))?;
        let jitter = time(element, self.defaults, |it| match it {
            Meaning::Jitter(unit) => Some((0, unit)),
            _ => None,
        })?;
        let (mtu, loss) = (mtu(element)?, loss(element)?);
        Ok(FileWay { rate, delay, mtu, loss, jitter: jitter.unwrap_or_default() })
    }

    /// The rate of a link: as written, or the default.
    fn rate(&mut self, element: &Element) -> Result<Option<BitsPerSec>, Wrong> {
        let written = rate(element, self.defaults)?;
        let label = element.get(&LABELS).or(element.get(&["label"])).map(|(_, text)| text.to_owned());
        if let Some((rate, from_words)) = written {
            self.origin.rates += 1;
            if let Some(label) = label {
                let both = element.get(&LABELS).and(element.get(&["LinkSpeedRaw"]));
                let is_unclear = both.is_some() && in_words(&label).is_none();
                if from_words {
                    self.guess(format!("\"{label}\" is read as {rate}"), element.line);
                } else if is_unclear && label.contains(|c: char| c.is_ascii_digit()) {
                    self.guess(format!("`LinkSpeedRaw` is {rate}; \"{label}\" names no single rate"), element.line);
                }
            }
            return Ok(Some(rate));
        }
        self.origin.default_rates.push(element.line);
        let Some(rate) = self.defaults.rate else { return Ok(None) };
        let why = label.map_or_else(String::new, |label| format!("; \"{label}\" names no single rate"));
        self.guess(format!("the rate is `default_rate`, {rate}{why}"), element.line);
        Ok(Some(rate))
    }

    /// The delay of a link: as written, by its length, by the coordinates of its ends, or the default.
    fn delay(&mut self, element: &Element, coordinates: (Coordinates, Coordinates)) -> Result<Option<Span>, Wrong> {
        let defaults = self.defaults;
        let written = time(element, defaults, |it| match it {
            Meaning::Delay(at, unit) => Some((at, unit)),
            _ => None,
        })?;
        let told = element.get(&LABELS).or(element.get(&["label"])).filter(|_| written.is_none());
        let told = told.and_then(|(_, text)| Some((text, Span::from_secs_f64(time_in_words(text)?))));
        if let Some((text, delay)) = told.filter(|told| told.1 <= defaults.longest) {
            self.origin.delays += 1;
            self.guess(format!("\"{text}\" is read as a delay of {delay}, one way"), element.line);
            return Ok(Some(delay));
        }
        let along = |km: f64| Span::from_secs_f64(km / KM_PER_SECOND).min(defaults.longest);
        let (delay, guess) = match ((written, length_km(element)?), coordinates) {
            ((Some(delay), _), _) => {
                self.origin.delays += 1;
                (Some(delay), None)
            }
            ((None, Some(km)), _) => {
                self.origin.lengths += 1;
                (Some(along(km)), None)
            }
            (_, (Some(from), Some(to))) => {
                self.origin.distances.push(element.line);
                let delay = along(great_circle_km(from, to) * defaults.path_factor);
                (Some(delay), Some("the delay follows from coordinates".to_owned()))
            }
            _ => {
                self.origin.default_delays.push(element.line);
                (defaults.delay, defaults.delay.map(|delay| format!("the delay is `default_delay`, {delay}")))
            }
        };
        if let Some(guess) = guess {
            self.guess(guess, element.line);
        }
        Ok(delay)
    }
}

/// The index of each node by its identifier, which must be unique.
fn numbers(drawing: &Drawing) -> Result<BTreeMap<&str, usize>, Wrong> {
    let mut numbers = BTreeMap::new();
    for (number, (id, element)) in drawing.nodes.iter().enumerate() {
        if let Some(first) = numbers.insert(id.as_str(), number) {
            let message = format!("a second node \"{id}\"");
            let line = drawing.nodes[first].1.line;
            let help = format!("identifiers are unique; the first is in line {line}");
            return Err(Wrong::new(element.line, message, help));
        }
    }
    Ok(numbers)
}

/// A name for each node: the label, or else the identifier; "#2", "#3" and so on is appended if the name is taken.
fn names(drawing: &Drawing, notes: &mut Vec<String>) -> Vec<String> {
    let mut taken: BTreeSet<String> = TAKEN.map(str::to_owned).into();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let name = |(id, element): &(String, Element)| {
        element.get(&["label", "name"]).map_or(id.as_str(), |found| found.1).to_owned()
    };
    let labels: Vec<String> = drawing.nodes.iter().map(name).collect();
    let (mut names, mut numbered) = (Vec::with_capacity(labels.len()), Vec::new());
    for (label, (_, element)) in labels.iter().zip(&drawing.nodes) {
        let mut name = label.clone();
        let count = counts.entry(label).or_insert(1);
        while taken.contains(&name) {
            *count += 1;
            name = format!("{label}#{count}");
        }
        if name != *label {
            numbered.push((name.clone(), element.line));
        }
        taken.insert(name.clone());
        names.push(name);
    }
    if let Some((first, _)) = numbered.first() {
        let at: Vec<usize> = numbered.iter().map(|it| it.1).collect();
        notes.push(format!("nodes whose name is taken have a number, as in \"{first}\": {}", pairs::lines(&at)));
    }
    names
}

/// Parses the value of the attribute `key` as a number.
pub(super) fn number((key, text): (&str, &str), line: usize) -> Result<f64, Wrong> {
    let parsed = text.parse::<f64>().ok().filter(|number| number.is_finite());
    parsed.ok_or_else(|| Wrong::new(line, format!("`{key}` is \"{text}\", no number"), "write 12.5"))
}

/// The attribute that `choose` takes first: its name, its value, and what `choose` makes of its meaning.
fn find<T>(element: &Element, choose: impl Fn(Meaning) -> Option<(usize, T)>) -> Option<(&str, &str, T)> {
    let written = element.attributes.iter().filter(|(_, value)| !value.trim().is_empty());
    let chosen = written.filter_map(|(key, value)| Some((key, value, choose(meaning(key)?)?)));
    chosen.min_by_key(|it| it.2.0).map(|(key, value, (_, unit))| (key.as_str(), value.trim(), unit))
}

fn any_unit(text: &str) -> Option<f64> {
    rate_unit(text).or(time_unit(text)).or(length_unit(text))
}

/// The unit in an attribute beside `key`, such as `bandwidthUnits`.
fn unit_beside(element: &Element, key: &str, unit: impl Fn(&str) -> Option<f64>) -> Result<Option<f64>, Wrong> {
    let names = [format!("{}units", plain(key)), format!("{}unit", plain(key))];
    let mut written = element.attributes.iter().filter(|(_, value)| !value.trim().is_empty());
    let Some((name, text)) = written.find(|(name, _)| names.contains(&plain(name))) else {
        // A unit of something is not known to be that of `key`.
        let [unit_of, any] = [&unit as &dyn Fn(&str) -> Option<f64>, &any_unit];
        let Some((name, text)) = element.get(&["unit", "units"]) else { return Ok(None) };
        let wrong = || Wrong::new(element.line, format!("`{name}` is \"{text}\""), "allowed: as in Mb/s, ms or km");
        return any(text).map(|_| unit_of(text)).ok_or_else(wrong);
    };
    let wrong = || Wrong::new(element.line, format!("`{name}` is \"{text}\""), "allowed: K, M, G, T, or as in Mb/s");
    unit(text).map(Some).ok_or_else(wrong)
}

/// The rate of a link, if one of the attributes for rates is written, and whether it was read from a label.
fn rate(element: &Element, defaults: &Defaults) -> Result<Option<(BitsPerSec, bool)>, Wrong> {
    let line = element.line;
    let label = element.get(&LABELS).and_then(|label| Some((label, in_words(label.1)?)));
    if let Some(raw) = element.get(&["LinkSpeedRaw"]) {
        let bits = number(raw, line)?;
        // The zoo has the rate of one of the parallel links of a label such as "10GEx4".
        let bundle = label.filter(|label| label.1 > 1.5 * bits);
        let (written, bits) = bundle.unwrap_or((raw, bits));
        return checked(written, bits, line, defaults).map(|rate| Some((rate, bundle.is_some())));
    }
    if let Some((key, text, unit)) = find(element, |it| match it {
        // The topology zoo has speeds without units, which name no rate.
        Meaning::Rate(0, None) if element.get(&["LinkSpeedUnits"]).is_none() => None,
        Meaning::Rate(at, unit) => Some((at, unit)),
        _ => None,
    }) {
        let beside = unit_beside(element, key, rate_unit)?;
        let scale = unit.or(beside).or(defaults.unit).unwrap_or(1.0);
        return of_text((key, text), line, defaults, scale).map(|rate| Some((rate, false)));
    }
    // The label of an edge may be its name: E1 is no rate, 1G is one.
    let named = element.get(&["label"]).filter(|(_, text)| text.contains(['G', 'g', 'M', 'k', 'K', 'C']));
    let named = named.and_then(|label| Some((label, as_a_whole(label.1)?)));
    label.or(named).map(|(label, bits)| Ok((checked(label, bits, line, defaults)?, true))).transpose()
}

/// The rate in the text of an attribute; a number without a unit is multiplied by `scale`.
fn of_text((key, text): (&str, &str), line: usize, defaults: &Defaults, scale: f64) -> Result<BitsPerSec, Wrong> {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let in_bytes = rate_unit(unit.trim()).filter(|_| unit.ends_with("B/s") || unit.ends_with("Bps"));
    if let (Some(octets), Ok(number)) = (in_bytes, text[..text.len() - unit.len()].parse::<f64>()) {
        return checked((key, text), number * octets, line, defaults);
    }
    let bits = match (text.parse::<f64>(), as_a_whole(text)) {
        (Ok(_), _) => number((key, text), line)? * scale,
        (Err(_), Some(bits)) if !text.trim_start().starts_with('-') => bits,
        (Err(_), _) => {
            let allowed = "\"10Gbps\", \"100G\" or \"400GbE\", or a number of bits a second";
            with_unit::<BitsPerSec>((key, text), line, allowed)?.get() as f64
        }
    };
    checked((key, text), bits, line, defaults)
}

fn checked((key, text): (&str, &str), bits: f64, line: usize, defaults: &Defaults) -> Result<BitsPerSec, Wrong> {
    let whole = (bits.clamp(0.0, 1e18) + 0.5) as u64;
    let rate = BitsPerSec::new(whole).filter(|rate| defaults.rates.contains(rate));
    let outside = || {
        let message = format!("`{key}` is \"{text}\", out of range");
        let unit = "; bare numbers in another unit: rate_unit = \"Mbps\" in [topology]";
        let unit = if text.parse::<f64>().is_ok() { unit } else { "" };
        let help = format!("allowed: {} to {}{unit}", defaults.rates.start(), defaults.rates.end());
        Wrong::new(line, message, help)
    };
    rate.ok_or_else(outside)
}

/// The length of a cable in kilometres, if it is written.
fn length_km(element: &Element) -> Result<Option<f64>, Wrong> {
    let choose = |it| if let Meaning::Length(at, unit) = it { Some((at, unit)) } else { None };
    let Some((key, text, unit)) = find(element, choose) else { return Ok(None) };
    let end = text.find(|c: char| c.is_alphabetic()).filter(|_| unit.is_none()).unwrap_or(text.len());
    let (text, written) = text.split_at(end);
    // A length without a unit is none.
    let Some(unit) = unit.or(length_unit(written)).or(unit_beside(element, key, length_unit)?) else { return Ok(None) };
    let km = number((key, text.trim()), element.line)? * unit;
    if (0.0..=MAX_KM).contains(&km) {
        return Ok(Some(km));
    }
    let message = format!("`{key}` is {km} kilometres");
    Err(Wrong::new(element.line, message, format!("allowed: from 0 to {MAX_KM}")))
}

/// A delay or jitter of a link, if it is written.
fn time(
    element: &Element, defaults: &Defaults, choose: impl Fn(Meaning) -> Option<(usize, Option<f64>)>,
) -> Result<Option<Span>, Wrong> {
    let line = element.line;
    let Some((key, text, unit)) = find(element, choose) else { return Ok(None) };
    let unit = unit.or(unit_beside(element, key, time_unit)?).unwrap_or(1e-3);
    let seconds = if text.parse::<f64>().is_ok() {
        number((key, text), line)? * unit
    } else {
        let unit = match unit {
            1.0 => "seconds",
            1e-6 => "microseconds",
            1e-9 => "nanoseconds",
            _ => "milliseconds",
        };
        with_unit::<Span>((key, text), line, &format!("\"12.5ms\", or a number of {unit}"))?.as_secs_f64()
    };
    if !(0.0..=defaults.longest.as_secs_f64()).contains(&seconds) {
        let message = format!("`{key}` is \"{text}\", out of range");
        let help = format!("allowed: 0s to {}", defaults.longest);
        return Err(Wrong::new(line, message, help));
    }
    Ok(Some(Span::from_secs_f64(seconds)))
}

/// The share of packets that a link loses; 0 if it is not written.
fn loss(element: &Element) -> Result<f64, Wrong> {
    let choose = |it| if let Meaning::Loss(at, unit) = it { Some((at, unit)) } else { None };
    let Some((key, text, unit)) = find(element, choose) else { return Ok(0.0) };
    let (text, unit) = text.strip_suffix('%').map_or((text, unit), |text| (text.trim_end(), 0.01));
    let loss = number((key, text), element.line)? * unit;
    let help = "allowed: a share from 0 to 1; \"1%\", or a name such as loss_percent, for percent";
    let wrong = || Wrong::new(element.line, format!("`{key}` is {text}"), help);
    (0.0..=1.0).contains(&loss).then_some(loss).ok_or_else(wrong)
}

/// The largest IP packet of a link, if it is written.
fn mtu(element: &Element) -> Result<Option<Bytes>, Wrong> {
    let Some((key, text, ())) = find(element, |it| (it == Meaning::Mtu).then_some((0, ()))) else { return Ok(None) };
    let bytes = match text.parse::<f64>() {
        Ok(bytes) if bytes.fract() == 0.0 && bytes >= 0.0 => Some(Bytes::new(bytes as u64)),
        _ => text.parse().ok(),
    };
    let wrong = || {
        let help = format!("allowed: whole bytes from {} to {}", MTUS.start(), MTUS.end());
        Wrong::new(element.line, format!("`{key}` is \"{text}\""), help)
    };
    bytes.filter(|it| MTUS.contains(&it.get())).ok_or_else(wrong).map(Some)
}

/// Parses a number with a unit.
fn with_unit<T: std::str::FromStr>((key, text): (&str, &str), line: usize, allowed: &str) -> Result<T, Wrong> {
    let closed: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    closed.parse().map_err(|_| Wrong::new(line, format!("`{key}` is \"{text}\""), format!("write {allowed}")))
}

//! Interprets the attributes of network files: names, rates and delays.
//!
//! A delay that is not written follows from the coordinates of both ends: the great circle between them on a sphere
//! with the Earth's mean radius, 6,371 km, at 200,000 km/s, the speed of light in glass (refractive index about 1.5).
//! Fibres do not follow great circles, hence `path_factor`.

use std::collections::{BTreeMap, BTreeSet};

use shallop_core::{BitsPerSec, Span};

use super::{Defaults, Drawing, Element, Origin, Part, Parts, Wrong};
use shallop_topology::builder::{ALL, HOSTS};

/// Names of attributes for rates. The value has a unit, or is in the unit that ends the name: bit/s if it has none.
pub(super) const RATES: [&str; 16] = [
    "rate", "bandwidth", "capacity", "speed", "rate_bps", "rate_kbps", "rate_mbps", "rate_gbps", "speed_bps",
    "speed_mbps", "speed_gbps", "bandwidth_bps", "bandwidth_mbps", "bandwidth_gbps", "capacity_mbps", "capacity_gbps",
];
/// Names of attributes for delays. The value has a unit, or is in the unit that ends the name: milliseconds if it has
/// none.
pub(super) const DELAYS: [&str; 8] =
    ["delay", "latency", "delay_us", "delay_ms", "delay_s", "latency_us", "latency_ms", "latency_s"];
/// Names of attributes for the length of a cable in kilometres.
pub(super) const LENGTHS: [&str; 3] = ["length_km", "distance_km", "fibre_km"];
/// Attributes of links in the Internet Topology Zoo from which rates are read.
const LABELS: [&str; 6] = ["LinkSpeedRaw", "LinkSpeed", "LinkSpeedUnits", "LinkLabel", "LinkNote", "LinkType"];
pub(super) const OF_NODES: [&str; 8] = ["switch", "chip", "latitude", "longitude", "lat", "lon", "lng", "long"];
/// Attributes that name nodes and links, or that the formats need.
const OF_FORMATS: [&str; 5] = ["id", "label", "name", "source", "target"];
/// Names that nodes cannot have, since sets of hosts or links have them.
const TAKEN: [&str; 4] = [ALL, HOSTS, "core", "access"];

/// The largest length of a cable, in kilometres.
const MAX_KM: f64 = 1e6;
const EARTH_KM: f64 = 6_371.0;
const KM_PER_SECOND: f64 = 200_000.0;

/// Interprets the nodes and links of a file as switches, rates and delays. Links must join all nodes.
pub(super) fn resolve(drawing: &Drawing, defaults: &Defaults) -> Result<Parts, Wrong> {
    let whole = |message: &str| Wrong {
        line: None,
        message: message.to_owned(),
        help: "a network has two nodes or more, and links between them".into(),
    };
    if drawing.nodes.len() < 2 {
        return Err(whole("there are fewer than two nodes in it"));
    }
    if drawing.edges.is_empty() {
        return Err(whole("there is no link in it"));
    }
    let numbers = numbers(drawing)?;
    let mut origin = Origin::default();
    let names = names(drawing, &mut origin);
    let coordinates = drawing.nodes.iter().map(|(_, element)| coordinates(element));
    let coordinates = coordinates.collect::<Result<Vec<_>, _>>()?;
    let mut links = Vec::with_capacity(drawing.edges.len());
    for (ends, element) in &drawing.edges {
        let find = |end: &String| {
            numbers.get(end.as_str()).copied().ok_or_else(|| {
                let help = "links lead to the identifiers of nodes";
                Wrong::new(element.line, format!("there is no node \"{end}\""), help)
            })
        };
        let (a, b) = (find(&ends[0])?, find(&ends[1])?);
        if a == b {
            let message = format!("\"{}\" is linked to itself", names[a]);
            return Err(Wrong::new(element.line, message, "a link joins two different nodes"));
        }
        let missing = |what: &str| {
            let message = format!("the link {}-{} has no {what}", names[a], names[b]);
            let help = format!("write one in the file, or `default_{what}` in the scenario");
            Wrong::new(element.line, message, help)
        };
        let rate = link_rate(element, defaults, &mut origin)?.ok_or_else(|| missing("rate"))?;
        let delay = link_delay(element, (coordinates[a], coordinates[b]), defaults, &mut origin)?;
        let delay = delay.ok_or_else(|| missing("delay"))?;
        links.push((a, b, rate, delay));
    }
    in_one_piece(&names, &links)?;
    let elements = drawing.nodes.iter().map(|(_, element)| element);
    let nodes = names.into_iter().zip(elements).map(|(name, element)| {
        let located = |key: &str| element.get(&[key]).map(|it| (it.1.to_owned(), element.line));
        Part { name, switch: located("switch"), chip: located("chip") }
    });
    Ok(Parts { nodes: nodes.collect(), links, origin, unread: unread(drawing) })
}

/// The names of attributes that were ignored, for a note.
fn unread(drawing: &Drawing) -> Vec<String> {
    let nodes = drawing.nodes.iter().map(|(_, element)| (element, &OF_NODES[..]));
    let links = [RATES.as_slice(), &DELAYS, &LENGTHS, &LABELS].concat();
    let edges = drawing.edges.iter().map(|(_, element)| (element, &links[..]));
    let mut unread = BTreeSet::new();
    for (element, known) in nodes.chain(edges) {
        for (key, _) in element.attributes.iter().filter(|(_, value)| !value.trim().is_empty()) {
            let is = |known: &&str| known.eq_ignore_ascii_case(key);
            if !known.iter().any(is) && !OF_FORMATS.iter().any(is) {
                unread.insert(key.clone());
            }
        }
    }
    unread.into_iter().collect()
}

type Coordinates = Option<(f64, f64)>;

/// The rate of a link: as written, or the default. Notes in `origin` where it came from.
fn link_rate(element: &Element, defaults: &Defaults, origin: &mut Origin) -> Result<Option<BitsPerSec>, Wrong> {
    let written = rate(element, defaults)?;
    match written {
        Some(_) => origin.rates += 1,
        None => origin.default_rates.push(element.line),
    }
    Ok(written.or(defaults.rate))
}

/// The delay of a link: as written, by its length, by the coordinates of its ends, or the default. Notes in `origin`
/// where it came from.
fn link_delay(
    element: &Element, coordinates: (Coordinates, Coordinates), defaults: &Defaults, origin: &mut Origin,
) -> Result<Option<Span>, Wrong> {
    let written = (written_delay(element, defaults)?, length_km(element)?);
    let of_length = |km: f64| Some(Span::from_secs_f64(km / KM_PER_SECOND).min(defaults.longest));
    Ok(match (written, coordinates) {
        ((Some(delay), _), _) => {
            origin.delays += 1;
            Some(delay)
        }
        ((None, Some(km)), _) => {
            origin.lengths += 1;
            of_length(km)
        }
        (_, (Some(from), Some(to))) => {
            origin.distances.push(element.line);
            of_length(great_circle_km(from, to) * defaults.path_factor)
        }
        _ => {
            origin.default_delays.push(element.line);
            defaults.delay
        }
    })
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
fn names(drawing: &Drawing, origin: &mut Origin) -> Vec<String> {
    let mut taken: BTreeSet<String> = TAKEN.map(str::to_owned).into();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let name = |(id, element): &(String, Element)| {
        element.get(&["label", "name"]).map_or(id.as_str(), |found| found.1).to_owned()
    };
    let labels: Vec<String> = drawing.nodes.iter().map(name).collect();
    let mut names = Vec::with_capacity(labels.len());
    for label in &labels {
        let mut name = label.clone();
        let count = counts.entry(label).or_insert(1);
        while taken.contains(&name) {
            *count += 1;
            name = format!("{label}#{count}");
        }
        origin.renamed += usize::from(name != *label);
        taken.insert(name.clone());
        names.push(name);
    }
    names
}

/// Parses the value of the attribute `key` as a number.
fn number((key, text): (&str, &str), line: usize) -> Result<f64, Wrong> {
    let parsed = text.parse::<f64>().ok().filter(|number| number.is_finite());
    parsed.ok_or_else(|| Wrong::new(line, format!("`{key}` is \"{text}\", no number"), "write 12.5"))
}

/// Latitude and longitude of a node in degrees, if both are written.
fn coordinates(element: &Element) -> Result<Coordinates, Wrong> {
    let latitude = element.get(&["latitude", "lat"]);
    let longitude = element.get(&["longitude", "lon", "lng", "long"]);
    let (Some(latitude), Some(longitude)) = (latitude, longitude) else { return Ok(None) };
    let degrees = |found: (&str, &str), most: f64| {
        let degrees = number(found, element.line)?;
        if degrees.abs() > most {
            let message = format!("`{}` is {degrees} degrees", found.0);
            let help = format!("allowed: from -{most} to {most}");
            return Err(Wrong::new(element.line, message, help));
        }
        Ok(degrees)
    };
    Ok(Some((degrees(latitude, 90.0)?, degrees(longitude, 180.0)?)))
}

/// The great-circle distance in kilometres, by the haversine formula.
fn great_circle_km(from: (f64, f64), to: (f64, f64)) -> f64 {
    let [from, to] = [from, to].map(|(lat, lon)| (lat.to_radians(), lon.to_radians()));
    let half = |a: f64, b: f64| {
        let sine = libm::sin((b - a) / 2.0);
        sine * sine
    };
    let across = libm::cos(from.0) * libm::cos(to.0) * half(from.1, to.1);
    let square = (half(from.0, to.0) + across).clamp(0.0, 1.0);
    2.0 * EARTH_KM * libm::asin(libm::sqrt(square))
}

/// The rate of a link, if one of the attributes for rates is written.
fn rate(element: &Element, defaults: &Defaults) -> Result<Option<BitsPerSec>, Wrong> {
    let line = element.line;
    let bits = if let Some(raw) = element.get(&["LinkSpeedRaw"]) {
        number(raw, line)?
    } else if let (Some(speed), Some((_, unit))) = (element.get(&["LinkSpeed"]), element.get(&["LinkSpeedUnits"])) {
        let prefix = unit.chars().next().and_then(multiple);
        let Some(prefix) = prefix else {
            let message = format!("`LinkSpeedUnits` is \"{unit}\"");
            return Err(Wrong::new(line, message, "allowed: K, M, G, T"));
        };
        number(speed, line)? * prefix
    } else if let Some(found @ (key, text)) = element.get(&RATES) {
        let scale = key.rsplit_once('_').map_or(1.0, |(_, unit)| scale_of(unit));
        if let (Err(_), Some(bits)) = (text.parse::<f64>(), as_a_whole(text)) {
            bits
        } else {
            let allowed = "\"10Gbps\", \"100G\" or \"400GbE\", or a number of bits a second";
            let rate = with_unit::<BitsPerSec>(found, line, allowed)?;
            let bare = || number((key, text), line).map(|number| number * scale);
            rate.map_or_else(bare, |rate| Ok(rate.get() as f64))?
        }
    } else {
        let label = element.get(&["LinkLabel", "LinkNote", "LinkType"]);
        match label.and_then(|(_, text)| in_words(text)) {
            Some(bits) => bits,
            None => return Ok(None),
        }
    };
    let whole = (bits.clamp(0.0, 1e18) + 0.5) as u64;
    let rate = BitsPerSec::new(whole).filter(|rate| defaults.rates.contains(rate));
    let outside = || {
        let message = format!("a rate of {bits} bits a second is out of range");
        let help = format!("allowed: {} to {}", defaults.rates.start(), defaults.rates.end());
        Wrong::new(line, message, help)
    };
    rate.ok_or_else(outside).map(Some)
}

/// The length of a cable in kilometres, if it is written.
fn length_km(element: &Element) -> Result<Option<f64>, Wrong> {
    let Some(found) = element.get(&LENGTHS) else { return Ok(None) };
    let km = number(found, element.line)?;
    if (0.0..=MAX_KM).contains(&km) {
        return Ok(Some(km));
    }
    let message = format!("`{}` is {km} kilometres", found.0);
    Err(Wrong::new(element.line, message, format!("allowed: from 0 to {MAX_KM}")))
}

/// The delay of a link, if it is written.
fn written_delay(element: &Element, defaults: &Defaults) -> Result<Option<Span>, Wrong> {
    let line = element.line;
    let Some(found @ (key, _)) = element.get(&DELAYS) else { return Ok(None) };
    let scale = match key.rsplit_once('_').map(|(_, unit)| unit.to_ascii_lowercase()).as_deref() {
        Some("us") => 1e-6,
        Some("s") => 1.0,
        _ => 1e-3,
    };
    let seconds = match with_unit::<Span>(found, line, "\"12.5ms\", or a number of milliseconds")? {
        Some(delay) => delay.as_secs_f64(),
        None => number(found, line)? * scale,
    };
    if !(0.0..=defaults.longest.as_secs_f64()).contains(&seconds) {
        let message = format!("`{key}` is \"{}\", out of range", found.1);
        let help = format!("allowed: 0s to {}", defaults.longest);
        return Err(Wrong::new(line, message, help));
    }
    Ok(Some(Span::from_secs_f64(seconds)))
}

/// Parses a number with a unit; `None` if the text is a number only.
fn with_unit<T: std::str::FromStr>((key, text): (&str, &str), line: usize, allowed: &str) -> Result<Option<T>, Wrong> {
    if text.parse::<f64>().is_ok() {
        return Ok(None);
    }
    let closed: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let read = closed.parse().map(Some);
    read.map_err(|_| Wrong::new(line, format!("`{key}` is \"{text}\""), format!("write {allowed}")))
}

fn multiple(prefix: char) -> Option<f64> {
    let known = [('K', 1e3), ('M', 1e6), ('G', 1e9), ('T', 1e12)];
    known.into_iter().find(|(letter, _)| prefix.eq_ignore_ascii_case(letter)).map(|it| it.1)
}

fn scale_of(unit: &str) -> f64 {
    if unit.eq_ignore_ascii_case("bps") { 1.0 } else { unit.chars().next().and_then(multiple).unwrap_or(1.0) }
}

/// Parses the value of an attribute for rates that has words beside the number: "10 Gbit/s", "2 x 100GbE", "OC-192". In
/// bit/s; `None` if anything else is in the text.
fn as_a_whole(text: &str) -> Option<f64> {
    let upper = text.trim().to_ascii_uppercase();
    let words = upper.strip_suffix("/S").unwrap_or(&upper);
    let pieces = words.split(|c: char| c.is_ascii_digit() || matches!(c, '.' | ' ' | '-' | '*'));
    let mut names = pieces.filter(|piece| !piece.is_empty() && *piece != "X");
    let one = names.next().is_some() && names.next().is_none();
    in_words(text).filter(|_| one && !words.contains('/'))
}

/// The rate in a label, such as "10 Gbps", "2 x 2.5G", "OC-192" or "STM-16", in bit/s. `None` for labels with several
/// rates, or with "less than" or "more than".
fn in_words(label: &str) -> Option<f64> {
    let upper = label.to_ascii_uppercase();
    let mut words = Vec::new();
    let kind = |c: char| (c.is_ascii_digit() || c == '.', c.is_ascii_alphabetic());
    for part in upper.split_whitespace() {
        let mut last = None;
        for c in part.chars() {
            match words.last_mut() {
                Some(word) if last == Some(kind(c)) => String::push(word, c),
                _ => words.push(c.to_string()),
            }
            last = Some(kind(c));
        }
    }
    if words.iter().any(|word| word.contains(['<', '>', '~'])) {
        return None;
    }
    let value = |at: usize| words.get(at)?.parse::<f64>().ok();
    let units = ["", "B", "BPS", "BIT", "BITS", "BE", "E", "IGE"];
    let says = |at: Option<usize>, signs: &[&str]| {
        at.filter(|&at| words.get(at).is_some_and(|word| signs.contains(&word.as_str())))
    };
    let rate = |at: usize| match words[at].as_str() {
        "OC" => Some(value(says(Some(at + 1), &["-"]).unwrap_or(at) + 1)? * 51.84e6),
        "STM" => Some(value(says(Some(at + 1), &["-"]).unwrap_or(at) + 1)? * 155.52e6),
        word => {
            let prefix = multiple(word.chars().next()?)?;
            units.contains(&&word[1..]).then_some(())?;
            let number = value(at.checked_sub(1)?)?;
            let before = at.checked_sub(2);
            if says(before, &["-", "/"]).is_some() {
                return None;
            }
            let times = says(before, &["X", "*"]);
            let count = times.map_or(Some(1.0), |sign| value(sign.checked_sub(1)?))?;
            Some(count * number * prefix)
        }
    };
    let mut rates = (0..words.len()).filter_map(rate);
    rates.next().filter(|_| rates.next().is_none())
}

/// Checks that all nodes are connected by links.
fn in_one_piece(names: &[String], links: &[(usize, usize, BitsPerSec, Span)]) -> Result<(), Wrong> {
    let mut near = vec![Vec::new(); names.len()];
    for &(a, b, ..) in links {
        near[a].push(b);
        near[b].push(a);
    }
    let mut seen = vec![false; names.len()];
    let mut parts: Vec<Vec<&str>> = Vec::new();
    for first in 0..names.len() {
        let (mut open, mut part) = (vec![first], Vec::new());
        while let Some(node) = open.pop() {
            if !std::mem::replace(&mut seen[node], true) {
                part.push(names[node].as_str());
                open.extend(&near[node]);
            }
        }
        if !part.is_empty() {
            parts.push(part);
        }
    }
    if parts.len() == 1 {
        return Ok(());
    }
    parts.sort_by_key(Vec::len);
    let told = |part: &Vec<&str>| {
        let more = if part.len() > 5 { ", ..." } else { "" };
        format!("{}{more}", part.iter().take(5).copied().collect::<Vec<_>>().join(", "))
    };
    let some: Vec<String> = parts.iter().take(5).map(told).collect();
    let more = if parts.len() > 5 { "; ..." } else { "" };
    Err(Wrong {
        line: None,
        message: format!("the network is in {} parts: {}{more}", parts.len(), some.join("; ")),
        help: "links must join all nodes: add them, or take the nodes out".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_read_as_far_as_they_are_clear() {
        let rate = |label| in_words(label).map(|bits| (bits / 1e6).round() as u64);
        for (label, megabits) in [
            ("10 Gbps", Some(10_000)),
            ("2.5G", Some(2_500)),
            ("100 Mbit/s", Some(100)),
            ("2 x 10GE", Some(20_000)),
            ("OC-192", Some(9_953)),
            ("STM-16", Some(2_488)),
            ("10GigE", Some(10_000)),
            ("Lit fibre", None),
            ("< 1 Gbps", None),
            ("1 Gbps or 10 Gbps", None),
            ("1-10Gbps", None),
            ("Germany 4", None),
            ("", None),
        ] {
            assert_eq!(rate(label), megabits, "{label}");
        }
    }

    #[test]
    fn a_rate_that_is_written_has_nothing_beside_it() {
        for text in ["10 Gbps", "100G", "400GbE", "2 x 10GE", "OC-192", "100 Mbit/s", "1gbps"] {
            assert!(as_a_whole(text).is_some(), "{text}");
        }
        for text in ["1G/10G", "10G maybe", "about 10G", "10G, 2 of them", "10G (backup)"] {
            assert_eq!(as_a_whole(text), None, "{text}");
        }
    }

    #[test]
    fn great_circles_are_as_long_as_they_are() {
        let quarter = std::f64::consts::FRAC_PI_2 * EARTH_KM;
        assert!((great_circle_km((0.0, 0.0), (0.0, 90.0)) - quarter).abs() < 1e-6);
        assert!((great_circle_km((90.0, 12.0), (-90.0, 99.0)) - 2.0 * quarter).abs() < 1e-6);
        let new_york_to_los_angeles = great_circle_km((40.71, -74.01), (34.05, -118.24));
        assert!((new_york_to_los_angeles - 3_936.0).abs() < 5.0, "{new_york_to_los_angeles}");
    }
}

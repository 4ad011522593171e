//! What a column or attribute means by its name. Case, spaces and signs do not matter; a name may end with a unit:
//! `rate_mbps`, `capacity (Mb/s)`, `delay_us`, `loss (%)`.

use super::words::{rate_unit, time_unit};

/// Names for rates, in order of preference. A unit may follow.
const RATES: [&str; 11] = [
    "linkspeed", "rate", "bandwidth", "bw", "capacity", "speed", "linkrate", "linkbandwidth", "linkcapacity",
    "datarate", "bitrate",
];
const DELAYS: [&str; 10] = [
    "delay", "latency", "linkdelay", "linklatency", "propagationdelay", "propdelay", "onewaydelay", "onewaylatency",
    "owd", "propagation",
];
const LENGTHS: [&str; 7] = ["length", "distance", "fibre", "fiber", "dist", "linklength", "cablelength"];
const LOSSES: [&str; 6] = ["loss", "packetloss", "errorrate", "packeterrorrate", "linkloss", "plr"];

/// Names for error messages.
pub(super) const USUAL: [&str; 18] = [
    "rate", "bandwidth", "capacity", "speed", "rate_mbps", "rate_gbps", "speed_mbps", "speed_gbps", "capacity_mbps",
    "capacity_gbps", "delay", "latency", "delay_us", "delay_ms", "length_km", "loss", "jitter", "mtu",
];

/// What a column says of a link. The number is the place of the name in its list above: if a link has several columns
/// with one meaning, the smallest place counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Meaning {
    /// A rate, with the bit/s of its unit.
    Rate(usize, Option<f64>),
    /// A delay, with the seconds of its unit.
    Delay(usize, Option<f64>),
    /// A length of cable, with its unit in km.
    Length(usize, Option<f64>),
    /// A share of lost packets, with its unit: 0.01 for percent.
    Loss(usize, f64),
    /// A largest random delay, with the seconds of its unit.
    Jitter(Option<f64>),
    Mtu,
}

/// The name without case and signs.
pub(super) fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

pub(super) fn meaning(name: &str) -> Option<Meaning> {
    let letters: String = name.chars().filter(|c| c.is_alphanumeric()).collect();
    let lower = letters.to_ascii_lowercase();
    // Each base with which the name begins, and what follows it.
    let split = |bases: &'static [&'static str]| {
        let rest = |base: &str| lower.starts_with(base).then(|| letters[base.len()..].to_owned());
        bases.iter().enumerate().filter_map(move |(at, base)| Some((at, rest(base)?))).collect::<Vec<_>>()
    };
    // "delays" is a plural; "delay_s" is in seconds.
    let plural = letters.len() == name.trim().len();
    let time = |rest: &str| time_unit(rest).filter(|_| rest != "s" || !plural);
    let maybe = |rest: &str, unit: Option<f64>| (rest.is_empty() || unit.is_some()).then_some(unit);
    let rate = |(at, rest): (usize, String)| Some(Meaning::Rate(at, maybe(&rest, rate_unit(&rest))?));
    let delay = |(at, rest): (usize, String)| Some(Meaning::Delay(at, maybe(&rest, time(&rest))?));
    let length = |(at, rest): (usize, String)| Some(Meaning::Length(at, maybe(&rest, length_unit(&rest))?));
    let loss = |(at, rest): (usize, String)| match rest.to_ascii_lowercase().as_str() {
        "percent" | "pct" => Some(Meaning::Loss(at, 0.01)),
        "" | "rate" | "ratio" | "probability" => Some(Meaning::Loss(at, if name.contains('%') { 0.01 } else { 1.0 })),
        _ => None,
    };
    let jitter = |(_, rest): (usize, String)| Some(Meaning::Jitter(maybe(&rest, time(&rest))?));
    let first = split(&RATES).into_iter().find_map(rate);
    let first = first.or_else(|| split(&DELAYS).into_iter().find_map(delay));
    let first = first.or_else(|| split(&LENGTHS).into_iter().find_map(length));
    let first = first.or_else(|| split(&LOSSES).into_iter().find_map(loss));
    let first = first.or_else(|| split(&["jitter"]).into_iter().find_map(jitter));
    let first = first.or_else(|| matches!(lower.as_str(), "mtu" | "mtubytes").then_some(Meaning::Mtu));
    // A unit alone: "Gbps", "Mb/s", "ms".
    let rate = rate_unit(&letters).filter(|_| name.contains('/') || lower.contains("bps") || lower.contains("bit"));
    let first = first.or_else(|| rate.map(|unit| Meaning::Rate(RATES.len(), Some(unit))));
    let time = time_unit(&lower).filter(|_| ["ns", "us", "µs", "ms"].contains(&lower.as_str()));
    first.or_else(|| time.map(|unit| Meaning::Delay(DELAYS.len(), Some(unit))))
}

/// The direction in a name such as `rate_up` or `delayDown (ms)`, and the name without it. Direction 0 is from the
/// first node of a row to the second.
pub(super) fn direction(name: &str) -> Option<(usize, String)> {
    const WORDS: [[&str; 7]; 2] = [
        ["forward", "fwd", "up", "uplink", "upload", "upstream", "ab"],
        ["reverse", "backward", "down", "downlink", "download", "downstream", "ba"],
    ];
    let mut spaced = String::new();
    let mut last = ' ';
    for c in name.chars() {
        spaced.extend((last.is_lowercase() && c.is_uppercase()).then_some(' '));
        spaced.push(if c.is_alphanumeric() || c == '/' { c } else { ' ' });
        last = c;
    }
    let mut words: Vec<&str> = spaced.split_whitespace().collect();
    let is = |at: usize, word: &str| words.get(at).is_some_and(|it| it.eq_ignore_ascii_case(word));
    let of_letters = |at: usize| {
        let end = at + 1 + usize::from(is(at + 1, "to"));
        let way = [["a", "b"], ["b", "a"]].iter().position(|[a, b]| is(at, a) && is(end, b))?;
        Some((way, at..end + 1))
    };
    let of_word = |at: usize| Some((WORDS.iter().position(|known| known.iter().any(|word| is(at, word)))?, at..at + 1));
    let (way, taken) = (0..words.len()).find_map(|at| of_letters(at).or_else(|| of_word(at)))?;
    // `upload` alone is a rate, `up` is not.
    let alone = words.len() == 1 && words[0].len() > 5;
    words.drain(taken);
    let rest = if alone { "rate".to_owned() } else { words.join("_") };
    meaning(&rest).map(|_| (way, rest))
}

/// The unit of a length in kilometres.
pub(super) fn length_unit(text: &str) -> Option<f64> {
    match text.trim().to_lowercase().as_str() {
        "km" | "kilometres" | "kilometers" => Some(1.0),
        "m" | "metres" | "meters" => Some(1e-3),
        "mi" | "miles" => Some(1.609_344),
        _ => None,
    }
}

/// Whether a name that is not understood may mean a rate.
pub(super) fn sounds_like_a_rate(name: &str) -> bool {
    let plain = plain(name);
    ["bandw", "bw", "capacit", "rate", "speed", "bps"].iter().any(|part| plain.contains(part))
}

/// Whether a name that is not understood may mean a delay or a length.
pub(super) fn sounds_like_a_delay(name: &str) -> bool {
    let plain = plain(name);
    ["delay", "latenc", "rtt", "distance", "length", "propag"].iter().any(|part| plain.contains(part))
}

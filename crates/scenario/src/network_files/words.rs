//! Rates in the words of operators: "10 Gbps", "2 x 2.5G", "OC-192", "STM-64x4", "T1", "10 Gigabit Ethernet".
//! One rule for all: a text names a rate if all rates in it are equal, in round numbers ("45 Mbps DS-3"). A range
//! ("300M-1Gb/s"), a bound ("< 1 Gbps", "up to 10G", "10G+"), several different rates, or none have no rate.

/// Rates of the digital hierarchies by the letters of the name and its number, in bit/s. Sources: ITU-T G.702 (T, DS
/// and E), G.707 (STM), ANSI T1.105 (OC).
const LEVELS: [(&[&str], &[f64]); 2] = [
    (&["DS", "T"], &[64e3, 1.544e6, 6.312e6, 44.736e6, 274.176e6]),
    (&["E"], &[64e3, 2.048e6, 8.448e6, 34.368e6, 139.264e6]),
];
/// Names of Ethernets without a number, in bit/s.
const ETHERNETS: [(&str, f64); 7] = [
    ("GE", 1e9),
    ("GBE", 1e9),
    ("GIGE", 1e9),
    ("GIGABITETHERNET", 1e9),
    ("FE", 1e8),
    ("FASTETHERNET", 1e8),
    ("WANPHY", 9.953_28e9),
];
/// The rest of a unit behind its prefix.
const UNITS: [&str; 14] =
    ["", "B", "BS", "BPS", "BIT", "BITS", "BE", "E", "IG", "IGE", "IGABIT", "IGABITS", "EGABIT", "EGABITS"];
const TIMES: [&str; 3] = ["X", "*", "×"];
const RANGES: [&str; 7] = ["-", "–", "/", "TO", "OR", "AND", "&"];
const BOUNDS: [&str; 12] =
    ["UP", "UPTO", "LESS", "MORE", "OVER", "UNDER", "ABOVE", "BELOW", "ABOUT", "APPROX", "CA", "±"];
/// Names whose rates are exact. Numbers beside them are rounded: 45 Mb/s is DS-3.
const EXACT: [&str; 5] = ["OC", "STM", "DS", "T", "E"];
/// The largest difference of an exact rate and its round number.
const ROUNDED: f64 = 0.04;
/// Words beside a rate that do not change it.
const BESIDE: [&str; 9] = ["/", "S", "SEC", "-", "C", "ETHERNET", "ETH", "LINK", "."];

/// The multiple of a prefix such as `G`.
pub(super) fn multiple(prefix: char) -> Option<f64> {
    let known = [('K', 1e3), ('M', 1e6), ('G', 1e9), ('T', 1e12)];
    known.into_iter().find(|(letter, _)| prefix.eq_ignore_ascii_case(letter)).map(|it| it.1)
}

/// The unit of a rate in bit/s: `Mbps`, `Mb/s`, `Mbit/s`, `M`. `MBps` and `MB/s` are bytes a second.
pub(super) fn rate_unit(text: &str) -> Option<f64> {
    let plain: String = text.chars().filter(|c| c.is_alphanumeric()).collect();
    let octets = if plain.ends_with("Bps") || plain.ends_with("Bs") { 8.0 } else { 1.0 };
    let lower = plain.to_lowercase();
    let first = lower.chars().next()?;
    let (prefix, rest) = multiple(first).map_or((None, lower.as_str()), |scale| (Some(scale), &lower[1..]));
    let bits = matches!(
        rest,
        "b" | "bs"
            | "bps"
            | "bit"
            | "bits"
            | "bitss"
            | "bitps"
            | "bitsps"
            | "bitpersec"
            | "bitspersec"
            | "bsec"
            | "bitsec"
    );
    (bits || rest.is_empty() && prefix.is_some()).then_some(prefix.unwrap_or(1.0) * octets)
}

/// The unit of a time in seconds.
pub(super) fn time_unit(text: &str) -> Option<f64> {
    match text.trim().to_lowercase().as_str() {
        "ns" | "nsec" => Some(1e-9),
        "us" | "µs" | "μs" | "usec" => Some(1e-6),
        "ms" | "msec" | "milliseconds" => Some(1e-3),
        "s" | "sec" | "seconds" => Some(1.0),
        _ => None,
    }
}

/// The words of a text in capitals: numbers, runs of letters, and single signs. "STM-64X4" is STM, -, 64, X, 4.
fn split(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for part in text.to_uppercase().split_whitespace() {
        let mut last = None;
        for c in part.chars() {
            let kind = if c.is_ascii_digit() || c == '.' { Some(0) } else { c.is_alphabetic().then_some(1) };
            match words.last_mut() {
                Some(word) if kind.is_some() && last == Some(kind) => word.push(c),
                _ => words.push(c.to_string()),
            }
            last = Some(kind);
        }
    }
    let mut apart = Vec::with_capacity(words.len());
    for (at, word) in words.iter().enumerate() {
        let number = |at: Option<usize>| at.and_then(|at| words.get(at)).is_some_and(|it| it.parse::<f64>().is_ok());
        // "8xGbE" and "10Gx2": the sign sticks to letters.
        match (word.strip_prefix('X'), word.strip_suffix('X')) {
            (Some(rest), _) if !rest.is_empty() && number(at.checked_sub(1)) => {
                apart.extend(["X".to_owned(), rest.to_owned()]);
            }
            (_, Some(rest)) if !rest.is_empty() && number(Some(at + 1)) => {
                apart.extend([rest.to_owned(), "X".to_owned()]);
            }
            _ => apart.push(word.clone()),
        }
    }
    apart
}

/// A rate in a list of words: bit/s, and the words that it takes.
type Found = (f64, std::ops::Range<usize>);

struct Words(Vec<String>);

impl Words {
    fn is(&self, at: Option<usize>, known: &[&str]) -> bool {
        at.and_then(|at| self.0.get(at)).is_some_and(|word| known.contains(&word.as_str()))
    }

    fn number(&self, at: Option<usize>) -> Option<f64> {
        self.0.get(at?)?.parse().ok().filter(|number: &f64| number.is_finite())
    }

    /// The rate whose name or unit is the word `at`. `Some(Err(()))` if it is the end of a range.
    fn rate(&self, at: usize) -> Option<Result<Found, ()>> {
        let word = self.0[at].as_str();
        let behind = at + 1 + usize::from(self.is(Some(at + 1), &["-"]));
        let level = |rates: &[f64]| {
            let level = self.number(Some(behind)).filter(|level| level.fract() == 0.0)?;
            rates.get(level as usize).copied()
        };
        let named = match word {
            "OC" => self.number(Some(behind)).map(|n| n * 51.84e6),
            "STM" => self.number(Some(behind)).map(|n| if n == 0.0 { 51.84e6 } else { n * 155.52e6 }),
            _ => LEVELS.iter().find(|(names, _)| names.contains(&word)).and_then(|(_, rates)| level(rates)),
        };
        if let Some(bits) = named {
            return Some(Ok(self.multiplied(bits, at..behind + 1)));
        }
        let before = at.checked_sub(1 + usize::from(self.is(at.checked_sub(1), &["-"])));
        let prefix = word.chars().next().and_then(multiple);
        let plain = ["BPS", "BIT", "BITS"].contains(&word).then_some(1.0);
        let unit = prefix.filter(|_| UNITS.contains(&&word[1..])).or(plain);
        if let (Some(unit), Some(number), Some(first)) = (unit, self.number(before), before) {
            if self.is_in_a_range(first) || self.is_times_unknown(first) {
                return Some(Err(()));
            }
            return Some(Ok(self.multiplied(number * unit, first..at + 1)));
        }
        let (mut name, mut end) = (word.to_owned(), at + 1);
        if ["GIGABIT", "FAST"].contains(&word) && self.is(Some(end), &["ETHERNET"]) {
            (name, end) = (format!("{word}ETHERNET"), end + 1);
        }
        let bits = ETHERNETS.iter().find(|(known, _)| *known == name)?.1;
        let count = self.number(before).zip(before).filter(|_| before == at.checked_sub(1));
        let (bits, start) = count.map_or((bits, at), |(count, first)| (bits * count, first));
        Some(Ok(self.multiplied(bits, start..end)))
    }

    /// A rate with the number before or behind it and a sign of multiplication: "2 x 10G", "STM-64x4".
    fn multiplied(&self, bits: f64, words: std::ops::Range<usize>) -> Found {
        let (start, end) = (words.start, words.end);
        let count = start.checked_sub(2);
        if self.is(start.checked_sub(1), &TIMES)
            && let Some((count, first)) = self.number(count).zip(count)
        {
            return (bits * count, first..end);
        }
        // The rest of a unit comes before the sign: "2.5Gb/s x 4".
        let sign = self.end_of_unit(end);
        match self.number(Some(sign + 1)).filter(|_| self.is(Some(sign), &TIMES)) {
            Some(count) if !self.names_a_unit(sign + 2) => (bits * count, start..sign + 2),
            _ => (bits, start..end),
        }
    }

    /// The end of a unit that goes on with "/s" from `end`.
    fn end_of_unit(&self, end: usize) -> usize {
        if self.is(Some(end), &["/"]) && self.is(Some(end + 1), &["S"]) { end + 2 } else { end }
    }

    /// Whether the number `first` ends a range, as in "1-10" and "300M-1".
    fn is_in_a_range(&self, first: usize) -> bool {
        let start = first.checked_sub(2);
        let begins = |at: usize| self.number(Some(at)).is_some() || self.0[at] == "S" || self.names_a_unit(at);
        self.is(first.checked_sub(1), &RANGES) && start.is_some_and(begins)
    }

    /// Whether the number `first` is multiplied by a letter, as in "N*10".
    fn is_times_unknown(&self, first: usize) -> bool {
        self.is(first.checked_sub(1), &TIMES) && self.number(first.checked_sub(2)).is_none()
    }

    fn names_a_unit(&self, at: usize) -> bool {
        let prefix = self.0.get(at).and_then(|word| word.chars().next().filter(|c| multiple(*c).is_some()));
        prefix.is_some_and(|_| UNITS.contains(&&self.0[at][1..]))
    }
}

/// The rate that a text names, in bit/s, and whether the text has nothing else in it.
fn named(text: &str) -> Option<(f64, bool)> {
    let words = Words(split(text));
    let bound = |word: &String| BOUNDS.contains(&word.as_str()) || word.contains(['<', '>', '~', '≤', '≥']);
    if words.0.iter().any(bound) {
        return None;
    }
    let mut taken = vec![false; words.0.len()];
    let (mut rate, mut is_exact): (Option<f64>, bool) = (None, false);
    for at in 0..words.0.len() {
        if taken[at] {
            continue;
        }
        let Some(found) = words.rate(at) else { continue };
        let (bits, range) = found.ok()?;
        let exact = words.is(Some(at), &EXACT);
        let rounded = if exact || is_exact { ROUNDED } else { 1e-9 };
        if rate.is_some_and(|rate| (rate - bits).abs() > rate * rounded)
            || words.is(Some(words.end_of_unit(range.end)), &["+"])
        {
            return None;
        }
        if rate.is_none() || exact {
            (rate, is_exact) = (Some(bits), exact);
        }
        taken[range].fill(true);
    }
    let alone = words.0.iter().zip(&taken).all(|(word, taken)| *taken || BESIDE.contains(&word.as_str()));
    Some((rate?, alone))
}

/// The rate in a label, in bit/s.
pub(super) fn in_words(label: &str) -> Option<f64> {
    named(label).map(|found| found.0)
}

/// The delay in a label, in seconds: 0.005 for "10 Gbps, 5 ms". `None` if the label has no time in ms, us or ns, or
/// several.
pub(super) fn time_in_words(label: &str) -> Option<f64> {
    let words = Words(split(label));
    let unit = |at: usize| time_unit(&words.0[at]).filter(|&unit| unit < 1.0);
    let mut times = (1..words.0.len()).filter_map(|at| Some(words.number(Some(at - 1))? * unit(at)?));
    times.next().filter(|_| times.next().is_none())
}

/// The rate in the value of an attribute for rates, which has nothing beside it.
pub(super) fn as_a_whole(text: &str) -> Option<f64> {
    named(text).filter(|found| found.1).map(|found| found.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use shallop_core::BitsPerSec;

    /// All labels of the Internet Topology Zoo and some more. No rate stands where a label names no single one.
    #[test]
    fn labels_are_read_as_far_as_they_are_clear() {
        for (number, row) in (1..).zip(include_str!("labels.tsv").lines().skip(1)) {
            let (label, rate) = row.split_once('\t').unwrap();
            let bits = Some(rate).filter(|rate| !rate.is_empty()).map(|rate| rate.parse::<BitsPerSec>().unwrap().get());
            assert_eq!(in_words(label).map(|bits| bits.round() as u64), bits, "row {number}: {label}");
        }
    }

    #[test]
    fn a_rate_that_is_written_has_nothing_beside_it() {
        for text in ["10 Gbps", "100G", "400GbE", "2 x 10GE", "OC-192", "100 Mbit/s", "1gbps", "T1", "STM-64x4"] {
            assert!(as_a_whole(text).is_some(), "{text}");
        }
        for text in ["1G/10G", "10G maybe", "about 10G", "10G, 2 of them", "10G (backup)"] {
            assert_eq!(as_a_whole(text), None, "{text}");
        }
    }

    #[test]
    fn units_of_rates_are_read_in_every_spelling() {
        for text in ["Mbps", "Mb/s", "mbit/s", "M", "MBPS", "Mbits/s"] {
            assert_eq!(rate_unit(text), Some(1e6), "{text}");
        }
        assert_eq!([rate_unit("MB/s"), rate_unit("kBps"), rate_unit("bps")], [Some(8e6), Some(8e3), Some(1.0)]);
        assert_eq!([rate_unit("s"), rate_unit(""), rate_unit("apples"), rate_unit("ms")], [None; 4]);
    }
}

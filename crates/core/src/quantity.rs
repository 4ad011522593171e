//! Quantities as text, a number and a unit: "10Gbps", "40ms", "84B", "20KB/Gbps". Reading and printing are exact. K is
//! 1000 for bits and bytes alike; KiB, MiB and GiB are powers of 1024.

use crate::units::{BitsPerSec, Bytes, Span, Time};
use std::{fmt, str::FromStr};

/// Unit names with the size of the unit in ticks of its quantity, smallest unit first. Units of equal size are
/// synonyms; the first one is printed.
type Scale = &'static [(&'static str, u64)];

const SPAN: Scale = &[
    ("ps", 1),
    ("ns", 1_000),
    ("us", 1_000_000),
    ("µs", 1_000_000),
    ("ms", 1_000_000_000),
    ("s", 1_000_000_000_000),
    ("min", 60_000_000_000_000),
];
const BYTES: Scale = &[
    ("B", 1),
    ("KB", 1_000),
    ("KiB", 1 << 10),
    ("MB", 1_000_000),
    ("MiB", 1 << 20),
    ("GB", 1_000_000_000),
    ("GiB", 1 << 30),
    ("TB", 1_000_000_000_000),
];
const RATE: Scale =
    &[("bps", 1), ("Kbps", 1_000), ("Mbps", 1_000_000), ("Gbps", 1_000_000_000), ("Tbps", 1_000_000_000_000)];
/// Other spellings of the units of rates, as in lists of links. They are read and never printed.
const RATE_SPELLINGS: [(&str, &[&str]); 5] = [
    ("bps", &["bit/s", "b/s"]),
    ("Kbps", &["K", "Kbit/s", "kbit/s", "Kb/s", "kb/s"]),
    ("Mbps", &["M", "Mbit/s", "Mb/s"]),
    ("Gbps", &["G", "Gbit/s", "Gb/s", "GbE", "GE"]),
    ("Tbps", &["T", "Tbit/s", "Tb/s", "TbE"]),
];

/// Names of the unit of packets; the first one is printed.
const PACKETS: [&str; 3] = ["pkt", "pkts", "packets"];

/// Units that are accepted in scenarios but never printed.
const READ_ONLY: [&str; 5] = ["min", "µs", "KiB", "MiB", "GiB"];

/// Reason why a text is not a quantity of the expected kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    #[error("\"{found}\" does not start with a number; write it like {example}")]
    NoNumber { found: String, example: &'static str },
    #[error("\"{found}\" is negative; write it like {example}")]
    Negative { found: String, example: &'static str },
    #[error("\"{found}\" has more than one decimal point; write it like {example}")]
    Points { found: String, example: &'static str },
    #[error("\"{found}\" has an exponent; write the number out, like {example}")]
    Exponent { found: String, example: &'static str },
    #[error("\"{found}\" has an unknown unit, \"{unit}\": the units are {allowed}; write it like {example}")]
    UnknownUnit { found: String, unit: String, allowed: String, example: &'static str },
    #[error("\"{found}\" needs a unit, one of {allowed}; write it like {example}")]
    Unit { found: String, allowed: String, example: &'static str },
    #[error("\"{found}\": upper and lower case count in units; write \"{right}\"")]
    Case {
        found: String,
        /// The quantity with the correct unit.
        right: String,
    },
    #[error("\"{found}\" has a comma: write {right}")]
    Comma {
        found: String,
        /// Numbers that the text may mean, in quotes.
        right: String,
    },
    /// The quantity does not fit in 64 bits.
    #[error("\"{found}\" is too large")]
    TooLarge { found: String },
    /// The number has more decimals than the smallest step of the quantity (1 ps, 1 byte or 1 bit/s).
    #[error("\"{found}\" is finer than one {tick}")]
    TooFine { found: String, tick: &'static str },
    #[error("\"{found}\" must not be zero")]
    Zero { found: String },
}

/// Size of a buffer or threshold: in bytes, in packets, or in proportion to the rate of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferSize {
    Bytes(Bytes),
    Packets(u32),
    /// Bytes for each Gb/s of the link's rate.
    PerGbps(Bytes),
}

impl BufferSize {
    /// Size in bytes on a link of this rate; `None` for a size in packets.
    pub fn bytes_at(self, rate: BitsPerSec) -> Option<Bytes> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            Self::Packets(_) => None,
            Self::PerGbps(each) => {
                let bytes = u128::from(each.get()) * u128::from(rate.get()) / 1_000_000_000;
                Some(Bytes::new(u64::try_from(bytes).unwrap_or(u64::MAX)))
            }
        }
    }
}

/// A parsed decimal number and the text of the unit after it.
struct Number<'a> {
    digits: u128,
    decimals: u32,
    unit: &'a str,
}

fn number<'a>(text: &'a str, example: &'static str) -> Result<Number<'a>, QuantityError> {
    let found = || text.to_owned();
    let body = text.trim();
    if body.starts_with('-') {
        return Err(QuantityError::Negative { found: found(), example });
    }
    let end = body.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_');
    let (number, unit) = body.split_at(end.unwrap_or(body.len()));
    if let Some(error) = comma(body, number, unit) {
        return Err(error);
    }
    let (mut digits, mut decimals, mut seen_point) = (0u128, 0u32, false);
    if !number.starts_with(|c: char| c.is_ascii_digit()) || number.ends_with('.') {
        return Err(QuantityError::NoNumber { found: found(), example });
    }
    for c in number.chars() {
        match c.to_digit(10) {
            Some(digit) => {
                digits = digits
                    .checked_mul(10)
                    .and_then(|d| d.checked_add(u128::from(digit)))
                    .ok_or_else(|| QuantityError::TooLarge { found: found() })?;
                decimals += u32::from(seen_point);
            }
            None if c == '.' && !seen_point => seen_point = true,
            None if c == '_' => {}
            None if c == '.' => return Err(QuantityError::Points { found: found(), example }),
            None => return Err(QuantityError::NoNumber { found: found(), example }),
        }
    }
    Ok(Number { digits, decimals, unit: unit.trim() })
}

fn no_unit(text: &str, unit: &str, allowed: String, example: &'static str) -> QuantityError {
    let (found, unit) = (text.to_owned(), unit.trim().to_owned());
    let exponent = unit
        .strip_prefix(['e', 'E'])
        .is_some_and(|rest| rest.trim_start_matches(['+', '-']).starts_with(|c: char| c.is_ascii_digit()));
    if unit.is_empty() {
        QuantityError::Unit { found, allowed, example }
    } else if exponent {
        QuantityError::Exponent { found, example }
    } else {
        QuantityError::UnknownUnit { found, unit, allowed, example }
    }
}

/// Error for a number with a comma before a digit, with both readings: decimal comma and thousands separator.
fn comma(body: &str, number: &str, unit: &str) -> Option<QuantityError> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let behind = digits(unit.strip_prefix(',')?);
    if number.is_empty() || behind == 0 {
        return None;
    }
    let (without, point) = (body.replace(',', ""), body.replacen(',', ".", 1));
    let right = match (behind, body.matches(',').count()) {
        (3, 1) if number != "0" => {
            format!("\"{without}\", or \"{point}\" if it is a decimal point")
        }
        (_, 1) => format!("\"{point}\", with a decimal point"),
        _ => format!("\"{without}\""),
    };
    Some(QuantityError::Comma { found: body.to_owned(), right })
}

/// Error for a unit that differs from a known one only in upper and lower case.
fn in_case(text: &str, unit: &str, names: impl Iterator<Item = &'static str>) -> Option<QuantityError> {
    let name = names.into_iter().find(|name| name.eq_ignore_ascii_case(unit))?;
    let right = format!("{}{name}", text.trim().strip_suffix(unit)?);
    Some(QuantityError::Case { found: text.to_owned(), right })
}

/// Parses one quantity, in ticks of `scale`.
fn ticks(text: &str, scale: Scale, example: &'static str) -> Result<u64, QuantityError> {
    let number = number(text, example)?;
    let Some(&(_, unit)) = scale.iter().find(|(name, _)| *name == number.unit) else {
        if let Some(error) = in_case(text, number.unit, scale.iter().map(|(name, _)| *name)) {
            return Err(error);
        }
        let allowed = scale.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        return Err(no_unit(text, number.unit, allowed, example));
    };
    let too_large = || QuantityError::TooLarge { found: text.to_owned() };
    let too_fine = || QuantityError::TooFine { found: text.to_owned(), tick: scale[0].0 };
    let scaled = number.digits.checked_mul(u128::from(unit)).ok_or_else(too_large)?;
    let parts = 10u128.checked_pow(number.decimals).ok_or_else(too_fine)?;
    if scaled % parts != 0 {
        return Err(too_fine());
    }
    u64::try_from(scaled / parts).map_err(|_| too_large())
}

/// Prints ticks exactly, in the largest unit in which they are at least one.
fn print(f: &mut fmt::Formatter<'_>, ticks: u64, scale: Scale) -> fmt::Result {
    let fits = |unit: &&(&str, u64)| ticks >= unit.1 && !READ_ONLY.contains(&unit.0);
    let &(name, unit) = scale.iter().rev().find(fits).unwrap_or(&scale[0]);
    let (whole, mut rest) = (ticks / unit, ticks % unit);
    write!(f, "{whole}")?;
    if rest > 0 {
        let mut width = unit.ilog10() as usize;
        while rest % 10 == 0 {
            rest /= 10;
            width -= 1;
        }
        write!(f, ".{rest:0width$}")?;
    }
    f.write_str(name)
}

impl FromStr for Span {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        ticks(text, SPAN, "\"40ms\"").map(Self::from_ps)
    }
}

impl FromStr for Bytes {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        ticks(text, BYTES, "\"200KB\"").map(Self::new)
    }
}

impl FromStr for BitsPerSec {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        const EXAMPLE: &str = "\"10Gbps\"";
        let unit = number(text, EXAMPLE)?.unit;
        let usual = RATE_SPELLINGS.iter().find(|(_, others)| others.contains(&unit));
        let spelled = usual.zip(text.trim().strip_suffix(unit));
        let bits = match spelled {
            Some(((usual, _), value)) => ticks(&format!("{value}{usual}"), RATE, EXAMPLE)?,
            None => ticks(text, RATE, EXAMPLE)?,
        };
        Self::new(bits).ok_or_else(|| QuantityError::Zero { found: text.to_owned() })
    }
}

impl FromStr for BufferSize {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        const EXAMPLE: &str = "\"200KB\", \"8pkt\" or \"20KB/Gbps\"";
        if let Some((bytes, per)) = text.split_once('/') {
            if per.trim() != "Gbps" {
                let unit = number(text, EXAMPLE)?.unit;
                let allowed = "B/Gbps, KB/Gbps, MB/Gbps".to_owned();
                let wrong = || no_unit(text, unit, allowed, EXAMPLE);
                return Err(in_case(text, per.trim(), ["Gbps"].into_iter()).unwrap_or_else(wrong));
            }
            return ticks(bytes, BYTES, EXAMPLE).map(|b| Self::PerGbps(Bytes::new(b)));
        }
        let number = number(text, EXAMPLE)?;
        if !PACKETS.contains(&number.unit) {
            let packets = || in_case(text, number.unit, PACKETS.into_iter());
            return match ticks(text, BYTES, EXAMPLE) {
                Ok(bytes) => Ok(Self::Bytes(Bytes::new(bytes))),
                Err(QuantityError::Unit { allowed, .. } | QuantityError::UnknownUnit { allowed, .. }) => {
                    let allowed = format!("{allowed}, pkt, KB/Gbps");
                    let wrong = || no_unit(text, number.unit, allowed, EXAMPLE);
                    Err(packets().unwrap_or_else(wrong))
                }
                Err(other) => Err(other),
            };
        }
        if number.decimals > 0 {
            return Err(QuantityError::TooFine { found: text.to_owned(), tick: "packet" });
        }
        u32::try_from(number.digits).map(Self::Packets).map_err(|_| QuantityError::TooLarge { found: text.to_owned() })
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print(f, self.as_ps(), SPAN)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.since_start().fmt(f)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print(f, self.get(), BYTES)
    }
}

impl fmt::Display for BitsPerSec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print(f, self.get(), RATE)
    }
}

impl fmt::Display for BufferSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => bytes.fmt(f),
            Self::Packets(packets) => write!(f, "{packets}pkt"),
            Self::PerGbps(bytes) => write!(f, "{bytes}/Gbps"),
        }
    }
}

/// Makes `Debug` print what `Display` does, so that failed assertions show units.
macro_rules! debug_as_display {
    ($($unit:ident),*) => {$(
        impl fmt::Debug for $unit {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    )*};
}
debug_as_display!(Span, Time, Bytes, BitsPerSec);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantities_read_and_print_as_engineers_write_them() {
        for (text, ps) in [("40ms", 40_000_000_000), ("0.2s", 200_000_000_000), ("12.5 us", 12_500_000)] {
            assert_eq!(text.parse::<Span>(), Ok(Span::from_ps(ps)));
        }
        assert_eq!("10Gbps".parse(), Ok(BitsPerSec::gbps(10)));
        for text in ["40G", "40 Gbit/s", "40GbE", "40 GE", "40Gb/s", "0.04T", "40000M"] {
            assert_eq!(text.parse(), Ok(BitsPerSec::gbps(40)), "{text}");
        }
        assert_eq!("64 kbit/s".parse::<BitsPerSec>().unwrap().get(), 64_000);
        assert_eq!("84B".parse(), Ok(Bytes::new(84)));
        assert_eq!("1.5KiB".parse(), Ok(Bytes::new(1536)));
        assert_eq!(Span::from_ps(1_297_600).to_string(), "1.2976us");
        assert_eq!(BitsPerSec::at_least_one(517_879_162).to_string(), "517.879162Mbps");
        assert_eq!(Bytes::ZERO.to_string(), "0B");
    }

    #[test]
    fn a_buffer_may_grow_with_its_link() {
        let shallow: BufferSize = "20KB/Gbps".parse().unwrap();
        assert_eq!(shallow.bytes_at(BitsPerSec::gbps(10)), Some(Bytes::new(200_000)));
        assert_eq!("8pkt".parse(), Ok(BufferSize::Packets(8)));
        assert_eq!("8pkt".parse::<BufferSize>().unwrap().bytes_at(BitsPerSec::gbps(1)), None);
    }

    #[test]
    fn what_is_no_quantity_says_what_would_be() {
        let bad = |text: &str| text.parse::<Span>().unwrap_err().to_string();
        assert!(bad("40").contains("needs a unit, one of ps, ns, us"));
        assert!(bad("-1ms").contains("negative"));
        assert!(bad("fast").contains("does not start with a number"));
        assert!(bad("0.0000001us").contains("finer than one ps"));
        assert!(bad("99999999999s").contains("too large"));
        assert!("0Gbps".parse::<BitsPerSec>().unwrap_err().to_string().contains("zero"));
        assert!("10Gb".parse::<BitsPerSec>().unwrap_err().to_string().contains("Gbps"));
        assert!("20KB/Mbps".parse::<BufferSize>().unwrap_err().to_string().contains("KB/Gbps"));
        assert!("1.5pkt".parse::<BufferSize>().unwrap_err().to_string().contains("one packet"));
        assert!(bad("1.2.3ms").contains("more than one decimal point"));
        assert!(bad("2e1ms").contains("has an exponent"));
        assert!(bad("1h").contains("an unknown unit, \"h\": the units are ps"));
        assert!("2kg".parse::<BufferSize>().unwrap_err().to_string().contains("unit, \"kg\""));
    }

    #[test]
    fn wrong_case_and_commas_are_told_the_right_form() {
        let rate = |text: &str| text.parse::<BitsPerSec>().unwrap_err().to_string();
        let buffer = |text: &str| text.parse::<BufferSize>().unwrap_err().to_string();
        let case = "upper and lower case count in units; write";
        assert_eq!(rate("100mbps"), format!("\"100mbps\": {case} \"100Mbps\""));
        assert_eq!(rate("1.5 GBPS"), format!("\"1.5 GBPS\": {case} \"1.5 Gbps\""));
        assert_eq!(buffer("20kb"), format!("\"20kb\": {case} \"20KB\""));
        assert_eq!(buffer("8PKT"), format!("\"8PKT\": {case} \"8pkt\""));
        assert_eq!(buffer("20KB/gbps"), format!("\"20KB/gbps\": {case} \"20KB/Gbps\""));
        assert!("5MS".parse::<Span>().unwrap_err().to_string().contains("write \"5ms\""));
        let comma = "\"1,5Gbps\" has a comma: write \"1.5Gbps\", with a decimal point";
        assert_eq!(rate("1,5Gbps"), comma);
        let either = "write \"1000Mbps\", or \"1.000Mbps\" if it is a decimal point";
        assert!(rate("1,000Mbps").ends_with(either), "{}", rate("1,000Mbps"));
        assert!(rate("1,000,000bps").ends_with("write \"1000000bps\""));
        assert!(rate("0,125Gbps").contains("write \"0.125Gbps\""));
        assert!(buffer("1,5KB/Gbps").contains("a comma"));
        assert!(rate(",5Gbps").contains("does not start with a number"));
    }

    proptest! {
        #[test]
        fn printing_then_reading_gives_the_same(ticks in any::<u64>(), packets in any::<u32>()) {
            let (span, bytes) = (Span::from_ps(ticks), Bytes::new(ticks));
            prop_assert_eq!(span.to_string().parse(), Ok(span));
            prop_assert_eq!(bytes.to_string().parse(), Ok(bytes));
            let rate = BitsPerSec::at_least_one(ticks);
            prop_assert_eq!(rate.to_string().parse(), Ok(rate));
            for size in [BufferSize::Packets(packets), BufferSize::PerGbps(bytes)] {
                prop_assert_eq!(size.to_string().parse(), Ok(size));
            }
        }

        #[test]
        fn a_text_that_is_read_is_printed_and_read_again(
            text in "[0-9._]{1,6} ?(ps|us|min|B|KiB|Gbps|pkt|KB/Gbps|.{0,9})",
        ) {
            if let Ok(span) = text.parse::<Span>() {
                prop_assert_eq!(span.to_string().parse(), Ok(span));
            }
            if let Ok(size) = text.parse::<BufferSize>() {
                prop_assert_eq!(size.to_string().parse(), Ok(size));
            }
            if let Ok(rate) = text.parse::<BitsPerSec>() {
                prop_assert_eq!(rate.to_string().parse(), Ok(rate));
            }
        }
    }
}

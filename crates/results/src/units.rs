//! Units of figures in `summary.json`, tables and pages, and rounding to significant digits.

/// A unit in which tables and pages show figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    /// The name on axes, such as `Gb/s`; empty for a plain number.
    pub name: &'static str,
    /// The last part of names of columns, such as `gbps`.
    pub suffix: &'static str,
    /// How many of the base units (bit/s, s, bytes) it is; 1e9 for Gb/s.
    pub size: f64,
}

const fn unit(name: &'static str, suffix: &'static str, size: f64) -> Unit {
    Unit { name, suffix, size }
}

/// A full frame of 1,500 IP bytes, in bytes on the wire: the unit of queue lengths in packets.
pub const FULL_FRAME: f64 = 1538.0;

/// The unit of plain numbers, whose name is empty.
pub const NONE: Unit = unit("", "", 1.0);
pub const PERCENT: Unit = unit("%", "percent", 0.01);
/// Units of rates, the largest first.
pub const RATES: &[Unit] = &[unit("Gb/s", "gbps", 1e9), unit("Mb/s", "mbps", 1e6), unit("kb/s", "kbps", 1e3)];
/// Units of times, the largest first.
pub const TIMES: &[Unit] = &[unit("s", "s", 1.0), unit("ms", "ms", 1e-3), unit("µs", "us", 1e-6)];
/// Queue lengths in packets, which are full frames of 1,538 bytes.
pub const FRAMES: Unit = unit("packets", "packets", FULL_FRAME);
const COUNTED: Unit = unit("packets", "packets", 1.0);
/// Units of sizes, the largest first; a KB is 1,000 bytes.
pub const SIZES: &[Unit] =
    &[unit("GB", "gb", 1e9), unit("MB", "mb", 1e6), unit("KB", "kb", 1e3), unit("B", "bytes", 1.0)];

/// The unit of queues in tables and figures: 1,000 bytes.
pub const KILOBYTES: Unit = SIZES[2];

impl Unit {
    /// The largest unit in which the largest figure is at least one; the smallest unit if there is none.
    #[must_use]
    pub fn for_largest(figures: impl IntoIterator<Item = f64>, units: &[Self]) -> Self {
        let most = figures.into_iter().filter(|figure| figure.is_finite()).fold(0.0, f64::max);
        units.iter().find(|unit| most >= unit.size).or(units.last()).copied().unwrap_or(NONE)
    }

    /// Converts a figure from the base unit to this one, and rounds it to six digits.
    pub fn put(self, figure: f64) -> f64 {
        round(figure / self.size)
    }

    /// The name in ASCII, for text tables: "us" for "µs".
    pub fn ascii(self) -> String {
        self.name.replace('µ', "u")
    }

    /// Whether a claim or a bound names it so; rates as in scenarios too, "Gbps".
    pub fn is_named(self, name: &str) -> bool {
        self.ascii() == name || self.name.ends_with("b/s") && self.name.replace("b/s", "bps") == name
    }

    /// The title of an axis: `what` with the unit in brackets.
    pub fn title(self, what: &str) -> String {
        if self.name.is_empty() { what.to_owned() } else { format!("{what} ({})", self.name) }
    }

    /// The name of a column: `what`, an underscore and the suffix of the unit.
    pub fn column(self, what: &str) -> String {
        if self.suffix.is_empty() { what.to_owned() } else { format!("{what}_{}", self.suffix) }
    }
}

/// What a metric measures. It decides the unit in `summary.json`, the units of tables and pages, and the possible
/// values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// A rate in bits per second.
    Rate,
    /// A time in seconds.
    Time,
    Bytes,
    /// Bytes in a queue; at most its capacity.
    QueueLength,
    /// Bytes in a memory pool; at most its size.
    PoolOccupancy,
    /// A fraction of packets, flows, time or capacity, from 0 to 1.
    Share,
    Fraction,
    /// Jain's fairness index of n flows, from 1/n to 1.
    JainIndex,
    /// The ratio of a time to the least possible time, such as the slowdown.
    Ratio,
    Packets,
    /// A number of things other than packets, with their name, such as "flows".
    Count(&'static str),
}

impl Quantity {
    /// The name of the unit in `summary.json` and its schema.
    pub const fn stored(self) -> &'static str {
        match self {
            Self::Rate => "bit/s",
            Self::Time => "s",
            Self::Bytes | Self::QueueLength | Self::PoolOccupancy => "B",
            Self::Share | Self::Fraction => "fraction",
            Self::JainIndex => "index, 1/n to 1",
            Self::Ratio => "ratio",
            Self::Packets => "packets",
            Self::Count(what) => what,
        }
    }

    /// The units that tables and pages choose from, the largest first.
    pub const fn shown(self) -> &'static [Unit] {
        match self {
            Self::Rate => RATES,
            Self::Time => TIMES,
            Self::Bytes | Self::QueueLength | Self::PoolOccupancy => SIZES,
            Self::Share | Self::Fraction => &[PERCENT],
            Self::JainIndex | Self::Ratio | Self::Packets | Self::Count(_) => &[NONE],
        }
    }

    /// The unit of comparisons, which does not depend on the values.
    pub const fn compared(self) -> Unit {
        match self {
            Self::Rate => RATES[1],
            Self::Time => TIMES[1],
            Self::Bytes | Self::QueueLength | Self::PoolOccupancy => FRAMES,
            Self::Share | Self::Fraction => PERCENT,
            Self::Packets => COUNTED,
            Self::JainIndex | Self::Ratio | Self::Count(_) => NONE,
        }
    }

    /// The words for a smaller and for a larger value, such as "shorter" and "longer".
    pub const fn comparatives(self) -> [&'static str; 2] {
        match self {
            Self::Time | Self::QueueLength => ["shorter", "longer"],
            Self::Packets | Self::Count(_) => ["fewer", "more"],
            _ => ["lower", "higher"],
        }
    }

    /// The size of a unit of claims in the stored unit; `None` if the quantity has no unit of this name. An empty name
    /// is the stored unit.
    pub fn factor(self, name: &str) -> Option<f64> {
        self.units().find(|unit| unit.is_named(name)).map(|unit| unit.size)
    }

    /// The units of claims and bounds.
    pub fn units(self) -> impl Iterator<Item = Unit> {
        let others: &[Unit] = match self {
            Self::Bytes | Self::QueueLength | Self::PoolOccupancy => &[FRAMES],
            Self::Packets => &[COUNTED],
            Self::JainIndex | Self::Ratio | Self::Count(_) => &[PERCENT],
            _ => &[],
        };
        self.shown().iter().chain(others).chain(&[NONE]).copied()
    }
}

/// Rounds to six significant digits, which are enough for a page.
pub fn round(figure: f64) -> f64 {
    format!("{figure:.5e}").parse().unwrap_or(figure)
}

/// A whole number with commas between thousands.
#[must_use]
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_figure_chooses_the_unit() {
        assert_eq!(Unit::for_largest([2e9, 5.0], RATES).name, "Gb/s");
        assert_eq!(Unit::for_largest([2e-5, f64::NAN], TIMES).suffix, "us");
        assert_eq!(Unit::for_largest([], SIZES).name, "B");
        assert_eq!(Unit::for_largest([7e6], RATES).title("throughput"), "throughput (Mb/s)");
        assert_eq!(Unit::for_largest([7e6], RATES).column("throughput"), "throughput_mbps");
        assert_eq!(["Gbps", "Mb/s", "GB"].map(|name| Quantity::Rate.factor(name)), [Some(1e9), Some(1e6), None]);
        assert_eq!((NONE.title("Jain's index"), NONE.column("jain")), ("Jain's index".into(), "jain".into()));
    }

    #[test]
    fn figures_keep_six_digits() {
        let comparison = [(1.0 / 3.0, 0.333_333), (123_456_789.0, 123_457_000.0), (0.0, 0.0), (-2.5e-9, -2.5e-9)];
        for (figure, rounded) in comparison {
            assert!((round(figure) - rounded).abs() <= rounded.abs() * 1e-15, "{figure}");
        }
        assert_eq!(PERCENT.put(0.012_345_678).to_string(), "1.23457");
        assert_eq!([0, 999, 1000, 1_234_567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
    }
}

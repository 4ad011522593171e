//! Units that keep numbers readable, and rounding to significant digits.

/// A unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    /// The name on axes, such as `Gb/s`; empty for a plain number.
    pub name: &'static str,
    /// The end of the name of a column, such as `gbps`.
    pub suffix: &'static str,
    /// The size in the base unit.
    pub size: f64,
}

const fn unit(name: &'static str, suffix: &'static str, size: f64) -> Unit {
    Unit { name, suffix, size }
}

/// A plain number.
pub const NONE: Unit = unit("", "", 1.0);
/// Percent.
pub const PERCENT: Unit = unit("%", "percent", 0.01);
/// Units of bits per second.
pub const RATES: &[Unit] =
    &[unit("Gb/s", "gbps", 1e9), unit("Mb/s", "mbps", 1e6), unit("kb/s", "kbps", 1e3)];
/// Units of seconds.
pub const TIMES: &[Unit] = &[unit("s", "s", 1.0), unit("ms", "ms", 1e-3), unit("µs", "us", 1e-6)];
/// Units of bytes; a KB is 1,000 bytes.
pub const SIZES: &[Unit] =
    &[unit("GB", "gb", 1e9), unit("MB", "mb", 1e6), unit("KB", "kb", 1e3), unit("B", "bytes", 1.0)];

impl Unit {
    /// The unit that makes the largest of these figures at least one; the smallest unit if none does.
    #[must_use]
    pub fn of(figures: impl IntoIterator<Item = f64>, units: &[Self]) -> Self {
        let most = figures.into_iter().filter(|figure| figure.is_finite()).fold(0.0, f64::max);
        units.iter().find(|unit| most >= unit.size).or(units.last()).copied().unwrap_or(NONE)
    }

    /// The value in this unit, rounded.
    #[must_use]
    pub fn put(self, figure: f64) -> f64 {
        round(figure / self.size)
    }

    /// The title of an axis with the unit in brackets.
    #[must_use]
    pub fn title(self, what: &str) -> String {
        if self.name.is_empty() { what.to_owned() } else { format!("{what} ({})", self.name) }
    }

    /// The name of a column with the unit.
    #[must_use]
    pub fn column(self, what: &str) -> String {
        if self.suffix.is_empty() { what.to_owned() } else { format!("{what}_{}", self.suffix) }
    }
}

/// The value with six significant digits, which are enough for a page.
#[must_use]
pub fn round(figure: f64) -> f64 {
    format!("{figure:.5e}").parse().unwrap_or(figure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_figure_chooses_the_unit() {
        assert_eq!(Unit::of([2e9, 5.0], RATES).name, "Gb/s");
        assert_eq!(Unit::of([2e-5, f64::NAN], TIMES).suffix, "us");
        assert_eq!(Unit::of([], SIZES).name, "B");
        assert_eq!(Unit::of([7e6], RATES).title("throughput"), "throughput (Mb/s)");
        assert_eq!(Unit::of([7e6], RATES).column("throughput"), "throughput_mbps");
        assert_eq!(
            (NONE.title("Jain's index"), NONE.column("jain")),
            ("Jain's index".into(), "jain".into())
        );
    }

    #[test]
    fn figures_keep_six_digits() {
        let comparison = [
            (1.0 / 3.0, 0.333_333),
            (123_456_789.0, 123_457_000.0),
            (0.0, 0.0),
            (-2.5e-9, -2.5e-9),
        ];
        for (figure, rounded) in comparison {
            assert!((round(figure) - rounded).abs() <= rounded.abs() * 1e-15, "{figure}");
        }
        assert_eq!(PERCENT.put(0.012_345_678).to_string(), "1.23457");
    }
}

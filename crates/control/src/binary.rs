//! Binary fractions, parameters of integer arithmetic that scenarios write as decimal numbers.

use shallop_options::{Item, RustType, Value, ValueType, WrongValue};

/// Gain of a moving average: a power of one half down to 1/1024, applied as a shift (kernel: `dctcp_shift_g`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gain(u32);

impl Gain {
    /// Largest shift, which stands for a gain of 1/1024.
    pub const MAX_SHIFT: u32 = 10;

    /// The gain 2^-`shift`; shifts above [`Gain::MAX_SHIFT`] are reduced to it.
    pub const fn new(shift: u32) -> Self {
        Self(if shift > Self::MAX_SHIFT { Self::MAX_SHIFT } else { shift })
    }

    /// Binary logarithm of the inverse gain: the gain is 2^-shift.
    pub const fn shift(self) -> u32 {
        self.0
    }

    /// The gain, above 0 to 1.
    pub fn value(self) -> f64 {
        1.0 / f64::from(1_u32 << self.0)
    }

    fn nearest(value: f64) -> Self {
        let off = |gain: &Self| (gain.value() - value).abs();
        let all = (0..=Self::MAX_SHIFT).map(Self);
        all.min_by(|a, b| off(a).total_cmp(&off(b))).unwrap_or(Self(0))
    }
}

impl Value for Gain {
    const RUST_TYPE: RustType = RustType::Number;

    fn read(item: &Item, allowed: &ValueType) -> Result<Self, WrongValue> {
        let value = f64::read(item, allowed)?;
        let nearest = Self::nearest(value);
        if (value / nearest.value() - 1.0).abs() < 1e-9 {
            return Ok(nearest);
        }
        let message = format!("{value} is no power of one half");
        let help = format!(
            "{value} is not a power of two, which makes a shift; no power of a half is nearer than {}. \
             Allowed: 1, 0.5, 0.25, 0.125, 0.0625 and so on down to 1/1024",
            nearest.value()
        );
        Err(WrongValue::new(message, help))
    }

    fn show(&self) -> Option<String> {
        self.value().show()
    }
}

/// A fraction in units of 2^-10. Decimal numbers in scenarios are rounded to the nearest unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fraction(u32);

impl Fraction {
    /// The fraction 1.
    pub const ONE: Self = Self(1 << 10);

    /// The fraction `units` / 1024.
    pub const fn new(units: u32) -> Self {
        Self(units)
    }

    /// This fraction in units of 2^-10.
    pub const fn units(self) -> u32 {
        self.0
    }

    /// This fraction as a real number.
    pub fn value(self) -> f64 {
        f64::from(self.0) / f64::from(Self::ONE.0)
    }
}

impl Value for Fraction {
    const RUST_TYPE: RustType = RustType::Number;

    fn read(item: &Item, allowed: &ValueType) -> Result<Self, WrongValue> {
        let value = f64::read(item, allowed)?;
        Ok(Self((value * f64::from(Self::ONE.0) + 0.5) as u32))
    }

    fn show(&self) -> Option<String> {
        self.value().show()
    }
}

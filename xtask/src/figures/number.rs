//! Figures as pages print them, and the numbers in a text.

use super::record::Figure;

/// Formats a value with this many decimals and with commas between thousands.
pub fn decimals(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    let (sign, text) = text.strip_prefix('-').map_or(("", text.as_str()), |rest| ("-", rest));
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut grouped = String::new();
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{grouped}{point}{fraction}")
}

/// The decimals that show this many significant digits; all digits before the point are shown.
fn places(value: f64, significant: usize) -> usize {
    if value == 0.0 {
        return 0;
    }
    (significant as f64 - 1.0 - value.abs().log10().floor()).clamp(0.0, 6.0) as usize
}

/// A cell of a table: the mean, with the least and the largest seed where they are more than 5 % apart (`spread`), with
/// the 95 % confidence interval (`interval`), or by itself (`mean`).
pub fn cell(style: &str, of: Figure, scale: f64, significant: usize) -> Result<String, String> {
    let Figure { mean, ci95, min, max } = of;
    let [mean, min, max] = [mean, min, max].map(|value| value / scale);
    let digits = places(mean, significant);
    let text = |value: f64| decimals(value, digits);
    match (style, ci95) {
        ("spread", _) if max - min > 0.05 * mean => Ok(format!("{} ({} to {})", text(mean), text(min), text(max))),
        ("interval", Some(half)) if half > 0.0 => {
            let half = half / scale;
            let shown =
                if half < 10f64.powi(-i32::try_from(digits).unwrap_or_default()) { places(half, 1) } else { digits };
            Ok(format!("{} ± {}", text(mean), decimals(half, shown)))
        }
        ("spread" | "interval" | "mean", _) => Ok(text(mean)),
        _ => Err(format!("a column is spread, interval or mean, not {style}")),
    }
}

/// The length of the number at the start of a text, with its commas and its decimals; 0 if there is none.
pub fn length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let mut end = 0;
    while digit(end) || (end > 0 && matches!(bytes.get(end), Some(b',' | b'.')) && digit(end + 1)) {
        end += 1;
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_printed_as_on_the_pages() {
        assert_eq!(decimals(1_234_567.8, 0), "1,234,568");
        assert_eq!((decimals(0.436, 2), decimals(-1234.5, 1)), ("0.44".into(), "-1,234.5".into()));
        let of = Figure { mean: 4.154e8, ci95: Some(1.2e7), min: 4.0e8, max: 4.4e8 };
        assert_eq!(cell("spread", of, 1e6, 3).unwrap(), "415 (400 to 440)");
        assert_eq!(cell("interval", of, 1e6, 3).unwrap(), "415 ± 12");
        let narrow = Figure { ci95: Some(1.2e5), ..of };
        assert_eq!(cell("interval", narrow, 1e6, 3).unwrap(), "415 ± 0.1");
        assert_eq!(cell("mean", of, 1e9, 2).unwrap(), "0.42");
        let zero = Figure { mean: 0.0, ci95: None, min: 0.0, max: 0.0 };
        assert_eq!(cell("spread", zero, 1.0, 3).unwrap(), "0");
        assert!(cell("median", of, 1.0, 3).is_err());
    }

    #[test]
    fn a_number_ends_before_the_point_of_a_sentence() {
        for (text, expected) in [("1,234.5 Mb/s", 7), ("20.", 2), ("3, 4", 1), ("x1", 0), ("", 0)] {
            assert_eq!(length(text), expected, "{text}");
        }
    }
}

//! Names and numbers in sentences.

use crate::text::list;

/// The most names in a list; more names are counted.
pub(super) const MAX_NAMES: usize = 4;

/// A name, in quotes if it has spaces or commas, which would read as several names.
pub(super) fn quoted(name: &str) -> String {
    let is_plain = !name.contains([' ', ',', '"', ';', ':']) && !name.is_empty();
    if is_plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "'")) }
}

/// These parts of a sentence as a list of at most [`MAX_NAMES`]; others are counted.
pub(super) fn listed(parts: &[String]) -> String {
    let more = parts.len().saturating_sub(MAX_NAMES);
    let mut shown = parts[..parts.len() - more].to_vec();
    if more > 0 {
        shown.push(format!("{more} more"));
    }
    list(&shown)
}

/// The names of schemes: "a, b and c".
pub(super) fn names(schemes: &[&str]) -> String {
    listed(&schemes.iter().map(|scheme| quoted(scheme)).collect::<Vec<_>>())
}

/// A sentence that begins with a word, which gets a capital letter.
pub(super) fn capitalized(text: &str) -> String {
    text.get(..1).map_or_else(String::new, |first| first.to_uppercase() + &text[1..])
}

/// "LEAST to MOST" of these values in a unit of this size, or one number if both are printed alike.
pub(super) fn range(values: &[f64], unit: f64) -> String {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min) / unit;
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max) / unit;
    let (low, high) = (three_digits(least), three_digits(most));
    if low == high { high } else { format!("{low} to {high}") }
}

/// A number with three significant digits, and no zeros at the end after a point.
fn three_digits(value: f64) -> String {
    let size = value.abs();
    let digits = match size {
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        size if size >= 0.9995 => 2,
        _ => 3,
    };
    let text = format!("{value:.digits$}");
    if !text.contains('.') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A number of seeds in words: "one seed", "3 seeds".
pub(super) fn seeds(count: u64) -> String {
    match count {
        1 => "one seed".to_owned(),
        count => format!("{count} seeds"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_would_read_as_several_are_quoted() {
        assert_eq!(
            names(&["gradient", "gradient, rise 0.5", "Linux 6.12"]),
            "gradient, \"gradient, rise 0.5\" and \"Linux 6.12\""
        );
        assert_eq!(names(&["a", "b", "c", "d", "e", "f"]), "a, b, c, d and 2 more");
    }

    #[test]
    fn numbers_have_three_digits() {
        assert_eq!(range(&[0.049, 2.44], 1.0), "0.049 to 2.44");
        assert_eq!(range(&[2.0004, 2.0], 1.0), "2");
        assert_eq!(range(&[78.44, 117.3], 1.0), "78.4 to 117");
    }
}

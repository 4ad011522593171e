//! Text for HTML. Titles, labels and warnings are input of users and must be escaped.

pub use shallop_results::units::thousands;

/// Escapes all characters that have a meaning in HTML.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Not allowed in HTML, and of no use.
            '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{7f}' => {
                out.push('\u{fffd}');
            }
            other => out.push(other),
        }
    }
    out
}

/// The longest word, in characters, in which no line ends.
const LONG: usize = 20;
/// Words between which and the number before them no line ends.
const UNITS: [&str; 13] = ["%", "s", "ms", "us", "µs", "B", "KB", "MB", "GB", "kb/s", "Mb/s", "Gb/s", "bytes"];

/// Prose for HTML: escaped; what is in backticks is code; no line ends between a number and its unit, and in
/// long words, such as names of points, one may end after a punctuation mark.
pub fn prose(text: &str) -> String {
    let mut joined = String::with_capacity(text.len());
    for (place, word) in text.split(' ').enumerate() {
        let unit = word.trim_end_matches(['.', ',', ';', ':', ')', ']', '*']);
        let is_unit = UNITS.contains(&unit) && joined.ends_with(|letter: char| letter.is_ascii_digit());
        let between = if is_unit { "\u{a0}" } else { " " };
        joined.push_str(if place == 0 { "" } else { between });
        joined.push_str(word);
    }
    let text = joined;
    let parts: Vec<&str> = text.split('`').collect();
    let mut out = String::new();
    for (place, part) in parts.iter().enumerate() {
        let is_last = place + 1 == parts.len();
        let (before, after) = match place % 2 {
            1 if is_last => ("`", ""),
            1 => ("<code>", "</code>"),
            _ => ("", ""),
        };
        out.extend([before, &breakable(part), after]);
    }
    out
}

/// Escapes a text, with places at which long words may be broken: between a punctuation mark and what follows it, but
/// not within a decimal number.
fn breakable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_inclusive(char::is_whitespace) {
        let mut rest = word;
        while let Some(at) = rest.find(['.', '=', ',', '/', '_', '>', ':']).filter(|_| word.chars().count() > LONG) {
            let (start, end) = rest.split_at(at + 1);
            let is_number =
                start[..at].ends_with(|c: char| c.is_ascii_digit()) && end.starts_with(|c: char| c.is_ascii_digit());
            out.push_str(&escape(start));
            out.push_str(if is_number || !end.starts_with(char::is_alphanumeric) { "" } else { "<wbr>" });
            rest = end;
        }
        out.push_str(&escape(rest));
    }
    out
}

/// Joins words with commas, and the last one with "and".
pub fn list(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_title_is_taken_for_html() {
        let title = "<script>alert('x')</script> & \"more\"\u{1}";
        let escaped = escape(title);
        assert!(!escaped.contains(['<', '>', '"', '\'', '\u{1}']), "{escaped}");
        assert_eq!(escape("a < b & c"), "a &lt; b &amp; c");
    }

    #[test]
    fn prose_has_code_and_long_names_have_places_to_break() {
        for (text, html) in [
            ("`links` of `a<b`, 5 %", "<code>links</code> of <code>a&lt;b</code>, 5\u{a0}%"),
            ("  one ` alone", "  one ` alone"),
            ("default.buffer=20.5KB/Gbps.", "default.<wbr>buffer=<wbr>20.5KB/<wbr>Gbps."),
            ("r0.h1>r1 short", "r0.h1&gt;r1 short"),
            ("took 3.02 s. 5 Gb/s; a s", "took 3.02\u{a0}s. 5\u{a0}Gb/s; a s"),
            ("<b>.quite-a-long-word", "&lt;b&gt;.<wbr>quite-a-long-word"),
        ] {
            assert_eq!(prose(text), html);
        }
    }

    #[test]
    fn numbers_and_lists_read_well() {
        let words = |count: usize| list(&["a", "b", "c"][..count].iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!([words(0), words(1), words(2), words(3)], ["", "a", "a and b", "a, b and c"]);
    }
}

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
    fn numbers_and_lists_read_well() {
        let words = |count: usize| list(&["a", "b", "c"][..count].iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!([words(0), words(1), words(2), words(3)], ["", "a", "a and b", "a, b and c"]);
    }
}

//! Escapes control characters in text from users, so that it cannot move the cursor, change colours or reverse the
//! order of letters on a terminal. Breaks lines at spaces, and quotes words of commands in messages.

use std::{borrow::Cow, fmt::Write};
use unicode_width::UnicodeWidthStr;

/// Whether a terminal or an editor acts on this character instead of showing it: Unicode control characters, line and
/// paragraph separators, direction marks and overrides (UAX #9), the byte order mark.
fn is_obeyed(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}'
        )
}

/// Escapes control characters as TOML and JSON strings do: `\n`, `\u001b`.
pub fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, |_| false)
}

/// Like [`printable`], but keeps line ends. JSON stays valid JSON.
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |letter| letter == '\n')
}

/// Like [`printable`], but keeps tabs and line ends. CR LF becomes LF.
pub fn printable_source(text: &str) -> String {
    escaped(&text.replace('\r', ""), |letter| matches!(letter, '\n' | '\t')).into_owned()
}

/// Breaks a text at spaces into lines of at most `width` columns; a longer word has a line of its own. Line ends stay.
pub fn wrapped(text: &str, width: usize) -> String {
    let (mut out, mut used) = (String::with_capacity(text.len()), 0);
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            out.push('\n');
            used = 0;
        }
        for (place, word) in line.split(' ').enumerate() {
            let own = word.width();
            if place > 0 {
                let fits = used + 1 + own <= width;
                out.push(if fits { ' ' } else { '\n' });
                used = if fits { used + 1 } else { 0 };
            }
            out.push_str(word);
            used += own;
        }
    }
    out
}

/// A word as a shell takes it, for commands in messages: in quotes if the shell would split or change it.
pub fn shell_word(text: &str) -> Cow<'_, str> {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./:=+@%,".contains(letter);
    if !text.is_empty() && text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("'{}'", text.replace('\'', "'\\''")))
}

fn escaped(text: &str, stays: impl Fn(char) -> bool) -> Cow<'_, str> {
    let is_escaped = |letter: char| is_obeyed(letter) && !stays(letter);
    if !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        match letter {
            _ if !is_escaped(letter) => out.push(letter),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            // All of these characters are below U+10000.
            _ => {
                let _ = write!(out, "\\u{:04x}", u32::from(letter));
            }
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped_and_letters_are_not() {
        let hostile = "a\u{1b}[31m\n\r\t\u{7f}\u{9b}\u{202e}b\u{2066}\u{2028}\u{feff}";
        let shown = "a\\u001b[31m\\n\\r\\t\\u007f\\u009b\\u202eb\\u2066\\u2028\\ufeff";
        assert_eq!(printable(hostile), shown);
        assert_eq!(printable_lines("a\nb\r"), "a\nb\\r");
        for plain in ["Zürich – 東京 µs ± 95 %", "שלום", ""] {
            assert!(matches!(printable(plain), Cow::Borrowed(text) if text == plain));
        }
    }

    #[test]
    fn lines_break_at_spaces_alone() {
        assert_eq!(wrapped("goodput is left out", 10), "goodput is\nleft out");
        assert_eq!(wrapped("a\n--an-option-that-is-long b", 8), "a\n--an-option-that-is-long\nb");
        assert_eq!(wrapped("東京 東京", 8), "東京\n東京");
        assert_eq!(wrapped("fits", 80), "fits");
    }

    #[test]
    fn a_shell_reads_quoted_words_as_they_were() {
        assert_eq!(shell_word("cubic,examples/edge.toml"), "cubic,examples/edge.toml");
        assert_eq!(shell_word("Linux 6.12"), "'Linux 6.12'");
        for text in ["", "a b", "it's", "$HOME `id`", "a\"b\\c!", "a;b", "ecn*"] {
            let command = format!("printf %s {}", shell_word(text));
            let output = std::process::Command::new("sh").args(["-c", &command]).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stdout), text);
        }
    }

    #[test]
    fn files_keep_their_line_ends() {
        assert_eq!(printable_source("a\t= 1\r\nb\n"), "a\t= 1\nb\n");
        assert_eq!(printable_source("\u{1b}c"), "\\u001bc");
    }

    #[test]
    fn json_with_such_characters_is_the_same_value() {
        let value = serde_json::json!({ "title": "\u{202e}a\u{1b}\u{7f}\u{9b}" });
        let text = serde_json::to_string_pretty(&value).unwrap();
        let shown = printable_lines(&text);
        assert!(!shown.contains(['\u{202e}', '\u{7f}', '\u{9b}']), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    }
}

//! The option `--schemes`: which schemes of a scenario run, and how their names are written for a shell.

use super::diagnostic::{Result, with_help};
use super::printable::shell_word;
use indexmap::IndexSet;
use shallop_plan::Study;
use shallop_scenario::values;

/// Removes all schemes of a study except these; keeps all if `texts` is empty. Each text is the name of a scheme, or
/// several names with commas between them, of which those with commas are in quotes.
pub fn choose(study: &mut Study, texts: &[String]) -> Result<()> {
    if texts.is_empty() {
        return Ok(());
    }
    let schemes = study.points.iter().flat_map(|point| &point.plan.schemes);
    let known: Vec<String> = schemes.map(|scheme| scheme.name.clone()).collect();
    let mut names = Vec::new();
    for text in texts {
        if known.contains(text) {
            names.push(text.clone());
            continue;
        }
        let parts = values(text).map_err(|why| with_help(&format!("--schemes {text}: {why}"), &""))?;
        names.extend(parts.iter().map(|part| unquoted(part).to_owned()));
    }
    if let Some(unknown) = names.iter().find(|name| !known.contains(name)) {
        let help = format!("schemes: {}", argument(known.iter().map(String::as_str)));
        return Err(with_help(&format!("there is no scheme \"{unknown}\""), &help));
    }
    // Every name is known.
    let _ = study.keep_schemes(&names);
    Ok(())
}

/// Removes quotes around a text.
fn unquoted(text: &str) -> &str {
    let inside = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    inside('"').or_else(|| inside('\'')).unwrap_or(text)
}

/// The value of `--schemes` with these names, each once, as it is typed at a shell.
pub fn argument<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let all: IndexSet<&str> = names.into_iter().collect();
    let quoted = |name: &&str| {
        if name.contains(',') { format!("\"{name}\"") } else { (*name).to_owned() }
    };
    let list = all.iter().map(quoted).collect::<Vec<_>>().join(",");
    shell_word(&list).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_for_a_shell() {
        for (names, expected) in [
            (&["cubic", "dctcp"][..], "cubic,dctcp"),
            (&["cubic", "cubic"], "cubic"),
            (&["Linux 6.12"], "'Linux 6.12'"),
            (&["ecn*", "a, b"], "'ecn*,\"a, b\"'"),
            (&["it's"], "'it'\\''s'"),
        ] {
            assert_eq!(argument(names.iter().copied()), expected);
        }
        assert_eq!(["\"a, b\"", "'a'", "a'"].map(unquoted), ["a, b", "a", "a'"]);
    }
}

//! The paths that Rust code mentions, read from its tokens. Comments and strings are no tokens, so they cannot hide or
//! fake a path; macro calls are read like other code. What an attribute compiles for tests only is left out.

use proc_macro2::{Delimiter, Group, LexError, TokenStream, TokenTree};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    /// The segments of the path, joined by `::`; it ends at the first segment that is not a plain name.
    pub path: String,
    /// Whether `use` names it. `use PATH::*` mentions `PATH` without naming it.
    pub is_imported: bool,
}

/// Reads the text of a Rust file.
pub fn read(code: &str) -> Result<Vec<Mention>, String> {
    let mut found = Vec::new();
    scan(code.parse().map_err(|why: LexError| why.to_string())?, ("", false), &mut found);
    Ok(found)
}

/// Whether a group is an attribute of a test: `test`, `cfg(test)` or `cfg(all(test, ...))`, not `any` or `not`.
fn says_test(before: &[TokenTree], group: &Group) -> bool {
    let sign = |back: usize, sign| before.len().checked_sub(back).is_some_and(|at| is_punct(before, at, sign));
    let words = group.stream().to_string().replace(' ', "");
    let is_test = ["test", "cfg(test)", "cfg(all(test))"].contains(&&*words) || words.starts_with("cfg(all(test,");
    is_test && group.delimiter() == Delimiter::Bracket && (sign(1, '#') || sign(1, '!') && sign(2, '#'))
}

/// Collects the paths in `tokens`. Within `use`, paths continue `prefix`.
fn scan(tokens: TokenStream, (prefix, imports): (&str, bool), found: &mut Vec<Mention>) {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    let (mut at, mut now) = (0, imports);
    while at < trees.len() {
        match &trees[at] {
            TokenTree::Ident(word) if word == "use" && !is_punct(&trees, at + 1, '<') => {
                now = true;
                at += 1;
            }
            // `use PATH as NAME` mentions only the path.
            TokenTree::Ident(word) if now && word == "as" => at += 2,
            TokenTree::Ident(_) => at = follow(&trees, at, (prefix, now), found),
            TokenTree::Punct(star) if now && star.as_char() == '*' => {
                found.push(Mention { path: prefix.to_owned(), is_imported: false });
                at += 1;
            }
            TokenTree::Group(group) if says_test(&trees[..at], group) => {
                let ends = |tree: &TokenTree| match tree {
                    TokenTree::Punct(end) => [';', ','].contains(&end.as_char()),
                    TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
                    _ => false,
                };
                let end = trees[at..].iter().position(ends).filter(|_| !is_punct(&trees, at - 1, '!'));
                at = end.map_or(trees.len(), |end| at + end + 1);
            }
            TokenTree::Group(group) => {
                scan(group.stream(), (prefix, now), found);
                at += 1;
            }
            TokenTree::Punct(end) if end.as_char() == ';' => {
                now = imports;
                at += 1;
            }
            _ => at += 1,
        }
    }
}

/// Reads the path that begins at `at`, and returns the position after it.
fn follow(trees: &[TokenTree], mut at: usize, (prefix, imports): (&str, bool), found: &mut Vec<Mention>) -> usize {
    let mut path = prefix.to_owned();
    while let Some(TokenTree::Ident(word)) = trees.get(at) {
        let word = word.to_string();
        let word = word.strip_prefix("r#").unwrap_or(&word);
        if word != "self" || path.is_empty() {
            let colons = if path.is_empty() { "" } else { "::" };
            path = path + colons + word;
        }
        at += 1;
        if !(is_punct(trees, at, ':') && is_punct(trees, at + 1, ':')) {
            break;
        }
        match trees.get(at + 2) {
            Some(TokenTree::Ident(_)) => at += 2,
            Some(TokenTree::Group(group)) if imports => {
                scan(group.stream(), (&path, imports), found);
                return at + 3;
            }
            Some(TokenTree::Punct(star)) if imports && star.as_char() == '*' => {
                found.push(Mention { path, is_imported: false });
                return at + 3;
            }
            _ => break,
        }
    }
    found.push(Mention { path, is_imported: imports });
    at
}

fn is_punct(trees: &[TokenTree], at: usize, sign: char) -> bool {
    matches!(trees.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == sign)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(code: &str) -> Vec<String> {
        read(code).unwrap().into_iter().map(|mention| mention.path).filter(|path| path.contains("::")).collect()
    }

    #[test]
    fn every_way_to_write_a_path_is_read() {
        for code in [
            "use std::fs::read;",
            "use ::std::fs::read as open;",
            "use std::{fmt as text, fs::{read, write}};",
            "pub use {std::fs::{self, read}};",
            "fn f() { let r = std::fs::read; }",
            "fn f() { assert!(matches!(std::fs::read(\"x\"), Ok(_))); }",
            "macro_rules! m { () => { ::std::fs::read(\"x\") }; }",
            "struct S<T = fn() -> r#std::fs::read>(T);",
            "fn f() -> impl Sized + use<> { std :: fs :: /* why */ read }",
        ] {
            assert!(paths(code).contains(&"std::fs::read".to_owned()), "{code}: {:?}", paths(code));
        }
    }

    #[test]
    fn comments_and_strings_mention_nothing() {
        let code = "//! std::fs\n/// std::fs\nfn f() { /* std::fs */ let _ = (\"std::fs\", r#\"std::fs\"#); }";
        assert!(paths(code).is_empty(), "{:?}", paths(code));
        assert_eq!(paths("const A: &str = \"/*\"; use a::b; const B: &str = \"*/\";"), ["a::b"]);
    }

    #[test]
    fn tests_are_taken_out_and_only_they() {
        for code in [
            "#[cfg(test)] mod tests { use a::b; }",
            "#[doc = \"x\"] #[cfg(all(test, unix))] use a::b;",
            "#[test] fn t() { a::b(); }",
            "impl S { #[cfg(test)] fn t() { a::b(); } }",
            "#![cfg(test)] use a::b;",
            "#[cfg(test)] #[doc = \"x\"] fn t(x: u8, y: a::b) { a::b(); }",
        ] {
            assert!(paths(code).is_empty(), "{code}");
        }
        for code in [
            "#[cfg(not(test))] use a::b;",
            "#[cfg(any(test, unix))] use a::b;",
            "struct S { #[cfg(test)] x: u8, y: a::b }",
            "#[cfg(test)] mod tests {} use a::b;",
            "fn f() { #[cfg(test)] let x = 1; a::b(); }",
        ] {
            assert_eq!(paths(code), ["a::b"], "{code}");
        }
    }
}

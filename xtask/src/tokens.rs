//! The paths that Rust code mentions, read from its tokens. Comments and strings are no tokens, so they cannot hide or
//! fake a path; macro calls are read like other code. Tests are removed first, by their attributes.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;
use syn::visit_mut::{self, VisitMut};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MentionKind {
    /// A mention in an expression, a type or a macro, or by `use PATH::*`.
    Named,
    Imported,
    Attribute,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    /// The segments of the path, joined by `::`; it ends at the first segment that is not a plain name.
    pub path: String,
    pub line: usize,
    pub kind: MentionKind,
}

/// The mentions of a file outside its tests.
#[derive(Debug, Default)]
pub struct FileTokens {
    pub mentions: Vec<Mention>,
    /// Modules in other files that contain only tests.
    pub test_modules: Vec<String>,
}

/// Reads the text of a Rust file.
pub fn read(code: &str) -> Result<FileTokens, String> {
    let mut file = syn::parse_file(code).map_err(|why| why.to_string())?;
    let mut found = FileTokens::default();
    if file.attrs.iter().any(is_test) {
        return Ok(found);
    }
    for item in &file.items {
        if let syn::Item::Mod(module) = item
            && module.content.is_none()
            && is_for_tests(module)
        {
            found.test_modules.push(module.ident.to_string());
        }
    }
    WithoutTests.visit_file_mut(&mut file);
    scan(file.into_token_stream(), ("", MentionKind::Named), &mut found.mentions);
    Ok(found)
}

/// Removes items that are compiled for tests only. Fields and statements with such an attribute stay.
struct WithoutTests;

impl VisitMut for WithoutTests {
    fn visit_file_mut(&mut self, file: &mut syn::File) {
        file.items.retain(|item| !is_for_tests(item));
        visit_mut::visit_file_mut(self, file);
    }
    fn visit_item_mod_mut(&mut self, module: &mut syn::ItemMod) {
        if let Some((_, items)) = &mut module.content {
            items.retain(|item| !is_for_tests(item));
        }
        visit_mut::visit_item_mod_mut(self, module);
    }
    fn visit_item_impl_mut(&mut self, block: &mut syn::ItemImpl) {
        block.items.retain(|item| !is_for_tests(item));
        visit_mut::visit_item_impl_mut(self, block);
    }
    fn visit_item_trait_mut(&mut self, block: &mut syn::ItemTrait) {
        block.items.retain(|item| !is_for_tests(item));
        visit_mut::visit_item_trait_mut(self, block);
    }
    fn visit_block_mut(&mut self, block: &mut syn::Block) {
        let is_test = |stmt: &syn::Stmt| matches!(stmt, syn::Stmt::Item(item) if is_for_tests(item));
        block.stmts.retain(|stmt| !is_test(stmt));
        visit_mut::visit_block_mut(self, block);
    }
}

/// Whether one of the attributes an item begins with makes it a test.
fn is_for_tests(item: &impl ToTokens) -> bool {
    let mut tokens = item.to_token_stream().into_iter();
    while let (Some(TokenTree::Punct(hash)), Some(TokenTree::Group(attribute))) = (tokens.next(), tokens.next()) {
        if hash.as_char() != '#' {
            return false;
        }
        if says_test(&words(attribute.stream())) {
            return true;
        }
    }
    false
}

fn is_test(attribute: &syn::Attribute) -> bool {
    says_test(&words(attribute.meta.to_token_stream()))
}

/// `test`, `cfg(test)` and `cfg(all(test, ...))` make a test; `any` and `not` do not.
fn says_test(words: &[String]) -> bool {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    matches!(words[..], ["test"] | ["cfg", "(", "test", ")"] | ["cfg", "(", "all", "(", "test", "," | ")", ..])
}

/// Tokens as text, with their brackets.
fn words(tokens: TokenStream) -> Vec<String> {
    let mut all = Vec::new();
    for token in tokens {
        if let TokenTree::Group(group) = token {
            let (open, close) = match group.delimiter() {
                Delimiter::Parenthesis => ("(", ")"),
                Delimiter::Brace => ("{", "}"),
                Delimiter::Bracket => ("[", "]"),
                Delimiter::None => ("", ""),
            };
            all.push(open.to_owned());
            all.extend(words(group.stream()));
            all.push(close.to_owned());
        } else {
            all.push(token.to_string());
        }
    }
    all
}

/// Collects the paths in `tokens`. Within `use`, paths continue `prefix`.
fn scan(tokens: TokenStream, (prefix, kind): (&str, MentionKind), found: &mut Vec<Mention>) {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    let (mut at, mut now) = (0, kind);
    while at < trees.len() {
        let imports = now == MentionKind::Imported;
        match &trees[at] {
            TokenTree::Ident(word) if word == "use" && !is_punct(&trees, at + 1, '<') => {
                now = MentionKind::Imported;
                at += 1;
            }
            // `use PATH as NAME` mentions only the path.
            TokenTree::Ident(word) if imports && word == "as" => at += 2,
            TokenTree::Ident(_) => at = follow(&trees, at, (prefix, now), found),
            TokenTree::Punct(star) if imports && star.as_char() == '*' => {
                let line = star.span().start().line;
                found.push(Mention { path: prefix.to_owned(), line, kind: MentionKind::Named });
                at += 1;
            }
            TokenTree::Group(group) => {
                let is_attribute = group.delimiter() == Delimiter::Bracket
                    && (is_behind(&trees, at, "#") || is_behind(&trees, at, "#!"));
                let inside = if is_attribute { MentionKind::Attribute } else { now };
                scan(group.stream(), (prefix, inside), found);
                at += 1;
            }
            TokenTree::Punct(end) if end.as_char() == ';' => {
                now = kind;
                at += 1;
            }
            _ => at += 1,
        }
    }
}

/// Reads the path that begins at `at`, and returns the position after it.
fn follow(trees: &[TokenTree], mut at: usize, (prefix, kind): (&str, MentionKind), found: &mut Vec<Mention>) -> usize {
    let imports = kind == MentionKind::Imported;
    let (mut path, line) = (prefix.to_owned(), trees[at].span().start().line);
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
                scan(group.stream(), (&path, kind), found);
                return at + 3;
            }
            Some(TokenTree::Punct(star)) if imports && star.as_char() == '*' => {
                found.push(Mention { path, line, kind: MentionKind::Named });
                return at + 3;
            }
            _ => break,
        }
    }
    found.push(Mention { path, line, kind });
    at
}

/// Whether these signs stand right before a position in the tokens.
fn is_behind(trees: &[TokenTree], at: usize, signs: &str) -> bool {
    let first = at.checked_sub(signs.len());
    first.is_some_and(|first| (first..).zip(signs.chars()).all(|(at, sign)| is_punct(trees, at, sign)))
}

fn is_punct(trees: &[TokenTree], at: usize, sign: char) -> bool {
    matches!(trees.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == sign)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(code: &str) -> Vec<String> {
        let mentions = read(code).unwrap().mentions;
        mentions.into_iter().map(|mention| mention.path).filter(|path| path.contains("::")).collect()
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
        assert_eq!(read("#[cfg(test)] mod tests; mod other;").unwrap().test_modules, ["tests"]);
    }

    #[test]
    fn paths_in_attributes_are_marked_as_such() {
        let code = "#![a::b] #[cfg_attr(unix, c(d::e))] fn f() { [a::g]; } macro_rules! m { () => { #[h::i] }; }";
        let mentions = read(code).unwrap().mentions.into_iter();
        let paths = mentions.filter(|mention| mention.path.contains("::"));
        let found: Vec<_> = paths.map(|mention| (mention.path, mention.kind)).collect();
        let expected = [
            ("a::b", MentionKind::Attribute),
            ("d::e", MentionKind::Attribute),
            ("a::g", MentionKind::Named),
            ("h::i", MentionKind::Attribute),
        ];
        assert_eq!(found, expected.map(|(path, kind)| (path.to_owned(), kind)));
    }
}

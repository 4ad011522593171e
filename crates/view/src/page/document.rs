//! The frame of every page: its content security policy, its style and its scripts.

use crate::colours::dark_rules;
use crate::scripts::{Script, digest};
use crate::text::escape;
use std::fmt::Write;

const STYLE: &str = include_str!("../../assets/page.css");
const SCRIPT: &str = include_str!("../../assets/page.js");
/// The end of every page's title, by which [`is_page`] recognises pages.
const TITLE_END: &str = " · shallop";

/// A complete HTML page with this body. `libraries` are embedded compressed; the script of the page unpacks and starts
/// them, and the policy admits them by their digests.
pub(super) fn document(title: &str, body: &str, libraries: &[Script]) -> String {
    let mut policy = String::from("default-src 'none'; style-src 'unsafe-inline'; img-src data: blob:; script-src");
    let _ = write!(policy, " '{}'", digest(SCRIPT));
    for library in libraries {
        let _ = write!(policy, " '{}'", digest(&library.inline()));
    }
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{}{TITLE_END}</title>\n\
         <link rel=\"icon\" href=\"data:,\">\n<style>\n{STYLE}{}</style>\n</head>\n<body>\n{body}",
        escape(title),
        dark_rules()
    );
    for library in libraries {
        let _ = writeln!(out, "<script type=\"application/gzip\" class=\"library\">{}</script>", library.packed());
    }
    let _ = writeln!(out, "<script>{SCRIPT}</script>");
    out.push_str("</body>\n</html>\n");
    out
}

/// Whether a file is a page of shallop: it begins with a title that ends in " · shallop".
pub fn is_page(bytes: &[u8]) -> bool {
    let end = b"</title>";
    let head = bytes.windows(end.len()).position(|part| part == end).map(|at| &bytes[..at]);
    head.is_some_and(|head| head.ends_with(TITLE_END.as_bytes()))
}

//! Network files in GML, which has keys with values: numbers, texts in quotes, or lists in brackets. A file has one
//! graph.

use super::{Drawing, Element, Wrong};

/// The most levels of nested lists.
const DEEPEST: usize = 64;

#[derive(Debug, PartialEq)]
enum Value {
    Text(String),
    List(Vec<Pair>),
}

#[derive(Debug, PartialEq)]
struct Pair {
    key: String,
    line: usize,
    value: Value,
}

#[derive(Debug, PartialEq)]
enum Token {
    Open,
    Close,
    /// A key or a number.
    Word(String),
    Text(String),
}

pub(super) fn read(text: &str) -> Result<Drawing, Wrong> {
    let pairs = pairs(text)?;
    let mut graphs = pairs.iter().filter(|pair| pair.key.eq_ignore_ascii_case("graph"));
    let Some(graph) = graphs.next() else {
        let help = "a GML file says graph [ node [ id 0 ] ... edge [ source 0 target 1 ] ... ]";
        return Err(Wrong::new(1, "there is no graph in it", help));
    };
    if let Some(second) = graphs.next() {
        return Err(Wrong::new(second.line, "a second graph", "a file has one graph"));
    }
    let Value::List(pairs) = &graph.value else {
        return Err(Wrong::new(graph.line, "the graph is no list", "write graph [ ... ]"));
    };
    let mut drawing = Drawing::default();
    for pair in pairs {
        match (pair.key.to_ascii_lowercase().as_str(), &pair.value) {
            ("node", Value::List(values)) => {
                let element = element(pair.line, values);
                drawing.nodes.push((must(&element, "node", "id")?, element));
            }
            ("edge", Value::List(values)) => {
                let element = element(pair.line, values);
                let ends = [must(&element, "edge", "source")?, must(&element, "edge", "target")?];
                drawing.edges.push((ends, element));
            }
            ("node" | "edge", Value::Text(_)) => {
                let message = format!("this {} is no list", pair.key);
                return Err(Wrong::new(pair.line, message, "write it with [ and ]"));
            }
            ("directed", Value::Text(text)) => drawing.directed = text != "0",
            _ => {}
        }
    }
    Ok(drawing)
}

fn must(element: &Element, kind: &str, key: &str) -> Result<String, Wrong> {
    let found = element.get(&[key]).map(|found| found.1.to_owned());
    found.ok_or_else(|| Wrong::new(element.line, format!("this {kind} lacks its `{key}`"), ""))
}

/// Takes the attributes of a node or edge from its list; nested lists are ignored.
fn element(line: usize, values: &[Pair]) -> Element {
    let attribute = |pair: &Pair| match &pair.value {
        Value::Text(text) => Some((pair.key.clone(), text.clone())),
        Value::List(_) => None,
    };
    Element { line, attributes: values.iter().filter_map(attribute).collect() }
}

/// Parses a whole file.
fn pairs(text: &str) -> Result<Vec<Pair>, Wrong> {
    // The lists that are open, the outermost first, and the key each stands behind.
    let mut open: Vec<(Vec<Pair>, String, usize)> = Vec::new();
    let mut pairs: Vec<Pair> = Vec::new();
    let mut key: Option<(String, usize)> = None;
    let tokens = Tokens { rest: text, line: 1 };
    for token in tokens {
        let (line, token) = token?;
        match (key.take(), token) {
            (None, Token::Word(word)) if word.starts_with(|c: char| c.is_alphabetic() || c == '_') => {
                key = Some((word, line));
            }
            (None, Token::Close) => {
                let Some((outer, key, line)) = open.pop() else {
                    return Err(Wrong::new(line, "a ] without its [", "take it out, or write the ["));
                };
                let value = Value::List(std::mem::replace(&mut pairs, outer));
                pairs.push(Pair { key, line, value });
            }
            (Some((key, line)), Token::Open) if open.len() < DEEPEST => {
                open.push((std::mem::take(&mut pairs), key, line));
            }
            (Some((key, line)), Token::Word(text) | Token::Text(text)) => {
                pairs.push(Pair { key, line, value: Value::Text(text) });
            }
            (Some(_), Token::Open) => {
                let help = format!("at most {DEEPEST} lists inside each other are read");
                return Err(Wrong::new(line, "too many lists inside each other", help));
            }
            (Some((key, _)), Token::Close) => {
                let message = format!("`{key}` lacks its value");
                return Err(Wrong::new(line, message, "a number, a text in quotes or [ ... ]"));
            }
            (None, _) => {
                let help = "GML is keys with values: id 0, label \"text\", node [ ... ]";
                return Err(Wrong::new(line, "expected a key", help));
            }
        }
    }
    match (key, open.pop()) {
        (Some((key, line)), _) => Err(Wrong::new(line, format!("`{key}` lacks its value"), "")),
        (None, Some((_, key, line))) => {
            Err(Wrong::new(line, format!("the list of `{key}` has no end"), "it ends with ]"))
        }
        (None, None) => Ok(pairs),
    }
}

/// An iterator over the tokens of a text, with line numbers.
struct Tokens<'a> {
    rest: &'a str,
    line: usize,
}

impl Tokens<'_> {
    /// Moves on by a number of bytes, counting lines.
    fn skip(&mut self, bytes: usize) {
        self.line += self.rest[..bytes].matches('\n').count();
        self.rest = &self.rest[bytes..];
    }
}

impl Iterator for Tokens<'_> {
    type Item = Result<(usize, Token), Wrong>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let blank = self.rest.len() - self.rest.trim_start().len();
            self.skip(blank);
            if !self.rest.starts_with('#') {
                break;
            }
            self.skip(self.rest.find('\n').unwrap_or(self.rest.len()));
        }
        let line = self.line;
        let token = match self.rest.chars().next()? {
            bracket @ ('[' | ']') => {
                self.skip(1);
                if bracket == '[' { Token::Open } else { Token::Close }
            }
            '"' => {
                let Some(end) = self.rest[1..].find('"') else {
                    self.rest = "";
                    return Some(Err(Wrong::new(line, "a text without its closing quote", "")));
                };
                let text = plain(&self.rest[1..=end]);
                self.skip(end + 2);
                Token::Text(text)
            }
            _ => {
                let ends = |c: char| c.is_whitespace() || ['[', ']', '"'].contains(&c);
                let end = self.rest.find(ends).unwrap_or(self.rest.len());
                let word = self.rest[..end].to_owned();
                self.skip(end);
                Token::Word(word)
            }
        };
        Some(Ok((line, token)))
    }
}

/// Decodes character entities such as `&quot;` and `&#233;`; other text behind `&` stays.
fn plain(text: &str) -> String {
    let mut parts = text.split('&');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let known = part.split_once(';').and_then(|(name, rest)| Some((entity(name)?, rest)));
        let (sign, rest) = known.unwrap_or(('&', part));
        plain.push(sign);
        plain.push_str(rest);
    }
    plain
}

/// The character of an entity, by its name or number.
fn entity(name: &str) -> Option<char> {
    let known = [("quot", '"'), ("apos", '\''), ("lt", '<'), ("gt", '>'), ("amp", '&'), ("nbsp", ' ')];
    let number = name.strip_prefix('#').and_then(|number| match number.strip_prefix(['x', 'X']) {
        Some(number) => u32::from_str_radix(number, 16).ok(),
        None => number.parse().ok(),
    });
    known.into_iter().find(|it| it.0 == name).map(|it| it.1).or_else(|| char::from_u32(number?))
}

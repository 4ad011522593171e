//! Files of settings as a flat list of values, each with the path of its keys, and lists of known paths.

use crate::text::{NotThis, NotUnderstood};
use saphyr::{MarkedYaml, YamlData, YamlLoader};
use saphyr_parser::Parser;
use std::{cell::Cell, fmt::Display};

/// A value, or an empty map or list, whose value is then empty.
#[derive(Debug)]
pub struct Leaf {
    pub path: Vec<String>,
    pub value: String,
    pub line: usize,
    /// Whether the value has an effect on the device, or is listed as not understood.
    taken: Cell<bool>,
}

/// A line of a list of paths. Words of a path may end in `*`, `#N` (a list of numbers up to N) or `@` (a list of names
/// of interfaces).
pub struct Rule {
    pub section: &'static str,
    pub field: &'static str,
    pub kind: &'static str,
    range: [Option<i128>; 2],
    pub path: Vec<&'static str>,
}

/// What stands at the wildcards of a path, or nothing where the path has no such wildcard.
#[derive(Default)]
pub struct Stars<'a> {
    pub name: Option<&'a str>,
    pub numbers: Option<Vec<u8>>,
    pub interfaces: Vec<String>,
}

pub fn rules(list: &'static str) -> Vec<Rule> {
    let rule = |line: &'static str| {
        let mut cells = line.splitn(6, ',');
        let mut cell = || cells.next().unwrap_or_default();
        let (section, field, kind) = (cell(), cell(), cell());
        let range = [cell(), cell()].map(|bound| bound.parse().ok());
        Rule { section, field, kind, range, path: cell().split(' ').collect() }
    };
    list.lines().skip(1).map(rule).collect()
}

impl Leaf {
    pub fn wrong(&self, reason: impl Display) -> NotThis {
        NotThis { line: self.line, reason: format!("{}: {reason}", self.path.join("|")) }
    }

    pub fn take(&self) -> &str {
        self.taken.set(true);
        &self.value
    }

    /// The number, or the second of two in brackets.
    pub fn number<T: std::str::FromStr + Default>(&self) -> T {
        let last = self.take().rsplit(',').next().unwrap_or_default();
        last.trim_matches(['[', ']', ' ']).parse().unwrap_or_default()
    }

    pub fn origin(&self) -> String {
        format!("line {}: {}: {}", self.line, self.path.join("|"), self.take())
    }

    pub fn not_understood(&self, reason: impl Into<String>) -> NotUnderstood {
        let text = format!("{}: {}", self.path.join("|"), self.take());
        NotUnderstood { line: self.line, text, reason: reason.into() }
    }

    /// Whether the value is one of a kind; the error names the kind.
    fn check(&self, rule: &Rule) -> Result<(), NotThis> {
        let inside = |text: &str| {
            let number = text.trim().parse().ok();
            number.is_some() && rule.range[0] <= number && number <= rule.range[1]
        };
        let [from, to] = rule.range.map(Option::unwrap_or_default);
        let (fits, expected) = match rule.kind {
            "text" => (true, String::new()),
            "integer" => (inside(&self.value), format!("a number from {from} to {to}")),
            "pair" => (self.value.trim_matches(['[', ']']).split(',').all(inside), format!("numbers up to {to}")),
            "list" => (numbers(&self.value, to as u8).is_some(), format!("numbers up to {to}")),
            "ports" => (self.value == "allports" || names(&self.value).is_some(), "names such as swp1-4,swp6".into()),
            words => (words.split(' ').any(|word| word == self.value), format!("one of {words}")),
        };
        if fits { Ok(()) } else { Err(self.wrong(format!("`{}`: expected {expected}", self.value))) }
    }

    /// What stands at the wildcards of a rule's path, if the path is that of this value.
    fn stars(&self, rule: &Rule) -> Option<Result<Stars<'_>, NotThis>> {
        let mut stars = Stars::default();
        let mut wrong = None;
        for (word, key) in rule.path.iter().zip(&self.path) {
            let (start, wildcard) = word.split_at(word.find(['*', '#', '@']).unwrap_or(word.len()));
            let star = if wildcard.is_empty() { (word == key).then_some("")? } else { key.strip_prefix(start)? };
            let expected = match wildcard.get(..1) {
                Some("#") => {
                    stars.numbers = numbers(star, wildcard[1..].parse().unwrap_or(0));
                    stars.numbers.is_none().then(|| format!("numbers up to {}", &wildcard[1..]))
                }
                Some("@") => {
                    stars.interfaces = names(star).unwrap_or_default();
                    stars.interfaces.is_empty().then(|| "names such as swp1-4,swp6".into())
                }
                Some(_) => {
                    stars.name = Some(star);
                    None
                }
                None => None,
            };
            wrong = wrong.or(expected.map(|expected| self.wrong(format!("`{star}`: expected {expected}"))));
        }
        (rule.path.len() == self.path.len()).then_some(wrong.map_or(Ok(stars), Err))
    }

    /// The first rule with this path.
    pub fn find<'a, 'r>(&'a self, rules: &'r [Rule]) -> Result<Option<(&'r Rule, Stars<'a>)>, NotThis> {
        let Some((rule, stars)) = rules.iter().find_map(|rule| Some((rule, self.stars(rule)?))) else {
            return Ok(None);
        };
        if rule.section == "error" {
            return Err(self.wrong(rule.kind));
        }
        self.check(rule)?;
        Ok(Some((rule, stars?)))
    }
}

/// Values of YAML 1.2, which JSON is a part of. `|` divides a key. Positions in lists are not part of a path.
pub fn yaml(text: &str) -> Result<Vec<Leaf>, NotThis> {
    let mut loader = YamlLoader::<MarkedYaml>::default();
    loader.early_parse(false);
    let loaded = Parser::new_from_str(text).load(&mut loader, true);
    let error = loaded.err().or(loader.error().cloned());
    if let Some(error) = error {
        return Err(NotThis { line: error.marker().line(), reason: error.info().into() });
    }
    let mut leaves = Vec::new();
    loader.into_documents().iter().for_each(|document| flatten(document, &[], &mut leaves));
    Ok(leaves)
}

fn flatten(node: &MarkedYaml, path: &[String], leaves: &mut Vec<Leaf>) {
    match &node.data {
        YamlData::Mapping(map) if !map.is_empty() => map.iter().for_each(|(key, value)| {
            let keys = word(key).split('|').map(String::from);
            flatten(value, &path.iter().cloned().chain(keys).collect::<Vec<_>>(), leaves);
        }),
        YamlData::Sequence(list) if !list.is_empty() => list.iter().for_each(|item| flatten(item, path, leaves)),
        _ => {
            let value = word(node).into();
            leaves.push(Leaf { path: path.to_vec(), value, line: node.span.start.line(), taken: Cell::new(false) });
        }
    }
}

fn word<'a>(node: &'a MarkedYaml) -> &'a str {
    if let YamlData::Representation(text, ..) = &node.data { text } else { "" }
}

/// Lines `KEY = VALUE`; dots divide a key.
pub fn conf(text: &str) -> Result<Vec<Leaf>, NotThis> {
    let lines = (1..).zip(text.lines().map(|line| line.split('#').next().unwrap_or("").trim()));
    let leaf = |(line, text): (usize, &str)| {
        let wrong = || NotThis { line, reason: format!("`{text}`: expected KEY = VALUE") };
        let (key, value) = text.split_once('=').ok_or_else(wrong)?;
        let path = key.trim().split('.').map(String::from).collect();
        Ok(Leaf { path, value: value.trim().into(), line, taken: Cell::new(false) })
    };
    lines.filter(|(_, text)| !text.is_empty()).map(leaf).collect()
}

/// Leaves that nothing took, with one line for those beside each other.
pub fn rest(leaves: &[Leaf]) -> Vec<NotUnderstood> {
    let idle: Vec<&Leaf> = leaves.iter().filter(|leaf| !leaf.taken.get()).collect();
    let parent = |leaf: &Leaf| leaf.path.split_last().map_or(Vec::new(), |(_, parent)| parent.to_vec());
    let text = |leaves: &[&Leaf]| {
        let values: Vec<_> =
            leaves.iter().map(|leaf| format!("{} {}", leaf.path.last().map_or("", |key| key), leaf.value)).collect();
        format!("{}: {}", parent(leaves[0]).join("|"), values.join(", "))
    };
    let reason = "no port uses it, or the model has no such setting";
    let line = |leaves: &[&Leaf]| NotUnderstood { line: leaves[0].line, text: text(leaves), reason: reason.into() };
    idle.chunk_by(|a, b| parent(a) == parent(b)).map(line).collect()
}

fn items(text: &str) -> impl Iterator<Item = &str> {
    text.trim_matches(['[', ']', ' ']).split(',').map(str::trim).filter(|item| !item.is_empty())
}

/// Numbers of a list such as `[0,2-4]`.
pub fn numbers(text: &str, high: u8) -> Option<Vec<u8>> {
    let mut found = Vec::new();
    for item in items(text) {
        let (from, to) = item.split_once('-').unwrap_or((item, item));
        let (from, to): (u8, u8) = (from.parse().ok()?, to.parse().ok()?);
        found.extend((from <= to && to <= high).then_some(from..=to)?);
    }
    Some(found)
}

/// Names of a list such as `swp1-4,swp6s0-swp6s3`, at most 1,024 for each range.
pub fn names(text: &str) -> Option<Vec<String>> {
    let mut found = Vec::new();
    for item in items(text) {
        let (from, to) = item.split_once('-').unwrap_or((item, ""));
        let stem = from.trim_end_matches(|letter: char| letter.is_ascii_digit());
        let ends = [&from[stem.len()..], to.strip_prefix(stem).unwrap_or(to)].map(|end| end.parse::<usize>());
        match ends {
            [Ok(first), Ok(last)] if first <= last && last - first < 1024 => {
                found.extend((first..=last).map(|number| format!("{stem}{number}")));
            }
            [Ok(_), Ok(_)] => return None,
            _ => found.push(item.to_string()),
        }
    }
    Some(found)
}

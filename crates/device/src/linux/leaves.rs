//! Files of settings as a flat list of values, each with the path of its keys, and lists of known paths.

use crate::text::{NotThis, NotUnderstood};
use saphyr::{MarkedYaml, YamlData, YamlLoader};
use saphyr_parser::Parser;
use std::{cell::Cell, fmt::Display, str::FromStr};

/// A value, or an empty map or list, whose value is then empty.
#[derive(Debug)]
pub struct Leaf {
    pub path: Vec<String>,
    pub value: String,
    pub line: usize,
    /// Why the value has no effect on the device; empty if it has.
    idle: Cell<&'static str>,
}

/// A line of a list of paths.
pub struct Rule {
    pub section: &'static str,
    pub field: &'static str,
    pub kind: &'static str,
    range: [Option<i128>; 2],
    path: Vec<&'static str>,
}

/// What stands at the wildcards of a path.
#[derive(Default)]
pub struct Stars<'a> {
    pub profile: Option<&'a str>,
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

impl Rule {
    /// Whether a value is of the system: the rule has its first key, or, if any name is one, its last key too.
    pub fn is_begun(&self, leaf: &Leaf) -> bool {
        let is_first = leaf.path.first().is_some_and(|key| key == self.path[0]);
        let is_any =
            self.path[0] == "*" && leaf.path.len() > 1 && leaf.path.last().is_some_and(|it| it == self.path[1]);
        is_first || is_any
    }
}

impl Leaf {
    fn new(path: Vec<String>, value: &str, line: usize) -> Self {
        Self { path, value: value.into(), line, idle: Cell::new("no port uses it, or the model has no such setting") }
    }

    pub fn wrong(&self, reason: impl Display) -> NotThis {
        NotThis { line: self.line, reason: format!("{}: {reason}", self.path.join("|")) }
    }

    pub fn take(&self) -> &str {
        self.set_aside("");
        &self.value
    }

    pub fn set_aside(&self, reason: &'static str) {
        self.idle.set(reason);
    }

    pub fn origin(&self) -> String {
        let from = if self.line == 0 { "default of NVUE".to_owned() } else { format!("line {}", self.line) };
        format!("{from}: {}: {}", self.path.join("|"), self.take())
    }

    /// The number, or the second of two in brackets.
    pub fn number<T: FromStr + Default>(&self) -> T {
        let last = self.take().rsplit(',').next().unwrap_or_default();
        last.trim_matches(['[', ']', ' ']).parse().unwrap_or_default()
    }

    /// The name in a value, also in the form `[TABLE|name]` of `SONiC`'s releases before 2021.
    pub fn name(&self) -> &str {
        self.value.rsplit('|').next().unwrap_or_default().trim_end_matches(']')
    }

    /// The first rule with this path, and what stands at its wildcards.
    pub fn find<'r>(&self, rules: &'r [Rule]) -> Result<Option<(&'r Rule, Stars<'_>)>, NotThis> {
        let wrong = |text: &str, kind: &str, [from, to]: [Option<i128>; 2]| {
            let range = to.map_or(String::new(), |to| format!(" from {} to {to}", from.unwrap_or(0)));
            self.wrong(format!("`{text}`: expected {kind}{range}"))
        };
        let is_path = |rule: &&Rule| {
            let same = |(word, key): (&&str, &String)| {
                key.starts_with(split(word).0) && (!split(word).1.is_empty() || word == key)
            };
            rule.path.len() == self.path.len() && rule.path.iter().zip(&self.path).all(same)
        };
        let Some(rule) = rules.iter().find(is_path) else { return Ok(None) };
        if rule.section == "error" {
            return Err(self.wrong(rule.kind));
        }
        if !fits(&self.value, rule) {
            return Err(wrong(&self.value, rule.kind, rule.range));
        }
        let mut stars = Stars::default();
        for (word, key) in rule.path.iter().zip(&self.path) {
            let (before, wildcard) = split(word);
            let star = &key[before.len()..];
            match wildcard.get(..1) {
                Some("*") => stars.profile = Some(star),
                Some("#") => {
                    let to = wildcard[1..].parse().unwrap_or(0);
                    let found = numbers(star, to);
                    stars.numbers = Some(found.ok_or_else(|| wrong(star, "numbers", [None, Some(to.into())]))?);
                }
                Some(_) => {
                    stars.interfaces = names(star).ok_or_else(|| wrong(star, "names such as swp1-4", [None; 2]))?;
                }
                None => {}
            }
        }
        Ok(Some((rule, stars)))
    }
}

/// A word of a path, divided before its wildcard.
fn split<'a>(word: &&'a str) -> (&'a str, &'a str) {
    word.split_at(word.find(['*', '#', '@']).unwrap_or(word.len()))
}

fn fits(value: &str, rule: &Rule) -> bool {
    let inside = |text: &str| {
        let number = text.trim().parse().ok();
        number.is_some() && rule.range[0] <= number && number <= rule.range[1]
    };
    match rule.kind {
        "text" => true,
        "integer" => inside(value),
        "pair" => value.trim_matches(['[', ']']).split(',').all(inside),
        "list" => numbers(value, rule.range[1].map_or(0, |to| to as u8)).is_some(),
        "ports" => value == "allports" || names(value).is_some(),
        words => words.split(' ').any(|word| word == value),
    }
}

/// Values of YAML 1.2, which JSON is a part of. `|` divides a key. Positions in lists are not part of a path.
pub fn yaml(text: &str) -> Result<Vec<Leaf>, NotThis> {
    let mut loader = YamlLoader::<MarkedYaml>::default();
    loader.early_parse(false);
    let result = Parser::new_from_str(text).load(&mut loader, true);
    if let Some(error) = result.err().or(loader.error().cloned()) {
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
        _ => leaves.push(Leaf::new(path.to_vec(), word(node), node.span.start.line())),
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
        Ok(Leaf::new(key.trim().split('.').map(String::from).collect(), value.trim(), line))
    };
    lines.filter(|(_, text)| !text.is_empty()).map(leaf).collect()
}

/// Leaves without effect, on one line if they have one parent and one reason.
pub fn idle(leaves: &[Leaf]) -> Vec<NotUnderstood> {
    let idle: Vec<&Leaf> = leaves.iter().filter(|leaf| !leaf.idle.get().is_empty()).collect();
    let parent = |leaf: &Leaf| leaf.path[..leaf.path.len().saturating_sub(1)].join("|");
    let line = |leaves: &[&Leaf]| {
        let value = |leaf: &&Leaf| format!("{} {}", leaf.path.last().map_or("", String::as_str), leaf.value);
        let text = format!("{}: {}", parent(leaves[0]), leaves.iter().map(value).collect::<Vec<_>>().join(", "));
        let of_queues = of_queues(&leaves[0].path);
        NotUnderstood { line: leaves[0].line, text, reason: leaves[0].idle.get().into(), of_queues }
    };
    idle.chunk_by(|a, b| (parent(a), a.idle.get()) == (parent(b), b.idle.get())).map(line).collect()
}

/// Whether this is in a table of `SONiC`, a section of NVUE or a line of Cumulus Linux's files that sets queues.
fn of_queues(path: &[String]) -> bool {
    const FIRST: &str = "QUEUE SCHEDULER WRED_ BUFFER_ DSCP_TO_ TC_TO_ QOS_MAP MAP_PFC traffic source egress_sched \
        shaping ecn_red cos_egr priority_group scheduling";
    path.len() > 1 && (FIRST.split(' ').any(|it| path[0].contains(it)) || path.iter().any(|key| key == "qos"))
}

fn items(text: &str) -> impl Iterator<Item = &str> {
    text.trim_matches(['[', ']', ' ']).split(',').map(str::trim).filter(|item| !item.is_empty())
}

/// Numbers of a list such as `[0,2-4]`.
pub fn numbers(text: &str, high: u8) -> Option<Vec<u8>> {
    let range = |item: &str| {
        let (from, to) = item.split_once('-').unwrap_or((item, item));
        let (from, to): (u8, u8) = (from.parse().ok()?, to.parse().ok()?);
        (from <= to && to <= high).then_some(from..=to)
    };
    items(text).map(range).collect::<Option<Vec<_>>>().map(|ranges| ranges.into_iter().flatten().collect())
}

/// Names of a list such as `swp1-4,swp6s0-swp6s3`, at most 1,024 for each range.
pub fn names(text: &str) -> Option<Vec<String>> {
    let mut found = Vec::new();
    for item in items(text) {
        let (from, to) = item.split_once('-').unwrap_or((item, ""));
        let stem = from.trim_end_matches(|letter: char| letter.is_ascii_digit());
        match [&from[stem.len()..], to.strip_prefix(stem).unwrap_or(to)].map(str::parse::<usize>) {
            [Ok(first), Ok(last)] if first > last || last - first >= 1024 => return None,
            [Ok(first), Ok(last)] => found.extend((first..=last).map(|number| format!("{stem}{number}"))),
            _ => found.push(item.to_string()),
        }
    }
    Some(found)
}

//! The keys of scenarios with their defaults on each TCP stack, for the schema and for the tables of docs.

use super::tree;
use serde_json::Value;
use shallop_options::{At, HostStack, Key, KeyDoc, SectionKeys, SectionKind, StringEnum};

/// A key with its default on each simulated TCP stack.
#[derive(Clone, Debug)]
pub(super) struct Explained {
    pub key: &'static Key,
    /// The default on each stack, in the order of [`HostStack::SIMULATED`]: a TOML value, or words.
    pub defaults: [Option<String>; HostStack::SIMULATED.len()],
}

pub(super) fn of_section(keys: SectionKeys) -> Vec<Explained> {
    explained(keys.describe)
}

pub(super) fn of_kind(kind: SectionKind) -> Vec<Explained> {
    explained(|stack| (kind.describe)(kind.name, stack))
}

fn explained(describe: impl Fn(HostStack) -> Vec<KeyDoc>) -> Vec<Explained> {
    let stacks = HostStack::SIMULATED.map(describe);
    let explained = |(row, of): (usize, &KeyDoc)| Explained {
        key: of.key,
        defaults: stacks.each_ref().map(|rows| rows[row].default.clone()),
    };
    stacks[0].iter().enumerate().map(explained).collect()
}

impl Explained {
    /// The default, if all stacks have the same.
    pub fn common(&self) -> Option<&str> {
        let [first, rest @ ..] = &self.defaults;
        let same = rest.iter().all(|other| other == first);
        first.as_deref().filter(|_| same)
    }

    /// The description of the key, followed by the default of each stack.
    pub fn about(&self) -> String {
        let about = self.key.about.trim();
        if let Some(default) = self.common() {
            return format!("{about} Default: {default}.");
        }
        let mut by_value: Vec<(&str, Vec<&str>)> = Vec::new();
        for (stack, default) in HostStack::SIMULATED.into_iter().zip(&self.defaults) {
            let Some(default) = default.as_deref() else { continue };
            match by_value.iter_mut().find(|(value, _)| *value == default) {
                Some((_, stacks)) => stacks.push(stack.word()),
                None => by_value.push((default, vec![stack.word()])),
            }
        }
        if by_value.is_empty() {
            return about.to_owned();
        }
        let parts = by_value.iter().map(|(value, on)| format!("{value} ({})", on.join(", ")));
        format!("{about} Default: {}.", parts.collect::<Vec<_>>().join("; "))
    }

    /// The default as JSON, if it is a TOML value that all stacks share.
    pub fn value(&self) -> Option<Value> {
        let text = self.common()?;
        tree::is_value(text).then(|| tree::json(&tree::parse_value(text, &At::default())))
    }
}

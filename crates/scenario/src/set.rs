//! Changes single keys of a scenario's tree: for `[quick]`, the `set` of points, and `--set`. The path of a key has
//! dots between its steps; a section in a list has its name or its index as a step: `group.all.size`,
//! `topology.link.0.rate`.

use super::{groups::GroupOptions, root_options::Scenario, schemes::name};
use shallop_options::suggest::{list, near};
use shallop_options::{At, Entry, Item, Key, Options, Problem, RawValue, Table, TaggedSections, ValueType, find};
use toml::de::{DeTable, DeValue};

/// Sections whose keys cannot be changed.
const FIXED: [&str; 4] = [
    Scenario::KEY.point.key.name,
    Scenario::KEY.quick.name,
    Scenario::KEY.defaults.key.name,
    Scenario::KEY.claim.key.name,
];

/// The beginning of the error for a path that ends at a section.
const SECTION: &str = "it is a section";

/// A key, by its path, and its new value.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub path: Vec<String>,
    /// Where the change is written: in the text, or on the command line.
    pub key: At,
    pub item: Item,
}

impl Change {
    /// The path with dots between its steps.
    pub fn key(&self) -> String {
        self.path.join(".")
    }
}

/// Reads the changes in a table: `[quick]` or `set`. Paths may be written with dots or as nested tables.
///
/// # Errors
/// If it is no table, or a key in it is no path.
pub(super) fn changes(name: &str, item: &Item) -> Result<Vec<Change>, Problem> {
    let Some(table) = item.table() else {
        let problem = item.problem(format!("{name} should be a table, found {}", item.found()));
        return Err(problem.with_help("write it like { \"topology.senders\" = 200 }"));
    };
    let mut changes = Vec::new();
    flatten(table, &[], &mut changes)?;
    Ok(changes)
}

fn flatten(table: &Table, path: &[String], changes: &mut Vec<Change>) -> Result<(), Problem> {
    for (key, entry) in table {
        let mut path = path.to_vec();
        path.extend(steps(key).ok_or_else(|| entry.key.problem(format!("`{key}` is no key")))?);
        match &entry.item.value {
            // What starts flows in turn is one value, though a table; all other tables are sections.
            RawValue::Table(inner) if path.last().is_none_or(|last| last != GroupOptions::KEY.start.name) => {
                flatten(inner, &path, changes)?;
            }
            _ => changes.push(Change { path, key: entry.key.clone(), item: entry.item.clone() }),
        }
    }
    Ok(())
}

/// Splits a path at its dots, as TOML does, so that quotes keep dots inside a step. `None` if it is no key of TOML.
pub(super) fn steps(key: &str) -> Option<Vec<String>> {
    let line = format!("{key} = true");
    let parsed = DeTable::parse(&line).ok()?;
    let (mut table, mut steps) = (parsed.get_ref(), Vec::new());
    loop {
        let (step, item) = table.iter().next().filter(|_| table.len() == 1)?;
        steps.push(step.get_ref().to_string());
        match item.get_ref() {
            DeValue::Table(inner) => table = inner,
            // The value is the one that was added, on the line of the key.
            _ => return (item.span().end == line.len() && !key.contains('\n')).then_some(steps),
        }
    }
}

/// Sets the new value in the tree.
///
/// # Errors
/// If there is no such key.
pub(super) fn apply(root: &mut Item, change: &Change) -> Result<(), Problem> {
    let first = change.path.first().map(String::as_str).unwrap_or_default();
    if FIXED.contains(&first) {
        let message = format!("`{}` cannot be changed", change.key());
        return Err(change.key.problem(message).with_help(format!("{} stay", list(FIXED))));
    }
    let known = |root: &Item| {
        let mut known = Vec::new();
        let keys = Scenario::keys();
        root.table().into_iter().for_each(|table| paths(&keys, table, "", &mut known));
        known
    };
    let snapshot = root.clone();
    let RawValue::Table(table) = &mut root.value else { return Ok(()) };
    // A seed takes the place of seeds, and the other way round.
    let (seed, seeds) = (Scenario::KEY.seed.name, Scenario::KEY.seeds.name);
    if first == seed {
        table.remove(seeds);
    } else if first == seeds {
        table.remove(seed);
    }
    insert(&Scenario::keys(), table, &change.path, change).map_err(|why| {
        let known = known(&snapshot);
        let key = change.key();
        let help = if why.starts_with(SECTION) {
            format!("write the whole path of the key, as in {key}.KEY")
        } else {
            suggestion(&key, &known)
        };
        change.key.problem(format!("there is no key `{key}`: {why}")).with_help(help)
    })
}

/// Help for an unknown key: keys of the same section with a similar name, or with the last step of the path as a word
/// of their descriptions (`beta` in a formula); otherwise similar paths.
fn suggestion(key: &str, known: &[(String, &'static Key)]) -> String {
    let guess = |paths: &[String]| format!("did you mean {}?", list(paths.iter().map(String::as_str)));
    if let Some((section, last)) = key.rsplit_once('.') {
        let inside = |(path, key): &(String, &'static Key)| {
            let name = path.strip_prefix(section)?.strip_prefix('.')?;
            Some((name.to_owned(), *key))
        };
        let inner: Vec<(String, &Key)> = known.iter().filter_map(inside).collect();
        let whole = |name: &str| format!("{section}.{name}");
        let alike = |name: &str| strsim::normalized_damerau_levenshtein(last, name) > 0.5;
        let near = near(last, inner.iter().map(|(name, _)| name.as_str())).into_iter();
        let near: Vec<String> = near.filter(|name| alike(name)).map(whole).collect();
        if !near.is_empty() {
            return guess(&near);
        }
        let word = |about: &str| about.split(|c: char| !c.is_alphanumeric()).any(|it| it == last);
        let described = inner.iter().filter(|(_, key)| word(key.about));
        let described: Vec<String> = described.map(|(name, _)| whole(name)).take(3).collect();
        if !described.is_empty() {
            return format!("{} It is described by that word", guess(&described));
        }
        if !inner.is_empty() {
            let names = inner.iter().map(|(name, _)| name.as_str());
            return format!("keys of `{section}`: {}", list(names));
        }
    }
    let near = near(key, known.iter().map(|(path, _)| path.as_str()));
    if near.is_empty() {
        return format!("sections: {}", list(names(&Scenario::keys())));
    }
    format!("did you mean {}?", list(near))
}

fn names<'a>(keys: &'a [&'static Key]) -> impl Iterator<Item = &'static str> + 'a {
    keys.iter().map(|key| key.name)
}

/// Sets the new value below a section that has these keys.
fn insert(keys: &[&'static Key], table: &mut Table, path: &[String], change: &Change) -> Result<(), String> {
    let Some((step, rest)) = path.split_first() else { return Err(SECTION.into()) };
    let Some(key) = find(keys, step) else {
        if let Some(now) = keys.iter().find(|key| key.formerly.contains(&step.as_str())) {
            return Err(format!("`{step}` is called `{}`", now.name));
        }
        return Err(format!("`{step}` is none of {}", list(names(keys))));
    };
    match &key.value_type {
        ValueType::Section(keys) => down(&(keys.all)(), section(table, step, change)?, rest, change),
        ValueType::Tagged(tagged) => {
            let inner = section(table, step, change)?;
            let keys = of_kind(tagged, inner, rest)?;
            down(&keys, inner, rest, change)
        }
        ValueType::NamedSections(keys) => {
            let Some((name, rest)) = rest.split_first() else {
                return Err("it has no name".into());
            };
            let sections = section(table, step, change)?;
            if name != "default" && !sections.contains_key(name) {
                let names = list(sections.keys().map(String::as_str));
                return Err(format!("there is no `{step}` \"{name}\", but {names}"));
            }
            down(&(keys.all)(), section(sections, name, change)?, rest, change)
        }
        ValueType::Sections(_) | ValueType::TaggedList(_) => row(&key.value_type, table, path, change),
        _ if rest.is_empty() => {
            table.insert(step.clone(), Entry { key: change.key.clone(), item: change.item.clone() });
            Ok(())
        }
        // A key that the `set` of a scheme changes.
        ValueType::Overrides => {
            let inner = section(table, step, change)?;
            inner.insert(rest.join("."), Entry { key: change.key.clone(), item: change.item.clone() });
            Ok(())
        }
        _ => Err(format!("`{step}` is no section")),
    }
}

fn down(keys: &[&'static Key], table: &mut Table, rest: &[String], change: &Change) -> Result<(), String> {
    if rest.is_empty() {
        let names = list(names(keys));
        return Err(format!("{SECTION}; name one of its keys: {names}"));
    }
    insert(keys, table, rest, change)
}

/// Sets the new value below one section of a list, which `path` chooses by name or index.
fn row(form: &ValueType, table: &mut Table, path: &[String], change: &Change) -> Result<(), String> {
    let [step, which, rest @ ..] = path else {
        return Err("it is a row of sections; name one of them, and a key".into());
    };
    let rows = table.get_mut(step).map(|entry| &mut entry.item.value);
    let Some(RawValue::List(rows)) = rows else {
        return Err(format!("the scenario has no [[{step}]]"));
    };
    let position = rows.iter().position(|row| name(row) == Some(which));
    let position = position.or_else(|| which.parse().ok().filter(|&at| at < rows.len()));
    let Some(position) = position else {
        let names = list(rows.iter().filter_map(name));
        return Err(format!("there is no {step} \"{which}\" among {names}"));
    };
    let RawValue::Table(inner) = &mut rows[position].value else {
        return Err("it is no section".into());
    };
    let keys = match form {
        ValueType::TaggedList(tagged) => of_kind(tagged, inner, rest)?,
        ValueType::Sections(keys) => (keys.all)(),
        _ => Vec::new(),
    };
    down(&keys, inner, rest, change)
}

/// The keys that a section of several kinds has. If the change sets the tag itself, any kind will do, since each has
/// the tag.
fn of_kind(tagged: &TaggedSections, table: &Table, rest: &[String]) -> Result<Vec<&'static Key>, String> {
    if rest.first().is_some_and(|step| step == tagged.tag) {
        let any = (tagged.kinds)().into_iter().next();
        return Ok(any.map(|kind| kind.keys()).unwrap_or_default());
    }
    kind(tagged, table).ok_or_else(|| format!("the section lacks `{}`", tagged.tag))
}

/// The keys of the kind that the tag in a section chooses.
fn kind(tagged: &TaggedSections, table: &Table) -> Option<Vec<&'static Key>> {
    Some(tagged.named(table.get(tagged.tag)?.item.text()?)?.keys())
}

/// The subsection `step`, which is added if it is missing.
fn section<'a>(table: &'a mut Table, step: &str, change: &Change) -> Result<&'a mut Table, String> {
    let entry = table.entry(step.to_owned()).or_insert_with(|| {
        let at = change.key.clone();
        Entry { key: at.clone(), item: Item { value: RawValue::Table(Table::new()), at } }
    });
    match &mut entry.item.value {
        RawValue::Table(inner) => Ok(inner),
        _ => Err(format!("`{step}` is no section")),
    }
}

/// Collects the path of every key that the scenario has or could have, for suggestions.
fn paths(keys: &[&'static Key], table: &Table, before: &str, known: &mut Vec<(String, &'static Key)>) {
    for &key in keys.iter().filter(|key| !FIXED.contains(&key.name)) {
        let path = format!("{before}{}", key.name);
        let inner = table.get(key.name).map(|entry| &entry.item);
        let within = |keys: Option<Vec<&'static Key>>, item: &Item, path, known: &mut _| {
            if let (Some(keys), Some(table)) = (keys, item.table()) {
                paths(&keys, table, &format!("{path}."), known);
            }
        };
        match &key.value_type {
            ValueType::Section(keys) => match inner {
                Some(inner) => within(Some((keys.all)()), inner, path, known),
                None => paths(&(keys.all)(), &Table::new(), &format!("{path}."), known),
            },
            ValueType::Tagged(tagged) => {
                if let Some(item) = inner {
                    let keys = item.table().and_then(|table| kind(tagged, table));
                    within(keys, item, path, known);
                }
            }
            ValueType::NamedSections(keys) => {
                for (name, entry) in inner.and_then(Item::table).into_iter().flatten() {
                    within(Some((keys.all)()), &entry.item, format!("{path}.{name}"), known);
                }
                if inner.and_then(|item| item.get("default")).is_none() {
                    paths(&(keys.all)(), &Table::new(), &format!("{path}.default."), known);
                }
            }
            form @ (ValueType::Sections(_) | ValueType::TaggedList(_)) => {
                // A few hundred names are enough to guess from.
                for row in inner.map(Item::items).unwrap_or_default().iter().take(200) {
                    let keys = match form {
                        ValueType::TaggedList(tagged) => row.table().and_then(|table| kind(tagged, table)),
                        ValueType::Sections(keys) => Some((keys.all)()),
                        _ => None,
                    };
                    let name = name(row).unwrap_or("0");
                    within(keys, row, format!("{path}.{name}"), known);
                }
            }
            _ => known.push((path, key)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_a_key_of_toml_and_nothing_besides() {
        for (key, wanted) in [
            ("topology.rate", &["topology", "rate"][..]),
            ("group . \"a.b\".'c d'", &["group", "a.b", "c d"]),
            ("topology.link.0.rate", &["topology", "link", "0", "rate"]),
            ("\"\"", &[""]),
        ] {
            assert_eq!(steps(key).unwrap(), wanted, "{key}");
        }
        for key in ["", "a..b", ".a", "a.", "a b", "a = true #", "a #", "a\nb", "[a]\nb", "a = {b", "\"a"] {
            assert_eq!(steps(key), None, "{key}");
        }
    }
}

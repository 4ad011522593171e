//! Tables of keys in Markdown, for the pages of docs.

use super::defaults::{self, Explained};
use super::{root_options::Scenario, schemes::SchemeOptions, tree};
use shallop_options::{
    HostStack, Key, Options, SectionKind, StringEnum, TaggedSections, ValueType, find, section_keys,
};
use shallop_plan::transport::TcpOptions;
use shallop_results::units::thousands;

/// The kinds of sections that need a table, by section: transports and topologies.
pub fn kinds() -> Vec<(&'static str, Vec<&'static str>)> {
    let tagged = |key: &'static Key| match &key.value_type {
        ValueType::Tagged(tagged) | ValueType::TaggedList(tagged) => tagged.names(),
        _ => Vec::new(),
    };
    let keys = [Scenario::KEY.scheme, Scenario::KEY.topology];
    keys.map(|key| (key.name, tagged(key))).to_vec()
}

/// A table of the keys of a section. `what` is `scenario`, or the path of a section such as `switch.shared`. For a kind
/// of section it is `scheme newreno`, without the keys of every scheme and of every TCP, which are `scheme` and `scheme
/// tcp`; `scheme newreno, ecn-star` for kinds with equal keys. `only` and some keys may follow.
///
/// # Errors
/// In words, if there is no such section or key, or if kinds differ.
pub fn table(what: &str) -> Result<String, String> {
    let (section, only) = match what.split_once(" only ") {
        Some((section, only)) => (section, Some(only.split(", ").collect::<Vec<_>>())),
        None => (what, None),
    };
    let mut rows = keys_of(section)?;
    if let Some(only) = only {
        let missing = only.iter().find(|name| !rows.iter().any(|row| row.key.name == **name));
        if let Some(name) = missing {
            return Err(format!("`{section}` has no key `{name}`"));
        }
        rows.retain(|row| only.contains(&row.key.name));
    }
    Ok(markdown(&rows))
}

fn keys_of(section: &str) -> Result<Vec<Explained>, String> {
    if section == "scenario" {
        return Ok(defaults::of_section(section_keys::<Scenario>()));
    }
    let (path, kinds) = match section.split_once(' ') {
        Some((path, kinds)) => (path, kinds.split(", ").collect()),
        None => (section, Vec::new()),
    };
    let mut all = Scenario::keys();
    let mut form = None;
    for step in path.split('.') {
        let key = find(&all, step).ok_or_else(|| format!("there is no section `{path}`"))?;
        form = inner(&key.value_type);
        all = match form {
            Some(ValueType::Section(keys) | ValueType::Sections(keys) | ValueType::NamedSections(keys)) => (keys.all)(),
            Some(ValueType::Tagged(tagged) | ValueType::TaggedList(tagged)) => {
                (tagged.kinds)().iter().flat_map(SectionKind::keys).collect()
            }
            _ => Vec::new(),
        };
    }
    match (form, &kinds[..]) {
        (Some(ValueType::Section(keys) | ValueType::Sections(keys) | ValueType::NamedSections(keys)), []) => {
            Ok(defaults::of_section(*keys))
        }
        (Some(ValueType::TaggedList(_)), []) => Ok(defaults::of_section(section_keys::<SchemeOptions>())),
        (Some(ValueType::Tagged(tagged) | ValueType::TaggedList(tagged)), kinds) => of_kinds(tagged, kinds),
        _ => Err(format!("`{section}` is no section")),
    }
}

/// The type of the section that a value contains, also inside lists.
fn inner(form: &'static ValueType) -> Option<&'static ValueType> {
    match form {
        ValueType::AnyOf(forms) => forms.iter().find_map(inner),
        ValueType::List(form) => inner(form),
        ValueType::Section(_)
        | ValueType::Sections(_)
        | ValueType::NamedSections(_)
        | ValueType::Tagged(_)
        | ValueType::TaggedList(_) => Some(form),
        _ => None,
    }
}

/// The keys of these kinds, which must be equal, without the keys of every kind.
fn of_kinds(tagged: &TaggedSections, kinds: &[&str]) -> Result<Vec<Explained>, String> {
    let tcp = kinds == ["tcp"];
    let mut found: Option<Vec<Explained>> = None;
    for name in if tcp { &["newreno"] } else { kinds } {
        let kind = tagged.named(name).ok_or_else(|| format!("there is no kind `{name}`"))?;
        let mut rows = defaults::of_kind(kind);
        let shared = [SchemeOptions::keys(), TcpOptions::keys()];
        rows.retain(|row| row.key.name != tagged.tag && !shared[0].contains(&row.key));
        rows.retain(|row| shared[1].contains(&row.key) == tcp);
        let cells = |rows: &[Explained]| rows.iter().map(cells).collect::<Vec<_>>();
        if found.as_ref().is_some_and(|found| cells(found) != cells(&rows)) {
            return Err(format!("`{name}` has other keys"));
        }
        found = Some(rows);
    }
    found.ok_or_else(|| "no kind is named".to_owned())
}

/// The cells of a row: key, allowed values, and the default on each stack.
fn cells(row: &Explained) -> (&'static str, String, Vec<String>) {
    let default = |default: &Option<String>| match default {
        Some(text) if tree::is_value(text) => format!("`{text}`"),
        Some(text) => text.clone(),
        None if row.key.required => "required".to_owned(),
        None => "–".to_owned(),
    };
    (row.key.name, takes(&row.key.value_type), row.defaults.iter().map(default).collect())
}

fn markdown(rows: &[Explained]) -> String {
    let by_stack = rows.iter().map(cells).any(|(_, _, defaults)| defaults.iter().any(|it| *it != defaults[0]));
    let stacks = HostStack::SIMULATED.map(StringEnum::word);
    let heads = if by_stack { stacks.join(" | ") } else { "default".to_owned() };
    let rules = "|---".repeat(if by_stack { stacks.len() } else { 1 });
    let mut table = format!("| key | takes | {heads} | meaning |\n|---|---{rules}|---|\n");
    for row in rows {
        let (name, takes, mut defaults) = cells(row);
        if !by_stack {
            defaults.truncate(1);
        }
        let about = row.key.about.trim();
        let line = [&[format!("`{name}`"), takes], &defaults[..], &[about.to_owned()]].concat();
        let line: Vec<String> = line.iter().map(|cell| cell.replace('|', "\\|")).collect();
        table.extend(["| ", &line.join(" | "), " |\n"]);
    }
    table
}

/// The allowed values in a few words, for the column "takes".
fn takes(form: &ValueType) -> String {
    match form {
        ValueType::Text => "text".to_owned(),
        ValueType::Boolean => "`true`, `false`".to_owned(),
        ValueType::Integer(least, most) if *most >= i64::MAX as u64 => {
            format!("integer from {least}")
        }
        ValueType::Integer(least, most) => {
            format!("integer, {} to {}", thousands(*least), thousands(*most))
        }
        ValueType::Number(f64::MIN, f64::MAX) => "number".to_owned(),
        ValueType::Number(least, most) => format!("number, {least} to {most}"),
        ValueType::Below(least, most) => format!("number, {least} to below {most}"),
        ValueType::Above(least, most) => format!("number, above {least} to {most}"),
        ValueType::Time(least, most) if least.is_zero() => format!("time, 0s to {most}"),
        ValueType::Time(least, most) => format!("time, {least} to {most}"),
        ValueType::TimeRange(..) => "two times, `\"FROM..TO\"`".to_owned(),
        ValueType::Rate(least, most) => format!("rate, {least} to {most}"),
        ValueType::Size(least, most) => format!("bytes, {least} to {most}"),
        ValueType::Buffer => "bytes, packets, or bytes per Gb/s".to_owned(),
        ValueType::OneOf(words) => words.iter().map(|word| format!("`\"{word}\"`")).collect::<Vec<_>>().join(", "),
        ValueType::List(form) => format!("list: {}", takes(form)),
        ValueType::AnyOf(forms) => forms.iter().map(takes).collect::<Vec<_>>().join("; or "),
        ValueType::Section(_) | ValueType::Tagged(_) => "section".to_owned(),
        ValueType::Sections(_) | ValueType::TaggedList(_) => "sections".to_owned(),
        ValueType::NamedSections(_) => "sections by name".to_owned(),
        ValueType::Overrides => "keys with values".to_owned(),
    }
}

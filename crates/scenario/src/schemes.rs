//! Reads the schemes of a scenario, which are the transports that it compares.

use super::rows::{rows, unique};
use shallop_options::{
    At, HostStack, Item, Key, KeyDoc, Options, Problem, Section, SectionKind, TaggedSections, Unread,
};
use shallop_plan::plan::{Scheme, Transport};
use shallop_plan::transport::{Configured, FlashPassOptions, TAG, TcpOptions};

/// The kinds of a `[[scheme]]`: one for each transport, which its key `transport` chooses.
pub(super) const SCHEMES: TaggedSections = TaggedSections { tag: TAG, kinds: transports };

fn transports() -> Vec<SectionKind> {
    fn of(name: &str) -> Option<SectionKind> {
        Transport::kinds().into_iter().find(|kind| kind.name == name)
    }
    fn keys(name: &str) -> Vec<&'static Key> {
        let own = of(name).map(|kind| kind.keys()).unwrap_or_default();
        [SchemeOptions::keys(), own].concat()
    }
    fn describe(name: &str, stack: HostStack) -> Vec<KeyDoc> {
        let own = of(name).map(|kind| (kind.describe)(name, stack)).unwrap_or_default();
        [SchemeOptions::describe(()), own].concat()
    }
    Transport::kinds().into_iter().map(|kind| SectionKind { keys, describe, ..kind }).collect()
}

/// The keys that every `[[scheme]]` has.
#[derive(Clone, Debug, Options)]
pub(super) struct SchemeOptions {
    /// The label of the scheme in tables and figures.
    #[key(shown = "the transport")]
    pub name: Option<String>,
    /// Keys of switches with their values under this scheme, such as `{ "switch.default.mark.above" = "50pkt" }`.
    #[key(Overrides)]
    pub set: Option<Unread>,
    /// The transport of all flows, except for groups with a transport of their own.
    #[key(Text, required)]
    pub transport: Option<Unread>,
}

/// A scheme as read, with what later steps need: the place of its `wait`, and the unread `set` and `clean`.
pub(super) struct SchemeEntry {
    pub scheme: Scheme,
    pub wait: At,
    pub set: Option<Item>,
    pub clean: Option<Item>,
}

/// Reads every `[[scheme]]`. `key` is the key of the list, `stack` the TCP stack of the scenario.
pub(super) fn read(
    top: &Section<'_>, key: impl Into<&'static Key>, stack: HostStack,
) -> Result<Vec<SchemeEntry>, Problem> {
    let mut schemes: Vec<SchemeEntry> = Vec::new();
    let key = key.into();
    let rows = rows(top, key)?;
    if rows.is_empty() {
        return Err(top.lacks(key).with_help("add a [[scheme]] with a transport, such as \"flashpass\""));
    }
    for (name, item) in rows {
        let section = Section::of_kind(&name, &SCHEMES, item)?;
        let scheme = scheme(&section, stack)?;
        let taken = schemes.iter().map(|other| other.scheme.name.as_str());
        unique(taken, &scheme.name, (&section, SchemeOptions::KEY.name))?;
        let wait = match scheme.transport {
            Transport::FlashPass(_) => section.place(FlashPassOptions::KEY.wait).clone(),
            _ => At::default(),
        };
        let clean = match scheme.transport {
            Transport::Tcp(_) => section.item(TcpOptions::KEY.clean).cloned(),
            _ => None,
        };
        let set = section.item(SchemeOptions::KEY.set).cloned();
        schemes.push(SchemeEntry { scheme, wait, set, clean });
    }
    Ok(schemes)
}

/// Reads the keys of a scheme or of a group's transport. Without `name`, the label is the name of the transport.
fn scheme(section: &Section<'_>, stack: HostStack) -> Result<Scheme, Problem> {
    let options: SchemeOptions = section.read(())?;
    let name = options.name.unwrap_or_else(|| section.kind.to_owned());
    let transport = Transport::read(section.kind, section, stack)?;
    Ok(Scheme { name, transport, switches: None, clean: None })
}

/// Reads the transport of a group that has its own; `of` names the group in errors.
pub(super) fn own(of: &str, item: Option<&Item>, stack: HostStack) -> Result<Option<Scheme>, Problem> {
    let Some(item) = item else { return Ok(None) };
    let section = Section::of_kind(&format!("`transport` in {of}"), &SCHEMES, item)?;
    if section.item(SchemeOptions::KEY.set).is_some() {
        let problem = section.reject(SchemeOptions::KEY.set, "switches are the same for all groups");
        return Err(problem.with_help("a [[scheme]] sets what they are like"));
    }
    let scheme = scheme(&section, stack)?;
    let clean = TcpOptions::KEY.clean;
    if matches!(scheme.transport, Transport::Tcp(_)) && section.item(clean).is_some() {
        return Err(section
            .reject(clean, "a proxy is the same for all groups")
            .with_help("a [[scheme]] has the proxy"));
    }
    Ok(Some(scheme))
}

/// The name of a section in a list: its `name`, or else its `transport`.
pub(super) fn name(row: &Item) -> Option<&str> {
    let name = row.at_key(SchemeOptions::KEY.name);
    name.or_else(|| row.at_key(SchemeOptions::KEY.transport)).and_then(Item::text)
}

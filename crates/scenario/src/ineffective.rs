//! Finds keys without effect: keys that another key replaces, and keys that no part of the run reads. A sweep over such
//! a key is refused. A key that has no effect at any point is named in a note.

use super::switches::SwitchOptions;
use super::{buffers::SharedOptions, check, groups::GroupOptions, root_options::Scenario, schemes::SchemeOptions, set};
use shallop_options::suggest::list;
use shallop_options::{At, Item, Key, Options, Problem};
use shallop_plan::chips::{self, Chip};
use shallop_plan::plan::{Pattern, Plan, QueueMarking, Scheme, Switch, Transport};
use shallop_plan::{kernel::KernelOptions, network::Network};
use shallop_switch::{AqmOptions, MarkAt};
use shallop_topology::NicMode;
use std::collections::{BTreeMap, BTreeSet};

/// The path of a key without effect, and the reason.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ineffective {
    path: String,
    why: &'static str,
}

impl Ineffective {
    /// A `[switch.NAME]` section that no node of the network uses.
    pub fn section(name: &str) -> Self {
        Self { path: format!("{}.{name}", Scenario::KEY.switch.name), why: NO_SWITCH }
    }
}

const NO_SWITCH: &str = "no node of this network is a switch of that section";
const SIZE_WRITTEN: &str = "`buffer` beside it says the size";
const OWN_CHIPS: &str = "each node of that section has a `chip` in the network file, whose memory is used";
const NO_CREDITS: &str = "no transport here has credits or emulation packets";
const NO_ECN: &str = "no transport here sends ECN-capable packets";
const FAIR: &str = "with nic = \"fair\" hosts have no queue of their own; nic = \"fifo\" gives them one";
const NO_KERNELS: &str = "no host here has stack = \"kernel\"";
/// The most points that a note lists by name.
const MOST_NAMES: usize = 3;
const IN_MATRIX: &str = "`matrix` names the hosts of each pair";
const NO_CAPTURE: &str = "`capture` names no links";

/// Keys of a `[switch.NAME]` that have no effect unless a node of the network is such a switch.
const OF_PORTS: [&Key; 15] = {
    let key = SwitchOptions::KEY;
    [
        key.chip, key.buffer, key.shared.key, key.bcc.key, key.mark.key, key.drop.key, key.shaper.key, key.policer.key,
        key.legacy_weight, key.data_weight, key.unscheduled_above, key.unscheduled_drop, key.selective_drop,
        key.accounting, key.emulation,
    ]
};
/// Keys of a `[switch.NAME]` that have no effect without credits or emulation packets.
const OF_CREDITS: [&Key; 9] = {
    let key = SwitchOptions::KEY;
    [
        key.credit_queue, key.credit_burst, key.selective_drop, key.unscheduled_above, key.unscheduled_drop,
        key.accounting, key.emulation, key.legacy_weight, key.data_weight,
    ]
};

/// Finds the keys without effect in a scenario with its plan. `models` are the indices of switch settings that switches
/// with their own chips copy.
pub(super) fn find(root: &Item, plan: &Plan, network: &Network, models: &[usize]) -> Vec<Ineffective> {
    let mut found = Vec::new();
    of_scenario(root, plan, &mut found);
    let switches = root.at_key(Scenario::KEY.switch).and_then(Item::table);
    for (name, entry) in switches.into_iter().flatten() {
        let Some(switch) = plan.switches.iter().find(|switch| switch.name == *name) else {
            continue;
        };
        of_switch((&entry.item, switch), plan, &mut found);
    }
    if plan.switches.len() > 1 {
        let used = check::switches_in_use(network);
        of_models(root, plan, (&used, models), &mut found);
        if !used.contains(&0) && !models.contains(&0) {
            of_default(root, &mut found);
        }
    }
    found
}

/// Adds a key to `found`, if the section has it and `found` does not.
fn add(found: &mut Vec<Ineffective>, (section, path): (&Item, &str), key: &Key, why: &'static str) {
    let path = if path.is_empty() { key.name.to_owned() } else { format!("{path}.{}", key.name) };
    if section.get(key.name).is_some() && !found.iter().any(|other| other.path == path) {
        found.push(Ineffective { path, why });
    }
}

/// Finds keys at the top of a scenario, and in `[kernel]`, that have no effect.
fn of_scenario(root: &Item, plan: &Plan, found: &mut Vec<Ineffective>) {
    let keys = Scenario::KEY;
    if plan.nic == NicMode::Fair {
        add(found, (root, ""), keys.nic_buffer, FAIR);
    }
    if !has_credits(plan) {
        add(found, (root, ""), keys.nic_credit_queue, NO_CREDITS);
    }
    if plan.capture.0.is_empty() {
        add(found, (root, ""), keys.capture_limit, NO_CAPTURE);
    }
    let groups = root.at_key(keys.group.key).map(Item::items).unwrap_or_default();
    for (item, group) in groups.iter().zip(&plan.groups).filter(|it| matches!(it.1.pattern, Pattern::Matrix(_))) {
        for key in [GroupOptions::KEY.from, GroupOptions::KEY.to] {
            add(found, (item, &format!("{}.{}", keys.group.key.name, group.name)), key, IN_MATRIX);
        }
    }
    if let Some(section) = root.at_key(keys.kernel.key).filter(|_| !has_kernels(plan)) {
        for key in KernelOptions::keys() {
            add(found, (section, keys.kernel.key.name), key, NO_KERNELS);
        }
    }
}

fn has_kernels(plan: &Plan) -> bool {
    (0..plan.schemes.len()).any(|scheme| plan.has_kernels(scheme))
}

/// Finds keys of one `[switch.NAME]` without effect: those for credits or ECN that no transport has, and a `chip` whose
/// memory a `buffer` replaces.
fn of_switch((item, switch): (&Item, &Switch), plan: &Plan, found: &mut Vec<Ineffective>) {
    let keys = SwitchOptions::KEY;
    let path = format!("{}.{}", Scenario::KEY.switch.name, switch.name);
    let place = (item, path.as_str());
    let chip = item.at_key(keys.chip).and_then(Item::text).and_then(chips::find);
    let known = chip.and_then(Chip::buffer_per_gbps).is_some();
    if known && item.at_key(keys.buffer).is_some() && item.at_key(keys.shared).is_none() {
        add(found, place, keys.chip, SIZE_WRITTEN);
    }
    if !has_credits(plan) {
        for key in OF_CREDITS {
            add(found, place, key, NO_CREDITS);
        }
    }
    if is_ecn_capable(plan) {
        return;
    }
    let drops = |mark: Option<QueueMarking>| mark.is_some_and(|mark| mark.drops());
    if !drops(switch.mark) {
        add(found, place, keys.mark.key, NO_ECN);
    }
    if switch.bcc.is_none_or(|bcc| bcc.at != MarkAt::Dequeue) {
        add(found, place, keys.bcc.key, NO_ECN);
    }
    let pool = switch.shared.and_then(|shared| shared.mark);
    if let Some(shared) = item.at_key(keys.shared)
        && !drops(pool)
        && pool.is_none_or(|mark| mark.at != MarkAt::Dequeue)
    {
        let path = format!("{path}.{}", keys.shared.key.name);
        add(found, (shared, &path), SharedOptions::KEY.mark.key, NO_ECN);
    }
}

/// Finds memory keys of switches without effect: all nodes of such a switch have their own chips.
fn of_models(root: &Item, plan: &Plan, (used, models): (&BTreeSet<usize>, &[usize]), found: &mut Vec<Ineffective>) {
    let (keys, shared) = (SwitchOptions::KEY, SharedOptions::KEY);
    for &model in models.iter().filter(|model| !used.contains(model)) {
        let name = &plan.switches[model].name;
        let Some(item) = root.at_key(Scenario::KEY.switch).and_then(|item| item.get(name)) else {
            continue;
        };
        let path = format!("{}.{name}", Scenario::KEY.switch.name);
        add(found, (item, &path), keys.buffer, OWN_CHIPS);
        add(found, (item, &path), keys.chip, OWN_CHIPS);
        let Some(item) = item.at_key(keys.shared) else { continue };
        let path = format!("{path}.{}", keys.shared.key.name);
        for key in [shared.size, shared.ports, shared.private] {
            add(found, (item, &path), key, OWN_CHIPS);
        }
    }
}

/// Finds keys of `[switch.default]` without effect, in its section and in the `set` of schemes, if no node has the
/// default settings.
fn of_default(root: &Item, found: &mut Vec<Ineffective>) {
    let path = format!("{}.default", Scenario::KEY.switch.name);
    let only_ports = |name: &str| AqmOptions::keys().into_iter().chain(OF_PORTS).any(|key| key.name == name);
    let section = root.at_key(Scenario::KEY.switch).and_then(|item| item.get("default"));
    let written = section.and_then(Item::table).into_iter().flatten().map(|(key, _)| key.as_str());
    let mut paths: Vec<String> = written.filter(|key| only_ports(key)).map(|key| format!("{path}.{key}")).collect();
    let schemes = root.at_key(Scenario::KEY.scheme).map(Item::items).unwrap_or_default();
    for set in schemes.iter().filter_map(|scheme| scheme.at_key(SchemeOptions::KEY.set)) {
        let changes = set::changes("`set`", set).unwrap_or_default();
        let changes = changes.iter().filter(|change| {
            let third = change.path.get(2).map(String::as_str);
            change.key().starts_with(&format!("{path}.")) && third.is_some_and(only_ports)
        });
        paths.extend(changes.map(set::Change::key));
    }
    for path in paths {
        found.retain(|other| other.path != path);
        found.push(Ineffective { path, why: NO_SWITCH });
    }
}

/// The transport of each group under each scheme.
fn transports(plan: &Plan) -> impl Iterator<Item = &Scheme> {
    let groups = 0..plan.groups.len();
    groups.flat_map(move |group| (0..plan.schemes.len()).map(move |scheme| plan.transport(scheme, group)))
}

fn has_credits(plan: &Plan) -> bool {
    transports(plan).any(|scheme| scheme.transport.credits().is_some())
}

fn is_ecn_capable(plan: &Plan) -> bool {
    plan.schemes.iter().any(|scheme| scheme.clean.is_some())
        || transports(plan).any(|scheme| Transport::is_ecn_capable(&scheme.transport))
}

/// Notes on `[switch.NAME]` sections that no node uses at some of the points.
fn without_nodes(points: &[Vec<Ineffective>], names: &[&str]) -> Vec<String> {
    let mut at: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (found, name) in points.iter().zip(names) {
        let sections = found.iter().filter(|it| it.why == NO_SWITCH && is_section(&it.path));
        for Ineffective { path, .. } in sections {
            at.entry(path).or_default().push(format!("\"{name}\""));
        }
    }
    at.retain(|_, names| names.len() < points.len());
    let note = |(path, names): (&str, Vec<String>)| {
        let places = match &names[..] {
            [one] => format!("at the point {one}"),
            [first, .., last] if names.len() > MOST_NAMES => {
                format!("at {} of {} points, from {first} to {last}", names.len(), points.len())
            }
            _ => format!("at the points {}", list(names.iter().map(String::as_str))),
        };
        format!("[{path}] is for no node of the network {places}")
    };
    at.into_iter().map(note).collect()
}

/// Whether a path names a whole `[switch.NAME]` section rather than a key in it.
fn is_section(path: &str) -> bool {
    path.matches('.').count() == 1
}

/// Notes on the keys that have no effect at any point, and on sections without a node at some of the points, which
/// have these `names`.
///
/// # Errors
/// If one of the keys that are varied is among them.
pub(super) fn judge<'a>(
    points: &[Vec<Ineffective>], names: &[&str], varied: impl Iterator<Item = &'a str>,
) -> Result<Vec<String>, Problem> {
    let Some((first, others)) = points.split_first() else { return Ok(Vec::new()) };
    let everywhere = |key: &&Ineffective| others.iter().all(|point| point.contains(*key));
    let all: Vec<&Ineffective> = first.iter().filter(everywhere).collect();
    for key in varied {
        let path = set::steps(key).unwrap_or_default().join(".");
        let above = |other: &&&Ineffective| {
            path.strip_prefix(&other.path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        if let Some(Ineffective { why, .. }) = all.iter().find(above) {
            let place = At::via(format!("--vary {key}"));
            let problem = place.problem(format!("`{key}` has no effect: {why}"));
            return Err(problem.with_help("all points would be equal: vary another key"));
        }
    }
    let mut by_reason: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for Ineffective { path, why } in all {
        by_reason.entry(why).or_default().push(format!("`{path}`"));
    }
    let note = |(why, paths): (&str, Vec<String>)| {
        let verb = if paths.len() == 1 { "has" } else { "have" };
        format!("{} {verb} no effect: {why}", list(paths.iter().map(String::as_str)))
    };
    Ok(by_reason.into_iter().map(note).chain(without_nodes(points, names)).collect())
}

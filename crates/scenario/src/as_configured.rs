//! `run --as-configured OS`: the changes of a scenario's switches that rounding to a switch operating system makes.
//! Each switch is written as a configuration, read again, and compared.

use crate::configure::{Configured, devices};
use shallop_core::BufferSize;
use shallop_device::{Device, Note, Os, Pool, toml};
use shallop_options::{Problem, suggest::advice};
use shallop_plan::plan::{Plan, Switch};
use shallop_plan::{ResolvedNetwork, chips};
use std::collections::BTreeMap;

/// What is known of a device before its configuration is read: its name, and the memory of its chip.
///
/// # Errors
/// If there is no such chip.
pub fn known(name: &str, chip: Option<&str>) -> Result<Device, Problem> {
    if let Some(id) = chip.filter(|&id| chips::find(id).is_none()) {
        let help = advice(id, chips::all().iter().map(|chip| chip.id));
        return Err(Problem { reason: format!("there is no chip \"{id}\""), help, ..Problem::default() });
    }
    let memory = |it: &'static chips::Chip| {
        let (memory, size) = (it.memory.as_ref()?, it.pool()?);
        let cell = memory.cell.unwrap_or(shallop_core::Bytes::new(1));
        let size = shallop_device::Known::new(size, format!("memory of a {}", it.name));
        Some(Pool { size, ports: it.ports_per_mmu(), cell, mark: None })
    };
    let pool = chip.and_then(chips::find).and_then(memory);
    Ok(Device { name: name.to_owned(), chip: chip.map(str::to_owned), pool, ..Device::default() })
}

/// Keys with their values.
type Changes = Vec<(String, String)>;

/// The keys to set, with their values, so that a plan's switches are as the system has them, and notes.
///
/// # Errors
/// If the system has a setting that no key describes, or rounds ports of one section differently.
pub fn changes(plan: &Plan, seed: u64, os: Os) -> Result<(Changes, Vec<String>), String> {
    let (mut changes, mut notes) = (BTreeMap::new(), Vec::new());
    let network = ResolvedNetwork::new(plan, seed).map_err(|why| why.to_string())?;
    for (number, scheme) in plan.schemes.iter().enumerate() {
        let within = scheme.switches.as_ref().map(|_| format!("scheme.{}.set.", name(&scheme.name)));
        let within = within.unwrap_or_default();
        let run = network.scheme(number).map_err(|why| why.to_string())?;
        for one in devices(&run, os, None) {
            let switch = &plan.switches(number)[one.settings];
            let written = os.write(&one.device);
            let all = one.notes.iter().chain(&written.notes).filter(|note| !matches!(note, Note::Derived { .. }));
            notes.extend(all.map(|note| format!("{}, {}: {note}", one.device.name, scheme.name)));
            let rounded = rounded(&one, &written.text, switch, os)?;
            for (key, value) in rounded.iter().flat_map(|(key, value)| single(key, value)) {
                let old = changes.insert(format!("{within}switch.{}.{key}", name(&switch.name)), value.clone());
                if old.as_ref().is_some_and(|old| *old != value) {
                    return Err(format!(
                        "`{key}` of [switch.{}] differs between its ports: give each kind of port a section",
                        switch.name
                    ));
                }
            }
        }
    }
    Ok((changes.into_iter().collect(), notes))
}

/// A name as a step of a key.
fn name(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    if name.chars().all(is_bare) { name.to_owned() } else { format!("{name:?}") }
}

/// Single keys in place of a section: `mark.above` for `mark = { above = .. }`.
fn single(key: &str, value: &str) -> Vec<(String, String)> {
    let Some(inside) = value.strip_prefix("{ ").and_then(|it| it.strip_suffix(" }")) else {
        return vec![(key.to_owned(), value.to_owned())];
    };
    let parts = inside.split(", ").filter_map(|part| part.split_once(" = "));
    parts.map(|(part, value)| (format!("{key}.{part}"), value.to_owned())).collect()
}

/// The settings of a device that differ once they are written and read.
fn rounded(one: &Configured, text: &str, switch: &Switch, os: Os) -> Result<Vec<(&'static str, String)>, String> {
    let asked = &one.device;
    let pool = asked.pool.clone().map(|pool| Pool { mark: None, ..pool });
    let known = Device { name: asked.name.clone(), chip: asked.chip.clone(), pool, ..Device::default() };
    let mut read = os.read(text, &known).map_err(|why| why.to_string())?.device;
    let own = asked.pool.as_ref().and_then(|pool| pool.mark.as_ref());
    if let Some((read, asked)) = read.pool.as_mut().and_then(|pool| pool.mark.as_mut()).zip(own) {
        // No system has a probability here. The switch has one, of which nothing is known.
        (read.value.probability, read.value.weight) = (asked.probability, asked.weight);
    }
    let mut changes = Vec::new();
    for port in &asked.ports {
        let is_it = |it: &&shallop_device::Port| {
            it.interfaces.iter().any(|it| port.interfaces.iter().any(|own| own.name == it.name))
        };
        let Some(now) = read.ports.iter().find(is_it).map(|it| toml::settings(&read, it)) else {
            return Err(format!("{} has no ports {}", os.name(), port.label));
        };
        let before = toml::settings(asked, port);
        let lost = before.iter().find(|it| it.key != "credit_burst" && !now.iter().any(|new| new.key == it.key));
        if let Some(lost) = lost {
            return Err(format!("`{}` of [switch.{}]: {} has no such setting", lost.key, switch.name, os.name()));
        }
        if switch.aqm.is_some() {
            return Err(format!("`aqm` of [switch.{}]: {} has no such setting", switch.name, os.name()));
        }
        // Parts of a buffer, by weight, are whole cells together with less than a byte of rounding each.
        let has = format!("\"{}\"", switch.buffer);
        let is_new = |it: &toml::Setting| {
            if it.key == "buffer" && it.value == has {
                return false;
            }
            in_packets(switch, it.key) || !before.iter().any(|old| (old.key, &old.value) == (it.key, &it.value))
        };
        let whole = |it: toml::Setting| {
            let old = before.iter().find(|old| old.key == it.key).map_or("", |old| &old.value);
            (it.key, with_defaults(it.value, old))
        };
        changes.extend(now.into_iter().filter(is_new).map(whole));
    }
    Ok(changes)
}

/// A section with the defaults of keys that only its old value has.
fn with_defaults(mut new: String, old: &str) -> String {
    for (key, default) in [("probability", "1"), ("weight", "0"), ("not_ect", "\"keep\"")] {
        let has = |section: &str| section.contains(&format!(", {key} = "));
        if has(old) && !has(&new) {
            new.insert_str(new.len() - " }".len(), &format!(", {key} = {default}"));
        }
    }
    new
}

/// Whether the scenario has this setting as a number of packets, which no switch counts.
fn in_packets(switch: &Switch, key: &str) -> bool {
    let size = match key {
        "mark" => switch.mark.map(|rule| rule.max),
        "drop" => switch.drop.map(|rule| rule.max),
        "buffer" => Some(switch.buffer),
        "unscheduled_above" => Some(switch.unscheduled_above),
        _ => None,
    };
    matches!(size, Some(BufferSize::Packets(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;
    use proptest::prelude::*;
    use shallop_core::Bytes;

    const REST: &str = r#"
title = "t"
duration = "1ms"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts = 2
rate = "10Gbps"
access_rate = "10Gbps"
delay = "1us"
[[group]]
name = "all"
from = "hosts"
to = "hosts"
pattern = "uniform"
flows = 4
size = "1MB"
[[group]]
name = "tcp"
from = "hosts"
to = "hosts"
pattern = "uniform"
flows = 4
size = "1MB"
transport = { transport = "cubic" }
[[scheme]]
transport = "#;

    /// Sections of switches: memory, a rule for marks, one for drops, one for weights.
    fn switch() -> impl Strategy<Value = String> {
        let memory = prop_oneof![
            (1u32..900).prop_map(|it| format!("buffer = \"{it}KB/Gbps\"")),
            (20u32..900).prop_map(|it| format!("buffer = \"{it}pkt\"")),
            (0.01f64..20.0, 0u32..200).prop_map(|(alpha, own)| {
                format!("shared = {{ size = \"9MB\", alpha = {alpha}, private = \"{own}KB\" }}")
            }),
            (0.1f64..20.0).prop_map(|alpha| format!("chip = \"trident3\"\nshared = {{ alpha = {alpha} }}")),
        ];
        let mark = prop_oneof![
            Just(String::new()),
            (2u32..200).prop_map(|it| format!("mark = {{ above = \"{it}pkt\" }}")),
            (1_000u32..90_000, any::<bool>()).prop_map(|(it, drops)| {
                format!("mark = {{ above = \"{it}B\", not_ect = \"{}\" }}", if drops { "drop" } else { "keep" })
            }),
            (1_000u32..90_000, 0.001f64..1.0, 0u32..16).prop_map(|(it, probability, weight)| {
                let max = it * 2;
                format!(
                    "mark = {{ min = \"{it}B\", max = \"{max}B\", probability = {probability}, weight = {weight} }}"
                )
            }),
        ];
        let drop = prop_oneof![Just(""), Just("drop = { min = \"90KB\", max = \"200KB\", probability = 0.015 }")];
        let more = prop_oneof![Just(""), Just("legacy_weight = 2\ncredit_queue = \"16pkt\"")];
        (memory, mark, drop, more).prop_map(|(memory, mark, drop, more)| format!("{memory}\n{mark}\n{drop}\n{more}"))
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

        #[test]
        fn what_is_rounded_once_stays(switch in switch(), scheme in 0usize..4, own in any::<bool>()) {
            let scheme = ["dctcp", "flashpass", "expresspass", "cubic"][scheme];
            let section = if own { "scheme.set.switch.default" } else { "switch.default" };
            let text = format!("{REST}\"{scheme}\"\n[{section}]\n{switch}\n");
            let first = crate::read(&text, &Options::default());
            // `drop` beside a `mark` that drops is refused.
            prop_assert!(first.is_ok() || text.contains("drop = {"), "{:?}", first.err());
            let Ok(first) = first else { return Ok(()) };
            for os in Os::ALL.into_iter().filter(|os| os.is_read()) {
                let (set, notes) = match changes(&first.points[0].plan, 1, os) {
                    Ok(both) => both,
                    Err(why) => {
                        prop_assert!(os != Os::Eos && why.contains("no such setting"), "{}: {why}\n{text}", os.name());
                        continue;
                    }
                };
                prop_assert!(set.is_empty() || !notes.is_empty(), "{set:?} without a note");
                let again = crate::read(&text, &Options { set: set.clone(), ..Options::default() });
                prop_assert!(again.is_ok(), "{:?}\n{set:?}\n{text}", again.err());
                let (mut left, _) = changes(&again.unwrap().points[0].plan, 1, os).unwrap();
                // A buffer divided by weights in percent: each of the two parts is whole cells of 208 B.
                let bytes = |value: &str| value.trim_matches('"').parse::<Bytes>().unwrap().get();
                left.retain(|(key, value)| {
                    let is_divided = text.contains("legacy_weight") && key.ends_with("buffer");
                    let old = set.iter().find(|old| is_divided && old.0 == *key);
                    old.is_none_or(|old| bytes(value).abs_diff(bytes(&old.1)) > 416)
                });
                prop_assert!(left.is_empty(), "{left:?} after {set:?}");
            }
        }
    }
}

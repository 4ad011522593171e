//! What switches are like.

use shallop_core::{BufferSize, Bytes};

use super::buffers;
use super::format::SWITCH;
use super::problem::{Problem, advice};
use super::section::Section;
use super::set;
use super::tree::Item;
use crate::chips::{self, Chip};
use crate::plan::{Accounting, Switch};

/// The buffer of a switch that says nothing of it, as in the papers.
const BUFFER: BufferSize = BufferSize::PerGbps(Bytes::new(20_000));

/// Reads every `[switch.NAME]`. The first is always the default.
pub(super) fn read(item: Option<&Item>) -> Result<Vec<Switch>, Problem> {
    let mut switches = vec![default()];
    let Some(item) = item else { return Ok(switches) };
    let Some(table) = item.table() else {
        let problem = item.problem(format!("[switch] should be sections, found {}", item.found()));
        return Err(problem.with_help("write [switch.default], or another name for \"default\""));
    };
    for (name, entry) in table {
        let switch =
            switch(name, &Section::open(format!("[switch.{name}]"), SWITCH, &entry.item)?)?;
        if name == "default" {
            switches[0] = switch;
        } else {
            switches.push(switch);
        }
    }
    Ok(switches)
}

/// What switches are like with the changes that a scheme makes to the scenario, if it makes any.
pub(super) fn under(root: &Item, set: Option<&Item>) -> Result<Option<Vec<Switch>>, Problem> {
    let Some(set) = set else { return Ok(None) };
    let mut root = root.clone();
    for change in set::changes("`set` of a scheme", set)? {
        if change.path.first().is_none_or(|first| first != "switch") {
            let message = format!("`{}` is the same for all schemes", change.key());
            let problem = change.key.problem(message);
            return Err(problem.with_help("a scheme sets keys of switches: switch.NAME.KEY"));
        }
        set::apply(&mut root, &change)?;
    }
    read(root.get("switch")).map(Some)
}

/// What a switch is like of which nothing is said.
fn default() -> Switch {
    Switch {
        name: "default".into(),
        buffer: BUFFER,
        shared: None,
        pools: Vec::new(),
        bcc: None,
        mark: None,
        credit_queue: BufferSize::Packets(8),
        credit_burst: 2,
        select: Some(BufferSize::Packets(2)),
        unscheduled_above: BufferSize::Packets(2),
        accounting: Accounting::PerLink,
        emulation: true,
        weights: None,
    }
}

fn switch(name: &str, section: &Section<'_>) -> Result<Switch, Problem> {
    let default = default();
    let chip = chip(section)?;
    let buffer = chip.map_or(default.buffer, |chip| BufferSize::PerGbps(chip.buffer_per_gbps()));
    let shared = buffers::shared(section, chip)?;
    Ok(Switch {
        name: name.to_owned(),
        buffer: section.or("buffer", buffer)?,
        bcc: buffers::bcc(section, shared.as_ref())?,
        shared,
        pools: buffers::pools(section)?,
        mark: buffers::mark(section)?,
        credit_queue: section.or("credit_queue", default.credit_queue)?,
        credit_burst: section.or("credit_burst", default.credit_burst)?,
        select: match section.item("select").and_then(Item::text) {
            Some("off") => None,
            _ => section.get("select")?.or(default.select),
        },
        unscheduled_above: section.or("unscheduled_above", default.unscheduled_above)?,
        accounting: match section.or("accounting", "per-link")? {
            "one-way" => Accounting::OneWay,
            "two-way" => Accounting::TwoWay,
            _ => Accounting::PerLink,
        },
        emulation: section.or("emulation", default.emulation)?,
        weights: weights(section)?,
    })
}

/// The chip in it, if it says which.
fn chip(section: &Section<'_>) -> Result<Option<&'static Chip>, Problem> {
    let Some(id) = section.get::<String>("chip")? else { return Ok(None) };
    chips::find(&id).map(Some).ok_or_else(|| {
        let known: Vec<&str> = chips::all().iter().map(|chip| chip.id).collect();
        let problem = section.reject("chip", format!("there is no chip \"{id}\""));
        problem.with_help(advice(&id, known))
    })
}

/// The weights of data and of transports without credits, if these have a queue of their own.
fn weights(section: &Section<'_>) -> Result<Option<(u32, u32)>, Problem> {
    let (data, legacy): (Option<u32>, _) =
        (section.get("data_weight")?, section.get("legacy_weight")?);
    if legacy.is_none() && data.is_some() {
        let problem = section.reject("data_weight", "there is no queue to share with");
        return Err(problem.with_help("write a `legacy_weight` beside it"));
    }
    Ok(legacy.map(|legacy| (data.unwrap_or(1), legacy)))
}

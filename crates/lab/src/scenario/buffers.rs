//! What switches store, and what they mark: memory that ports share, thresholds, BCC.

use shallop_core::{BufferSize, Bytes, Span};
use shallop_switch::MarkAt;

use super::format::{BCC, MARK, SHARED, SHARED_MARK};
use super::problem::Problem;
use super::section::Section;
use super::tree::Item;
use crate::chips::{Chip, Mmu};
use crate::plan::{Bcc, Marking, Shared};

/// The memory that ports share, if they do.
pub(super) fn shared(
    section: &Section<'_>,
    chip: Option<&Chip>,
) -> Result<Option<Shared>, Problem> {
    let Some(item) = section.item("shared") else { return Ok(None) };
    if section.item("buffer").is_some() {
        let problem = section.reject("buffer", "ports share their memory, and have none each");
        return Err(problem.with_help("either `buffer` or `shared`"));
    }
    let memory = match chip {
        None => None,
        Some(chip) => Some(chip.memory.as_ref().ok_or_else(|| {
            let problem = section.reject("chip", "it is not known how its memory is shared");
            problem.with_help("leave out `chip`, and give `shared` a `size`")
        })?),
    };
    let shared = Section::open(format!("`shared` in {}", section.name), SHARED, item)?;
    let Some(size) = shared.get("size")?.or(chip.and_then(Chip::pool)) else {
        let problem = shared.lacks("size");
        let help = format!("{}; or name a `chip` that has it", problem.help);
        return Err(problem.with_help(help));
    };
    let alpha = shared.or("alpha", 1.0)?;
    let private = memory.map_or(Bytes::ZERO, |memory| memory.private);
    let read = Shared {
        size,
        ports: shared.get("ports")?.or(chip.and_then(Chip::ports_per_mmu)),
        alpha,
        legacy_alpha: shared.or("legacy_alpha", alpha)?,
        private: shared.or("private", private)?,
        cell: cell(&shared, memory)?,
        mark: match shared.item("mark") {
            None => None,
            Some(item) => {
                let name = format!("`mark` of {}", shared.name);
                let mark = Section::open(name, SHARED_MARK, item)?;
                let size = |key: &str| Ok(mark.get(key)?.map(BufferSize::Bytes));
                Some(marking(&mark, &size, 0)?)
            }
        },
    };
    if section.item("legacy_weight").is_none() && shared.item("legacy_alpha").is_some() {
        let problem = shared.reject("legacy_alpha", "there is no such queue");
        return Err(problem.with_help("write a `legacy_weight` in the section of the switch"));
    }
    Ok(Some(read))
}

/// The size of a cell.
fn cell(shared: &Section<'_>, memory: Option<&Mmu>) -> Result<Bytes, Problem> {
    if shared.item("cell").and_then(Item::text) != Some("chip") {
        return shared.or("cell", Bytes::new(1));
    }
    memory.and_then(|memory| memory.cell).ok_or_else(|| {
        let problem = shared.reject("cell", "no chip with known cells is named");
        problem.with_help("write the size of a cell, such as \"208B\"")
    })
}

/// The ports of pools that are named.
pub(super) fn pools(section: &Section<'_>) -> Result<Vec<Vec<String>>, Problem> {
    let Some(item) = section.item("shared") else { return Ok(Vec::new()) };
    let shared = Section::open(format!("`shared` in {}", section.name), SHARED, item)?;
    shared.or("pools", Vec::new())
}

/// How the data queue marks, if it does.
pub(super) fn mark(section: &Section<'_>) -> Result<Option<Marking>, Problem> {
    let Some(item) = section.item("mark") else { return Ok(None) };
    let mark = Section::open(format!("`mark` in {}", section.name), MARK, item)?;
    let size = |key: &str| mark.get(key);
    marking(&mark, &size, mark.or("weight", 0)?).map(Some)
}

fn marking(
    mark: &Section<'_>,
    size: &impl Fn(&str) -> Result<Option<BufferSize>, Problem>,
    weight: u32,
) -> Result<Marking, Problem> {
    let at = at(mark)?;
    let drops = mark.or("not_ect", "keep")? == "drop";
    if drops && at == MarkAt::Dequeue {
        let problem = mark.reject("not_ect", "only what arrives is dropped");
        return Err(problem.with_help("\"keep\", or at = \"enqueue\""));
    }
    let (above, min, max) = (size("above")?, size("min")?, size("max")?);
    let (min, max) = match (above, min, max) {
        (Some(above), None, None) => (above, above),
        (Some(_), ..) => {
            let problem = mark.reject("above", "it is both `min` and `max`");
            return Err(problem.with_help("either `above` or the two"));
        }
        (None, Some(min), Some(max)) => (min, max),
        (None, None, None) => {
            let problem = mark.lacks("above");
            let help = format!("{}; or write `min` and `max`", problem.help);
            return Err(problem.with_help(help));
        }
        (None, Some(_), None) => return Err(mark.lacks("max")),
        (None, None, Some(_)) => return Err(mark.lacks("min")),
    };
    ordered(mark, min, max)?;
    if above.is_some() && mark.item("probability").is_some() {
        let problem = mark.reject("probability", "above a step everything is marked");
        return Err(problem.with_help("write `min` and `max` in place of `above`"));
    }
    Ok(Marking { min, max, most: mark.or("probability", 1.0)?, weight, at, drops })
}

/// When packets are looked at.
fn at(section: &Section<'_>) -> Result<MarkAt, Problem> {
    Ok(match section.or("at", "enqueue")? {
        "dequeue" => MarkAt::Dequeue,
        _ => MarkAt::Enqueue,
    })
}

/// That two thresholds can be compared, and are in order.
fn ordered(mark: &Section<'_>, min: BufferSize, max: BufferSize) -> Result<(), Problem> {
    let order = match (min, max) {
        (BufferSize::Packets(min), BufferSize::Packets(max)) => min <= max,
        (BufferSize::Bytes(min), BufferSize::Bytes(max))
        | (BufferSize::PerGbps(min), BufferSize::PerGbps(max)) => min <= max,
        _ => {
            let problem = mark.reject("max", format!("{max} and {min} are not of one kind"));
            return Err(problem.with_help("both in packets, both in bytes, or both per Gb/s"));
        }
    };
    if order {
        return Ok(());
    }
    let problem = mark.reject("min", format!("{min} is above `max`, which is {max}"));
    Err(problem.with_help("`min` must not be above `max`"))
}

/// What BCC is told, if it is on.
pub(super) fn bcc(section: &Section<'_>, shared: Option<&Shared>) -> Result<Option<Bcc>, Problem> {
    let Some(item) = section.item("bcc") else { return Ok(None) };
    let Some(shared) = shared else {
        let problem = section.reject("bcc", "its ports share no memory");
        return Err(problem.with_help("write `shared`, with a `size` or a `chip` beside it"));
    };
    if shared.mark.is_some() {
        let problem = section.reject("bcc", "`shared` has a `mark` as well");
        return Err(problem.with_help("one of the two says when pools mark"));
    }
    let bcc = Section::open(format!("`bcc` in {}", section.name), BCC, item)?;
    Ok(Some(Bcc {
        rtt: bcc.must("rtt")?,
        lambda: bcc.must("lambda")?,
        h: bcc.or("h", Span::from_us(8))?,
        most: bcc.or("probability", 0.1)?,
        at: at(&bcc)?,
        required: bcc.get("required")?,
        min: bcc.get("min")?,
        max: bcc.get("max")?,
    }))
}

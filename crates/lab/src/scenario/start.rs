//! How flows with credits start and what they know of their end: the options of Aeolus, and the demand that is known.

use shallop_core::Bytes;

use super::options::{BURST, BURST_UNTIL};
use super::problem::Problem;
use super::section::Section;
use crate::plan::{Aeolus, BurstUntil};

/// How data is sent before any credit, if it is.
pub(super) fn aeolus(section: &Section<'_>) -> Result<Option<Aeolus>, Problem> {
    let named = section.kind.ends_with("-aeolus");
    // Credits of ExpressPass count as soon as they come.
    let until = if section.kind.starts_with("flashpass") { BURST_UNTIL } else { &[] };
    if !named && !section.or("aeolus", false)? {
        let vain = BURST.iter().chain(until).find(|key| section.item(key.name).is_some());
        let Some(key) = vain else { return Ok(None) };
        let problem = section.reject(key.name, "nothing is sent before the first credit");
        return Err(problem.with_help("it goes with aeolus = true"));
    }
    let on = match until.first() {
        Some(key) => section.or(key.name, "first-credit")? == "wait",
        None => false,
    };
    let until = if on { BurstUntil::FirstData } else { BurstUntil::FirstResponse };
    Ok(Some(Aeolus { burst: section.get("burst")?, until }))
}

/// The send buffer, if no more of the demand is known.
pub(super) fn send_buffer(section: &Section<'_>) -> Result<Option<Bytes>, Problem> {
    let by_buffer = section.or("demand", "known")? == "buffer";
    let buffer: Option<Bytes> = section.get("send_buffer")?;
    match (by_buffer, buffer) {
        (true, None) => {
            let problem = section.reject("demand", "the size of the send buffer is not said");
            Err(problem.with_help("add send_buffer = \"1MB\", or another size"))
        }
        (false, Some(_)) => {
            let problem = section.reject("send_buffer", "all of the demand is known");
            Err(problem.with_help("it goes with demand = \"buffer\""))
        }
        _ => Ok(buffer),
    }
}

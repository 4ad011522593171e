//! The TCP of a scheme: a stack, with what differs from it.

use shallop_control::any;
use shallop_control::options::{self, Kind, Marking, Refused};
use shallop_core::form::find;
use shallop_proto::rtt;
use shallop_proto::tcp::{Capable, Config, Detection, Marks, Silence, Stack};

use super::problem::Problem;
use super::section::Section;
use super::tree::Item;
use crate::plan::Transport;

/// The stack of this name.
pub(super) fn stack(name: &str) -> Stack {
    match name {
        "ns2" => Stack::NS2,
        "ns3" => Stack::NS3,
        _ => Stack::LINUX,
    }
}

/// Reads the options of a TCP with a controller of this kind; `default` is the stack of the scenario.
pub(super) fn read(
    section: &Section<'_>,
    (kind, controller): (&Kind, options::Read<any::Config>),
    default: &str,
) -> Result<Transport, Problem> {
    let stack = match section.get::<&str>("stack")? {
        Some(name) => stack(name),
        None => stack(default),
    };
    let mut config = config(section, stack.tcp, kind.marking)?;
    let options = section.options(stack.host, kind.keys)?;
    if find(kind.keys, "initial_threshold").is_some() {
        config.initial_threshold = options.or("initial_threshold", config.initial_threshold);
    }
    let controller = controller(&options)
        .map_err(|Refused { key, message, help }| section.reject(key, message).with_help(help))?;
    Ok(Transport::Tcp { config, controller })
}

fn config(section: &Section<'_>, stack: Config, asked: Marking) -> Result<Config, Problem> {
    let mut config = Config {
        initial_window: section.or("initial_window", stack.initial_window)?,
        handshake: section.or("handshake", stack.handshake)?,
        slow_start_after_idle: silence(section)?.unwrap_or(stack.slow_start_after_idle),
        buffer: section.or("receive_buffer", stack.buffer)?,
        ..stack
    };
    config.timeout.initial = section.or("rto_initial", stack.timeout.initial)?;
    config.timeout.min = section.or("rto_min", stack.timeout.min)?;
    config.timeout.max = section.or("rto_max", stack.timeout.max)?;
    if config.timeout.min > config.timeout.max {
        let rtt::Config { min, max, .. } = config.timeout;
        let key = if section.item("rto_min").is_some() { "rto_min" } else { "rto_max" };
        let message = format!("the least timeout, {min}, is above the largest, {max}");
        return Err(section.reject(key, message));
    }
    match section.get("rto_floor")? {
        Some("timeout") => config.timeout.floor = rtt::Floor::Timeout,
        Some(_) => config.timeout.floor = rtt::Floor::Deviation,
        None => {}
    }
    match section.get("detection")? {
        Some("duplicate-acks") => config.detection = Detection::DuplicateAcks,
        Some("sack") => config.detection = Detection::Sack,
        Some(_) => config.detection = Detection::Rack,
        None => {}
    }
    config.acks.every = section.or("ack_every", stack.acks.every)?;
    config.acks.timeout = section.or("ack_delay", stack.acks.timeout)?;
    config.acks.quick = section.or("ack_quick", stack.acks.quick)?;
    config.marks = marks(section, Marks::of(asked, stack.marks))?;
    if config.marks.capable == Capable::Nothing && section.item("ecn_gradual").is_some() {
        let help = "write ecn = \"classic\" or \"exact\" beside it";
        return Err(section.reject("ecn_gradual", "ECN is off").with_help(help));
    }
    Ok(config)
}

/// The silence after which the first window comes again, if it is said.
fn silence(section: &Section<'_>) -> Result<Option<Silence>, Problem> {
    const KEY: &str = "slow_start_after_idle";
    if section.item(KEY).and_then(Item::text) == Some("estimate") {
        return Ok(Some(Silence::Estimate));
    }
    let told = section.get(KEY)?;
    Ok(told.map(|told: bool| if told { Silence::Timeout } else { Silence::Never }))
}

fn marks(section: &Section<'_>, default: Marks) -> Result<Marks, Problem> {
    let marks = match section.get("ecn")? {
        Some("classic") => Marks::CLASSIC,
        Some("exact") => Marks::EXACT,
        Some(_) => Marks::OFF,
        None => default,
    };
    Ok(Marks { gradual: section.or("ecn_gradual", default.gradual)?, ..marks })
}

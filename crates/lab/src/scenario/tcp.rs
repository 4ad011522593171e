//! The TCP of a scheme: a stack, with what differs from it.

use shallop_control::{Basis, any, cubic, gemini, hystart, reno};
use shallop_proto::rtt;
use shallop_proto::tcp::{Capable, Config, Detection, Marks, Stack};

use super::problem::Problem;
use super::section::Section;
use crate::plan::Transport;

/// The stack of this name.
pub(super) fn stack(name: &str) -> Stack {
    match name {
        "ns2" => Stack::NS2,
        "ns3" => Stack::NS3,
        _ => Stack::LINUX,
    }
}

/// Reads the options of a TCP; `default` is the stack of the scenario.
pub(super) fn read(section: &Section<'_>, default: &str) -> Result<Transport, Problem> {
    let stack = match section.get::<&str>("stack")? {
        Some(name) => stack(name),
        None => stack(default),
    };
    let controller = match section.must::<&str>("transport")? {
        "cubic" => any::Config::Cubic(cubic(section, stack.cubic)?),
        "gemini" => any::Config::Gemini(gemini(section, stack.reno)?),
        _ => any::Config::Reno(reno(section, stack.reno)?),
    };
    Ok(Transport::Tcp { config: config(section, stack.tcp)?, controller })
}

fn config(section: &Section<'_>, stack: Config) -> Result<Config, Problem> {
    let mut config = Config {
        initial_window: section.or("initial_window", stack.initial_window)?,
        initial_threshold: section.or("initial_threshold", stack.initial_threshold)?,
        handshake: section.or("handshake", stack.handshake)?,
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
    let marks = match section.or("ecn", default_ecn(section)?)? {
        "classic" => Marks::CLASSIC,
        "exact" => Marks::EXACT,
        _ => Marks::OFF,
    };
    let gradual = section.or("ecn_gradual", stack.marks.gradual)?;
    config.marks = Marks { gradual, ..marks };
    if config.marks.capable == Capable::Nothing && section.item("ecn_gradual").is_some() {
        let help = "write ecn = \"classic\" or \"exact\" beside it";
        return Err(section.reject("ecn_gradual", "ECN is off").with_help(help));
    }
    Ok(config)
}

/// What a transport makes of marks where the scenario says nothing of them.
fn default_ecn(section: &Section<'_>) -> Result<&'static str, Problem> {
    Ok(match section.must::<&str>("transport")? {
        "gemini" => "exact",
        _ => "off",
    })
}

/// The part of the window that is kept, where the scenario says what is given up.
fn kept(section: &Section<'_>, default: f64) -> Result<f64, Problem> {
    Ok(section.get::<f64>("decrease")?.map_or(default, |given_up| 1.0 - given_up))
}

fn basis(section: &Section<'_>, default: Basis) -> Result<Basis, Problem> {
    Ok(match section.get("basis")? {
        Some("flight") => Basis::Flight,
        Some(_) => Basis::Window,
        None => default,
    })
}

fn reno(section: &Section<'_>, stack: reno::Config) -> Result<reno::Config, Problem> {
    Ok(reno::Config {
        decrease: kept(section, stack.decrease)?,
        basis: basis(section, stack.basis)?,
        slow_start: slow_start(section, stack.slow_start)?,
        pacing: section.or("pacing", stack.pacing)?,
    })
}

/// Slow start and losses are those of the stack's Reno.
fn gemini(section: &Section<'_>, stack: reno::Config) -> Result<gemini::Config, Problem> {
    let thesis = gemini::Config::THESIS;
    let gain = section.or("alpha_gain", 1.0 / f64::from(1 << thesis.gain_shift))?;
    let Some(gain_shift) =
        (0..=10).find(|&shift| (f64::from(1 << shift) * gain - 1.0).abs() < 1e-9)
    else {
        let problem = section.reject("alpha_gain", format!("{gain} is no power of a half"));
        return Err(problem.with_help("write 0.5, 0.25, 0.125, 0.0625 and so on"));
    };
    let decrease = section.or("decrease", thesis.decrease)?;
    if decrease > 0.5 {
        let problem = section.reject("decrease", format!("{decrease} is more than half"));
        return Err(problem.with_help("Gemini gives up half of its window at most"));
    }
    Ok(gemini::Config {
        capacity: section.get("capacity")?,
        mark: section.or("k", thesis.mark)?,
        delay_threshold: section.or("delay_threshold", thesis.delay_threshold)?,
        decrease,
        increase: section.or("increase", thesis.increase)?,
        gain_shift,
        rtt_noise: section.or("rtt_noise", thesis.rtt_noise)?,
        dcn: section.or("dcn", thesis.dcn)?,
        wan: section.or("wan", thesis.wan)?,
        recount: section.or("recount", thesis.recount)?,
        basis: basis(section, stack.basis)?,
        slow_start: slow_start(section, stack.slow_start)?,
    })
}

fn cubic(section: &Section<'_>, stack: cubic::Config) -> Result<cubic::Config, Problem> {
    Ok(cubic::Config {
        decrease: kept(section, stack.decrease)?,
        scale: section.or("scale", stack.scale)?,
        fast_convergence: section.or("fast_convergence", stack.fast_convergence)?,
        reno_friendly: section.or("reno_friendly", stack.reno_friendly)?,
        basis: basis(section, stack.basis)?,
        form: match section.get("form")? {
            Some("rfc") => cubic::Form::Rfc,
            Some(_) => cubic::Form::Linux,
            None => stack.form,
        },
        slow_start: slow_start(section, stack.slow_start)?,
        pacing: section.or("pacing", stack.pacing)?,
    })
}

fn slow_start(section: &Section<'_>, stack: hystart::Config) -> Result<hystart::Config, Problem> {
    let classic = match stack.exit {
        hystart::Exit::Classic(classic) => classic,
        _ => hystart::Classic::LINUX,
    };
    let mut exit = match section.get("hystart")? {
        Some("off") => hystart::Exit::Loss,
        Some("classic") => hystart::Exit::Classic(classic),
        Some(_) => hystart::Exit::PlusPlus,
        None => stack.exit,
    };
    if let hystart::Exit::Classic(classic) = &mut exit {
        classic.low_window = section.or("hystart_low_window", classic.low_window)?;
        classic.delay_max = section.or("hystart_delay_max", classic.delay_max)?;
    } else {
        let vain = ["hystart_low_window", "hystart_delay_max"];
        if let Some(key) = vain.into_iter().find(|key| section.item(key).is_some()) {
            let problem = section.reject(key, "only classic HyStart has it");
            return Err(problem.with_help("write hystart = \"classic\" beside it"));
        }
    }
    Ok(hystart::Config { limit: section.or("slow_start_limit", stack.limit)?, exit })
}

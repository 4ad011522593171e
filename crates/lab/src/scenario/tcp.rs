//! The TCP of a scheme: a stack, with what differs from it.

use shallop_control::ewma::Marked;
use shallop_control::{Basis, any, bbr, copa, cubic, dctcp, gemini, hystart, reno, vegas};

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
    let mut config = config(section, stack.tcp)?;
    let controller = match section.must::<&str>("transport")? {
        "bbr" => any::Config::Bbr(bbr(section)?),
        "copa" => any::Config::Copa(copa(section)?),
        loss => {
            config.initial_threshold = section.or("initial_threshold", config.initial_threshold)?;
            match loss {
                "cubic" => any::Config::Cubic(cubic(section, stack.cubic)?),
                "vegas" => any::Config::Vegas(vegas(section, stack.vegas)?),
                "dctcp" => any::Config::Dctcp(dctcp(section, stack.dctcp)?),
                "gemini" => any::Config::Gemini(gemini(section, stack.reno)?),
                // ECN* is NewReno that answers marks.
                _ => {
                    let pacing = section.or("pacing", stack.reno.pacing)?;
                    any::Config::Reno(reno(section, reno::Config { pacing, ..stack.reno })?)
                }
            }
        }
    };
    Ok(Transport::Tcp { config, controller })
}

fn config(section: &Section<'_>, stack: Config) -> Result<Config, Problem> {
    let mut config = Config {
        initial_window: section.or("initial_window", stack.initial_window)?,
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
    config.marks = marks(section, stack.marks)?;
    if config.marks.capable == Capable::Nothing && section.item("ecn_gradual").is_some() {
        let help = "write ecn = \"classic\" or \"exact\" beside it";
        return Err(section.reject("ecn_gradual", "ECN is off").with_help(help));
    }
    Ok(config)
}

fn marks(section: &Section<'_>, stack: Marks) -> Result<Marks, Problem> {
    let default = match section.must::<&str>("transport")? {
        "dctcp" | "gemini" => Marks::EXACT,
        "ecn-star" => Marks::CLASSIC,
        _ => Marks { gradual: stack.gradual, ..Marks::OFF },
    };
    let marks = match section.get("ecn")? {
        Some("classic") => Marks::CLASSIC,
        Some("exact") => Marks::EXACT,
        Some(_) => Marks::OFF,
        None => default,
    };
    Ok(Marks { gradual: section.or("ecn_gradual", default.gradual)?, ..marks })
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
        pacing: stack.pacing,
    })
}

/// Slow start and losses are those of the stack's Reno.
fn gemini(section: &Section<'_>, stack: reno::Config) -> Result<gemini::Config, Problem> {
    let thesis = gemini::Config::THESIS;
    let gain = section.or("alpha_gain", 1.0 / f64::from(1 << thesis.gain_shift))?;
    let Some(gain_shift) = shift(gain) else {
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

fn vegas(section: &Section<'_>, stack: vegas::Config) -> Result<vegas::Config, Problem> {
    let config = vegas::Config {
        reno: reno(section, stack.reno)?,
        alpha: section.or("alpha", stack.alpha)?,
        beta: section.or("beta", stack.beta)?,
        gamma: section.or("gamma", stack.gamma)?,
        clock: match section.get("clock")? {
            Some("exact") => vegas::Clock::Exact,
            Some(_) => vegas::Clock::Microseconds,
            None => stack.clock,
        },
    };
    let vegas::Config { alpha, beta, .. } = config;
    if alpha > beta {
        let key = if section.item("alpha").is_some() { "alpha" } else { "beta" };
        let message = format!("it grows below {alpha} packets and shrinks above {beta}");
        return Err(section.reject(key, message).with_help("alpha must not be above beta"));
    }
    Ok(config)
}

fn dctcp(section: &Section<'_>, stack: dctcp::Config) -> Result<dctcp::Config, Problem> {
    let shift = match section.get::<f64>("gain")? {
        Some(gain) => shift(gain).ok_or_else(|| {
            let help = "0.0625 is 1/16; down to 1/1024, since alpha is counted in units of that";
            section.reject("gain", format!("{gain} is not a power of two")).with_help(help)
        })?,
        None => stack.shift,
    };
    let alpha = match section.get::<f64>("alpha_initial")? {
        Some(alpha) => (alpha * f64::from(Marked::ONE)).round() as u32,
        None => stack.alpha,
    };
    Ok(dctcp::Config { reno: reno(section, stack.reno)?, shift, alpha })
}

/// The power of one half that this is, if it is one that alpha can be smoothed by.
fn shift(gain: f64) -> Option<u32> {
    (0..=Marked::BITS).find(|&shift| (gain * f64::from(1u32 << shift) - 1.0).abs() < 1e-9)
}

fn bbr(section: &Section<'_>) -> Result<bbr::Config, Problem> {
    let linux = bbr::Config::LINUX;
    Ok(bbr::Config {
        window_gain: section.or("window_gain", linux.window_gain)?,
        probe_rtt_every: section.or("probe_rtt_every", linux.probe_rtt_every)?,
        probe_rtt_for: section.or("probe_rtt_for", linux.probe_rtt_for)?,
        send_quantum: section.or("send_quantum", linux.send_quantum)?,
        policer: section.or("policer", linux.policer)?,
    })
}

fn copa(section: &Section<'_>) -> Result<copa::Config, Problem> {
    let mode = match section.or("mode", "auto")? {
        "default" => copa::Mode::Default,
        "competitive" => copa::Mode::Competitive,
        _ => copa::Mode::Auto,
    };
    Ok(copa::Config { delta: section.or("delta", copa::Config::PAPER.delta)?, mode })
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

//! Congestion controllers in the kernel of this machine: what is set of them, in the words of scenarios, and what is
//! loaded.

mod loaded;
mod told;

use std::path::Path;

pub use loaded::{Loaded, Pinned, ready};
pub use shallop_bpf::controller::Settings;
pub use shallop_bpf::machine::skips_programs;
pub use shallop_bpf::{BpfError, Law, Prefix, Program};
use shallop_control::any::Config;
use shallop_control::gemini::{self, Integers};
use shallop_core::BitsPerSec;
use shallop_plan::transport::{Protocol as _, Transport};
use shallop_scenario::Options;
pub use told::{Told, Watched};

use super::diagnostic::{Result, missing, plain, with_help};

/// The name of the scheme in the text that is read.
const SCHEME: &str = "set";
/// What the command calls some keys of scenarios.
const ALIASES: [(&str, &str); 2] = [("mark", "k"), ("delay", "delay_threshold")];
/// Why a transport is no program.
const NO_PROGRAM: &str = "there are programs of gemini, dctcp, ecn-star and vegas alone";

/// The diagnostic of what cannot be loaded or used.
pub(crate) fn of_bpf(why: &BpfError) -> super::diagnostic::Report {
    match why {
        BpfError::Name(_) | BpfError::File { .. } => plain(why),
        why => missing(why),
    }
}

/// The program of this name.
///
/// # Errors
/// Which there are, if there is none.
pub fn program(name: &str) -> std::result::Result<Program, String> {
    let known = Program::ALL.map(Program::name);
    let found = Program::ALL.into_iter().find(|of| of.name() == name);
    found.ok_or_else(|| format!("expected one of {}", known.join(", ")))
}

/// A scenario that has nothing but a scheme with this transport.
fn text(program: Program) -> String {
    format!(
        "title = \"settings\"\nduration = \"1s\"\n\
         topology = {{ kind = \"dumbbell\", senders = 1, rate = \"1Gbps\", delay = \"1ms\" }}\n\
         group = [{{ name = \"all\" }}]\n\
         scheme = [{{ name = \"{SCHEME}\", transport = \"{}\" }}]\n",
        program.name()
    )
}

/// The law of a program with these options, as the transport of a scenario has them: pairs of a key and its value.
///
/// # Errors
/// If there is no such option, it is out of bounds, or `capacity` is not set of Gemini.
pub fn law(program: Program, set: &[(String, String)]) -> Result<Law> {
    let fixed = match program {
        Program::Gemini => None,
        Program::Dctcp => Some(Law::Dctcp),
        Program::EcnStar => Some(Law::EcnStar),
        Program::Vegas => Some(Law::Vegas),
    };
    if let Some(law) = fixed {
        return match set.first() {
            None => Ok(law),
            Some((key, _)) => {
                Err(plain(&format!("{key}: nothing can be set of {}", program.name())))
            }
        };
    }
    let known = gemini_keys();
    let key_of = |key: &str| {
        ALIASES.iter().find(|(of, _)| *of == key).map_or(key, |(_, key)| key).to_owned()
    };
    let set: Vec<(String, String)> =
        set.iter().map(|(key, value)| (key_of(key), value.clone())).collect();
    if let Some((key, _)) = set.iter().find(|(key, _)| !known.contains(&key.as_str())) {
        let help = format!("what can be set: {}", known.join(", "));
        return Err(with_help(&format!("gemini has no \"{key}\""), &help));
    }
    let set = set.iter().map(|(key, value)| (format!("scheme.{SCHEME}.{key}"), value.clone()));
    let text = text(program);
    let options = Options { set: set.collect(), ..Options::default() };
    let study = shallop_scenario::read(&text, &options)
        .map_err(|problem| super::diagnostic::in_text("settings", &text, problem))?;
    let plan = study.points.first().map(|point| &point.plan);
    let scheme = plan.and_then(|plan| plan.schemes.first());
    scheme.map_or_else(|| Err(plain(&"no settings")), |of| of_transport(&of.transport))
}

/// The options of Gemini that a kernel has.
fn gemini_keys() -> [&'static str; 9] {
    let key = gemini::Config::KEY;
    [
        key.capacity.name,
        key.k.name,
        key.delay_threshold.name,
        key.decrease.name,
        key.increase.name,
        key.alpha_gain.name,
        key.dcn.name,
        key.wan.name,
        key.recount.name,
    ]
}

/// The law of a transport of a scenario.
///
/// # Errors
/// If there is no program of it, or Gemini has no `capacity`.
pub fn of_transport(transport: &Transport) -> Result<Law> {
    let Transport::Tcp(tcp) = transport else { return Err(plain(&NO_PROGRAM)) };
    match (&tcp.controller, program_of(transport)) {
        (Config::Gemini(config), _) if config.capacity.is_none() => {
            let help = "--capacity 10Gbps, or `capacity` in the scheme";
            Err(with_help(&"the rate of the network is not said", &help))
        }
        (Config::Gemini(config), _) => Ok(Law::Gemini(config.integers(BitsPerSec::gbps(1)))),
        (_, Some(Program::Dctcp)) => Ok(Law::Dctcp),
        (_, Some(Program::EcnStar)) => Ok(Law::EcnStar),
        (_, Some(Program::Vegas)) => Ok(Law::Vegas),
        _ => Err(plain(&NO_PROGRAM)),
    }
}

/// The program of a transport, if there is one.
fn program_of(transport: &Transport) -> Option<Program> {
    let Transport::Tcp(tcp) = transport else { return None };
    match &tcp.controller {
        Config::Gemini(_) => Some(Program::Gemini),
        Config::Dctcp(_) => Some(Program::Dctcp),
        Config::Vegas(_) => Some(Program::Vegas),
        Config::Reno(_) if tcp.is_ecn_capable() => Some(Program::EcnStar),
        _ => None,
    }
}

/// The law of the only scheme of a scenario with this program, or of the one with this name.
///
/// # Errors
/// If there is none, or several.
pub fn of_scenario(
    scenario: &Path,
    options: &Options,
    (program, scheme): (Program, Option<&str>),
) -> Result<Law> {
    let study = super::work::read(scenario, options)?;
    let schemes = study.points.first().map(|point| &point.plan.schemes[..]).unwrap_or_default();
    let fits = |of: &&shallop_plan::plan::Scheme| {
        program_of(&of.transport) == Some(program) && scheme.is_none_or(|name| of.name == name)
    };
    let found: Vec<_> = schemes.iter().filter(fits).collect();
    if let [one] = found[..] {
        return of_transport(&one.transport);
    }
    let names: Vec<&str> = schemes.iter().map(|of| of.name.as_str()).collect();
    let help = format!("--scheme with one of {}", names.join(", "));
    let what = format!("{} schemes of the scenario are {}", found.len(), program.name());
    Err(with_help(&what, &help))
}

/// What destinations without a prefix have if this is for those with one: its capacity, and otherwise the defaults.
fn base_of(law: &Law) -> Result<Law> {
    match law {
        Law::Gemini(set) => {
            let capacity = ("capacity".to_owned(), format!("{}Kbps", set.capacity_kbps));
            self::law(Program::Gemini, &[capacity])
        }
        Law::Dctcp | Law::EcnStar | Law::Vegas => {
            Err(plain(&"only gemini has settings for some destinations"))
        }
    }
}

/// The options of what is set, as a scenario writes them.
#[must_use]
pub fn written(set: &Integers) -> Vec<(String, String)> {
    let values = [
        with_unit(set.capacity_kbps, &[("Gbps", 1_000_000), ("Mbps", 1_000), ("Kbps", 1)]),
        with_unit(set.mark_bytes, &[("MB", 1_000_000), ("KB", 1_000), ("B", 1)]),
        with_unit(set.threshold_ns, &[("ms", 1_000_000), ("us", 1_000), ("ns", 1)]),
        fixed(set.decrease, gemini::law::REDUCTION_BITS),
        fixed(set.increase, gemini::law::H_BITS),
        format!("{}", 1.0 / (1_u64 << set.alpha_shift) as f64),
        set.dcn.to_string(),
        set.wan.to_string(),
        set.recount.to_string(),
    ];
    gemini_keys().map(str::to_owned).into_iter().zip(values).collect()
}

/// A number in the largest of these units, the largest first, in which it is whole.
pub(crate) fn with_unit(value: u64, units: &[(&str, u64)]) -> String {
    let whole = units.iter().find(|(_, of)| value > 0 && value.is_multiple_of(*of));
    let (unit, of) = whole.or(units.last()).copied().unwrap_or(("", 1));
    format!("{}{unit}", value / of)
}

/// A number in 2^-`bits`, as the shortest decimal fraction that is the same there.
fn fixed(value: u64, bits: u32) -> String {
    let one = (1_u64 << bits) as f64;
    let text = |digits: usize| format!("{:.digits$}", value as f64 / one);
    let is_same = |text: &String| {
        text.parse::<f64>().is_ok_and(|parsed| (parsed * one).round() as u64 == value)
    };
    (1..20).map(text).find(is_same).unwrap_or_else(|| text(20))
}

/// What is set, with some of it changed.
///
/// # Errors
/// As [`law`].
pub fn changed(set: &Integers, changes: &[(String, String)]) -> Result<Integers> {
    let mut all = written(set);
    for (key, value) in changes {
        let key = ALIASES.iter().find(|(of, _)| of == key).map_or(key.as_str(), |(_, key)| key);
        match all.iter_mut().find(|(of, _)| of == key) {
            Some((_, before)) => value.clone_into(before),
            None => all.push((key.to_owned(), value.clone())),
        }
    }
    match law(Program::Gemini, &all)? {
        Law::Gemini(set) => Ok(set),
        Law::Dctcp | Law::EcnStar | Law::Vegas => Err(plain(&"no settings")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot make its input should fail there")]

    use super::*;

    fn set(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    fn gemini_of(pairs: &[(&str, &str)]) -> Integers {
        match law(Program::Gemini, &set(pairs)).unwrap() {
            Law::Gemini(of) => of,
            other => panic!("no gemini: {other:?}"),
        }
    }

    #[test]
    fn settings_are_those_of_scenarios_and_survive_being_written() {
        let of = gemini_of(&[("capacity", "10Gbps"), ("k", "50pkt"), ("delay_threshold", "2ms")]);
        assert_eq!((of.capacity_kbps, of.mark_bytes), (10_000_000, 50 * 1_538));
        assert_eq!((of.threshold_ns, of.alpha_shift, of.wan), (2_000_000, 4, true));
        assert_eq!(changed(&of, &[]).unwrap(), of);
        let values = written(&of).into_iter().map(|(_, value)| value).collect::<Vec<_>>();
        let shown = ["10Gbps", "76900B", "2ms", "0.2", "0.00000012", "0.0625"];
        assert_eq!(values[..6], shown);
        let other =
            changed(&of, &set(&[("wan", "false"), ("decrease", "0.4"), ("delay", "3ms")])).unwrap();
        assert_eq!((other.wan, other.decrease, other.mark_bytes), (false, 419_430, of.mark_bytes));
        assert_eq!(other.threshold_ns, 3_000_000);
    }

    #[test]
    fn what_is_wrong_is_told() {
        let why = |program, pairs: &[(&str, &str)]| {
            let why = law(program, &set(pairs)).unwrap_err();
            crate::diagnostic::text(&why)
        };
        assert!(why(Program::Gemini, &[]).contains("the rate of the network is not said"));
        let beyond = why(Program::Gemini, &[("capacity", "10Gbps"), ("decrease", "2")]);
        assert!(beyond.contains("0.99"), "{beyond}");
        assert!(why(Program::Gemini, &[("kk", "1")]).contains("delay_threshold"));
        assert!(why(Program::Gemini, &[("rtt_noise", "1us")]).contains("no \"rtt_noise\""));
        assert!(why(Program::Dctcp, &[("k", "1pkt")]).contains("nothing can be set"));
        assert_eq!(program("bbr").unwrap_err(), "expected one of gemini, dctcp, ecn-star, vegas");
    }
}

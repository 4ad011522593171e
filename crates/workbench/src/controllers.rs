//! Congestion controllers that are loaded into the kernel of this machine, with settings written as in scenarios.

mod connection_stats;
mod loaded;

use std::path::Path;

use super::diagnostic::{Report, Result, missing, plain, with_help};
use super::printable::shell_word;
pub use connection_stats::{ConnectionStats, ConnectionWatch};
pub use loaded::{Ecn, LoadedController, Pinned, check, check_file_system, check_machine};
pub use shallop_bpf::{BpfError, Law, Prefix, Program};
pub use shallop_bpf::{controller::Settings, machine::skips_programs};
use shallop_control::any::Config;
use shallop_control::gemini::{self, Integers};
use shallop_core::BitsPerSec;
use shallop_options::{HostStack, Problem};
use shallop_plan::plan::Scheme;
use shallop_plan::transport::{Protocol as _, Transport};
use shallop_scenario::{Options, read_options};

/// Options of the command whose names differ from the scenario's keys: (option, key).
const ALIASES: [(&str, &str); 2] = [("mark", "k"), ("delay", "delay_threshold")];
const NO_PROGRAM: &str = "there are programs of gemini, dctcp, ecn-star and vegas alone";

pub(crate) fn bpf_error(why: &BpfError) -> Report {
    match why {
        BpfError::Name(_) | BpfError::File { .. } => plain(why),
        why => missing(why),
    }
}

/// Makes the diagnostic of a wrong controller option. `typed` maps a key to the name that the user typed.
pub(crate) fn of_option(problem: &Problem, typed: impl Fn(&str) -> String) -> Report {
    let reason = &problem.reason;
    let what = match &problem.key {
        Some((key, _)) => format!("{}: {reason}", typed(key)),
        None => reason.clone(),
    };
    if problem.help.is_empty() { plain(&what) } else { with_help(&what, &problem.help) }
}

pub fn program(name: &str) -> std::result::Result<Program, String> {
    let known = Program::ALL.map(Program::name);
    let found = Program::ALL.into_iter().find(|of| of.name() == name);
    found.ok_or_else(|| format!("expected one of {}", known.join(", ")))
}

/// Reads the settings of a program from pairs of a scenario key and its value.
///
/// # Errors
/// If there is no such key, a value is out of bounds, or Gemini lacks `capacity`.
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
            Some((key, _)) => Err(plain(&format!("{key}: nothing can be set of {}", program.name()))),
        };
    }
    let known = gemini_keys();
    if let Some((key, _)) = set.iter().find(|(key, _)| !known.contains(&key_of(key))) {
        let help = format!("what can be set: {}", known.map(typed_name).join(", "));
        return Err(with_help(&format!("gemini has no \"{key}\""), &help));
    }
    let typed = |key: &str| {
        let last = set.iter().rev().find(|(of, _)| key_of(of) == key);
        last.map_or(key, |(of, _)| of.as_str()).to_owned()
    };
    let values = set.iter().map(|(key, value)| (key_of(key).to_owned(), value.clone()));
    let config = read_options::<gemini::Config>(&values.collect::<Vec<_>>(), HostStack::Linux)
        .map_err(|problem| of_option(&problem, typed))?;
    gemini_law(&config, None)
}

/// The scenario key for an option of the command.
fn key_of(typed: &str) -> &str {
    ALIASES.iter().find(|(of, _)| *of == typed).map_or(typed, |(_, key)| key)
}

/// Formats an option's name, with its scenario key in brackets if the two differ.
fn typed_name(key: &str) -> String {
    let alias = ALIASES.iter().find(|(_, of)| *of == key);
    alias.map_or_else(|| key.to_owned(), |(of, _)| format!("{of} ({key})"))
}

/// The keys of Gemini that the BPF program supports.
fn gemini_keys() -> [&'static str; 9] {
    let key = gemini::Config::KEY;
    [
        key.capacity.name, key.k.name, key.delay_threshold.name, key.decrease.name, key.increase.name,
        key.alpha_gain.name, key.dcn.name, key.wan.name, key.recount.name,
    ]
}

/// The settings of a scenario's transport. `capacity` is for Gemini and must be absent if the transport sets one.
fn of_transport(transport: &Transport, capacity: Option<BitsPerSec>) -> Result<Law> {
    let Transport::Tcp(tcp) = transport else { return Err(plain(&NO_PROGRAM)) };
    match (&tcp.controller, program_of(transport)) {
        (Config::Gemini(config), _) => gemini_law(config, capacity),
        (_, Some(Program::Dctcp)) => Ok(Law::Dctcp),
        (_, Some(Program::EcnStar)) => Ok(Law::EcnStar),
        (_, Some(Program::Vegas)) => Ok(Law::Vegas),
        _ => Err(plain(&NO_PROGRAM)),
    }
}

/// The settings of Gemini. `capacity` must be given if and only if the options have none.
fn gemini_law(config: &gemini::Config, capacity: Option<BitsPerSec>) -> Result<Law> {
    match (config.capacity, capacity) {
        (None, None) => {
            let help = "--capacity 10Gbps, or `capacity` in the scheme";
            Err(with_help(&"the rate of the network is not said", &help))
        }
        (Some(_), Some(_)) => {
            let help = "leave --capacity out, or `capacity` in the scheme";
            Err(with_help(&"--capacity: the scheme has one of its own", &help))
        }
        (Some(capacity), None) | (None, Some(capacity)) => Ok(Law::Gemini(config.integers(capacity))),
    }
}

/// The BPF controller that implements a scenario's transport, if one does.
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

/// The settings of the scheme in a scenario that uses this program; `scheme` names it if there are several.
///
/// # Errors
/// If no scheme fits or several do, or the capacity is missing, given twice or out of bounds.
pub fn of_scenario(scenario: &Path, capacity: Option<&str>, program: Program, scheme: Option<&str>) -> Result<Law> {
    let pairs: Vec<_> = capacity.map(|of| ("capacity".to_owned(), of.to_owned())).into_iter().collect();
    let capacity = match capacity.map(|_| law(program, &pairs)).transpose()? {
        Some(Law::Gemini(of)) => Some(BitsPerSec::at_least_one(of.capacity_kbps * 1_000)),
        _ => None,
    };
    let study = super::run_study::read_scenario(scenario, &Options::default())?;
    let schemes = study.points.first().map(|point| &point.plan.schemes[..]).unwrap_or_default();
    let fits = |of: &&Scheme| program_of(&of.transport) == Some(program);
    let found: Vec<&Scheme> = schemes.iter().filter(fits).collect();
    let what = format!("with transport = \"{}\"", program.name());
    of_transport(&the_scheme(&found, scheme, &what)?.transport, capacity)
}

/// The scheme with this name among those that fit, or the only one that fits. `what` describes these schemes in
/// messages.
pub(crate) fn the_scheme<'a>(fitting: &[&'a Scheme], name: Option<&str>, what: &str) -> Result<&'a Scheme> {
    let found: Vec<&Scheme> = fitting.iter().copied().filter(|of| name.is_none_or(|name| of.name == name)).collect();
    if let [one] = found[..] {
        return Ok(one);
    }
    let names: Vec<_> = fitting.iter().map(|of| shell_word(&of.name)).collect();
    if names.is_empty() {
        return Err(plain(&format!("the scenario has no scheme {what}")));
    }
    let told = match name {
        Some(name) => format!("--scheme: \"{name}\" is no scheme {what}"),
        None => format!("the scenario has {} schemes {what}", names.len()),
    };
    Err(with_help(&told, &format!("--scheme with one of {}", names.join(", "))))
}

/// The settings for destinations that no prefix covers: the capacity of `law`, otherwise the defaults.
fn base_of(law: &Law) -> Result<Law> {
    match law {
        Law::Gemini(set) => {
            let capacity = ("capacity".to_owned(), format!("{}Kbps", set.capacity_kbps));
            self::law(Program::Gemini, &[capacity])
        }
        Law::Dctcp | Law::EcnStar | Law::Vegas => Err(plain(&"--to: only gemini has settings for some destinations")),
    }
}

/// The settings as pairs of a scenario key and its value.
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

/// A number in the largest unit in which it is whole; `units` are in descending order.
pub(crate) fn with_unit(value: u64, units: &[(&str, u64)]) -> String {
    let whole = units.iter().find(|(_, of)| value > 0 && value.is_multiple_of(*of));
    let (unit, of) = whole.or(units.last()).copied().unwrap_or(("", 1));
    format!("{}{unit}", value / of)
}

/// A fixed-point number with `bits` fractional bits, as the shortest decimal fraction that rounds to it.
fn fixed(value: u64, bits: u32) -> String {
    let one = (1_u64 << bits) as f64;
    let text = |digits: usize| format!("{:.digits$}", value as f64 / one);
    let is_same = |text: &String| text.parse::<f64>().is_ok_and(|parsed| (parsed * one).round() as u64 == value);
    (1..20).map(text).find(is_same).unwrap_or_else(|| text(20))
}

pub fn changed(set: &Integers, changes: &[(String, String)]) -> Result<Integers> {
    let mut all = written(set);
    for (key, value) in changes {
        match all.iter_mut().find(|(of, _)| key_of(of) == key_of(key)) {
            // Keeps the name that was typed, for the message if the value is wrong.
            Some(before) => *before = (key.clone(), value.clone()),
            None => all.push((key.clone(), value.clone())),
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
    fn settings_are_read_like_scenarios_and_survive_a_round_trip() {
        let of = gemini_of(&[("capacity", "10Gbps"), ("k", "50pkt"), ("delay_threshold", "2ms")]);
        assert_eq!((of.capacity_kbps, of.mark_bytes), (10_000_000, 50 * 1_538));
        assert_eq!((of.threshold_ns, of.alpha_shift, of.wan), (2_000_000, 4, true));
        assert_eq!(changed(&of, &[]).unwrap(), of);
        let values = written(&of).into_iter().map(|(_, value)| value).collect::<Vec<_>>();
        let shown = ["10Gbps", "76900B", "2ms", "0.2", "0.00000012", "0.0625"];
        assert_eq!(values[..6], shown);
        let other = changed(&of, &set(&[("wan", "false"), ("decrease", "0.4"), ("delay", "3ms")])).unwrap();
        assert_eq!((other.wan, other.decrease, other.mark_bytes), (false, 419_430, of.mark_bytes));
        assert_eq!(other.threshold_ns, 3_000_000);
    }

    #[test]
    fn wrong_settings_are_refused_under_the_name_that_was_typed() {
        let why = |program, pairs: &[(&str, &str)]| {
            let why = law(program, &set(pairs)).unwrap_err();
            crate::diagnostic::text(&why)
        };
        assert!(why(Program::Gemini, &[]).contains("the rate of the network is not said"));
        let beyond = why(Program::Gemini, &[("capacity", "10Gbps"), ("decrease", "2")]);
        assert!(beyond.contains("0.99"), "{beyond}");
        let unknown = why(Program::Gemini, &[("kk", "1")]);
        assert!(unknown.contains("mark (k), delay (delay_threshold)"), "{unknown}");
        assert!(why(Program::Gemini, &[("rtt_noise", "1us")]).contains("no \"rtt_noise\""));
        assert!(why(Program::Dctcp, &[("k", "1pkt")]).contains("nothing can be set"));
        for (key, value, words) in [
            ("mark", "x", "× mark: \"x\" does not start with a number"),
            ("k", "x", "× k: \"x\" does not start with a number"),
            ("delay", "2h", "× delay: "),
            ("decrease", "3", "× decrease: 3 is out of range"),
        ] {
            let told = why(Program::Gemini, &[("capacity", "1Gbps"), (key, value)]);
            assert!(told.contains(words) && !told.contains("scheme"), "{told}");
            let of = changed(&gemini_of(&[("capacity", "1Gbps")]), &set(&[(key, value)]));
            let told = crate::diagnostic::text(&of.unwrap_err());
            assert!(told.contains(words) && !told.contains("scheme"), "{told}");
        }
        assert_eq!(program("bbr").unwrap_err(), "expected one of gemini, dctcp, ecn-star, vegas");
    }

    const SCENARIO: &str = r#"
title = "several schemes"
duration = "1s"
topology = { kind = "dumbbell", senders = 1, rate = "1Gbps", delay = "1ms" }
group = [{ name = "all" }]
scheme = [
    { name = "near", transport = "gemini", k = "20pkt" },
    { name = "far", transport = "gemini", capacity = "2Gbps" },
    { name = "other", transport = "dctcp" },
]
"#;

    #[test]
    fn settings_come_from_the_scheme_that_fits_with_the_given_capacity() {
        let file = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
        std::fs::write(file.path(), SCENARIO).unwrap();
        let of = |program, scheme, capacity| of_scenario(file.path(), capacity, program, scheme);
        let why = |program, scheme, capacity| crate::diagnostic::text(&of(program, scheme, capacity).unwrap_err());
        assert!(matches!(of(Program::Dctcp, None, None), Ok(Law::Dctcp)));
        let Ok(Law::Gemini(near)) = of(Program::Gemini, Some("near"), Some("4Gbps")) else { panic!("no gemini") };
        assert_eq!((near.capacity_kbps, near.mark_bytes), (4_000_000, 20 * 1_538));
        let several = why(Program::Gemini, None, None);
        assert!(several.contains("2 schemes") && several.contains("one of near, far"), "{several}");
        assert!(!several.contains("other"), "{several}");
        let other = why(Program::Gemini, Some("other"), None);
        assert!(other.contains("\"other\" is no scheme") && other.contains("near, far"), "{other}");
        assert!(why(Program::Vegas, None, None).contains("no scheme with transport = \"vegas\""));
        assert!(why(Program::Gemini, Some("near"), None).contains("--capacity 10Gbps"));
        assert!(why(Program::Gemini, Some("far"), Some("4Gbps")).contains("one of its own"));
        assert!(why(Program::Gemini, Some("near"), Some("4bps")).contains("capacity: \"4bps\""));
        assert!(why(Program::Dctcp, None, Some("1Gbps")).contains("nothing can be set of dctcp"));
    }
}

//! CLEAN on a Linux machine in the path: what is set of a proxy, in the words of scenarios, and the devices it is
//! attached to.

mod attached;

use std::path::Path;

pub use attached::{Attached, Role, State};
pub use shallop_bpf::clean::{Config, Counters, Flow, Settings, Shaper};
use shallop_core::options::Options as _;
use shallop_core::{BitsPerSec, BufferSize, Bytes};
use shallop_plan::plan::Scheme;
use shallop_scenario::Options;

use super::controllers::with_unit;
use super::diagnostic::{Result, in_text, plain, with_help};

/// The name of the scheme in the text that is read.
const SCHEME: &str = "set";
/// A scenario that has nothing but a scheme with a proxy.
const TEXT: &str = r#"
title = "settings"
duration = "1s"
topology = { kind = "dumbbell", senders = 1, rate = "1Gbps", delay = "1ms" }
switch.default = { buffer = "1MB", mark = { above = "10pkt" } }
group = [{ name = "all" }]
scheme = [{ name = "set", transport = "cubic", clean = { edges = ["s0>left"], last_hop = ["left>r0"] } }]
"#;
/// Bytes of a full frame on the wire, in which packets are counted.
const FRAME: u64 = 1_538;

/// The shaper that a proxy is to have, as it is typed.
#[derive(Clone, Copy, Debug)]
pub struct WantedShaper {
    /// What it lets through.
    pub rate: BitsPerSec,
    /// The queue above which packets count as marked.
    pub mark: BufferSize,
    /// What may wait.
    pub buffer: BufferSize,
}

impl WantedShaper {
    fn bytes(self, size: BufferSize) -> Bytes {
        match size {
            BufferSize::Packets(packets) => Bytes::new(u64::from(packets) * FRAME),
            size => size.bytes_at(self.rate).unwrap_or(Bytes::MAX),
        }
    }

    /// What the programs know of it, and the bytes that may wait.
    ///
    /// # Errors
    /// If it would never mark.
    pub fn resolved(self) -> Result<(Shaper, Bytes)> {
        let (mark_above, buffer) = (self.bytes(self.mark), self.bytes(self.buffer));
        if buffer <= mark_above {
            let (mark, buffer) = (mark_above.get(), buffer.get());
            let what = format!("the buffer, {buffer} bytes, is not above the mark, {mark} bytes");
            return Err(with_help(&what, &"--buffer with several times the mark"));
        }
        Ok((Shaper { rate: self.rate, mark_above }, buffer))
    }
}

/// The keys of a proxy that can be set.
fn keys() -> Vec<&'static str> {
    Config::keys().iter().map(|key| key.name).collect()
}

/// What is set by these pairs of a key and its value, as `clean` of a scenario has them.
///
/// # Errors
/// If there is no such key, or its value is out of bounds.
pub fn config(set: &[(String, String)]) -> Result<Config> {
    let known = keys();
    if let Some((key, _)) = set.iter().find(|(key, _)| !known.contains(&key.as_str())) {
        let help = format!("what can be set: {}", known.join(", "));
        return Err(with_help(&format!("a proxy has no \"{key}\""), &help));
    }
    let set = set
        .iter()
        .map(|(key, value)| (format!("scheme.{SCHEME}.clean.{key}"), value.clone()))
        .collect();
    let options = Options { set, ..Options::default() };
    let study = shallop_scenario::read(TEXT, &options)
        .map_err(|problem| in_text("settings", TEXT, problem))?;
    let plan = study.points.first().map(|point| &point.plan);
    let clean = plan.and_then(|plan| plan.schemes.first()).and_then(|of| of.clean.as_ref());
    clean.map_or_else(|| Err(plain(&"no settings")), |of| Ok(of.config))
}

/// The options of the only proxy of a scenario's schemes, or of that of the scheme with this name.
///
/// # Errors
/// If there is none, or several.
pub fn of_scenario(scenario: &Path, scheme: Option<&str>) -> Result<Config> {
    let study = super::work::read(scenario, &Options { in_real_time: true, ..Options::default() })?;
    let schemes = study.points.first().map(|point| &point.plan.schemes[..]).unwrap_or_default();
    let fits = |of: &&Scheme| of.clean.is_some() && scheme.is_none_or(|name| of.name == name);
    let found: Vec<_> = schemes.iter().filter(fits).filter_map(|of| of.clean.as_ref()).collect();
    if let [one] = found[..] {
        return Ok(one.config);
    }
    let names: Vec<&str> = schemes.iter().map(|of| of.name.as_str()).collect();
    let help = format!("--scheme with one of {}", names.join(", "));
    Err(with_help(&format!("{} schemes of the scenario have a proxy", found.len()), &help))
}

/// What is set, as a scenario writes it.
#[must_use]
pub fn written(config: &Config) -> Vec<(String, String)> {
    let law = &config.law;
    let part = |units: u32| format!("{}", f64::from(units) / 1_024.0);
    let decrease = match law.decrease {
        shallop_control::clean::Decrease::Half => "half",
        shallop_control::clean::Decrease::Marked => "alpha",
    };
    let values = [
        ("decrease", decrease.to_owned()),
        ("scale", part(law.scale.units())),
        ("gain", format!("{}", 1.0 / f64::from(1_u32 << law.gain.shift()))),
        ("alpha_initial", part(law.alpha_initial.units())),
        ("min_window", law.min_window.to_string()),
        ("initial_window", law.initial_window.to_string()),
        (
            "idle",
            with_unit(
                config.idle.as_ps() / 1_000_000,
                &[("s", 1_000_000), ("ms", 1_000), ("us", 1)],
            ),
        ),
        ("flows", config.flows.to_string()),
        ("validate", config.validate.to_string()),
    ];
    values.map(|(key, value)| (key.to_owned(), value)).to_vec()
}

/// What is set, with some of it changed.
///
/// # Errors
/// As [`config`]; the size of the flow cache cannot be changed.
pub fn changed(before: &Config, changes: &[(String, String)]) -> Result<Config> {
    if changes.iter().any(|(key, _)| key == "flows") {
        let help = "detach it, and attach it with flows=N";
        return Err(with_help(&"the size of the flow cache stays while it is attached", &help));
    }
    let mut all = written(before);
    for (key, value) in changes {
        match all.iter_mut().find(|(of, _)| of == key) {
            Some((_, before)) => value.clone_into(before),
            None => all.push((key.clone(), value.clone())),
        }
    }
    config(&all)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot make its input should fail there")]

    use super::*;

    fn set(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn settings_are_those_of_scenarios_and_survive_being_written() {
        let of = config(&set(&[("decrease", "half"), ("idle", "3s"), ("flows", "128")])).unwrap();
        assert_eq!((of.flows, of.idle.as_secs_f64()), (128, 3.0));
        assert_eq!(config(&written(&of)).unwrap(), of);
        assert_eq!(written(&of).len(), keys().len());
        let other = changed(&of, &set(&[("min_window", "4"), ("decrease", "alpha")])).unwrap();
        assert_eq!((other.law.min_window, other.flows), (4, 128));
    }

    #[test]
    fn what_is_wrong_is_told() {
        let why = |set: &[(&str, &str)]| {
            let why = config(&self::set(set)).unwrap_err();
            crate::diagnostic::text(&why)
        };
        assert!(why(&[("edges", "[]")]).contains("what can be set: decrease"));
        assert!(why(&[("min_window", "0")]).contains("10000"), "{}", why(&[("min_window", "0")]));
        assert!(changed(&Config::default(), &set(&[("flows", "7")])).is_err());
    }

    #[test]
    fn a_shaper_marks_before_it_is_full() {
        let of = |mark, buffer| WantedShaper { rate: BitsPerSec::gbps(1), mark, buffer }.resolved();
        let (shaper, buffer) =
            of(BufferSize::Packets(100), BufferSize::Bytes(Bytes::new(400_000))).unwrap();
        assert_eq!((shaper.mark_above.get(), buffer.get()), (153_800, 400_000));
        assert!(of(BufferSize::Packets(100), BufferSize::Packets(100)).is_err());
    }
}

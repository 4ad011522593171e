//! CLEAN proxies at the network devices of this machine, with settings written as in scenarios.

mod attached;

use std::path::Path;

use super::controllers::{of_option, the_scheme, with_unit};
use super::diagnostic::{Result, plain, with_help};
pub use attached::{AttachedProxy, ProxyRole, ProxyState};
pub use shallop_bpf::clean::{Config, Counters, Flow, Settings, Shaper};
use shallop_core::{BitsPerSec, BufferSize, Bytes};
use shallop_options::{Options as _, StringEnum as _};
use shallop_plan::plan::Scheme;
use shallop_scenario::{Options, read_options};

/// The bytes of a full frame on the wire: the size of a packet in `--mark 5pkt`.
const FRAME: u64 = 1_538;
/// The bounds of a shaper: its rate in bits per second; the queue above which it marks, in bytes, limited by the
/// counter in `is_queued` of clean.bpf.c; the buffer in bytes, limited by `tbf`.
const RATES: [u64; 2] = [1_000_000, 100_000_000_000];
const MARKS: [u64; 2] = [FRAME, 1 << 30];
const BUFFERS: [u64; 2] = [10 * FRAME, u32::MAX as u64];

/// The options of the traffic shaper (`tbf`) that a proxy can add to a device, before their bounds are checked.
#[derive(Clone, Copy, Debug)]
pub struct ShaperOptions {
    pub rate: BitsPerSec,
    /// The queue length above which packets count as marked.
    pub mark: BufferSize,
    /// The longest queue; packets beyond it are dropped.
    pub buffer: BufferSize,
}

impl ShaperOptions {
    fn bytes(self, size: BufferSize) -> Bytes {
        match size {
            BufferSize::Packets(packets) => Bytes::new(u64::from(packets) * FRAME),
            size => size.bytes_at(self.rate).unwrap_or(Bytes::MAX),
        }
    }

    /// Checks the options. Returns the settings for the BPF programs, and the buffer in bytes.
    ///
    /// # Errors
    /// If an option is out of bounds, or the buffer is too small for a mark.
    pub fn resolved(self) -> Result<(Shaper, Bytes)> {
        let (mark_above, buffer) = (self.bytes(self.mark), self.bytes(self.buffer));
        let (rate, mark, waits) = (self.rate.get(), mark_above.get(), buffer.get());
        for (option, value, [least, most], unit, allowed) in [
            ("--rate", rate, RATES, "bits a second", "from 1 Mb/s to 100 Gb/s"),
            ("--mark", mark, MARKS, "bytes", "from 1 packet (1,538 bytes) to 1 GiB"),
            ("--buffer", waits, BUFFERS, "bytes", "from 10 packets (15,380 bytes) to 4 GiB"),
        ] {
            if !(least..=most).contains(&value) {
                let what = format!("{option}: {value} {unit} is out of range");
                return Err(with_help(&what, &format!("allowed: {allowed}")));
            }
        }
        if waits <= mark {
            let what = format!("--buffer: {waits} bytes is not above --mark, {mark} bytes");
            return Err(with_help(&what, &"--buffer with several times the mark"));
        }
        Ok((Shaper { rate: self.rate, mark_above }, buffer))
    }
}

/// Checks whether Linux allows this name for a device (`dev_valid_name`).
pub fn check_device(name: &str) -> Result<()> {
    const LONGEST: usize = 15;
    let is_wrong = |letter: char| letter.is_whitespace() || "/:".contains(letter);
    if (1..=LONGEST).contains(&name.len()) && name != "." && name != ".." && !name.contains(is_wrong) {
        return Ok(());
    }
    let what = format!("\"{name}\" cannot be the name of a device");
    Err(with_help(&what, &format!("allowed: up to {LONGEST} bytes, without spaces, / and :")))
}

fn keys() -> Vec<&'static str> {
    Config::keys().iter().map(|key| key.name).collect()
}

/// Reads the settings of a proxy from pairs of a key and its value, as in a scenario's `clean`.
///
/// # Errors
/// If there is no such key, or a value is out of bounds.
pub fn config(set: &[(String, String)]) -> Result<Config> {
    let known = keys();
    if let Some((key, _)) = set.iter().find(|(key, _)| !known.contains(&key.as_str())) {
        let help = format!("what can be set: {}", known.join(", "));
        return Err(with_help(&format!("a proxy has no \"{key}\""), &help));
    }
    read_options(set, ()).map_err(|problem| of_option(&problem, str::to_owned))
}

/// The settings of a scenario's only proxy, or of the proxy of the scheme with this name.
pub fn of_scenario(scenario: &Path, scheme: Option<&str>) -> Result<Config> {
    let study = super::run_study::read_scenario(scenario, &Options { in_real_time: true, ..Options::default() })?;
    let schemes = study.points.first().map(|point| &point.plan.schemes[..]).unwrap_or_default();
    let found: Vec<&Scheme> = schemes.iter().filter(|of| of.clean.is_some()).collect();
    let clean = the_scheme(&found, scheme, "with a proxy (`clean`)")?.clean.as_ref();
    clean.map_or_else(|| Err(plain(&"no settings")), |of| Ok(of.config))
}

/// The settings as pairs of a key and its value.
pub fn written(config: &Config) -> Vec<(String, String)> {
    let law = &config.law;
    let part = |units: u32| format!("{}", f64::from(units) / 1_024.0);
    let values = [
        ("decrease", law.decrease.word().to_owned()),
        ("increase", law.increase.word().to_owned()),
        ("scale", part(law.scale.units())),
        ("gain", format!("{}", 1.0 / f64::from(1_u32 << law.gain.shift()))),
        ("alpha_initial", part(law.alpha_initial.units())),
        ("min_window", law.min_window.to_string()),
        ("initial_window", law.initial_window.to_string()),
        ("idle", with_unit(config.idle.as_ps() / 1_000_000, &[("s", 1_000_000), ("ms", 1_000), ("us", 1)])),
        ("flows", config.flows.to_string()),
        ("validate", config.validate.to_string()),
    ];
    values.map(|(key, value)| (key.to_owned(), value)).to_vec()
}

/// Changes some keys of a proxy's settings.
///
/// # Errors
/// If a value is wrong, or `flows` is changed: the size of the flow table is fixed.
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
    fn settings_are_read_like_scenarios_and_survive_a_round_trip() {
        let of = config(&set(&[("decrease", "half"), ("idle", "3s"), ("flows", "128")])).unwrap();
        assert_eq!((of.flows, of.idle.as_secs_f64()), (128, 3.0));
        assert_eq!(config(&written(&of)).unwrap(), of);
        assert_eq!(written(&of).len(), keys().len());
        let other = changed(&of, &set(&[("min_window", "4"), ("decrease", "alpha")])).unwrap();
        assert_eq!((other.law.min_window, other.flows), (4, 128));
    }

    #[test]
    fn wrong_settings_are_refused_under_the_name_that_was_typed() {
        let why = |set: &[(&str, &str)]| {
            let why = config(&self::set(set)).unwrap_err();
            crate::diagnostic::text(&why)
        };
        assert!(why(&[("edges", "[]")]).contains("what can be set: decrease"));
        let least = why(&[("min_window", "0")]);
        assert!(least.contains("10000") && least.contains("× min_window: 0 is out"), "{least}");
        assert!(changed(&Config::default(), &set(&[("flows", "7")])).is_err());
    }

    #[test]
    fn a_shaper_marks_before_it_is_full() {
        let of = |mark, buffer| ShaperOptions { rate: BitsPerSec::gbps(1), mark, buffer }.resolved();
        let (shaper, buffer) = of(BufferSize::Packets(100), BufferSize::Bytes(Bytes::new(400_000))).unwrap();
        assert_eq!((shaper.mark_above.get(), buffer.get()), (153_800, 400_000));
        assert!(of(BufferSize::Packets(100), BufferSize::Packets(100)).is_err());
    }

    #[test]
    fn a_shaper_out_of_bounds_is_refused_by_its_option() {
        let bytes = |of| BufferSize::Bytes(Bytes::new(of));
        let of = |rate, mark, buffer| {
            let rate = BitsPerSec::at_least_one(rate);
            let of = ShaperOptions { rate, mark, buffer }.resolved();
            of.map(drop).map_err(|why| crate::diagnostic::text(&why))
        };
        let (mark, buffer) = (BufferSize::Packets(1), BufferSize::Packets(10));
        for rate in RATES {
            assert_eq!(of(rate, mark, buffer), Ok(()));
        }
        assert_eq!(of(RATES[0], bytes(1 << 30), bytes(u32::MAX.into())), Ok(()));
        for (option, wrong) in [
            ("--rate", of(999_999, mark, buffer)),
            ("--rate", of(100_000_000_001, mark, buffer)),
            ("--mark", of(RATES[0], BufferSize::Packets(0), buffer)),
            ("--mark", of(RATES[0], bytes(1_537), buffer)),
            ("--mark", of(RATES[0], bytes((1 << 30) + 1), bytes(u32::MAX.into()))),
            ("--buffer", of(RATES[0], mark, BufferSize::Packets(9))),
            ("--buffer", of(RATES[0], mark, bytes(1 << 32))),
        ] {
            let words = format!("× {option}: ");
            assert!(wrong.as_ref().is_err_and(|why| why.contains(&words)), "{option} {wrong:?}");
        }
    }

    #[test]
    fn device_names_follow_the_rules_of_linux() {
        assert!(["eth0", "wlan-0", "a.b+c", "fifteen_letters"].iter().all(|of| check_device(of).is_ok()));
        for wrong in ["", "a b", "a/b", "a:b", "..", "sixteen_letters_"] {
            assert!(check_device(wrong).is_err(), "{wrong}");
        }
    }

    const TEXT: &str = r#"
title = "settings"
duration = "1s"
topology = { kind = "dumbbell", senders = 1, rate = "1Gbps", delay = "1ms" }
switch.default = { buffer = "1MB", mark = { above = "10pkt" } }
group = [{ name = "all" }]
scheme = [{ name = "set", transport = "cubic", clean = { edges = ["s0>left"], last_hop = ["left>r0"] } }]
"#;

    #[test]
    fn only_schemes_with_a_proxy_are_offered() {
        let file = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
        let with = TEXT.replace("scheme = [{", "scheme = [{ name = \"without\", transport = \"cubic\" }, {");
        std::fs::write(file.path(), with).unwrap();
        assert_eq!(of_scenario(file.path(), None).unwrap(), Config::default());
        let why = crate::diagnostic::text(&of_scenario(file.path(), Some("without")).unwrap_err());
        assert!(why.contains("\"without\" is no scheme") && why.contains("one of set"), "{why}");
    }
}

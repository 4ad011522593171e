//! Congestion controllers in the kernel of this machine: what is set of them, in the words of scenarios, and what is
//! loaded.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use shallop_bpf::controller::{self, Settings, Watch, check_name};
use shallop_bpf::{BpfError, Connection, Controller, Law, Prefix, Program};
use shallop_control::any::Config;
use shallop_control::gemini::{self, Integers};
use shallop_core::BitsPerSec;
use shallop_plan::transport::Transport;
use shallop_plan::transport::Configured as _;
use shallop_scenario::Options;

use super::diagnostic::{Result, missing, plain, with_help};

/// Where what is loaded is pinned.
const FOLDER: &str = "/sys/fs/bpf/shallop/host";
/// What says that a folder is of a BPF file system.
const MOUNTS: &str = "/proc/self/mountinfo";

/// The name that the group of options has in the text that is read.
const SCHEME: &str = "set";

/// The diagnostic of what cannot be loaded or used.
fn of_bpf(why: &BpfError) -> super::diagnostic::Report {
    match why {
        BpfError::NotBuilt | BpfError::NotAllowed => missing(why),
        why => plain(why),
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
         topology = {{ kind = \"dumbbell\", rate = \"1Gbps\", delay = \"1ms\" }}\n\
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
    if program == Program::Dctcp {
        return match set.first() {
            None => Ok(Law::Dctcp),
            Some((key, _)) => Err(plain(&format!("{key}: nothing can be set of dctcp"))),
        };
    }
    let known = gemini_keys();
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
    let Transport::Tcp(tcp) = transport else {
        return Err(plain(&"there are programs of gemini and dctcp alone"));
    };
    match &tcp.controller {
        Config::Gemini(config) if config.capacity.is_none() => {
            let help = "--capacity 10Gbps, or `capacity` in the scheme";
            Err(with_help(&"the rate of the network is not said", &help))
        }
        Config::Gemini(config) => Ok(Law::Gemini(config.integers(BitsPerSec::gbps(1)))),
        Config::Dctcp(_) => Ok(Law::Dctcp),
        _ => Err(plain(&"there are programs of gemini and dctcp alone")),
    }
}

/// The law of the only scheme of a scenario that there is a program of, or of the one with this name.
///
/// # Errors
/// If there is none, or several.
pub fn of_scenario(scenario: &Path, options: &Options, scheme: Option<&str>) -> Result<Law> {
    let study = super::work::read(scenario, options)?;
    let schemes = study.points.first().map(|point| &point.plan.schemes[..]).unwrap_or_default();
    let fits = |of: &&shallop_plan::plan::Scheme| match scheme {
        Some(name) => of.name == name,
        None => of_transport(&of.transport).is_ok(),
    };
    let found: Vec<_> = schemes.iter().filter(fits).collect();
    match found[..] {
        [one] => of_transport(&one.transport),
        _ => {
            let names: Vec<&str> = schemes.iter().map(|of| of.name.as_str()).collect();
            let help = format!("--scheme with one of {}", names.join(", "));
            let what = format!("{} schemes of the scenario fit", found.len());
            Err(with_help(&what, &help))
        }
    }
}

/// The options of what is set, as a scenario writes them.
#[must_use]
pub fn written(set: &Integers) -> Vec<(String, String)> {
    let Config::Gemini(config) = Config::Gemini(set.config()) else { return Vec::new() };
    let values = [
        format!("{}kbps", set.capacity_kbps),
        format!("{}B", set.mark_bytes),
        format!("{}ns", set.threshold_ns),
        format!("{}", config.decrease),
        format!("{}", config.increase),
        format!("{}", 1.0 / (1_u64 << set.alpha_shift) as f64),
        set.dcn.to_string(),
        set.wan.to_string(),
        set.recount.to_string(),
    ];
    gemini_keys().map(str::to_owned).into_iter().zip(values).collect()
}

/// What is set, with some of it changed.
///
/// # Errors
/// As [`law`].
pub fn changed(set: &Integers, changes: &[(String, String)]) -> Result<Integers> {
    let mut all = written(set);
    for (key, value) in changes {
        match all.iter_mut().find(|(of, _)| of == key) {
            Some((_, before)) => value.clone_into(before),
            None => all.push((key.clone(), value.clone())),
        }
    }
    match law(Program::Gemini, &all)? {
        Law::Gemini(set) => Ok(set),
        Law::Dctcp => Err(plain(&"no settings")),
    }
}

/// A controller that is loaded and stays.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// Its name.
    pub name: String,
    /// Its program.
    pub program: Program,
    folder: PathBuf,
}

impl Loaded {
    /// All of them, by name.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let entries = fs::read_dir(FOLDER).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_unstable();
        let loaded = |name: String| {
            let folder = Path::new(FOLDER).join(&name);
            let is_gemini = folder.join("classes").exists();
            let program = if is_gemini { Program::Gemini } else { Program::Dctcp };
            Self { name, program, folder }
        };
        names.into_iter().map(loaded).collect()
    }

    /// The one of this name.
    ///
    /// # Errors
    /// If there is none.
    pub fn named(name: &str) -> Result<Self> {
        let all = Self::all();
        if let Some(found) = all.iter().find(|of| of.name == name) {
            return Ok(found.clone());
        }
        let known: Vec<&str> = all.iter().map(|of| of.name.as_str()).collect();
        let help = match known[..] {
            [] => "shallop host load gemini loads one".to_owned(),
            _ => format!("loaded: {}", known.join(", ")),
        };
        Err(with_help(&format!("no controller \"{name}\" is loaded"), &help))
    }

    /// Loads one that stays.
    ///
    /// # Errors
    /// If this machine cannot, or there is one of this name. Nothing is left then.
    pub fn load(law: &Law, name: &str) -> Result<Self> {
        check_name(name).map_err(|why| of_bpf(&why))?;
        if !is_mounted() {
            let help = "mount -t bpf bpf /sys/fs/bpf";
            return Err(with_help(&"/sys/fs/bpf is no BPF file system, where controllers stay", &help));
        }
        let folder = Path::new(FOLDER).join(name);
        if folder.exists() {
            let help = format!("shallop host unload {name}, or --name for another one");
            return Err(with_help(&format!("\"{name}\" is loaded already"), &help));
        }
        let loaded = Controller::load(law, name).and_then(|mut of| of.pin(&folder));
        loaded.map_err(|why| of_bpf(&why))?;
        Ok(Self { name: name.to_owned(), program: law.program(), folder })
    }

    /// What is set of it.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn settings(&self) -> Result<Settings> {
        controller::settings(&self.folder).map_err(|why| of_bpf(&why))
    }

    /// Changes what is set of it, for destinations with these prefixes or, without any, for those without.
    ///
    /// # Errors
    /// If a setting is wrong, or nothing can be set of it.
    pub fn change(&self, changes: &[(String, String)], to: &[Prefix]) -> Result<()> {
        let known = self.settings()?;
        let Some(base) = known.base else {
            return Err(plain(&format!("nothing can be set of \"{}\"", self.name)));
        };
        let before = |prefix: &Prefix| known.to.iter().find(|(of, _)| of == prefix);
        let change = |set: &Integers, to: &[Prefix]| {
            let set = changed(set, changes)?;
            controller::change(&self.folder, &set, to).map_err(|why| of_bpf(&why))
        };
        if to.is_empty() {
            return change(&base, &[]);
        }
        to.iter().try_for_each(|prefix| {
            change(before(prefix).map_or(&base, |(_, set)| set), &[*prefix])
        })
    }

    /// What tells of its connections in the network namespace of this process.
    ///
    /// # Errors
    /// If the kernel refuses to.
    pub fn watch(&self) -> Result<Watch> {
        Watch::open(self.program, &self.name).map_err(|why| of_bpf(&why))
    }

    /// Takes it out. Connections that have it keep it until they end.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub fn unload(&self) -> Result<()> {
        controller::unpin(&self.folder).map_err(|why| of_bpf(&why))
    }
}

/// Whether there is a BPF file system where controllers stay.
fn is_mounted() -> bool {
    let mounts = fs::read_to_string(MOUNTS).unwrap_or_default();
    mounts.lines().any(|line| {
        let mut words = line.split_whitespace();
        words.nth(4) == Some("/sys/fs/bpf") && line.contains(" - bpf ")
    })
}

/// The connections that something tells of.
///
/// # Errors
/// If the kernel refuses to.
pub fn connections(watch: &Watch) -> Result<Vec<Told>> {
    let all = watch.connections().map_err(|why| of_bpf(&why))?;
    Ok(all.iter().map(Told::of).collect())
}

/// A connection in units of people.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Told {
    /// This end.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
    /// The congestion window, in segments.
    pub cwnd_segments: u32,
    /// The smoothed round trip, in seconds.
    pub srtt_s: f64,
    /// The round trip without queues, in seconds; zero if it is not known.
    pub rtt_base_s: f64,
    /// The average part of marked segments.
    pub alpha: f64,
    /// F of Gemini; zero for others.
    pub scale_factor: f64,
    /// h of Gemini, in segments a round trip; zero for others.
    pub increase_segments: f64,
    /// Segments that were delivered.
    pub delivered_segments: u32,
    /// Of these, with an echo of a mark.
    pub marked_segments: u32,
    /// Segments that were sent again.
    pub resent_segments: u32,
    /// Reductions for marks.
    pub cuts_for_marks: u16,
    /// Reductions for delay.
    pub cuts_for_delay: u16,
    /// Reductions for losses.
    pub cuts_for_losses: u16,
}

impl Told {
    fn of(of: &Connection) -> Self {
        let part = |value: u32, bits: u32| f64::from(value) / f64::from(1_u32 << bits);
        let [cuts_for_marks, cuts_for_delay, cuts_for_losses] = of.cuts;
        Self {
            local: of.local,
            remote: of.remote,
            cwnd_segments: of.cwnd,
            srtt_s: f64::from(of.srtt_us) * 1e-6,
            rtt_base_s: f64::from(of.rtt_base_us) * 1e-6,
            alpha: part(of.alpha, 10),
            scale_factor: part(of.factor, gemini::law::REDUCTION_BITS),
            increase_segments: part(of.step, gemini::law::STEP_BITS),
            delivered_segments: of.delivered,
            marked_segments: of.marked,
            resent_segments: of.retransmitted,
            cuts_for_marks,
            cuts_for_delay,
            cuts_for_losses,
        }
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
            Law::Dctcp => panic!("no gemini"),
        }
    }

    #[test]
    fn settings_are_those_of_scenarios_and_survive_being_written() {
        let of = gemini_of(&[("capacity", "10Gbps"), ("k", "50pkt"), ("delay_threshold", "2ms")]);
        assert_eq!((of.capacity_kbps, of.mark_bytes), (10_000_000, 50 * 1_538));
        assert_eq!((of.threshold_ns, of.alpha_shift, of.wan), (2_000_000, 4, true));
        assert_eq!(changed(&of, &[]).unwrap(), of);
        let other = changed(&of, &set(&[("wan", "false"), ("decrease", "0.4")])).unwrap();
        assert_eq!((other.wan, other.decrease, other.mark_bytes), (false, 419_430, of.mark_bytes));
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
        assert_eq!(program("vegas").unwrap_err(), "expected one of gemini, dctcp");
    }
}

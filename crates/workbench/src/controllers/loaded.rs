//! Controllers that stay loaded after the command: each has a folder of pins in the BPF file system.

use std::fs;
use std::path::{Path, PathBuf};

use super::connection_stats::ConnectionWatch;
use super::{bpf_error, changed};
use crate::diagnostic::{Result, missing, plain, with_help};
pub use shallop_bpf::controller::Ecn;
pub use shallop_bpf::controller::Pinned;
use shallop_bpf::controller::{self, MAX_CLASSES, Settings, Watch, check_name};
use shallop_bpf::machine::{self, BPF_FILE_SYSTEM};
use shallop_bpf::{Controller, Law, Prefix, Program};
use shallop_control::gemini::Integers;

/// The folder in the BPF file system with a folder of pins for each loaded controller.
const FOLDER: &str = "/sys/fs/bpf/shallop/host";
const ROOT: &str = "/sys/fs/bpf/shallop";

/// Checks whether this build, user and kernel can load BPF programs.
///
/// # Errors
/// The message says what is missing and how to get it.
pub fn check_machine() -> Result<()> {
    machine::check().map_err(|why| bpf_error(&why))
}

/// Checks whether a BPF file system is mounted, in which programs stay.
///
/// # Errors
/// The message says how to get one.
pub fn check_file_system() -> Result<()> {
    if machine::keeps_programs() {
        return Ok(());
    }
    Err(missing(&no_file_system(machine::entered_namespace().as_deref())))
}

/// The message where no BPF file system is mounted. `entered` is the network namespace of `ip netns exec`, which mounts
/// another /sys for its command.
fn no_file_system(entered: Option<&str>) -> String {
    let what = format!("no BPF file system is mounted at {BPF_FILE_SYSTEM}, in which programs stay");
    let mount = format!("mount -t bpf bpf {BPF_FILE_SYSTEM}");
    let enter = |name: &str| format!("nsenter --net=/run/netns/{name} shallop ...");
    match entered {
        Some(name) => format!(
            "{what}: 'ip netns exec' mounts another /sys for its command. This command keeps the machine's:\n{}",
            enter(name)
        ),
        None => format!("{what}:\n{mount}\nor, for a network namespace NS:\n{}", enter("NS")),
    }
}

/// Checks the name of a controller and the number of its prefixes, without loading anything.
pub fn check(law: &Law, name: &str, to: &[Prefix]) -> Result<()> {
    check_name(name).map_err(|why| bpf_error(&why))?;
    if !to.is_empty() {
        super::base_of(law)?;
    }
    let most = MAX_CLASSES as usize - 1;
    if to.len() > most {
        return Err(plain(&format!("--to: at most {most} prefixes have settings of their own")));
    }
    Ok(())
}

/// A controller in the kernel, with its folder of pins.
#[derive(Clone, Debug)]
pub struct LoadedController {
    pub name: String,
    /// Whether all pins exist, or only some of them.
    pub pinned: Pinned,
    folder: PathBuf,
}

impl LoadedController {
    /// All loaded controllers, sorted by name.
    pub fn all() -> Vec<Self> {
        let entries = fs::read_dir(FOLDER).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_unstable();
        let loaded = |name: String| {
            let folder = Path::new(FOLDER).join(&name);
            Self { name, pinned: Pinned::in_folder(&folder), folder }
        };
        names.into_iter().map(loaded).collect()
    }

    /// Finds a controller. Names in a kernel have no hyphens, so `ecn-star` finds `ecn_star`.
    pub fn named(name: &str) -> Result<Self> {
        let all = Self::all();
        if let Some(found) = all.iter().find(|of| of.name == name.replace('-', "_")) {
            return Ok(found.clone());
        }
        let known: Vec<&str> = all.iter().map(|of| of.name.as_str()).collect();
        let help = match known[..] {
            [] => "shallop host load gemini loads one".to_owned(),
            _ => format!("loaded: {}", known.join(", ")),
        };
        Err(with_help(&format!("no controller \"{name}\" is loaded"), &help))
    }

    /// Loads a controller and pins it. With prefixes in `to`, the settings are for these destinations; other
    /// destinations have the same capacity and otherwise the defaults.
    ///
    /// # Errors
    /// If the machine cannot load it or the name is taken. Nothing stays loaded then.
    pub fn load(law: &Law, name: &str, to: &[Prefix], ecn: Ecn) -> Result<Self> {
        check(law, name, to)?;
        check_machine()?;
        check_file_system()?;
        let folder = Path::new(FOLDER).join(name);
        if folder.exists() {
            let what = match Pinned::in_folder(&folder) {
                Pinned::Whole(_) => "is loaded already",
                Pinned::Part => "was not loaded to the end, or not unloaded",
            };
            let help = format!("shallop host unload {name}, or --name for another one");
            return Err(with_help(&format!("\"{name}\" {what}"), &help));
        }
        let base = if to.is_empty() { *law } else { super::base_of(law)? };
        let mut loaded = Controller::load_with(&base, name, ecn).map_err(|why| bpf_error(&why))?;
        if let Law::Gemini(set) = law {
            loaded.set(set, to).map_err(|why| bpf_error(&why))?;
        }
        loaded.pin(&folder, Path::new(ROOT)).map_err(|why| bpf_error(&why))?;
        Ok(Self { name: name.to_owned(), pinned: Pinned::Whole(law.program()), folder })
    }

    pub fn settings(&self) -> Result<Settings> {
        self.program()?;
        controller::settings(&self.folder).map_err(|why| bpf_error(&why))
    }

    /// Changes the settings for the destinations with these prefixes, or the settings of all other destinations if `to`
    /// is empty.
    pub fn change(&self, changes: &[(String, String)], to: &[Prefix]) -> Result<()> {
        let known = self.settings()?;
        let Some(base) = known.base else {
            return Err(plain(&format!("nothing can be set of \"{}\"", self.name)));
        };
        let before = |prefix: &Prefix| known.to.iter().find(|(of, _)| of == prefix);
        let change = |set: &Integers, to: &[Prefix]| {
            let set = changed(set, changes)?;
            controller::change(&self.folder, &set, to).map_err(|why| bpf_error(&why))
        };
        if to.is_empty() {
            return change(&base, &[]);
        }
        to.iter().try_for_each(|prefix| change(before(prefix).map_or(&base, |(_, set)| set), &[*prefix]))
    }

    /// The program, if all of its pins exist.
    pub fn program(&self) -> Result<Program> {
        match self.pinned {
            Pinned::Whole(program) => Ok(program),
            Pinned::Part => {
                let what =
                    format!("\"{}\" is incomplete: a command was killed while it loaded or unloaded it", self.name);
                Err(with_help(&what, &format!("shallop host unload {}", self.name)))
            }
        }
    }

    /// Opens the list of its connections in the network namespace of this process.
    pub fn watch(&self) -> Result<ConnectionWatch> {
        let program = self.program()?;
        Watch::open(program, &self.name).map(ConnectionWatch::new).map_err(|why| bpf_error(&why))
    }

    /// Unloads the controller. Open connections keep it until they end.
    pub fn unload(&self) -> Result<()> {
        controller::unpin(&self.folder, Path::new(ROOT)).map_err(|why| bpf_error(&why))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot make its input should fail there")]

    use super::*;

    #[test]
    fn under_ip_netns_exec_the_advice_is_nsenter_and_not_mount() {
        let (entered, machines) = (no_file_system(Some("one")), no_file_system(None));
        assert!(entered.ends_with("\nnsenter --net=/run/netns/one shallop ..."), "{entered}");
        assert!(!entered.contains("mount -t") && machines.contains("\nmount -t bpf"), "{machines}");
    }

    #[test]
    fn names_and_prefixes_are_checked_before_loading() {
        let set = [("capacity".to_owned(), "1Gbps".to_owned())];
        let gemini = super::super::law(Program::Gemini, &set).unwrap();
        let to =
            |count: u8| -> Vec<Prefix> { (0..count).map(|of| format!("10.{of}.0.0/16").parse().unwrap()).collect() };
        let why = |law: &Law, name: &str, count: u8| {
            check(law, name, &to(count)).map_err(|why| crate::diagnostic::text(&why))
        };
        assert_eq!(why(&gemini, "gemini", 63), Ok(()));
        assert_eq!(why(&Law::Dctcp, "mine", 0), Ok(()));
        assert!(why(&gemini, "gemini", 64).unwrap_err().contains("at most 63"));
        assert!(why(&gemini, "a-b", 0).unwrap_err().contains("cannot be the name"));
        assert!(why(&Law::Dctcp, "mine", 1).unwrap_err().contains("--to: only gemini"));
    }
}

//! Controllers that are loaded and stay: each has a folder in the BPF file system.

use std::fs;
use std::path::{Path, PathBuf};

pub use shallop_bpf::controller::Pinned;
use shallop_bpf::controller::{self, MAX_CLASSES, Settings, Watch, check_name};
use shallop_bpf::machine::{self, BPF_FILE_SYSTEM};
use shallop_bpf::{Controller, Law, Prefix, Program};
use shallop_control::gemini::Integers;

use super::told::Watched;
use super::{changed, of_bpf};
use crate::diagnostic::{Result, missing, plain, with_help};

/// Where what is loaded is pinned, and the uppermost folder that is made for it.
const FOLDER: &str = "/sys/fs/bpf/shallop/host";
const ROOT: &str = "/sys/fs/bpf/shallop";

/// Checks whether this build, process and kernel can have programs.
///
/// # Errors
/// What is missing, and how to get it.
pub fn ready() -> Result<()> {
    machine::check().map_err(|why| of_bpf(&why))
}

/// Checks whether there is a place here where programs stay.
///
/// # Errors
/// If there is none, and how to get to one.
pub fn keeps() -> Result<()> {
    if machine::keeps_programs() {
        return Ok(());
    }
    Err(missing(&no_place(machine::entered_namespace().as_deref())))
}

/// What is said where there is no place for programs that stay. What is mounted under `ip netns exec` is lost with the
/// command.
fn no_place(entered: Option<&str>) -> String {
    let what = format!("{BPF_FILE_SYSTEM} is no BPF file system here, where programs stay");
    let mount = format!("mount -t bpf bpf {BPF_FILE_SYSTEM}");
    let enter = |name: &str| format!("nsenter --net=/run/netns/{name} shallop ...");
    match entered {
        Some(name) => format!(
            "{what}: 'ip netns exec' gives a command another /sys. This keeps the machine's:\n{}",
            enter(name)
        ),
        None => format!("{what}:\n{mount}\nor, for a network namespace NS:\n{}", enter("NS")),
    }
}

/// Checks what can be known of a controller before it is loaded, on any machine: its name, and whether it has settings
/// for so many destinations.
///
/// # Errors
/// What is wrong.
pub fn check(law: &Law, name: &str, to: &[Prefix]) -> Result<()> {
    check_name(name).map_err(|why| of_bpf(&why))?;
    if !to.is_empty() {
        super::base_of(law)?;
    }
    let most = MAX_CLASSES as usize - 1;
    if to.len() > most {
        return Err(plain(&format!("--to: at most {most} prefixes have settings of their own")));
    }
    Ok(())
}

/// A controller that is loaded and stays.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// Its name.
    pub name: String,
    /// What is there of it.
    pub pinned: Pinned,
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
            Self { name, pinned: Pinned::in_folder(&folder), folder }
        };
        names.into_iter().map(loaded).collect()
    }

    /// The one of this name. No name in a kernel has a hyphen: `ecn-star` is called `ecn_star` there.
    ///
    /// # Errors
    /// If there is none.
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

    /// Loads one that stays. What is set is for destinations with these prefixes, if there are some: others have the
    /// same capacity and otherwise the defaults.
    ///
    /// # Errors
    /// If this machine cannot, or there is one of this name. Nothing is left then.
    pub fn load(law: &Law, name: &str, to: &[Prefix]) -> Result<Self> {
        check(law, name, to)?;
        ready()?;
        keeps()?;
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
        let mut loaded = Controller::load(&base, name).map_err(|why| of_bpf(&why))?;
        if let Law::Gemini(set) = law {
            loaded.set(set, to).map_err(|why| of_bpf(&why))?;
        }
        loaded.pin(&folder, Path::new(ROOT)).map_err(|why| of_bpf(&why))?;
        Ok(Self { name: name.to_owned(), pinned: Pinned::Whole(law.program()), folder })
    }

    /// What is set of it.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn settings(&self) -> Result<Settings> {
        self.program()?;
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
        to.iter()
            .try_for_each(|prefix| change(before(prefix).map_or(&base, |(_, set)| set), &[*prefix]))
    }

    /// Its program, if all of it is there.
    ///
    /// # Errors
    /// If only a part of it is.
    pub fn program(&self) -> Result<Program> {
        match self.pinned {
            Pinned::Whole(program) => Ok(program),
            Pinned::Part => {
                let what = format!(
                    "only a part of \"{}\" is there: a command was ended halfway",
                    self.name
                );
                Err(with_help(&what, &format!("shallop host unload {}", self.name)))
            }
        }
    }

    /// What tells of its connections in the network namespace of this process.
    ///
    /// # Errors
    /// If the kernel refuses to.
    pub fn watch(&self) -> Result<Watched> {
        let program = self.program()?;
        Watch::open(program, &self.name).map(Watched::new).map_err(|why| of_bpf(&why))
    }

    /// Takes it out. Connections that have it keep it until they end.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub fn unload(&self) -> Result<()> {
        controller::unpin(&self.folder, Path::new(ROOT)).map_err(|why| of_bpf(&why))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot make its input should fail there")]

    use super::*;

    #[test]
    fn a_mount_that_would_be_lost_is_not_advised() {
        let (entered, machines) = (no_place(Some("one")), no_place(None));
        assert!(entered.ends_with("\nnsenter --net=/run/netns/one shallop ..."), "{entered}");
        assert!(!entered.contains("mount") && machines.contains("\nmount -t bpf"), "{machines}");
    }

    #[test]
    fn what_could_not_be_loaded_is_known_before() {
        let set = [("capacity".to_owned(), "1Gbps".to_owned())];
        let gemini = super::super::law(Program::Gemini, &set).unwrap();
        let to = |count: u8| -> Vec<Prefix> {
            (0..count).map(|of| format!("10.{of}.0.0/16").parse().unwrap()).collect()
        };
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

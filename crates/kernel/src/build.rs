//! Builds a kernel for hosts in virtual time from Debian's source package: unpacks the source, makes four small
//! changes, configures it (`agent/config`), compiles the kernel and the agent, and installs them in a folder that
//! appears in one step. The source is removed afterwards.

use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub use crate::build_step::BuildError;
use crate::build_step::{file, step};
use crate::folder::Folder;
use crate::installed::{self, Installed};
use crate::modules::{self, FOLDER, GEMINI, MODULE_SYMBOLS, SYMBOLS, short};
use crate::process::dies_with_us;

/// The kernel configuration, the sources of the agent, and the library that replaces `getrandom`.
const CONFIG: &str = include_str!("../agent/config");
const AGENT: [(&str, &str); 6] = [
    ("agent.c", include_str!("../agent/agent.c")),
    ("programs.c", include_str!("../agent/programs.c")),
    ("console.c", include_str!("../agent/console.c")),
    ("report.c", include_str!("../agent/report.c")),
    ("record.c", include_str!("../agent/record.c")),
    ("agent.h", include_str!("../agent/agent.h")),
];
const RANDOM: (&str, &str) = ("getrandom.c", include_str!("../agent/getrandom.c"));

/// The folder in which Debian's packages install kernel sources.
const SOURCES: &str = "/usr/src";
/// The Debian packages that building the newest kernel needs.
const PACKAGES: [&str; 8] = ["linux-source-6.12", "make", "gcc", "libc6-dev", "flex", "bison", "bc", "xz-utils"];
/// Programs of [`PACKAGES`]: the packages are installed if one of these programs is missing.
const PROGRAMS: [&str; 6] = ["make", "cc", "flex", "bison", "bc", "xz"];

/// A textual change of a source file.
struct Change {
    file: &'static str,
    from: &'static str,
    to: &'static str,
}

/// Changes for many network cards, a configurable timer frequency, and processors with large register sets.
const CHANGES: [Change; 4] = [
    // The frequency has no prompt, so a configuration could not set it.
    Change { file: "arch/um/Kconfig", from: "config HZ\n\tint\n", to: "config HZ\n\tint \"Timer frequency\"\n" },
    // Each network card needs two interrupts.
    Change { file: "arch/um/include/asm/irq.h", from: "UM_LAST_SIGNAL_IRQ\t64", to: "UM_LAST_SIGNAL_IRQ\t512" },
    // The registers of a process have up to 11,008 bytes on processors with AMX, and Linux restores all of them.
    Change {
        file: "arch/x86/um/user-offsets.c",
        from: "DEFINE_LONGS(HOST_FP_SIZE, 2696);",
        to: "DEFINE_LONGS(HOST_FP_SIZE, 16384);",
    },
    // The command line names a device for each network card.
    Change { file: "arch/um/include/asm/setup.h", from: "COMMAND_LINE_SIZE 4096", to: "COMMAND_LINE_SIZE 32768" },
];

/// The archives of kernel sources on this machine, in ascending order of release.
pub fn sources() -> Vec<PathBuf> {
    let entries = fs::read_dir(SOURCES).into_iter().flatten().flatten();
    let is_source = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("linux-source-") && name.ends_with(".tar.xz")
    };
    let mut found: Vec<_> = entries.map(|entry| entry.path()).filter(is_source).collect();
    found.sort_by_cached_key(|path| installed::numbers(&path.to_string_lossy()));
    found
}

/// Installs the missing Debian packages if this process is root.
///
/// # Errors
/// Without root: the command that installs the missing packages.
pub fn install_packages() -> Result<(), BuildError> {
    let is_there = |program: &&str| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
    };
    if !sources().is_empty() && PROGRAMS.iter().all(is_there) {
        return Ok(());
    }
    let by_hand = format!("sudo apt-get install {}", PACKAGES.join(" "));
    if !rustix::process::geteuid().is_root() || !is_there(&"apt-get") {
        let message = format!("the source of a kernel and the tools to build it are needed: {by_hand}");
        return Err(BuildError::Missing(message));
    }
    let mut apt = Command::new("apt-get");
    apt.args(["install", "-qq", "-y", "--no-install-recommends"]).args(PACKAGES);
    let mut update = Command::new("apt-get");
    update.args(["update", "-qq"]);
    step("apt-get update", &mut update)?;
    step("apt-get install", &mut apt)
}

/// Whether the source archive of a release, such as 6.12, can give the wanted release, such as 6.12 or 6.12.48.
fn has_release(source: &str, wanted: &str) -> bool {
    wanted.strip_prefix(source).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Builds the wanted release, or the newest kernel whose source this machine has, with this number of parallel jobs.
/// `tell` receives the name of each step.
///
/// # Errors
/// The step that failed, with its last lines of output. Nothing is left behind then, nor if this process is killed.
pub fn build(
    folder: &Path, wanted: Option<&str>, jobs: usize, tell: &mut dyn FnMut(&str),
) -> Result<Installed, BuildError> {
    let archive = archive_of(wanted)?;
    fs::create_dir_all(folder).map_err(file(folder))?;
    // In the folder of kernels, so that one rename moves the result into place.
    let work = Folder::new_in(folder, ".build-")?;
    let built = Build { name: release_of(&archive), work: work.path(), jobs };
    built.all(&archive, folder, tell)
}

/// Builds a module for an installed kernel from a C file and the headers in its folder, with this number of parallel
/// jobs, and puts the module into the kernel's folder. `tell` receives the name of each step.
///
/// # Errors
/// Errors of [`build`], or the compiler's messages about the module.
pub fn build_module(
    folder: &Path, kernel: &Installed, source: &Path, jobs: usize, tell: &mut dyn FnMut(&str),
) -> Result<PathBuf, BuildError> {
    let name = modules::name_of(source)?;
    let of_kernel = |name: &str| kernel.program.with_file_name(name);
    let symbols = of_kernel(SYMBOLS);
    if !symbols.is_file() {
        let release = &kernel.release;
        let message = format!("Linux {release} was built without what modules need: build it anew");
        return Err(BuildError::Missing(message));
    }
    let archive = archive_of(Some(&kernel.release))?;
    let work = Folder::new_in(folder, ".build-")?;
    let built = Build { name: release_of(&archive), work: work.path(), jobs };
    let beside = work.path().join("module");
    modules::copy(source, &beside)?;
    built.unpack(&archive, tell)?;
    let out = work.path().join("out");
    for (from, to) in [(of_kernel("config"), ".config"), (symbols, MODULE_SYMBOLS)] {
        fs::copy(&from, out.join(to)).map_err(file(&from))?;
    }
    tell("preparing it for modules");
    modules::prepare(&|| built.make(), jobs)?;
    let release = built.release()?;
    if release != kernel.release {
        let message = format!("the source is now that of {release}: build the kernel anew");
        return Err(BuildError::Source(kernel.release.clone(), message));
    }
    tell(&format!("compiling {name}"));
    let module = modules::compile(name, &beside, &|| built.make())?;
    let place = of_kernel(FOLDER);
    fs::create_dir_all(&place).map_err(file(&place))?;
    let place = place.join(format!("{name}.ko"));
    fs::rename(&module, &place).map_err(file(&place))?;
    Ok(place)
}

/// The kernel release in the name of a source archive.
fn release_of(path: &Path) -> String {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.trim_start_matches("linux-source-").trim_end_matches(".tar.xz").to_owned()
}

/// Finds the source archive of the wanted release, or of the newest release that this machine has.
fn archive_of(wanted: Option<&str>) -> Result<PathBuf, BuildError> {
    let fits = |path: &PathBuf| wanted.is_none_or(|wanted| has_release(&release_of(path), wanted));
    sources().into_iter().rfind(fits).ok_or_else(|| {
        let name = wanted.unwrap_or("6.12");
        BuildError::Missing(format!("no source of {name}: sudo apt-get install linux-source-{name}"))
    })
}

struct Build<'a> {
    name: String,
    work: &'a Path,
    jobs: usize,
}

impl Build<'_> {
    fn all(&self, archive: &Path, folder: &Path, tell: &mut dyn FnMut(&str)) -> Result<Installed, BuildError> {
        self.unpack(archive, tell)?;
        tell("configuring it");
        let wanted = self.work.join("wanted");
        fs::write(&wanted, CONFIG).map_err(file(&wanted))?;
        step(
            "make allnoconfig",
            self.make().arg(format!("KCONFIG_ALLCONFIG={}", wanted.display())).arg("allnoconfig"),
        )?;
        tell("compiling it, which takes a few minutes");
        step("make linux", self.make().arg(format!("-j{}", self.jobs)).arg("linux"))?;
        tell("compiling the agent and the module of Gemini");
        self.install(&self.work.join("out"), folder)
    }

    /// Unpacks the source, changes it, and makes a folder for the compiled files.
    fn unpack(&self, archive: &Path, tell: &mut dyn FnMut(&str)) -> Result<(), BuildError> {
        tell(&format!("unpacking the source of Linux {}", self.name));
        let [source, out] = ["source", "out"].map(|name| self.work.join(name));
        for folder in [&source, &out] {
            fs::create_dir(folder).map_err(file(folder))?;
        }
        let mut tar = dies_with_us("tar");
        tar.args(["--strip-components=1", "-xf"]).arg(archive).arg("-C").arg(&source);
        step("tar", &mut tar)?;
        self.change(&source)
    }

    fn make(&self) -> Command {
        let [source, out] = ["source", "out"].map(|name| self.work.join(name));
        let mut make = dies_with_us("make");
        make.arg("-C").arg(source).arg("ARCH=um").arg(format!("O={}", out.display()));
        make
    }

    /// The full release of the source, such as 6.12.48.
    fn release(&self) -> Result<String, BuildError> {
        let path = self.work.join("out/include/config/kernel.release");
        let text = fs::read_to_string(&path).map_err(file(&path))?;
        Ok(text.trim().trim_end_matches("-shallop").to_owned())
    }

    /// Compiles the module of Gemini, and puts it into the kernel's new folder, together with the symbols that other
    /// modules need.
    fn modules(&self, out: &Path, whole: &Path) -> Result<(), BuildError> {
        let work = self.work.join("module");
        fs::create_dir(&work).map_err(file(&work))?;
        for (name, text) in GEMINI {
            let path = work.join(name);
            fs::write(&path, text).map_err(file(&path))?;
        }
        // A kernel without modules writes its list of symbols under another name.
        let symbols = out.join("vmlinux.symvers");
        fs::copy(&symbols, out.join(MODULE_SYMBOLS)).map_err(file(&symbols))?;
        modules::prepare(&|| self.make(), self.jobs)?;
        let module = modules::compile("gemini", &work, &|| self.make())?;
        let place = whole.join(FOLDER);
        fs::create_dir(&place).map_err(file(&place))?;
        fs::copy(&module, place.join("gemini.ko")).map_err(file(&module))?;
        fs::copy(&symbols, whole.join(SYMBOLS)).map_err(file(&symbols))?;
        Ok(())
    }

    fn change(&self, source: &Path) -> Result<(), BuildError> {
        for Change { file: name, from, to } in &CHANGES {
            let path = source.join(name);
            let text = fs::read_to_string(&path).map_err(file(&path))?;
            if !text.contains(from) {
                return Err(BuildError::Source(self.name.clone(), format!("{name} has no \"{from}\"")));
            }
            fs::write(&path, text.replacen(from, to, 1)).map_err(file(&path))?;
        }
        Ok(())
    }

    /// Collects all files in a folder and moves the folder into place.
    fn install(&self, out: &Path, folder: &Path) -> Result<Installed, BuildError> {
        let whole = self.work.join("whole");
        fs::create_dir(&whole).map_err(file(&whole))?;
        let program = whole.join("linux");
        fs::copy(out.join("linux"), &program).map_err(file(&program))?;
        for (name, text) in AGENT.iter().chain([&RANDOM]) {
            let path = self.work.join(name);
            fs::write(&path, text).map_err(file(&path))?;
        }
        let parts = AGENT.iter().map(|(name, _)| *name).filter(|&name| name != "agent.h");
        let agent = ["-O2", "-static", "-s", "-o", "whole/agent"].into_iter().chain(parts).collect();
        let random = vec!["-O2", "-shared", "-fPIC", "-o", "whole/getrandom.so", RANDOM.0];
        for arguments in [agent, random] {
            let mut cc = dies_with_us("cc");
            step("cc", cc.args(arguments).current_dir(self.work))?;
        }
        let config = fs::read(out.join(".config")).map_err(file(out))?;
        self.modules(out, &whole)?;
        let sources = AGENT.iter().chain([&RANDOM]).chain(&GEMINI);
        let digest = short(sources.fold(Sha256::new().chain_update(&config), |all, (_, text)| all.chain_update(text)));
        let release = self.release()?;
        for (name, contents) in [("config", &config[..]), ("digest", digest.as_bytes())] {
            let path = whole.join(name);
            fs::write(&path, contents).map_err(file(&path))?;
        }
        let place = folder.join(&release);
        if place.exists() {
            fs::rename(&place, self.work.join("old")).map_err(file(&place))?;
        }
        fs::rename(&whole, &place).map_err(file(&place))?;
        let missing = || BuildError::Source(release, "the installed folder is not whole".into());
        installed::installed(&place).ok_or_else(missing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_has_the_releases_that_begin_with_its_numbers() {
        for (source, wanted, has) in [
            ("6.12", "6.12", true),
            ("6.12", "6.12.48", true),
            ("6.1", "6.12", false),
            ("6.12", "6.1", false),
            ("6.12", "6", false),
        ] {
            assert_eq!(has_release(source, wanted), has, "{source} {wanted}");
        }
    }

    #[test]
    fn a_step_that_fails_says_its_last_lines() {
        let mut shell = Command::new("sh");
        shell.args(["-c", "for n in $(seq 30); do echo line $n; done; exit 3"]);
        let said = step("counting", &mut shell).map_err(|why| why.to_string());
        let Err(said) = said else { panic!("exit code 3 is no success") };
        assert!(said.starts_with("counting failed"), "{said}");
        assert!(said.ends_with("line 29\nline 30") && !said.contains("line 15\n"), "{said}");
    }
}

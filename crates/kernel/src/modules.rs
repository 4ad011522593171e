//! Congestion controllers as kernel modules: Gemini, and controllers of users. A module is the file `modules/NAME.ko`
//! in the folder of its kernel; NAME is the name of its source file.

use crate::build_step::{BuildError, file, step};
use crate::installed::Installed;
use sha2::{Digest, Sha256};
use shallop_control::gemini::Config;
use shallop_core::BitsPerSec;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The source files of Gemini's module.
pub(crate) const GEMINI: [(&str, &str); 2] =
    [("gemini.c", shallop_bpf::GEMINI_MODULE), ("gemini.h", shallop_bpf::GEMINI_HEADER)];
/// The name of the folder of modules, in the folder of a kernel.
pub(crate) const FOLDER: &str = "modules";
/// The name of the file of symbols that modules may use, in the folder of a kernel.
pub(crate) const SYMBOLS: &str = "symbols";
/// The name of the file of symbols in the tree where a kernel is built; it is installed as [`SYMBOLS`].
pub(crate) const MODULE_SYMBOLS: &str = "Module.symvers";

/// A module that kernels load before they make their hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Module {
    pub name: String,
    /// The module's parameters, such as `"window=20 gain=3"`.
    pub parameters: String,
}

impl Installed {
    /// The path of a module of this kernel.
    ///
    /// # Errors
    /// If the kernel lacks the module, with the command that builds it.
    pub fn module(&self, name: &str) -> Result<PathBuf, String> {
        let folder = self.program.with_file_name(FOLDER);
        let path = folder.join(format!("{name}.ko"));
        if path.is_file() {
            return Ok(path);
        }
        let release = &self.release;
        let how = if name == "gemini" {
            "'shallop kernel build' makes it with the kernel".to_owned()
        } else {
            format!("'shallop kernel module {name}.c' makes it")
        };
        Err(format!("Linux {release} has no module \"{name}\": {how}"))
    }

    /// The digest of this kernel together with a module; the digest of the kernel alone without a module.
    pub fn digest_with(&self, module: Option<&str>) -> String {
        let Some(path) = module.and_then(|name| self.module(name).ok()) else {
            return self.digest.clone();
        };
        let bytes = fs::read(path).unwrap_or_default();
        short(Sha256::new().chain_update(&self.digest).chain_update(bytes))
    }
}

/// The first 64 bits of a digest, in hexadecimal digits.
pub(crate) fn short(digest: Sha256) -> String {
    let digest = digest.finalize();
    let digest = digest.iter().take(8).fold(0_u64, |all, &byte| all << 8 | u64::from(byte));
    format!("{digest:016x}")
}

/// Compiles a module whose source is in the folder `work`. `make` is the command with a prepared kernel tree.
///
/// # Errors
/// If the compiler fails, with its output.
pub(crate) fn compile(name: &str, work: &Path, make: &dyn Fn() -> Command) -> Result<PathBuf, BuildError> {
    let list = work.join("Makefile");
    fs::write(&list, format!("obj-m := {name}.o\n")).map_err(file(&list))?;
    step("make modules", make().arg(format!("M={}", work.display())).arg("modules"))?;
    Ok(work.join(format!("{name}.ko")))
}

/// Prepares a kernel tree for modules, without building the kernel.
///
/// # Errors
/// If `make` fails, with its output.
pub(crate) fn prepare(make: &dyn Fn() -> Command, jobs: usize) -> Result<(), BuildError> {
    step("make modules_prepare", make().arg(format!("-j{jobs}")).arg("modules_prepare"))
}

/// The name of the module with this source file.
///
/// # Errors
/// Unless the file is NAME.c, where NAME has only letters, digits and underscores.
pub(crate) fn name_of(source: &Path) -> Result<&str, BuildError> {
    let name = source.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
    let is_c = source.extension().is_some_and(|extension| extension == "c");
    let is_name =
        |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if is_c && is_name(name) {
        return Ok(name);
    }
    let path = source.display();
    let what = "a file of C, NAME.c, whose name has letters, digits and underscores alone";
    Err(BuildError::Missing(format!("{path} is no source of a module: it has to be {what}")))
}

/// Copies the source of a module, and the headers beside it, into a new folder.
///
/// # Errors
/// If a file cannot be read or written.
pub(crate) fn copy(source: &Path, to: &Path) -> Result<(), BuildError> {
    fs::create_dir(to).map_err(file(to))?;
    let from = source.parent().filter(|path| !path.as_os_str().is_empty());
    let from = from.unwrap_or(Path::new("."));
    let entries = fs::read_dir(from).map_err(file(from))?.flatten().map(|entry| entry.path());
    let headers = entries.filter(|path| path.extension().is_some_and(|kind| kind == "h"));
    for path in headers.chain([source.to_owned()]) {
        let Some(name) = path.file_name() else { continue };
        fs::copy(&path, to.join(name)).map_err(file(&path))?;
    }
    Ok(())
}

/// Gemini's module with the parameters for these options and for senders whose links have this rate.
pub fn gemini(config: &Config, link: BitsPerSec) -> Module {
    let of = config.integers(link);
    let values = [
        ("capacity_kbps", of.capacity_kbps),
        ("mark_bytes", of.mark_bytes),
        ("threshold_us", of.threshold_ns / 1_000),
        ("decrease", of.decrease),
        ("increase", of.increase),
        ("alpha_shift", u64::from(of.alpha_shift)),
        ("uses_marks", u64::from(of.dcn)),
        ("uses_delay", u64::from(of.wan)),
        ("recount", u64::from(of.recount)),
    ];
    let parameters = values.map(|(name, value)| format!("{name}={value}"));
    Module { name: "gemini".to_owned(), parameters: parameters.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_options_of_gemini_equal_those_of_its_module() {
        let module = gemini(&Config::THESIS, BitsPerSec::gbps(10));
        let (_, source) = GEMINI[0];
        for (name, value) in module.parameters.split(' ').filter_map(|word| word.split_once('=')) {
            let is_bool = ["uses_marks", "uses_delay", "recount"].contains(&name);
            let value = if is_bool && value == "1" { "true" } else { value };
            let line = format!(", {name}, {value}, ");
            assert!(source.contains(&line), "{line}");
        }
    }

    #[test]
    fn a_module_is_named_by_its_source() {
        assert_eq!(name_of(Path::new("a/fixed_2.c")).ok(), Some("fixed_2"));
        for wrong in ["fixed", "fixed.h", "a b.c", ".c", "fix-ed.c"] {
            let said = name_of(Path::new(wrong)).map_err(|why| why.to_string());
            assert!(said.is_err_and(|said| said.contains("NAME.c")), "{wrong}");
        }
    }
}

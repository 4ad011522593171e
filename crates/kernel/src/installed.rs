//! Installed kernels: one folder for each, made by `shallop kernel build`.

use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// The release of Linux, such as 6.12.48.
    pub release: String,
    /// The path of the kernel's program (User-Mode Linux).
    pub program: PathBuf,
    /// The path of the agent, the first process of the kernel.
    pub agent: PathBuf,
    /// The path of the library that makes the kernel's random numbers repeatable.
    pub preload: PathBuf,
    /// A digest of the kernel's configuration and of the agent's sources.
    pub digest: String,
}

/// The error message without any installed kernel.
pub const HOW_TO_GET_ONE: &str = "no kernel is installed: 'shallop kernel build' makes one in a few minutes, from \
    Debian's linux-source";

/// The environment variable with the folder of kernels.
pub const FOLDER_VARIABLE: &str = "SHALLOP_KERNELS";

/// The folder of kernels: `SHALLOP_KERNELS`, or `kernels` in [`data_folder`].
///
/// # Errors
/// No variable of the environment says where.
pub fn folder() -> Result<PathBuf, String> {
    let folder = variable(FOLDER_VARIABLE).or_else(|| Some(data_folder()?.join("kernels")));
    folder.ok_or_else(|| format!("the folder of kernels is not known: set {FOLDER_VARIABLE} or HOME"))
}

/// The folder of data that is kept between commands: `shallop` in `XDG_DATA_HOME` or `~/.local/share`.
pub fn data_folder() -> Option<PathBuf> {
    let data = variable("XDG_DATA_HOME").or_else(|| Some(variable("HOME")?.join(".local/share")));
    Some(data?.join("shallop"))
}

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// The kernels in a folder, in ascending order of release.
pub fn list(folder: &Path) -> Vec<Installed> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<_> = entries.filter_map(|entry| installed(&entry.path())).collect();
    found.sort_by_cached_key(|kernel| numbers(&kernel.release));
    found
}

/// The numbers in the name of a release: 6, 12 and 48 of 6.12.48. Releases are ordered by them.
pub(crate) fn numbers(release: &str) -> Vec<u64> {
    release.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

/// The kernel in this folder, if all its files exist.
pub fn installed(folder: &Path) -> Option<Installed> {
    let release = folder.file_name()?.to_str()?.to_owned();
    let file = |name: &str| Some(folder.join(name)).filter(|path| path.is_file());
    let digest = std::fs::read_to_string(file("digest")?).ok()?.trim().to_owned();
    let (program, agent, preload) = (file("linux")?, file("agent")?, file("getrandom.so")?);
    Some(Installed { release, program, agent, preload, digest })
}

/// The newest kernel whose release begins with `wanted`, or the newest of all.
///
/// # Errors
/// A message that says how to get a kernel, or which ones exist.
pub fn find(folder: &Path, wanted: Option<&str>) -> Result<Installed, String> {
    let mut found = list(folder);
    let Some(wanted) = wanted else { return found.pop().ok_or(HOW_TO_GET_ONE.to_owned()) };
    let fits = |kernel: &Installed| {
        let rest = kernel.release.strip_prefix(wanted);
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    let known: Vec<_> = found.iter().map(|kernel| kernel.release.clone()).collect();
    let kernel = found.into_iter().rfind(fits);
    kernel.ok_or_else(|| {
        if known.is_empty() {
            return HOW_TO_GET_ONE.to_owned();
        }
        format!("no kernel {wanted} is installed; there is {}", known.join(", "))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot make its input should fail there")]

    use super::*;

    fn kernels(releases: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for release in releases {
            let of = folder.path().join(release);
            std::fs::create_dir(&of).unwrap();
            for file in ["linux", "agent", "getrandom.so", "digest"] {
                std::fs::write(of.join(file), release).unwrap();
            }
        }
        folder
    }

    #[test]
    fn the_newest_release_is_found_and_a_part_of_a_number_is_no_release() {
        let folder = kernels(&["6.1.140", "6.12.9", "6.12.48"]);
        let find = |wanted| find(folder.path(), wanted).map(|kernel| kernel.release);
        assert_eq!(find(None).as_deref(), Ok("6.12.48"));
        assert_eq!(find(Some("6.1")).as_deref(), Ok("6.1.140"));
        assert!(find(Some("6.13")).unwrap_err().contains("6.12.48"));
    }

    #[test]
    fn without_a_kernel_the_error_says_how_to_get_one() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("6.12")).unwrap();
        assert_eq!(find(folder.path(), None), Err(HOW_TO_GET_ONE.to_owned()));
    }
}

//! Starts a process with its output in files, a time limit, and no standard input.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs::File, path::Path};

/// The time limit of a job. A test that hangs ends after it.
pub const JOB_LIMIT: Duration = Duration::from_secs(60 * 60);
/// The time limit of a step of the full check.
pub const STEP_LIMIT: Duration = Duration::from_secs(3 * 60 * 60);

pub struct Ended {
    pub success: bool,
    /// The exit status in words.
    pub how: String,
    pub seconds: f64,
}

/// Runs a process, its standard output and standard error in one file each.
pub fn run(command: &mut Command, limit: Duration, out: &Path, err: &Path) -> Result<Ended, String> {
    let file = |path: &Path| File::create(path).map_err(|why| format!("{}: {why}", path.display()));
    command.stdin(Stdio::null()).stdout(file(out)?).stderr(file(err)?);
    let begin = Instant::now();
    let name = command.get_program().to_string_lossy().into_owned();
    let started = without_cargos_variables(command).spawn();
    let mut child = started.map_err(|why| format!("{name}: could not be started: {why}"))?;
    loop {
        let status = child.try_wait().map_err(|why| format!("{name}: {why}"))?;
        let seconds = begin.elapsed().as_secs_f64();
        if let Some(status) = status {
            return Ok(Ended { success: status.success(), how: status.to_string(), seconds });
        }
        if begin.elapsed() > limit {
            let _ = child.kill().and_then(|()| child.wait().map(drop));
            let how = format!("killed after {} min", limit.as_secs() / 60);
            return Ok(Ended { success: false, how, seconds });
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Removes the variables that `cargo run` sets. Build scripts watch them, so a cargo started with them would compile
/// ring, and everything that depends on it, again.
pub fn without_cargos_variables(command: &mut Command) -> &mut Command {
    let of_cargo = |name: &str| {
        ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_", "CARGO_PRIMARY_"]
            .iter()
            .any(|prefix| name.starts_with(prefix))
    };
    let set: Vec<_> = command.get_envs().map(|(name, _)| name.to_os_string()).collect();
    for (name, _) in std::env::vars_os() {
        if !set.contains(&name) && name.to_str().is_some_and(of_cargo) {
            command.env_remove(name);
        }
    }
    command
}

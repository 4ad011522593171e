//! A folder that does not outlive us, whatever ends us: another process waits for our end and removes it then, with the
//! processes that work in it. Kernels are started in one, and built in one.

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use crate::error::KernelError;

/// A folder that is removed when this value is dropped, and by another process if this one is killed before.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    remover: Remover,
}

impl Folder {
    /// A new empty folder in `parent`, whose name begins with `prefix`.
    ///
    /// # Errors
    /// If there is no place for it.
    pub fn new_in(parent: &Path, prefix: &str) -> Result<Self, KernelError> {
        // The remover comes first, so that there is no moment at which the folder would stay.
        let make = |path: &Path| {
            let mut remover = Remover::start(path)?;
            let created = std::fs::DirBuilder::new().mode(0o700).create(path);
            // Somebody else may have a folder of this name.
            created.inspect_err(|_| remover.end()).map(|()| remover)
        };
        let folder = tempfile::Builder::new().prefix(prefix).make_in(parent, make);
        let folder = folder.map_err(KernelError::io("a folder for kernels"))?;
        let (remover, path) = folder.into_parts();
        let path = path.keep().map_err(|why| KernelError::io("a folder")(why.error))?;
        Ok(Self { path, remover })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed now is left to the remover.
        if std::fs::remove_dir_all(&self.path).is_ok() {
            self.remover.end();
        }
    }
}

/// A process that removes a folder when we end, however that happens: a pipe closes then. Other processes end at
/// the same moment, and may write into the folder while it is being removed, so it tries again for a minute.
#[derive(Debug)]
struct Remover {
    process: Child,
    /// Held open; the process waits for its end.
    #[expect(dead_code, reason = "it is closed when this value is dropped, or we end")]
    alive: Option<ChildStdin>,
}

/// Processes that work in the folder are ended too: a kernel that is killed while it tries how to trace others leaves
/// one that is stopped for ever (`check_ptrace` of User-Mode Linux).
const REMOVE: &str = r#"end_all() {
    for process in /proc/[0-9]*; do
        case $(readlink "$process/cwd") in
            "$1" | "$1/"* | "$1 (deleted)") kill -KILL "${process#/proc/}" ;;
        esac
    done
}
read -r _
try=0
while [ $try -lt 120 ]; do
    try=$((try + 1))
    end_all "$1"
    rm -rf -- "$1" && sleep 0.1 && end_all "$1" && [ ! -e "$1" ] && exit
    sleep 0.5
done"#;

impl Remover {
    fn start(folder: &Path) -> std::io::Result<Self> {
        let mut command = Command::new("setsid");
        command.args(["sh", "-c", REMOVE, "sh"]).arg(folder);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut process = command.spawn()?;
        let alive = process.stdin.take();
        Ok(Self { process, alive })
    }

    /// Ends the process; there is nothing to remove.
    fn end(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

//! A temporary folder that does not outlive this process, however it ends: a second process waits for the end, kills
//! the processes that work in the folder, and removes it. Kernels are built and started in such folders.

use crate::error::KernelError;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

/// A folder that is removed when this value is dropped, or by a second process if this one is killed.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    remover: Remover,
}

impl Folder {
    /// A new empty folder in `parent`, whose name begins with `prefix`.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn new_in(parent: &Path, prefix: &str) -> Result<Self, KernelError> {
        // The remover starts first, so that the folder is removed even if this process is killed right after creating
        // it.
        let make = |path: &Path| {
            let mut remover = Remover::start(path)?;
            let created = std::fs::DirBuilder::new().mode(0o700).create(path);
            // Creating fails if another process has a folder of this name.
            created.inspect_err(|_| remover.end()).map(|()| remover)
        };
        let folder = tempfile::Builder::new().prefix(prefix).make_in(parent, make);
        let folder = folder.map_err(KernelError::io("a folder for kernels"))?;
        let (remover, path) = folder.into_parts();
        let path = path.keep().map_err(|why| KernelError::io("a folder")(why.error))?;
        Ok(Self { path, remover })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // The remover removes what cannot be removed now.
        if std::fs::remove_dir_all(&self.path).is_ok() {
            self.remover.end();
        }
    }
}

/// A process that removes a folder when this process ends, which the remover notices by a closed pipe. Other processes
/// end at that moment too, and may still write into the folder, so the remover tries again for a minute.
#[derive(Debug)]
struct Remover {
    process: Child,
    /// The write end of the pipe; the remover waits until it is closed.
    #[expect(dead_code, reason = "it is closed when this value is dropped, or this process ends")]
    alive: Option<ChildStdin>,
}

/// The script of the remover. It also kills the processes that work in the folder: a kernel that is killed during its
/// check of ptrace leaves a process that is stopped forever (`check_ptrace` of User-Mode Linux).
const REMOVE: &str = include_str!("folder/remove.sh");

impl Remover {
    fn start(folder: &Path) -> std::io::Result<Self> {
        let mut command = Command::new("setsid");
        command.args(["sh", "-c", REMOVE, "sh"]).arg(folder);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut process = command.spawn()?;
        let alive = process.stdin.take();
        Ok(Self { process, alive })
    }

    /// Kills the remover, which is not needed once the folder is gone.
    fn end(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

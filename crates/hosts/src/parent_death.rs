//! Starts programs that end with their parent process, however the parent ends.
//!
//! `setpriv --pdeathsig` makes the kernel kill a process when its parent ends. If the parent has ended before, the
//! kernel does nothing, so the program is started only if the parent still lives after `setpriv`.

/// Shell text that starts the rest of its arguments if its parent is the process `$1`.
const IF_PARENT_LIVES: &str = r#"test "$PPID" = "$1" && shift && exec "$@""#;

/// The words before a program and its arguments. `parent` is the number of the process that starts them.
pub fn command_prefix(parent: u32) -> Vec<String> {
    let parent = parent.to_string();
    let words = ["setpriv", "--pdeathsig", "KILL", "sh", "-c", IF_PARENT_LIVES, "sh", &parent];
    words.map(str::to_owned).to_vec()
}

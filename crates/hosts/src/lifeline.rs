//! What starts a program that ends with the process that has started it, however that ends.
//!
//! `setpriv --pdeathsig` asks for a signal when the parent ends. A parent that has ended before that is never told of,
//! so the program is started only if the parent is still there after it.

/// Starts the rest of its arguments if its parent is the process `$1`.
const IF_PARENT_LIVES: &str = r#"test "$PPID" = "$1" && shift && exec "$@""#;

/// The words before a program and its arguments, in the process with this number.
pub fn words(parent: u32) -> Vec<String> {
    let parent = parent.to_string();
    let words = ["setpriv", "--pdeathsig", "KILL", "sh", "-c", IF_PARENT_LIVES, "sh", &parent];
    words.map(str::to_owned).to_vec()
}

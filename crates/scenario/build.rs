//! Makes cargo rebuild this crate when a file is added to the experiments, which are compiled in.

#[expect(clippy::disallowed_macros, reason = "cargo reads it")]
fn main() {
    println!("cargo:rerun-if-changed=experiments");
}

//! Tells cargo to build this crate again when a file is added to the experiments, which are built in.

fn main() {
    println!("cargo:rerun-if-changed=experiments");
}

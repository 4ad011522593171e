//! Makes cargo rebuild this crate when a file is added to the experiments, which are compiled in.

fn main() {
    println!("cargo:rerun-if-changed=experiments");
}

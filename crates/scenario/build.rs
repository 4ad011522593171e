//! What cargo cannot see by itself: a new file among the experiments, which are built in.

fn main() {
    println!("cargo:rerun-if-changed=../../experiments");
}

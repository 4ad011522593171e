//! Experiments are built in; a new file among them must be noticed, which the macro that reads them cannot do.

fn main() {
    println!("cargo:rerun-if-changed=../../experiments");
}

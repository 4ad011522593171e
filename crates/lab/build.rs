//! Experiments are built in; a new file among them must be noticed, which the macro that reads them cannot do.

#![expect(clippy::print_stdout, reason = "this is how a build script speaks to cargo")]

fn main() {
    println!("cargo:rerun-if-changed=../../experiments");
}

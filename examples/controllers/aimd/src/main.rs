//! The command `shallop` with the controller AIMD.

mod aimd;

use std::process::ExitCode;

use shallop_control::Added;

fn main() -> ExitCode {
    shallop::main_with(const { &[Added::of::<aimd::Config>()] })
}

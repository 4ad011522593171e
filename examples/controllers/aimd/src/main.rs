//! The command `shallop` with the controller AIMD.

mod aimd;

use shallop_control::Added;
use std::process::ExitCode;

fn main() -> ExitCode {
    shallop::main_with(const { &[Added::of::<aimd::Config>()] })
}

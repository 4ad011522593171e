//! The command `shallop`.

use std::process::ExitCode;

fn main() -> ExitCode {
    shallop::main()
}

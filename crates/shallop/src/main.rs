//! The command `shallop`.

use mimalloc::MiMalloc;
use std::process::ExitCode;

/// Uses large pages where the kernel grants them: with thousands of flows, a simulator touches hundreds of megabytes.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    shallop::main()
}

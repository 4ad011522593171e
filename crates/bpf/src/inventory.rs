//! What the kernel has of programs of all processes.

/// A program that the kernel has.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LoadedProgram {
    /// Its number.
    pub id: u32,
    /// Its name, of which the kernel keeps 15 letters.
    pub name: String,
    /// Instructions that the verifier went through, on all ways through the program.
    pub verified_instructions: u32,
    /// Instructions of the program.
    pub instructions: usize,
    /// Bytes of machine code.
    pub machine_bytes: usize,
    /// Calls, and nanoseconds that they took, if `kernel.bpf_stats_enabled` is set.
    pub calls: u64,
    /// See `calls`.
    pub nanoseconds: u64,
}

/// All programs, if this process may ask.
#[cfg(feature = "load")]
#[must_use]
pub fn programs() -> Vec<LoadedProgram> {
    use libbpf_rs::query::{ProgInfoIter, ProgInfoQueryOptions};
    let options = ProgInfoQueryOptions::default();
    let options = options.include_xlated_prog_insns(true).include_jited_prog_insns(true);
    let told = ProgInfoIter::with_query_opts(options).map(|of| LoadedProgram {
        id: of.id,
        name: of.name.to_string_lossy().into_owned(),
        verified_instructions: of.verified_insns,
        instructions: of.xlated_prog_insns.len() / 8,
        machine_bytes: of.jited_prog_insns.len(),
        calls: of.run_cnt,
        nanoseconds: of.run_time_ns,
    });
    told.collect()
}

/// In a build without programs the kernel is not asked.
#[cfg(not(feature = "load"))]
#[must_use]
pub fn programs() -> Vec<LoadedProgram> {
    Vec::new()
}

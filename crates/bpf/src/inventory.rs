//! The BPF programs that the kernel has loaded, of all processes.

/// A BPF program in the kernel.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LoadedProgram {
    pub id: u32,
    /// The name of the program, cut to 15 characters by the kernel.
    pub name: String,
    /// Instructions that the verifier examined, over all paths through the program.
    pub verified_instructions: u32,
    pub instructions: usize,
    /// The size of the program's machine code, bytes.
    pub machine_bytes: usize,
    /// Calls of the program so far; zero unless `kernel.bpf_stats_enabled` is set.
    pub calls: u64,
    /// The time that all calls of the program took; zero unless `kernel.bpf_stats_enabled` is set.
    pub nanoseconds: u64,
}

/// Lists the BPF programs in the kernel; empty if this process may not query them.
#[cfg(feature = "load")]
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

/// Returns nothing, because a build without the feature `load` cannot query the kernel.
#[cfg(not(feature = "load"))]
pub fn programs() -> Vec<LoadedProgram> {
    Vec::new()
}

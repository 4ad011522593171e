//! What results say of hosts that are real kernels.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Real kernels that were hosts of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KernelOfRun {
    /// The release of Linux.
    pub release: String,
    /// A digest of its configuration and of the agent in it.
    pub digest: String,
    /// The queue discipline of the hosts' cards.
    pub qdisc: String,
    /// The most segments sent at once by segmentation offload; null for what the kernel chooses.
    pub gso_max_segs: Option<u64>,
    /// Interrupts of all cards.
    pub interrupts: u64,
    /// Frames that a card lost because the kernel had no buffer for them.
    pub receive_ring_drops: u64,
    /// Frames that belong to no flow, such as those of closed connections.
    pub stray_frames: u64,
}

/// A run in real time, with the kernel of the machine that made it: how exactly the emulator kept to the clock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RehearsalOfRun {
    /// The release of Linux.
    pub kernel: String,
    /// The part of the scenario's rates and buffers that the network had.
    pub scale: f64,
    /// How long hosts and their sockets took to be there, in seconds.
    pub setup_s: f64,
    /// Whether no ordinary thread of the machine could interrupt the emulator.
    pub is_realtime: bool,
    /// Packets written to hosts in a second of the run, as a mean.
    pub packets_per_s: f64,
    /// Packets that hosts sent.
    pub packets_read: u64,
    /// Packets that were written to hosts.
    pub packets_written: u64,
    /// How long after its arrival a packet was written: the median, in seconds.
    pub lateness_p50_s: f64,
    /// The 99th percentile.
    pub lateness_p99_s: f64,
    /// The 99.9th percentile.
    pub lateness_p999_s: f64,
    /// The longest.
    pub lateness_max_s: f64,
    /// The longest time without a look at the lines, beyond what the emulator meant to sleep, in seconds.
    pub longest_gap_s: f64,
    /// The time from data written to a host to its next packet of the same flow: the 99th percentile, in seconds.
    pub response_p99_s: f64,
    /// The part of the time that the thread of the hosts' sockets waited for a processor.
    pub hosts_waited: f64,
    /// The longest that a flow started after its time, in seconds.
    pub starts_late_s: f64,
    /// The longest that a datagram of UDP at a rate left after its time, in seconds; zero without any.
    #[serde(default)]
    pub datagrams_late_s: f64,
    /// Payload bytes whose receivers compared them with what was sent, and found them equal.
    pub bytes_checked: u64,
    /// Frames that belong to no flow.
    pub stray_frames: u64,
    /// Frames of hosts that are malformed.
    pub malformed_frames: u64,
    /// Frames that were lost between hosts and emulator, which no real network loses.
    pub lost_frames: u64,
    /// Packets that the kernel found to have a wrong checksum.
    pub checksum_errors: u64,
    /// What the programs of a CLEAN proxy counted; null without one.
    pub proxy: Option<ProxyOfRun>,
    /// Why the run is void: too late to be trusted. Empty if it counts.
    pub void: Vec<String>,
}

/// A CLEAN proxy of a rehearsal: programs in the kernel (BPF), at the cards of hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProxyOfRun {
    /// Packets that were made ECN-capable at the edge.
    pub made_ect: u64,
    /// Segments of data at the last hop.
    pub data_segments: u64,
    /// Of these, with a CE mark.
    pub marked_segments: u64,
    /// Acknowledgements whose window was reduced.
    pub reduced_windows: u64,
    /// Packets of flows whose SYNs were not seen: they were left alone.
    pub unknown_packets: u64,
    /// Packets that could not be changed.
    pub failed_packets: u64,
}

/// A program that ran in a host of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramOfRun {
    /// The group.
    pub group: String,
    /// The host.
    pub host: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// When it ended, in seconds; null if it was still running at the end of the run, which ended it.
    pub ended_s: Option<f64>,
    /// Its exit status, or 128 and the signal that ended it; null if it was still running.
    #[schemars(extend("unit" = "none"))]
    pub status: Option<u64>,
    /// The folder with its output and the files it wrote, relative to the folder of the results; empty without.
    pub files: String,
}

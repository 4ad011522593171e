//! What results say about hosts that are real kernels, in virtual or in real time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The Linux kernel that the hosts of a run had, in virtual time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KernelOfRun {
    /// The version of Linux, as `uname -r` prints it.
    pub release: String,
    /// A digest of the kernel's configuration and of the agent inside it.
    pub digest: String,
    /// The queue discipline (`tc qdisc`) of the hosts' network interfaces.
    pub qdisc: String,
    /// The most segments that segmentation offload sends at once; null for the kernel's default.
    pub gso_max_segs: Option<u64>,
    /// Interrupts of all network interfaces.
    pub interrupts: u64,
    /// Frames that an interface dropped because the kernel had no receive buffer for them.
    pub receive_ring_drops: u64,
    /// Frames that belong to no flow of the scenario, such as those of closed connections.
    pub stray_frames: u64,
}

/// A rehearsal, which is a run in real time with this machine's kernel in its hosts: how exactly the emulator kept to
/// the clock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RehearsalOfRun {
    /// The version of Linux on the machine that made the run.
    pub kernel: String,
    /// The factor by which the scenario's rates, buffers and thresholds were multiplied for the rehearsal; 1 for none.
    pub scale: f64,
    /// The time it took to set up the hosts and their sockets, in seconds.
    pub setup_s: f64,
    /// Whether the emulator had a real-time priority, so that ordinary threads could not interrupt it.
    pub is_realtime: bool,
    /// The mean number of packets that the emulator wrote to hosts in a second of the run.
    pub packets_per_s: f64,
    /// Packets that hosts sent, and the emulator read.
    pub packets_read: u64,
    /// Packets that the emulator wrote to hosts.
    pub packets_written: u64,
    /// The factor by which the network's clock was slower than this machine's; 1 for none.
    #[serde(default)]
    #[schemars(extend("unit" = "none"))]
    pub stretch: u64,
    /// The mean lateness, in seconds: the time from the instant at which a packet arrives in the emulated network to
    /// its write to the host.
    #[serde(default)]
    pub lateness_mean_s: f64,
    /// The root of the mean square of the lateness, in seconds.
    #[serde(default)]
    pub lateness_rms_s: f64,
    /// The median of the lateness, in seconds.
    pub lateness_p50_s: f64,
    /// The 99th percentile of the lateness, in seconds.
    pub lateness_p99_s: f64,
    /// The 99.9th percentile of the lateness, in seconds.
    pub lateness_p999_s: f64,
    /// The longest lateness, in seconds.
    pub lateness_max_s: f64,
    /// The longest pause of the emulator, in seconds: the time between two looks at the packets of hosts, less the time
    /// it meant to sleep.
    pub longest_gap_s: f64,
    /// The number of times that the machine stood still. That time was taken out of the network's time.
    #[serde(default)]
    pub standstills: u64,
    /// The sum of these times, in seconds of the network.
    #[serde(default)]
    pub stood_still_s: f64,
    /// The mean response time of hosts, in seconds: from data written to a host to the next packet of the same flow
    /// from that host.
    #[serde(default)]
    pub response_mean_s: f64,
    /// The root of the mean square of the response time, in seconds.
    #[serde(default)]
    pub response_rms_s: f64,
    /// The 99th percentile of the response time, in seconds.
    pub response_p99_s: f64,
    /// The fraction of the time for which the thread with the hosts' sockets waited for a processor.
    pub hosts_waited: f64,
    /// The fraction of the time for which flows without an end had nothing to send, or a receiver that did not read:
    /// the mean over these flows.
    #[serde(default)]
    pub starved: f64,
    /// The longest delay of a flow's start, in seconds: from the scheduled to the actual start.
    pub starts_late_s: f64,
    /// The longest delay of a datagram, in seconds, behind the schedule of a UDP flow with a rate; zero without such
    /// flows.
    #[serde(default)]
    pub datagrams_late_s: f64,
    /// Payload bytes that receivers compared with the bytes sent, and found equal.
    pub bytes_checked: u64,
    /// Frames from hosts that belong to no flow of the scenario.
    pub stray_frames: u64,
    /// Frames from hosts that could not be parsed.
    pub malformed_frames: u64,
    /// Frames lost between hosts and emulator. The scenario has no such losses, so that one makes the run void.
    pub lost_frames: u64,
    /// Packets that the kernel found to have a wrong checksum.
    pub checksum_errors: u64,
    /// Counters of the BPF programs of a CLEAN proxy; null without a proxy.
    pub proxy: Option<ProxyOfRun>,
    /// How far lateness can have moved the results; null if that is not known, as for hosts with UDP or QUIC.
    #[serde(default)]
    pub bounds: Option<LatenessBounds>,
    /// The intervals in which the figures lie without lateness; null without `bounds`, and if time was stretched.
    #[serde(default)]
    pub intervals: Option<FigureIntervals>,
    /// Reasons why the run is void, that is too inexact to be trusted. Empty if the run counts.
    pub void: Vec<String>,
}

/// How far lateness can have moved the results of a rehearsal: bounds of the absolute logarithm of the ratio to a run
/// without lateness, which holds in 98 of 100 runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatenessBounds {
    /// Of the goodput.
    #[schemars(extend("unit" = "none"))]
    pub goodput: f64,
    /// Of the loss rate.
    #[schemars(extend("unit" = "none"))]
    pub loss: f64,
    /// Of the mean queue.
    #[schemars(extend("unit" = "none"))]
    pub queue: f64,
}

impl LatenessBounds {
    /// The fraction by which lateness can have moved the goodput.
    pub fn goodput_moved(&self) -> f64 {
        libm::expm1(self.goodput)
    }
}

/// A figure, and the interval in which it lies without lateness: with the bound and the spread between seeds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// The lower end, in the unit of the figure.
    #[schemars(extend("unit" = "none"))]
    pub low: f64,
    /// The upper end, in the unit of the figure.
    #[schemars(extend("unit" = "none"))]
    pub high: f64,
}

/// The intervals of the figures of a rehearsal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FigureIntervals {
    /// The interval of `goodput_bps`.
    pub goodput_bps: Interval,
    /// The interval of `loss_rate`.
    pub loss_rate: Interval,
    /// The interval of `mean_queue_bytes`.
    pub mean_queue_bytes: Interval,
}

/// Counters of the CLEAN proxy of a rehearsal: BPF programs at the network interfaces of hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProxyOfRun {
    /// Packets that the proxy made ECN-capable at the edge.
    pub made_ect: u64,
    /// Data segments that the proxy saw at the last hop.
    pub data_segments: u64,
    /// Of the data segments at the last hop, those with a CE mark.
    pub marked_segments: u64,
    /// Acknowledgements whose receive window the proxy reduced.
    pub reduced_windows: u64,
    /// Packets of flows whose SYNs the proxy did not see; it leaves these unchanged.
    pub unknown_packets: u64,
    /// Packets that the proxy could not change.
    pub failed_packets: u64,
}

/// A program that ran in a host of the run, and how it ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramOfRun {
    /// The name of the group with the program's `command`.
    pub group: String,
    /// The name of the host in which the program ran.
    pub host: String,
    /// The program and its arguments, as run.
    pub command: Vec<String>,
    /// The time at which the program ended, in seconds of the run; null if it ran until the end of the run stopped it.
    pub ended_s: Option<f64>,
    /// The exit status, or 128 plus the number of the signal that ended the program; null if it ran until the end.
    #[schemars(extend("unit" = "none"))]
    pub status: Option<u64>,
    /// The folder with the output of the program and the files that it wrote, relative to the folder of the results;
    /// empty without one.
    pub files: String,
}

//! The TCP stacks of hosts, on which the defaults of many keys depend.

use crate::string_enum;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostStack {
    /// The TCP of ns-2.35, with congestion controllers from the Linux kernels of its time.
    Ns2,
    /// The TCP of ns-3.44.
    Ns3,
    /// Linux 6 with its usual settings: segmentation offload, and the queue discipline `fq`, which paces every flow.
    Linux,
    /// Linux 6 with segmentation offload and the queue discipline `pfifo_fast`: only flows whose controller sets a
    /// pacing rate are paced.
    LinuxPfifo,
    /// The TCP of Linux 6 without effects of the host: no segmentation offload, each packet leaves when the window
    /// allows.
    LinuxIdeal,
    /// A real Linux kernel in virtual time.
    Kernel,
}

string_enum! {
    HostStack {
        Ns2 = "ns2",
        Ns3 = "ns3",
        Linux = "linux",
        LinuxPfifo = "linux-pfifo",
        LinuxIdeal = "linux-ideal",
        Kernel = "kernel",
    }
}

impl HostStack {
    /// Stacks of simulated hosts, all of which have their own defaults.
    pub const SIMULATED: [Self; 5] = [Self::Ns2, Self::Ns3, Self::Linux, Self::LinuxPfifo, Self::LinuxIdeal];

    /// Whether the host has the effects of a usual Linux machine: segmentation offload, delays and rounding of its
    /// kernel.
    pub const fn is_as_shipped(self) -> bool {
        matches!(self, Self::Linux | Self::LinuxPfifo)
    }

    /// Whether the host paces every flow, at a rate that it computes from the congestion window.
    pub const fn paces(self) -> bool {
        matches!(self, Self::Linux | Self::Kernel)
    }
}

/// Makes the context of options whose defaults do not depend on the stack, which is `()`.
impl From<HostStack> for () {
    fn from(_: HostStack) -> Self {}
}

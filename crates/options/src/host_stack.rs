//! The TCP stacks of hosts, on which many defaults depend.

use crate::string_enum;

/// The TCP stack of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostStack {
    /// ns-2.35, with the kernel modules of its time.
    Ns2,
    /// ns-3.44.
    Ns3,
    /// Linux 6 as distributions ship it: with segmentation offload, and with the queue discipline `fq`, which paces
    /// every flow.
    Linux,
    /// Linux 6 with the queue discipline `pfifo_fast`, where only controllers with a rate of their own pace.
    LinuxPfifo,
    /// The TCP of Linux 6 in an ideal host, which sends packet by packet as the window allows.
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
    /// The stacks of simulated hosts, which have defaults of their own.
    pub const SIMULATED: [Self; 5] =
        [Self::Ns2, Self::Ns3, Self::Linux, Self::LinuxPfifo, Self::LinuxIdeal];

    /// Whether the host is simulated as Linux is shipped, with segmentation offload and the habits of its kernel.
    pub const fn is_as_shipped(self) -> bool {
        matches!(self, Self::Linux | Self::LinuxPfifo)
    }

    /// Whether the host paces every flow, at a rate that follows from the congestion window.
    pub const fn paces(self) -> bool {
        matches!(self, Self::Linux | Self::Kernel)
    }
}

/// Options whose defaults depend on nothing have `()` as their context.
impl From<HostStack> for () {
    fn from(_: HostStack) -> Self {}
}

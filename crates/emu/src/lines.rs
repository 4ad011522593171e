//! The lines between hosts and the emulator.

use shallop_core::Time;

/// The lines to all hosts of a run, and their clock.
pub trait Lines {
    /// The time since the start of the run.
    fn now(&mut self) -> Time;

    /// Reads what a host has sent into `frame`: a virtio-net header and an Ethernet frame. Returns the host and the
    /// bytes. Passes over hosts for which `holds` is true. `None` if there is nothing.
    fn receive(&mut self, holds: &dyn Fn(u32) -> bool, frame: &mut [u8]) -> Option<(u32, usize)>;

    /// Writes a frame, with a virtio-net header, to a host, which was due at this time. False if the host does not take
    /// it.
    fn send(&mut self, host: u32, due: Time, frame: &[u8]) -> bool;

    /// Sleeps until this time, or until a host sends something.
    fn sleep(&mut self, until: Time);
}

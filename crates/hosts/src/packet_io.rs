//! Packet input and output of real hosts, and the clock of their run.

use shallop_core::{Span, Time};

/// The links to all hosts of a run, which carry Ethernet frames, and the clock of the run.
pub trait PacketIo {
    /// The time since the start of the run.
    fn now(&mut self) -> Time;

    /// Takes this much of the time back, in which the machine stood still: [`PacketIo::now`] is earlier by it from now
    /// on. A clock that never stands still ignores it.
    fn take_back(&mut self, _time: Span) {}

    /// Reads the next frame that a host has sent into `frame`, with a virtio-net header before it. Returns the number
    /// of the host and the length in bytes. Skips hosts for which `holds` is true. `None` if no frame is there.
    fn receive(&mut self, holds: &dyn Fn(u32) -> bool, frame: &mut [u8]) -> Option<(u32, usize)>;

    /// Receives the time at which the frame that was read last enters the network. Only tapes need it.
    fn entered(&mut self, _at: Time) {}

    /// Writes a frame with a virtio-net header to a host. `due` is the time at which it arrives in the simulated
    /// network. False if the host does not take the frame.
    fn send(&mut self, host: u32, due: Time, frame: &[u8]) -> bool;

    /// Sleeps until this time, or until a host sends something.
    fn sleep(&mut self, until: Time);
}

//! The messages of User-Mode Linux's external time travel, and the page of shared memory that replaces most of them.
//!
//! A kernel that runs with `time-travel=ext:` has no clock of its own. It asks a controller for time, runs when the
//! controller lets it, and waits otherwise. A message has 16 bytes: operation, sequence number, time in nanoseconds.
//! [`Op::Ack`] with that sequence number answers it. Source: `include/uapi/linux/um_timetravel.h` of Linux 6.12.

use crate::error::{KernelError, Malformed};
use std::sync::atomic::Ordering;
use vm_memory::{Bytes, FileOffset, GuestAddress, GuestMemoryMmap};

pub const MESSAGE_BYTES: usize = 16;
/// The guest time that stands for "never": the kernel's `S64_MAX`.
pub const NEVER: u64 = i64::MAX as u64;
/// The time of day at guest time zero, in nanoseconds since 1970: a constant, so that runs are repeatable.
pub const TIME_OF_DAY: u64 = 1_700_000_000_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Op {
    /// Answers every other message.
    Ack = 0,
    /// A kernel connects; the field `time` is its number.
    Start = 1,
    /// A kernel wants to run at this time.
    Request = 2,
    /// A kernel is idle until its requested time.
    Wait = 3,
    /// A kernel asks for the time.
    Get = 4,
    /// A kernel has advanced the time.
    Update = 5,
    /// The controller lets a kernel run from this time on.
    Run = 6,
    /// The controller lets a kernel advance the time up to this time without asking.
    FreeUntil = 7,
    GetTimeOfDay = 8,
    /// A kernel sends a value to all others.
    Broadcast = 9,
}

impl Op {
    const ALL: [Self; 10] = [
        Self::Ack,
        Self::Start,
        Self::Request,
        Self::Wait,
        Self::Get,
        Self::Update,
        Self::Run,
        Self::FreeUntil,
        Self::GetTimeOfDay,
        Self::Broadcast,
    ];
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    pub op: Op,
    /// The sequence number of the message, which the answer repeats.
    pub sequence: u32,
    /// A virtual time in nanoseconds, unless the operation defines the field otherwise.
    pub time: u64,
}

impl Message {
    /// Encodes the message in the byte order of this machine.
    pub fn encode(&self) -> [u8; MESSAGE_BYTES] {
        let mut bytes = [0; MESSAGE_BYTES];
        bytes[..4].copy_from_slice(&(self.op as u32).to_ne_bytes());
        bytes[4..8].copy_from_slice(&self.sequence.to_ne_bytes());
        bytes[8..].copy_from_slice(&self.time.to_ne_bytes());
        bytes
    }

    /// Decodes a message.
    ///
    /// # Errors
    /// If the operation is unknown.
    pub fn decode(bytes: [u8; MESSAGE_BYTES]) -> Result<Self, Malformed> {
        let word = |at: usize| u32::from_ne_bytes([0, 1, 2, 3].map(|byte| bytes[at + byte]));
        let [op, sequence] = [0, 4].map(word);
        let time = [8, 9, 10, 11, 12, 13, 14, 15].map(|at: usize| bytes[at]);
        let known = Op::ALL.into_iter().find(|known| *known as u32 == op);
        let op = known.ok_or(Malformed::TimeOperation(op))?;
        Ok(Self { op, sequence, time: u64::from_ne_bytes(time) })
    }
}

/// How controller and kernels agree on the time. All modes give equal runs and differ in the number of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Mode {
    /// The controller and a kernel exchange a message for each step of time.
    Plain,
    /// Kernels step freely up to a time that the controller sends.
    FreeUntil,
    /// Time and requests are in a page of shared memory.
    #[default]
    Shared,
}

/// The page of shared memory with the time: a header, and a slot for each client. The controller is the first client.
#[derive(Clone, Debug)]
pub struct ClockPage {
    memory: GuestMemoryMmap,
}

// Offsets in the page (`struct um_timetravel_schedule`).
const VERSION: u64 = 0;
const LENGTH: u64 = 4;
const FREE_UNTIL: u64 = 8;
const CURRENT_TIME: u64 = 16;
const RUNNING: u64 = 24;
const MAX_CLIENTS: u64 = 26;
const CLIENTS: u64 = 4096;
const CLIENT_BYTES: u64 = 128;
// Offsets in a client's slot.
const CAPABILITIES: u64 = 0;
const FLAGS: u64 = 4;
const REQUEST: u64 = 8;
/// The client shares its time in this page (`UM_TIMETRAVEL_SCHEDULE_CAP_TIME_SHARE`).
const TIME_SHARE: u32 = 1;
/// The client has requested to run (`UM_TIMETRAVEL_SCHED_FLAG_REQ_RUN`).
const REQUEST_RUN: u32 = 1;

impl ClockPage {
    /// The size of the shared page for this number of kernels, in bytes.
    pub fn bytes(kernels: u16) -> u64 {
        (CLIENTS + CLIENT_BYTES * (u64::from(kernels) + 1)).next_multiple_of(4096)
    }

    /// Sets up the page in this file, whose size is [`ClockPage::bytes`].
    ///
    /// # Errors
    /// If it cannot be mapped.
    pub fn new(file: std::fs::File, kernels: u16) -> Result<Self, KernelError> {
        let bytes = Self::bytes(kernels);
        let range = (GuestAddress(0), bytes as usize, Some(FileOffset::new(file, 0)));
        let memory = GuestMemoryMmap::from_ranges_with_files([range]);
        let page = Self { memory: memory.map_err(|why| KernelError::Memory(why.to_string()))? };
        page.store(VERSION, 2_u32)?;
        page.store(LENGTH, bytes as u32)?;
        page.store(MAX_CLIENTS, kernels + 1)?;
        page.store(CLIENTS + CAPABILITIES, TIME_SHARE)?;
        Ok(page)
    }

    fn store<T: vm_memory::AtomicAccess>(&self, at: u64, value: T) -> Result<(), KernelError> {
        let stored = self.memory.store(value, GuestAddress(at), Ordering::SeqCst);
        stored.map_err(|why| KernelError::Memory(why.to_string()))
    }

    fn load<T: vm_memory::AtomicAccess>(&self, at: u64) -> Result<T, KernelError> {
        let loaded = self.memory.load(GuestAddress(at), Ordering::SeqCst);
        loaded.map_err(|why| KernelError::Memory(why.to_string()))
    }

    /// Sets the time in the shared page, in nanoseconds.
    ///
    /// # Errors
    /// If the page cannot be written.
    pub fn set_now(&self, now: u64) -> Result<(), KernelError> {
        self.store(CURRENT_TIME, now)
    }

    /// Reads the time in the shared page, which the running kernel advances. The unit is nanoseconds.
    ///
    /// # Errors
    /// If the page cannot be read.
    pub fn now(&self) -> Result<u64, KernelError> {
        self.load(CURRENT_TIME)
    }

    /// Sets the time up to which the running kernel may advance.
    ///
    /// # Errors
    /// If the page cannot be written.
    pub fn set_free_until(&self, time: u64) -> Result<(), KernelError> {
        self.store(FREE_UNTIL, time)
    }

    /// Sets the running client: 0 for the controller, `k + 1` for kernel `k`.
    ///
    /// # Errors
    /// If the page cannot be written.
    pub fn set_running(&self, client: u16) -> Result<(), KernelError> {
        self.store(RUNNING, client)
    }

    /// The time at which this kernel wants to run; `None` if it has not asked.
    ///
    /// # Errors
    /// If the page cannot be read.
    pub fn request(&self, kernel: u16) -> Result<Option<u64>, KernelError> {
        let slot = CLIENTS + CLIENT_BYTES * (u64::from(kernel) + 1);
        let flags: u32 = self.load(slot + FLAGS)?;
        if flags & REQUEST_RUN == 0 {
            return Ok(None);
        }
        self.load(slot + REQUEST).map(Some)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot make its input should fail there")]

    use super::*;

    #[test]
    fn messages_survive_their_bytes() {
        for op in Op::ALL {
            let message = Message { op, sequence: 7, time: 1 << 40 };
            assert_eq!(Message::decode(message.encode()), Ok(message));
        }
    }

    #[test]
    fn an_unknown_operation_is_an_error() {
        let mut bytes = Message { op: Op::Ack, sequence: 0, time: 0 }.encode();
        bytes[0] = 10;
        assert_eq!(Message::decode(bytes), Err(Malformed::TimeOperation(10)));
    }

    #[test]
    fn a_page_has_a_slot_for_the_controller_and_each_kernel() {
        assert_eq!(ClockPage::bytes(1), 8_192);
        assert_eq!(ClockPage::bytes(31), 8_192);
        assert_eq!(ClockPage::bytes(32), 12_288);
    }
}

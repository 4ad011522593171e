//! The virtual time on which the kernels and their controller (this process) agree, in nanoseconds.

use crate::error::KernelError;
use crate::time_travel::{ClockPage, Mode, NEVER};
use rustix::fs::MemfdFlags;
use shallop_core::{Span, Time};
use std::os::fd::{AsFd, BorrowedFd};

/// The guest time at which a run begins, in nanoseconds. Kernels boot in less.
pub const BOOTED: u64 = 1_000_000_000;

/// Converts a time of the run to guest time in nanoseconds, rounded up.
pub(crate) fn guest_time(time: Time) -> u64 {
    BOOTED.saturating_add(time.since_start().as_ps().div_ceil(1_000))
}

/// Converts a guest time in nanoseconds to the time of the run.
pub(crate) fn run_time(guest: u64) -> Time {
    let ns = guest.saturating_sub(BOOTED);
    Time::after_start(Span::from_ps(ns.saturating_mul(1_000)))
}

/// The clock of the process that controls the kernels.
#[derive(Debug)]
pub struct Clock {
    mode: Mode,
    now: u64,
    /// The page of memory that kernels share, and its file, in [`Mode::Shared`].
    page: Option<(ClockPage, std::fs::File)>,
}

impl Clock {
    /// A clock at zero for this many kernels.
    ///
    /// # Errors
    /// If there is no shared memory.
    pub fn new(mode: Mode, kernels: u16) -> Result<Self, KernelError> {
        let page = match mode {
            Mode::Plain | Mode::FreeUntil => None,
            Mode::Shared => {
                let file = rustix::fs::memfd_create("shallop-clock", MemfdFlags::CLOEXEC);
                let file = std::fs::File::from(file.map_err(KernelError::io("shared memory"))?);
                let sized = file.set_len(ClockPage::bytes(kernels));
                sized.map_err(KernelError::io("shared memory"))?;
                let copy = file.try_clone().map_err(KernelError::io("shared memory"))?;
                Some((ClockPage::new(copy, kernels)?, file))
            }
        };
        Ok(Self { mode, now: 0, page })
    }

    /// How the kernels learn the time.
    pub const fn mode(&self) -> Mode {
        self.mode
    }

    /// The file of the shared page, if there is one.
    pub fn file(&self) -> Option<BorrowedFd<'_>> {
        self.page.as_ref().map(|(_, file)| file.as_fd())
    }

    pub const fn now(&self) -> u64 {
        self.now
    }

    /// Advances the virtual time to `to`, unless it is later already. The unit is nanoseconds.
    pub const fn advance(&mut self, to: u64) {
        if to > self.now {
            self.now = to;
        }
    }

    /// Takes over the time to which the running kernel has advanced the shared page.
    ///
    /// # Errors
    /// If the page cannot be read.
    pub fn read(&mut self) -> Result<(), KernelError> {
        if let Some((page, _)) = &self.page {
            self.now = self.now.max(page.now()?);
        }
        Ok(())
    }

    /// Lets a kernel run from now on, and advance the time freely up to `free_until`.
    ///
    /// # Errors
    /// If the page cannot be written.
    pub fn hand_to(&self, kernel: usize, free_until: u64) -> Result<(), KernelError> {
        let Some((page, _)) = &self.page else { return Ok(()) };
        page.set_now(self.now)?;
        page.set_free_until(free_until.min(NEVER))?;
        page.set_running(kernel as u16 + 1)
    }

    /// Lowers the time up to which the running kernel may advance freely.
    ///
    /// # Errors
    /// If the page cannot be written.
    pub fn set_free_until(&self, free_until: u64) -> Result<(), KernelError> {
        let Some((page, _)) = &self.page else { return Ok(()) };
        page.set_free_until(free_until.min(NEVER))
    }

    /// Stops all kernels: the controller advances the time.
    ///
    /// # Errors
    /// If the page cannot be written.
    pub fn take_back(&self) -> Result<(), KernelError> {
        let Some((page, _)) = &self.page else { return Ok(()) };
        page.set_running(0)?;
        page.set_now(self.now)
    }

    /// Reads from the shared page at which time this kernel wants to run; `None` if it has not asked.
    ///
    /// # Errors
    /// If the page cannot be read.
    pub fn request(&self, kernel: usize) -> Result<Option<u64>, KernelError> {
        match &self.page {
            Some((page, _)) => page.request(kernel as u16),
            None => Ok(None),
        }
    }
}

//! Measures processor time of this process and its threads.

use nix::sys::resource::{UsageWho, getrusage};
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};
use std::{fs, io};

/// The name of the thread of an endpoint of `shallop-quic`.
const DRIVER: &str = "shallop-quic";

/// Processor time, s.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Elapsed time.
    pub elapsed: f64,
    /// Time in user mode.
    pub user: f64,
    /// Time in the kernel.
    pub system: f64,
    /// User and system time of the endpoint's thread alone; zero if the process has none.
    pub driver: f64,
}

impl Usage {
    /// The sum of user and system time.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.user + self.system
    }
}

/// A starting point for measuring processor time.
#[derive(Clone, Copy, Debug)]
pub struct Meter {
    at: Instant,
    before: Usage,
}

impl Meter {
    /// Starts to measure.
    ///
    /// # Errors
    /// If /proc cannot be read.
    pub fn start() -> io::Result<Self> {
        Ok(Self { at: Instant::now(), before: used()? })
    }

    /// The processor time since the start.
    ///
    /// # Errors
    /// If /proc cannot be read.
    pub fn stop(&self) -> io::Result<Usage> {
        let now = used()?;
        Ok(Usage {
            elapsed: self.at.elapsed().as_secs_f64(),
            user: now.user - self.before.user,
            system: now.system - self.before.system,
            driver: now.driver - self.before.driver,
        })
    }
}

fn used() -> io::Result<Usage> {
    let all = getrusage(UsageWho::RUSAGE_SELF)?;
    let seconds = |of: nix::sys::time::TimeVal| of.tv_sec() as f64 + of.tv_usec() as f64 / 1e6;
    let (user, system) = (seconds(all.user_time()), seconds(all.system_time()));
    let mut driver = Duration::ZERO;
    for thread in fs::read_dir("/proc/self/task")? {
        let folder = thread?.path();
        if fs::read_to_string(folder.join("comm"))?.trim() == DRIVER {
            let said = fs::read_to_string(folder.join("schedstat"))?;
            let on_processor = said.split(' ').next().and_then(|of| of.parse::<u64>().ok());
            driver += Duration::from_nanos(on_processor.unwrap_or(0));
        }
    }
    Ok(Usage { elapsed: 0.0, user, system, driver: driver.as_secs_f64() })
}

//! Starts the kernels of a run: files, sockets and processes. In their first virtual second kernels boot and their
//! agents make the hosts; the run of the simulator begins at [`BOOTED`](crate::BOOTED).

use crate::modules::Module;
use crate::orders::{self, Settings};
use crate::process::{Launch, Process};
use crate::{clock::Clock, error::KernelError, folder::Folder, initrd, installed::Installed, kernel::Kernel};
use crate::{programs, time_travel::Mode};
use rustix::event::{PollFd, PollFlags, Timespec};
use shallop_hosts::{HostFlows, addresses};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

/// The longest time until a kernel connects.
const PATIENCE: Timespec = Timespec { tv_sec: 30, tv_nsec: 0 };

#[derive(Clone, Debug)]
pub struct Start<'a> {
    pub installed: &'a Installed,
    pub settings: &'a Settings,
    /// The numbers of the hosts in each kernel.
    pub hosts: &'a [Vec<u32>],
    /// The flows between the hosts of a run, and the programs in them.
    pub flows: &'a HostFlows,
    /// The folder that programs see as `/scenario`.
    pub scenario: &'a Path,
    /// The guest time at which agents report their counters, in nanoseconds.
    pub stop: u64,
    /// The seed of random numbers in kernels.
    pub seed: u64,
    pub mode: Mode,
    /// The most memory of each kernel, in MiB. A kernel takes only what it uses.
    pub memory_mb: u32,
    /// The processor time, in seconds, after which a program that never waits is an error.
    pub spin_seconds: u64,
}

impl Start<'_> {
    /// Starts all kernels, which then wait until the clock lets them run.
    ///
    /// # Errors
    /// If one cannot be started.
    pub fn kernels(&self) -> Result<(Vec<Kernel>, Clock, Folder), KernelError> {
        let folder = Folder::new_in(&std::env::temp_dir(), "shallop-kernels-")?;
        programs::prepare(self.flows, self.scenario, folder.path())?;
        let clock = Clock::new(self.mode, self.hosts.len() as u16)?;
        let bind = |name: &str| {
            let socket = UnixListener::bind(folder.path().join(name));
            socket.map_err(KernelError::io("a socket for a kernel"))
        };
        let time = bind("time")?;
        let agent = std::fs::read(&self.installed.agent).map_err(KernelError::io("the agent"))?;
        let modules = self.modules()?;
        let mut kernels = Vec::new();
        for (number, hosts) in self.hosts.iter().enumerate() {
            let archive = folder.path().join(format!("initrd{number}"));
            let files = [self.files(hosts), modules.clone()].concat();
            let written = std::fs::write(archive, initrd::archive(&agent, &files));
            written.map_err(KernelError::io("a kernel's first file system"))?;
            let mut cards = Vec::new();
            for (card, &host) in hosts.iter().enumerate() {
                cards.push((bind(&card_name(number, card))?, addresses::mac(host)));
            }
            let has_console = self.console_kernel() == Some(number);
            if has_console {
                let host = self.hosts.iter().map(Vec::len).sum::<usize>() as u32;
                cards.push((bind(&card_name(number, hosts.len()))?, addresses::mac(host)));
            }
            let process = self.process(number, cards.len(), folder.path())?;
            let (process, socket) = accept(&time, number, process)?;
            let segmentation = self.settings.gso_max_segs != Some(1);
            let spin = self.spin_seconds;
            kernels.push(Kernel::new(number, process, socket, cards, segmentation, spin)?);
        }
        Ok((kernels, clock, folder))
    }

    /// The index of the kernel with the host of the shell; `None` without a shell.
    pub fn console_kernel(&self) -> Option<usize> {
        let shell = self.flows.programs.iter().find(|program| program.is_shell)?;
        self.hosts.iter().position(|hosts| hosts.contains(&shell.host))
    }

    /// Makes the files for the agent of the kernel with these hosts.
    fn files(&self, hosts: &[u32]) -> Vec<(String, Vec<u8>)> {
        let orders = orders::text(self.settings, hosts, self.flows, self.stop);
        let orders = programs::orders(self.flows, hosts) + &orders;
        let orders = ("orders".to_owned(), orders.into_bytes());
        [orders].into_iter().chain(programs::files(self.flows, hosts)).collect()
    }

    /// Reads the files of the kernel modules to load.
    fn modules(&self) -> Result<Vec<(String, Vec<u8>)>, KernelError> {
        let read = |module: &Module| {
            let path = self.installed.module(&module.name).map_err(KernelError::NoModule)?;
            let bytes = std::fs::read(path).map_err(KernelError::io("a module"))?;
            Ok((format!("{}.ko", module.name), bytes))
        };
        self.settings.modules.iter().map(read).collect()
    }

    fn process(&self, number: usize, cards: usize, folder: &Path) -> Result<Process, KernelError> {
        let mut arguments = vec![
            format!("mem={}M", self.memory_mb),
            format!("time-travel=ext:{}:time", number + 1),
            "noseed".to_owned(),
            format!("initrd=initrd{number}"),
            "con=null".to_owned(),
            "con0=null,fd:1".to_owned(),
            "quiet".to_owned(),
        ];
        let device = |card| format!("virtio_uml.device={}:1", card_name(number, card));
        arguments.extend((0..cards).map(device));
        let Installed { program, preload, .. } = self.installed;
        let seed = self.seed.wrapping_mul(1_000_003).wrapping_add(number as u64);
        Process::start(&Launch { program, preload, folder, seed, arguments: &arguments })
    }
}

fn card_name(kernel: usize, card: usize) -> String {
    format!("k{kernel}.{card}")
}

/// Waits until a kernel has connected to the time socket.
fn accept(time: &UnixListener, kernel: usize, mut process: Process) -> Result<(Process, UnixStream), KernelError> {
    loop {
        let mut ready = [PollFd::new(time, PollFlags::IN)];
        match rustix::event::poll(&mut ready, Some(&PATIENCE)) {
            Err(rustix::io::Errno::INTR) => {}
            Ok(0) => return Err(KernelError::Ended { kernel, log: process.last_words() }),
            other => {
                other.map_err(KernelError::io("poll"))?;
                let (socket, _) = time.accept().map_err(KernelError::io("a kernel's socket"))?;
                return Ok((process, socket));
            }
        }
    }
}

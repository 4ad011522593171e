//! Measurements with pairs of processes, each in a network namespace and on a core of its own.

use crate::network::{ADDRESSES, Pair};
use crate::report;
use crate::worker::{Done, Error, Ready, Stack, hear};
use crate::{Common, Cost, Sweep};
use std::io::{BufReader, Read};
use std::process::{Command, Stdio};

/// The reports of both ends of a transfer.
#[derive(Clone, Debug)]
pub struct Transfer {
    /// The report of the sender.
    pub sent: Done,
    /// The report of the receiver.
    pub received: Done,
}

impl Transfer {
    /// The payload rate, Gb/s.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.gigabits() / self.received.usage.elapsed
    }

    fn gigabits(&self) -> f64 {
        self.received.bytes as f64 * 8.0 / 1e9
    }

    /// Processor time for each Gb of payload, s: of the sender, of its endpoint thread alone, and of the receiver.
    #[must_use]
    pub fn costs(&self) -> [f64; 3] {
        let (sent, received) = (&self.sent.usage, &self.received.usage);
        [sent.total(), sent.driver, received.total()].map(|of| of / self.gigabits())
    }
}

#[derive(Clone, Copy, Debug)]
struct Kind {
    stack: Stack,
    link: u64,
    slack: u64,
}

/// Measures processor time; the kinds of transfer take turns.
pub fn cost(cost: &Cost) -> Result<(), Error> {
    let pair = Pair::new()?;
    let stacks = [Stack::Credits, Stack::Without, Stack::Quinn];
    let mut all: [Vec<Transfer>; 3] = Default::default();
    for _ in 0..cost.rounds {
        for (stack, of) in stacks.iter().zip(&mut all) {
            let kind = Kind { stack: *stack, link: cost.link, slack: cost.slack };
            of.push(transfer(&pair, &cost.common, kind)?);
        }
    }
    report::costs(&stacks, &all);
    Ok(())
}

/// Measures transfers at each rate of the link.
pub fn sweep(sweep: &Sweep) -> Result<(), Error> {
    let pair = Pair::new()?;
    report::sweep_head();
    for &slack in &sweep.slacks {
        for &link in &sweep.links {
            let kind = Kind { stack: Stack::Credits, link, slack };
            report::sweep_row(link, slack, &transfer(&pair, &sweep.common, kind)?);
        }
    }
    Ok(())
}

fn transfer(pair: &Pair, common: &Common, kind: Kind) -> Result<Transfer, Error> {
    let mut receiver = command(common, kind, "receive", 1)?;
    let mut receiver = pair.spawn(1, &mut receiver)?;
    let mut said = BufReader::new(receiver.stdout.take().ok_or("no output")?);
    let Ready { port, code } = hear(&mut said)?;
    let mut sender = command(common, kind, "send", 0)?;
    sender.args(["--seconds", &common.seconds.to_string(), "--code", &code]);
    sender.args(["--to", &format!("{}:{port}", ADDRESSES[1])]);
    let mut sender = pair.spawn(0, &mut sender)?;
    let sent: Done = hear(&mut BufReader::new(sender.stdout.take().ok_or("no output")?))?;
    let done: Done = hear(&mut said)?;
    // Standard output is at its end: the processes have ended.
    said.read_to_end(&mut Vec::new())?;
    sender.wait()?;
    receiver.wait()?;
    Ok(Transfer { sent, received: done })
}

/// A process of a measurement, pinned to the core with its number.
fn command(common: &Common, kind: Kind, role: &str, number: usize) -> Result<Command, Error> {
    let mut command = Command::new("taskset");
    command.args(["--cpu-list", &number.to_string()]);
    if let Some(level) = common.fifo {
        command.args(["chrt", "--fifo", &level.to_string()]);
    }
    command.arg(std::env::current_exe()?).arg(role).args(["--stack", &kind.stack.name()]);
    let numbers = [
        ("--link", kind.link),
        ("--slack", kind.slack),
        ("--wait", common.wait),
        ("--batch", u64::from(common.batch)),
        ("--idle", u64::from(common.idle)),
    ];
    for (name, value) in numbers {
        command.args([name, &value.to_string()]);
    }
    command.args(["--address", ADDRESSES[number]]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    Ok(command)
}

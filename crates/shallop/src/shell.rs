//! `shell`: a shell or program in a host of a scenario.

use crate::{host_args, print, run};
use shallop_core::{Share, Time};
use shallop_plan::plan::Attachment;
use shallop_scenario::Options;
use shallop_workbench::shell::{self, LiveSession, ShellSession, Terminal};
use shallop_workbench::{capacity, diagnostic::Result};
use std::io::{BufRead, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::{process::ExitCode, sync::Arc};

/// Runs the command `shell`. The exit code is the exit status of the last command in the shell.
pub fn shell(args: &host_args::Shell, stop: &Arc<AtomicBool>) -> Result<ExitCode> {
    let shell = || vec![std::env::var("SHELL").unwrap_or_else(|_| "sh".to_owned())];
    let words = if args.command.is_empty() { shell() } else { args.command.clone() };
    let Some(scenario) = &args.scenario else {
        return Ok(ExitCode::from(shell::join(args.join, args.host.as_deref(), &words)?));
    };
    let files = run::files(scenario);
    let set = if args.virtual_time { args.set.clone() } else { run::with_kernels(&args.set) };
    let (files_of, in_real_time) = (Arc::clone(&files), !args.virtual_time);
    let programs = args.programs.programs();
    let options = Options { set, files: files_of, in_real_time, programs, ..Options::default() };
    let mut study = shallop_workbench::run_study::read_scenario(scenario, &options)?;
    if !args.virtual_time {
        // A shell keeps the machine's time, so that its network is scaled where others are stretched.
        let (_, stretch) = capacity::scale_to_capacity(&mut study, args.scale)?;
        if let Some(by) = Share::new(1, u64::from(stretch)).filter(|_| stretch > 1) {
            capacity::scale_by(&mut study, by)?;
        }
        print::notes(&study.notes);
    }
    let mut session = ShellSession::new(&study, args.host.as_deref(), files)?;
    for attachment in &args.attach {
        session.attach(attachment.clone())?;
    }
    let is_terminal = std::io::stdin().is_terminal();
    if is_terminal && args.command.is_empty() {
        let others = session.others.join(", ");
        print::stderr(&format!("You are in host {}. The others: {others}.\n", session.host));
        if !args.virtual_time {
            let process = std::process::id();
            print::stderr(&format!(
                "Their addresses are in /etc/hosts. In another terminal: shallop shell --join {process} --host NAME\n"
            ));
        }
    }
    if !args.virtual_time {
        return live(&session.live(&words)?, &args.attach, stop);
    }
    let status = Arc::new(AtomicU8::new(0));
    let typed =
        StdioTerminal { host: session.host.clone(), is_terminal, stop: Arc::clone(stop), status: Arc::clone(&status) };
    session.run(Box::new(typed), &|| stop.load(Ordering::Relaxed))?;
    Ok(ExitCode::from(status.load(Ordering::Relaxed)))
}

fn live(session: &LiveSession, attached: &[Attachment], stop: &AtomicBool) -> Result<ExitCode> {
    let are_up = attached.iter().map(|of| shell::is_up(&of.interface));
    let are_up = are_up.collect::<Result<Vec<bool>>>()?;
    for (Attachment { interface, host }, is_up) in attached.iter().zip(are_up) {
        if !is_up {
            print::stderr(&format!(
                "warning: {interface} is down, so no packet passes: 'ip link set {interface} up'\n"
            ));
        }
        let address = session.addresses.get(host).map_or("", String::as_str);
        print::stderr(&format!(
            "The machine behind {interface} is host {host} during the session; its address is {address}/8. The session \
             takes all frames of {interface} and leaves its settings unchanged.\n"
        ));
    }
    let (status, lost) = session.run(&|| stop.load(Ordering::Relaxed))?;
    if lost > 0 {
        print::stderr(&format!(
            "{lost} frames of attached interfaces were not read in time, as this machine is too slow for them.\n"
        ));
    }
    Ok(ExitCode::from(status))
}

/// Standard input and output, as the terminal of a session in virtual time.
struct StdioTerminal {
    host: String,
    is_terminal: bool,
    stop: Arc<AtomicBool>,
    status: Arc<AtomicU8>,
}

impl Terminal for StdioTerminal {
    fn output(&mut self, bytes: &[u8]) {
        let mut out = std::io::stdout().lock();
        if out.write_all(bytes).and_then(|()| out.flush()).is_err() {
            // Nobody reads the output any more.
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    fn line(&mut self, status: u8, now: Time) -> Option<String> {
        self.status.store(status, Ordering::Relaxed);
        if self.is_terminal {
            let seconds = now.since_start().as_secs_f64();
            print::stderr(&format!("{} {seconds:.6} s{} ", self.host, sign(status)));
        }
        let mut line = String::new();
        let read = std::io::stdin().lock().read_line(&mut line);
        let line = line.trim_end_matches('\n');
        let over = !matches!(read, Ok(1..)) || line == "exit" || self.stop.load(Ordering::Relaxed);
        self.stop.fetch_or(over, Ordering::Relaxed);
        (!over).then(|| line.to_owned())
    }
}

/// The last characters of the prompt: `$`, with the last exit status if it is not zero.
fn sign(status: u8) -> String {
    if status == 0 { "$".to_owned() } else { format!(" ({status})$") }
}

//! The command `shallop`: arguments, messages, tables, the progress bar and exit codes. The crate `shallop-workbench`
//! runs studies.
//!
//! The library is for programs that add controllers to the command: [`main_with`].

mod advise;
mod agree;
mod args;
mod bench;
mod compare;
mod configure;
mod controller_args;
mod device_args;
mod doctor;
#[cfg(target_os = "linux")]
mod edge;
mod examples;
mod exit_codes;
mod export;
mod host;
mod host_args;
mod input;
mod kernel;
mod live;
mod messages;
mod new;
mod parent;
#[cfg(target_os = "linux")]
mod ping;
mod point_args;
mod print;
mod program_args;
mod progress;
mod report;
mod run;
mod scenario_args;
mod shell;
mod show;
mod systemd;
mod tape;
#[cfg(target_os = "linux")]
mod transfer;
#[cfg(target_os = "linux")]
mod transfer_args;
#[cfg(target_os = "linux")]
mod transfer_identity;
#[cfg(target_os = "linux")]
mod transfer_path;
#[cfg(target_os = "linux")]
mod transfer_stats;
mod watch;

use crate::args::{Arguments, Command};
use crate::exit_codes::{BAD_INPUT, INTERRUPTED, MISSING};
use crate::{input::Input, messages::Message};
use clap::Parser;
use clap::error::{ContextKind, ContextValue};
use shallop_control::Added;
use shallop_workbench::diagnostic::{Missing, Result, keep_words_whole, plain};
use shallop_workbench::{fault::Fault, printable::printable, rehearsal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::{io::Write, path::Path, process::ExitCode, sync::Arc};

/// Runs the command with the arguments of the process. To be called from `main`, before the process has a second
/// thread.
pub fn main() -> ExitCode {
    keep_words_whole();
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return unreadable(error),
    };
    messages::begin(arguments.program.message_format);
    match run_command(&arguments) {
        Ok(code) => code,
        Err(report) => {
            if messages::is_json() {
                messages::send(&Message::Error(&Fault::from(&report)));
            } else {
                let _ = writeln!(std::io::stderr(), "{report:?}");
            }
            ExitCode::from(if report.is::<Missing>() { MISSING } else { BAD_INPUT })
        }
    }
}

/// [`main`] with further congestion controllers, which scenarios name like those of the command
/// (docs/add-a-controller.md).
pub fn main_with(controllers: &'static [Added]) -> ExitCode {
    match shallop_control::added::add(controllers) {
        Ok(()) => main(),
        Err(why) => {
            let _ = writeln!(std::io::stderr(), "error: {why}");
            ExitCode::from(BAD_INPUT)
        }
    }
}

/// Prints a command-line error, or the help that was asked for.
fn unreadable(error: clap::Error) -> ExitCode {
    let error = printable_values(error);
    if error.use_stderr() {
        messages::begin(messages::format_of(&std::env::args_os().collect::<Vec<_>>()));
    }
    if !messages::is_json() {
        error.exit();
    }
    messages::send(&Message::Error(&messages::fault(&error)));
    ExitCode::from(BAD_INPUT)
}

/// Escapes control characters in the typed values that an error shows.
fn printable_values(mut error: clap::Error) -> clap::Error {
    let escaped = |text: &str| printable(text).into_owned();
    let context: Vec<(ContextKind, ContextValue)> = error
        .context()
        .filter_map(|(kind, value)| match value {
            ContextValue::String(text) => Some((kind, ContextValue::String(escaped(text)))),
            ContextValue::Strings(texts) => {
                let texts = texts.iter().map(|text| escaped(text)).collect();
                Some((kind, ContextValue::Strings(texts)))
            }
            _ => None,
        })
        .collect();
    for (kind, value) in context {
        error.insert(kind, value);
    }
    error
}

fn run_command(arguments: &Arguments) -> Result<ExitCode> {
    let (command, stop) = (&arguments.command, Arc::new(AtomicBool::new(false)));
    own_hosts(command)?;
    let ends = arguments.program.end_with_stdin;
    // The scenario is read from standard input first; only then does the end of standard input end the command.
    let begin = |scenario: &Path| -> Result<Input> {
        let input = Input::read(scenario)?;
        if ends {
            parent::end_with_stdin()?;
        }
        Ok(input)
    };
    if ends && !matches!(command, Command::Run(_) | Command::Sweep(_) | Command::Advise(_) | Command::Check(_)) {
        parent::end_with_stdin()?;
    }
    let done = |result: Result<()>| result.map(|()| ExitCode::SUCCESS);
    match command {
        Command::Run(args) => run::run(args, &begin(&args.source.scenario)?, &*listen(&stop)?),
        Command::Sweep(args) => run::sweep(args, &begin(&args.source.scenario)?, &*listen(&stop)?),
        Command::Advise(args) => advise::advise(args, &begin(&args.source.scenario)?, &*listen(&stop)?),
        Command::Check(args) => done(show::check(args, &begin(&args.source.scenario)?)),
        Command::Rehearse(args) => run::rehearse(args, &*listen(&stop)?),
        Command::Agree(args) => agree::agree(args, &*listen(&stop)?),
        Command::Tape(args) => tape::tape(args),
        Command::Doctor(args) => done(doctor::doctor(args, &*listen(&stop)?)),
        Command::Reproduce(args) => run::reproduce(args, &*listen(&stop)?),
        Command::Bench(args) => bench::bench(args, &*listen(&stop)?),
        Command::Compare(args) => compare::compare(args, &*listen(&stop)?),
        Command::Report(args) => done(report::report(args)),
        Command::Export(args) => done(export::export(args)),
        Command::New(args) => done(new::new(args)),
        Command::Schema(args) => done(show::schema(args)),
        Command::Completions(args) => done(show::completions(args)),
        Command::Man(args) => done(show::man(args)),
        Command::Chips(args) => done(show::chips(args)),
        Command::Config(args) => done(configure::config(args)),
        Command::Import(args) => done(configure::import(args)),
        Command::Kernel(args) => kernel::kernel(args),
        Command::Host(args) => host::host(args, &*listen(&stop)?),
        #[cfg(target_os = "linux")]
        Command::Edge(args) => edge::edge(args, &*listen(&stop)?),
        #[cfg(target_os = "linux")]
        Command::Send(args) => transfer::send(args, &|| listen(&stop)),
        #[cfg(target_os = "linux")]
        Command::Receive(args) => transfer::receive(args, &*listen(&stop)?),
        #[cfg(target_os = "linux")]
        Command::Ping(args) => ping::ping(args),
        // Joining changes the user namespace, which needs a single thread; a signal handler would be a second one.
        Command::Shell(args) if args.join.is_some() => shell::shell(args, &stop),
        Command::Shell(args) => shell::shell(args, &listen(&stop)?),
    }
}

/// Lets ordinary users create network namespaces, for commands that need them. The process must have a single thread.
fn own_hosts(command: &Command) -> Result<()> {
    match command {
        Command::Rehearse(_) | Command::Agree(_) | Command::Doctor(_) => {}
        Command::Shell(args) if args.join.is_none() && !args.virtual_time => {}
        _ => return Ok(()),
    }
    rehearsal::enter_user_namespace()
}

/// Returns a flag that Ctrl-C sets, so that finished runs are stored. A second Ctrl-C ends the process at once.
fn listen(stop: &Arc<AtomicBool>) -> Result<Arc<AtomicBool>> {
    let flag = Arc::clone(stop);
    let handler = move || {
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(INTERRUPTED.into());
        }
    };
    ctrlc::set_handler(handler).map_err(|why| plain(&format!("could not listen to Ctrl-C: {why}")))?;
    Ok(Arc::clone(stop))
}

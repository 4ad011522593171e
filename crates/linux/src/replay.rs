//! Tapes of rehearsals: their files, and the simulator's network that is given one.

use std::fs;
use std::path::Path;

use shallop_emu::Emulator;
use shallop_emu::tape::{Player, Record, Recorder, Tape, Way, decision};
use shallop_hosts::flows::HostEnds;
use shallop_hosts::{addresses, frame};
use shallop_lab::{ends, run_with_hosts};
use shallop_measure::observer::Unobserved;
use shallop_plan::Setup;
use shallop_plan::plan::Plan;
use shallop_results::machine::Played;

use crate::error::{RehearsalError, failed};
use crate::traffic::Traffic;

/// Bytes of a line before an Ethernet frame.
const HEADER: usize = shallop_emu::offload::HEADER;

/// Writes a tape's file, which is there whole or not at all.
pub(crate) fn write(file: &str, tape: &Tape) -> Result<(), RehearsalError> {
    let draft = format!("{file}.part");
    fs::write(&draft, tape.to_bytes())
        .and_then(|()| fs::rename(&draft, file))
        .map_err(failed(format!("the tape {file}")))
}

/// Reads a tape's file.
///
/// # Errors
/// If it cannot be read, or is no tape.
pub fn read(file: &Path) -> Result<Tape, RehearsalError> {
    let bytes = fs::read(file).map_err(failed(format!("the tape {}", file.display())))?;
    let none = || RehearsalError::Refused(format!("{}: no tape of this version", file.display()));
    Tape::of_bytes(&bytes).ok_or_else(none)
}

/// The packets of a tape, a line each.
///
/// # Errors
/// If it cannot be read, or is no tape.
pub fn lines(file: &Path) -> Result<Vec<String>, RehearsalError> {
    Ok(read(file)?.records.iter().map(line).collect())
}

fn line(record: &Record) -> String {
    let Record { way, at, host, length, bytes } = record;
    let (seconds, way) =
        (at.since_start().as_secs_f64(), if *way == Way::Read { "sent" } else { "got" });
    let mut whole = bytes.get(HEADER..).unwrap_or_default().to_vec();
    whole.resize((*length as usize).saturating_sub(HEADER), 0);
    let Some(of) = frame::segment(&whole) else {
        return format!("{seconds:.9} host {host} {way} {length} bytes");
    };
    let end = |(address, port)| format!("{}:{port}", addresses::text(address));
    let (from, to) = (end(of.ends.from), end(of.ends.to));
    let flag = |set: bool, name: &str| if set { format!(" {name}") } else { String::new() };
    let flags =
        flag(of.syn, "SYN") + &flag(of.fin, "FIN") + &flag(of.ecn == shallop_core::Ecn::Ce, "CE");
    format!(
        "{seconds:.9} host {host} {way} {from} > {to} seq {} ack {} {} bytes{flags}",
        of.sequence, of.acknowledged, of.payload
    )
}

/// Gives a tape to the network of a plan, in virtual time.
///
/// # Errors
/// If it is no tape of this plan.
pub fn replay(plan: &Plan, file: &Path) -> Result<Played, RehearsalError> {
    play(plan, &read(file)?).map(|(played, _)| played)
}

/// Gives a tape to the network of a plan, in virtual time. Returns what it did, and the tape of that.
///
/// # Errors
/// If it is no tape of this plan.
pub fn play(plan: &Plan, tape: &Tape) -> Result<(Played, Tape), RehearsalError> {
    let (scheme, seed) = tape.job;
    if scheme >= plan.schemes.len() {
        return Err(RehearsalError::Refused("it is a tape of another scenario".to_owned()));
    }
    let setup = Setup::new(plan, scheme, seed)?;
    let traffic = Traffic::of(&setup, None)?;
    let legacy = plan.groups.iter().any(|group| group.transport.is_some());
    let again = Recorder::new(Player::new(tape), Some(Tape::default()));
    let orders = traffic.flows.orders.clone();
    let emulator = Emulator::new(again, traffic.rates.len(), orders, legacy);
    let factory =
        HostEnds { setup: &setup, simulated: ends::mixed(&setup)?, flows: &traffic.flows };
    let (outcome, emulator) = run_with_hosts(&setup, &factory, emulator, &mut Unobserved)?;
    let again = emulator.into_lines().0.tape.unwrap_or_default();
    let before: Vec<_> = tape.written().map(decision).collect();
    let after: Vec<_> = again.written().map(decision).collect();
    let pairs = (0..before.len().max(after.len())).map(|at| (before.get(at), after.get(at)));
    let differing: Vec<usize> =
        pairs.enumerate().filter(|(_, (a, b))| a != b).map(|(at, _)| at).collect();
    let shown =
        |of: &Tape, at: usize| of.written().nth(at).map_or_else(|| "nothing".to_owned(), line);
    let first = differing.first();
    let first = first.map(|&at| format!("{}; now {}", shown(tape, at), shown(&again, at)));
    let played = Played {
        read: (tape.records.len() - before.len()) as u64,
        written: before.len() as u64,
        differing: differing.len() as u64,
        first,
        run: outcome.run,
    };
    Ok((played, again))
}

//! Files of tapes, and the replay of a tape in a simulated network.

use crate::error::{RehearsalError, failed};
use crate::traffic::Traffic;
use shallop_hosts::flows::{HostEndpoints, uses_legacy_classes};
use shallop_hosts::offload::HEADER;
use shallop_hosts::tape::{Direction, Player, Record, Recorder, Tape, decision};
use shallop_hosts::{Emulator, addresses, frame};
use shallop_measure::observer::Unobserved;
use shallop_measure::{ends, run_with_hosts};
use shallop_plan::{ResolvedRun, plan::Plan};
use shallop_results::machine::Played;
use std::{collections::BTreeMap, fs, path::Path};

/// Writes a tape to a file, which appears whole or not at all.
pub(crate) fn write(file: &str, tape: &Tape) -> Result<(), RehearsalError> {
    let draft = format!("{file}.part");
    fs::write(&draft, tape.to_bytes())
        .and_then(|()| fs::rename(&draft, file))
        .map_err(failed(format!("the tape {file}")))
}

/// Reads a tape from a file.
///
/// # Errors
/// If the file cannot be read or is not a tape.
pub fn read(file: &Path) -> Result<Tape, RehearsalError> {
    let bytes = fs::read(file).map_err(failed(format!("the tape {}", file.display())))?;
    Tape::from_bytes(&bytes).map_err(|why| RehearsalError::Refused(format!("{} {why}", file.display())))
}

/// Describes the packets of a tape, one in each line.
///
/// # Errors
/// If the file cannot be read or is not a tape.
pub fn lines(file: &Path) -> Result<Vec<String>, RehearsalError> {
    let tape = read(file)?;
    Ok(tape.records.iter().map(|record| line(record, &tape.names)).collect())
}

/// Describes a packet of a tape. `names` are the names of hosts, which older tapes lack.
fn line(record: &Record, names: &[String]) -> String {
    let Record { direction, at, host, length, bytes } = record;
    let name = |host: u32| names.get(host as usize);
    let here = name(*host).map_or_else(|| format!("host {host}"), Clone::clone);
    let (seconds, verb) =
        (at.since_start().as_secs_f64(), if *direction == Direction::FromHost { "sent" } else { "got" });
    let mut whole = bytes.get(HEADER..).unwrap_or_default().to_vec();
    whole.resize((*length as usize).saturating_sub(HEADER), 0);
    let Some(of) = frame::segment(&whole) else {
        return format!("{seconds:.9} {here} {verb} {length} bytes");
    };
    let end = |(address, port)| match addresses::host_of(address).and_then(name) {
        Some(name) => format!("{name}:{port}"),
        None => format!("{}:{port}", addresses::text(address)),
    };
    let (from, to) = (end(of.sockets.from), end(of.sockets.to));
    let flag = |set: bool, name: &str| if set { format!(" {name}") } else { String::new() };
    let flags = flag(of.syn, if of.ack { "SYN-ACK" } else { "SYN" })
        + &flag(of.fin, "FIN")
        + &flag(of.ecn == shallop_core::Ecn::Ce, "CE");
    format!(
        "{seconds:.9} {here} {verb} {from} > {to} seq {} ack {} {} bytes{flags}",
        of.sequence, of.acknowledged, of.payload
    )
}

/// Replays the file of a tape in the network of a plan, in virtual time.
///
/// # Errors
/// If the file cannot be read, is not a tape, or was recorded from another plan.
pub fn replay(plan: &Plan, file: &Path) -> Result<Played, RehearsalError> {
    play(plan, &read(file)?).map(|(played, _)| played)
}

/// Replays a tape in the network of a plan, in virtual time. Returns the result and the tape of the replay.
///
/// # Errors
/// If the tape is not of this plan.
pub fn play(plan: &Plan, tape: &Tape) -> Result<(Played, Tape), RehearsalError> {
    let (scheme, seed) = tape.job;
    if scheme >= plan.schemes.len() {
        return Err(RehearsalError::Refused("it is a tape of another scenario".to_owned()));
    }
    let setup = ResolvedRun::new(plan, scheme, seed)?;
    let traffic = Traffic::from_setup(&setup, None)?;
    let again = Recorder::new(Player::new(tape), Some(Tape::default()));
    let emulator = Emulator::new(again, traffic.rates.len(), uses_legacy_classes(plan));
    let factory = HostEndpoints { setup: &setup, simulated: ends::mixed(&setup)?, flows: &traffic.flows };
    let (outcome, emulator) = run_with_hosts(&setup, &factory, emulator, &mut Unobserved)?;
    let again = emulator.into_io().0.tape.unwrap_or_default();
    let before: Vec<_> = tape.delivered().map(decision).collect();
    let after: Vec<_> = again.delivered().map(decision).collect();
    let pairs = (0..before.len().max(after.len())).map(|at| (before.get(at), after.get(at)));
    let first = pairs.enumerate().find(|(_, (a, b))| a != b).map(|(at, _)| at);
    let shown = |of: &Tape, at: usize| {
        let record = of.delivered().nth(at);
        record.map_or_else(|| "no more packets".to_owned(), |record| line(record, &traffic.flows.names))
    };
    let shown = |at: usize| format!("tape: {} / replay: {}", shown(tape, at), shown(&again, at));
    let played = Played {
        read: (tape.records.len() - before.len()) as u64,
        written: before.len() as u64,
        replayed: after.len() as u64,
        differing: first.map_or(0, |_| differing(&before, &after).max(1)),
        first: first.map(shown),
        run: outcome.run,
    };
    Ok((played, again))
}

/// Counts the packets of each list that have no equal packet in the other, and returns the larger count.
fn differing<T: Ord>(before: &[T], after: &[T]) -> u64 {
    let mut balance: BTreeMap<&T, i64> = BTreeMap::new();
    for packet in before {
        *balance.entry(packet).or_default() += 1;
    }
    for packet in after {
        *balance.entry(packet).or_default() -= 1;
    }
    let sum = |sign: i64| balance.values().map(|more| (sign * more).max(0)).sum::<i64>();
    sum(1).max(sum(-1)).unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_without_an_equal_one_differ() {
        assert_eq!(differing(&[1, 2, 2, 3], &[2, 1, 3, 2]), 0);
        assert_eq!(differing(&[1, 2, 2], &[2, 3, 4, 5, 6]), 4);
        assert_eq!(differing(&[1, 2, 2], &[]), 3);
    }
}

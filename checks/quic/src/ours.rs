//! A bulk transfer of `shallop-quic`.

use crate::usage::Meter;
use crate::worker::{BLOCK, Credits, Done, Error, Ready, Sender, Stack, Worker};
use pollster::block_on;
use shallop_core::BitsPerSec;
use shallop_quic::{Config, CreditStats, Endpoint, PathStats, Tls, code::Code};
use std::time::{Duration, Instant};

fn config(worker: &Worker) -> Config {
    let link = BitsPerSec::at_least_one(worker.link * 1_000_000);
    Config {
        slack: Duration::from_micros(worker.slack),
        wait: Duration::from_micros(worker.wait),
        batch: Some(worker.batch).filter(|&batch| batch > 0),
        credits: worker.stack == Stack::Credits,
        ..Config::new(link)
    }
}

pub fn receive(worker: &Worker, ready: impl FnOnce(&Ready) -> Result<(), Error>) -> Result<Done, Error> {
    let code = Code::make()?;
    let endpoint = Endpoint::bind((worker.address, 0).into(), config(worker), Tls::server_with(code.clone())?)?;
    let port = endpoint.address().port();
    ready(&Ready { port, code: code.to_string() })?;
    let mut idle = Vec::new();
    for _ in 0..worker.idle {
        idle.push(block_on(endpoint.accept()).ok_or("no connection")?);
    }
    let connection = block_on(endpoint.accept()).ok_or("no connection")?;
    let mut stream = block_on(connection.accept_uni())?;
    let mut block = vec![0; 4 * BLOCK];
    let mut bytes = block_on(stream.read(&mut block))? as u64;
    let meter = Meter::start()?;
    loop {
        match block_on(stream.read(&mut block))? {
            0 => break,
            count => bytes += count as u64,
        }
    }
    let usage = meter.stop()?;
    block_on(connection.closed());
    Ok(Done { bytes, usage, credits: None })
}

pub fn send(sender: &Sender) -> Result<Done, Error> {
    let (own, config) = ((sender.worker.address, 0).into(), config(&sender.worker));
    let endpoint = Endpoint::bind(own, config, Tls::client_with(sender.code.parse()?))?;
    let mut idle = Vec::new();
    for _ in 0..sender.worker.idle {
        idle.push(block_on(endpoint.connect(sender.to, "shallop"))?);
    }
    let connection = block_on(endpoint.connect(sender.to, "shallop"))?;
    let mut stream = block_on(connection.open_uni())?;
    let block = vec![0x5A; BLOCK];
    let mut bytes = 0;
    let meter = Meter::start()?;
    let until = Instant::now() + sender.duration();
    while Instant::now() < until {
        block_on(stream.write_all(&block))?;
        bytes += block.len() as u64;
    }
    block_on(stream.finished())?;
    let usage = meter.stop()?;
    let (stats, path) = (connection.stats(), connection.path_stats());
    connection.close(0, b"done");
    // The process may exit once the peer was told.
    block_on(endpoint.wait_idle());
    let has_credits = sender.worker.stack == Stack::Credits;
    Ok(Done { bytes, usage, credits: has_credits.then(|| of(&stats, &path)) })
}

fn of(stats: &CreditStats, path: &PathStats) -> Credits {
    let lateness = [0.5, 0.99, 1.0].map(|part| stats.lateness.quantile(part) * 1e6);
    Credits {
        used: stats.used,
        skipped: stats.skipped,
        wasted: stats.wasted,
        lost: [stats.emulation_loss(), path.loss()].map(|part| part * 100.0),
        lateness: [lateness[0], lateness[1], stats.latest_s * 1e6],
    }
}

//! Sends one file over one stream, without the protocol of `shallop send` (the crate `shallop-transfer`), which resumes
//! and verifies.
//!
//! ```sh
//! cargo run -p shallop-quic --example file -- receive 127.0.0.1:4750 copy
//! cargo run -p shallop-quic --example file -- send original 127.0.0.1:4750 CODE
//! ```
//!
//! `receive` prints a code, takes one file and ends.
#![allow(clippy::print_stdout, reason = "an example says what it does")]

use pollster::block_on;
use shallop_core::BitsPerSec;
use shallop_quic::{Config, CreditStats, Endpoint, Tls, code::Code, identity::SERVER_NAME};
use std::io::{Read, Write};
use std::{error::Error, fs::File};
use std::{net::SocketAddr, path::Path, time::Duration};

/// The length of a read or write, bytes.
const CHUNK: usize = 64 << 10;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["receive", address, path] => {
            let code = Code::make()?;
            let endpoint = listen(address.parse()?, code.clone())?;
            println!("{} {}", endpoint.address(), code);
            println!("{} bytes", receive(&endpoint, Path::new(path))?);
        }
        ["send", path, address, code] => {
            let stats = send(Path::new(path), address.parse()?, code.parse()?)?;
            println!("{} packets on {} credits", stats.data_packets, stats.used);
        }
        _ => return Err("receive ADDRESS FILE, or send FILE ADDRESS CODE".into()),
    }
    Ok(())
}

/// A link of 100 Mb/s. The waiting time has to exceed the round trip time to the peer.
fn config() -> Config {
    let wait = Duration::from_millis(40);
    Config { wait, ..Config::new(BitsPerSec::at_least_one(100_000_000)) }
}

pub(crate) fn listen(address: SocketAddr, code: Code) -> Result<Endpoint, Box<dyn Error>> {
    Ok(Endpoint::bind(address, config(), Tls::server_with(code)?)?)
}

/// Writes the first stream of the first connection to a file, and returns its length.
pub(crate) fn receive(endpoint: &Endpoint, path: &Path) -> Result<u64, Box<dyn Error>> {
    let mut file = File::create(path)?;
    block_on(async {
        let connection = endpoint.accept().await.ok_or("the endpoint is closed")?;
        let mut stream = connection.accept_uni().await?;
        let (mut chunk, mut bytes) = (vec![0; CHUNK], 0);
        loop {
            // 0 is the end of the stream. A stream that was reset is an error.
            let count = stream.read(&mut chunk).await?;
            if count == 0 {
                break;
            }
            file.write_all(&chunk[..count])?;
            bytes += count as u64;
        }
        file.sync_all()?;
        // The sender closes the connection after it has the acknowledgement of all data.
        connection.closed().await;
        Ok(bytes)
    })
}

/// Sends a file, and returns the counts of credits.
pub(crate) fn send(path: &Path, to: SocketAddr, code: Code) -> Result<CreditStats, Box<dyn Error>> {
    let mut file = File::open(path)?;
    let any = SocketAddr::new(if to.is_ipv4() { [0; 4].into() } else { [0; 16].into() }, 0);
    let endpoint = Endpoint::bind(any, config(), Tls::client_with(code))?;
    block_on(async {
        let connection = endpoint.connect(to, SERVER_NAME).await?;
        let mut stream = connection.open_uni().await?;
        let mut chunk = vec![0; CHUNK];
        loop {
            let count = file.read(&mut chunk)?;
            if count == 0 {
                break;
            }
            stream.write_all(&chunk[..count]).await?;
        }
        stream.finished().await?;
        let stats = connection.stats();
        connection.close(0, b"done");
        endpoint.wait_idle().await;
        Ok(stats)
    })
}

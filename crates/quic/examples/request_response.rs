//! Requests and answers: a server that returns the lengths of texts, and a client that sends several requests at a
//! time, each on a stream of its own.
//!
//! ```sh
//! cargo run -p shallop-quic --example request_response -- serve 127.0.0.1:4750
//! cargo run -p shallop-quic --example request_response -- ask 127.0.0.1:4750 CODE "how long" "am I?"
//! ```
//!
//! `serve` prints a code. Each request has a bidirectional stream of its own: the client sends the request and ends its
//! direction of the stream, and the server sends the answer in the other direction.
#![allow(clippy::print_stdout, reason = "an example says what it does")]

use pollster::block_on;
use shallop_core::BitsPerSec;
use shallop_quic::{Config, Connection, Endpoint, QuicError, Tls, code::Code, identity::SERVER_NAME};
use std::{error::Error, net::SocketAddr};

/// The longest request and the longest answer, bytes.
pub(crate) const LONGEST: usize = 1 << 20;
/// The application error code for a request that is too long.
const TOO_LONG: u32 = 1;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["serve", address] => {
            let code = Code::make()?;
            let server = listen(address.parse()?, code.clone())?;
            println!("{} {}", server.address(), code);
            serve(&server);
            Ok(())
        }
        ["ask", address, code, ref requests @ ..] => {
            for answer in ask(address.parse()?, code.parse()?, requests)? {
                println!("{answer}");
            }
            Ok(())
        }
        _ => Err("serve ADDRESS, or ask ADDRESS CODE REQUEST...".into()),
    }
}

/// A link of 100 Mb/s. The waiting time has to exceed the round trip time to the peer.
fn config() -> Config {
    let wait = std::time::Duration::from_millis(40);
    Config { wait, ..Config::new(BitsPerSec::at_least_one(100_000_000)) }
}

pub(crate) fn listen(address: SocketAddr, code: Code) -> Result<Endpoint, QuicError> {
    Endpoint::bind(address, config(), Tls::server_with(code)?)
}

/// Serves each connection in a thread of its own, until the endpoint is closed.
pub(crate) fn serve(server: &Endpoint) {
    std::thread::scope(|scope| {
        while let Some(connection) = block_on(server.accept()) {
            // The peer may close the connection at any time.
            scope.spawn(move || block_on(serve_one(&connection)).ok());
        }
    });
}

async fn serve_one(connection: &Connection) -> Result<(), QuicError> {
    loop {
        let (mut answer, mut request) = connection.accept_bi().await?;
        match request.read_to_end(LONGEST).await {
            Ok(text) => {
                answer.write_all(format!("{} bytes", text.len()).as_bytes()).await?;
                answer.finish();
            }
            Err(QuicError::TooLong(_)) => {
                request.stop(TOO_LONG);
                answer.reset(TOO_LONG);
            }
            Err(why) => return Err(why),
        }
    }
}

/// Sends all requests at once, and returns the answers in the order of the requests.
pub(crate) fn ask(to: SocketAddr, code: Code, requests: &[&str]) -> Result<Vec<String>, QuicError> {
    let any = SocketAddr::new(if to.is_ipv4() { [0; 4].into() } else { [0; 16].into() }, 0);
    let client = Endpoint::bind(any, config(), Tls::client_with(code))?;
    block_on(async {
        let connection = client.connect(to, SERVER_NAME).await?;
        let mut waiting = Vec::new();
        for request in requests {
            let (mut send, answer) = connection.open_bi().await?;
            send.write_all(request.as_bytes()).await?;
            send.finish();
            waiting.push(answer);
        }
        let mut answers = Vec::new();
        for mut answer in waiting {
            let bytes = answer.read_to_end(LONGEST).await?;
            answers.push(String::from_utf8_lossy(&bytes).into_owned());
        }
        connection.close(0, b"done");
        client.wait_idle().await;
        Ok(answers)
    })
}

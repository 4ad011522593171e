//! `FlashPass` between real hosts: QUIC (RFC 9000) whose data packets leave on credits of the receiver.
//!
//! An [`Endpoint`] is a UDP socket with a thread that runs its connections. A [`Connection`] has streams with the
//! interface of the `quinn` crate: [`Connection::open_uni`], [`Connection::accept_bi`], [`SendStream::write`],
//! [`RecvStream::read`]. The futures work with any executor; `pollster` blocks the calling thread on one.
//! `quinn-proto` provides reliability, flow control, migration and encryption (TLS 1.3). This crate decides *when* data
//! packets leave. A [`MultiEndpoint`] runs many endpoints on one thread of the caller, without futures.
//!
//! # When data leaves
//!
//! Before each data packet its sender sends an *emulation packet*, an Ethernet frame of the smallest length, on the
//! same path. Switches meter emulation packets and drop those above the meter's rate. The receiver answers each
//! emulation packet that arrives with a *credit*, and the data packet leaves a fixed time after its emulation packet,
//! the waiting time [`Config::wait`]. Data packets therefore never exceed what the buffers on the path hold, and
//! senders measure congestion by the loss of emulation packets. The credit engine is the simulator's
//! (`shallop_proto::flashpass`). The pages `docs/quic-wire.md` and `docs/quic-operators.md` of the repository describe
//! the packets and the configuration of switches.
//!
//! [`Connection::send_mode`] tells how data leaves. If the peer does not use credits, or if the path drops all
//! emulation packets, the connection is plain QUIC with CUBIC. Streams work identically.
//!
//! # Authentication
//!
//! Both ends know a [`code::Code`], and prove it to each other before anything else; or a server has the certificate of
//! an [`authority::Authority`], and asks clients for one; see [`Tls`].
//!
//! # Example
//!
//! A server that answers one request, over loopback. `examples/request_response.rs` and `examples/file.rs` are complete
//! programs.
//!
//! ```
//! use pollster::block_on;
//! use shallop_core::BitsPerSec;
//! use shallop_quic::{Config, Endpoint, Tls, code::Code};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let config = Config::new("100Mbps".parse::<BitsPerSec>()?);
//! let code = Code::make()?;
//! let server = Endpoint::bind("127.0.0.1:0".parse()?, config, Tls::server_with(code.clone())?)?;
//! let address = server.address();
//! std::thread::spawn(move || {
//!     block_on(async {
//!         let connection = server.accept().await.expect("the endpoint is open");
//!         let (mut answer, mut request) = connection.accept_bi().await?;
//!         let name = request.read_to_end(1_000).await?;
//!         answer.write_all(&[b"Hello, ", &name[..]].concat()).await?;
//!         answer.finish();
//!         connection.closed().await;
//!         Ok::<(), shallop_quic::QuicError>(())
//!     })
//! });
//!
//! let client = Endpoint::bind("127.0.0.1:0".parse()?, config, Tls::client_with(code))?;
//! let answer = block_on(async {
//!     let connection = client.connect(address, "shallop").await?;
//!     let (mut request, mut answer) = connection.open_bi().await?;
//!     request.write_all(b"sailor").await?;
//!     request.finish();
//!     let answer = answer.read_to_end(1_000).await?;
//!     connection.close(0, b"done");
//!     // The peer is told before the process may exit.
//!     client.wait_idle().await;
//!     Ok::<_, shallop_quic::QuicError>(answer)
//! })?;
//! assert_eq!(answer, b"Hello, sailor");
//! # Ok(())
//! # }
//! ```
//!
//! # Units
//!
//! Rates are bits a second on the wire, with the preamble and gap of Ethernet ([`Config::link`]). Lengths of datagrams
//! are bytes of UDP payload. Fields of reports have their unit as a suffix (`_s`: seconds). The error codes of streams
//! and connections are defined by the application (RFC 9000, 20.2).
//!
//! # Not supported
//!
//! Unreliable datagrams (RFC 9221), 0-RTT, stream priorities, the traits of `futures-io` and `tokio`, and systems other
//! than Linux.

#![warn(missing_docs)]

mod config;
mod connection;
mod connections;
mod credit;
mod endpoint;
mod endpoint_state;
mod error;
pub mod multi_endpoint;
mod path_stats;
mod peer_address;
mod peer_silence;
mod receive_windows;
mod reset;
mod send_queues;
mod sockets;
mod streams;
mod trust;
#[cfg(test)]
#[path = "../tests/virtual_time/mod.rs"]
mod virtual_time;
mod wakers;

pub use config::{Classes, Config, UnscheduledError, WaitError};
pub use connections::host_prefix;
pub use credit::lateness::Lateness;
pub use credit::send_mode::{Fallback, SendMode};
pub use credit::{counters, notice, outstanding, packet, path_probe, replay, settings};
pub use credit::{stats::CreditStats, unscheduled::Unscheduled};
pub use endpoint::{AnyStream, Connection, Endpoint, RecvStream, SendStream};
pub use error::{QuicError, tidy};
pub use multi_endpoint::MultiEndpoint;
pub use path_stats::PathStats;
pub use sockets::datagram::DatagramDrops;
pub use trust::tls::Tls;
pub use trust::{authority, code, identity};

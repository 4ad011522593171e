//! `FlashPass` between real hosts: QUIC (RFC 9000) whose data packets leave on credits.
//!
//! An [`Endpoint`] is a UDP socket and a thread that keeps its connections going. A [`Connection`] has streams, in the
//! shape of the `quinn` crate's: [`Connection::open_uni`], [`Connection::accept_bi`], [`SendStream::write`],
//! [`RecvStream::read`]. Futures are of any executor; none is part of this crate but `pollster`, which waits in the
//! calling thread. Reliability, flow control, migration and encryption (TLS 1.3) are those of `quinn-proto`. What this
//! crate adds is *when* data leaves.
//!
//! # When data leaves
//!
//! Ahead of each data packet its sender sends an *emulation packet*, a smallest frame, on the same path. Switches meter
//! these and drop what is too much of them. The receiver answers each one that arrives with a *credit*, and a fixed
//! time after it left, [`Config::wait`], the data packet follows. So data meets no more packets than buffers hold, and
//! senders learn of congestion from emulation packets alone. The credit engine is the one of the simulator
//! (`shallop_proto::flashpass`); the pages `docs/quic-wire.md` and `docs/quic-operators.md` of the repository describe
//! the packets and what switches have to do.
//!
//! [`Connection::path`] says how data leaves. A peer without credits gets plain QUIC with CUBIC, as does a path on
//! which no emulation packet is answered. Streams work the same either way.
//!
//! # Who the peer is
//!
//! A server has an [`identity::Identity`]: a certificate that it has made itself, known by its fingerprint, or one of
//! an authority. A client trusts a fingerprint, the first one that it sees, or an [`authority::Authority`]; see
//! [`Tls`].
//!
//! # Example
//!
//! A server that answers one request, over loopback. `examples/request_response.rs` and `examples/file.rs` are programs
//! of their own.
//!
//! ```
//! use pollster::block_on;
//! use shallop_core::BitsPerSec;
//! use shallop_quic::identity::{Identity, ServerVerifier};
//! use shallop_quic::{Config, Endpoint, Tls};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let config = Config::new("100Mbps".parse::<BitsPerSec>()?);
//! let identity = Identity::make()?;
//! let server = Endpoint::bind("127.0.0.1:0".parse()?, config, Tls::server(&identity))?;
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
//! let trusts = ServerVerifier::pinned(identity.fingerprint());
//! let client = Endpoint::bind("127.0.0.1:0".parse()?, config, Tls::client(trusts))?;
//! let answer = block_on(async {
//!     let connection = client.connect(address, "shallop").await?;
//!     let (mut request, mut answer) = connection.open_bi().await?;
//!     request.write_all(b"sailor").await?;
//!     request.finish();
//!     let answer = answer.read_to_end(1_000).await?;
//!     connection.close(0, b"done");
//!     Ok::<_, shallop_quic::QuicError>(answer)
//! })?;
//! assert_eq!(answer, b"Hello, sailor");
//! # Ok(())
//! # }
//! ```
//!
//! # Files
//!
//! [`session`] moves files and folders, as `shallop send` and `shallop receive` do, and waits in the calling thread;
//! [`transfer`] is its protocol. [`ping`] is what `shallop ping` does. [`endpoints`] are many endpoints on one thread
//! of the caller, without futures.
//!
//! # Units
//!
//! Rates are bits a second on the wire, preamble and gap of Ethernet included ([`Config::link`]). Lengths of datagrams
//! are bytes of UDP payload. Fields of reports end in their unit (`_s`: seconds). Codes of streams and connections are
//! the application's, as in RFC 9000.
//!
//! # What it has not
//!
//! Unreliable datagrams (RFC 9221), 0-RTT, priorities of streams, and the traits of `futures-io` or `tokio`. Endpoints
//! need Linux.

#![warn(missing_docs)]

mod config;
mod connection;
mod connections;
mod core;
mod credit;
mod endpoint;
pub mod endpoints;
mod error;
mod files;
mod new_address;
mod outgoing;
mod path_stats;
mod reset;
mod silence;
mod sockets;
mod streams;
mod trust;
#[cfg(test)]
mod virtual_time;
mod waiting;

pub use config::{Classes, Config, UnscheduledError, WaitError};
pub use credit::lateness::Lateness;
pub use credit::path::{Fallback, Path};
pub use credit::stats::CreditStats;
pub use credit::unscheduled::Unscheduled;
pub use credit::{counters, notice, outstanding, packet, replay, settings};
pub use endpoint::{AnyStream, Connection, Endpoint, RecvStream, SendStream};
pub use endpoints::Endpoints;
pub use error::QuicError;
pub use files::{client, host, ping, server, session, transfer};
pub use path_stats::PathStats;
pub use sockets::drops::DatagramDrops;
pub use trust::tls::Tls;
pub use trust::{authority, identity, known_hosts};

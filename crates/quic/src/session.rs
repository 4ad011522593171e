//! Files between two hosts: what `shallop send` and `shallop receive` do. It waits in the thread that asks.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use pollster::block_on;
use serde::Serialize;

use crate::config::Config;
use crate::connection;
use crate::endpoint::{Connection, Endpoint, RecvStream, SendStream};
use crate::error::QuicError;
use crate::identity::{Fingerprint, Identity, SERVER_NAME, ServerVerifier};
use crate::path_stats::PathStats;
use crate::stats::CreditStats;
use crate::tls::Tls;
use crate::transfer::{
    self, Link, Outgoing, Progress, ReceiveOptions, SendOptions, Sources, Summary, TransferError,
};

/// The port of receivers.
pub const PORT: u16 = 4_747;

/// What came of a session.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The files.
    pub transfer: Summary,
    /// Whether data left on credits at the end.
    pub on_credits: bool,
    /// Emulation packets and credits.
    pub credits: CreditStats,
    /// Round trips and losses.
    pub path: PathStats,
}

/// A connection to a receiver of files, which is not trusted yet if nothing is known of it.
pub struct Sending {
    connection: Connection,
    fingerprint: Option<Fingerprint>,
    // Ends the thread, behind the connection.
    _endpoint: Endpoint,
}

impl Sending {
    /// Connects to a receiver: to the one with this fingerprint, or to any.
    ///
    /// # Errors
    /// If nobody answers, or somebody else.
    pub fn connect(
        to: SocketAddr,
        config: Config,
        known: Option<Fingerprint>,
    ) -> Result<Self, QuicError> {
        let trusts = known.map_or_else(ServerVerifier::first_use, ServerVerifier::pinned);
        let any: SocketAddr = if to.is_ipv4() {
            (std::net::Ipv4Addr::UNSPECIFIED, 0).into()
        } else {
            (std::net::Ipv6Addr::UNSPECIFIED, 0).into()
        };
        let tls = Tls::client(Arc::clone(&trusts) as Arc<_>);
        let endpoint = Endpoint::bind(any, config, tls)?;
        let connection = block_on(endpoint.connect(to, SERVER_NAME))?;
        Ok(Self { connection, fingerprint: trusts.seen(), _endpoint: endpoint })
    }

    /// The receiver's fingerprint, which is to be trusted before anything is sent.
    #[must_use]
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        self.fingerprint
    }

    /// Sends files and folders.
    ///
    /// # Errors
    /// If the connection is lost, the receiver refuses all, or a file cannot be read. What has arrived is kept, and a
    /// second try goes on from there.
    pub fn send(
        self,
        sources: &Sources,
        options: SendOptions,
        progress: &dyn Progress,
    ) -> Result<Report, TransferError> {
        let transfer =
            transfer::send(&Streams(self.connection.clone()), sources, options, progress)?;
        Ok(report(&self.connection, transfer))
    }
}

/// An address at which files are received.
pub struct Receiving {
    endpoint: Endpoint,
    fingerprint: Fingerprint,
}

impl Receiving {
    /// Receives at this address, as `identity`.
    ///
    /// # Errors
    /// If the address is taken.
    pub fn bind(
        address: SocketAddr,
        config: Config,
        identity: &Identity,
    ) -> Result<Self, QuicError> {
        let tls = Tls::server(identity.certificate().clone(), identity.key());
        let endpoint = Endpoint::bind(address, config, tls)?;
        Ok(Self { endpoint, fingerprint: identity.fingerprint() })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.endpoint.address()
    }

    /// What senders see of it.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// Waits for the next sender.
    #[must_use]
    pub fn accept(&self) -> Option<Connection> {
        block_on(self.endpoint.accept())
    }
}

/// Receives the files of a sender into a folder.
///
/// # Errors
/// If the connection is lost or the sender breaks the rules. Starts of files are kept, and a second try goes on there.
pub fn receive(
    connection: &Connection,
    folder: &Path,
    options: ReceiveOptions,
    progress: &dyn Progress,
) -> Result<Report, TransferError> {
    let transfer = transfer::receive(&Streams(connection.clone()), folder, options, progress)?;
    Ok(report(connection, transfer))
}

fn report(connection: &Connection, transfer: Summary) -> Report {
    let on_credits = connection.path() == connection::Path::Credits;
    let path = connection.path_stats();
    Report { transfer, on_credits, credits: connection.stats(), path }
}

/// The streams of a connection for transfers, which wait.
struct Streams(Connection);

impl Link for Streams {
    fn open_uni(&self) -> io::Result<Box<dyn Outgoing>> {
        let stream = block_on(self.0.open_uni()).map_err(QuicError::into_io)?;
        Ok(Box::new(Writing(stream)))
    }

    fn accept_uni(&self) -> io::Result<Option<Box<dyn Read + Send>>> {
        match block_on(self.0.accept_uni()) {
            Ok(stream) => Ok(Some(Box::new(Reading(stream)))),
            Err(QuicError::Closed(_)) => Ok(None),
            Err(why) => Err(why.into_io()),
        }
    }

    fn close(&self, reason: &str) {
        self.0.close(0, reason.as_bytes());
    }
}

struct Writing(SendStream);

impl Write for Writing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        block_on(self.0.write(bytes)).map_err(QuicError::into_io)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Outgoing for Writing {
    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.0.finish();
        Ok(())
    }
}

struct Reading(RecvStream);

impl Read for Reading {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        block_on(self.0.read(into)).map_err(QuicError::into_io)
    }
}

//! Files between two hosts: what `shallop send` and `shallop receive` do. It waits in the thread that asks.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::path::Path as FilePath;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pollster::block_on;
use rustls::server::danger::ClientCertVerifier;
use serde::Serialize;

use crate::config::Config;
use crate::credit::path::Path;
use crate::credit::stats::CreditStats;
use crate::endpoint::{AnyStream, Connection, Endpoint, RecvStream, SendStream};
use crate::error::QuicError;
use crate::files::host::anywhere;
use crate::files::ping;
use crate::files::reach::{self, ELSEWHERE};
use crate::files::senders::Senders;
use crate::files::transfer::{
    self, Link, Outgoing, Progress, ReceiveOptions, SendOptions, Sources, Summary, TransferError,
};
use crate::path_stats::PathStats;
use crate::sockets::dual;
use crate::trust::identity::{Fingerprint, Identity, SERVER_NAME, ServerVerifier};
use crate::trust::tls::Tls;

/// The port of receivers.
pub const PORT: u16 = 4_747;

/// The reason for which a transfer that is over closes its connection.
const DONE: &str = "done";

/// What came of a session.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The files.
    pub transfer: Summary,
    /// Whether data left on credits at the end.
    pub on_credits: bool,
    /// How data left at the end.
    pub leaves: Path,
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
    /// Connects to a receiver: to the one with this fingerprint, or to any. Several addresses are tried one after the
    /// other with a wait of 250 ms, and the first that answers is taken.
    ///
    /// # Errors
    /// If nobody answers for 10 s, or somebody else.
    pub fn connect(
        to: impl ToSocketAddrs,
        config: Config,
        known: Option<Fingerprint>,
    ) -> Result<Self, QuicError> {
        let trusts = known.map_or_else(ServerVerifier::first_use, ServerVerifier::pinned);
        Self::connect_by(to, SERVER_NAME, config, Tls::client(trusts))
    }

    /// Connects to a receiver of this name that `tls` trusts.
    ///
    /// # Errors
    /// If nobody answers for 10 s, or somebody else.
    pub fn connect_by(
        to: impl ToSocketAddrs,
        name: &str,
        config: Config,
        tls: Tls,
    ) -> Result<Self, QuicError> {
        let addresses: Vec<SocketAddr> = to.to_socket_addrs()?.collect();
        let (endpoint, connection) = reach::connect(&addresses, name, config, tls)?;
        Ok(Self { fingerprint: connection.peer_fingerprint(), connection, _endpoint: endpoint })
    }

    /// The connection, for pings.
    #[must_use]
    pub fn connection(&self) -> &Connection {
        &self.connection
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
        let transfer = transfer::send(&Streams::of(&self.connection), sources, options, progress)?;
        Ok(report(&self.connection, transfer))
    }

    /// Sends zeros for so long, and waits until the receiver has counted them. In the report are the bytes that have
    /// arrived there, and the seconds from the first to the last.
    ///
    /// # Errors
    /// If the connection is lost, or the receiver does not count.
    pub fn send_for(
        self,
        time: Duration,
        progress: &dyn Progress,
    ) -> Result<Report, TransferError> {
        let arrived = ping::send_for(&self.connection, time, &mut |count| progress.bytes(0, count));
        let arrived = arrived.map_err(QuicError::into_io)?;
        let (bytes, seconds) = (arrived.bytes, arrived.time.as_secs_f64());
        let report = report(&self.connection, Summary { bytes, seconds, ..Summary::default() });
        self.connection.close(0, DONE.as_bytes());
        Ok(report)
    }
}

/// An address at which files are received.
pub struct Receiving {
    endpoint: Endpoint,
    fingerprint: Fingerprint,
    senders: Senders,
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
        Self::bind_by(address, config, identity, None)
    }

    /// Receives at this address, as `identity`, from senders whose certificate `clients` accepts, or from all.
    ///
    /// # Errors
    /// If the address is taken, or is none of this host.
    pub fn bind_by(
        address: SocketAddr,
        config: Config,
        identity: &Identity,
        clients: Option<Arc<dyn ClientCertVerifier>>,
    ) -> Result<Self, QuicError> {
        let tls = Tls::server(identity);
        let tls = clients.into_iter().fold(tls, Tls::asking);
        let endpoint = Endpoint::bind(address, config, tls)?;
        Ok(Self { endpoint, fingerprint: identity.fingerprint(), senders: Senders::default() })
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

    /// Receives at [`PORT`] of all addresses of this host, of IPv4 and, where the machine has it, IPv6.
    ///
    /// # Errors
    /// If the port is taken.
    pub fn bind_everywhere(
        config: Config,
        identity: &Identity,
        clients: Option<Arc<dyn ClientCertVerifier>>,
    ) -> Result<Self, QuicError> {
        match Self::bind_by(anywhere(PORT), config, identity, clients.clone()) {
            Err(QuicError::System(why)) if dual::is_without_ipv6(&why) => {
                Self::bind_by((Ipv4Addr::UNSPECIFIED, PORT).into(), config, identity, clients)
            }
            bound => bound,
        }
    }

    /// Serves each connection that comes in a thread of its own, until this is closed.
    ///
    /// # Errors
    /// [`QuicError::Failed`] if the endpoint stops working before.
    pub fn each(&self, serve: impl Fn(Connection) + Sync) -> Result<(), QuicError> {
        std::thread::scope(|scope| {
            while let Some(connection) = self.accept() {
                let serve = &serve;
                scope.spawn(move || serve(connection));
            }
        });
        self.endpoint.failure().map_or(Ok(()), Err)
    }

    /// Waits for the next sender; none comes once it is closed.
    #[must_use]
    pub fn accept(&self) -> Option<Connection> {
        block_on(self.endpoint.accept())
    }

    /// Receives no more, and breaks off what is under way.
    pub fn close(&self) {
        self.endpoint.close();
    }

    /// Receives the files of a sender into a folder, or answers pings. Without a folder, files are refused.
    ///
    /// A transfer from the same address whose sender gives no sign of life, since it was killed perhaps, ends first:
    /// this one may be its second try.
    ///
    /// # Errors
    /// As [`receive`], or if files come where there is no folder.
    pub fn serve(
        &self,
        connection: &Connection,
        folder: Option<&FilePath>,
        options: ReceiveOptions,
        progress: &dyn Progress,
    ) -> Result<Served, TransferError> {
        let mut pings = 0;
        loop {
            match (block_on(connection.accept_any()), folder) {
                (Ok(AnyStream::Bi(send, recv)), _) => {
                    pings += 1;
                    ping::answer(send, recv).map_err(QuicError::into_io)?;
                }
                (Ok(AnyStream::Uni(stream)), Some(folder)) => {
                    let _turn = self.senders.enter(connection);
                    let link =
                        Streams { first: Mutex::new(Some(stream)), ..Streams::of(connection) };
                    let transfer = transfer::receive(&link, folder, options, progress)?;
                    return Ok(Served::Files(Box::new(report(connection, transfer))));
                }
                (Ok(AnyStream::Uni(_)), None) => {
                    connection.close(0, b"this host answers pings, and takes no files");
                    let why = "it sends something, and this host answers pings alone";
                    return Err(TransferError::Protocol(why.to_owned()));
                }
                (Err(QuicError::Closed { .. }), _) if pings > 0 => return Ok(Served::Pings(pings)),
                (Err(QuicError::Closed { reason, .. }), _) if reason.as_bytes() == ELSEWHERE => {
                    return Ok(Served::Pings(0));
                }
                (Err(why), _) => return Err(why.into_io().into()),
            }
        }
    }
}

/// What a peer has come for.
#[derive(Debug)]
pub enum Served {
    /// Files, and what came of them.
    Files(Box<Report>),
    /// Pings: so many streams of them were answered. None, if the peer was reached at another address first.
    Pings(u64),
}

/// Receives the files of a sender into a folder.
///
/// # Errors
/// If the connection is lost or the sender breaks the rules. Starts of files are kept, and a second try goes on there.
pub fn receive(
    connection: &Connection,
    folder: &FilePath,
    options: ReceiveOptions,
    progress: &dyn Progress,
) -> Result<Report, TransferError> {
    let transfer = transfer::receive(&Streams::of(connection), folder, options, progress)?;
    Ok(report(connection, transfer))
}

fn report(connection: &Connection, transfer: Summary) -> Report {
    let (leaves, path) = (connection.path(), connection.path_stats());
    let on_credits = leaves == Path::Credits;
    Report { transfer, on_credits, leaves, credits: connection.stats(), path }
}

/// The streams of a connection for transfers, which wait.
struct Streams {
    connection: Connection,
    /// A stream of the peer that has been accepted before.
    first: Mutex<Option<RecvStream>>,
}

impl Streams {
    fn of(connection: &Connection) -> Self {
        Self { connection: connection.clone(), first: Mutex::default() }
    }
}

impl Link for Streams {
    fn open_uni(&self) -> io::Result<Box<dyn Outgoing>> {
        let stream = block_on(self.connection.open_uni()).map_err(QuicError::into_io)?;
        Ok(Box::new(Writing(stream)))
    }

    fn accept_uni(&self) -> io::Result<Option<Box<dyn Read + Send>>> {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(stream) = first {
            return Ok(Some(Box::new(Reading(stream))));
        }
        match block_on(self.connection.accept_uni()) {
            Ok(stream) => Ok(Some(Box::new(Reading(stream)))),
            Err(QuicError::Closed { reason, .. }) if reason.is_empty() || reason == DONE => {
                Ok(None)
            }
            Err(why) => Err(why.into_io()),
        }
    }

    fn close(&self, reason: &str) {
        self.connection.close(0, reason.as_bytes());
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

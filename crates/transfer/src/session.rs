//! Sends and receives files over QUIC, and blocks the calling thread: what `shallop send` and `shallop receive` do.

use pollster::block_on;
use serde::Serialize;
use shallop_quic::{
    AnyStream, Config, Connection, CreditStats, Endpoint, PathStats, QuicError, RecvStream, SendMode, SendStream, Tls,
};
use std::io::{self, Read, Write};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use std::{net::IpAddr, net::SocketAddr, path::Path};

use crate::active_senders::{ActiveSender, ActiveSenders};
use crate::activity::{Activity, stalled};
use crate::happy_eyeballs::{self, OTHER_ADDRESS_CHOSEN};
use crate::limits::Limits;
use crate::ping;
use crate::protocol::{
    self, Link, Outgoing, Progress, ReceiveOptions, SendOptions, SourcePaths, Summary, Token, TransferError,
};

/// The default UDP port of receivers.
pub const PORT: u16 = 4_747;

/// The close reason with which a sender ends a successful transfer.
const DONE: &str = "done";

/// The close reason of a connection for which the receiver has no thread.
const NO_THREAD: &[u8] = b"the receiver has no thread for this connection";

/// The close reason of a connection that served to test the path and opened no stream.
pub const TESTED: &[u8] = b"tested";

/// The result of a transfer, and what was measured during the transfer.
#[derive(Clone, Debug, Serialize)]
pub struct TransferReport {
    pub transfer: Summary,
    /// Whether this side was sending data on credits when the transfer ended.
    pub on_credits: bool,
    /// How this side was sending data when the transfer ended.
    pub leaves: SendMode,
    pub credits: CreditStats,
    pub path: PathStats,
}

impl TransferReport {
    fn new(connection: &Connection, transfer: Summary) -> Self {
        let (leaves, path) = (connection.send_mode(), connection.path_stats());
        let on_credits = leaves == SendMode::Credits;
        Self { transfer, on_credits, leaves, credits: connection.stats(), path }
    }
}

/// A connection to a receiver. Dropping the session closes the connection and blocks until the peer was told, which
/// takes about three probe timeouts (RFC 9000, 10.2).
pub struct SendSession {
    connection: Connection,
    endpoint: Endpoint,
}

impl SendSession {
    /// Connects to the first of these addresses that answers; `name` is the name that `tls` verifies.
    ///
    /// # Errors
    /// No answer within 10 s, or a receiver that `tls` does not trust.
    pub fn connect(addresses: &[SocketAddr], name: &str, config: Config, tls: &Tls) -> Result<Self, QuicError> {
        let (endpoint, connection) = happy_eyeballs::connect(addresses, name, config, tls)?;
        Ok(Self { connection, endpoint })
    }

    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Sends files and folders.
    ///
    /// # Errors
    /// The connection is lost, the receiver refuses, or a file cannot be read. The receiver keeps what has arrived, and
    /// a second transfer continues from there.
    pub fn send(
        self, sources: &SourcePaths, options: SendOptions, progress: &dyn Progress,
    ) -> Result<TransferReport, TransferError> {
        let link = QuicLink::new(&self.connection);
        let transfer = protocol::send(&link, sources, options, progress)?;
        Ok(TransferReport::new(&self.connection, transfer))
    }

    /// Sends zeros for the given time and waits until the receiver has counted them. The report has the number of bytes
    /// that arrived, and the seconds between the arrival of the first and the last byte.
    ///
    /// # Errors
    /// The connection is lost, or the receiver does not report its count.
    pub fn send_for(self, time: Duration, progress: &dyn Progress) -> Result<TransferReport, TransferError> {
        let arrived = ping::send_for(&self.connection, time, &mut |count| progress.bytes(0, count));
        let arrived = arrived.map_err(QuicError::into_io)?;
        let (bytes, seconds) = (arrived.bytes, arrived.time.as_secs_f64());
        let summary = Summary { bytes, seconds, ..Summary::default() };
        let report = TransferReport::new(&self.connection, summary);
        self.connection.close(0, DONE.as_bytes());
        Ok(report)
    }
}

impl Drop for SendSession {
    fn drop(&mut self) {
        self.connection.close(0, b"");
        block_on(self.endpoint.wait_idle());
    }
}

/// A server that receives files and answers pings. Dropping it closes all connections and blocks until the peers were
/// told.
pub struct ReceiveServer {
    endpoint: Endpoint,
    senders: ActiveSenders,
    limits: Limits,
}

impl ReceiveServer {
    /// Listens at `address`; without one, at [`PORT`] of all addresses of this host.
    ///
    /// # Errors
    /// The address is taken, or it is no address of this host.
    pub fn bind(address: Option<SocketAddr>, config: Config, tls: &Tls) -> Result<Self, QuicError> {
        let endpoint = match address {
            Some(address) => Endpoint::bind(address, config, tls.clone())?,
            None => Endpoint::bind_everywhere(PORT, config, tls)?,
        };
        Ok(Self { endpoint, senders: ActiveSenders::default(), limits: Limits::default() })
    }

    /// Replaces the bounds that all transfers share.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    pub fn address(&self) -> SocketAddr {
        self.endpoint.address()
    }

    /// Runs `serve` for each connection in a thread of its own, until the server is closed. A connection for
    /// which no thread can be started is closed, and told so.
    ///
    /// # Errors
    /// [`QuicError::Failed`] if the endpoint failed.
    pub fn each(&self, serve: impl Fn(Connection) + Sync) -> Result<(), QuicError> {
        std::thread::scope(|scope| {
            while let Some(connection) = self.accept() {
                let (serve, refused) = (&serve, connection.clone());
                if self.limits.spawn(scope, address(&refused), move || serve(connection)).is_err() {
                    refused.close(0, NO_THREAD);
                }
            }
        });
        self.endpoint.failure().map_or(Ok(()), Err)
    }

    /// Waits for the next connection; `None` once the server is closed.
    pub fn accept(&self) -> Option<Connection> {
        block_on(self.endpoint.accept())
    }

    /// Accepts no further connections and aborts the transfers in progress.
    pub fn close(&self) {
        self.endpoint.close();
    }

    /// Receives files into a folder, or answers pings. Without a folder, files are refused.
    ///
    /// If this sender needs a file that an earlier transfer of this sender is writing, and that one no longer
    /// answers, it is ended: this connection may be the retry of a sender that was killed.
    ///
    /// # Errors
    /// As [`protocol::receive`], or files were sent and there is no folder.
    pub fn serve(
        &self, connection: &Connection, folder: Option<&Path>, options: ReceiveOptions, progress: &dyn Progress,
    ) -> Result<Served, TransferError> {
        let no_thread = |_: &io::Error| connection.close(0, NO_THREAD);
        let (mut pings, stalled) = (0, || stalled(options.stall_timeout));
        let ticket = self.limits.take(address(connection)).inspect_err(no_thread)?;
        let cancel = || connection.close(0, stalled().to_string().as_bytes());
        let activity = Activity::default();
        let begun = activity.watched(options.stall_timeout, cancel, || answer_pings(connection, &activity, &mut pings));
        drop(ticket);
        match (begun.inspect_err(no_thread)?.ok_or_else(stalled)?, folder) {
            (Ok(stream), Some(folder)) => {
                let entered = self.senders.enter(connection);
                let first = Mutex::new(Some(stream));
                let link = QuicLink { first, entered: Some(&entered), ..QuicLink::new(connection) };
                let transfer = protocol::receive(&link, folder, options, &self.limits, progress)?;
                Ok(Served::Files(Box::new(TransferReport::new(connection, transfer))))
            }
            (Ok(_), None) => {
                connection.close(0, b"this host answers pings, and takes no files");
                let why = "it sends something, and this host answers pings alone";
                Err(TransferError::Protocol(why.to_owned()))
            }
            (Err(QuicError::Closed { .. }), _) if pings > 0 => Ok(Served::Pings(pings)),
            (Err(QuicError::Closed { reason, .. }), _)
                if [OTHER_ADDRESS_CHOSEN, TESTED].contains(&reason.as_bytes()) =>
            {
                Ok(Served::Pings(0))
            }
            (Err(why), _) => Err(why.into_io().into()),
        }
    }
}

/// Answers and counts pings until the first stream of files, which is returned.
fn answer_pings(connection: &Connection, activity: &Activity, pings: &mut u64) -> Result<RecvStream, QuicError> {
    loop {
        let stream = block_on(connection.accept_any())?;
        activity.note();
        match stream {
            AnyStream::Uni(stream) => return Ok(stream),
            AnyStream::Bi(send, recv) => {
                *pings += 1;
                ping::answer(send, recv, &|| activity.note())?;
            }
        }
    }
}

fn address(connection: &Connection) -> Option<IpAddr> {
    connection.remote_address().map(|address| address.ip())
}

impl Drop for ReceiveServer {
    fn drop(&mut self) {
        self.endpoint.close();
        block_on(self.endpoint.wait_idle());
    }
}

/// What a connection was used for.
#[derive(Debug)]
pub enum Served {
    Files(Box<TransferReport>),
    /// The number of ping streams that were answered. 0 for a connection that the client closed unused, because another
    /// address of this host had answered first.
    Pings(u64),
}

/// Receives the files of one connection into a folder.
///
/// # Errors
/// The connection is lost, or the sender violates the protocol. Incomplete files are kept, and a second transfer
/// continues from there.
pub fn receive(
    connection: &Connection, folder: &Path, options: ReceiveOptions, progress: &dyn Progress,
) -> Result<TransferReport, TransferError> {
    let transfer = protocol::receive(&QuicLink::new(connection), folder, options, &Limits::default(), progress)?;
    Ok(TransferReport::new(connection, transfer))
}

/// The streams of a QUIC connection as the blocking [`Link`] of a transfer.
struct QuicLink<'a> {
    connection: Connection,
    /// A stream of the peer that was accepted before the transfer began.
    first: Mutex<Option<RecvStream>>,
    /// The entry of a receiver's sender in the registry.
    entered: Option<&'a ActiveSender<'a>>,
}

impl QuicLink<'_> {
    fn new(connection: &Connection) -> Self {
        Self { connection: connection.clone(), first: Mutex::default(), entered: None }
    }
}

impl Link for QuicLink<'_> {
    fn open_uni(&self) -> io::Result<Box<dyn Outgoing>> {
        let stream = block_on(self.connection.open_uni()).map_err(QuicError::into_io)?;
        Ok(Box::new(BlockingSend(stream)))
    }

    fn accept_uni(&self) -> io::Result<Option<Box<dyn Read + Send>>> {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(stream) = first {
            return Ok(Some(Box::new(BlockingRecv(stream))));
        }
        match block_on(self.connection.accept_uni()) {
            Ok(stream) => Ok(Some(Box::new(BlockingRecv(stream)))),
            Err(QuicError::Closed { reason, .. }) if reason.is_empty() || reason == DONE => Ok(None),
            Err(why) => Err(why.into_io()),
        }
    }

    fn peer(&self) -> Option<IpAddr> {
        address(&self.connection)
    }

    fn begins(&self, token: Token) {
        self.entered.inspect(|entered| entered.set_token(token));
    }

    fn end_silent(&self) -> bool {
        self.entered.is_some_and(ActiveSender::end_silent)
    }

    fn close(&self, reason: &str) {
        self.connection.close(0, reason.as_bytes());
    }
}

struct BlockingSend(SendStream);

impl Write for BlockingSend {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        block_on(self.0.write(bytes)).map_err(QuicError::into_io)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Outgoing for BlockingSend {
    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.0.finish();
        Ok(())
    }
}

struct BlockingRecv(RecvStream);

impl Read for BlockingRecv {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        block_on(self.0.read(into)).map_err(QuicError::into_io)
    }
}

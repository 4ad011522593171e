//! Endpoints, connections and streams for programs: futures of any executor, in the shape of quinn's. A thread of the
//! endpoint does the work.

mod incoming;

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use quinn_proto::{Dir, StreamId, VarInt};

use crate::config::Config;
use crate::connection::{self, End, WITHOUT};
use crate::core::Core;
use crate::counters::Counters;
use crate::driver::{self, Shared};
use crate::error::QuicError;
use crate::path::Path;
use crate::path_stats::PathStats;
use crate::socket::Socket;
use crate::stats::CreditStats;
use crate::streams;
use crate::tls::Tls;

pub use incoming::AnyStream;

/// An address from which connections are made and at which they are accepted. Connections end when the last handle of
/// the endpoint is dropped.
#[derive(Clone)]
pub struct Endpoint {
    shared: Arc<Shared>,
    address: SocketAddr,
    tls: Tls,
    thread: Arc<Thread>,
}

/// Ends the thread with the last handle.
struct Thread {
    shared: Arc<Shared>,
    handle: std::sync::Mutex<Option<std::thread::JoinHandle<io::Result<()>>>>,
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.shared.lock().close(Instant::now());
        self.shared.ring();
        let handle = self.handle.lock().ok().and_then(|mut handle| handle.take());
        // What the thread has failed with was told to connections.
        let _ = handle.map(std::thread::JoinHandle::join);
    }
}

impl Endpoint {
    /// An endpoint at this address; port 0 for any. It accepts connections if `tls` has an identity.
    ///
    /// # Errors
    /// If the address is taken, or the settings are out of bounds.
    pub fn bind(address: SocketAddr, config: Config, tls: Tls) -> Result<Self, QuicError> {
        let tls = if config.credits { tls } else { tls.speaking(&[WITHOUT]) };
        let socket = Socket::bind(address)?;
        let address = socket.address()?;
        let secret = tls.reset_secret(address.port());
        let core = Core::new(Instant::now(), config, tls.server_config()?, secret, random_seed())
            .map_err(|why| QuicError::Settings(why.to_string()))?;
        let shared = Arc::new(Shared::new(core)?);
        let of_thread = Arc::clone(&shared);
        let handle =
            std::thread::Builder::new().name("shallop-quic".to_owned()).spawn(move || {
                let ended = driver::run(&of_thread, socket);
                if let Err(why) = &ended {
                    of_thread.lock().fail(&why.to_string());
                }
                ended
            })?;
        let handle = std::sync::Mutex::new(Some(handle));
        let thread = Arc::new(Thread { shared: Arc::clone(&shared), handle });
        Ok(Self { shared, address, tls, thread })
    }

    /// The address of this endpoint.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Connects to an endpoint.
    ///
    /// # Errors
    /// If the peer does not answer, or is not whom it should be.
    pub async fn connect(&self, to: SocketAddr, name: &str) -> Result<Connection, QuicError> {
        let crypto = self.tls.client_config()?;
        let number = self.shared.lock().connect(Instant::now(), crypto, to, name)?;
        self.shared.ring();
        let connection = self.connection(number);
        connection.ready().await?;
        Ok(connection)
    }

    /// The next connection that comes; `None` once the endpoint is closed.
    pub async fn accept(&self) -> Option<Connection> {
        let number = poll_fn(|context| {
            let mut core = self.shared.lock();
            if let Some(number) = core.arrived.pop_front() {
                return Poll::Ready(Some(number));
            }
            if core.is_closed {
                return Poll::Ready(None);
            }
            core.accept_wakers.push(context.waker().clone());
            Poll::Pending
        });
        number.await.map(|number| self.connection(number))
    }

    /// Packets beside QUIC that were dropped because they are of no connection, by reason.
    #[must_use]
    pub fn dropped(&self) -> Counters {
        self.shared.lock().dropped
    }

    /// Closes all connections, and tells their peers.
    pub fn close(&self) {
        self.shared.lock().close(Instant::now());
        self.shared.ring();
    }

    fn connection(&self, number: usize) -> Connection {
        let handle =
            Handle { shared: Arc::clone(&self.shared), number, _thread: Arc::clone(&self.thread) };
        Connection { handle: Arc::new(handle) }
    }
}

fn random_seed() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    // Tags need not be secret, but two processes should differ.
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}

/// A connection of an endpoint, while somebody asks for it.
struct Handle {
    shared: Arc<Shared>,
    number: usize,
    _thread: Arc<Thread>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        let mut core = self.shared.lock();
        if let Some(connection) = core.connections.get_mut(&self.number) {
            connection.close(Instant::now(), 0, b"");
        }
        core.abandon(self.number);
        drop(core);
        self.shared.ring();
    }
}

impl Handle {
    /// Waits until something is there. `look` says what, or that it is not.
    async fn wait<T>(
        &self,
        mut look: impl FnMut(&mut connection::Connection) -> Poll<Result<T, QuicError>>,
    ) -> Result<T, QuicError> {
        poll_fn(|context: &mut Context<'_>| {
            let mut core = self.shared.lock();
            let Some(connection) = core.connections.get_mut(&self.number) else {
                return Poll::Ready(Err(QuicError::Lost("closed".to_owned())));
            };
            let found = look(connection);
            if found.is_pending() {
                match &connection.end {
                    Some(End::ByPeer(why)) => {
                        return Poll::Ready(Err(QuicError::Closed(why.clone())));
                    }
                    Some(End::Lost(why)) => return Poll::Ready(Err(QuicError::Lost(why.clone()))),
                    None => {}
                }
                connection.wakers.push(context.waker().clone());
            }
            drop(core);
            self.shared.ring();
            found
        })
        .await
    }

    /// Waits until `look` finds something.
    async fn wait_for<T>(
        &self,
        mut look: impl FnMut(&mut connection::Connection) -> Option<T>,
    ) -> Result<T, QuicError> {
        self.wait(|connection| {
            look(connection).map_or(Poll::Pending, |found| Poll::Ready(Ok(found)))
        })
        .await
    }

    fn with<T>(&self, act: impl FnOnce(&mut connection::Connection) -> T) -> Option<T> {
        let mut core = self.shared.lock();
        let found = core.connections.get_mut(&self.number).map(act);
        drop(core);
        self.shared.ring();
        found
    }
}

/// A connection. It is closed when its last handle and streams are dropped.
#[derive(Clone)]
pub struct Connection {
    handle: Arc<Handle>,
}

impl Connection {
    /// Waits until it is known how data leaves.
    ///
    /// # Errors
    /// If the connection is lost before.
    pub async fn ready(&self) -> Result<Path, QuicError> {
        self.handle
            .wait(|connection| {
                if connection.is_ready() {
                    Poll::Ready(Ok(connection.path()))
                } else {
                    Poll::Pending
                }
            })
            .await
    }

    /// Opens a stream to the peer.
    ///
    /// # Errors
    /// If the connection is lost.
    pub async fn open_uni(&self) -> Result<SendStream, QuicError> {
        let id = self.open(Dir::Uni).await?;
        Ok(SendStream { handle: Arc::clone(&self.handle), id, ended: false })
    }

    /// Opens a stream in both directions.
    ///
    /// # Errors
    /// If the connection is lost.
    pub async fn open_bi(&self) -> Result<(SendStream, RecvStream), QuicError> {
        let id = self.open(Dir::Bi).await?;
        Ok(self.both(id))
    }

    async fn open(&self, dir: Dir) -> Result<StreamId, QuicError> {
        self.handle.wait_for(|connection| streams::open(connection, dir)).await
    }

    /// The next stream that the peer opens.
    ///
    /// # Errors
    /// If the connection is lost.
    pub async fn accept_uni(&self) -> Result<RecvStream, QuicError> {
        let id = self.accept(Dir::Uni).await?;
        Ok(RecvStream { handle: Arc::clone(&self.handle), id, ended: false })
    }

    /// The next stream in both directions that the peer opens.
    ///
    /// # Errors
    /// If the connection is lost.
    pub async fn accept_bi(&self) -> Result<(SendStream, RecvStream), QuicError> {
        let id = self.accept(Dir::Bi).await?;
        Ok(self.both(id))
    }

    async fn accept(&self, dir: Dir) -> Result<StreamId, QuicError> {
        self.handle.wait_for(|connection| streams::accept(connection, dir)).await
    }

    fn both(&self, id: StreamId) -> (SendStream, RecvStream) {
        let send = SendStream { handle: Arc::clone(&self.handle), id, ended: false };
        (send, RecvStream { handle: Arc::clone(&self.handle), id, ended: false })
    }

    /// How data leaves now.
    #[must_use]
    pub fn path(&self) -> Path {
        self.handle.with(|connection| connection.path()).unwrap_or(Path::Unknown)
    }

    /// Begins again with credits, where they were given up ([`Path::is_fallback`]), as what spoke against them may be
    /// over. Nothing changes if they were not given up. How the peer sends is for the peer to say.
    pub fn use_credits(&self) {
        self.handle.with(connection::Connection::use_credits);
    }

    /// Waits until data leaves in another way than `before`, and says how.
    ///
    /// # Errors
    /// If the connection is lost.
    pub async fn path_changed(&self, before: Path) -> Result<Path, QuicError> {
        let other =
            |of: &mut connection::Connection| Some(of.path()).filter(|&path| path != before);
        self.handle.wait_for(other).await
    }

    /// Counts of emulation packets and credits.
    #[must_use]
    pub fn stats(&self) -> CreditStats {
        self.handle.with(|connection| connection.stats()).unwrap_or_default()
    }

    /// Round trips and losses, as QUIC has them.
    #[must_use]
    pub fn path_stats(&self) -> PathStats {
        self.handle.with(|connection| connection.path_stats()).unwrap_or_default()
    }

    /// The address of the peer.
    #[must_use]
    pub fn remote_address(&self) -> Option<SocketAddr> {
        self.handle.with(|connection| connection.quic.remote_address())
    }

    /// Closes the connection at once, with a code and a reason for the peer. What was not acknowledged may be lost.
    pub fn close(&self, code: u32, reason: &[u8]) {
        self.handle.with(|connection| connection.close(Instant::now(), code, reason));
    }

    /// Waits until the connection has ended, and says why.
    pub async fn closed(&self) -> String {
        let ended = self.handle.wait(|_| Poll::<Result<(), QuicError>>::Pending).await;
        ended.map_or_else(|why| why.to_string(), |()| String::new())
    }
}

/// A stream to the peer. If it is dropped before [`SendStream::finish`], the peer is told that it broke off.
pub struct SendStream {
    handle: Arc<Handle>,
    id: StreamId,
    ended: bool,
}

impl SendStream {
    /// Writes some of these bytes, as soon as there is room, and returns how many.
    ///
    /// # Errors
    /// If the connection is lost.
    pub async fn write(&mut self, bytes: &[u8]) -> Result<usize, QuicError> {
        let id = self.id;
        self.handle
            .wait(|connection| match connection.streams.write(id, bytes) {
                0 if !bytes.is_empty() => Poll::Pending,
                count => Poll::Ready(Ok(count)),
            })
            .await
    }

    /// Writes all of these bytes.
    ///
    /// # Errors
    /// If the connection is lost.
    pub async fn write_all(&mut self, mut bytes: &[u8]) -> Result<(), QuicError> {
        while !bytes.is_empty() {
            let count = self.write(bytes).await?;
            bytes = &bytes[count..];
        }
        Ok(())
    }

    /// Ends the stream behind what was written.
    pub fn finish(&mut self) {
        let id = self.id;
        self.ended = true;
        self.handle.with(|connection| connection.streams.finish(id));
    }

    /// Ends the stream, and waits until the peer has everything.
    ///
    /// # Errors
    /// If the connection is lost.
    pub async fn finished(mut self) -> Result<(), QuicError> {
        self.finish();
        let id = self.id;
        self.handle
            .wait(
                |connection| {
                    if connection.finished.remove(&id) {
                        Poll::Ready(Ok(()))
                    } else {
                        Poll::Pending
                    }
                },
            )
            .await
    }
}

impl Drop for SendStream {
    fn drop(&mut self) {
        let id = self.id;
        if !self.ended {
            self.handle.with(|connection| connection.streams.reset(&mut connection.quic, id));
        }
    }
}

/// A stream from the peer. If it is dropped before its end, the peer is asked to send no more.
pub struct RecvStream {
    handle: Arc<Handle>,
    id: StreamId,
    ended: bool,
}

impl RecvStream {
    /// Reads some bytes, as soon as there are any, and returns how many: none at the end of the stream.
    ///
    /// # Errors
    /// If the connection is lost, or the peer has broken the stream off.
    pub async fn read(&mut self, into: &mut [u8]) -> Result<usize, QuicError> {
        if self.ended || into.is_empty() {
            return Ok(0);
        }
        let id = self.id;
        let count = self.handle.wait(|connection| streams::read(connection, id, into)).await?;
        self.ended = count == 0;
        Ok(count)
    }

    /// Reads to the end of the stream.
    ///
    /// # Errors
    /// As [`RecvStream::read`], or if there are more than `most` bytes.
    pub async fn read_to_end(&mut self, most: usize) -> Result<Vec<u8>, QuicError> {
        let (mut all, mut part) = (Vec::new(), vec![0; 1 << 16]);
        loop {
            let count = self.read(&mut part).await?;
            if count == 0 {
                return Ok(all);
            }
            if all.len() + count > most {
                return Err(QuicError::TooLong(most));
            }
            all.extend_from_slice(&part[..count]);
        }
    }
}

impl Drop for RecvStream {
    fn drop(&mut self) {
        let id = self.id;
        if !self.ended {
            // A stream that has ended meanwhile needs no stop.
            self.handle
                .with(|connection| connection.quic.recv_stream(id).stop(VarInt::from_u32(0)).ok());
        }
    }
}

//! Endpoints, connections and streams for programs: futures of any executor, in the shape of quinn's. A thread of the
//! endpoint does the work.

mod incoming;
mod stream;
#[cfg(test)]
mod tests;

use std::any::Any;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use quinn_proto::{Dir, StreamId};
use rustls::pki_types::CertificateDer;

use crate::config::Config;
use crate::connection::{self, WITHOUT};
use crate::core::Core;
use crate::credit::counters::Counters;
use crate::credit::path::Path;
use crate::credit::stats::CreditStats;
use crate::error::QuicError;
use crate::path_stats::PathStats;
use crate::sockets::driver::{self, Shared};
use crate::sockets::drops::DatagramDrops;
use crate::sockets::socket::Socket;
use crate::streams::{self, Effect};
use crate::trust::identity::Fingerprint;
use crate::trust::tls::Tls;
use crate::waiting::What;

pub use incoming::AnyStream;
pub use stream::{RecvStream, SendStream};

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
    handle: std::sync::Mutex<Option<std::thread::JoinHandle<()>>>,
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.shared.lock().close(Instant::now());
        self.shared.ring();
        let handle = self.handle.lock().ok().and_then(|mut handle| handle.take());
        // A failure of the thread was told to connections.
        let _ = handle.map(std::thread::JoinHandle::join);
    }
}

impl Endpoint {
    /// An endpoint at this address; port 0 for any. It accepts connections if `tls` has an identity.
    ///
    /// # Errors
    /// If the address is taken, or the settings are out of bounds.
    pub fn bind(address: SocketAddr, config: Config, tls: Tls) -> Result<Self, QuicError> {
        Self::over(Socket::bind(address)?, config, tls)
    }

    /// An endpoint with this socket.
    fn over(socket: Socket, config: Config, tls: Tls) -> Result<Self, QuicError> {
        let tls = if config.credits { tls } else { tls.speaking(&[WITHOUT]) };
        let socket = socket.pairing(config.paired());
        let address = socket.address()?;
        let secret = tls.reset_secret(address.port());
        let core = Core::new(Instant::now(), config, tls.server_config()?, secret, random_seed())
            .map_err(|why| QuicError::Settings(why.to_string()))?;
        let shared = Arc::new(Shared::new(core)?);
        let of_thread = Arc::clone(&shared);
        let handle = std::thread::Builder::new()
            .name("shallop-quic".to_owned())
            .spawn(move || run(&of_thread, socket))?;
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
        let number = {
            let mut core = self.shared.lock();
            if let Some(why) = &core.failure {
                return Err(QuicError::Failed(why.clone()));
            }
            if core.is_closed {
                return Err(QuicError::Lost("the endpoint is closed".to_owned()));
            }
            core.connect(Instant::now(), crypto, to, name)?
        };
        self.shared.ring();
        let connection = self.connection(number);
        connection.ready().await?;
        Ok(connection)
    }

    /// The next connection that comes; `None` once the endpoint is closed or has failed ([`Endpoint::failure`]).
    pub async fn accept(&self) -> Option<Connection> {
        let number = poll_fn(|context| {
            let mut core = self.shared.lock();
            if let Some(number) = core.arrived.pop_front() {
                return Poll::Ready(Some(number));
            }
            if core.is_closed {
                return Poll::Ready(None);
            }
            if !core.accept_wakers.iter().any(|known| known.will_wake(context.waker())) {
                core.accept_wakers.push(context.waker().clone());
            }
            Poll::Pending
        });
        number.await.map(|number| self.connection(number))
    }

    /// Why the endpoint has stopped working ([`QuicError::Failed`]); `None` while it works and after
    /// [`Endpoint::close`].
    #[must_use]
    pub fn failure(&self) -> Option<QuicError> {
        self.shared.lock().failure.clone().map(QuicError::Failed)
    }

    /// Packets beside QUIC that were dropped because they are of no connection, by reason.
    #[must_use]
    pub fn dropped(&self) -> Counters {
        self.shared.lock().dropped
    }

    /// UDP datagrams that were dropped: those that the kernel refused to send, and those that nobody can answer.
    #[must_use]
    pub fn datagram_drops(&self) -> DatagramDrops {
        self.shared.lock().datagram_drops
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

/// Keeps an endpoint going. An error or a panic ends every future of the endpoint's users with its reason.
fn run(shared: &Arc<Shared>, socket: Socket) {
    let why = match catch_unwind(AssertUnwindSafe(|| driver::run(shared, socket))) {
        Ok(Ok(())) => return,
        Ok(Err(why)) => why.to_string(),
        Err(panic) => format!("its thread panicked: {}", message_of(&*panic)),
    };
    shared.lock().fail(&why);
}

/// The message of a panic.
fn message_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
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
        if core.failure.is_some() {
            return;
        }
        if let Some(connection) = core.connections.get_mut(self.number) {
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
        look: impl FnMut(&mut connection::Connection) -> Poll<Result<T, QuicError>>,
    ) -> Result<T, QuicError> {
        self.wait_on(What::Connection, look).await
    }

    /// As [`Handle::wait`], for `what` in particular.
    async fn wait_on<T>(
        &self,
        what: What,
        mut look: impl FnMut(&mut connection::Connection) -> Poll<Result<T, QuicError>>,
    ) -> Result<T, QuicError> {
        poll_fn(|context: &mut Context<'_>| {
            let mut core = self.shared.lock();
            if let Some(why) = &core.failure {
                return Poll::Ready(Err(QuicError::Failed(why.clone())));
            }
            let Some(connection) = core.connections.get_mut(self.number) else {
                return Poll::Ready(Err(QuicError::Lost("closed".to_owned())));
            };
            connection.effect = Effect::Sends;
            let found = look(connection);
            let effect = connection.effect;
            if found.is_pending() {
                if let Some(end) = &connection.end {
                    return Poll::Ready(Err(end.into()));
                }
                connection.waiting.add(what, context.waker());
            }
            drop(core);
            if effect == Effect::Sends {
                self.shared.ring();
            }
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

    /// Does something to the connection, unless it is gone or the endpoint has failed.
    fn with<T>(&self, act: impl FnOnce(&mut connection::Connection) -> T) -> Option<T> {
        let mut core = self.shared.lock();
        if core.failure.is_some() {
            return None;
        }
        let found = core.connections.get_mut(self.number).map(act);
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
        Ok(SendStream::new(&self.handle, id))
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
        Ok(RecvStream::new(&self.handle, id))
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
        (SendStream::new(&self.handle, id), RecvStream::new(&self.handle, id))
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

    /// The fingerprint of the certificate that the peer has shown, with the proof that it has the key. `None` before
    /// the handshake is over, and of clients that were not asked for one ([`Tls::asking`]).
    #[must_use]
    pub fn peer_fingerprint(&self) -> Option<Fingerprint> {
        let identity = self.handle.with(|of| of.quic.crypto_session().peer_identity())??;
        let chain = identity.downcast::<Vec<CertificateDer<'static>>>().ok()?;
        chain.first().map(Fingerprint::of)
    }

    /// Closes the connection at once: streams end in an error on both sides, and what the peer has not acknowledged may
    /// be lost. The peer is told `code`, whose meaning is the application's, and `reason` (RFC 9000, 10.2). The later
    /// one of two calls has no effect.
    pub fn close(&self, code: u32, reason: &[u8]) {
        self.handle.with(|connection| connection.close(Instant::now(), code, reason));
    }

    /// Waits until the connection has ended, and says why: [`QuicError::Closed`] with the peer's code and reason, or
    /// [`QuicError::Lost`].
    pub async fn closed(&self) -> QuicError {
        let ended = self.handle.wait(|_| Poll::<Result<(), QuicError>>::Pending).await;
        ended.err().unwrap_or_else(|| QuicError::Lost("closed".to_owned()))
    }
}

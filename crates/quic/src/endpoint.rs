//! Endpoints, connections and streams as futures for any executor, with the interface of quinn. A thread of each
//! endpoint does the work.

mod incoming;
mod stream;
#[cfg(test)]
mod tests;

use crate::credit::path_probe::{ProbeCounts, ProbePlan};
use crate::sockets::driver::{self, SharedState};
use crate::{config::Config, connection, credit::counters::DropCounters};
use crate::{credit::send_mode::SendMode, credit::stats::CreditStats};
use crate::{endpoint_state::EndpointState, error::QuicError, path_stats::PathStats};
use crate::{sockets::datagram::DatagramDrops, sockets::dual_stack, sockets::socket::Socket, streams};
use crate::{trust::tls::Tls, wakers::WaitFor};
use quinn_proto::{Dir, StreamId};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;
use std::{any::Any, future::poll_fn};

pub use incoming::AnyStream;
pub use stream::{RecvStream, SendStream};

/// A UDP socket that connections start from and arrive at.
///
/// When the last handle of the endpoint and of its connections is dropped, all connections are closed. Dropping does
/// not block: a thread goes on until the peers were told, which takes about three probe timeouts (RFC 9000, 10.2). A
/// process that exits earlier should wait with [`Endpoint::wait_idle`].
#[derive(Clone)]
pub struct Endpoint {
    shared: Arc<SharedState>,
    address: SocketAddr,
    tls: Tls,
    guard: Arc<CloseOnDrop>,
}

/// Closes the endpoint when the last handle is dropped. The thread of the endpoint then ends by itself.
struct CloseOnDrop(Arc<SharedState>);

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        self.0.lock().close(Instant::now());
        self.0.wake_thread();
    }
}

impl Endpoint {
    /// Binds to this address; port 0 stands for any. The endpoint accepts connections if `tls` has an identity.
    ///
    /// # Errors
    /// The address is taken, or a setting is out of bounds.
    pub fn bind(address: SocketAddr, config: Config, tls: Tls) -> Result<Self, QuicError> {
        Self::with_socket(Socket::bind(address)?, config, tls)
    }

    /// Binds to this port of all addresses of the host: of IPv4 and, if the system supports it, of IPv6.
    ///
    /// # Errors
    /// The port is taken, or a setting is out of bounds.
    pub fn bind_everywhere(port: u16, config: Config, tls: &Tls) -> Result<Self, QuicError> {
        match Self::bind((Ipv6Addr::UNSPECIFIED, port).into(), config, tls.clone()) {
            Err(QuicError::System(why)) if dual_stack::is_without_ipv6(&why) => {
                Self::bind((Ipv4Addr::UNSPECIFIED, port).into(), config, tls.clone())
            }
            bound => bound,
        }
    }

    fn with_socket(socket: Socket, config: Config, tls: Tls) -> Result<Self, QuicError> {
        let tls = if config.credits { tls } else { tls.without_credits() };
        let address = socket.address()?;
        let secret = tls.reset_secret(address);
        let state = EndpointState::new(config, tls.server_config()?, secret, random_seed())
            .map_err(|why| QuicError::Settings(why.to_string()))?
            .proving(tls.code.clone());
        let shared = Arc::new(SharedState::new(state)?);
        let of_thread = Arc::clone(&shared);
        std::thread::Builder::new().name("shallop-quic".to_owned()).spawn(move || run_thread(&of_thread, socket))?;
        let guard = Arc::new(CloseOnDrop(Arc::clone(&shared)));
        Ok(Self { shared, address, tls, guard })
    }

    /// The address that the socket is bound to, with the port that the system chose.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Connects to a server whose certificate `tls` accepts for `name`.
    ///
    /// # Errors
    /// The server does not answer, or is not trusted.
    pub async fn connect(&self, to: SocketAddr, name: &str) -> Result<Connection, QuicError> {
        let crypto = self.tls.client_config()?;
        let number = {
            let mut state = self.shared.lock();
            if let Some(why) = &state.failure {
                return Err(QuicError::Failed(why.clone()));
            }
            if state.is_closed {
                return Err(QuicError::Lost("the endpoint is closed".to_owned()));
            }
            state.connect(Instant::now(), crypto, to, name)?
        };
        self.shared.wake_thread();
        let connection = self.connection(number);
        connection.ready().await?;
        Ok(connection)
    }

    /// Waits for the next connection of a client whose handshake is over, and which has proved the code if there is one
    /// ([`Tls::server_with`]); `None` once the endpoint is closed or has failed
    /// ([`Endpoint::failure`]).
    pub async fn accept(&self) -> Option<Connection> {
        let number = poll_fn(|context| {
            let mut state = self.shared.lock();
            if let Some(number) = state.arrived.pop_front() {
                return Poll::Ready(Some(number));
            }
            if state.is_closed {
                return Poll::Ready(None);
            }
            state.add_waker(context.waker());
            Poll::Pending
        });
        number.await.map(|number| self.connection(number))
    }

    /// Waits until all connections are closed and their peers were told, or the endpoint has failed.
    pub async fn wait_idle(&self) {
        poll_fn(|context| {
            let mut state = self.shared.lock();
            if state.failure.is_some() || state.connections.are_drained() {
                return Poll::Ready(());
            }
            state.add_waker(context.waker());
            Poll::Pending
        })
        .await;
    }

    /// The reason for which the endpoint has failed ([`QuicError::Failed`]); `None` while it works and after
    /// [`Endpoint::close`].
    pub fn failure(&self) -> Option<QuicError> {
        self.shared.lock().failure.clone().map(QuicError::Failed)
    }

    /// Counts of emulation packets and credits that were dropped because they belong to no connection.
    pub fn dropped(&self) -> DropCounters {
        self.shared.lock().dropped
    }

    /// Counts of UDP datagrams that the socket dropped.
    pub fn datagram_drops(&self) -> DatagramDrops {
        self.shared.lock().datagram_drops
    }

    /// Closes all connections and tells their peers.
    pub fn close(&self) {
        self.shared.lock().close(Instant::now());
        self.shared.wake_thread();
    }

    fn connection(&self, number: usize) -> Connection {
        let (shared, guard) = (Arc::clone(&self.shared), Arc::clone(&self.guard));
        let unread_before = self.datagram_drops().unread;
        let handle = ConnectionRef { shared, number, unread_before, _guard: guard };
        Connection { handle: Arc::new(handle) }
    }
}

/// Runs the thread of an endpoint. An error or a panic ends every future of the endpoint with its reason.
fn run_thread(shared: &Arc<SharedState>, socket: Socket) {
    let why = match catch_unwind(AssertUnwindSafe(|| driver::run(shared, socket))) {
        Ok(Ok(())) => return,
        Ok(Err(why)) => why.to_string(),
        Err(panic) => format!("its thread panicked: {}", panic_message(&*panic)),
    };
    shared.lock().fail(&why);
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

/// A seed that differs between processes. The tags that are drawn from it need not be secret.
fn random_seed() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}

/// The application's reference to a connection. Dropping it closes the connection.
struct ConnectionRef {
    shared: Arc<SharedState>,
    number: usize,
    /// The datagrams that the endpoint was too late to read before this connection.
    unread_before: u64,
    _guard: Arc<CloseOnDrop>,
}

impl Drop for ConnectionRef {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        if state.failure.is_some() {
            return;
        }
        if let Some(connection) = state.connections.get_mut(self.number) {
            connection.close(Instant::now(), 0, b"");
        }
        state.abandon(self.number);
        drop(state);
        self.shared.wake_thread();
    }
}

impl ConnectionRef {
    /// Waits until `poll` is ready; it is called after each change of the connection's state.
    async fn wait<T>(
        &self, poll: impl FnMut(&mut connection::Connection) -> Poll<Result<T, QuicError>>,
    ) -> Result<T, QuicError> {
        self.wait_on(WaitFor::Connection, poll).await
    }

    /// Waits until `poll` is ready; it is called after each `event`.
    async fn wait_on<T>(
        &self, event: WaitFor, mut poll: impl FnMut(&mut connection::Connection) -> Poll<Result<T, QuicError>>,
    ) -> Result<T, QuicError> {
        poll_fn(|context: &mut Context<'_>| {
            let mut state = self.shared.lock();
            if let Some(why) = &state.failure {
                return Poll::Ready(Err(QuicError::Failed(why.clone())));
            }
            let Some(connection) = state.connections.get_mut(self.number) else {
                return Poll::Ready(Err(QuicError::Lost("closed".to_owned())));
            };
            connection.needs_transmit = true;
            let result = poll(connection);
            let needs_transmit = connection.needs_transmit;
            if result.is_pending() {
                if let Some(reason) = &connection.close_reason {
                    return Poll::Ready(Err(reason.into()));
                }
                connection.wakers.add(event, context.waker());
            }
            drop(state);
            if needs_transmit {
                self.shared.wake_thread();
            }
            result
        })
        .await
    }

    /// Waits until `poll` returns a value.
    async fn wait_for<T>(
        &self, mut poll: impl FnMut(&mut connection::Connection) -> Option<T>,
    ) -> Result<T, QuicError> {
        self.wait(|connection| poll(connection).map_or(Poll::Pending, |found| Poll::Ready(Ok(found)))).await
    }

    /// Calls `act` with the connection; `None` if the connection is gone or the endpoint has failed.
    fn with<T>(&self, act: impl FnOnce(&mut connection::Connection) -> T) -> Option<T> {
        let mut state = self.shared.lock();
        if state.failure.is_some() {
            return None;
        }
        let result = state.connections.get_mut(self.number).map(act);
        drop(state);
        self.shared.wake_thread();
        result
    }
}

/// A QUIC connection, on credits if both sides use them. It is closed when its last handle and its last stream are
/// dropped.
#[derive(Clone)]
pub struct Connection {
    handle: Arc<ConnectionRef>,
}

impl Connection {
    /// Waits for the end of the handshake and the settings of the peer, and returns how data leaves.
    ///
    /// # Errors
    /// The connection is lost before.
    pub async fn ready(&self) -> Result<SendMode, QuicError> {
        let mode = |connection: &mut connection::Connection| {
            Some(connection).filter(|of| of.is_ready()).map(|of| of.send_mode())
        };
        self.handle.wait_for(mode).await
    }

    /// Opens a unidirectional stream.
    ///
    /// # Errors
    /// The connection is lost.
    pub async fn open_uni(&self) -> Result<SendStream, QuicError> {
        let id = self.handle.wait_for(|of| streams::open(of, Dir::Uni)).await?;
        Ok(SendStream::new(&self.handle, id))
    }

    /// Opens a bidirectional stream.
    ///
    /// # Errors
    /// The connection is lost.
    pub async fn open_bi(&self) -> Result<(SendStream, RecvStream), QuicError> {
        let id = self.handle.wait_for(|of| streams::open(of, Dir::Bi)).await?;
        Ok(self.bidirectional(id))
    }

    /// Waits for the next unidirectional stream of the peer.
    ///
    /// # Errors
    /// The connection is lost.
    pub async fn accept_uni(&self) -> Result<RecvStream, QuicError> {
        let id = self.handle.wait_for(|of| streams::accept(of, Dir::Uni)).await?;
        Ok(RecvStream::new(&self.handle, id))
    }

    /// Waits for the next bidirectional stream of the peer.
    ///
    /// # Errors
    /// The connection is lost.
    pub async fn accept_bi(&self) -> Result<(SendStream, RecvStream), QuicError> {
        let id = self.handle.wait_for(|of| streams::accept(of, Dir::Bi)).await?;
        Ok(self.bidirectional(id))
    }

    fn bidirectional(&self, id: StreamId) -> (SendStream, RecvStream) {
        (SendStream::new(&self.handle, id), RecvStream::new(&self.handle, id))
    }

    /// How this side sends data at the moment.
    pub fn send_mode(&self) -> SendMode {
        self.handle.with(|connection| connection.send_mode()).unwrap_or(SendMode::Unknown)
    }

    /// Sends on credits again after a fallback ([`SendMode::is_fallback`]), in case its cause is gone. Without a
    /// fallback nothing changes. Each side decides about its own data.
    pub fn use_credits(&self) {
        self.handle.with(connection::Connection::use_credits);
    }

    /// Starts a test of how the path treats emulation packets, beside whatever else is sent. Returns false if the peer
    /// answers no emulation packets.
    pub fn start_probe(&self, plan: ProbePlan) -> bool {
        self.handle.with(|of| of.start_probe(Instant::now(), plan)).unwrap_or_default()
    }

    /// The counts of each train of the newest test, and whether all of its packets have left. `None` without a test, or
    /// if the connection has ended.
    pub fn probed(&self) -> Option<(Vec<ProbeCounts>, bool)> {
        self.handle.with(|of| of.probed())?
    }

    /// Sends data without credits ([`SendMode::Unmetered`]), because a test has shown no meter. Returns false if data
    /// does not leave on credits. [`Connection::use_credits`] returns to them.
    pub fn leave_unmetered(&self) -> bool {
        self.handle.with(connection::Connection::leave_unmetered).unwrap_or_default()
    }

    /// Waits until this side sends data in another mode than `before`, and returns the mode.
    ///
    /// # Errors
    /// The connection is lost.
    pub async fn send_mode_changed(&self, before: SendMode) -> Result<SendMode, QuicError> {
        let other = |of: &mut connection::Connection| Some(of.send_mode()).filter(|&mode| mode != before);
        self.handle.wait_for(other).await
    }

    /// Counts of this connection's emulation packets, credits and data packets.
    pub fn stats(&self) -> CreditStats {
        let stats = self.handle.with(|connection| connection.stats()).unwrap_or_default();
        let unread = self.handle.shared.lock().datagram_drops.unread;
        CreditStats { unread: unread - self.handle.unread_before, ..stats }
    }

    /// The round trip times and losses that QUIC measures.
    pub fn path_stats(&self) -> PathStats {
        self.handle.with(|connection| connection.path_stats()).unwrap_or_default()
    }

    /// The address of the peer; `None` if the connection has ended.
    pub fn remote_address(&self) -> Option<SocketAddr> {
        self.handle.with(|connection| connection.quic.remote_address())
    }

    /// Closes the connection at once: streams end with an error on both sides, and bytes that the peer has not
    /// acknowledged may be lost. The peer receives `code`, an application error code, and `reason` (RFC 9000, 10.2). A
    /// second call has no effect.
    pub fn close(&self, code: u32, reason: &[u8]) {
        self.handle.with(|connection| connection.close(Instant::now(), code, reason));
    }

    /// Whether the connection has ended.
    pub fn is_closed(&self) -> bool {
        self.handle.with(|connection| connection.close_reason.is_some()).unwrap_or(true)
    }

    /// Waits for the end of the connection and returns its cause: [`QuicError::Closed`] with the code and the reason of
    /// the peer, or [`QuicError::Lost`].
    pub async fn closed(&self) -> QuicError {
        let ended = self.handle.wait(|_| Poll::<Result<(), QuicError>>::Pending).await;
        ended.err().unwrap_or_else(|| QuicError::Lost("closed".to_owned()))
    }
}

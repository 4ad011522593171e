//! The flows of a rehearsal by `FlashPass`: QUIC on credits (the crate `quic`), an endpoint in the namespace of each
//! host that receives, and one for each flow that is sent. One thread keeps them all going, and checks what arrives.

use std::collections::BTreeMap;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, OnceLock};
use std::task::Poll;
use std::time::{Duration, Instant};

use shallop_core::Span;
use shallop_hosts::quic::{Credits, Progress};
use shallop_hosts::{HostFlow, addresses};
use shallop_plan::flows::Flow;
use shallop_plan::transport::FlashPass;
use shallop_plan::{ResolvedRun, wait};
use shallop_quic::endpoints::{ConnectionId, StreamNumber};
use shallop_quic::identity::{Identity, ServerVerifier};
use shallop_quic::{Config, CreditStats, Endpoints, QuicError, Tls, Unscheduled};

use crate::error::{RehearsalError, failed};
use crate::namespace::{self, Host};
use crate::pattern::{LONGEST, Pattern};
use crate::realtime;
use crate::tcp_flows::Report;

/// How often the thread looks whether it is to stop, and tells how far flows are.
const LOOK: Duration = Duration::from_millis(5);
/// What hosts take to answer, in which the clock of a simulated host stands still: credits that would arrive just in
/// time would be late.
const ANSWERS: Span = Span::from_ms(2);
/// Bytes of UDP payload of a full packet, by its payload of TCP: headers of IP and TCP are 40, those of IP and UDP 28.
const DATAGRAM_OVER_PAYLOAD: u16 = 12;
const MOST_SLACK: Duration = Duration::from_millis(1);
const SLACK_OF_DRAIN: u32 = 4;
/// Bytes that a socket holds until they are read.
const HELD: usize = 4 << 20;

/// The settings of the two endpoints of a flow.
pub(crate) fn config(
    setup: &ResolvedRun<'_>,
    flow: &Flow,
    options: &FlashPass,
) -> Result<Config, RehearsalError> {
    if options.send_buffer.is_some() {
        let why =
            "FlashPass over QUIC has not a sender that knows only what is in its send buffer yet";
        return Err(RehearsalError::Refused(why.to_owned()));
    }
    let wait = wait::wait(setup, options)? + ANSWERS;
    let context = flow.context(setup, wait);
    let engine = options.engine(&context);
    let until_first_data = options.bursts_until_first_data();
    let burst = options.unscheduled(&context).map(|of| of.max_burst);
    Ok(Config {
        wait: Duration::from_nanos(wait.as_ps().div_ceil(1_000)),
        emulation: Some(engine.rate),
        law: options.law.begin(),
        epochs: engine.epochs,
        jitter: engine.jitter,
        expected_loss: engine.expected_loss,
        over_provision: engine.over_provision,
        batch: options.options.batch,
        unscheduled: burst.map(|burst| Unscheduled { burst, until_first_data }),
        datagram: flow.path.payload + DATAGRAM_OVER_PAYLOAD,
        ..Config::new(context.sender_link)
    })
}

/// The latest that a data packet may leave where the shallowest buffer drains in this time: a packet that is late joins
/// others for which that buffer has its room.
pub(crate) fn slack(drain: Span) -> Duration {
    MOST_SLACK.min(Duration::from_nanos(drain.as_ps() / 1_000) / SLACK_OF_DRAIN)
}

/// A flow at its sender.
struct Sending {
    order: usize,
    connection: ConnectionId,
    stream: Option<StreamNumber>,
    written: u64,
    is_written: bool,
    has_failed: bool,
    /// It is known that its data has left without credits.
    has_fallen_back: bool,
}

/// A flow at its receiver.
struct Receiving {
    order: usize,
    connection: ConnectionId,
    stream: Option<StreamNumber>,
    read: u64,
    is_over: bool,
}

/// What the endpoints of a number are for.
enum Role {
    Sender(Sending),
    Receiver(Vec<Receiving>),
}

/// The flows of a run by QUIC.
pub(crate) struct QuicFlows<'a> {
    orders: &'a [HostFlow],
    progress: Vec<Progress>,
    configs: &'a [Config],
    hosts: &'a [Host],
    seed: u64,
    endpoints: Endpoints,
    /// By the number of the endpoint.
    roles: Vec<Role>,
    /// The place of each order, by the address of its sender.
    by_sender: BTreeMap<SocketAddr, usize>,
    trusts: Arc<ServerVerifier>,
    /// Whom to tell how far flows are.
    told: Sender<(u32, Progress)>,
    pattern: Pattern,
    buffer: Vec<u8>,
    report: Report,
}

fn refused(why: &QuicError) -> RehearsalError {
    RehearsalError::Missing(format!("QUIC: {why}"))
}

impl<'a> QuicFlows<'a> {
    /// Opens the endpoints of all hosts that receive. This thread is in other namespaces afterwards.
    pub(crate) fn open(
        (orders, configs): (&'a [HostFlow], &'a [Config]),
        (hosts, seed): (&'a [Host], u64),
        told: Sender<(u32, Progress)>,
    ) -> Result<Self, RehearsalError> {
        let identity = Identity::make().map_err(|why| RehearsalError::Missing(why.to_string()))?;
        let endpoints = Endpoints::new().map_err(failed("waiting for QUIC"))?;
        let from = |order: &HostFlow| addresses::socket(order.from, order.local);
        let mut all = Self {
            by_sender: orders.iter().enumerate().map(|(at, of)| (from(of), at)).collect(),
            orders,
            progress: vec![Progress::default(); orders.len()],
            configs,
            hosts,
            seed,
            endpoints,
            roles: Vec::new(),
            trusts: ServerVerifier::pinned(identity.fingerprint()),
            told,
            pattern: Pattern::default(),
            buffer: vec![0; LONGEST],
            report: Report::default(),
        };
        let mut receivers: BTreeMap<u32, Config> = BTreeMap::new();
        for (order, config) in orders.iter().zip(configs) {
            let of = receivers.entry(order.to).or_insert(*config);
            of.wait = of.wait.max(config.wait);
        }
        for (host, config) in receivers {
            let tls = Tls::server(&identity);
            all.add((host, addresses::QUIC_PORT), (config, tls))?;
            all.roles.push(Role::Receiver(Vec::new()));
        }
        Ok(all)
    }

    /// Adds an endpoint in a host.
    fn add(
        &mut self,
        (host, port): (u32, u16),
        settings: (Config, Tls),
    ) -> Result<usize, RehearsalError> {
        let socket = self.socket(host, port).map_err(failed(format!("QUIC of host {host}")))?;
        let seed = self.seed.wrapping_add(self.roles.len() as u64);
        self.endpoints.add(socket, settings, seed).map_err(|why| refused(&why))
    }

    fn socket(&self, host: u32, port: u16) -> std::io::Result<UdpSocket> {
        namespace::enter_host(self.hosts, host)?;
        let socket = socket2::Socket::from(UdpSocket::bind(addresses::socket(host, port))?);
        // The system gives what it allows.
        socket.set_recv_buffer_size(HELD)?;
        Ok(socket.into())
    }

    /// Starts and serves the flows, by the clock that `start` is the beginning of, until `stop` is true.
    pub(crate) fn run(
        mut self,
        start: &OnceLock<Instant>,
        stop: &AtomicBool,
    ) -> Result<Report, RehearsalError> {
        let hosting = realtime::host();
        let (mut next, mut told) = (0, Instant::now());
        while !stop.load(Ordering::Relaxed) {
            let at = |order: &HostFlow| Some(*start.get()? + Duration::from_nanos(order.start));
            while let Some(due) = self.orders.get(next).and_then(at)
                && due <= Instant::now()
            {
                self.report.late = self.report.late.max(due.elapsed());
                self.begin(next)?;
                next += 1;
            }
            if told.elapsed() >= LOOK {
                self.tell();
                told = Instant::now();
            }
            let look = told + LOOK;
            let until = self.orders.get(next).and_then(at).map_or(look, |at| at.min(look));
            let active = self.endpoints.turn(until).map_err(failed("QUIC"))?;
            for endpoint in active {
                self.serve(endpoint)?;
            }
        }
        if let (Some(order), Some(start)) = (self.orders.get(next), start.get()) {
            let late = start.elapsed().saturating_sub(Duration::from_nanos(order.start));
            self.report.late = self.report.late.max(late);
        }
        self.tell();
        self.report.waited = hosting.waited();
        Ok(self.report)
    }

    /// Starts a flow.
    fn begin(&mut self, order: usize) -> Result<(), RehearsalError> {
        let HostFlow { from, to, local, number, .. } = self.orders[order];
        let seed = self.seed.wrapping_mul(65_536).wrapping_add(u64::from(number));
        let config = Config { seed, ..self.configs[order] };
        let tls = Tls::client(Arc::clone(&self.trusts) as Arc<_>);
        let endpoint = self.add((from, local), (config, tls))?;
        let to = addresses::socket(to, addresses::QUIC_PORT);
        let connection = self.endpoints.connect(endpoint, to, "shallop");
        let connection = connection.map_err(|why| refused(&why))?;
        self.roles.push(Role::Sender(Sending {
            order,
            connection,
            stream: None,
            written: 0,
            is_written: false,
            has_failed: false,
            has_fallen_back: false,
        }));
        Ok(())
    }

    fn serve(&mut self, endpoint: usize) -> Result<(), RehearsalError> {
        while let Some(connection) = self.endpoints.accept(endpoint) {
            let peer = self.endpoints.remote_address(connection);
            let Some(&order) = peer.and_then(|peer| self.by_sender.get(&peer)) else { continue };
            if let Some(Role::Receiver(all)) = self.roles.get_mut(endpoint) {
                all.push(Receiving { order, connection, stream: None, read: 0, is_over: false });
            }
        }
        match self.roles.get_mut(endpoint) {
            Some(Role::Sender(_)) => self.fill(endpoint),
            Some(Role::Receiver(_)) => self.empty(endpoint)?,
            None => {}
        }
        Ok(())
    }

    /// Writes what the stream of a sender takes.
    fn fill(&mut self, endpoint: usize) {
        let Some(Role::Sender(of)) = self.roles.get_mut(endpoint) else { return };
        if of.is_written || of.has_failed {
            return;
        }
        let HostFlow { number: flow, size, .. } = self.orders[of.order];
        if let Err(why) = self.endpoints.path(of.connection) {
            of.has_failed = true;
            self.report.failures.push((flow, why.to_string()));
            return;
        }
        if of.stream.is_none() {
            of.stream = self.endpoints.open(of.connection);
        }
        let Some(stream) = of.stream else { return };
        loop {
            let left = size.map_or(u64::MAX, |size| size - of.written);
            if left == 0 {
                of.is_written = true;
                return self.endpoints.finish(of.connection, stream);
            }
            let room = self.endpoints.room(of.connection, stream);
            let most = usize::try_from(left).unwrap_or(LONGEST).min(room);
            let bytes = self.pattern.at(flow, of.written, most);
            match self.endpoints.write(of.connection, stream, bytes) {
                0 => return,
                count => of.written += count as u64,
            }
        }
    }

    /// Reads and checks what has arrived at a receiver.
    fn empty(&mut self, endpoint: usize) -> Result<(), RehearsalError> {
        let Some(Role::Receiver(all)) = self.roles.get_mut(endpoint) else { return Ok(()) };
        for of in all.iter_mut().filter(|of| !of.is_over) {
            if of.stream.is_none() {
                of.stream = self.endpoints.accept_stream(of.connection);
            }
            let Some(stream) = of.stream else { continue };
            let HostFlow { number: flow, size, .. } = &self.orders[of.order];
            while let Poll::Ready(done) =
                self.endpoints.read(of.connection, stream, &mut self.buffer)
            {
                match done {
                    Ok(0) => of.is_over = true,
                    Ok(count) => {
                        if self.buffer[..count] != *self.pattern.at(*flow, of.read, count) {
                            return Err(RehearsalError::Corrupted { flow: *flow, at: of.read });
                        }
                        of.read += count as u64;
                        self.report.checked += count as u64;
                    }
                    Err(why) => {
                        of.is_over = true;
                        self.report.failures.push((*flow, why.to_string()));
                    }
                }
                if of.is_over {
                    break;
                }
            }
            let progress = &mut self.progress[of.order];
            let before = std::mem::replace(&mut progress.received, of.read);
            if size.is_some_and(|size| before < size && of.read >= size) {
                // The network may have ended.
                let _ = self.told.send((*flow, *progress));
            }
        }
        Ok(())
    }

    /// Tells how far all flows are that have started.
    fn tell(&mut self) {
        for role in &mut self.roles {
            let Role::Sender(of) = role else { continue };
            if let Ok(path) = self.endpoints.path(of.connection)
                && path.is_fallback()
                && !std::mem::replace(&mut of.has_fallen_back, true)
            {
                let flow = self.orders[of.order].number;
                self.report.failures.push((flow, format!("data leaves {path}")));
            }
            let stats = self.endpoints.stats(of.connection);
            let CreditStats { granted, used, wasted, skipped, emulated, .. } = stats;
            let progress = &mut self.progress[of.order];
            progress.lost = self.endpoints.path_stats(of.connection).packets_lost;
            progress.emulated = emulated;
            progress.credits = Credits { granted, used, wasted: wasted + skipped };
            // The network may have ended.
            let _ = self.told.send((self.orders[of.order].number, *progress));
        }
    }
}

//! The `FlashPass` flows of a rehearsal: QUIC on credits (the crate `quic`). Each receiving host and each flow at its
//! sender has a QUIC endpoint. One thread serves all endpoints and checks the bytes that arrive.

use crate::error::{RehearsalError, failed};
use crate::namespace::{self, Host};
use crate::pattern::{LONGEST, Pattern};
use crate::realtime;
use crate::run_clock::{FlowReport, LOOK, RunClock};
use shallop_core::Span;
use shallop_hosts::flow_monitor::{Credits, Progress};
use shallop_hosts::{HostFlow, HostFlows, addresses};
use shallop_plan::{ResolvedRun, wait};
use shallop_plan::{flows::Flow, transport::FlashPass};
use shallop_quic::code::Code;
use shallop_quic::multi_endpoint::{ConnectionId, StreamNumber};
use shallop_quic::{Config, CreditStats, MultiEndpoint, QuicError, Tls, Unscheduled};
use std::collections::BTreeMap;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};
use std::{sync::mpsc::Sender, task::Poll};

/// The response time of real hosts, added to the waiting time of `FlashPass`, which is computed for simulated hosts
/// that answer at once.
const RESPONSE: Span = Span::from_ms(2);
/// The difference between the UDP and the TCP payload of a full packet, in bytes: IP and TCP headers have 40, IP and
/// UDP headers 28.
const DATAGRAM_OVER_PAYLOAD: u16 = 12;
const MAX_SLACK: Duration = Duration::from_millis(1);
/// The slack is at most this fraction of the time in which the shallowest buffer drains.
const SLACK_FRACTION: u32 = 4;
/// The receive buffer of a UDP socket, in bytes: it holds datagrams while the thread serves other sockets.
const RECEIVE_BUFFER: usize = 4 << 20;

/// Makes the QUIC settings for both ends of a flow from the options of `FlashPass`.
pub(crate) fn config(setup: &ResolvedRun<'_>, flow: &Flow, options: &FlashPass) -> Result<Config, RehearsalError> {
    if options.send_buffer.is_some() {
        let why = "FlashPass over QUIC has no `send_buffer`: its senders know the whole flow";
        return Err(RehearsalError::Refused(why.to_owned()));
    }
    let wait = wait::wait(setup, options)? + RESPONSE;
    let context = flow.context(setup, wait);
    let engine = options.engine(&context);
    let until_first_data = options.bursts_until_first_data();
    // A flow has a connection of its own, so a pause of its data shows that the machine is late, unless it is long.
    let unscheduled = options.unscheduled(&context).map(|of| Unscheduled {
        burst: of.max_burst,
        until_first_data,
        renew_after: Some(of.renew_after.max(wait)),
    });
    Ok(Config {
        wait: Duration::from_nanos(wait.as_ps().div_ceil(1_000)),
        emulation: Some(engine.rate),
        law: options.law.begin(options.options.initial_rate),
        epochs: engine.epochs,
        jitter: engine.jitter,
        expected_loss: engine.expected_loss,
        attribute: engine.attribute,
        min_sample: engine.min_sample,
        count_tagged: engine.count_tagged,
        expect_measured: engine.expect_measured,
        over_provision: engine.over_provision,
        batch: Some(options.options.batch),
        unscheduled,
        datagram: flow.path.payload + DATAGRAM_OVER_PAYLOAD,
        ..Config::new(context.sender_link)
    })
}

/// The largest delay of a data packet after its scheduled time. `drain` is the time in which the shallowest buffer
/// drains: late packets leave together, and that buffer must have room for them.
pub(crate) fn slack(drain: Span) -> Duration {
    MAX_SLACK.min(Duration::from_nanos(drain.as_ps() / 1_000) / SLACK_FRACTION)
}

struct QuicSender {
    flow: usize,
    connection: ConnectionId,
    stream: Option<StreamNumber>,
    written: u64,
    is_written: bool,
    has_failed: bool,
    /// Whether a report said already that the flow sends without credits.
    has_fallen_back: bool,
}

struct QuicReceiver {
    flow: usize,
    connection: ConnectionId,
    stream: Option<StreamNumber>,
    read: u64,
    is_over: bool,
}

/// The flows that an endpoint serves: one at its sender, or all of a receiving host.
enum Role {
    Sender(QuicSender),
    Receiver(Vec<QuicReceiver>),
}

pub(crate) struct QuicFlows<'a> {
    flows: Vec<HostFlow>,
    configs: &'a [Config],
    progress: Vec<Progress>,
    hosts: &'a [Host],
    seed: u64,
    endpoints: MultiEndpoint,
    roles: Vec<Role>,
    /// The index of each flow, by the address of its sender.
    by_sender: BTreeMap<SocketAddr, usize>,
    /// The code of this run, by which its endpoints know each other.
    code: Code,
    /// Sends the progress of flows to the emulator, each with the number of the flow.
    reports: Sender<(u32, Progress)>,
    pattern: Pattern,
    buffer: Vec<u8>,
    report: FlowReport,
}

fn refused(why: &QuicError) -> RehearsalError {
    RehearsalError::Missing(format!("QUIC: {why}"))
}

impl<'a> QuicFlows<'a> {
    /// Opens the endpoints of all receiving hosts, which moves this thread to other namespaces. `configs` are the
    /// settings of each QUIC flow.
    pub(crate) fn open(
        flows: &HostFlows, configs: &'a [Config], hosts: &'a [Host], seed: u64, reports: Sender<(u32, Progress)>,
    ) -> Result<Self, RehearsalError> {
        let code = Code::make().map_err(|why| refused(&why))?;
        let endpoints = MultiEndpoint::new().map_err(failed("waiting for QUIC"))?;
        let flows: Vec<HostFlow> = flows.quic().copied().collect();
        let by_sender = flows.iter().enumerate().map(|(index, of)| (of.source(), index));
        let mut all = Self {
            by_sender: by_sender.collect(),
            progress: vec![Progress::default(); flows.len()],
            configs,
            flows,
            hosts,
            seed,
            endpoints,
            roles: Vec::new(),
            code,
            reports,
            pattern: Pattern::default(),
            buffer: vec![0; LONGEST],
            report: FlowReport::default(),
        };
        let mut receivers: BTreeMap<u32, Config> = BTreeMap::new();
        for (flow, config) in all.flows.iter().zip(configs) {
            let of = receivers.entry(flow.to).or_insert(*config);
            of.wait = of.wait.max(config.wait);
        }
        for (host, config) in receivers {
            let tls = Tls::server_with(all.code.clone()).map_err(|why| refused(&why))?;
            all.add(host, addresses::QUIC_PORT, config, tls)?;
            all.roles.push(Role::Receiver(Vec::new()));
        }
        Ok(all)
    }

    fn add(&mut self, host: u32, port: u16, config: Config, tls: Tls) -> Result<usize, RehearsalError> {
        let socket = self.socket(host, port).map_err(failed(format!("QUIC of host {host}")))?;
        let seed = self.seed.wrapping_add(self.roles.len() as u64);
        self.endpoints.add(socket, config, tls, seed).map_err(|why| refused(&why))
    }

    fn socket(&self, host: u32, port: u16) -> std::io::Result<UdpSocket> {
        namespace::enter_host(self.hosts, host)?;
        let socket = socket2::Socket::from(UdpSocket::bind(addresses::socket(host, port))?);
        // The kernel may give less.
        socket.set_recv_buffer_size(RECEIVE_BUFFER)?;
        Ok(socket.into())
    }

    /// Starts and serves the flows until the run is over.
    pub(crate) fn run(mut self, clock: RunClock<'_>) -> Result<FlowReport, RehearsalError> {
        let hosting = realtime::host();
        let (mut next, mut reported) = (0, Instant::now());
        while !clock.is_over() {
            let due = |flow: &HostFlow| Some(clock.network.started()? + Duration::from_nanos(flow.start));
            while let Some(at) = self.flows.get(next).and_then(due)
                && at <= Instant::now()
            {
                self.report.late = self.report.late.max(at.elapsed());
                self.begin(next)?;
                next += 1;
            }
            if reported.elapsed() >= LOOK {
                self.report_progress();
                reported = Instant::now();
            }
            let look = reported + LOOK;
            let until = self.flows.get(next).and_then(due).map_or(look, |at| at.min(look));
            let active = self.endpoints.turn(until).map_err(failed("QUIC"))?;
            for endpoint in active {
                self.serve(endpoint)?;
            }
        }
        if let Some(flow) = self.flows.get(next) {
            self.report.record_delay(Duration::from_nanos(flow.start), clock.elapsed());
        }
        self.report_progress();
        self.report.waited = hosting.waited();
        Ok(self.report)
    }

    fn begin(&mut self, index: usize) -> Result<(), RehearsalError> {
        let flow = self.flows[index];
        let seed = self.seed.wrapping_mul(65_536).wrapping_add(u64::from(flow.number));
        let config = Config { seed, ..self.configs[index] };
        let tls = Tls::client_with(self.code.clone());
        let endpoint = self.add(flow.from, flow.source_port, config, tls)?;
        let connection = self.endpoints.connect(endpoint, flow.destination(), "shallop");
        let connection = connection.map_err(|why| refused(&why))?;
        self.roles.push(Role::Sender(QuicSender {
            flow: index,
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
            let Some(&flow) = peer.and_then(|peer| self.by_sender.get(&peer)) else { continue };
            if let Some(Role::Receiver(all)) = self.roles.get_mut(endpoint) {
                all.push(QuicReceiver { flow, connection, stream: None, read: 0, is_over: false });
            }
        }
        match self.roles.get_mut(endpoint) {
            Some(Role::Sender(_)) => self.fill(endpoint),
            Some(Role::Receiver(_)) => self.empty(endpoint)?,
            None => {}
        }
        Ok(())
    }

    /// Writes as many bytes as the stream of a sender takes.
    fn fill(&mut self, endpoint: usize) {
        let Some(Role::Sender(of)) = self.roles.get_mut(endpoint) else { return };
        if of.is_written || of.has_failed {
            return;
        }
        let HostFlow { number: flow, size, .. } = self.flows[of.flow];
        if let Err(why) = self.endpoints.send_mode(of.connection) {
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

    /// Reads and checks the bytes that have arrived at a receiver.
    fn empty(&mut self, endpoint: usize) -> Result<(), RehearsalError> {
        let Some(Role::Receiver(all)) = self.roles.get_mut(endpoint) else { return Ok(()) };
        for of in all.iter_mut().filter(|of| !of.is_over) {
            if of.stream.is_none() {
                of.stream = self.endpoints.accept_stream(of.connection);
            }
            let Some(stream) = of.stream else { continue };
            let HostFlow { number: flow, size, .. } = self.flows[of.flow];
            while let Poll::Ready(done) = self.endpoints.read(of.connection, stream, &mut self.buffer) {
                match done {
                    Ok(0) => of.is_over = true,
                    Ok(count) => {
                        if self.buffer[..count] != *self.pattern.at(flow, of.read, count) {
                            return Err(RehearsalError::Corrupted { flow, at: of.read });
                        }
                        of.read += count as u64;
                        self.report.checked += count as u64;
                    }
                    Err(why) => {
                        of.is_over = true;
                        self.report.failures.push((flow, why.to_string()));
                    }
                }
                if of.is_over {
                    break;
                }
            }
            let progress = &mut self.progress[of.flow];
            let before = std::mem::replace(&mut progress.received, of.read);
            if size.is_some_and(|size| before < size && of.read >= size) {
                // The emulator may have ended.
                let _ = self.reports.send((flow, *progress));
            }
        }
        Ok(())
    }

    /// Reports the progress of all flows that have started.
    fn report_progress(&mut self) {
        for role in &mut self.roles {
            let Role::Sender(of) = role else { continue };
            let number = self.flows[of.flow].number;
            if let Ok(mode) = self.endpoints.send_mode(of.connection)
                && mode.is_fallback()
                && !std::mem::replace(&mut of.has_fallen_back, true)
            {
                self.report.failures.push((number, format!("data leaves {mode}")));
            }
            let stats = self.endpoints.stats(of.connection);
            let CreditStats { granted, used, wasted, skipped, emulated, .. } = stats;
            let progress = &mut self.progress[of.flow];
            progress.lost = self.endpoints.path_stats(of.connection).packets_lost;
            progress.emulated = emulated;
            progress.credits = Credits { granted, used, wasted: wasted + skipped };
            // The emulator may have ended.
            let _ = self.reports.send((number, *progress));
        }
    }
}

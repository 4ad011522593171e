//! All hosts outside as one machine of the simulated network.
//!
//! What is read from a line at an instant enters the network at that instant; what arrives is written at once, and how
//! late that is, is recorded. A host whose own link is busy is not read from until the link has nearly caught up: its
//! network interface then holds the packets, as a real one would.

use std::collections::VecDeque;
use std::sync::mpsc::Receiver;

use shallop_core::{Ecn, End, Packet, Span, Time};
use shallop_hosts::endpoint::outgoing;
use shallop_hosts::quic::Progress;
use shallop_hosts::{AnyHostEnd, FlowOrder, FrameHead, Frames, Head, Owned, Owners, addresses};
use shallop_hosts::{frame, ip};
use shallop_proto::Endpoint;
use shallop_sim::hosts::{Hosts, Outgoing};

use crate::counters::Counters;
use crate::lines::Lines;
use crate::offload::{self, HEADER};
use crate::response::Responses;

/// The most frames that are held: 100 MB.
const MOST_FRAMES: usize = 65_536;
/// The longest frame of a host with its header: 64 KB of IP.
const LONGEST: usize = HEADER + frame::MAX_FRAME;
/// Frames that are read in a row before the network goes on.
const BATCH: usize = 16;
/// How far ahead a host's link may be filled before its line is not read any more.
const AHEAD: Span = Span::from_us(200);

/// A packet that was read and the network has not taken yet.
#[derive(Debug)]
struct Waiting {
    at: Time,
    from: End,
    host: u32,
    head: FrameHead,
    ecn: Ecn,
    ip_bytes: u16,
}

/// The hosts of a run, behind their lines.
#[derive(Debug)]
pub struct Emulator<L> {
    lines: L,
    /// What the hosts send, by number.
    orders: Vec<FlowOrder>,
    /// Whether data and acknowledgements are in the classes of transports without credits, beside others with credits.
    legacy: bool,
    owners: Owners,
    frames: Frames,
    held: usize,
    waiting: VecDeque<Waiting>,
    /// The packet that the network took last.
    taken: Option<Waiting>,
    /// When the link of each host will have sent what it holds.
    busy: Vec<Time>,
    responses: Responses,
    /// What hosts tell of flows by QUIC, by the flow's number, and what they told last.
    news: Option<Receiver<(u32, Progress)>>,
    progress: Progress,
    /// When the lines were looked at last, or when a sleep since then was to end.
    looked: Option<Time>,
    /// What it has counted.
    pub counters: Counters,
    read: Vec<u8>,
    written: Vec<u8>,
}

impl<L: Lines> Emulator<L> {
    /// The hosts behind these lines, which are to send these flows.
    #[must_use]
    pub fn new(lines: L, hosts: usize, orders: Vec<FlowOrder>, legacy: bool) -> Self {
        Self {
            lines,
            orders,
            legacy,
            owners: Owners::default(),
            frames: Frames::default(),
            held: 0,
            waiting: VecDeque::new(),
            taken: None,
            busy: vec![Time::ZERO; hosts],
            responses: Responses::default(),
            news: None,
            progress: Progress::default(),
            looked: None,
            counters: Counters::default(),
            read: vec![0; LONGEST],
            written: Vec::new(),
        }
    }

    /// The same, whose hosts tell how far flows by QUIC are.
    #[must_use]
    pub fn with_news(self, news: Receiver<(u32, Progress)>) -> Self {
        Self { news: Some(news), ..self }
    }

    /// The lines, and what was counted.
    pub fn into_lines(self) -> (L, Counters) {
        (self.lines, self.counters)
    }

    /// Takes what a host has sent into the queue of packets that wait for the network.
    fn accept(&mut self, now: Time, count: usize) {
        let Some(packets) = self.read.get(..count).and_then(offload::packets) else {
            self.counters.malformed += 1;
            return;
        };
        for packet in packets {
            self.counters.read += 1;
            let Some(owned) = self.owners.of(&packet) else {
                self.counters.strays += 1;
                continue;
            };
            if self.held >= MOST_FRAMES {
                self.counters.no_slot += 1;
                continue;
            }
            let Owned { segment, from, connection, host } = owned;
            self.held += 1;
            let head = FrameHead::new(self.frames.insert(packet), connection, &segment);
            if let Some(time) = self.responses.on_packet(from, &head, now) {
                self.counters.responses.record(time);
            }
            let (ecn, ip_bytes) = (segment.ecn, segment.ip_bytes);
            self.waiting.push_back(Waiting { at: now, from, host, head, ecn, ip_bytes });
        }
    }

    fn take_frame(&mut self, slot: u32) -> Option<Vec<u8>> {
        let frame = self.frames.remove(slot)?;
        self.held -= 1;
        Some(frame)
    }

    /// Reads what hosts have sent, until `until` has come or a batch is full. Returns whether there was anything.
    fn look(&mut self, until: Time) -> (Time, bool) {
        let mut now = self.lines.now();
        if let Some(before) = self.looked.replace(now) {
            self.counters.gaps.record(now.saturating_since(before));
        }
        let mut any = false;
        for _ in 0..BATCH {
            let busy = &self.busy;
            let limit = now.saturating_add(AHEAD);
            let holds = |host: u32| busy.get(host as usize).is_some_and(|&busy| busy > limit);
            let Some((_, count)) = self.lines.receive(&holds, &mut self.read) else { break };
            any = true;
            now = self.lines.now().max(now);
            self.accept(now, count);
            if now >= until {
                break;
            }
        }
        (now, any)
    }

    /// When the first line that is not read may be read again.
    fn next_release(&self, now: Time) -> Time {
        let limit = now.saturating_add(AHEAD);
        let held = self.busy.iter().copied().filter(|&busy| busy > limit);
        let ahead = held.map(|busy| busy.saturating_since(limit)).min();
        ahead.map_or(Time::LAST, |ahead| now.saturating_add(ahead))
    }
}

impl<L: Lines, E: Endpoint> Hosts<AnyHostEnd<E>> for Emulator<L> {
    const PACED: bool = true;

    fn wait(&mut self, next: Time) -> Time {
        loop {
            let (now, any) = self.look(next);
            if any || now >= next {
                return now;
            }
            let until = next.min(self.next_release(now));
            self.lines.sleep(until);
            // The gap until the next look counts from the end of the intended sleep: a sleep that lasts longer is a
            // gap.
            self.looked = Some(until);
        }
    }

    fn news(&mut self) -> Option<u32> {
        let (flow, progress) = self.news.as_ref()?.try_recv().ok()?;
        self.progress = progress;
        Some(flow)
    }

    fn on_news(&mut self, endpoint: &mut AnyHostEnd<E>) {
        endpoint.on_news(self.progress);
    }

    fn wakeup(&self) -> Option<Time> {
        self.waiting.front().map(|waiting| waiting.at)
    }

    fn run(&mut self, now: Time, _horizon: Time) -> Option<Outgoing<Head<E::Head>>> {
        if self.waiting.front()?.at > now {
            return None;
        }
        let waiting = self.waiting.pop_front()?;
        let Waiting { from, head, ecn, ip_bytes, .. } = waiting;
        self.taken = Some(waiting);
        let out = outgoing(head, ecn, ip_bytes, self.legacy);
        Some(Outgoing { at: now, from, out })
    }

    fn on_start(&mut self, flow: u32, sender: &AnyHostEnd<E>) {
        self.owners.start(flow, sender, &self.orders);
    }

    fn on_sent(&mut self, endpoint: &mut AnyHostEnd<E>, leaves: Option<Time>) {
        let Some(taken) = self.taken.take() else { return };
        endpoint.on_sent(taken.at, &taken.head);
        match leaves {
            None => drop(self.take_frame(taken.head.slot)),
            Some(leaves) => {
                if let Some(busy) = self.busy.get_mut(taken.host as usize) {
                    *busy = leaves;
                }
            }
        }
    }

    fn on_packet(&mut self, due: Time, packet: &Packet<Head<E::Head>>) {
        let Head::Frame(head) = packet.cargo else { return };
        let Some(mut frame) = self.take_frame(head.slot) else { return };
        if packet.envelope.ecn == Ecn::Ce {
            ip::mark(&mut frame);
        }
        let host = frame::addresses(&frame).and_then(|(_, to)| addresses::host_of(to));
        let Some(host) = host.filter(|&host| (host as usize) < self.busy.len()) else { return };
        frame::set_destination(&mut frame, addresses::mac(host));
        self.written.clear();
        self.written.extend([0; HEADER]);
        self.written.extend(&frame);
        let now = self.lines.now();
        self.counters.lateness.record(now.saturating_since(due));
        if head.payload > 0 {
            self.responses.on_data(packet.envelope.end, &head, now);
        }
        if self.lines.send(host, due, &self.written) {
            self.counters.written += 1;
        } else {
            self.counters.refused += 1;
        }
    }

    fn on_dropped(&mut self, head: &Head<E::Head>) {
        if let Head::Frame(head) = head {
            drop(self.take_frame(head.slot));
        }
    }

    fn on_duplicated(&mut self, head: &mut Head<E::Head>) -> bool {
        let Head::Frame(head) = head else { return true };
        if self.held >= MOST_FRAMES {
            return false;
        }
        let copy = self.frames.copy(head.slot);
        self.held += usize::from(copy.is_some());
        head.slot = copy.unwrap_or(head.slot);
        copy.is_some()
    }
}

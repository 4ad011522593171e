//! Real hosts in a simulated network that runs at the pace of a clock. All hosts together are one machine of the
//! simulator.
//!
//! Ports, pools and middleboxes are simulated and act at exact times. A packet enters the network at the time at which
//! its host sent it. A packet that arrives is written to its host at once, and the delay is recorded. The emulator does
//! not read from a host whose simulated link is busy: the packets wait in the host's network interface, as they would
//! before a real link. If the emulator got no processor for a while, that while is taken out of the network's time: the
//! packets in the network then stand still as well, and do not arrive all at once. Clock and links are parameters
//! ([`PacketIo`]), so that tests and tapes use the emulator without real interfaces.

use crate::offload::{self, HEADER};
use crate::{Head, HostEndpoint, HostPackets, SentPacket, frame};
use crate::{counters::Counters, flow_monitor::Progress};
use crate::{packet_io::PacketIo, response_time::ResponseTimer};
use shallop_core::{Packet, Span, Time};
use shallop_proto::Endpoint;
use shallop_sim::{Outgoing, RealHosts};
use std::{collections::VecDeque, sync::mpsc::Receiver};

/// The most frames in the network at a time: about 100 MB.
const MAX_FRAMES: usize = 65_536;
/// The longest frame of a host with its virtio-net header: 64 KB of IP.
const LONGEST: usize = HEADER + frame::MAX_FRAME;
/// The most frames that are read from hosts in a row, before the network continues.
const BATCH: usize = 16;
/// Frames of a host are not read while its link is busy for longer than this.
const AHEAD: Span = Span::from_us(200);
/// A gap between two looks at the links is a standstill if it is longer than this, unless the emulator is told another
/// limit. So it also bounds the lateness of an emulator that is too slow for its network.
pub const STANDSTILL: Span = Span::from_us(250);

/// A packet of a host that the network has not taken yet.
#[derive(Debug)]
struct Waiting {
    at: Time,
    packet: SentPacket,
}

/// All real hosts of a run, as one machine of the simulator.
#[derive(Debug)]
pub struct Emulator<P> {
    io: P,
    packets: HostPackets,
    /// Packets of hosts, in order of time, until the network takes them.
    waiting: VecDeque<Waiting>,
    /// The packet that the network took last.
    taken: Option<Waiting>,
    /// For each host the time at which its link has sent all packets in its queue.
    busy: Vec<Time>,
    responses: ResponseTimer,
    /// Reports of hosts about QUIC flows, each with the number of the flow.
    pub reports: Option<Receiver<(u32, Progress)>>,
    /// The last report about a QUIC flow's progress.
    progress: Progress,
    /// The time and the length of a frame in `read` that came when events of the network were due. It is classified
    /// after these events, because one of them may be the start of its flow.
    held: Option<(Time, usize)>,
    /// When the hosts' links were polled last, or the intended end of a sleep since then.
    looked: Option<Time>,
    /// The longest gap that is not a standstill.
    pub standstill: Span,
    pub counters: Counters,
    read: Vec<u8>,
    written: Vec<u8>,
}

impl<P: PacketIo> Emulator<P> {
    /// Creates the emulator of this number of hosts.
    pub fn new(io: P, hosts: usize, uses_legacy_classes: bool) -> Self {
        Self {
            io,
            packets: HostPackets::new(uses_legacy_classes),
            waiting: VecDeque::new(),
            taken: None,
            busy: vec![Time::ZERO; hosts],
            responses: ResponseTimer::default(),
            reports: None,
            progress: Progress::default(),
            held: None,
            looked: None,
            standstill: STANDSTILL,
            counters: Counters::default(),
            read: vec![0; LONGEST],
            written: Vec::new(),
        }
    }

    /// Returns the packet input and output, and the counters.
    pub fn into_io(self) -> (P, Counters) {
        (self.io, self.counters)
    }

    /// Classifies the packets of a received frame of `count` bytes and queues them for the network.
    fn accept(&mut self, now: Time, count: usize) {
        let Some(packets) = self.read.get(..count).and_then(offload::packets) else {
            self.counters.malformed += 1;
            return;
        };
        for packet in packets {
            self.counters.read += 1;
            let Some(classified) = self.packets.classify(&packet) else {
                self.counters.strays += 1;
                continue;
            };
            if self.packets.count() >= MAX_FRAMES {
                self.counters.no_slot += 1;
                continue;
            }
            let packet = self.packets.insert(&classified, packet);
            if let Some(time) = self.responses.on_packet(packet.from, &packet.head, now) {
                self.counters.responses.record(time);
            }
            self.waiting.push_back(Waiting { at: now, packet });
        }
    }

    /// The time. A standstill since the last look at the links is taken out of it.
    fn now(&mut self) -> Time {
        let now = self.io.now();
        let Some(looked) = self.looked else { return now };
        let gap = now.saturating_since(looked);
        if gap <= self.standstill {
            return now;
        }
        self.counters.standstills.record(gap);
        self.io.take_back(gap);
        self.io.now().max(looked)
    }

    /// Reads frames of hosts until time `until` or until a batch is full. Returns the time and whether it read any.
    fn read_frames(&mut self, until: Time) -> (Time, bool) {
        let mut now = self.now();
        if let Some(before) = self.looked.replace(now) {
            self.counters.gaps.record(now.saturating_since(before));
        }
        let held = self.held.take();
        let mut any = held.is_some();
        if let Some((at, count)) = held {
            self.accept(at, count);
        }
        for _ in 0..BATCH {
            let busy = &self.busy;
            let limit = now.saturating_add(AHEAD);
            let holds = |host: u32| busy.get(host as usize).is_some_and(|&busy| busy > limit);
            let Some((_, count)) = self.io.receive(&holds, &mut self.read) else { break };
            any = true;
            now = self.now().max(now);
            self.looked = Some(now);
            self.io.entered(now);
            if now >= until {
                self.held = Some((now, count));
                break;
            }
            self.accept(now, count);
        }
        (now, any)
    }

    /// The next time at which a busy host may be read from again.
    fn next_release(&self, now: Time) -> Time {
        let limit = now.saturating_add(AHEAD);
        let held = self.busy.iter().copied().filter(|&busy| busy > limit);
        let ahead = held.map(|busy| busy.saturating_since(limit)).min();
        ahead.map_or(Time::LAST, |ahead| now.saturating_add(ahead))
    }
}

impl<P: PacketIo, E: Endpoint> RealHosts<HostEndpoint<E>> for Emulator<P> {
    const PACED: bool = true;

    fn wait(&mut self, next: Time) -> Time {
        loop {
            let (now, any) = self.read_frames(next);
            if any || now >= next {
                return now;
            }
            let until = next.min(self.next_release(now));
            self.io.sleep(until);
            // The next gap counts from the intended end of the sleep, so that an overlong sleep is a gap.
            self.looked = Some(until);
        }
    }

    fn next_report(&mut self) -> Option<u32> {
        let (flow, progress) = self.reports.as_ref()?.try_recv().ok()?;
        self.progress = progress;
        Some(flow)
    }

    fn on_report(&mut self, endpoint: &mut HostEndpoint<E>) {
        if let Some(monitor) = endpoint.monitor() {
            monitor.on_progress(self.progress);
        }
    }

    fn wakeup(&self) -> Option<Time> {
        self.waiting.front().map(|waiting| waiting.at)
    }

    fn run(&mut self, now: Time, _horizon: Time) -> Option<Outgoing<Head<E::Head>>> {
        if self.waiting.front()?.at > now {
            return None;
        }
        let waiting = self.waiting.pop_front()?;
        let (from, out) = (waiting.packet.from, self.packets.outgoing(&waiting.packet));
        self.taken = Some(waiting);
        Some(Outgoing { at: now, from, out })
    }

    fn on_start(&mut self, flow: u32, sender: &HostEndpoint<E>) {
        self.packets.start(flow, sender);
    }

    fn on_sent(&mut self, endpoint: &mut HostEndpoint<E>, leaves: Option<Time>) {
        let Some(Waiting { at, packet }) = self.taken.take() else { return };
        if let Some(monitor) = endpoint.monitor() {
            monitor.on_sent(at, &packet.head);
        }
        let Some(leaves) = leaves else {
            return self.packets.drop::<E::Head>(&Head::Frame(packet.head));
        };
        if let Some(busy) = self.busy.get_mut(packet.host as usize) {
            *busy = leaves;
        }
    }

    fn on_packet(&mut self, due: Time, packet: &Packet<Head<E::Head>>) {
        let Some(arrived) = self.packets.deliver(packet, self.busy.len()) else { return };
        self.written.clear();
        self.written.extend([0; HEADER]);
        self.written.extend(&arrived.frame);
        let now = self.now();
        self.counters.lateness.record(now.saturating_since(due));
        if arrived.head.payload > 0 {
            self.responses.on_data(packet.envelope.end, &arrived.head, now);
        }
        if self.io.send(arrived.host, due, &self.written) {
            self.counters.written += 1;
        } else {
            self.counters.refused += 1;
        }
    }

    fn on_dropped(&mut self, head: &Head<E::Head>) {
        self.packets.drop(head);
    }

    fn on_duplicated(&mut self, head: &mut Head<E::Head>) -> bool {
        let is_full = self.packets.count() >= MAX_FRAMES;
        (!is_full || matches!(head, Head::Simulated(_))) && self.packets.duplicate(head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tape::{Recorder, Tape};
    use crate::test_frames::tcp;

    /// A host that sends a frame while the machine stands still for 10 ms.
    struct Stalled {
        now: Time,
        taken_back: Span,
        has_frame: bool,
    }

    impl PacketIo for Stalled {
        fn now(&mut self) -> Time {
            Time::after_start(self.now.since_start().saturating_sub(self.taken_back))
        }
        fn take_back(&mut self, time: Span) {
            self.taken_back += time;
        }
        fn receive(&mut self, _: &dyn Fn(u32) -> bool, frame: &mut [u8]) -> Option<(u32, usize)> {
            if !std::mem::take(&mut self.has_frame) {
                return None;
            }
            self.now += Span::from_ms(10);
            let whole = [&[0; HEADER][..], &tcp(4, 100)].concat();
            frame[..whole.len()].copy_from_slice(&whole);
            Some((0, whole.len()))
        }
        fn send(&mut self, _: u32, _: Time, _: &[u8]) -> bool {
            true
        }
        fn sleep(&mut self, _: Time) {}
    }

    #[test]
    fn a_tape_has_the_time_at_which_a_frame_entered_the_network_after_a_standstill() {
        let now = Time::after_start(Span::from_ms(3));
        let host = Stalled { now, taken_back: Span::ZERO, has_frame: true };
        let mut emulator = Emulator::new(Recorder::new(host, Some(Tape::default())), 2, false);
        assert_eq!(emulator.read_frames(Time::LAST), (now, true));
        assert_eq!((emulator.counters.standstills.count(), emulator.counters.read), (1, 1));
        let (io, _) = emulator.into_io();
        assert_eq!(io.tape.map(|tape| tape.records[0].at), Some(now));
    }

    #[test]
    fn a_frame_that_comes_when_an_event_is_due_is_classified_after_the_event() {
        let now = Time::after_start(Span::from_ms(3));
        let host = Stalled { now, taken_back: Span::ZERO, has_frame: true };
        let mut emulator = Emulator::new(host, 2, false);
        assert_eq!(emulator.read_frames(now), (now, true));
        assert_eq!(emulator.counters.read, 0, "the event may start the flow of the frame");
        assert_eq!(emulator.read_frames(Time::LAST), (now, true));
        assert_eq!(emulator.counters.read, 1);
    }
}

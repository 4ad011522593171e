//! The probe that counts packets and bytes during a run; `outcome.rs` computes the results from its counts.

use crate::{capture::Capture, drops::DropCounts, flow_records::FlowRecords, load_phase::LoadPhase, rtts::Rtts};
use shallop_core::{Bytes, Class, DropCause, Ecn, End, Envelope, Facts, Probe, QueueId, Span, Time};
use shallop_plan::{ResolvedRun, sources};
use shallop_proto::wire;
use shallop_switch::Occupancy;

/// Counts of one group of flows.
#[derive(Clone, Debug, Default)]
pub struct GroupCounts {
    /// Number of flows that have started.
    pub started: u64,
    /// IP bytes of data packets that arrived.
    pub ip_bytes: u64,
    /// Number of data packets dropped, or lost on a wire.
    pub lost: u64,
    /// Round-trip times that the senders of the group measured.
    pub rtts: Rtts,
}

/// All counts of a run, taken by its probe.
pub struct Measurements {
    /// Records of recent flows and of flows in progress.
    pub flows: FlowRecords,
    /// Counts of each group, in the order of the scenario.
    pub groups: Vec<GroupCounts>,
    /// Bytes on the wire of data packets that arrived.
    pub wire_bytes: u64,
    /// Occupancy of each measured queue over time.
    pub queues: Vec<(QueueId, Occupancy)>,
    /// Index in `queues` of the first queue of each port; `NONE` for ports that are not measured.
    first: Vec<u32>,
    /// Numbers of packets dropped or lost, by port, class and cause.
    pub drops: DropCounts,
    /// Number of packets that were marked (CE).
    pub marks: u64,
    /// Number of packets that each port marked (CE); the index is the port's number.
    pub marks_at: Vec<u64>,
    /// Number of counted flows whose receiver has all data.
    pub complete: usize,
    /// Number of flows of each group that start before the end of the run.
    pub starting: Vec<usize>,
    /// Number of counted flows that start before the end of the run, which ends early once these are complete; `None`
    /// if some flows never end.
    pub counted: Option<usize>,
    /// Whether all counted flows are complete.
    over: bool,
    /// Times of first and last flow starts, and the bytes that arrived between them.
    pub load_phase: LoadPhase,
    /// Number of data packets that arrived.
    pub data: u64,
    /// Number of packets of the metered class (credits or emulation packets) that arrived.
    pub metered: u64,
    metered_class: Option<Class>,
    /// Packet capture, if the scenario captures links.
    pub capture: Option<Capture>,
}

const NONE: u32 = u32::MAX;

impl Measurements {
    /// A probe for this run. It records the queue lengths of each port for which `measures` returns true.
    #[must_use]
    pub fn new(setup: &ResolvedRun<'_>, measures: impl Fn(u32) -> bool) -> Self {
        let ResolvedRun { layout, plan, .. } = setup;
        let (ports, queues) = (layout.ports.len(), layout.queues.len());
        let starting = sources::starting_by_group(setup);
        let counted = plan.counted_flows(&starting);
        let mut measurements = Self {
            flows: FlowRecords::default(),
            groups: vec![GroupCounts::default(); plan.groups.len()],
            wire_bytes: 0,
            queues: Vec::new(),
            first: vec![NONE; ports],
            drops: DropCounts::new(ports),
            marks: 0,
            marks_at: vec![0; ports],
            complete: 0,
            starting,
            counted,
            over: false,
            load_phase: LoadPhase::new(counted),
            data: 0,
            metered: 0,
            metered_class: layout.metered,
            capture: None,
        };
        for port in (0..ports as u32).filter(|&port| measures(port)) {
            measurements.first[port as usize] = measurements.queues.len() as u32;
            for queue in 0..queues as u8 {
                measurements.queues.push((QueueId { port, queue }, Occupancy::default()));
            }
        }
        measurements
    }

    /// Extends the record of every queue's occupancy to `now`.
    pub fn advance_to(&mut self, now: Time) {
        for (_, queue) in &mut self.queues {
            queue.advance_to(now);
        }
    }

    /// The probe of a part of the network, which never says that the run is over.
    #[must_use]
    pub(crate) fn for_part(self) -> Self {
        let load_phase = LoadPhase::of_part();
        Self { counted: None, load_phase, ..self }
    }

    /// Adds up the counts of all parts of the network that are read during a run. Records of queues are left out: each
    /// belongs to one part.
    pub(crate) fn gather<'a>(&mut self, parts: impl Iterator<Item = &'a Self> + Clone) {
        let sum = |of: fn(&Self) -> u64| parts.clone().map(of).sum();
        (self.data, self.wire_bytes) = (sum(|it| it.data), sum(|it| it.wire_bytes));
        (self.metered, self.marks) = (sum(|it| it.metered), sum(|it| it.marks));
        self.drops = DropCounts::new(self.marks_at.len());
        for (number, group) in self.groups.iter_mut().enumerate() {
            let of_group = || parts.clone().map(|it| &it.groups[number]);
            (group.ip_bytes, group.lost) = (of_group().map(|it| it.ip_bytes).sum(), of_group().map(|it| it.lost).sum());
            // Each part starts all flows.
            group.started = of_group().map(|it| it.started).max().unwrap_or(0);
        }
        for (number, part) in parts.enumerate() {
            self.drops.add_all(&part.drops);
            if number == 0 {
                self.flows.clone_from(&part.flows);
            } else {
                self.flows.add(&part.flows);
            }
        }
    }

    /// As [`Self::gather`], also for the counts that are read only at the end of the run.
    pub(crate) fn gather_all<'a>(&mut self, parts: impl Iterator<Item = &'a Self> + Clone) {
        self.gather(parts.clone());
        self.complete = parts.clone().map(|it| it.complete).sum();
        for part in parts.clone() {
            for (sum, marks) in self.marks_at.iter_mut().zip(&part.marks_at) {
                *sum += marks;
            }
            for (sum, group) in self.groups.iter_mut().zip(&part.groups) {
                sum.rtts.add(&group.rtts);
            }
        }
        self.load_phase.gather(parts.map(|it| &it.load_phase));
    }

    /// Round-trip times measured by the senders of all groups.
    pub fn rtts(&self) -> Rtts {
        let mut all = Rtts::default();
        for group in &self.groups {
            all.add(&group.rtts);
        }
        all
    }

    /// IP bytes of data packets that arrived, over all groups.
    pub fn ip_bytes(&self) -> u64 {
        self.groups.iter().map(|group| group.ip_bytes).sum()
    }

    fn on_data(&mut self, packet: Envelope) {
        self.data += 1;
        self.wire_bytes += u64::from(packet.size);
        let Some(flow) = self.flows.get_mut(packet.end.flow()) else { return };
        let bytes = wire::ip_bytes(packet.size);
        flow.ip_bytes += bytes;
        if let Some(group) = self.groups.get_mut(flow.facts.group as usize) {
            group.ip_bytes += bytes;
        }
    }

    #[cold]
    fn capture_packet(&mut self, now: Time, port: u32, packet: Envelope) {
        let Some(capture) = &mut self.capture else { return };
        let Some(flow) = self.flows.get(packet.end.flow()) else { return };
        let Facts { from, to, .. } = flow.facts;
        let addresses = |end: End| if end.is_sender() { (to, from) } else { (from, to) };
        capture.send(now, port, &packet, addresses);
    }

    fn on_loss(&mut self, packet: Envelope) {
        if !packet.class.is_payload() {
            return;
        }
        let Some(flow) = self.flows.get_mut(packet.end.flow()) else { return };
        if let Some(group) = self.groups.get_mut(flow.facts.group as usize) {
            group.lost += 1;
        }
    }
}

impl Probe for Measurements {
    #[inline]
    fn on_send(&mut self, now: Time, port: u32, packet: &Envelope) {
        if self.capture.is_some() {
            self.capture_packet(now, port, *packet);
        }
    }

    fn on_start(&mut self, now: Time, _flow: u32, facts: &Facts) {
        self.flows.start(now, facts);
        self.load_phase.on_start(now, self.ip_bytes());
        if let Some(group) = self.groups.get_mut(facts.group as usize) {
            group.started += 1;
        }
    }

    #[inline]
    fn on_queue(&mut self, now: Time, at: QueueId, held: Bytes) {
        let first = self.first[at.port as usize];
        if first != NONE {
            self.queues[first as usize + usize::from(at.queue)].1.set(now, held);
        }
    }

    fn on_drop(&mut self, _now: Time, at: QueueId, packet: &Envelope, cause: DropCause) {
        self.drops.add(at.port, packet.class, cause, 1);
        self.on_loss(*packet);
    }

    fn on_mark(&mut self, _now: Time, at: QueueId, packet: &Envelope) {
        debug_assert!(packet.ecn != Ecn::NotEct, "only ECN-capable packets are marked");
        self.marks += 1;
        self.marks_at[at.port as usize] += 1;
    }

    fn on_deliver(&mut self, _now: Time, packet: &Envelope) {
        self.metered += u64::from(Some(packet.class) == self.metered_class);
        if packet.class.is_payload() {
            self.on_data(*packet);
        }
    }

    fn on_rtt(&mut self, _now: Time, end: End, rtt: Span) {
        // The only group needs no look-up.
        let only = self.groups.len() == 1;
        let index = if only { Some(0) } else { self.flows.get(end.flow()).map(|flow| flow.facts.group) };
        if let Some(group) = index.and_then(|index| self.groups.get_mut(index as usize)) {
            group.rtts.record(rtt);
        }
    }

    fn on_complete(&mut self, now: Time, end: End) {
        if let Some(flow) = self.flows.get_mut(end.flow()) {
            // A message with a size is complete when its receiver has all of it, and one that its application ends
            // (`lasts`) when its sender has the last acknowledgement.
            if end.is_sender() == flow.facts.size.is_some() {
                return;
            }
            flow.complete = Some(now);
            if flow.facts.counted {
                self.complete += 1;
                self.load_phase.on_complete(now, self.complete);
                self.over = self.counted == Some(self.complete);
            }
        }
    }

    fn on_drops(&mut self, at: QueueId, class: Class, cause: DropCause, count: u64) {
        self.drops.add(at.port, class, cause, count);
    }

    fn allows_bulk(&self) -> bool {
        self.capture.is_none()
    }

    fn watches(&self, port: u32) -> bool {
        self.first[port as usize] != NONE
    }

    fn is_over(&self) -> bool {
        self.over
    }
}

//! The receiver of TCP: reassembly, and when to acknowledge. The application reads data as soon as it is in order, so
//! only data out of order takes room in the receive buffer. State: RCV.NXT, the ranges after it, and acknowledgements
//! to send. Units: bytes. Sources: RFC 9293, 3.8.6; RFC 5681, 4.2 (delayed acknowledgements); RFC 2018 and 2883 (SACK);
//! RFC 7323, 4.3 (timestamps); RFC 8257, 3.2.

use super::config::{Config, DelayedAcks, SackPolicy};
use super::echo::Echo;
use super::head::{Flags, Head, SACK_BLOCKS, SackBlock, scale_for};
use super::timestamp::{Timestamp, TsRecent};
use super::{receive_window::ReceiveWindow, sack_compression::SackCompression};
use crate::endpoint::{Endpoint, Out};
use crate::wire;
use crate::{arrived::Arrived, counters::EndpointCounters};
use shallop_control::Marking;
use shallop_core::{Class, Ecn, Span, Time};
use std::{collections::VecDeque, ops::Range};

/// The most acknowledgements that wait for the host's link in stacks other than Linux. A further one replaces the last.
const MAX_PENDING_ACKS: u16 = 64;
/// The most packets that wait for a card without `fq` (kernel: `DEFAULT_TX_QUEUE_LEN`).
const TX_QUEUE: u16 = 1_000;
/// The number of SACK ranges that Linux tracks (kernel: `TCP_NUM_SACKS`). A header has room for three of them.
const TRACKED: usize = SACK_BLOCKS + 1;
/// The number of ranges that an acknowledgement is expected to report (kernel: `TCP_SACK_BLOCKS_EXPECTED`).
const EXPECTED: usize = 2;

#[derive(Clone, Debug)]
struct PendingAck {
    ack: u64,
    /// Bytes that arrived for a second time with the segment that caused the acknowledgement; may be empty.
    duplicate: Range<u64>,
    tsecr: Timestamp,
    ece: bool,
    /// Linux: the SACK ranges at the time of this acknowledgement. In other stacks only the last acknowledgement of a
    /// batch has ranges, which are read when it leaves.
    blocks: [Range<u64>; SACK_BLOCKS],
}

#[derive(Clone, Debug)]
pub struct Receiver {
    delayed_acks: DelayedAcks,
    sack: SackPolicy,
    ecn: Ecn,
    pub(super) window: ReceiveWindow,
    compression: SackCompression,
    window_scale: u8,
    /// Payload of a full segment in bytes. Larger (merged) segments count as two, so that they are acknowledged at once
    /// (kernel: `__tcp_ack_snd_check`).
    segment: u16,
    /// Bytes of TCP options in each acknowledgement.
    option_bytes: u8,
    /// Offset of the end of the message; `u64::MAX` for a message without end.
    end: u64,
    arrived: Arrived,
    /// The ranges after RCV.NXT that grew last, the latest first. RCV.NXT may have passed some of them.
    latest: [Range<u64>; TRACKED],
    pub(super) echo: Echo,
    pending_acks: VecDeque<PendingAck>,
    /// The most acknowledgements that wait for the host's link. Linux drops a further one (kernel: `fq_enqueue`).
    ack_limit: u16,
    syn_ack_pending: bool,
    /// Segments of data that arrived since the last acknowledgement was sent, in order or not. A packet of GRO counts
    /// as the segments that it merges.
    unacknowledged: u32,
    /// The number of segments, at the start of the flow, that will still be acknowledged at once.
    pub(super) quick_acks: u32,
    /// TS.Recent, the timestamp to echo; `None` without timestamps.
    ts_recent: Option<TsRecent>,
    last_ack_sent: u64,
    /// When the delayed acknowledgement must be sent; [`Time::LAST`] if there is none.
    ack_deadline: Time,
    /// The deadline that the driver has: `ack_deadline` or earlier, so that it does not change with every segment.
    armed: Time,
    received: u64,
    duplicates: u64,
}

impl Receiver {
    /// Makes the receiver of a message of `size` bytes; `None` is a message without end.
    pub fn new(config: &Config, size: Option<u64>) -> Self {
        let capable = config.ecn.ecn == Marking::Exact;
        Self {
            delayed_acks: config.acks,
            sack: config.sack_policy(),
            ecn: config.ecn.codepoint(capable),
            window: ReceiveWindow::new(config),
            compression: SackCompression::new(config.kernel_habits),
            window_scale: scale_for(config.usable_receive_buffer()),
            segment: config.segment,
            option_bytes: config.option_bytes,
            end: size.unwrap_or(u64::MAX),
            arrived: Arrived::default(),
            latest: [const { 0..0 }; TRACKED],
            echo: Echo::new(config.ecn.echo()),
            pending_acks: VecDeque::new(),
            ack_limit: if config.kernel_habits { config.fq_flow_limit.min(TX_QUEUE) } else { MAX_PENDING_ACKS },
            syn_ack_pending: false,
            unacknowledged: 0,
            quick_acks: config.acks.ack_quick,
            ts_recent: config.spurious_detection().timestamps.then(TsRecent::default),
            last_ack_sent: 0,
            ack_deadline: Time::LAST,
            armed: Time::LAST,
            received: 0,
            duplicates: 0,
        }
    }

    pub fn rcv_nxt(&self) -> u64 {
        self.arrived.next()
    }

    fn on_data(&mut self, now: Time, head: &Head, ecn: Ecn) {
        let Some(end) = head.seq.checked_add(u64::from(head.len)) else { return };
        if end > self.end {
            return;
        }
        if let Some(ts_recent) = &mut self.ts_recent {
            ts_recent.on_segment(now, head.timestamp, head.seq, self.last_ack_sent);
        }
        if self.echo.on_data(ecn, head.flags.has(Flags::CWR)) {
            if self.unacknowledged > 0 {
                self.ack_now(0..0);
            }
            self.echo.toggle();
        }
        if end > self.window.right_edge.max(self.rcv_nxt() + self.window.buffer) {
            return self.ack_now(0..0);
        }
        let (rcv_nxt, had_gap, waited) = (self.rcv_nxt(), self.arrived.has_gap(), self.compression.waiting);
        let (new, duplicate) = self.take(head.seq..end);
        self.received += new;
        self.duplicates += u64::from(new == 0);
        let kept = self.arrived.out_of_order();
        if self.window.on_data(now, head, self.rcv_nxt(), kept) {
            self.quick_acks |= 1;
        }
        if new > 0 && self.compression.waiting < waited {
            // The acknowledgement that left before this segment's range is its own (kernel: `tcp_ack_snd_check`).
            return;
        }
        self.unacknowledged += if head.len > self.segment { 2 } else { 1 };
        let in_order = self.rcv_nxt() > rcv_nxt && !had_gap;
        let waits = self.rcv_nxt() < self.end && !head.flags.has(Flags::PSH);
        if self.quick_acks > 0 && (in_order || self.compression.on) {
            self.quick_acks -= 1;
        } else if in_order && self.unacknowledged < self.delayed_acks.ack_every && waits {
            return self.delay_ack(now, self.delayed_acks.ack_delay);
        } else if new > 0 && duplicate.is_empty() && self.compresses(now) {
            return;
        }
        // The last byte is acknowledged at once, as the FIN would be that comes with it; so is a segment with PSH, as
        // the application has read everything before it (kernel: `tcp_measure_rcv_mss`, `tcp_cleanup_rbuf`).
        self.ack_now(duplicate);
        if self.window.is_half_full(kept) {
            self.quick_acks = 0;
        }
    }

    /// Whether SACK compression delays the acknowledgement of data after a gap.
    fn compresses(&mut self, now: Time) -> bool {
        let rcv_nxt = self.rcv_nxt();
        if !self.arrived.has_gap() || rcv_nxt > self.last_ack_sent + u64::from(self.segment) {
            return false;
        }
        match self.compression.wait(rcv_nxt, self.window.round_trip()) {
            Some(wait) => self.delay_ack(now, wait),
            None => return false,
        }
        true
    }

    /// Stores payload. Returns the number of new bytes, and the range of duplicate bytes: all of them, or the part
    /// before RCV.NXT.
    /// Segments after RCV.NXT that are new only in part do not occur, as senders keep segment boundaries.
    fn take(&mut self, body: Range<u64>) -> (u64, Range<u64>) {
        let (rcv_nxt, whole) = (self.rcv_nxt(), body.clone());
        let (new, around) = self.arrived.add(body);
        if around.start > 0 && (new > 0 || self.sack == SackPolicy::SackAndDsack) {
            if self.compression.on {
                self.note_touched(whole.clone());
            } else {
                self.note_latest(around);
            }
        }
        let duplicate = if new == 0 { whole } else { whole.start..rcv_nxt.max(whole.start) };
        if self.is_complete() {
            // Frees the memory for gaps, which would otherwise stay until the end of the run.
            self.arrived.shrink();
        }
        (new, duplicate)
    }

    /// Records a segment after a gap as Linux does. The first range that the segment touches grows and becomes the
    /// latest. A segment that touches none starts a new range, even within data that arrived long ago. If two ranges
    /// are more recent than the one that grows, a delayed acknowledgement leaves first, so that it still reports them
    /// (kernel: `tcp_sack_new_ofo_skb`, `TCP_SACK_BLOCKS_EXPECTED`, `tcp_sack_maybe_coalesce`).
    fn note_touched(&mut self, mut segment: Range<u64>) {
        let rcv_nxt = self.rcv_nxt();
        self.latest.iter_mut().filter(|old| old.start <= rcv_nxt).for_each(|old| *old = 0..0);
        let touches = |old: &Range<u64>, new: &Range<u64>| old.start <= new.end && new.start <= old.end;
        let mut known = self.latest.iter().filter(|old| !old.is_empty());
        let later = known.by_ref().take_while(|old| !touches(old, &segment)).count();
        if later >= EXPECTED && self.compression.waiting > 0 {
            self.ack_now(0..0);
        }
        let first = self.latest.iter().position(|old| touches(old, &segment) && !old.is_empty());
        // Once it has grown, the segment may touch ranges before the first one, too.
        let rest = 0..if first.is_some() { TRACKED } else { 0 };
        for at in first.into_iter().chain(rest) {
            let old = &mut self.latest[at];
            if !old.is_empty() && touches(old, &segment) {
                segment = segment.start.min(old.start)..segment.end.max(old.end);
                *old = 0..0;
            }
        }
        self.push_latest(segment, TRACKED);
    }

    /// Records a range that grew, which the next acknowledgement reports first (RFC 2018, 4). It replaces ranges that
    /// it contains.
    fn note_latest(&mut self, range: Range<u64>) {
        for old in &mut self.latest {
            if range.start <= old.start && old.end <= range.end {
                *old = 0..0;
            }
        }
        self.push_latest(range, SACK_BLOCKS);
    }

    /// Makes a range the latest of `tracked`.
    fn push_latest(&mut self, range: Range<u64>, tracked: usize) {
        let free = self.latest[..tracked].iter().position(Range::is_empty).unwrap_or(tracked - 1);
        self.latest[..=free].rotate_right(1);
        self.latest[0] = range;
    }

    /// Queues an acknowledgement of all data. `duplicate` are the bytes that arrived for a second time.
    fn ack_now(&mut self, duplicate: Range<u64>) {
        let (ack, ece) = (self.rcv_nxt(), self.echo.ece);
        let tsecr = self.ts_recent.map_or(Timestamp(0), |ts_recent| ts_recent.tsecr());
        let mut blocks = [const { 0..0 }; SACK_BLOCKS];
        if self.compression.on && self.sack != SackPolicy::Off {
            for (block, range) in blocks.iter_mut().zip(self.latest.iter().filter(|range| range.start > ack)) {
                *block = range.clone();
            }
        }
        let new = PendingAck { ack, duplicate, tsecr, ece, blocks };
        self.last_ack_sent = ack;
        (self.unacknowledged, self.ack_deadline) = (0, Time::LAST);
        self.compression.waiting = 0;
        let full = self.pending_acks.len() >= usize::from(self.ack_limit);
        match self.pending_acks.back_mut() {
            Some(_) if self.compression.on && full => {}
            // A waiting acknowledgement is brought up to date, unless it carries information of its own: another ECE, a
            // DSACK or, without SACK, being a duplicate.
            Some(last)
                if !self.compression.on
                    && (full
                        || (last.ece == new.ece
                            && last.duplicate.is_empty()
                            && (self.sack != SackPolicy::Off || last.ack < new.ack))) =>
            {
                *last = new;
            }
            _ => self.pending_acks.push_back(new),
        }
    }

    /// Sets the deadline of the delayed acknowledgement to `wait` from now, unless it is earlier.
    fn delay_ack(&mut self, now: Time, wait: Span) {
        self.ack_deadline = self.ack_deadline.min(now.saturating_add(wait));
        self.armed = self.armed.min(self.ack_deadline);
    }

    /// Makes the header of an acknowledgement. `last` tells that no further acknowledgement waits.
    fn ack_head(&self, now: Time, pending: &PendingAck, last: bool) -> Head {
        let tsval = if self.ts_recent.is_some() { Timestamp::at(now) } else { Timestamp(0) };
        let mut head = Head {
            seq: tsval.0.into(),
            ack: pending.ack,
            timestamp: pending.tsecr,
            flags: Flags::ACK | Flags::ECE.when(pending.ece),
            scale: self.window_scale,
            ..Head::default()
        };
        head.advertise(self.window.right_edge - pending.ack);
        let mut used = 0;
        if self.sack == SackPolicy::SackAndDsack && !pending.duplicate.is_empty() {
            head.blocks[0] = SackBlock::for_range(&pending.duplicate, head.ack);
            used = 1;
        }
        // Otherwise only the last acknowledgement has blocks: an earlier one would report what arrived after its own.
        if self.compression.on {
            let known = pending.blocks.iter().filter(|range| !range.is_empty());
            for (block, range) in head.blocks[used..].iter_mut().zip(known) {
                *block = SackBlock::for_range(range, head.ack);
            }
        } else if last && self.sack != SackPolicy::Off && self.arrived.has_gap() {
            self.fill_blocks(&mut head.blocks[used..], head.ack);
        }
        head
    }

    fn fill_blocks(&self, blocks: &mut [SackBlock], ack: u64) {
        let above = |range: &&Range<u64>| range.start > self.rcv_nxt() && !range.is_empty();
        for (block, range) in blocks.iter_mut().zip(self.latest.iter().filter(above)) {
            *block = SackBlock::for_range(range, ack);
        }
    }

    fn syn_ack(&mut self, now: Time) -> Out<Head> {
        self.syn_ack_pending = false;
        self.compression.answered_at = Some(now);
        let (flags, scale) = (Flags::SYN | Flags::ACK, self.window_scale);
        let mut head = Head { flags, scale, ack: self.rcv_nxt(), ..Head::default() };
        head.advertise(self.window.right_edge - self.rcv_nxt());
        let (body, size) = (0..0, wire::frame(wire::HEADERS));
        Out { head, body, size, class: Class::Control, ecn: self.ecn }
    }
}

impl Endpoint for Receiver {
    type Head = Head;

    fn on_packet(&mut self, now: Time, head: &Head, ecn: Ecn) {
        if head.flags.has(Flags::SYN) {
            self.syn_ack_pending = true;
        } else if head.len > 0 {
            let rcv_nxt = self.rcv_nxt();
            self.compression.on_data(now);
            self.on_data(now, head, ecn);
            if self.rcv_nxt() > rcv_nxt {
                self.window.on_read(now, self.rcv_nxt());
            }
        } else {
            // A zero-window probe, which is always acknowledged.
            self.ack_now(0..0);
        }
    }

    fn on_timer(&mut self, now: Time) {
        if self.ack_deadline <= now {
            self.ack_now(0..0);
        }
        self.armed = self.ack_deadline;
    }

    fn ready(&self, _now: Time) -> bool {
        self.syn_ack_pending || !self.pending_acks.is_empty()
    }

    fn poll(&mut self, now: Time) -> Option<Out<Head>> {
        if self.syn_ack_pending {
            return Some(self.syn_ack(now));
        }
        let pending = self.pending_acks.pop_front()?;
        if self.pending_acks.is_empty() {
            // Begins again with the first slot, which is in the processor's cache.
            self.pending_acks.clear();
        }
        let head = self.ack_head(now, &pending, self.pending_acks.is_empty());
        let frame = wire::frame(wire::HEADERS + u64::from(self.option_bytes));
        let size = self.delayed_acks.ack_size.map_or(frame, |size| size.get() as u16);
        let body = 0..0;
        Some(Out { head, body, size, class: Class::Ack, ecn: self.ecn })
    }

    fn wakeup(&self) -> Option<Time> {
        (self.armed < Time::LAST).then_some(self.armed)
    }

    fn is_complete(&self) -> bool {
        self.rcv_nxt() >= self.end
    }

    fn counters(&self) -> EndpointCounters {
        EndpointCounters { received: self.received, duplicates: self.duplicates, ..EndpointCounters::default() }
    }

    fn continue_connection(&mut self, before: &Self) {
        self.reuse(before);
    }
}

//! The sender of TCP: which segment is sent next, and when. `ack.rs` processes acknowledgements, `timers.rs` timers.
//! Units: bytes. Sources: RFC 9293, 3.8; RFC 6675, 4 (`NextSeg`); RFC 8985, 7.3.
use super::config::{Config, IdleRestart};
use super::connection::{Connection, Pending, State};
use super::ecn::{EcnState, PacketKind};
use super::head::{Flags, Head};
use super::recovery::{Phase, Recovery};
use super::{delivery_rate::DeliveryRate, detection::Detector};
use super::{imposed::Imposed, limits::Limits, offload::Offload, pacer::Pacer};
use super::{scoreboard::Scoreboard, timers::Timers, undo::Undo};
use crate::counters::EndpointCounters;
use crate::endpoint::{Endpoint, Out};
use crate::{flow_state::FlowState, rtt::Rtt, wire};
use shallop_control::{Loss, Window};
use shallop_core::{Bytes, Class, Ecn, Span, Time};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NextSegment {
    Syn,
    WindowProbe,
    TailLossProbe,
    /// A retransmission of the segment with this index.
    Retransmission(u64),
    New,
}

/// Counts of segments sent (with retransmissions), of retransmissions, and of retransmission timeouts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) sent: u64,
    pub(super) retransmits: u64,
    pub(super) timeouts: u32,
}

const _: () = assert!(size_of::<Sender<()>>() <= 640, "there may be 100,000 of them");

#[derive(Clone, Debug)]
pub struct Sender<W> {
    pub(super) controller: W,
    pub scoreboard: Scoreboard,
    pub(super) delivery_rate: DeliveryRate,
    pub(super) rtt: Rtt,
    /// The round-trip time that the last packet measured; `None` if it measured none.
    pub(super) rtt_sample: Option<Span>,
    pub(super) connection: Connection,
    pub(super) recovery: Recovery,
    pub(super) undo: Undo,
    pub(super) limits: Limits,
    pub(super) pacer: Pacer,
    pub(super) offload: Offload,
    pub(super) timers: Timers,
    pub(super) ecn: EcnState,
    /// Limits that the host or the application imposes; `None` for most flows.
    pub(super) imposed: Option<Box<Imposed>>,
    pub(super) counts: Counts,
}

impl<W: Window> Sender<W> {
    /// Makes the sender of a message of `size` bytes; `None` is a message without end.
    pub fn new(config: &Config, controller: W, size: Option<u64>) -> Self {
        let buffer = config.usable_receive_buffer();
        Self {
            scoreboard: Scoreboard::new(u64::from(config.segment), size),
            delivery_rate: DeliveryRate::default(),
            rtt: Rtt::new(&config.timeout),
            rtt_sample: None,
            connection: Connection::new(config, buffer),
            recovery: Recovery::new(config),
            undo: Undo::new(config.spurious_detection()),
            limits: Limits::new(controller.window().get(), config.first_window()),
            pacer: Pacer::new(controller.pacing().into_iter().chain(config.max_pacing_rate).min()),
            offload: Offload::new(config),
            timers: Timers::new(config.max_ack_delay()),
            ecn: EcnState::new(config.ecn),
            imposed: Imposed::new(config),
            counts: Counts::default(),
            controller,
        }
    }

    pub fn controller(&self) -> &W {
        &self.controller
    }

    pub fn rtt(&self) -> &Rtt {
        &self.rtt
    }

    /// The congestion window in effect: the controller's or, in recovery, the window of proportional rate reduction.
    pub fn cwnd(&self) -> Bytes {
        Bytes::new(self.limits.cwnd)
    }

    /// The controller's facts about a loss or a mark. `in_flight` is the number of bytes in flight before it.
    pub(super) fn congestion(&self, now: Time, in_flight: u64) -> Loss {
        let in_cwr = self.scoreboard.snd_una < self.ecn.reduced_until;
        let prior = self.connection.prior_bytes;
        let snd_una = prior + self.scoreboard.snd_una;
        let snd_nxt = prior + self.scoreboard.snd_nxt;
        Loss { now, prior_in_flight: Bytes::new(in_flight), in_cwr, snd_una, snd_nxt }
    }

    /// Updates the window, from the controller or from proportional rate reduction, and the pacing rate.
    pub(super) fn update_limits(&mut self) {
        self.limits.cwnd = match &self.recovery.prr {
            Some(prr) => prr.cwnd(),
            None => self.controller.window().get(),
        };
        self.pacer.set_rate(self.paced_rate());
        self.update_offload();
        self.note_cwnd_limited();
    }

    fn note_cwnd_limited(&mut self) {
        let (pipe, wanted) = (self.scoreboard.pipe() + self.planned_bytes(), self.wanted_room());
        self.limits.note_cwnd_limited(pipe, wanted, self.scoreboard.snd_nxt);
    }

    fn has_room(&self, len: u64) -> bool {
        self.limits.has_room(self.scoreboard.pipe(), len)
    }

    /// Whether there is new data to send that the receiver's window allows.
    pub(super) fn has_new_data(&self) -> bool {
        let new = self.scoreboard.unsent();
        !new.is_empty() && new.end <= self.limits.right_edge
    }

    /// The segment that is sent next, as soon as the pacer allows it: SYN and probes before data, then `NextSeg` of RFC
    /// 6675.
    fn next_segment(&self) -> Option<NextSegment> {
        match (self.connection.state, self.connection.pending) {
            (State::Closed, _) => return None,
            (_, Pending::Syn) => return Some(NextSegment::Syn),
            (State::SynSent, _) => return None,
            (_, Pending::WindowProbe) => return Some(NextSegment::WindowProbe),
            _ if self.offload.is_in_burst() || self.offload.planned_due().is_some() => {
                return Some(NextSegment::New);
            }
            _ if self.recovery.tlp.pending => return Some(NextSegment::TailLossProbe),
            _ => {}
        }
        let hold = self.undo.hold_retransmissions;
        if let Some(lost) = self.scoreboard.first_lost().filter(|_| !hold) {
            let body = self.scoreboard.body(lost);
            let room = self.has_room(body.end - body.start);
            return room.then_some(NextSegment::Retransmission(lost));
        }
        let new = self.scoreboard.unsent();
        let allowed = new.end <= self.limits.right_edge || self.connection.pending == Pending::Override;
        if !new.is_empty() && allowed {
            return self.has_room(new.end - new.start).then_some(NextSegment::New);
        }
        if self.recovery.phase == Phase::Recovery && matches!(self.recovery.detector, Detector::Sack) {
            return self.next_possibly_lost();
        }
        None
    }

    /// The segment that rule 3 or 4 of `NextSeg` selects, if nothing is marked lost and there is no new data to send.
    fn next_possibly_lost(&self) -> Option<NextSegment> {
        if !self.has_room(self.scoreboard.mss) {
            return None;
        }
        let scoreboard = &self.scoreboard;
        let is_original = |&index: &u64| scoreboard.segment(index).is_some_and(|segment| !segment.retransmitted);
        let rescue = || {
            let allowed = |_: &u64| !self.recovery.rescue_used;
            scoreboard.highest_unsacked().filter(is_original).filter(allowed)
        };
        scoreboard.possibly_lost().or_else(rescue).map(NextSegment::Retransmission)
    }

    /// Whether the pacer delays this segment: it delays data, but no probes, control packets, or segments within a
    /// burst.
    fn is_paced(&self, next: NextSegment) -> bool {
        let begins = match next {
            NextSegment::Retransmission(index) => !self.offload.continues(index),
            NextSegment::New => !self.offload.is_in_burst(),
            NextSegment::Syn | NextSegment::WindowProbe | NextSegment::TailLossProbe => false,
        };
        begins && self.pacer.is_active()
    }

    /// Whether data that would begin a burst must wait, because too many bytes are in the host's queue.
    fn waits_for_host(&self, next: NextSegment) -> bool {
        let begins = match next {
            NextSegment::Retransmission(index) => !self.offload.continues(index),
            NextSegment::New => !self.offload.is_in_burst() && self.offload.planned_due().is_none(),
            NextSegment::Syn | NextSegment::WindowProbe | NextSegment::TailLossProbe => false,
        };
        begins && self.is_small_queue_full()
    }

    /// When the pacer lets the segment leave; [`Time::ZERO`] if the pacer does not delay it.
    fn paced_until(&self, next: NextSegment) -> Time {
        if !self.is_paced(next) {
            return Time::ZERO;
        }
        self.offload.planned_due().unwrap_or(self.pacer.due)
    }

    /// Whether pacer and segmentation offload let the segment leave at `now`.
    #[inline]
    fn may_leave(&self, now: Time, next: NextSegment) -> bool {
        if self.offload.is_absent() {
            return !self.is_paced(next) || self.pacer.due <= now;
        }
        self.may_leave_host(now, next)
    }

    /// Whether a host with segmentation offload or a queue lets the segment leave at `now`.
    fn may_leave_host(&self, now: Time, next: NextSegment) -> bool {
        if self.paced_until(next) > now || self.waits_for_host(next) {
            return false;
        }
        let begins = next == NextSegment::New
            && self.connection.pending != Pending::Override
            && self.offload.planned_due().is_none()
            && !self.offload.is_in_burst();
        !(begins && self.defers(now))
    }

    fn control_packet(&self, seq: u64, flags: Flags) -> Out<Head> {
        let scale = self.connection.window_scale;
        let head = Head { seq, flags, scale, ..Head::default() };
        let ecn = self.ecn.codepoint(PacketKind::Control);
        Out { head, body: 0..0, size: wire::frame(wire::HEADERS), class: Class::Control, ecn }
    }

    /// Sends a tail loss probe: a new segment if there is one that the receiver allows, otherwise the highest segment
    /// in flight (RFC 8985, 7.3).
    fn probe_tail(&mut self, now: Time) -> Option<Out<Head>> {
        self.recovery.tlp.pending = false;
        let new = self.has_new_data();
        let index = if new { None } else { Some(self.scoreboard.highest_unsacked()?) };
        let out = self.transmit(now, index);
        self.recovery.tlp.on_probe(self.scoreboard.snd_nxt, !new);
        self.timers.rto_start = now;
        Some(out)
    }

    /// Sends a segment: a retransmission if `retransmit` has its index, otherwise new data at SND.NXT.
    fn transmit(&mut self, now: Time, retransmit: Option<u64>) -> Out<Head> {
        let idle = self.scoreboard.snd_una == self.scoreboard.snd_nxt;
        if idle {
            self.start_after_idle(now);
        }
        let snapshot = self.delivery_rate.on_send(now, idle);
        let limited = self.delivery_rate.is_app_limited();
        let mut flags = Flags::default();
        let (body, kind) = if let Some(index) = retransmit {
            if index == self.scoreboard.first_index {
                self.timers.rto_start = now;
            }
            if self.scoreboard.lost == 0 && self.scoreboard.possibly_lost() != Some(index) {
                self.recovery.rescue_used = true;
            }
            self.counts.retransmits += 1;
            self.undo.on_retransmission(now);
            if self.offload.is_on() {
                self.note_retransmission(index);
            }
            (self.scoreboard.retransmit(now, index, snapshot, limited), PacketKind::Retransmission)
        } else {
            let continues = self.offload.is_in_burst();
            if self.offload.is_on() && !continues {
                self.begin_burst(now);
            }
            flags = Flags::CWR.when(self.ecn.send_cwr);
            self.ecn.send_cwr = false;
            if self.offload.is_on() {
                self.offload.burst_left = self.offload.burst_left.saturating_sub(1);
            }
            // The kernel sets PSH on each burst of several segments (`__tcp_transmit_skb`).
            flags |= Flags::PSH.when(continues && !self.offload.is_in_burst());
            if self.recovery.is_kernels_cwr() {
                // The tail loss probe stops RACK's timer: both share one timer (kernel: `tcp_schedule_loss_probe`).
                self.timers.reordering = Time::LAST;
            }
            (self.scoreboard.send(now, snapshot, limited), PacketKind::NewData)
        };
        let len = body.end - body.start;
        self.counts.sent += 1;
        self.timers.last_sent = now;
        if let Some(prr) = &mut self.recovery.prr {
            prr.on_send(len);
        }
        if retransmit.is_some() || !self.offload.is_on() {
            self.pacer.charge(now, len, self.recovery.kernel_habits);
        }
        self.limits.note_sent(self.scoreboard.snd_una, self.scoreboard.snd_nxt);
        self.note_cwnd_limited();
        self.note_app_limited();
        let ecn = self.ecn.codepoint(kind);
        let (seq, scale) = (body.start, self.connection.window_scale);
        let timestamp = self.undo.tsval(now);
        let window = self.connection.tsecr.0;
        let head = Head { seq, len: len as u16, timestamp, flags, scale, window, ..Head::default() };
        let size = wire::data_frame(len + u64::from(self.connection.option_bytes));
        Out { head, body, size, class: Class::Data, ecn }
    }

    /// Prepares to send data with nothing in flight: starts the retransmission timer, and restarts the controller after
    /// a long idle time.
    fn start_after_idle(&mut self, now: Time) {
        let idle = now.saturating_since(self.timers.last_sent);
        self.timers.rto_start = now;
        let used = self.connection.prior_bytes + self.scoreboard.snd_nxt > 0;
        let long = match self.connection.idle_restart {
            IdleRestart::Never => false,
            IdleRestart::Timeout => idle > self.rtt.rto,
            IdleRestart::Estimate => idle > self.rtt.unbounded_rto(),
        };
        if used && long {
            self.controller.on_idle(idle);
        }
        self.controller.on_restart(now, self.delivery_rate.is_app_limited());
        self.update_limits();
    }

    /// Marks the sender application-limited if all data was sent although the congestion window has room.
    pub(super) fn note_app_limited(&mut self) {
        let pipe = self.scoreboard.pipe();
        let all_sent = self.scoreboard.snd_nxt == self.scoreboard.written;
        if all_sent && self.scoreboard.lost == 0 && pipe < self.limits.cwnd {
            self.delivery_rate.mark_app_limited(pipe);
        }
    }
}

impl<W: Window + Clone> Endpoint for Sender<W> {
    type Head = Head;

    fn on_packet(&mut self, now: Time, head: &Head, _ecn: Ecn) {
        self.timers.last_call = now;
        self.rtt_sample = None;
        self.take_writes(now);
        match self.connection.state {
            State::SynSent if head.flags.has(Flags::SYN | Flags::ACK) => {
                self.connection.state = State::Established;
                self.connection.pending = Pending::Nothing;
                self.on_syn_ack(now, head);
            }
            State::Established if !head.flags.has(Flags::SYN) => self.on_ack(now, head),
            _ => return,
        }
        let waits = matches!(self.connection.pending, Pending::WindowProbe | Pending::Override);
        if waits && !self.is_persisting() {
            self.connection.pending = Pending::Nothing;
            self.rtt.reset_backoff();
        }
        self.arm(now);
    }

    fn on_timer(&mut self, now: Time) {
        self.timers.last_call = now;
        self.rtt_sample = None;
        if self.connection.state == State::Closed {
            self.connection.open(self.is_complete());
            self.timers.rto_start = now;
        }
        self.take_writes(now);
        self.timers.armed = Time::LAST;
        match self.next_timer() {
            Some((due, timer)) if due <= now => {
                self.on_expiry(now, timer);
                self.arm(now);
            }
            Some((due, _)) => self.timers.arm(now, due),
            None => {}
        }
    }

    fn ready(&self, now: Time) -> bool {
        self.next_segment().is_some_and(|next| self.may_leave(now, next))
    }

    fn poll(&mut self, now: Time) -> Option<Out<Head>> {
        self.timers.last_call = now;
        self.take_writes(now);
        let next = self.next_segment()?;
        if !self.may_leave(now, next) {
            return None;
        }
        let out = match next {
            NextSegment::Syn => {
                self.connection.pending = Pending::Nothing;
                (self.timers.last_sent, self.timers.rto_start) = (now, now);
                self.control_packet(0, Flags::SYN)
            }
            NextSegment::WindowProbe => {
                self.connection.pending = Pending::Nothing;
                self.control_packet(self.scoreboard.snd_nxt, Flags::default())
            }
            NextSegment::TailLossProbe => self.probe_tail(now)?,
            NextSegment::Retransmission(index) => self.transmit(now, Some(index)),
            NextSegment::New => {
                if self.connection.pending == Pending::Override {
                    self.connection.pending = Pending::Nothing;
                }
                self.transmit(now, None)
            }
        };
        self.arm(now);
        Some(out)
    }

    fn wakeup(&self) -> Option<Time> {
        if self.is_complete() {
            return None;
        }
        if !self.pacer.is_active() && self.offload.planned_due().is_none() && self.imposed.is_none() {
            // No segment waits for a time.
            return self.timers.wakeup(None);
        }
        let due = self
            .next_segment()
            .map(|next| self.paced_until(next))
            .or_else(|| self.imposed.as_ref()?.next_write(&self.scoreboard));
        self.timers.wakeup(due.filter(|&due| due > self.timers.last_call))
    }

    fn is_complete(&self) -> bool {
        self.scoreboard.snd_una >= self.scoreboard.end
    }

    fn rtt_sample(&self) -> Option<Span> {
        self.rtt_sample
    }

    fn counters(&self) -> EndpointCounters {
        let Counts { sent, retransmits, timeouts } = self.counts;
        EndpointCounters {
            sent,
            retransmits,
            spurious_retransmits: self.undo.spurious_retransmits(retransmits),
            timeouts: timeouts.into(),
            undos: self.undo.undos().into(),
            ..EndpointCounters::default()
        }
    }

    fn flow_state(&self) -> Option<FlowState> {
        self.trace()
    }

    fn continue_connection(&mut self, before: &Self) {
        self.reuse(before);
    }
}

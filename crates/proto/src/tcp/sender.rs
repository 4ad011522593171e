//! The sending end: what leaves, and when. State: the scoreboard, the controller, the repair in progress and one
//! deadline. What an acknowledgement does to it is in `answer.rs`. Units: bytes. Sources: RFC 9293, 3.8; RFC 6298, 5;
//! RFC 6675, 4 (what to send next); RFC 8985, 7.3.

use shallop_control::{Loss, Window};
use shallop_core::{Bytes, Class, Ecn, Pace, Span, Time};

use super::config::{Capable, Config, Marks, Silence};
use super::delivery::Delivery;
use super::head::{Flags, Head, scale_for};
use super::loss::Detector;
use super::recovery::Reduction;
use super::scoreboard::Scoreboard;
use super::tail::Tail;
use crate::endpoint::{Endpoint, Out};
use crate::report::Report;
use crate::rtt::Rtt;
use crate::wire;

/// How far the flow has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Not started.
    New,
    /// A SYN is out, or to leave.
    Greeting,
    /// Data may flow.
    Open,
}

/// What is being repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repair {
    /// Nothing.
    None,
    /// Losses that acknowledgements told of.
    Fast,
    /// What was in flight at a timeout.
    Timeout,
}

/// Something that leaves ahead of everything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Errand {
    /// Nothing.
    None,
    /// A SYN.
    Greet,
    /// A question about the receiver's window, which is closed.
    Ask,
    /// A segment larger than the receiver's window, which is smaller than any segment (RFC 9293, 3.8.6.2.1).
    Squeeze,
}

/// What may leave now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    Greet,
    Ask,
    /// A probe of the tail.
    Probe,
    /// A segment sent before.
    Again(u64),
    /// One never sent.
    Fresh,
}

const _: () = assert!(size_of::<Sender<()>>() < 600, "there may be 100,000 of them");

/// The end that sends.
#[derive(Clone, Debug)]
pub struct Sender<W> {
    pub(super) window: W,
    pub(super) board: Scoreboard,
    pub(super) delivery: Delivery,
    pub(super) rtt: Rtt,
    pub(super) detector: Detector,
    pub(super) tail: Tail,
    pub(super) reduction: Option<Reduction>,
    pub(super) pace: Option<Pace>,
    /// When the pace allows the next packet.
    pub(super) pace_due: Time,
    /// The time of the last call, for telling deadlines to come from those that passed.
    seen: Time,
    /// Bytes that earlier flows sent on the connection: controllers count from its beginning.
    pub(super) earlier: u64,
    /// The first byte the receiver does not allow.
    pub(super) edge: u64,
    /// The most that may be in flight, by the controller or by the reduction in progress.
    pub(super) allowed: u64,
    /// Acknowledgements of what is below came while the window was full.
    pub(super) limited_until: u64,
    /// A repair ends when this is acknowledged; what is below was answered for.
    pub(super) point: u64,
    /// A mark shrank the window; what was in flight then is below.
    pub(super) marked_until: u64,
    /// Bytes taken for lost that the controller was told of.
    pub(super) losses_told: u64,
    /// What was missing when the timer expired last; `u64::MAX` if it never did.
    pub(super) expired_for: u64,
    /// The retransmission timer runs from here.
    pub(super) timer_from: Time,
    pub(super) sent_at: Time,
    /// When a segment that may be reordered counts as lost; [`Time::LAST`] if there is none.
    pub(super) reorder_due: Time,
    /// The deadline the driver knows: the true one, or earlier, so that it need not change with every packet;
    /// [`Time::LAST`] if there is none.
    pub(super) armed: Time,
    pub(super) ack_delay: Span,
    /// The round trip that the last input measured.
    pub(super) measured: Option<Span>,
    sent: u64,
    retransmits: u64,
    pub(super) timeouts: u32,
    pub(super) marks: Marks,
    pub(super) stage: Stage,
    pub(super) repair: Repair,
    pub(super) errand: Errand,
    scale: u8,
    /// Which silences are told to the controller.
    silence: Silence,
    /// The one retransmission of the tail that a recovery may add (RFC 6675, 4, rule 4) was used.
    pub(super) rescued: bool,
    /// The receiver is to be told that the window shrank.
    pub(super) tell_reduced: bool,
}

impl<W: Window> Sender<W> {
    /// Sends a message of so many bytes, or one without end, as its controller allows.
    #[must_use]
    pub fn new(config: &Config, window: W, size: Option<u64>) -> Self {
        let buffer = config.kept_buffer();
        let allowed = window.window().get();
        let pace = window.pacing().map(Pace::new);
        Self {
            window,
            board: Scoreboard::new(u64::from(config.segment), size),
            delivery: Delivery::default(),
            rtt: Rtt::new(&config.timeout),
            detector: Detector::new(config.detection),
            tail: Tail::default(),
            reduction: None,
            pace,
            pace_due: Time::ZERO,
            seen: Time::ZERO,
            earlier: 0,
            edge: buffer,
            allowed,
            limited_until: 0,
            point: 0,
            marked_until: 0,
            losses_told: 0,
            expired_for: u64::MAX,
            timer_from: Time::ZERO,
            sent_at: Time::ZERO,
            reorder_due: Time::LAST,
            armed: Time::LAST,
            ack_delay: config.ack_delay(),
            measured: None,
            sent: 0,
            retransmits: 0,
            timeouts: 0,
            marks: config.marks,
            stage: Stage::New,
            repair: Repair::None,
            errand: if config.handshake { Errand::Greet } else { Errand::None },
            scale: scale_for(buffer),
            silence: config.slow_start_after_idle,
            rescued: false,
            tell_reduced: false,
        }
    }

    /// The controller.
    #[must_use]
    pub fn controller(&self) -> &W {
        &self.window
    }

    /// What is known of every segment in flight.
    #[must_use]
    pub fn scoreboard(&self) -> &Scoreboard {
        &self.board
    }

    /// Round-trip times as measured.
    #[must_use]
    pub fn rtt(&self) -> &Rtt {
        &self.rtt
    }

    /// The most that may be in flight now.
    #[must_use]
    pub fn allowed(&self) -> Bytes {
        Bytes::new(self.allowed)
    }

    /// What the controller is told of congestion, with so many bytes in flight before.
    pub(super) fn congestion(&self, now: Time, in_flight: u64) -> Loss {
        let (una, next) = (self.board.una(), self.board.next());
        let after_mark = una < self.marked_until;
        let (una, next) = (self.earlier + una, self.earlier + next);
        Loss { now, in_flight: Bytes::new(in_flight), after_mark, una, next }
    }

    /// Takes over what the controller and the repair allow now.
    pub(super) fn allow(&mut self) {
        self.allowed = match &self.reduction {
            Some(reduction) => reduction.window(),
            None => self.window.window().get(),
        };
        let rate = self.window.pacing();
        if rate != self.pace.map(|pace| pace.rate()) {
            self.pace = rate.map(Pace::new);
        }
        self.note_limit();
    }

    /// Remembers that the window is full, for as long as what is in flight now is not acknowledged.
    fn note_limit(&mut self) {
        if self.board.flying() + self.board.segment() > self.allowed {
            self.limited_until = self.board.next();
        }
    }

    fn fits(&self, len: u64) -> bool {
        let flying = self.board.flying();
        flying == 0 || flying + len <= self.allowed
    }

    /// What would leave now, the pace aside.
    fn choose(&self) -> Option<Choice> {
        match (self.stage, self.errand) {
            (Stage::New, _) => return None,
            (_, Errand::Greet) => return Some(Choice::Greet),
            (Stage::Greeting, _) => return None,
            (_, Errand::Ask) => return Some(Choice::Ask),
            _ if self.tail.pending => return Some(Choice::Probe),
            _ => {}
        }
        if let Some(lost) = self.board.first_lost() {
            let body = self.board.body(lost);
            return self.fits(body.end - body.start).then_some(Choice::Again(lost));
        }
        let fresh = self.board.fresh();
        if !fresh.is_empty() && (fresh.end <= self.edge || self.errand == Errand::Squeeze) {
            return self.fits(fresh.end - fresh.start).then_some(Choice::Fresh);
        }
        if self.repair == Repair::Fast && matches!(self.detector, Detector::Sack) {
            return self.guess();
        }
        None
    }

    /// With nothing lost left and nothing new: segments that may be lost (RFC 6675, 4, rules 3 and 4).
    fn guess(&self) -> Option<Choice> {
        if !self.fits(self.board.segment()) {
            return None;
        }
        let once = |&index: &u64| self.board.record(index).is_some_and(|record| !record.again);
        let tail = || self.board.tail().filter(once).filter(|_| !self.rescued);
        self.board.doubtful().or_else(tail).map(Choice::Again)
    }

    fn control(&self, seq: u64, flags: Flags) -> Out<Head> {
        let head = Head { seq, flags, scale: self.scale, ..Head::default() };
        let capable = self.marks.capable == Capable::Everything;
        let ecn = if capable { Ecn::Ect } else { Ecn::NotEct };
        let (body, size) = (0..0, wire::frame(wire::HEADERS));
        Out { head, body, size, class: Class::Control, ecn }
    }

    fn probe(&mut self, now: Time) -> Option<Out<Head>> {
        self.tail.pending = false;
        let fresh = self.board.fresh();
        let new = !fresh.is_empty() && fresh.end <= self.edge;
        let index = if new { None } else { Some(self.board.tail()?) };
        let out = self.transmit(now, index);
        self.tail.on_probe(out.body.start, self.board.next(), !new);
        self.timer_from = now;
        Some(out)
    }

    /// Sends a segment: again, or the next one for the first time.
    fn transmit(&mut self, now: Time, again: Option<u64>) -> Out<Head> {
        let alone = self.board.una() == self.board.next();
        if alone {
            self.wake(now);
        }
        let (stamp, limited) = (self.delivery.stamp(now, alone), self.delivery.is_limited());
        let mut flags = Flags::default();
        let body = if let Some(index) = again {
            if index == self.board.first() {
                self.timer_from = now;
            }
            self.rescued |= self.board.lost() == 0 && self.board.doubtful() != Some(index);
            self.retransmits += 1;
            self.board.send_again(now, index, stamp, limited)
        } else {
            flags = Flags::CWR.when(self.tell_reduced);
            self.tell_reduced = false;
            self.board.send(now, stamp, limited)
        };
        let len = body.end - body.start;
        self.sent += 1;
        self.sent_at = now;
        if let Some(reduction) = &mut self.reduction {
            reduction.on_send(len);
        }
        self.charge(now, len);
        self.note_limit();
        self.note_drought();
        let capable = match self.marks.capable {
            Capable::Nothing => false,
            Capable::NewData => again.is_none(),
            Capable::Everything => true,
        };
        let ecn = if capable { Ecn::Ect } else { Ecn::NotEct };
        let (seq, scale) = (body.start, self.scale);
        let head = Head { seq, len: len as u16, flags, scale, ..Head::default() };
        Out { head, body, size: wire::data_frame(len), class: Class::Data, ecn }
    }

    /// The first segment after a silence, if only of an instant: the timer starts, and the controller may think again.
    fn wake(&mut self, now: Time) {
        let idle = now.saturating_since(self.sent_at);
        self.timer_from = now;
        let used = self.earlier + self.board.next() > 0;
        let long = match self.silence {
            Silence::Never => false,
            Silence::Timeout => idle > self.rtt.single(),
            Silence::Estimate => idle > self.rtt.estimate(),
        };
        if used && long {
            self.window.on_idle(idle);
        }
        self.window.on_restart(now, self.delivery.is_limited());
        self.allow();
    }

    /// The next packet waits until this one would have passed at the pace. If this one was late by less than that, the
    /// next is not, so that a busy link does not slow the pace.
    fn charge(&mut self, now: Time, len: u64) {
        if let Some(pace) = &mut self.pace {
            let gap = pace.charge(Bytes::new(len));
            let planned = self.pace_due.saturating_add(gap);
            self.pace_due = if planned > now { planned } else { now.saturating_add(gap) };
        }
    }

    /// Remembers that there is room and nothing to fill it with.
    pub(super) fn note_drought(&mut self) {
        let flying = self.board.flying();
        if self.board.next() == self.board.end() && self.board.lost() == 0 && flying < self.allowed
        {
            self.delivery.run_dry(flying);
        }
    }

    /// The pace holds this back.
    fn is_paced(&self, choice: Choice) -> bool {
        self.pace.is_some() && matches!(choice, Choice::Again(_) | Choice::Fresh)
    }
}

impl<W: Window + Clone> Endpoint for Sender<W> {
    type Head = Head;

    fn on_packet(&mut self, now: Time, head: &Head, _ecn: Ecn) {
        (self.seen, self.measured) = (now, None);
        match self.stage {
            Stage::Greeting if head.flags.has(Flags::SYN | Flags::ACK) => {
                self.stage = Stage::Open;
                self.errand = Errand::None;
                self.on_answer_to_greeting(now, head);
            }
            Stage::Open if !head.flags.has(Flags::SYN) => self.on_ack(now, head),
            _ => return,
        }
        if matches!(self.errand, Errand::Ask | Errand::Squeeze) && !self.is_shut_out() {
            self.errand = Errand::None;
            self.rtt.recover();
        }
        self.arm(now);
    }

    fn on_timer(&mut self, now: Time) {
        (self.seen, self.measured) = (now, None);
        if self.stage == Stage::New {
            let greets = self.errand == Errand::Greet && !self.is_complete();
            self.stage = if greets { Stage::Greeting } else { Stage::Open };
            self.timer_from = now;
        }
        self.armed = Time::LAST;
        if let Some((_, alarm)) = self.due().filter(|&(due, _)| due <= now) {
            self.sound(now, alarm);
        }
        self.arm(now);
    }

    fn ready(&self, now: Time) -> bool {
        self.choose().is_some_and(|choice| self.pace_due <= now || !self.is_paced(choice))
    }

    fn poll(&mut self, now: Time) -> Option<Out<Head>> {
        self.seen = now;
        let choice = self.choose()?;
        if self.pace_due > now && self.is_paced(choice) {
            return None;
        }
        let out = match choice {
            Choice::Greet => {
                (self.errand, self.sent_at, self.timer_from) = (Errand::None, now, now);
                self.control(0, Flags::SYN)
            }
            Choice::Ask => {
                self.errand = Errand::None;
                self.control(self.board.next(), Flags::default())
            }
            Choice::Probe => self.probe(now)?,
            Choice::Again(index) => self.transmit(now, Some(index)),
            Choice::Fresh => {
                if self.errand == Errand::Squeeze {
                    self.errand = Errand::None;
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
        let paced = self.pace_due > self.seen && self.choose().is_some_and(|c| self.is_paced(c));
        let due = if paced { self.armed.min(self.pace_due) } else { self.armed };
        (due < Time::LAST).then_some(due)
    }

    fn is_complete(&self) -> bool {
        self.board.una() >= self.board.end()
    }

    fn rtt_sample(&self) -> Option<Span> {
        self.measured
    }

    fn report(&self) -> Report {
        let (sent, retransmits, timeouts) = (self.sent, self.retransmits, self.timeouts.into());
        Report { sent, retransmits, timeouts, ..Report::default() }
    }

    fn follow(&mut self, before: &Self) {
        self.take_over(before);
    }
}

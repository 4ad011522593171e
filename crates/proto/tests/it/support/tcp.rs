//! Test support for TCP: a controller that records its inputs, a sender that tests give acknowledgements, and pairs.

use shallop_control::any::{self, AnyWindow};
use shallop_control::{Ack, Loss, Undo, Window};
use shallop_core::{BitsPerSec, Bytes, Ecn, Span, Time};
use shallop_proto::tcp::{Config, Flags, Head, Receiver, SackBlock, Sender, Stack, Tcp, Timestamp};
use shallop_proto::{Endpoint, Out};

pub use super::{PAYLOAD as SEGMENT, ms, us};
use super::{Pair, Path};

/// A controller with a fixed window that records its inputs.
#[derive(Clone, Debug, Default)]
pub struct Spy {
    pub window: Bytes,
    /// The window after a loss, a mark or a timeout.
    pub after: Bytes,
    pub pace: Option<BitsPerSec>,
    pub owns: bool,
    pub acks: Vec<Ack>,
    pub losses: Vec<Loss>,
    pub marks: Vec<Loss>,
    /// Each timeout, and whether it was the first for its byte.
    pub timeouts: Vec<(Loss, bool)>,
    pub idles: Vec<Span>,
    pub exits: Vec<Time>,
    pub undos: Vec<Undo>,
    pub handshakes: Vec<Span>,
    /// Each restart, and whether the sender was application-limited.
    pub restarts: Vec<(Time, bool)>,
}

impl Spy {
    pub fn new(segments: u64) -> Self {
        let window = Bytes::new(SEGMENT * segments);
        Self { window, after: window, ..Self::default() }
    }

    /// A controller whose window has this many segments after a reduction.
    pub fn shrinking(segments: u64, after: u64) -> Self {
        Self { after: Bytes::new(SEGMENT * after), ..Self::new(segments) }
    }
}

impl Window for Spy {
    fn on_handshake(&mut self, _now: Time, rtt: Span) {
        self.handshakes.push(rtt);
    }
    fn on_restart(&mut self, now: Time, app_limited: bool) {
        self.restarts.push((now, app_limited));
    }
    fn on_ack(&mut self, ack: &Ack) {
        self.acks.push(*ack);
    }
    fn on_loss(&mut self, loss: &Loss) {
        self.losses.push(*loss);
        self.window = self.after;
    }
    fn on_rto(&mut self, loss: &Loss, first: bool) {
        self.timeouts.push((*loss, first));
        self.window = self.after;
    }
    fn on_mark(&mut self, mark: &Loss) {
        self.marks.push(*mark);
        self.window = self.after;
    }
    fn on_idle(&mut self, idle: Span) {
        self.idles.push(idle);
    }
    fn on_recovery_exit(&mut self, now: Time) {
        self.exits.push(now);
    }
    fn on_undo(&mut self, undo: &Undo) {
        self.undos.push(*undo);
        self.window = self.window.max(undo.prior_cwnd);
    }
    fn window(&self) -> Bytes {
        self.window
    }
    fn slow_start_threshold(&self) -> Bytes {
        Bytes::MAX
    }
    fn pacing(&self) -> Option<BitsPerSec> {
        self.pace
    }
    fn owns_recovery(&self) -> bool {
        self.owns
    }
}

/// A sender to which the test gives acknowledgements.
pub struct SenderHarness {
    pub sender: Sender<Spy>,
    pub now: Time,
    /// Segments that timers sent before the last acknowledgement.
    pub before: Vec<(Time, u64)>,
    pub config: Config,
}

impl SenderHarness {
    /// A started flow without end and without a handshake.
    pub fn new(config: &Config, spy: Spy) -> Self {
        Self::sized(config, spy, None)
    }

    pub fn sized(config: &Config, spy: Spy, segments: Option<u64>) -> Self {
        let config = Config { handshake: false, ..*config };
        let mut sender = Sender::new(&config, spy, segments.map(|n| n * SEGMENT));
        sender.on_timer(Time::ZERO);
        Self { sender, now: Time::ZERO, before: vec![], config }
    }

    /// The sender after its first packets have left.
    pub fn started(mut self) -> Self {
        self.take();
        self
    }

    pub fn spy(&self) -> &Spy {
        self.sender.controller()
    }

    pub fn take(&mut self) -> Vec<Out<Head>> {
        let mut outs = vec![];
        while self.sender.ready(self.now) {
            outs.extend(self.sender.poll(self.now));
        }
        assert!(self.sender.wakeup().is_none_or(|at| at >= self.now), "a deadline in the past");
        outs
    }

    /// The numbers of the segments that the sender sends now.
    pub fn leaving(&mut self) -> Vec<u64> {
        self.take().iter().map(|out| out.body.start / SEGMENT).collect()
    }

    /// Advances the time to `at` and runs all timers before it. Returns the segments sent by them, with their times.
    pub fn advance(&mut self, at: Time) -> Vec<(Time, u64)> {
        let mut left = vec![];
        while let Some(due) = self.sender.wakeup().filter(|&due| due < at) {
            self.now = due;
            self.sender.on_timer(due);
            left.extend(self.leaving().into_iter().map(|number| (due, number)));
        }
        self.now = at;
        left
    }

    /// Acknowledges the first `next` segments, and the ranges of segments in `beyond` selectively.
    pub fn ack(&mut self, at: Time, next: u64, beyond: &[(u64, u64)]) {
        self.answer(at, next, beyond, Flags::ACK);
    }

    /// Acknowledges ([`Self::ack`]), and returns the numbers of the segments that the sender sends.
    pub fn sends_after_ack(&mut self, at: Time, next: u64, beyond: &[(u64, u64)]) -> Vec<u64> {
        self.ack(at, next, beyond);
        self.leaving()
    }

    pub fn answer(&mut self, at: Time, next: u64, beyond: &[(u64, u64)], flags: Flags) {
        // The timestamp is no older than any retransmission.
        let head = Head { flags, timestamp: Timestamp::at(at), ..Head::default() };
        self.respond(at, next, beyond, head);
    }

    /// Acknowledges with this head, whose window is the largest one unless it has another.
    pub fn respond(&mut self, at: Time, next: u64, beyond: &[(u64, u64)], head: Head) {
        let before = self.advance(at);
        self.before.extend(before);
        let (window, scale) = if head.window == 0 { (u16::MAX, 14) } else { (head.window, head.scale) };
        let mut head = Head { ack: next * SEGMENT, window, scale, ..head };
        for (block, &(from, to)) in head.blocks.iter_mut().zip(beyond) {
            *block = SackBlock::for_range(&(from * SEGMENT..to * SEGMENT), head.ack);
        }
        self.sender.on_packet(at, &head, Ecn::NotEct);
    }
}

/// Sender and receiver of a message with this controller.
pub fn pair(config: &Config, control: &any::Config, size: u64, path: Path) -> Pair<Tcp<AnyWindow>> {
    pair_with(config, control.build(&config.start(path.rate, 1)), size, path)
}

pub fn pair_with<W: Window + Clone>(config: &Config, controller: W, size: u64, path: Path) -> Pair<Tcp<W>> {
    let sender = Sender::new(config, controller, Some(size));
    let receiver = Receiver::new(config, Some(size));
    Pair::new(Tcp::sender(sender), Tcp::receiver(receiver), path, 7)
}

pub fn sender<W: Window + Clone>(pair: &Pair<Tcp<W>>) -> &Sender<W> {
    match &pair.ends[0] {
        Tcp::Sender(sender) => sender,
        Tcp::Receiver(_) => unreachable!("the first end of a pair sends"),
    }
}

/// The stack of ns-2 without a handshake.
pub fn plain() -> Config {
    Config { handshake: false, ..Stack::NS2.tcp }
}

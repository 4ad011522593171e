//! TCP's part of the bench: a controller that does as told and remembers, a sender worked by hand, and pairs.

use shallop_control::any::{self, AnyWindow};
use shallop_control::{Ack, Loss, Window};
use shallop_core::{BitsPerSec, Bytes, Ecn, Span, Time};
use shallop_proto::tcp::{Block, Config, Flags, Head, Receiver, Sender, Stack, Tcp};
use shallop_proto::{Endpoint, Out};

use super::{Pair, Path};

pub const SEGMENT: u64 = 1460;

pub fn ms(ms: u64) -> Time {
    Time::after_start(Span::from_ms(ms))
}

pub fn us(us: u64) -> Time {
    Time::after_start(Span::from_us(us))
}

/// A controller with a fixed window that remembers what it was told.
#[derive(Clone, Debug)]
pub struct Spy {
    pub window: Bytes,
    /// The window after a loss, a mark or a timeout.
    pub after: Bytes,
    pub pace: Option<BitsPerSec>,
    pub owns: bool,
    pub acks: Vec<Ack>,
    pub losses: Vec<Loss>,
    pub marks: Vec<Loss>,
    /// With whether it was the first for its byte.
    pub timeouts: Vec<(Loss, bool)>,
    pub idles: Vec<Span>,
    pub exits: Vec<Time>,
    pub handshakes: Vec<Span>,
    /// With whether they were for want of data.
    pub restarts: Vec<(Time, bool)>,
}

impl Spy {
    pub fn new(segments: u64) -> Self {
        let window = Bytes::new(SEGMENT * segments);
        Self {
            window,
            after: window,
            pace: None,
            owns: false,
            acks: vec![],
            losses: vec![],
            marks: vec![],
            timeouts: vec![],
            idles: vec![],
            exits: vec![],
            handshakes: vec![],
            restarts: vec![],
        }
    }

    /// One that has this many segments left after a reduction.
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

/// A sender worked by hand: acknowledgements come when the test says so.
pub struct Hand {
    pub sender: Sender<Spy>,
    pub now: Time,
    /// What timers let out before the last acknowledgement.
    pub before: Vec<(Time, u64)>,
}

impl Hand {
    /// A flow without end that has started, without a handshake.
    pub fn new(config: &Config, spy: Spy) -> Self {
        Self::sized(config, spy, None)
    }

    pub fn sized(config: &Config, spy: Spy, segments: Option<u64>) -> Self {
        let config = Config { handshake: false, ..*config };
        let mut sender = Sender::new(&config, spy, segments.map(|n| n * SEGMENT));
        sender.on_timer(Time::ZERO);
        Self { sender, now: Time::ZERO, before: vec![] }
    }

    pub fn spy(&self) -> &Spy {
        self.sender.controller()
    }

    /// Everything the sender says now.
    pub fn take(&mut self) -> Vec<Out<Head>> {
        let mut outs = vec![];
        while self.sender.ready(self.now) {
            outs.extend(self.sender.poll(self.now));
        }
        assert!(self.sender.wakeup().is_none_or(|at| at >= self.now), "a deadline in the past");
        outs
    }

    /// The segments that leave now, by number.
    pub fn leaving(&mut self) -> Vec<u64> {
        self.take().iter().map(|out| out.body.start / SEGMENT).collect()
    }

    /// Time passes, with the timers that expire on the way, until just before `at`; then it is `at`. Gives the
    /// segments that left on the way, with their times.
    pub fn pass(&mut self, at: Time) -> Vec<(Time, u64)> {
        let mut left = vec![];
        while let Some(due) = self.sender.wakeup().filter(|&due| due < at) {
            self.now = due;
            self.sender.on_timer(due);
            left.extend(self.leaving().into_iter().map(|number| (due, number)));
        }
        self.now = at;
        left
    }

    /// An acknowledgement of the first `next` segments and of the ranges of segments beyond.
    pub fn ack(&mut self, at: Time, next: u64, beyond: &[(u64, u64)]) {
        self.answer(at, next, beyond, Flags::ACK);
    }

    pub fn answer(&mut self, at: Time, next: u64, beyond: &[(u64, u64)], flags: Flags) {
        let before = self.pass(at);
        self.before.extend(before);
        let mut head = Head { ack: next * SEGMENT, flags, scale: 14, ..Head::default() };
        head.window = u16::MAX;
        for (block, &(from, to)) in head.blocks.iter_mut().zip(beyond) {
            *block = Block::of(&(from * SEGMENT..to * SEGMENT), head.ack);
        }
        self.sender.on_packet(at, &head, Ecn::NotEct);
    }
}

/// Sender and receiver of a message with this controller.
pub fn pair(config: &Config, control: &any::Config, size: u64, path: Path) -> Pair<Tcp<AnyWindow>> {
    let window = control.build(&config.start(path.rate, 1));
    let sender = Sender::new(config, window, Some(size));
    let receiver = Receiver::new(config, Some(size));
    Pair::new(Tcp::Sender(sender), Tcp::Receiver(receiver), path, 7)
}

/// The same with a spy.
pub fn spied(config: &Config, spy: Spy, size: u64, path: Path) -> Pair<Tcp<Spy>> {
    let sender = Sender::new(config, spy, Some(size));
    let receiver = Receiver::new(config, Some(size));
    Pair::new(Tcp::Sender(sender), Tcp::Receiver(receiver), path, 7)
}

/// The sender of a pair.
pub fn sender<W: Window + Clone>(pair: &Pair<Tcp<W>>) -> &Sender<W> {
    match &pair.ends[0] {
        Tcp::Sender(sender) => sender,
        Tcp::Receiver(_) => unreachable!("the first end of a pair sends"),
    }
}

/// The stack of ns-2 without a handshake: the simplest.
pub fn plain() -> Config {
    Config { handshake: false, ..Stack::NS2.tcp }
}

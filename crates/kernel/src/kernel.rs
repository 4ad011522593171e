//! One kernel: its process, its time and its cards. A kernel runs from [`Kernel::run`] until it waits. It pauses
//! whenever it sends, so that its owner can put the frames into the network at the time at which they were sent.

use crate::card::{Card, CardError, Served};
use crate::clock::Clock;
use crate::error::{KernelError, Malformed};
use crate::process::Process;
use crate::time_travel::{MESSAGE_BYTES, Message, Mode, NEVER, Op, TIME_OF_DAY};
use crate::vhost_user::CALL_REPLY_BYTES;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};

/// The reason why a kernel has stopped running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// The kernel has sent frames through this card, and continues after [`Kernel::resume`].
    Sends(usize),
    /// The kernel waits for the time of [`Kernel::wakeup`] or for an interrupt.
    Waits,
}

/// The state of a card: not opened by the kernel yet, open, or closed.
#[derive(Debug)]
enum CardSlot {
    Listening(UnixListener),
    Open(Box<Card>),
    Closed,
}

#[derive(Debug)]
pub struct Kernel {
    number: usize,
    process: Process,
    time: UnixStream,
    events: OwnedFd,
    slots: Vec<CardSlot>,
    segmentation: bool,
    macs: Vec<[u8; 6]>,
    /// The sequence number of the kernel's start message, until it is answered.
    start: Option<u32>,
    sequence: u32,
    /// The guest time at which the kernel asks to run, in nanoseconds.
    request: u64,
    /// The last limit of the guest time in [`Mode::FreeUntil`]: the kernel may advance to it by itself.
    free_until: u64,
    /// The card whose kick has no answer yet, by index.
    kicked: Option<usize>,
    /// The seconds of processor time without a message after which a program in the kernel counts as spinning.
    spin_seconds: u64,
}

/// The number that stands for the time socket in events. Cards have numbers from zero.
const TIME: u64 = u64::MAX;
/// The time without a message after which the kernel's processor time is checked.
const SILENCE: Timespec = Timespec { tv_sec: 2, tv_nsec: 0 };

impl Kernel {
    /// Takes over a kernel that has connected. `time` is its time socket; `cards` are the listening socket and the
    /// Ethernet address of each card. A program that uses `spin_seconds` of processor time without letting time pass is
    /// an error.
    ///
    /// # Errors
    /// If the first message is not the start message of this kernel.
    pub fn new(
        number: usize, process: Process, time: UnixStream, cards: Vec<(UnixListener, [u8; 6])>, segmentation: bool,
        spin_seconds: u64,
    ) -> Result<Self, KernelError> {
        let events = epoll::create(epoll::CreateFlags::CLOEXEC);
        let events = events.map_err(KernelError::io("epoll"))?;
        let watch = |fd: &dyn std::os::fd::AsFd, data| {
            epoll::add(&events, fd.as_fd(), EventData::new_u64(data), EventFlags::IN).map_err(KernelError::io("epoll"))
        };
        watch(&time, TIME)?;
        for (index, (listener, _)) in cards.iter().enumerate() {
            watch(listener, index as u64)?;
        }
        let (listeners, macs): (Vec<_>, Vec<_>) = cards.into_iter().unzip();
        let slots = listeners.into_iter().map(CardSlot::Listening).collect();
        let mut kernel = Self {
            number,
            process,
            time,
            events,
            slots,
            segmentation,
            macs,
            start: None,
            sequence: 1 << 20,
            request: 0,
            free_until: NEVER,
            kicked: None,
            spin_seconds,
        };
        let first = kernel.receive()?;
        if first.op != Op::Start || first.time != number as u64 + 1 {
            return Err(kernel.malformed(Malformed::UnexpectedTime(first.op as u32)));
        }
        kernel.start = Some(first.sequence);
        Ok(kernel)
    }

    /// The guest time at which the kernel asks to run, in nanoseconds; `None` if it waits for an interrupt alone.
    pub fn wakeup(&self) -> Option<u64> {
        (self.request < NEVER).then_some(self.request)
    }

    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// The card with this index.
    ///
    /// # Errors
    /// If the card is not open.
    pub fn card(&mut self, index: usize) -> Result<&mut Card, KernelError> {
        let number = self.number;
        match self.slots.get_mut(index) {
            Some(CardSlot::Open(card)) => Ok(card),
            _ => Err(KernelError::Ended {
                kernel: number,
                log: format!("card {index} is not open\n{}", self.process.last_words()),
            }),
        }
    }

    fn malformed(&self, why: Malformed) -> KernelError {
        KernelError::Malformed { kernel: self.number, why }
    }

    fn ended(&mut self) -> KernelError {
        KernelError::Ended { kernel: self.number, log: self.process.last_words() }
    }

    fn receive(&mut self) -> Result<Message, KernelError> {
        let mut bytes = [0; MESSAGE_BYTES];
        if self.time.read_exact(&mut bytes).is_err() {
            return Err(self.ended());
        }
        Message::decode(bytes).map_err(|why| self.malformed(why))
    }

    fn send(&mut self, op: Op, sequence: u32, time: u64) -> Result<(), KernelError> {
        let bytes = Message { op, sequence, time }.encode();
        self.time.write_all(&bytes).map_err(|_| self.ended())
    }

    /// Lets the kernel run from the time of the clock until it sends or waits. The kernel may advance the time up to
    /// `free_until`, in guest nanoseconds.
    ///
    /// # Errors
    /// If the kernel ends, spins, or sends a malformed message.
    pub fn run(&mut self, clock: &mut Clock, free_until: u64) -> Result<Pause, KernelError> {
        self.request = NEVER;
        clock.hand_to(self.number, free_until)?;
        if let Some(sequence) = self.start.take() {
            self.answer_start(clock, sequence)?;
        } else {
            self.free_until = NEVER;
            if clock.mode() == Mode::FreeUntil {
                self.tell_free_until(clock, free_until)?;
            }
            self.sequence = self.sequence.wrapping_add(1);
            self.send(Op::Run, self.sequence, clock.now())?;
            if clock.mode() != Mode::Shared {
                self.await_answer(clock)?;
            }
        }
        self.serve(clock)
    }

    /// Lets the kernel continue after it has sent.
    ///
    /// # Errors
    /// See [`Kernel::run`].
    pub fn resume(&mut self, clock: &mut Clock, free_until: u64) -> Result<Pause, KernelError> {
        match clock.mode() {
            Mode::Plain => {}
            Mode::FreeUntil => self.tell_free_until(clock, free_until)?,
            Mode::Shared => clock.set_free_until(free_until)?,
        }
        if let Some(card) = self.kicked.take() {
            let number = self.number;
            self.card(card)?.acknowledge().map_err(|why| why.with_kernel(number))?;
        }
        self.serve(clock)
    }

    /// Answers the start message. The answer carries the file of the shared clock, and a file for the kernel's trace,
    /// which is not used.
    fn answer_start(&mut self, clock: &Clock, sequence: u32) -> Result<(), KernelError> {
        let Some(file) = clock.file() else { return self.send(Op::Ack, sequence, 0) };
        let time = self.number as u64 + 1;
        let bytes = Message { op: Op::Ack, sequence, time }.encode();
        let trace = std::fs::File::create("/dev/null").map_err(KernelError::io("/dev/null"))?;
        let files = [file, std::os::fd::AsFd::as_fd(&trace)];
        let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut beside = rustix::net::SendAncillaryBuffer::new(&mut space);
        beside.push(rustix::net::SendAncillaryMessage::ScmRights(&files));
        let flags = rustix::net::SendFlags::NOSIGNAL;
        let bytes = &[std::io::IoSlice::new(&bytes)];
        rustix::net::sendmsg(&self.time, bytes, &mut beside, flags).map_err(|_| self.ended())?;
        Ok(())
    }

    fn tell_free_until(&mut self, clock: &mut Clock, free_until: u64) -> Result<(), KernelError> {
        if free_until >= self.free_until.min(NEVER) {
            return Ok(());
        }
        self.free_until = free_until;
        self.sequence = self.sequence.wrapping_add(1);
        self.send(Op::FreeUntil, self.sequence, free_until)?;
        self.await_answer(clock)
    }

    /// Serves time messages of the kernel until it answers our last message.
    fn await_answer(&mut self, clock: &mut Clock) -> Result<(), KernelError> {
        loop {
            let message = self.receive()?;
            if message.op == Op::Ack {
                let expected = self.sequence;
                return match message.sequence {
                    got if got == expected => Ok(()),
                    got => Err(self.malformed(Malformed::Sequence { expected, got })),
                };
            }
            self.on_message(clock, message)?;
        }
    }

    /// Serves a time message. Returns true if the kernel waits.
    fn on_message(&mut self, clock: &mut Clock, message: Message) -> Result<bool, KernelError> {
        let Message { op, sequence, time } = message;
        let mut answer = 0;
        match op {
            Op::Request => self.request = time.min(NEVER),
            Op::Wait if clock.mode() == Mode::Shared => return Ok(true),
            Op::Get => answer = clock.now(),
            Op::Update => clock.advance(time),
            Op::GetTimeOfDay => answer = TIME_OF_DAY,
            Op::Wait | Op::Broadcast => {}
            Op::Ack | Op::Start | Op::Run | Op::FreeUntil => {
                return Err(self.malformed(Malformed::UnexpectedTime(op as u32)));
            }
        }
        self.send(Op::Ack, sequence, answer)?;
        Ok(op == Op::Wait)
    }

    /// Serves the kernel until it sends or waits.
    fn serve(&mut self, clock: &mut Clock) -> Result<Pause, KernelError> {
        loop {
            // Cards are served first: a kernel cannot wait before its card has answered.
            match self.next_event()? {
                TIME => {
                    let message = self.receive()?;
                    if self.on_message(clock, message)? {
                        clock.read()?;
                        self.read_request(clock)?;
                        clock.take_back()?;
                        return Ok(Pause::Waits);
                    }
                }
                card => {
                    clock.read()?;
                    let card = card as usize;
                    if self.serve_card(card)? {
                        self.kicked = Some(card);
                        return Ok(Pause::Sends(card));
                    }
                }
            }
        }
    }

    fn next_event(&mut self) -> Result<u64, KernelError> {
        let mut events = Vec::with_capacity(8);
        let mut spun = None;
        loop {
            events.clear();
            let space = rustix::buffer::spare_capacity(&mut events);
            match epoll::wait(&self.events, space, Some(&SILENCE)) {
                Err(rustix::io::Errno::INTR) => continue,
                other => other.map_err(KernelError::io("epoll"))?,
            };
            // `TIME` is the largest number, so that cards are served first, in their order.
            if let Some(first) = events.iter().map(|event| event.data.u64()).min() {
                return Ok(first);
            }
            let used = self.process.processor_time().ok_or_else(|| self.ended())?;
            let since = used.saturating_sub(*spun.get_or_insert(used)) / 100;
            if since >= self.spin_seconds {
                return Err(KernelError::Spins { kernel: self.number, seconds: since });
            }
        }
    }

    /// Serves a request of the kernel to a card. Returns true if the kernel sends.
    fn serve_card(&mut self, index: usize) -> Result<bool, KernelError> {
        let number = self.number;
        match &mut self.slots[index] {
            CardSlot::Closed => Ok(false),
            CardSlot::Open(card) => match card.serve().map_err(|why| why.with_kernel(number))? {
                Served::Answered => Ok(false),
                Served::Kicked => Ok(true),
                Served::Closed => {
                    self.slots[index] = CardSlot::Closed;
                    Ok(false)
                }
            },
            CardSlot::Listening(listener) => {
                let (socket, _) = listener.accept().map_err(KernelError::io("a card's socket"))?;
                epoll::delete(&self.events, &*listener).map_err(KernelError::io("epoll"))?;
                let data = EventData::new_u64(index as u64);
                let added = epoll::add(&self.events, &socket, data, EventFlags::IN);
                added.map_err(KernelError::io("epoll"))?;
                let card = Card::new(socket, self.macs[index], self.segmentation);
                let card = card.map_err(|why| self.malformed(why))?;
                self.slots[index] = CardSlot::Open(Box::new(card));
                Ok(false)
            }
        }
    }

    fn read_request(&mut self, clock: &Clock) -> Result<(), KernelError> {
        if let Some(request) = clock.request(self.number)? {
            self.request = request.min(NEVER);
        }
        Ok(())
    }

    /// Interrupts the waiting kernel because a card has used buffers in the pending queues (receive, transmit). False
    /// if the kernel has interrupts of these queues disabled.
    ///
    /// # Errors
    /// If the kernel ends or sends a malformed message.
    pub fn interrupt(&mut self, clock: &mut Clock, card: usize, pending: [bool; 2]) -> Result<bool, KernelError> {
        let number = self.number;
        let of = |why: CardError| why.with_kernel(number);
        let open = self.card(card)?;
        let calls = open.calls(pending).map_err(|why| of(why.into()))?;
        if calls.is_empty() {
            return Ok(false);
        }
        clock.take_back()?;
        let mut channel = open.channel().ok_or_else(|| of(Malformed::NoFile(21).into()))?;
        channel.write_all(&calls).map_err(|why| of(why.into()))?;
        self.await_call_reply(clock, card)?;
        self.read_request(clock)?;
        Ok(true)
    }

    /// Waits until the kernel has answered a call. It asks to run before it answers.
    fn await_call_reply(&mut self, clock: &mut Clock, card: usize) -> Result<(), KernelError> {
        let number = self.number;
        let mut reply = [0; CALL_REPLY_BYTES];
        loop {
            let time_came = clock.mode() != Mode::Shared && {
                let time = self.time.try_clone().map_err(KernelError::io("a socket"))?;
                let open = self.card(card)?;
                let Some(channel) = open.channel() else {
                    return Err(self.malformed(Malformed::NoFile(21)));
                };
                let mut either = [PollFd::new(&time, PollFlags::IN), PollFd::new(channel, PollFlags::IN)];
                match rustix::event::poll(&mut either, None) {
                    Err(rustix::io::Errno::INTR) => continue,
                    other => other.map_err(KernelError::io("poll"))?,
                };
                !either[0].revents().is_empty()
            };
            if time_came {
                let message = self.receive()?;
                self.on_message(clock, message)?;
                continue;
            }
            let open = self.card(card)?;
            let read = open.channel().map(|mut channel| channel.read_exact(&mut reply));
            return match read {
                Some(Ok(())) => Ok(()),
                Some(Err(why)) => Err(CardError::from(why).with_kernel(number)),
                None => Err(self.malformed(Malformed::NoFile(21))),
            };
        }
    }
}

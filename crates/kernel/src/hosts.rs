//! All kernels of a run as one machine of the simulator.
//!
//! A kernel runs until it waits or sends. When it sends, it pauses, so that the simulator puts its packets into the
//! network at the time at which they were sent. Their effects may come before the kernel's next step, so the kernel
//! then gets a new limit of the time to which it may advance. The buffers of a frame return to the kernel when the
//! host's link has sent the last bit, as TCP small queues and the queue discipline expect. Interrupts may be moderated:
//! each card has at most one in a given time.

mod late;

use crate::card::Sent;
use crate::clock::{BOOTED, Clock, guest_time, run_time};
use crate::console::{self, ShellMessage, Terminal};
use crate::error::{KernelError, Malformed};
use crate::folder::Folder;
use crate::kernel::{Kernel, Pause};
use crate::{lateness::LateHosts, launch::Start, process::Process, processor::Processor};
use shallop_core::{Packet, Span, Time};
use shallop_hosts::{Head, HostEndpoint, HostPackets, SentPacket, addresses};
use shallop_proto::Endpoint;
use shallop_results::summary::RehearsalOfRun;
use shallop_sim::{Outgoing, RealHosts};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

const RECEIVE: usize = 0;
const TRANSMIT: usize = 1;
/// The time for the reports of agents after the end of a run, in guest nanoseconds.
const REPORT: u64 = 100_000_000;

/// An action at a network card at a scheduled time. The first number is the card's host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum CardAction {
    /// Return the buffers of a sent frame to the kernel, because the host's link has sent its last bit.
    Complete(u32, u16),
    /// Interrupt the kernel because a card has used buffers.
    Interrupt(u32),
    /// Send the typed line to the card of the console.
    Line,
    /// Give the next late frame to its host.
    Deliver,
    /// Send the next late packet of a host.
    Send,
    /// Stand still: the clocks of kernels go on by this many nanoseconds, the network's does not.
    StandStill(u64),
}

#[derive(Clone, Copy, Debug, Default)]
struct HostCard {
    kernel: usize,
    card: usize,
    /// The queues (receive, transmit) that have used buffers of which the kernel does not know.
    pending: [bool; 2],
    /// Whether an interrupt of the card is scheduled.
    armed: bool,
}

/// A packet of a kernel that the simulator has not taken yet.
#[derive(Debug)]
pub(crate) struct Waiting {
    at: u64,
    packet: SentPacket,
    /// The host and the buffers of the frame; `None` except for the last packet of a frame.
    complete: Option<(u32, u16)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelCounters {
    /// Frames that were lost because a card's receive ring had no buffer.
    pub no_receive_buffer: u64,
    /// Frames from kernels that belong to no flow.
    pub strays: u64,
    pub interrupts: u64,
}

#[derive(Debug)]
pub struct Kernels {
    machines: Vec<Kernel>,
    clock: Clock,
    cards: Vec<HostCard>,
    /// The shortest time between two interrupts of a card (interrupt moderation).
    moderation: Span,
    packets: HostPackets,
    due: BinaryHeap<Reverse<(Time, u64, CardAction)>>,
    scheduled: u64,
    waiting: VecDeque<Waiting>,
    /// The packet that the simulator took last.
    taken: Option<Waiting>,
    /// The index of the kernel that paused to send, and continues next.
    paused: Option<usize>,
    now: Time,
    counters: KernelCounters,
    failure: Option<KernelError>,
    /// The folder of programs' files, if there are programs.
    folder: Option<Folder>,
    console: Option<Console>,
    late: Option<LateHosts>,
    /// The time for which the network stood still, in nanoseconds.
    stood_still: u64,
    /// Keeps this thread and its kernels on one processor.
    _processor: Option<Processor>,
}

/// The console of a host, by which a user's terminal reaches the shell in it.
struct Console {
    /// The index of the console's card among all cards; it follows the cards of hosts.
    card: u32,
    terminal: Box<dyn Terminal>,
    /// The line that the user typed last.
    line: String,
}

impl std::fmt::Debug for Console {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Console").field("card", &self.card).finish_non_exhaustive()
    }
}

/// The kernels' results at the end of a run.
#[derive(Debug)]
pub struct Finished {
    pub counters: KernelCounters,
    /// The log of each kernel.
    pub logs: Vec<String>,
    /// The folder of programs' files, if there were programs. Dropping it removes the files.
    pub folder: Option<Folder>,
    /// The lateness of hosts, if they were late on purpose.
    pub lateness: Option<RehearsalOfRun>,
}

impl Kernels {
    /// The guest time of a time of the run, in nanoseconds, rounded up.
    fn guest(&self, time: Time) -> u64 {
        guest_time(time).saturating_add(self.stood_still)
    }

    /// The time of the run of a guest time in nanoseconds.
    fn run_time(&self, guest: u64) -> Time {
        run_time(guest.saturating_sub(self.stood_still))
    }

    /// Starts and boots the kernels. `moderation` is the shortest time between two interrupts of a card.
    ///
    /// # Errors
    /// If a kernel cannot be started, or does not boot.
    pub fn boot(start: &Start<'_>, moderation: Span, uses_legacy_classes: bool) -> Result<Self, KernelError> {
        let processor = Processor::take();
        let (machines, clock, folder) = start.kernels()?;
        let count = start.hosts.iter().flatten().max().map_or(0, |&most| most as usize + 1);
        let mut cards = vec![HostCard::default(); count];
        for (kernel, hosts) in start.hosts.iter().enumerate() {
            for (card, &host) in hosts.iter().enumerate() {
                cards[host as usize] = HostCard { kernel, card, ..HostCard::default() };
            }
        }
        if let Some(kernel) = start.console_kernel() {
            let card = start.hosts[kernel].len();
            cards.push(HostCard { kernel, card, ..HostCard::default() });
        }
        let mut all = Self {
            machines,
            clock,
            cards,
            moderation,
            packets: HostPackets::new(uses_legacy_classes),
            due: BinaryHeap::new(),
            scheduled: 0,
            waiting: VecDeque::new(),
            taken: None,
            paused: None,
            now: Time::ZERO,
            counters: KernelCounters::default(),
            failure: None,
            folder: None,
            console: None,
            late: None,
            stood_still: 0,
            _processor: processor,
        };
        all.run_alone(BOOTED)?;
        // Only programs still need the folder: every kernel has read its files and opened its sockets.
        all.folder = Some(folder).filter(|_| !start.flows.programs.is_empty());
        all.counters = KernelCounters::default();
        Ok(all)
    }

    /// Runs all kernels without a network until this guest time. The packets that they send are lost.
    fn run_alone(&mut self, until: u64) -> Result<(), KernelError> {
        loop {
            let next = self.next_kernel().filter(|&(at, _)| at < until);
            let Some((at, kernel)) = next else { break };
            self.clock.advance(at);
            let free = self.other_requests(kernel).min(until);
            let mut pause = self.machines[kernel].run(&mut self.clock, free)?;
            while let Pause::Sends(card) = pause {
                let number = kernel;
                let open = self.machines[kernel].card(card)?;
                let of = |why| KernelError::Malformed { kernel: number, why };
                while let Some(Sent { head, .. }) = open.take().map_err(of)? {
                    open.complete(head).map_err(of)?;
                }
                pause = self.machines[kernel].resume(&mut self.clock, free)?;
            }
        }
        self.clock.advance(until);
        Ok(())
    }

    /// Lets agents report after the end of the run. Programs that still run are ended.
    ///
    /// # Errors
    /// The error that ended the run early, if there was one.
    pub fn finish(mut self, end: Time) -> Result<Finished, KernelError> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        if let Some(kernel) = self.paused.take() {
            let until = self.guest(end);
            while self.machines[kernel].resume(&mut self.clock, until)? != Pause::Waits {}
        }
        self.run_alone(self.guest(end).saturating_add(REPORT))?;
        let logs: Result<Vec<_>, _> = self.machines.iter_mut().map(|k| k.process().log()).collect();
        let lateness = self.late.as_ref().map(LateHosts::result);
        Ok(Finished { counters: self.counters, logs: logs?, folder: self.folder.take(), lateness })
    }

    /// The processes of the kernels, in their order.
    pub fn processes(&mut self) -> impl Iterator<Item = &mut Process> {
        self.machines.iter_mut().map(Kernel::process)
    }

    /// The guest time and the index of the kernel that asks to run first.
    fn next_kernel(&self) -> Option<(u64, usize)> {
        let wakeups = self.machines.iter().enumerate();
        wakeups.filter_map(|(number, kernel)| Some((kernel.wakeup()?, number))).min()
    }

    /// The first guest time at which a kernel other than this one asks to run.
    fn other_requests(&self, running: usize) -> u64 {
        let others = self.machines.iter().enumerate().filter(|&(number, _)| number != running);
        others.filter_map(|(_, kernel)| kernel.wakeup()).min().unwrap_or(u64::MAX)
    }

    /// The guest time up to which this kernel may advance without asking.
    fn free_until(&self, kernel: usize, horizon: Time) -> u64 {
        let due = self.due.peek().map_or(Time::LAST, |Reverse((at, ..))| *at);
        self.guest(horizon.min(due)).min(self.other_requests(kernel))
    }

    fn schedule(&mut self, at: Time, action: CardAction) {
        self.scheduled += 1;
        self.due.push(Reverse((at, self.scheduled, action)));
    }

    /// Performs the next due action: of the paused kernel, of a card, or of the next kernel. False if nothing is due.
    fn step(&mut self, horizon: Time) -> Result<bool, KernelError> {
        if let Some(kernel) = self.paused.take() {
            let free = self.free_until(kernel, horizon);
            let pause = self.machines[kernel].resume(&mut self.clock, free)?;
            self.on_pause(kernel, pause)?;
            return Ok(true);
        }
        if let Some(Reverse((at, ..))) = self.due.peek()
            && *at <= self.now
            && let Some(Reverse((_, _, action))) = self.due.pop()
        {
            self.on_due(action)?;
            return Ok(true);
        }
        match self.next_kernel() {
            Some((at, kernel)) if self.run_time(at) <= self.now => {
                let free = self.free_until(kernel, horizon);
                let pause = self.machines[kernel].run(&mut self.clock, free)?;
                self.on_pause(kernel, pause)?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    fn on_due(&mut self, action: CardAction) -> Result<(), KernelError> {
        match action {
            CardAction::Complete(host, head) => {
                let HostCard { kernel, card, .. } = self.cards[host as usize];
                let open = self.machines[kernel].card(card)?;
                open.complete(head).map_err(|why| KernelError::Malformed { kernel, why })?;
                self.raise(host, TRANSMIT);
            }
            CardAction::Line => {
                let Some(Console { card, line, .. }) = &self.console else { return Ok(()) };
                let (host, HostCard { kernel, card, .. }) = (*card, self.cards[*card as usize]);
                let malformed = |why| KernelError::Malformed { kernel, why };
                let frame = console::frame(line, addresses::mac(host)).map_err(malformed)?;
                self.machines[kernel].card(card)?.give(&frame).map_err(malformed)?;
                self.raise(host, RECEIVE);
            }
            CardAction::Deliver => {
                let next = self.late.as_mut().and_then(|late| late.deliveries.pop_front());
                if let Some((host, frame)) = next {
                    self.give(host, &frame)?;
                }
            }
            CardAction::Send => {
                self.waiting.extend(self.late.as_mut().and_then(|late| late.sends.pop_front()));
            }
            CardAction::StandStill(length) => self.stand_still(length)?,
            CardAction::Interrupt(host) => {
                let of = &mut self.cards[host as usize];
                of.armed = false;
                let HostCard { kernel, card, pending, .. } = *of;
                of.pending = [false; 2];
                let done = self.machines[kernel].interrupt(&mut self.clock, card, pending)?;
                self.counters.interrupts += u64::from(done);
            }
        }
        Ok(())
    }

    /// Schedules an interrupt for used buffers in a queue, as soon as the card may interrupt again.
    fn raise(&mut self, host: u32, queue: usize) {
        let card = &mut self.cards[host as usize];
        card.pending[queue] = true;
        if !std::mem::replace(&mut card.armed, true) {
            let at = self.now.saturating_add(self.moderation);
            self.schedule(at, CardAction::Interrupt(host));
        }
    }

    /// Takes the frames that a kernel has sent, if it paused to send.
    fn on_pause(&mut self, kernel: usize, pause: Pause) -> Result<(), KernelError> {
        let Pause::Sends(card) = pause else { return Ok(()) };
        self.paused = Some(kernel);
        let at = self.clock.now();
        let of = |why: Malformed| KernelError::Malformed { kernel, why };
        if let Some(console) = self.console.as_ref().map(|console| console.card)
            && let HostCard { kernel: at, card: number, .. } = self.cards[console as usize]
            && (at, number) == (kernel, card)
        {
            return self.on_console(kernel, card);
        }
        while let Some(sent) = self.machines[kernel].card(card)?.take().map_err(of)? {
            if !self.queue(at, sent.packets, sent.head) {
                self.counters.strays += 1;
                self.machines[kernel].card(card)?.complete(sent.head).map_err(of)?;
            }
        }
        Ok(())
    }

    /// Connects a terminal to the console. Kernels must have been started with a shell.
    pub fn set_terminal(&mut self, terminal: Box<dyn Terminal>) {
        let card = self.cards.len().saturating_sub(1) as u32;
        self.console = Some(Console { card, terminal, line: String::new() });
    }

    /// Takes messages of the shell from the console's card, and reads the next line when the shell waits for one.
    fn on_console(&mut self, kernel: usize, card: usize) -> Result<(), KernelError> {
        let of = |why: Malformed| KernelError::Malformed { kernel, why };
        let now = self.run_time(self.clock.now());
        while let Some(sent) = self.machines[kernel].card(card)?.take().map_err(of)? {
            let Some(console) = &mut self.console else { return Ok(()) };
            self.due.push(Reverse((now, self.scheduled, CardAction::Complete(console.card, sent.head))));
            self.scheduled += 1;
            match sent.packets.first().and_then(|frame| console::shell_message(frame)) {
                Some(ShellMessage::Output(text)) => console.terminal.output(&text),
                Some(ShellMessage::Done(status)) => {
                    console.line = console.terminal.line(status, now).ok_or(KernelError::Left)?;
                    self.schedule(now, CardAction::Line);
                }
                None => {}
            }
        }
        Ok(())
    }

    /// Queues the packets of a frame for the simulator. False if they belong to no flow.
    fn queue(&mut self, at: u64, packets: Vec<Vec<u8>>, buffers: u16) -> bool {
        let last = packets.len() - 1;
        for (index, packet) in packets.into_iter().enumerate() {
            let Some(classified) = self.packets.classify(&packet) else { return false };
            let packet = self.packets.insert(&classified, packet);
            let complete = (index == last).then_some((packet.host, buffers));
            self.queue_packet(Waiting { at, packet, complete });
        }
        true
    }

    fn outgoing<H>(&self, waiting: &Waiting, now: Time, horizon: Time) -> Outgoing<Head<H>> {
        let Waiting { at, packet, .. } = waiting;
        let (from, out) = (packet.from, self.packets.outgoing(packet));
        // Guest time is in whole nanoseconds, so it may be a fraction of one after the horizon.
        Outgoing { at: self.run_time(*at).min(horizon).max(now), from, out }
    }
}

impl<E: Endpoint> RealHosts<HostEndpoint<E>> for Kernels {
    fn wakeup(&self) -> Option<Time> {
        if self.failure.is_some() {
            return None;
        }
        let kernel = self.next_kernel().map(|(at, _)| self.run_time(at));
        let due = self.due.peek().map(|Reverse((at, ..))| *at);
        let first = kernel.into_iter().chain(due).min()?;
        Some(first.max(self.now))
    }

    fn run(&mut self, now: Time, horizon: Time) -> Option<Outgoing<Head<E::Head>>> {
        self.now = now;
        self.clock.advance(self.guest(now));
        while self.failure.is_none() {
            if let Some(waiting) = self.waiting.pop_front() {
                let outgoing = self.outgoing(&waiting, self.now, horizon.max(now));
                self.taken = Some(waiting);
                return Some(outgoing);
            }
            match self.step(horizon) {
                Ok(true) => {}
                Ok(false) => return None,
                Err(failure) => self.failure = Some(failure),
            }
        }
        None
    }

    fn on_start(&mut self, flow: u32, sender: &HostEndpoint<E>) {
        self.packets.start(flow, sender);
    }

    fn on_sent(&mut self, endpoint: &mut HostEndpoint<E>, leaves: Option<Time>) {
        let Some(taken) = self.taken.take() else { return };
        if let Some(monitor) = endpoint.monitor() {
            monitor.on_sent(self.run_time(taken.at), &taken.packet.head);
        }
        if leaves.is_none() {
            self.packets.drop::<E::Head>(&Head::Frame(taken.packet.head));
        }
        if let Some((host, buffers)) = taken.complete {
            let at = leaves.unwrap_or(self.now).max(self.now);
            self.schedule(at, CardAction::Complete(host, buffers));
        }
    }

    fn on_packet(&mut self, now: Time, packet: &Packet<Head<E::Head>>) {
        let Some(arrived) = self.packets.deliver(packet, self.cards.len()) else { return };
        let (host, frame) = (arrived.host, arrived.frame);
        self.now = now;
        self.clock.advance(self.guest(now));
        let at = self.late.as_mut().map_or(now, |late| late.happens(now, 0));
        if at > now {
            if let Some(late) = &mut self.late {
                late.deliveries.push_back((host, frame));
            }
            return self.schedule(at, CardAction::Deliver);
        }
        if let Err(failure) = self.give(host, &frame) {
            self.failure = Some(failure);
        }
    }

    fn on_dropped(&mut self, head: &Head<E::Head>) {
        self.packets.drop(head);
    }

    fn on_duplicated(&mut self, head: &mut Head<E::Head>) -> bool {
        self.packets.duplicate(head)
    }
}

//! A driver for both ends of a flow. The network between them loses, repeats, reorders, marks and forges packets, and
//! delivers them at arbitrary times; links take few packets at a time.

use crate::draw;
use arbitrary::{Result, Unstructured};
use shallop_core::{Class, Ecn, Time};
use shallop_proto::{Endpoint, Nic, Out, settle, wire};

/// The most packets in flight in one direction; further packets are lost.
const MOST_IN_FLIGHT: usize = 256;
/// The most deadlines of a run: a paced end has millions of deadlines in a second of silence.
const MOST_DEADLINES: u32 = 4_000;
/// An end with more deadlines at one instant is stuck in a loop.
const MOST_AT_ONCE: u32 = 64;
/// The most packets of metered classes that an end may send at one instant.
const MOST_METERED: u32 = 10_000;

/// Forges the head of a packet that arrives at this time.
pub type Forge<H> = fn(&mut Unstructured<'_>, Time) -> Result<H>;

/// A host's link that takes `room` packets and is then busy until the next event.
struct Link<H> {
    room: u32,
    metered: u32,
    sent: Vec<(H, Ecn)>,
}

impl<H> Link<H> {
    fn take(&mut self, out: Out<H>) {
        assert!(out.body.start <= out.body.end, "a packet that carries {:?}", out.body);
        // `ack_size` sets the length of acknowledgements.
        let least = if out.class == Class::Ack { 40 } else { wire::MIN_FRAME };
        assert!(out.size >= least, "a frame of {} bytes", out.size);
        self.sent.push((out.head, out.ecn));
    }
}

impl<H> Nic<H> for Link<H> {
    fn meter(&mut self, _: Time, out: Out<H>) {
        assert!(matches!(out.class, Class::Credit | Class::Emulation), "metered {:?}", out.class);
        self.metered += 1;
        assert!(self.metered < MOST_METERED, "it does not stop talking");
        self.take(out);
    }

    fn is_free(&mut self, _: Time) -> bool {
        self.room > 0
    }

    fn send(&mut self, _: Time, out: Out<H>) {
        self.room -= 1;
        self.take(out);
    }

    fn wait(&mut self, _: Time, _: bool) {}
}

/// Both ends of a flow, the sender first.
pub struct Flow<E: Endpoint> {
    ends: [E; 2],
    now: Time,
    /// The packets in flight to each end, oldest first.
    flying: [Vec<(E::Head, Ecn)>; 2],
    deadlines: u32,
}

impl<E: Endpoint> Flow<E> {
    pub fn new(sender: E, receiver: E) -> Self {
        let flying = [Vec::new(), Vec::new()];
        Self { ends: [sender, receiver], now: Time::ZERO, flying, deadlines: 0 }
    }

    /// Follows the input until it ends. `forge` forges packets.
    ///
    /// # Panics
    /// If an end has a deadline in the past, sends without end, or has impossible counters.
    pub fn run(mut self, u: &mut Unstructured<'_>, forge: Forge<E::Head>) -> Result<()> {
        self.ends[0].on_timer(self.now);
        self.speak(0, 8);
        let mut forged = false;
        while !u.is_empty() {
            let pause = draw::pause(u)?;
            if !self.sleep(self.now.saturating_add(pause)) {
                return Ok(());
            }
            let to = usize::from(u.arbitrary::<bool>()?);
            match u.int_in_range(0..=9u8)? {
                0..=5 => self.deliver(u, to)?,
                6 => drop(self.pick(u, to)?),
                7 => self.ends[to].on_timer(self.now),
                8 => {
                    forged = true;
                    let head = forge(u, self.now)?;
                    self.ends[to].on_packet(self.now, &head, draw::ecn(u)?);
                }
                _ => {}
            }
            self.speak(to, u32::from(u.arbitrary::<u8>()? % 20));
            self.check(forged);
        }
        Ok(())
    }

    /// Removes a packet in flight.
    fn pick(&mut self, u: &mut Unstructured<'_>, to: usize) -> Result<Option<(E::Head, Ecn)>> {
        let flying = &mut self.flying[to];
        let index = if u.ratio(1u8, 4u8)? { usize::from(u.arbitrary::<u8>()?) } else { 0 };
        Ok((index < flying.len()).then(|| flying.remove(index)))
    }

    fn deliver(&mut self, u: &mut Unstructured<'_>, to: usize) -> Result<()> {
        let Some((head, ecn)) = self.pick(u, to)? else { return Ok(()) };
        let marked = ecn.is_ect() && u.ratio(1u8, 8u8)?;
        let ecn = if marked { Ecn::Ce } else { ecn };
        self.ends[to].on_packet(self.now, &head, ecn);
        if u.ratio(1u8, 16u8)? {
            self.ends[to].on_packet(self.now, &head, ecn);
        }
        Ok(())
    }

    /// Calls the timers that are due up to `until`. Returns false if there are too many.
    fn sleep(&mut self, until: Time) -> bool {
        let mut at_once = 0;
        loop {
            let due = |end: usize| Some((self.ends[end].wakeup()?, end));
            let Some((due, end)) = due(0).into_iter().chain(due(1)).min() else { break };
            assert!(due >= self.now, "end {end}: a deadline at {due:?}, before {:?}", self.now);
            if due > until {
                break;
            }
            at_once = if due == self.now { at_once + 1 } else { 0 };
            assert!(at_once < MOST_AT_ONCE, "end {end}: the same deadline again and again");
            self.deadlines += 1;
            if self.deadlines > MOST_DEADLINES {
                return false;
            }
            self.now = due;
            self.ends[end].on_timer(due);
            self.speak(end, 4);
        }
        self.now = until;
        true
    }

    /// Lets an end send what its link takes.
    fn speak(&mut self, end: usize, room: u32) {
        let mut link = Link { room, metered: 0, sent: Vec::new() };
        let wakeup = settle(&mut self.ends[end], self.now, &mut link);
        assert!(wakeup.is_none_or(|at| at >= self.now), "end {end}: a deadline at {wakeup:?}, before {:?}", self.now);
        let flying = &mut self.flying[1 - end];
        flying.extend(link.sent);
        flying.truncate(MOST_IN_FLIGHT);
    }

    fn check(&self, forged: bool) {
        let [sender, receiver] = [self.ends[0].counters(), self.ends[1].counters()];
        assert!(sender.retransmits <= sender.sent, "{sender:?}");
        if forged {
            return;
        }
        // Without forged packets, nothing arrives or is acknowledged that was not sent.
        let credits = sender.credits;
        assert!(credits.granted >= credits.used + credits.wasted, "{credits:?}");
        let complete = self.ends[0].is_complete();
        assert!(!complete || self.ends[1].is_complete(), "acknowledged, and not received");
        assert!(receiver.received == 0 || sender.sent > 0, "{receiver:?}");
    }
}

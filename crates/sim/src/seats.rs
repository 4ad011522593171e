//! Where the ends of flows sit. A flow takes two seats when it starts. Once both its ends have done all they had to,
//! none of them has a deadline and none of its packets is queued or on a wire, nothing can ever happen to it again: it
//! retires, and its seats go to a later flow. So memory grows with the flows under way, not with those that have been.
//!
//! State: the seats in pairs, which of them are free, and for each flow its seats and hosts; of the first flows that
//! have retired nothing. An end's place, twice the
//! number of its flow's pair of seats plus one for the receiver, is its number towards the agenda.

use shallop_core::{End, Node};
use shallop_proto::{Endpoint, Report, Row};

/// An end and where it is.
#[derive(Clone, Debug)]
pub(crate) struct Seat<E> {
    pub machine: E,
    /// The port of its host that its packets leave by.
    pub nic: u32,
    /// Where it waits for its turn, if it does.
    pub waiting: Option<Row>,
    /// It has been seen complete.
    pub complete: bool,
}

/// A flow that has retired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retired {
    /// Its number.
    pub flow: u32,
    /// What its sender did.
    pub sender: Report,
    /// What its receiver did.
    pub receiver: Report,
}

/// The two ends of a flow.
#[derive(Clone, Debug)]
struct Pair<E> {
    ends: [Seat<E>; 2],
    /// Packets of the flow that are queued or on a wire.
    under_way: u32,
    /// The flow; [`NOBODY`] once it has retired.
    flow: u32,
}

const NOBODY: u32 = u32::MAX;

/// All seats.
#[derive(Debug)]
pub(crate) struct Seats<E> {
    pairs: Vec<Pair<E>>,
    /// Pairs of seats that nobody takes, the next one last.
    free: Vec<u32>,
    /// By flow, from `first` on: its pair of seats, and the hosts of its ends. Those before it have retired.
    flows: Vec<(u32, [Node; 2])>,
    first: u32,
    retires: bool,
    retired: Vec<Retired>,
}

impl<E> Default for Seats<E> {
    fn default() -> Self {
        let (pairs, free, flows, retired) = (vec![], vec![], vec![], vec![]);
        Self { pairs, free, flows, first: 0, retires: false, retired }
    }
}

impl<E: Endpoint> Seats<E> {
    /// The sending end of the next flow.
    pub fn next_flow(&self) -> End {
        End::sender(self.started() as u32)
    }

    /// How many flows have been seated.
    pub fn started(&self) -> usize {
        self.first as usize + self.flows.len()
    }

    /// The pair of seats of an end's flow, and the hosts of its ends.
    #[inline]
    fn of(&self, end: End) -> &(u32, [Node; 2]) {
        &self.flows[(end.flow() - self.first) as usize]
    }

    /// Seats the ends of the next flow, which are at these hosts.
    pub fn add(&mut self, ends: [Seat<E>; 2], hosts: [Node; 2]) {
        let pair = Pair { ends, under_way: 0, flow: self.started() as u32 };
        let place = if let Some(place) = self.free.pop() {
            self.pairs[place as usize] = pair;
            place
        } else {
            self.pairs.push(pair);
            self.pairs.len() as u32 - 1
        };
        self.flows.push((place, hosts));
    }

    /// The host this end is at.
    #[inline]
    pub fn host(&self, end: End) -> Node {
        self.of(end).1[(end.0 & 1) as usize]
    }

    /// The place of an end.
    #[inline]
    pub fn place(&self, end: End) -> u32 {
        self.of(end).0 << 1 | end.0 & 1
    }

    /// The end that has this place.
    #[inline]
    pub fn end(&self, place: u32) -> End {
        End(self.pairs[(place >> 1) as usize].flow << 1 | place & 1)
    }

    /// The seat of an end whose flow has not retired.
    #[inline]
    pub fn get(&mut self, end: End) -> &mut Seat<E> {
        self.get_counted(end).0
    }

    /// The same, and how many packets of its flow are under way.
    #[inline]
    pub fn get_counted(&mut self, end: End) -> (&mut Seat<E>, &mut u32) {
        let place = self.of(end).0;
        let pair = &mut self.pairs[place as usize];
        debug_assert!(pair.flow == end.flow(), "nothing happens to a flow that has retired");
        (&mut pair.ends[(end.0 & 1) as usize], &mut pair.under_way)
    }

    /// A packet of this end's flow is no longer under way.
    #[inline]
    pub fn landed(&mut self, end: End) {
        let (_, under_way) = self.get_counted(end);
        debug_assert!(*under_way > 0, "what lands was sent");
        *under_way -= 1;
    }

    /// Whether nothing but a deadline can happen to the flow of this end any more.
    #[inline]
    pub fn is_over(&self, end: End) -> bool {
        let pair = &self.pairs[self.of(end).0 as usize];
        let [sender, receiver] = &pair.ends;
        let idle = |seat: &Seat<E>| seat.complete && seat.waiting.is_none();
        pair.under_way == 0 && self.retires && idle(sender) && idle(receiver)
    }

    /// The flow of this end retires.
    pub fn remove(&mut self, end: End) {
        let place = self.of(end).0;
        let pair = &mut self.pairs[place as usize];
        pair.flow = NOBODY;
        self.flows[(end.flow() - self.first) as usize].0 = NOBODY;
        let [sender, receiver] = pair.ends.each_ref().map(|seat| seat.machine.report());
        self.free.push(place);
        self.retired.push(Retired { flow: end.flow(), sender, receiver });
    }

    /// From now on flows retire.
    pub fn retire(&mut self) {
        self.retires = true;
    }

    /// The flows that have retired since the last call.
    pub fn take_retired(&mut self) -> Vec<Retired> {
        self.forget();
        std::mem::take(&mut self.retired)
    }

    /// Forgets the first flows if they have retired, and are at least half of those that are known.
    fn forget(&mut self) {
        let gone = self.flows.iter().take_while(|(place, _)| *place == NOBODY).count();
        if gone > 0 && gone * 2 >= self.flows.len() {
            self.flows.drain(..gone);
            self.first += gone as u32;
        }
    }

    /// The ends that are seated, by place.
    pub fn all(&self) -> impl Iterator<Item = (End, &E)> {
        self.pairs.iter().filter(|pair| pair.flow != NOBODY).flat_map(|pair| {
            let [sender, receiver] = &pair.ends;
            let (first, second) = (End::sender(pair.flow), End::receiver(pair.flow));
            [(first, &sender.machine), (second, &receiver.machine)]
        })
    }
}

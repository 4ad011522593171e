//! Where the ends of flows sit. A flow takes two seats when it starts. Once both its ends have done all they had to,
//! none of them has a deadline and none of its packets is queued or on a wire, nothing can ever happen to it again: it
//! retires, and its seats go to a later flow. So memory grows with the flows under way, not with those that have been.
//!
//! Flows may share connections: one that starts then takes the seats of one that has retired between the same hosts, if
//! there is any, goes on where its ends ended and by the way it went.
//!
//! State: the seats in pairs, which of them are free or kept, and for each flow its seats and hosts; of the first flows
//! that have retired nothing. An end's place, twice the number of its flow's pair of seats plus one for the receiver,
//! is its number towards the agenda.

use std::collections::BTreeMap;

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
    /// The first flow of its connection, whose way all of them go.
    way: u32,
    /// Whose connections it is one of, if it is kept.
    line: Option<Line>,
}

/// The connections of a number between two hosts.
type Line = (u32, [Node; 2]);

/// A flow under way.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// Its pair of seats; [`NOBODY`] once it has retired.
    place: u32,
    hosts: [Node; 2],
    way: u32,
}

const NOBODY: u32 = u32::MAX;

/// All seats.
#[derive(Debug)]
pub(crate) struct Seats<E> {
    pairs: Vec<Pair<E>>,
    /// Pairs of seats that nobody takes, the next one last.
    free: Vec<u32>,
    /// Pairs of seats of idle connections, the one that was used last last.
    kept: BTreeMap<Line, Vec<u32>>,
    /// By flow, from `first` on. Those before it have retired.
    flows: Vec<Known>,
    first: u32,
    retires: bool,
    retired: Vec<Retired>,
}

impl<E> Default for Seats<E> {
    fn default() -> Self {
        let (pairs, free, flows, retired) = (vec![], vec![], vec![], vec![]);
        let kept = BTreeMap::new();
        Self { pairs, free, kept, flows, first: 0, retires: false, retired }
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
    fn of(&self, end: End) -> &Known {
        &self.flows[(end.flow() - self.first) as usize]
    }

    /// The flow whose way the next flow will go: its own, or that of the connection between these hosts it will take.
    pub fn way(&self, connections: Option<u32>, hosts: [Node; 2]) -> u32 {
        let idle = connections.and_then(|number| self.kept.get(&(number, hosts))?.last());
        idle.map_or(self.started() as u32, |&place| self.pairs[place as usize].way)
    }

    /// Seats the ends of the next flow, which are at these hosts. If it may take a connection of this number, and there
    /// is an idle one, it goes on where that ended.
    pub fn add(&mut self, mut ends: [Seat<E>; 2], hosts: [Node; 2], connections: Option<u32>) {
        let line = connections.map(|number| (number, hosts));
        let (flow, way) = (self.started() as u32, self.way(connections, hosts));
        let kept = line.and_then(|line| self.kept.get_mut(&line)?.pop());
        if let Some(place) = kept {
            for (end, before) in ends.iter_mut().zip(&self.pairs[place as usize].ends) {
                end.machine.follow(&before.machine);
            }
        }
        let pair = Pair { ends, under_way: 0, flow, way, line };
        let place = if let Some(place) = kept.or_else(|| self.free.pop()) {
            self.pairs[place as usize] = pair;
            place
        } else {
            self.pairs.push(pair);
            self.pairs.len() as u32 - 1
        };
        self.flows.push(Known { place, hosts, way });
    }

    /// The host this end is at, and the end that stands for it where ways are chosen.
    #[inline]
    pub fn target(&self, end: End) -> (Node, End) {
        let Known { hosts, way, .. } = *self.of(end);
        let side = end.0 & 1;
        (hosts[side as usize], End(way << 1 | side))
    }

    /// The place of an end.
    #[inline]
    pub fn place(&self, end: End) -> u32 {
        self.of(end).place << 1 | end.0 & 1
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
        let place = self.of(end).place;
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
        let pair = &self.pairs[self.of(end).place as usize];
        let [sender, receiver] = &pair.ends;
        let idle = |seat: &Seat<E>| seat.complete && seat.waiting.is_none();
        pair.under_way == 0 && self.retires && idle(sender) && idle(receiver)
    }

    /// The flow of this end retires.
    pub fn remove(&mut self, end: End) {
        let place = self.of(end).place;
        let pair = &mut self.pairs[place as usize];
        pair.flow = NOBODY;
        self.flows[(end.flow() - self.first) as usize].place = NOBODY;
        let [sender, receiver] = pair.ends.each_ref().map(|seat| seat.machine.report());
        match pair.line {
            Some(line) => self.kept.entry(line).or_default().push(place),
            None => self.free.push(place),
        }
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
        let gone = self.flows.iter().take_while(|known| known.place == NOBODY).count();
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

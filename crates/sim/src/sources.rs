//! The runs of metered packets that reach one queue, and when the next packet of each arrives there. The queue pulls
//! packets from the runs when its state must be known. While it is full, arrivals are only counted.
//!
//! Next arrivals are in arrays, in blocks with a lower bound for each, so that a search reads few cache lines also with
//! thousands of runs.

use shallop_core::{Class, DropCause, End, Packet, Time};
use shallop_proto::MeteredRun;
use shallop_switch::LinkForecast;
use std::collections::VecDeque;

/// The number of timers of an endpoint, with no packet for it between them, after which it begins a run. A run of fewer
/// packets did not pay, and the endpoint waits again.
pub(crate) const CALM: u8 = 3;
/// The number of runs in a block.
const BLOCK: usize = 16;

/// The run of an endpoint, and its packets that have left their host and are not in the queue.
#[derive(Clone, Debug)]
pub(crate) struct Source<H> {
    pub end: End,
    /// `None` while the endpoint sends its packets one by one.
    pub run: Option<MeteredRun>,
    /// The link of the host, if the packets cross it before the queue that pulls them.
    pub forecast: Option<LinkForecast>,
    /// Packets of ended runs that have arrived and were not pulled.
    pub past: VecDeque<(Time, Packet<H>)>,
    /// Whether the next packet of the run reaches the queue; if not, it is dropped at its host.
    pub reaches: bool,
}

impl<H> Source<H> {
    pub fn new(end: End) -> Self {
        Self { end, run: None, forecast: None, past: VecDeque::new(), reaches: true }
    }

    /// When the next packet arrives; [`Time::LAST`] if none does.
    #[inline]
    pub fn next(&mut self) -> Time {
        if !self.past.is_empty() {
            return self.past.front().map_or(Time::LAST, |&(arrival, _)| arrival);
        }
        match (&self.run, &mut self.forecast) {
            (Some(run), forecast) if run.at < run.until => {
                let Some(forecast) = forecast else { return run.at };
                self.reaches = forecast.offer(run.at, run.size());
                if self.reaches { forecast.arrival } else { run.at }
            }
            _ => Time::LAST,
        }
    }

    /// Sends the next packet, which must not be one of `past`. Returns whether it reaches the queue.
    #[inline]
    pub fn advance(&mut self) -> bool {
        let Some(run) = &mut self.run else { return false };
        match &mut self.forecast {
            Some(forecast) if self.reaches => forecast.send(run.at, run.size()),
            Some(forecast) => forecast.drop_offered(),
            None => {}
        }
        run.advance();
        std::mem::replace(&mut self.reaches, true)
    }

    /// Skips the next packet, which is dropped. Returns whether the queue of these sources drops it; if not, its host
    /// has dropped it.
    #[inline]
    fn skip(&mut self) -> bool {
        if !self.past.is_empty() {
            return self.past.pop_front().is_some();
        }
        self.advance()
    }
}

/// All runs whose packets one queue pulls.
#[derive(Clone, Debug)]
pub(crate) struct Sources<H> {
    pub class: Class,
    /// Size of the smallest packet, in bytes.
    pub min_size: u16,
    /// Arrivals before this time are dropped for the cause `full`; without a cause, there are none.
    pub quiet_until: Time,
    pub full: Option<DropCause>,
    /// Event target of the endpoint or of its host's port, by which arrivals at one instant are ordered.
    pub keys: Vec<u32>,
    pub list: Vec<Source<H>>,
    /// Next arrival of each source.
    next: Vec<Time>,
    /// Lower bound of the next arrivals of each block.
    least: Vec<Time>,
    free: Vec<u32>,
}

impl<H> Sources<H> {
    pub fn new(class: Class) -> Self {
        let (keys, list, next, least, free) = (vec![], vec![], vec![], vec![], vec![]);
        Self { class, min_size: u16::MAX, quiet_until: Time::LAST, full: None, keys, list, next, least, free }
    }

    /// Adds a source without packets, and returns its index.
    pub fn add(&mut self, end: End, key: u32) -> u32 {
        if let Some(index) = self.free.pop() {
            (self.list[index as usize].end, self.keys[index as usize]) = (end, key);
            return index;
        }
        self.list.push(Source::new(end));
        self.keys.push(key);
        self.next.push(Time::LAST);
        self.least.resize(self.list.len().div_ceil(BLOCK), Time::LAST);
        self.list.len() as u32 - 1
    }

    /// Frees the place of a source that has no packets left.
    pub fn remove(&mut self, index: u32) {
        self.free.push(index);
    }

    /// Computes the next arrival of a source anew.
    pub fn update(&mut self, index: usize) {
        let next = self.list[index].next();
        self.next[index] = next;
        self.least[index / BLOCK] = self.least[index / BLOCK].min(next);
        if self.full.is_none() {
            self.quiet_until = self.quiet_until.min(next);
        }
    }

    /// Drops all packets that arrive before `time`. Returns how many have reached the queue.
    pub fn drop_before(&mut self, time: Time) -> u64 {
        let mut count = 0;
        let blocks = self.next.chunks_mut(BLOCK).zip(self.list.chunks_mut(BLOCK));
        for (least, (next, list)) in self.least.iter_mut().zip(blocks).filter(|(least, _)| **least < time) {
            *least = Time::LAST;
            for (next, source) in next.iter_mut().zip(list) {
                while *next < time {
                    count += u64::from(source.skip());
                    *next = source.next();
                }
                *least = (*least).min(*next);
            }
        }
        count
    }

    /// The first arrival: its time, its key, and the index of its source.
    pub fn first(&mut self) -> (Time, u32, usize) {
        let mut first = (Time::LAST, u32::MAX, 0);
        for block in 0..self.least.len() {
            if self.least[block] > first.0 {
                continue;
            }
            let begin = block * BLOCK;
            let mut least = Time::LAST;
            for (index, &next) in self.next.iter().enumerate().skip(begin).take(BLOCK) {
                least = least.min(next);
                if next <= first.0 && (next, self.keys[index]) < (first.0, first.1) {
                    first = (next, self.keys[index], index);
                }
            }
            self.least[block] = least;
        }
        first
    }
}

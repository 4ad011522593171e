//! What became of every segment in flight: a ring of records and counters. An acknowledgement costs as much work as it
//! brings news, whatever the size of the window: blocks that are known already are skipped by a set of ranges, losses
//! are found by a cursor that only moves on and a queue in order of time (see `holes.rs`).
//! Units: bytes; segments by index, which is their offset divided by the full segment's size.

use std::collections::VecDeque;
use std::ops::Range;

use shallop_core::Time;

use super::delivery::Stamp;
use super::holes::Holes;
use super::news::{News, Sent};

/// Where a segment is, as far as the sender knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// On its way, or its acknowledgement is.
    Flying,
    /// Lost, and to be sent again.
    Lost,
    /// Received, though not all before it.
    Delivered,
}

/// A segment in flight.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// When it was sent last.
    pub sent: Time,
    /// What had been delivered then.
    pub stamp: Stamp,
    /// Where it is.
    pub fate: Fate,
    /// It was sent more than once: its acknowledgement may be of any of them.
    pub again: bool,
    /// The application had no more to send at the time.
    pub app_limited: bool,
}

const _: () = assert!(size_of::<Segment>() <= 40, "there may be 100,000 of them a flow");

/// The scoreboard of a flow.
#[derive(Clone, Debug)]
pub struct Scoreboard {
    /// Payload of a full segment.
    segment: u64,
    /// The first byte after the message; `u64::MAX` if there is no end.
    end: u64,
    una: u64,
    next: u64,
    /// Index of the first segment in the ring, which begins at `una`.
    base: u64,
    ring: VecDeque<Segment>,
    flying: u64,
    /// Of those, bytes that duplicate acknowledgements say were delivered, without saying which.
    somewhere: u64,
    lost: u64,
    /// Everything ever taken for lost.
    losses: u64,
    /// What is known beyond `una`; most flows never have any.
    holes: Option<Box<Holes>>,
    /// The first segment that may still fly by its first transmission.
    cursor: u64,
    /// Segments looked at so far: the work done.
    looked_at: u64,
}

impl Scoreboard {
    /// Nothing was sent of a message of so many bytes.
    #[must_use]
    pub fn new(segment: u64, size: Option<u64>) -> Self {
        Self {
            segment: segment.max(1),
            end: size.unwrap_or(u64::MAX),
            una: 0,
            next: 0,
            base: 0,
            ring: VecDeque::new(),
            flying: 0,
            somewhere: 0,
            lost: 0,
            losses: 0,
            holes: None,
            cursor: 0,
            looked_at: 0,
        }
    }

    /// Payload of a full segment.
    #[must_use]
    pub fn segment(&self) -> u64 {
        self.segment
    }

    /// The first byte not acknowledged cumulatively.
    #[must_use]
    pub fn una(&self) -> u64 {
        self.una
    }

    /// The first byte never sent.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// The first byte after the message; `u64::MAX` if there is no end.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.end
    }

    /// The index of the first segment not acknowledged cumulatively.
    #[must_use]
    pub fn first(&self) -> u64 {
        self.base
    }

    /// Bytes in flight.
    #[must_use]
    pub fn flying(&self) -> u64 {
        self.flying - self.somewhere
    }

    /// Bytes lost and not sent again yet.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Bytes ever taken for lost.
    #[must_use]
    pub fn losses(&self) -> u64 {
        self.losses
    }

    /// Bytes received beyond a gap.
    #[must_use]
    pub fn beyond(&self) -> u64 {
        self.holes.as_ref().map_or(0, |holes| holes.received.held())
    }

    /// Segments looked at so far, for tests that bound the work.
    #[must_use]
    pub fn looked_at(&self) -> u64 {
        self.looked_at
    }

    /// The bytes of a segment.
    #[must_use]
    pub fn body(&self, index: u64) -> Range<u64> {
        let start = index * self.segment;
        start..(start + self.segment).min(self.end)
    }

    /// The bytes of the next segment never sent; empty if there are none.
    #[must_use]
    pub fn fresh(&self) -> Range<u64> {
        self.next..self.next.saturating_add(self.segment).min(self.end)
    }

    /// The record of a segment in flight.
    #[must_use]
    pub fn record(&self, index: u64) -> Option<&Segment> {
        self.ring.get(index.checked_sub(self.base)? as usize)
    }

    fn record_mut(&mut self, index: u64) -> Option<&mut Segment> {
        self.ring.get_mut(index.checked_sub(self.base)? as usize)
    }

    fn after_last(&self) -> u64 {
        self.base + self.ring.len() as u64
    }

    fn len(&self, index: u64) -> u64 {
        let body = self.body(index);
        body.end - body.start
    }

    /// The next segment leaves for the first time. Gives its bytes.
    pub fn send(&mut self, now: Time, stamp: Stamp, app_limited: bool) -> Range<u64> {
        let body = self.fresh();
        let (fate, again) = (Fate::Flying, false);
        self.ring.push_back(Segment { sent: now, stamp, fate, again, app_limited });
        self.flying += body.end - body.start;
        self.next = body.end;
        body
    }

    /// A segment leaves again, unless it was received. Gives its bytes.
    pub fn send_again(
        &mut self,
        now: Time,
        index: u64,
        stamp: Stamp,
        app_limited: bool,
    ) -> Range<u64> {
        let (body, len) = (self.body(index), self.len(index));
        let Some(record) = self.record_mut(index) else { return body };
        let before = record.fate;
        if before == Fate::Delivered {
            return body;
        }
        let (fate, again) = (Fate::Flying, true);
        *record = Segment { sent: now, stamp, fate, again, app_limited };
        if before == Fate::Lost {
            self.lost -= len;
            self.flying += len;
        }
        self.holes.get_or_insert_default().repeated.push_back(Sent { at: now, index });
        self.tidy();
        body
    }

    /// Everything below `ack` was received.
    pub fn acknowledge(&mut self, ack: u64, news: &mut News) {
        let (before, highest) = (self.una, self.highest());
        while self.una < ack {
            let end = self.body(self.base).end;
            if end > ack {
                break;
            }
            let Some(segment) = self.ring.front() else { break };
            let len = end - self.una;
            match segment.fate {
                Fate::Flying => self.flying -= len,
                Fate::Lost => self.lost -= len,
                Fate::Delivered => {}
            }
            if segment.fate != Fate::Delivered {
                news.reordered |= self.base < highest && !segment.again;
                news.add(self.base, len, segment);
            }
            self.ring.pop_front();
            self.looked_at += 1;
            (self.una, self.base) = (end, self.base + 1);
        }
        if self.una == self.end {
            // Done: the memory of a large window would outlive its use.
            (self.ring, self.holes, self.somewhere) = (VecDeque::new(), None, 0);
        }
        if let Some(holes) = &mut self.holes {
            holes.received.trim(self.una);
        }
        if self.somewhere > 0 && self.una > before {
            // All but the first of these had been told of by duplicates (kernel: `tcp_remove_reno_sacks`).
            let told = (self.una - before).saturating_sub(self.segment).min(self.somewhere);
            news.bytes = news.bytes.saturating_sub(told);
            self.somewhere = (self.somewhere - told).min(self.flying);
        }
    }

    /// A duplicate acknowledgement that does not say what was received: some segment was.
    pub fn acknowledge_somewhere(&mut self, news: &mut News) {
        if self.flying() > self.segment {
            self.somewhere += self.segment;
            news.bytes += self.segment;
        }
    }

    /// What duplicates told of is part of what was acknowledged since.
    pub fn forget_duplicates(&mut self) {
        self.somewhere = 0;
    }

    /// These bytes beyond a gap were received. Only whole segments count; the last one of a message may be short.
    pub fn acknowledge_beyond(&mut self, block: &Range<u64>, news: &mut News) {
        if block.start <= self.una || block.end > self.next || block.is_empty() {
            return;
        }
        let mut holes = self.holes.take().unwrap_or_default();
        if holes.is_news(block)
            && let Some(gap) = holes.received.gap(block.clone())
        {
            let rest =
                if block.end == self.end { 0 } else { (block.end - self.una) % self.segment };
            let first = self.base + (gap.start - self.una).div_ceil(self.segment);
            self.fill(self.body(first).start..block.end - rest, first, &mut holes, news);
        }
        self.holes = Some(holes);
    }

    /// Everything in `whole`, which begins with segment `index`, was received.
    fn fill(&mut self, whole: Range<u64>, mut index: u64, holes: &mut Holes, news: &mut News) {
        let mut at = whole.start;
        while let Some(gap) = holes.received.gap(at..whole.end) {
            index += (gap.start - at) / self.segment;
            at = gap.start;
            while at < gap.end {
                self.acknowledge_one(index, holes, news);
                at += self.segment;
                index += 1;
            }
            at = gap.end;
        }
        if !whole.is_empty() {
            holes.received.insert(whole);
        }
    }

    fn acknowledge_one(&mut self, index: u64, holes: &mut Holes, news: &mut News) {
        let len = self.len(index);
        let Some(at) = index.checked_sub(self.base) else { return };
        let Some(record) = self.ring.get_mut(at as usize) else { return };
        match std::mem::replace(&mut record.fate, Fate::Delivered) {
            Fate::Flying => self.flying -= len,
            Fate::Lost => self.lost -= len,
            Fate::Delivered => return,
        }
        news.reordered |= index < holes.highest() && !record.again;
        news.add(index, len, record);
        holes.rank(index);
        self.looked_at += 1;
    }

    /// Takes a segment for lost if it flies.
    pub fn lose(&mut self, index: u64) {
        let len = self.len(index);
        let Some(record) = self.record_mut(index) else { return };
        if record.fate == Fate::Flying {
            record.fate = Fate::Lost;
            let again = record.again;
            self.flying -= len;
            self.somewhere = self.somewhere.min(self.flying);
            self.lost += len;
            self.losses += len;
            self.holes.get_or_insert_default().lost[usize::from(again)].push_back(index);
        }
    }

    /// Takes everything for lost that was not received.
    pub fn lose_all(&mut self) {
        let mut holes = self.holes.take().unwrap_or_default();
        holes.forget_lost();
        self.losses += self.flying;
        (self.flying, self.somewhere, self.lost) = (0, 0, 0);
        for index in self.base..self.after_last() {
            let len = self.len(index);
            let Some(record) = self.record_mut(index) else { continue };
            if record.fate != Fate::Delivered {
                record.fate = Fate::Lost;
                self.lost += len;
                holes.lost[0].push_back(index);
            }
        }
        self.looked_at += self.ring.len() as u64;
        self.cursor = self.after_last();
        self.holes = Some(holes);
    }

    /// Takes the first transmissions for lost that `is_lost` says are, in order, until it says of one that it is not.
    /// Gives that one.
    pub fn lose_first_sent(&mut self, is_lost: impl Fn(Sent) -> bool) -> Option<Sent> {
        loop {
            self.advance();
            let index = self.cursor;
            let sent = Sent { at: self.record(index)?.sent, index };
            if !is_lost(sent) {
                return Some(sent);
            }
            self.lose(index);
        }
    }

    /// The same for later transmissions.
    pub fn lose_sent_again(&mut self, is_lost: impl Fn(Sent) -> bool) -> Option<Sent> {
        loop {
            let sent = *self.holes.as_ref()?.repeated.front()?;
            let flies = self.flies(sent);
            if flies && !is_lost(sent) {
                return Some(sent);
            }
            self.looked_at += 1;
            self.holes.as_mut()?.repeated.pop_front();
            if flies {
                self.lose(sent.index);
            }
        }
    }

    /// Moves the cursor to the first segment that flies by its first transmission.
    fn advance(&mut self) {
        self.cursor = self.cursor.max(self.base);
        while self
            .record(self.cursor)
            .is_some_and(|record| record.again || record.fate != Fate::Flying)
        {
            self.cursor += 1;
            self.looked_at += 1;
        }
    }

    /// Whether a segment still flies by this transmission.
    fn flies(&self, sent: Sent) -> bool {
        self.record(sent.index)
            .is_some_and(|record| record.fate == Fate::Flying && record.sent == sent.at)
    }

    fn is_lost(&self, index: u64) -> bool {
        self.record(index).is_some_and(|record| record.fate == Fate::Lost)
    }

    /// Forgets what need not be sent again any more, and finds out what is next. Call it after each acknowledgement.
    pub fn tidy(&mut self) {
        let Some(mut holes) = self.holes.take() else { return };
        for queue in &mut holes.lost {
            while queue.front().is_some_and(|&index| !self.is_lost(index)) {
                queue.pop_front();
                self.looked_at += 1;
            }
        }
        while holes.repeated.front().is_some_and(|&sent| !self.flies(sent)) {
            holes.repeated.pop_front();
            self.looked_at += 1;
        }
        self.holes = Some(holes);
        self.advance();
    }

    /// The lost segment to send again first.
    #[must_use]
    pub fn first_lost(&self) -> Option<u64> {
        self.holes.as_ref()?.first_lost()
    }

    fn highest(&self) -> u64 {
        self.holes.as_ref().map_or(0, |holes| holes.highest())
    }

    /// The third highest segment received beyond a gap, or 0: RFC 6675 takes everything below that is missing for lost.
    #[must_use]
    pub fn third_highest(&self) -> u64 {
        self.holes.as_ref().map_or(0, |holes| holes.third_highest())
    }

    /// With nothing lost left: a segment that flies by its first transmission although one beyond it was received.
    #[must_use]
    pub fn doubtful(&self) -> Option<u64> {
        let highest = self.holes.as_ref()?.highest();
        (self.lost == 0 && self.cursor >= self.base && self.cursor < highest).then_some(self.cursor)
    }

    /// The highest segment that was sent and not received.
    #[must_use]
    pub fn tail(&self) -> Option<u64> {
        let last = self.after_last().checked_sub(1)?;
        if self.record(last)?.fate != Fate::Delivered {
            return Some(last);
        }
        let top = self.holes.as_ref()?.received.last()?;
        let below = (top.start.checked_sub(self.una)? / self.segment).checked_sub(1)?;
        Some(self.base + below)
    }
}

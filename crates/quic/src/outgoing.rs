//! Data of streams that QUIC has not been given yet.

use std::collections::{BTreeMap, VecDeque};

use quinn_proto::{Connection, StreamId, VarInt, WriteError};

/// Bytes that may wait in one stream, whatever waits in others.
const ROOM: usize = 1 << 20;
/// The most bytes that may wait in all streams together, but for that.
const MOST_ROOM: u64 = 256 << 20;

/// Data of one stream.
#[derive(Debug, Default)]
struct Queue {
    data: VecDeque<u8>,
    /// The stream ends behind its data.
    ends: bool,
    /// The peer takes no more for the moment.
    is_blocked: bool,
    /// Nobody asks what becomes of it.
    is_released: bool,
}

/// Data of all streams, which take turns.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    queues: BTreeMap<StreamId, Queue>,
    /// The stream whose turn was last.
    last: Option<StreamId>,
    /// Bytes that may wait in all streams together.
    room: usize,
}

impl Streams {
    /// Takes as many of these bytes as there is room for.
    pub(crate) fn write(&mut self, id: StreamId, bytes: &[u8]) -> usize {
        let count = bytes.len().min(self.room(id));
        let queue = self.queues.entry(id).or_default();
        queue.data.extend(&bytes[..count]);
        count
    }

    /// Says how many bytes leave while one waits for its credit. Credits are asked for what waits here: with less, the
    /// link is not filled.
    pub(crate) fn set_product(&mut self, bytes: u64) {
        self.room = bytes.min(MOST_ROOM) as usize + ROOM;
    }

    /// Bytes that a stream takes now.
    pub(crate) fn room(&self, id: StreamId) -> usize {
        let own = self.queues.get(&id).map_or(0, |queue| queue.data.len());
        let all: usize = self.queues.values().map(|queue| queue.data.len()).sum();
        ROOM.saturating_sub(own).max(self.room.saturating_sub(all))
    }

    /// The stream ends behind what was written.
    pub(crate) fn finish(&mut self, id: StreamId) {
        self.queues.entry(id).or_default().ends = true;
    }

    /// The stream ends now, without what waits, with this code; where the peer has stopped it, with the peer's.
    pub(crate) fn reset(&mut self, quic: &mut Connection, id: StreamId, code: u32) {
        self.queues.remove(&id);
        let mut stream = quic.send_stream(id);
        let code = stream.stopped().ok().flatten().unwrap_or(VarInt::from_u32(code));
        // A stream that is gone needs no reset.
        let _ = stream.reset(code);
    }

    /// Nobody asks any more what becomes of a stream that was finished.
    pub(crate) fn release(&mut self, quic: &mut Connection, id: StreamId) {
        match self.queues.get_mut(&id) {
            Some(queue) => queue.is_released = true,
            None => reset_if_stopped(quic, id),
        }
    }

    /// The peer takes more.
    pub(crate) fn unblock(&mut self, id: StreamId) {
        if let Some(queue) = self.queues.get_mut(&id) {
            queue.is_blocked = false;
        }
    }

    /// Whether a stream has so much room that its writer is to be woken.
    pub(crate) fn has_room(&self, id: StreamId) -> bool {
        self.room(id) > ROOM / 2
    }

    /// Bytes that wait and that the peer takes, with one more for the end of a stream.
    pub(crate) fn queued(&self) -> usize {
        let open = self.queues.values().filter(|queue| !queue.is_blocked);
        open.map(|queue| queue.data.len() + usize::from(queue.ends)).sum()
    }

    /// Whether more data may be written to any of the streams that data was written to.
    pub(crate) fn may_grow(&self) -> bool {
        self.queues.values().any(|queue| !queue.ends)
    }

    /// Gives QUIC up to this many bytes, and returns how many it took, with one more for the end of a stream.
    pub(crate) fn fill(&mut self, quic: &mut Connection, most: usize) -> usize {
        let mut given = 0;
        let ids: Vec<StreamId> = self.queues.keys().copied().collect();
        let first = ids.iter().position(|&id| self.last.is_some_and(|last| id > last)).unwrap_or(0);
        for &id in ids[first..].iter().chain(&ids[..first]) {
            if given >= most {
                break;
            }
            let Some(queue) = self.queues.get_mut(&id) else { continue };
            let count = fill_one(quic, id, queue, most - given);
            if count > 0 {
                self.last = Some(id);
            }
            given += count;
            if queue.data.is_empty() && queue.ends {
                // A stream that the peer has stopped needs no end.
                let _ = quic.send_stream(id).finish();
                if queue.is_released {
                    reset_if_stopped(quic, id);
                }
                self.queues.remove(&id);
                given += 1;
            }
        }
        given
    }
}

/// Answers a peer that wants no more: without it, the peer holds the stream for open, and takes fewer others.
fn reset_if_stopped(quic: &mut Connection, id: StreamId) {
    let mut stream = quic.send_stream(id);
    if let Ok(Some(code)) = stream.stopped() {
        // One that was reset before needs no second time.
        let _ = stream.reset(code);
    }
}

fn fill_one(quic: &mut Connection, id: StreamId, queue: &mut Queue, most: usize) -> usize {
    let mut given = 0;
    while given < most && !queue.data.is_empty() && !queue.is_blocked {
        let (front, _) = queue.data.as_slices();
        let count = front.len().min(most - given);
        match quic.send_stream(id).write(&front[..count]) {
            Ok(count) => {
                queue.data.drain(..count);
                given += count;
            }
            Err(WriteError::Blocked) => queue.is_blocked = true,
            Err(WriteError::Stopped(_) | WriteError::ClosedStream) => {
                queue.data.clear();
                queue.ends = true;
            }
        }
    }
    given
}

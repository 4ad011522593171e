//! The bytes that the application has written to streams and that QUIC has not taken yet.

use quinn_proto::{Connection, StreamId, VarInt, WriteError};
use std::collections::{BTreeMap, VecDeque};

/// The bytes that each stream may queue even if the queues of others are full.
const STREAM_ROOM: usize = 1 << 20;
/// The upper bound of the bytes that all streams may queue beyond [`STREAM_ROOM`].
const MAX_ROOM: u64 = 256 << 20;

/// The bytes of one stream that QUIC has not taken yet.
#[derive(Debug, Default)]
struct SendQueue {
    data: VecDeque<u8>,
    /// Whether the application has finished the stream, so that it ends after `data`.
    ends: bool,
    /// Whether QUIC takes no more bytes at the moment, because of flow control.
    is_blocked: bool,
    /// Whether the application has dropped its handle of the stream.
    is_released: bool,
}

/// The queues of all streams, which QUIC takes from in turn.
#[derive(Debug, Default)]
pub(crate) struct SendQueues {
    queues: BTreeMap<StreamId, SendQueue>,
    /// The stream from which QUIC took bytes last.
    last: Option<StreamId>,
    /// The bytes that all streams together may queue.
    room: usize,
}

impl SendQueues {
    /// Queues as many of these bytes as there is room for, and returns their number.
    pub(crate) fn write(&mut self, id: StreamId, bytes: &[u8]) -> usize {
        let count = bytes.len().min(self.room(id));
        let queue = self.queues.entry(id).or_default();
        queue.data.extend(&bytes[..count]);
        count
    }

    /// Sets the product of the link rate and the waiting time, which the queues have to hold: a sender asks for credits
    /// for queued bytes, so shorter queues would leave the link idle.
    pub(crate) fn set_bandwidth_delay_product(&mut self, bytes: u64) {
        self.room = bytes.min(MAX_ROOM) as usize + STREAM_ROOM;
    }

    /// The bytes that may be written to a stream now.
    pub(crate) fn room(&self, id: StreamId) -> usize {
        let own = self.queues.get(&id).map_or(0, |queue| queue.data.len());
        let all: usize = self.queues.values().map(|queue| queue.data.len()).sum();
        STREAM_ROOM.saturating_sub(own).max(self.room.saturating_sub(all))
    }

    /// Ends a stream after its queued bytes.
    pub(crate) fn finish(&mut self, id: StreamId) {
        self.queues.entry(id).or_default().ends = true;
    }

    /// Resets a stream and discards its queued bytes. If the peer has stopped the stream, the peer's code is used.
    pub(crate) fn reset(&mut self, quic: &mut Connection, id: StreamId, code: u32) {
        self.queues.remove(&id);
        let mut stream = quic.send_stream(id);
        let code = stream.stopped().ok().flatten().unwrap_or(VarInt::from_u32(code));
        // The stream may be closed already.
        let _ = stream.reset(code);
    }

    /// Notes that the application has dropped its handle of a finished stream.
    pub(crate) fn release(&mut self, quic: &mut Connection, id: StreamId) {
        match self.queues.get_mut(&id) {
            Some(queue) => queue.is_released = true,
            None => reset_if_stopped(quic, id),
        }
    }

    /// Notes that QUIC can take bytes of a stream again.
    pub(crate) fn unblock(&mut self, id: StreamId) {
        if let Some(queue) = self.queues.get_mut(&id) {
            queue.is_blocked = false;
        }
    }

    /// Whether a stream has enough room to wake its writer.
    pub(crate) fn has_room(&self, id: StreamId) -> bool {
        self.room(id) > STREAM_ROOM / 2
    }

    /// The queued bytes of all streams that are not blocked; the end of a stream counts as one byte.
    pub(crate) fn queued(&self) -> usize {
        let open = self.queues.values().filter(|queue| !queue.is_blocked);
        open.map(|queue| queue.data.len() + usize::from(queue.ends)).sum()
    }

    /// Whether the application may write more to one of these streams.
    pub(crate) fn may_grow(&self) -> bool {
        self.queues.values().any(|queue| !queue.ends)
    }

    /// Passes up to `limit` bytes to QUIC and returns how many it took; the end of a stream counts as one byte.
    pub(crate) fn fill(&mut self, quic: &mut Connection, limit: usize) -> usize {
        let mut taken = 0;
        let ids: Vec<StreamId> = self.queues.keys().copied().collect();
        let first = ids.iter().position(|&id| self.last.is_some_and(|last| id > last)).unwrap_or(0);
        for &id in ids[first..].iter().chain(&ids[..first]) {
            if taken >= limit {
                break;
            }
            let Some(queue) = self.queues.get_mut(&id) else { continue };
            let count = fill_from(queue, quic, id, limit - taken);
            if count > 0 {
                self.last = Some(id);
            }
            taken += count;
            if queue.data.is_empty() && queue.ends {
                // A stream that the peer has stopped cannot be finished.
                let _ = quic.send_stream(id).finish();
                if queue.is_released {
                    reset_if_stopped(quic, id);
                }
                self.queues.remove(&id);
                taken += 1;
            }
        }
        taken
    }
}

/// Answers `STOP_SENDING` of the peer with `RESET_STREAM` (RFC 9000, 3.5). Without it the stream would keep counting
/// against the peer's stream limit.
fn reset_if_stopped(quic: &mut Connection, id: StreamId) {
    let mut stream = quic.send_stream(id);
    if let Ok(Some(code)) = stream.stopped() {
        // The stream may have been reset before.
        let _ = stream.reset(code);
    }
}

/// Passes up to `limit` bytes of one queue to QUIC and returns how many it took.
fn fill_from(queue: &mut SendQueue, quic: &mut Connection, id: StreamId, limit: usize) -> usize {
    let mut taken = 0;
    while taken < limit && !queue.data.is_empty() && !queue.is_blocked {
        let (front, _) = queue.data.as_slices();
        let count = front.len().min(limit - taken);
        match quic.send_stream(id).write(&front[..count]) {
            Ok(count) => {
                queue.data.drain(..count);
                taken += count;
            }
            Err(WriteError::Blocked) => queue.is_blocked = true,
            Err(WriteError::Stopped(_) | WriteError::ClosedStream) => {
                queue.data.clear();
                queue.ends = true;
            }
        }
    }
    taken
}

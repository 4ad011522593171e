//! The tasks that wait for an event of a connection. A reader is woken when its stream has data and a writer when its
//! stream has room, so that a packet wakes no other task.

use quinn_proto::StreamId;
use std::task::Waker;

/// The event that a task waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitFor {
    /// Any change of the connection's state.
    Connection,
    /// Data in this stream, or a change of the connection's state.
    Data(StreamId),
    /// Room in this stream's send queue, or a change of the connection's state.
    Room(StreamId),
}

#[derive(Debug, Default)]
pub(crate) struct Wakers(Vec<(WaitFor, Waker)>);

impl Wakers {
    /// Registers a task, unless it is registered for this event already.
    pub(crate) fn add(&mut self, event: WaitFor, waker: &Waker) {
        let is_known = |(of, known): &(_, Waker)| *of == event && known.will_wake(waker);
        if !self.0.iter().any(is_known) {
            self.0.push((event, waker.clone()));
        }
    }

    /// Wakes all tasks. If a waker panics, the others are still registered.
    pub(crate) fn wake_all(&mut self) {
        while let Some((_, waker)) = self.0.pop() {
            waker.wake();
        }
    }

    /// Wakes the readers of a stream that has data.
    pub(crate) fn wake_reader(&mut self, id: StreamId) {
        self.wake_matching(|event| event == WaitFor::Data(id));
    }

    /// Wakes the writers of streams that have room.
    pub(crate) fn wake_writers(&mut self, has_room: impl Fn(StreamId) -> bool) {
        self.wake_matching(|event| matches!(event, WaitFor::Room(id) if has_room(id)));
    }

    fn wake_matching(&mut self, matches: impl Fn(WaitFor) -> bool) {
        while let Some(at) = self.0.iter().position(|(event, _)| matches(*event)) {
            self.0.remove(at).1.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quinn_proto::{Dir, Side};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::task::Wake;

    #[derive(Default)]
    struct Count(AtomicU32);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn each_task_is_woken_once_by_its_stream_or_by_the_connection() {
        let counts: [Arc<Count>; 4] = Default::default();
        let [one, two] = [0, 1].map(|index| StreamId::new(Side::Client, Dir::Bi, index));
        let events = [WaitFor::Data(one), WaitFor::Room(one), WaitFor::Room(two), WaitFor::Connection];
        let mut wakers = Wakers::default();
        for _ in 0..2 {
            for (event, count) in events.into_iter().zip(&counts) {
                wakers.add(event, &Arc::clone(count).into());
            }
        }
        let woken = || counts.each_ref().map(|count| count.0.load(Ordering::Relaxed));
        wakers.wake_reader(one);
        assert_eq!(woken(), [1, 0, 0, 0]);
        wakers.wake_writers(|id| id == two);
        assert_eq!(woken(), [1, 0, 1, 0]);
        wakers.wake_all();
        wakers.wake_all();
        assert_eq!(woken(), [1, 1, 1, 1]);
    }
}

//! Who waits for something of a connection, and is woken for it: a reader when its stream has data, a writer when its
//! stream has room, so that a packet wakes nobody else.

use std::task::Waker;

use quinn_proto::StreamId;

/// What somebody waits for, besides what happens to the connection as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// Nothing more.
    Connection,
    /// Data of this stream.
    Data(StreamId),
    /// Room in this stream.
    Room(StreamId),
}

/// Those who wait.
#[derive(Debug, Default)]
pub(crate) struct Waiting(Vec<(What, Waker)>);

impl Waiting {
    /// Wakes this one when it has happened.
    pub(crate) fn add(&mut self, what: What, waker: &Waker) {
        let is_known = |(of, known): &(_, Waker)| *of == what && known.will_wake(waker);
        if !self.0.iter().any(is_known) {
            self.0.push((what, waker.clone()));
        }
    }

    /// Something has happened to the connection. If a waker panics, the others are still in the list.
    pub(crate) fn wake_all(&mut self) {
        while let Some((_, waker)) = self.0.pop() {
            waker.wake();
        }
    }

    /// A stream has data.
    pub(crate) fn wake_reader(&mut self, id: StreamId) {
        self.wake_those(|what| what == What::Data(id));
    }

    /// Some streams have room.
    pub(crate) fn wake_writers(&mut self, has_room: impl Fn(StreamId) -> bool) {
        self.wake_those(|what| matches!(what, What::Room(id) if has_room(id)));
    }

    fn wake_those(&mut self, is_one: impl Fn(What) -> bool) {
        while let Some(at) = self.0.iter().position(|(what, _)| is_one(*what)) {
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
    fn a_stream_wakes_whoever_waits_for_it_and_the_connection_all_once() {
        let counts: [Arc<Count>; 4] = Default::default();
        let [one, two] = [0, 1].map(|index| StreamId::new(Side::Client, Dir::Bi, index));
        let all = [What::Data(one), What::Room(one), What::Room(two), What::Connection];
        let mut waiting = Waiting::default();
        let wait = |waiting: &mut Waiting| {
            for (what, count) in all.into_iter().zip(&counts) {
                waiting.add(what, &Arc::clone(count).into());
            }
        };
        let woken = || counts.each_ref().map(|count| count.0.load(Ordering::Relaxed));
        wait(&mut waiting);
        wait(&mut waiting);
        waiting.wake_reader(one);
        assert_eq!(woken(), [1, 0, 0, 0]);
        waiting.wake_writers(|id| id == two);
        assert_eq!(woken(), [1, 0, 1, 0]);
        waiting.wake_all();
        waiting.wake_all();
        assert_eq!(woken(), [1, 1, 1, 1]);
    }
}

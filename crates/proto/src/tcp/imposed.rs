//! Limits of a flow besides its windows: a highest pacing rate, and an application that offers the message at a rate,
//! in writes of equal size, however slowly TCP takes them. State: the bytes offered so far, and when the next write is
//! due. Units: bytes of the stream.

use super::{config::Config, scoreboard::Scoreboard};
use shallop_core::{BitsPerSec, Bytes, Pace, Time};

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Imposed {
    pub(super) max_pacing_rate: Option<BitsPerSec>,
    application: Option<Application>,
}

#[derive(Clone, Copy, Debug)]
struct Application {
    pace: Pace,
    write: Bytes,
    offered: u64,
    /// When the next write is due; `None` before the flow starts, which is the time of the first write.
    next: Option<Time>,
}

impl Imposed {
    pub(super) fn new(config: &Config) -> Option<Box<Self>> {
        let max_pacing_rate = config.max_pacing_rate;
        max_pacing_rate.map(|_| Box::new(Self { max_pacing_rate, application: None }))
    }

    /// Limits the application to writes of `write` bytes at `rate`.
    pub(super) fn offer(&mut self, rate: BitsPerSec, write: Bytes) {
        let (pace, write) = (Pace::new(rate), write.max(Bytes::new(1)));
        self.application = Some(Application { pace, write, offered: 0, next: None });
    }

    /// Takes the writes that are due by `now`. Less than a full segment waits for the next write (Nagle's algorithm),
    /// unless it ends the message.
    pub(super) fn take_writes(&mut self, now: Time, scoreboard: &mut Scoreboard) {
        let Some(Application { pace, write, offered, next }) = &mut self.application else { return };
        let due = next.get_or_insert(now);
        while *due <= now && *offered < scoreboard.end {
            *offered = offered.saturating_add(write.get());
            *due = due.saturating_add(pace.charge(*write));
        }
        let whole = *offered / scoreboard.mss * scoreboard.mss;
        scoreboard.written = if *offered < scoreboard.end { whole } else { scoreboard.end };
    }

    /// When the application next offers data, if TCP has sent all that it offered before.
    pub(super) fn next_write(&self, scoreboard: &Scoreboard) -> Option<Time> {
        let more = scoreboard.unsent().is_empty() && scoreboard.written < scoreboard.end;
        self.application.filter(|_| more)?.next
    }
}
